"""Confidential text that must not appear in an answer: canaries, however they are written, and the system prompt, word
for word."""

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

from turnwise.guard.stream import AnswerContext, Reader, SeenText, StreamHit
from turnwise.guard.verdict import Action, Fails, Span
from turnwise.text import letters_and_digits

MAX_GAP_CHARS = 8  # punctuation and spaces between two letters of a canary
MIN_SUBSTRING_LETTERS = 12  # a shorter canary only counts as whole words
MIN_ENCODED_LETTERS = 5  # a shorter canary is only looked for as it is and backwards, not encoded
PROMPT_RUN_WORDS = 8  # this many words in a row, as in the system prompt, are a leak
MIN_PROMPT_WORDS = 5  # a shorter prompt is too common to look for

_WORD = re.compile(r"\w+")

Run = tuple[str, ...]


class LeakRail:
    """Finds canaries and the system prompt in an answer. A canary is found in any case, with other characters between
    its letters, backwards, URL-encoded, or in base64, base32, hexadecimal or ROT13. Of the prompt, it finds runs of
    words that are not in anything else the reader has seen."""

    name = "leak"

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.fails: Fails = options.get("fails", "closed")
        self.action: Action = options.get("action", "redact")
        self._canaries = tuple(options.get("canaries", ()))

    def open(self, context: AnswerContext) -> Reader | None:
        canaries = [each for each in (*self._canaries, *context.canaries) if letters_and_digits(each)]
        prompt = _words(context.system_prompt)
        readers: list[Reader] = [CanaryReader(canaries)] if canaries else []
        if len(prompt) >= MIN_PROMPT_WORDS:
            readers.append(PromptReader(prompt, min(PROMPT_RUN_WORDS, len(prompt)), context.seen))
        return CombinedReader(readers) if readers else None

    def spans(self, text: str, context: AnswerContext) -> list[Span]:
        reader = self.open(context)
        hits = reader.feed(text, True)[0] if reader else []
        return [Span(hit.start, hit.end, hit.kind) for hit in hits]


