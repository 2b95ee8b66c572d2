"""What was given to the assistant in confidence and must not stand in an answer: canaries, however they are written,
and the system prompt, word for word."""

from __future__ import annotations

import base64
import codecs
import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from turnwise.guard.stream import AnswerContext, Reader, SeenText, StreamHit, bare
from turnwise.guard.verdict import Action, Fails, Span

GAP = 8  # signs and blanks that may stand between two letters of a canary
WHOLE = 12  # letters below which a canary counts only as whole words
ENCODED = 5  # letters below which only its own letters count, forwards and backwards
RUN = 8  # words in a row that are the system prompt's
_WORD = re.compile(r"\w+")
FEWEST = 5  # words below which a prompt is too common to be looked for

Run = tuple[str, ...]


class LeakRail:
    """Secret strings and the system prompt in an answer. A canary is found in other case, with signs between the
    letters, backwards, in base64, hexadecimal, an address or ROT13; of the prompt, a run of words that stand in nothing
    else the reader has seen."""

    name = "leak"

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.fails: Fails = options.get("fails", "closed")
        self.action: Action = options.get("action", "redact")
        self._canaries = tuple(options.get("canaries", ()))

    def open(self, context: AnswerContext) -> Reader | None:
        canaries = [each for each in (*self._canaries, *context.canaries) if bare(each)]
        said = _words(context.system_prompt)
        readers: list[Reader] = [CanaryReader(canaries)] if canaries else []
        if len(said) >= FEWEST:
            readers.append(PromptReader(said, min(RUN, len(said)), context.seen))
        return Several(readers) if readers else None

    def spans(self, text: str, context: AnswerContext) -> list[Span]:
        reader = self.open(context)
        hits = reader.feed(text, True)[0] if reader else []
        return [Span(hit.start, hit.end, hit.kind) for hit in hits]


