"""Text that comes in pieces, judged before it is let go: what may still become part of a hit is held back.

The contract: where a text is cut into pieces makes no difference to what is released of it, and no character of a hit
is ever released. Each rail reads the whole stream by itself and says, after each piece, which hits are complete and
from where on it cannot tell yet; what all rails have settled goes out.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from turnwise.guard.verdict import Action, Fails, Span, State

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rail found in a stream, by its place in the whole text, and what is shown instead."""

    start: int
    end: int
    kind: str
    shown: str = ""


class Reader(Protocol):
    """Reads one text, piece by piece."""

    def feed(self, piece: str, final: bool) -> tuple[list[Hit], int]:
        """The hits that are complete with this piece, and the place from which on later ones may begin. After the last
        piece (`final`) that is the end of the text."""
        ...


@dataclass(frozen=True, slots=True)
class Shown:
    """What is known of an answer before it comes: what must not stand in it, and what the reader has seen anyway."""

    system_prompt: str = ""
    canaries: Sequence[str] = ()
    allowed: Allowed = field(default_factory=lambda: Allowed(""))


class StreamRail(Protocol):
    """A rail for answers. What it raises counts as `fails` says."""

    name: str
    action: Action
    fails: Fails

    def open(self, shown: Shown) -> Reader | None:
        """A reader of one answer; None where there is nothing to look for."""
        ...

    def spans(self, text: str, shown: Shown) -> list[Span]:
        """Where in a whole text it finds something."""
        ...