class CombinedReader:
    """Several readers of the same text as one."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._readers = readers

    def feed(self, piece: str, final: bool) -> tuple[list[StreamHit], int]:
        results = [reader.feed(piece, final) for reader in self._readers]
        hits = sorted((hit for found, _ in results for hit in found), key=lambda hit: hit.start)
        return hits, min(settled for _, settled in results)


def forms(canary: str) -> set[str]:
    """All forms of a canary that are looked for, each reduced to its letters and digits."""
    data, own = canary.encode(), letters_and_digits(canary)
    if len(own) < MIN_ENCODED_LETTERS:
        return {own, own[::-1]} - {""}
    encoded = [data.hex(), quote(canary), codecs.encode(canary, "rot13"), base64.b32encode(data).decode()]
    variants = {own, own[::-1], *map(letters_and_digits, encoded)}
    for shift in range(3):  # base64 depends on the canary's offset in the encoded text, modulo 3
        letters = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        stable = letters[(0, 2, 3)[shift] : len(letters) - (0 if (len(data) + shift) % 3 == 0 else 1)]
        variants.add(letters_and_digits(stable) if shift == 0 or len(stable) >= MIN_SUBSTRING_LETTERS else own)
    return variants - {""}


class FormMatcher:
    """An Aho-Corasick automaton for all forms of some canaries."""

    def __init__(self, canaries: Iterable[str]) -> None:
        self.next: list[dict[str, int]] = [{}]
        self.ends: list[list[int]] = [[]]  # for each state, the lengths of the forms that end there
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


_form_matcher = lru_cache(32)(FormMatcher)


class CanaryReader:
    """Looks for canaries in the letters of a text, ignoring what is between them."""

    def __init__(self, canaries: Iterable[str]) -> None:
        self._forms = _form_matcher(tuple(canaries))
        self._state = 0
        self._place = 0
        # The last letters: the position of each, and whether it starts a word.
        self._letters: deque[tuple[int, bool]] = deque(maxlen=max(self._forms.depth))
        self._waiting: list[tuple[int, int]] = []  # hits on whole words, if the next character is not a letter
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
                if self._gap > MAX_GAP_CHARS:
                    self._state = 0
            self._place += 1
        if final:
            self._hits += self._waiting
            self._waiting, self._state = [], 0
        depth = self._forms.depth[self._state]
        settled = min([self._letters[-depth][0] if depth else self._place, *(start for start, _ in self._waiting)])
        hits = _merge(self._hits)
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
                if length >= MIN_SUBSTRING_LETTERS:
                    self._hits.append((start, self._place + 1))
                elif opened:
                    self._waiting.append((start, self._place + 1))


def _merge(hits: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The hits in order, with overlapping ones merged."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(hits):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


class PromptReader:
    """Looks for runs of words of the system prompt in a text."""

    def __init__(self, prompt: Sequence[str], run: int, seen: SeenText) -> None:
        self._run = run
        self._runs, self._prefixes = _prompt_runs(tuple(prompt), run)
        self._seen: SeenText | None = seen  # read only when a run of the prompt appears, for it may be long
        self._text = ""
        self._at = 0  # position of the buffer in the whole text
        self._last: deque[tuple[str, int]] = deque(maxlen=run)  # the last words and their positions
        self._hit: tuple[int, int] | None = None

    def feed(self, piece: str, final: bool) -> tuple[list[StreamHit], int]:
        self._text += piece
        hits: list[StreamHit] = []
        unread = len(self._text)
        for word in _WORD.finditer(self._text):
            if word.end() == len(self._text) and not final:
                unread = word.start()
                break
            self._read_word(word[0].casefold(), self._at + word.start(), self._at + word.end(), hits)
        settled = min(self._at + unread, self._open_run_start())
        if final:
            settled = self._at + len(self._text)
        if self._hit and settled >= self._hit[1]:
            hits.append(_prompt_hit(self._hit))
            self._hit = None
        elif self._hit:
            settled = self._hit[0]
        self._text, self._at = self._text[unread:], self._at + unread
        return hits, settled

    def _read_word(self, word: str, start: int, end: int, hits: list[StreamHit]) -> None:
        self._last.append((word, start))
        if not self._is_of_prompt():
            return
        if self._seen is not None:
            self._forget_runs_of(self._seen)
            self._seen = None
            if not self._is_of_prompt():
                return
        begin = self._last[0][1]
        if self._hit and begin > self._hit[1]:
            hits.append(_prompt_hit(self._hit))
            self._hit = None
        self._hit = (self._hit[0] if self._hit else begin, end)

    def _is_of_prompt(self) -> bool:
        return len(self._last) == self._run and tuple(word for word, _ in self._last) in self._runs

    def _forget_runs_of(self, seen: SeenText) -> None:
        """What the reader has already seen is no leak."""
        if known := self._runs.intersection(_runs(_words(seen.text), self._run)):
            self._runs -= known
            self._prefixes = _prefixes_of(self._runs, self._run)

    def _open_run_start(self) -> int:
        """Start of the longest run that may still become one of the prompt, or the end of the text if there is none."""
        last = list(self._last)
        for at in range(1 if len(last) == self._run else 0, len(last)):
            if tuple(word for word, _ in last[at:]) in self._prefixes:
                return last[at][1]
        return self._at + len(self._text)


@lru_cache(32)
def _prompt_runs(words: tuple[str, ...], run: int) -> tuple[frozenset[Run], frozenset[Run]]:
    """The runs of words in a prompt, and all beginnings of those."""
    runs = frozenset(_runs(words, run))
    return runs, _prefixes_of(runs, run)


def _prefixes_of(runs: Iterable[Run], run: int) -> frozenset[Run]:
    return frozenset(each[:size] for each in runs for size in range(1, run))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _runs(words: Sequence[str], size: int) -> Iterator[Run]:
    return zip(*(words[at:] for at in range(size)), strict=False)


def _prompt_hit(place: tuple[int, int]) -> StreamHit:
    return StreamHit(*place, "system prompt", "[system prompt removed]")