class Several:
    """Readers of one text as one."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._readers = readers

    def feed(self, piece: str, final: bool) -> tuple[list[StreamHit], int]:
        read = [reader.feed(piece, final) for reader in self._readers]
        return sorted((hit for hits, _ in read for hit in hits), key=lambda hit: hit.start), min(end for _, end in read)


def forms(canary: str) -> set[str]:
    """The ways to write a canary that are looked for, each as its letters and digits alone."""
    data, own = canary.encode(), bare(canary)
    if len(own) < ENCODED:
        return {own, own[::-1]} - {""}
    encoded = [data.hex(), quote(canary), codecs.encode(canary, "rot13"), base64.b32encode(data).decode()]
    found = {own, own[::-1], *map(bare, encoded)}
    for shift in range(3):  # where in another text it begins
        letters = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        whole = letters[(0, 2, 3)[shift] : len(letters) - (0 if (len(data) + shift) % 3 == 0 else 1)]
        found.add(bare(whole) if shift == 0 or len(whole) >= WHOLE else own)
    return found - {""}


class Forms:
    """All forms of some canaries as one machine that follows letters (Aho and Corasick)."""

    def __init__(self, canaries: Iterable[str]) -> None:
        self.next: list[dict[str, int]] = [{}]
        self.ends: list[list[int]] = [[]]  # by state, the lengths of the forms that end there
        self.fail = [0]
        self.depth = [0]
        for form in sorted({form for canary in canaries for form in forms(canary)}):
            self._add(form)
        self._link()

    def _add(self, form: str) -> None:
        state = 0
        for letter in form:
            if letter not in self.next[state]:
                self.next[state][letter] = len(self.next)
                self.next.append({})
                self.ends.append([])
                self.fail.append(0)
                self.depth.append(self.depth[state] + 1)
            state = self.next[state][letter]
        self.ends[state].append(len(form))

    def _link(self) -> None:
        todo = deque(self.next[0].values())
        while todo:
            state = todo.popleft()
            for letter, after in self.next[state].items():
                self.fail[after] = self.step(self.fail[state], letter)
                self.ends[after] = self.ends[after] + self.ends[self.fail[after]]
                todo.append(after)

    def step(self, state: int, letter: str) -> int:
        while state and letter not in self.next[state]:
            state = self.fail[state]
        return self.next[state].get(letter, 0)


_forms = lru_cache(32)(Forms)


class CanaryReader:
    """Follows the letters of a text, whatever stands between them."""

    def __init__(self, canaries: Iterable[str]) -> None:
        self._forms = _forms(tuple(canaries))
        self._state = 0
        self._place = 0
        self._letters: deque[tuple[int, bool]] = deque(
            maxlen=max(self._forms.depth)
        )  # places; whether each opens a word
        self._waiting: list[tuple[int, int]] = []  # whole words, if the next character is no letter
        self._in_word = False
        self._gap = 0
        self._hits: list[tuple[int, int]] = []

    def feed(self, piece: str, final: bool) -> tuple[list[StreamHit], int]:
        for character in piece:
            if character.isalnum():
                self._letter(character)
            elif unicodedata.category(character) != "Cf":
                self._in_word = False
                self._hits += self._waiting
                self._waiting = []
                self._gap += 1
                if self._gap > GAP:
                    self._state = 0
            self._place += 1
        if final:
            self._hits += self._waiting
            self._waiting, self._state = [], 0
        depth = self._forms.depth[self._state]
        settled = min([self._letters[-depth][0] if depth else self._place, *(start for start, _ in self._waiting)])
        hits = _joined(self._hits)
        ready = [hit for hit in hits if hit[1] <= settled]
        self._hits = [hit for hit in hits if hit[1] > settled]
        settled = min([settled, *(start for start, _ in self._hits)])
        return [StreamHit(start, end, "hidden string", "[hidden string removed]") for start, end in ready], settled

    def _letter(self, character: str) -> None:
        self._waiting = []
        opens, self._in_word, self._gap = not self._in_word, True, 0
        plain = character if character.isascii() else unicodedata.normalize("NFKC", character)
        for letter in plain.casefold():
            if not letter.isalnum():
                continue
            self._state = self._forms.step(self._state, letter)
            self._letters.append((self._place, opens))
            for length in self._forms.ends[self._state]:
                start, opened = self._letters[-length]
                if length >= WHOLE:
                    self._hits.append((start, self._place + 1))
                elif opened:
                    self._waiting.append((start, self._place + 1))


def _joined(hits: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(hits):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


class PromptReader:
    """Follows the words of a text for as long as they are those of a prompt."""

    def __init__(self, prompt: Sequence[str], run: int, allowed: SeenText) -> None:
        self._run = run
        self._runs, self._begins = _of_prompt(tuple(prompt), run)
        if known := self._runs.intersection(_runs(_words(allowed.text), run)):
            self._runs -= known
            self._begins = _beginnings(self._runs, run)
        self._text = ""
        self._at = 0
        self._pos = 0  # in the buffer, of the first word that was not read
        self._last: deque[tuple[str, int]] = deque(maxlen=run)  # words and their places
        self._hit: tuple[int, int] | None = None

    def feed(self, piece: str, final: bool) -> tuple[list[StreamHit], int]:
        self._text += piece
        hits: list[StreamHit] = []
        unread = len(self._text)
        for word in _WORD.finditer(self._text, self._pos):
            if word.end() == len(self._text) and not final:
                unread = word.start()
                break
            self._read(word[0].casefold(), self._at + word.start(), self._at + word.end(), hits)
        settled = min(self._at + unread, self._open())
        if final:
            settled = self._at + len(self._text)
        if self._hit and settled >= self._hit[1]:
            hits.append(_prompt_hit(self._hit))
            self._hit = None
        elif self._hit:
            settled = self._hit[0]
        self._text, self._at, self._pos = self._text[unread:], self._at + unread, 0
        return hits, settled

    def _read(self, word: str, start: int, end: int, hits: list[StreamHit]) -> None:
        self._last.append((word, start))
        if len(self._last) < self._run or tuple(each for each, _ in self._last) not in self._runs:
            return
        begin = self._last[0][1]
        if self._hit and begin > self._hit[1]:
            hits.append(_prompt_hit(self._hit))
            self._hit = None
        self._hit = (self._hit[0] if self._hit else begin, end)

    def _open(self) -> int:
        """Where the longest run begins that may still become one of the prompt's; the end where there is none."""
        last = list(self._last)
        for at in range(1 if len(last) == self._run else 0, len(last)):
            if tuple(word for word, _ in last[at:]) in self._begins:
                return last[at][1]
        return self._at + len(self._text)


@lru_cache(32)
def _of_prompt(words: tuple[str, ...], run: int) -> tuple[frozenset[Run], frozenset[Run]]:
    runs = frozenset(_runs(words, run))
    return runs, _beginnings(runs, run)


def _beginnings(runs: Iterable[Run], run: int) -> frozenset[Run]:
    return frozenset(each[:size] for each in runs for size in range(1, run))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _runs(words: Sequence[str], size: int) -> Iterator[Run]:
    return zip(*(words[at:] for at in range(size)), strict=False)


def _prompt_hit(place: tuple[int, int]) -> StreamHit:
    return StreamHit(*place, "system prompt", "[system prompt removed]")