class Allowed:
    """A text that the reader has seen: what stands in it is no leak."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _folded(self) -> str:
        return self._text.casefold()

    @cached_property
    def _bare(self) -> str:
        return bare(self._text)

    def holds(self, value: str) -> bool:
        """Whether the value stands there, perhaps with other signs between its letters and digits."""
        return value.casefold() in self._folded or ((own := bare(value)) != "" and own in self._bare)

    def holds_url(self, url: str) -> bool:
        """Whether this very address stands there, and not only the beginning of a longer one or more of one."""
        at = self._text.find(url)
        while at >= 0:
            after = self._text[at + len(url) : at + len(url) + 2]
            if not re.match(r"[\w/?=&%#~+-]|[.,:;@][\w/]", after):
                return True
            at = self._text.find(url, at + 1)
        return False

    @property
    def text(self) -> str:
        return self._text


def bare(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


# --- what all rails have settled goes out --------------------------------------------------------------------------


@dataclass(slots=True)
class Watch:
    """What one rail has found in a stream so far."""

    rail: StreamRail
    reader: Reader
    hits: list[Hit] = field(default_factory=list)
    state: State = "clear"
    trouble: str = ""


class Redactor:
    """Takes a text piece by piece and gives back what may be shown, with what rails redact replaced. After a hit of a
    rail that blocks, nothing more is given."""

    def __init__(self, rails: Sequence[StreamRail], shown: Shown) -> None:
        opened = ((rail, rail.open(shown)) for rail in rails)
        self.watches = [Watch(rail, reader) for rail, reader in opened if reader is not None]
        self.blocked = ""
        self._text = ""
        self._at = 0  # the place of what is held in the whole text
        self._found: list[tuple[Hit, Action]] = []  # that are not behind it yet
        self._end = 0  # of the last hit
        self._replaced = False  # whether the last that was given stands in place of a hit

    @property
    def held(self) -> int:
        return len(self._text)

    def feed(self, piece: str, final: bool = False) -> str:
        if self.blocked:
            return ""
        if not self.watches:
            return piece
        self._text += piece
        cut = self._at + len(self._text)
        for watch in self.watches:
            settled = self._read(watch, piece, final)
            if watch.rail.action != "warn":
                cut = min(cut, settled)
        return self._given(cut)

    def _read(self, watch: Watch, piece: str, final: bool) -> int:
        """The place up to which a rail has settled."""
        end = self._at + len(self._text)
        if watch.state in ("failed", "skipped"):
            return end
        try:
            hits, settled = watch.reader.feed(piece, final)
        except Exception as error:
            log.exception("the rail %s failed", watch.rail.name)
            watch.state, watch.trouble = "failed", f"the rail {watch.rail.name} failed ({type(error).__name__})"
            if watch.rail.fails == "closed":
                self._found.append((Hit(self._at, self._at, watch.trouble), "block"))
            return end
        if hits:
            watch.state = "found"
            watch.hits += hits
            if watch.rail.action != "warn":
                self._found += [(hit, watch.rail.action) for hit in hits]
                self._found.sort(key=lambda found: (found[0].start, -found[0].end))
        return settled

    def _given(self, cut: int) -> str:
        for hit, _ in reversed(self._found):  # the last first: one that reaches across may begin inside another
            if hit.start < cut < hit.end:
                cut = hit.start
        pieces: list[str] = []
        place = self._at
        while self._found and self._found[0][0].end <= cut:
            hit, action = self._found.pop(0)
            if hit.start >= self._end:
                pieces.append(self._plain(place, hit.start))
                if action == "block":
                    self.blocked = hit.kind
                    self._text, self._at = "", cut
                    return "".join(pieces)
                pieces.append(hit.shown)
                self._replaced = hit.shown.endswith("]")
            elif action == "block":  # inside another, which has been replaced
                self.blocked = hit.kind
                self._text, self._at = "", cut
                return "".join(pieces)
            self._end = max(self._end, hit.end)
            place = max(place, hit.end)
        pieces.append(self._plain(place, cut))
        self._text, self._at = self._text[cut - self._at :], cut
        return "".join(pieces)

    def _plain(self, start: int, end: int) -> str:
        """What stands there; a parenthesis or bracket right after a replacement is kept from making it a link."""
        text = self._text[start - self._at : end - self._at]
        if text and self._replaced:
            self._replaced = False
            return f" {text}" if text[0] in "([" else text
        return text


# --- words, and rows of numbers that are read as one ---------------------------------------------------------------

BEFORE = 100  # characters before a word that say what it is
SHORTEST = 6  # characters of a hit
LONGEST = 8000  # characters that are read as one
OVERLAP = 500  # characters of what is longer that are read again with what follows

_SPACE = re.compile(r"\s")
_SPACES = re.compile(r"\s*")
_ANY = re.compile(r"\S")
_LINE = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_PLAIN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*[.,;:!?)\"'”’]{0,3}")  # an ordinary word, which is never a hit
_NUMBERS = re.compile(r"(?=.*\d|[+().–‑/-]+$)[\w+().–‑/:@-]*|[A-Z0-9]{1,4}", re.S)  # what may go on after a number
_PEM_WORD = re.compile(r"[A-Za-z0-9+/=\\,:\"'>|-]+|\S*-----\S*")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,50}-----")


class Words:
    """Reads a stream word by word for hits that are words or rows of numbers: cards and telephone numbers with blanks,
    keys over several lines. `find` is given a stretch of text that cannot be continued, with what stands before it and
    the word after it."""

    def __init__(
        self, find: Callable[[str], list[Span]], keep: Callable[[str], bool], needs: re.Pattern[str] = _ANY
    ) -> None:
        self._find = find
        self._needs = needs  # what every hit holds, so that others need not be looked at
        self._keep = keep  # whether a text that was found is a hit
        self._text = ""
        self._at = 0  # the place of the buffer in the whole text
        self._start = 0  # in the buffer, of the stretch that is open
        self._end = 0  # of its last whole word; the same as the start where none is open
        self._seen = 0  # up to where there is no space in the word that is being read
        self._key = False  # whether the stretch is a private key

    def feed(self, piece: str, final: bool) -> tuple[list[Hit], int]:
        self._text += piece
        hits: list[Hit] = []
        while self._step(hits, final):
            pass
        self._forget()
        return hits, self._at + self._start

    def _step(self, hits: list[Hit], final: bool) -> bool:
        """Read the next word; False where there is no whole one."""
        text = self._text
        begin = _SPACES.match(text, self._end).end()  # type: ignore[union-attr]
        if self._start < self._end and self._breaks(self._end, begin):
            self._close(hits, self._end)
            self._start = self._end
        if self._start == self._end:
            self._start = self._end = begin
        space = _SPACE.search(text, max(begin, self._seen))
        end = space.start() if space else len(text)
        if end - self._start > LONGEST:
            self._split(hits)
            return True
        if begin == len(text) or (space is None and not final):
            self._seen = len(text)
            if final:
                self._close(hits, self._end)
                self._start = self._end = begin
            return False
        self._seen = end
        if self._start < self._end and self._joins(text[begin:end]):
            self._end = end
        else:
            self._close(hits, end)
            self._start, self._end = begin, end
            self._key = "-----BEGIN" in text[begin:end]
            if _PLAIN.fullmatch(text, begin, end):
                self._start = end
            elif not (self._key or re.search(r"\d", text[begin:end]) or text[begin] in "+("):
                self._close(hits, end)
                self._start = end
        if self._key and _PEM_END.search(text, self._start, self._end):
            self._close(hits, self._end)
            self._start = self._end
        return True

    def _breaks(self, start: int, end: int) -> bool:
        """Whether no number goes on after this space."""
        return not self._key and (end - start > 3 or _LINE.search(self._text, start, end) is not None)

    def _joins(self, word: str) -> bool:
        return (_PEM_WORD if self._key else _NUMBERS).fullmatch(word) is not None

    def _close(self, hits: list[Hit], after: int) -> int:
        """Judge the stretch, and give where its last hit ends."""
        last = self._start
        short = self._end - self._start < SHORTEST
        if short or not self._needs.search(self._text, self._start, self._end):
            return last
        begin = max(0, self._start - BEFORE)
        for span in self._find(self._text[begin:after]):
            start, end = max(begin + span.start, self._start), min(begin + span.end, self._end)
            if start < end and self._keep(self._text[start:end]):
                hits.append(Hit(self._at + start, self._at + end, span.kind, f"[{span.kind} removed]"))
                last = max(last, end)
        self._key = False
        return last

    def _split(self, hits: list[Hit]) -> None:
        """What is too long to be one is judged in parts that overlap."""
        self._end = self._start + LONGEST
        last = self._close(hits, self._end)
        self._start = self._end = self._seen = max(last, self._start + LONGEST - OVERLAP)

    def _forget(self) -> None:
        gone = self._start - BEFORE
        if gone > 0:
            self._text = self._text[gone:]
            self._at += gone
            self._start, self._end, self._seen = self._start - gone, self._end - gone, max(0, self._seen - gone)
