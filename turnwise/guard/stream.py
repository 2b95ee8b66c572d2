"""Streamed text, checked before it is released: anything that may still become part of a hit is held back.

The contract: how a text is cut into pieces makes no difference to what is released, and no character of a hit is ever
released. Each rail reads the whole stream on its own. After each piece it returns the hits that are now complete and
the position from which it cannot decide yet. Text that every rail has decided on is released.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from turnwise.guard.verdict import Action, Fails, Span, State
from turnwise.text import letters_and_digits

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StreamHit:
    """Something a rail found in a stream: its position in the whole text, and what to show instead."""

    start: int
    end: int
    kind: str
    replacement: str = ""


class Reader(Protocol):
    """Reads one text piece by piece."""

    def feed(self, piece: str, final: bool) -> tuple[list[StreamHit], int]:
        """The hits completed by this piece, and the position from which later ones may start. After the last piece
        (`final`), that is the end of the text."""
        ...


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """What is known about an answer in advance: what it must not contain, and what the reader has already seen."""

    system_prompt: str = ""
    canaries: Sequence[str] = ()
    seen: SeenText = field(default_factory=lambda: SeenText(""))


class StreamRail(Protocol):
    """A rail for answers. If it raises, `fails` decides what happens."""

    name: str
    action: Action
    fails: Fails

    def open(self, context: AnswerContext) -> Reader | None:
        """A reader for one answer, or None if there is nothing to look for."""
        ...

    def spans(self, text: str, context: AnswerContext) -> list[Span]:
        """What the rail finds in a complete text."""
        ...


class SeenText:
    """Text the reader has already seen: repeating it is not a leak."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _folded(self) -> str:
        return self._text.casefold()

    @cached_property
    def _bare(self) -> str:
        return letters_and_digits(self._text)

    def holds(self, value: str) -> bool:
        """Whether the text contains the value, perhaps with other characters between its letters and digits."""
        return value.casefold() in self._folded or ((own := letters_and_digits(value)) != "" and own in self._bare)

    def holds_url(self, url: str) -> bool:
        """Whether the text contains exactly this URL, not just a longer one that starts with it."""
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


# --- releasing what every rail has decided on ----------------------------------------------------------------------


@dataclass(slots=True)
class RailRun:
    """One rail at work on a stream, and what it has found so far."""

    rail: StreamRail
    reader: Reader
    hits: list[StreamHit] = field(default_factory=list)
    state: State = "clear"
    error: str = ""


class Redactor:
    """Takes a text piece by piece and returns what may be shown, with redacted parts replaced. After a hit from a rail
    that blocks, it returns nothing more."""

    def __init__(self, rails: Sequence[StreamRail], context: AnswerContext) -> None:
        opened = ((rail, rail.open(context)) for rail in rails)
        self.runs = [RailRun(rail, reader) for rail, reader in opened if reader is not None]
        self.blocked = ""
        self._text = ""
        self._at = 0  # position of the buffer in the whole text
        self._pending: list[tuple[StreamHit, Action]] = []  # hits in text that is not released yet
        self._end = 0  # end of the last hit
        self._replaced = False  # whether the last released text replaced a hit

    @property
    def held(self) -> int:
        return len(self._text)

    def feed(self, piece: str, final: bool = False) -> str:
        if self.blocked:
            return ""
        if not self.runs:
            return piece
        self._text += piece
        cut = self._at + len(self._text)
        for run in self.runs:
            settled = self._advance(run, piece, final)
            if run.rail.action != "warn":
                cut = min(cut, settled)
        return self._release(cut)

    def _advance(self, run: RailRun, piece: str, final: bool) -> int:
        """Feed a piece to one rail. Returns the position up to which the rail has decided."""
        end = self._at + len(self._text)
        if run.state in ("failed", "skipped"):
            return end
        try:
            hits, settled = run.reader.feed(piece, final)
        except Exception as error:
            log.exception("the rail %s failed", run.rail.name)
            run.state, run.error = "failed", f"the rail {run.rail.name} failed ({type(error).__name__})"
            if run.rail.fails == "closed":
                self._pending.append((StreamHit(self._at, self._at, run.error), "block"))
            return end
        if hits:
            run.state = "found"
            run.hits += hits
            if run.rail.action != "warn":
                self._pending += [(hit, run.rail.action) for hit in hits]
                self._pending.sort(key=lambda pending: (pending[0].start, -pending[0].end))
        return settled

    def _release(self, cut: int) -> str:
        """Release the text up to this position, or up to a hit that reaches across it."""
        for hit, _ in reversed(self._pending):  # last first: a hit that reaches across may start inside another
            if hit.start < cut < hit.end:
                cut = hit.start
        pieces: list[str] = []
        place = self._at
        while self._pending and self._pending[0][0].end <= cut:
            hit, action = self._pending.pop(0)
            if hit.start >= self._end:
                pieces.append(self._plain(place, hit.start))
                if action == "block":
                    self.blocked = hit.kind
                    self._text, self._at = "", cut
                    return "".join(pieces)
                pieces.append(hit.replacement)
                self._replaced = hit.replacement.endswith("]")
            elif action == "block":  # inside another hit, which has been replaced
                self.blocked = hit.kind
                self._text, self._at = "", cut
                return "".join(pieces)
            self._end = max(self._end, hit.end)
            place = max(place, hit.end)
        pieces.append(self._plain(place, cut))
        self._text, self._at = self._text[cut - self._at :], cut
        return "".join(pieces)

    def _plain(self, start: int, end: int) -> str:
        """The text between two positions. A space before a parenthesis or bracket that directly follows a replacement
        keeps the two from forming a link."""
        text = self._text[start - self._at : end - self._at]
        if text and self._replaced:
            self._replaced = False
            return f" {text}" if text[0] in "([" else text
        return text


# --- words, and groups of numbers that are read as one -------------------------------------------------------------

CONTEXT_CHARS = 100  # text before a word that may say what the word is
MIN_HIT_CHARS = 6
MAX_STRETCH_CHARS = 8000  # a longer stretch is split
OVERLAP_CHARS = 500  # end of a split stretch that is read again with what follows

_SPACE = re.compile(r"\s")
_SPACES = re.compile(r"\s*")
_ANY = re.compile(r"\S")
_LINE = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*[.,;:!?)\"'”’]{0,3}")  # never a hit
_NUMBER_CONTINUATION = re.compile(r"(?=.*\d|[+().–‑/-]+$)[\w+().–‑/:@-]*|[A-Z0-9]{1,4}", re.S)
_PEM_WORD = re.compile(r"[A-Za-z0-9+/=\\,:\"'>|-]+|\S*-----\S*")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,50}-----")


class WordReader:
    """Reads a stream word by word for hits that are words or groups of numbers: card and phone numbers with spaces,
    keys that span several lines. `find` gets a complete stretch of text, with the text before it and the word after."""

    def __init__(
        self, find: Callable[[str], list[Span]], keep: Callable[[str], bool], needs: re.Pattern[str] = _ANY
    ) -> None:
        self._find = find
        self._needs = needs  # matches in every hit, so that a stretch without it can be skipped
        self._keep = keep  # whether a text that was found counts as a hit
        self._text = ""
        self._at = 0  # position of the buffer in the whole text
        self._start = 0  # start of the open stretch in the buffer
        self._end = 0  # end of its last complete word; equal to the start if no stretch is open
        self._seen = 0  # the current word has no space before this position
        self._key = False  # whether the stretch is a private key

    def feed(self, piece: str, final: bool) -> tuple[list[StreamHit], int]:
        self._text += piece
        hits: list[StreamHit] = []
        while self._step(hits, final):
            pass
        self._forget()
        return hits, self._at + self._start

    def _step(self, hits: list[StreamHit], final: bool) -> bool:
        """Read the next word. Returns False if there is no complete one yet."""
        text = self._text
        begin = _SPACES.match(text, self._end).end()  # type: ignore[union-attr]
        if self._start < self._end and self._breaks(self._end, begin):
            self._close(hits, self._end)
            self._start = self._end
        if self._start == self._end:
            self._start = self._end = begin
        space = _SPACE.search(text, max(begin, self._seen))
        end = space.start() if space else len(text)
        if end - self._start > MAX_STRETCH_CHARS:
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
            if _PLAIN_WORD.fullmatch(text, begin, end):
                self._start = end
            elif not (self._key or re.search(r"\d", text[begin:end]) or text[begin] in "+("):
                self._close(hits, end)
                self._start = end
        if self._key and _PEM_END.search(text, self._start, self._end):
            self._close(hits, self._end)
            self._start = self._end
        return True

    def _breaks(self, start: int, end: int) -> bool:
        """Whether a number cannot continue after this space."""
        return not self._key and (end - start > 3 or _LINE.search(self._text, start, end) is not None)

    def _joins(self, word: str) -> bool:
        return (_PEM_WORD if self._key else _NUMBER_CONTINUATION).fullmatch(word) is not None

    def _close(self, hits: list[StreamHit], after: int) -> int:
        """Check the stretch. Returns the end of its last hit."""
        last = self._start
        short = self._end - self._start < MIN_HIT_CHARS
        if short or not self._needs.search(self._text, self._start, self._end):
            return last
        begin = max(0, self._start - CONTEXT_CHARS)
        for span in self._find(self._text[begin:after]):
            start, end = max(begin + span.start, self._start), min(begin + span.end, self._end)
            if start < end and self._keep(self._text[start:end]):
                hits.append(StreamHit(self._at + start, self._at + end, span.kind, f"[{span.kind} removed]"))
                last = max(last, end)
        self._key = False
        return last

    def _split(self, hits: list[StreamHit]) -> None:
        """Check a stretch that is too long in overlapping parts."""
        self._end = self._start + MAX_STRETCH_CHARS
        last = self._close(hits, self._end)
        self._start = self._end = self._seen = max(last, self._start + MAX_STRETCH_CHARS - OVERLAP_CHARS)

    def _forget(self) -> None:
        gone = self._start - CONTEXT_CHARS
        if gone > 0:
            self._text = self._text[gone:]
            self._at += gone
            self._start, self._end, self._seen = self._start - gone, self._end - gone, max(0, self._seen - gone)
