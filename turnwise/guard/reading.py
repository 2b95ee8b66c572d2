"""A message or a passage, read once for all rails: its plain form, and the other forms that its words may be hidden in.
All of it takes time in proportion to the length."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from turnwise.guard.decoding import Payload, hidden, payloads, unescaped
from turnwise.guard.disguises import undisguised, unformatted
from turnwise.guard.folding import Tape, closed, folded
from turnwise.guard.letters import ROT13_TABLE
from turnwise.guard.turning import gives_words_backwards, gives_words_turned, looks_backwards, looks_turned
from turnwise.guard.vocabulary import Tokens

DEEPEST = 3  # encodings inside of one another
MOST_VIEWS = 32
MOST_PAYLOADS = 4  # of one text that are read one by one; all others are read as one
LARGEST = 4  # times the length of the message (and 4,096) that all its other forms together may have

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class View:
    """A form of the message that rails read. `origin` is the place in the original of each character; None for what
    was decoded, which stands for all of `span`. `hidden`: whether it was plainly hidden, as no honest text is."""

    text: str
    kind: str
    origin: Sequence[int] | None
    span: tuple[int, int]
    hidden: bool = True


@dataclass(frozen=True, slots=True)
class TextReading:
    """`plain`: without invisible characters, in compatible forms, look-alikes in the script of their word, gaps as one
    blank. `views`: the plain one, then those that differ and hold words. `signs`: how much of what was undone."""

    original: str
    plain: str
    views: tuple[View, ...]
    signs: Mapping[str, int]

    def place(self, view: View, start: int, end: int) -> tuple[int, int]:
        """The part of the original that a part of a view stands for, with what was left out inside of it."""
        size = len(view.text)
        start, end = max(0, min(start, size)), max(0, min(end, size))
        if view.origin is None or not size:
            return view.span
        if start >= end:
            at = view.origin[start] if start < size else view.span[1]
            return at, at
        first, last = view.origin[start], view.origin[end - 1]
        if first > last or view.kind.endswith("reversed"):
            return min(first, last), max(first, last) + 1
        after = view.origin[end] if end < size else view.span[1]
        return first, max(after, last + 1)


def read(text: str) -> TextReading:
    """The reading of any text; it never fails."""
    signs: Counter[str] = Counter()
    views: dict[str, View] = {}
    left = LARGEST * len(text) + 4096
    for view in _views(text, signs, DEEPEST):
        if views and (len(views) >= MOST_VIEWS or left < len(view.text)):
            signs["cut"] += 1  # there was more to read than may be read
            break
        if not views or (view.text not in views and view.text.strip()):
            left -= len(view.text) if views else 0
            views[view.text] = view
    plain, *_ = views.values()
    return TextReading(text, plain.text, tuple(views.values()), MappingProxyType({key: signs[key] for key in +signs}))


def _views(text: str, signs: Counter[str], depth: int) -> Iterator[View]:
    """The plain view, then all others; those of what was decoded are views of it in turn."""
    loose = folded(Tape(text), signs)
    plain = closed(loose)
    whole = (0, len(text))
    yield View(plain.text, "plain", plain.origin(), whole, False)
    told = [(each, each.span) for each in hidden(text)]
    tape, tokens, kinds = loose, Tokens(loose.text), list[str]()
    told += _told(tape, tokens, len(text))
    for _ in range(DEEPEST):
        counted: Counter[str] = Counter()
        opened = unescaped(tape, counted)
        if opened is tape:
            break
        told += [(each, opened.place(*each.span, len(text))) for each in hidden(opened.text)]
        tape = folded(opened, signs)
        tokens = Tokens(tape.text)
        signs.update(counted)
        kinds += [kind for name in counted if (kind := f"decoded {name}") not in kinds]
        told += _told(tape, tokens, len(text))
    if kinds:
        yield _view(tape, " + ".join(kinds), whole)
    names, tape, tokens = undisguised(tape, tokens, signs)
    if names:
        yield _view(tape, " + ".join([*kinds, *names]), whole)
    if (bare := unformatted(tape)) is not tape:
        yield _view(bare, "unformatted", whole, hidden=False)
    for view in _turned(closed(tape), tokens, signs, whole):
        yield view
        told += [(each, whole) for each in payloads(view.text, Tokens(view.text))]
    for payload, span in _few(told, signs) if depth else ():
        for view in _views(payload.text, signs, depth - 1):
            inner = "" if view.kind == "plain" else f" > {view.kind}"
            yield View(view.text, payload.kind + inner, None, span)


def _few(
    told: Sequence[tuple[Payload, tuple[int, int]]], signs: Counter[str]
) -> Iterator[tuple[Payload, tuple[int, int]]]:
    """The different payloads, each counted; those beyond the first few as one."""
    different = list({payload.text: (payload, span) for payload, span in reversed(told)}.values())[::-1]
    for payload, _ in different:
        if payload.kind != "hidden tags":  # they were counted one by one
            signs[payload.kind.removeprefix("decoded ")] += 1
    yield from different[:MOST_PAYLOADS]
    if rest := different[MOST_PAYLOADS:]:
        first, last = min(span[0] for _, span in rest), max(span[1] for _, span in rest)
        yield Payload("\n".join(payload.text for payload, _ in rest), rest[0][0].kind, (first, last)), (first, last)


def _view(tape: Tape, kind: str, span: tuple[int, int], hidden: bool = True) -> View:
    tape = closed(tape)
    return View(tape.text, kind, tape.origin(), span, hidden)


def _told(tape: Tape, tokens: Tokens, length: int) -> list[tuple[Payload, tuple[int, int]]]:
    """The payloads of a text, each with its place in the original."""
    return [(each, tape.place(*each.span, length)) for each in payloads(tape.text, tokens)]


def _turned(tape: Tape, tokens: Tokens, signs: Counter[str], whole: tuple[int, int]) -> Iterator[View]:
    """The text, of these tokens, turned by 13 letters or backwards, where it shows signs of it."""
    words = tokens.words()
    plainly = gives_words_turned(words)
    if plainly or looks_turned(tokens, words):
        signs["rot13"] += 1
        yield View(tape.text.translate(ROT13_TABLE), "rot13", tape.origin(), whole, plainly)
    plainly = gives_words_backwards(words)
    if plainly or looks_backwards(tape.text, tokens.all, words):
        signs["reversed"] += 1
        places = np.arange(len(tape.text)) if tape.places is None else tape.places
        back = Tape(tape.text[::-1], places[::-1].copy())
        yield View(back.text, "reversed", back.origin(), whole, plainly)
        yield View(_WORD.sub(lambda found: found[0][::-1], tape.text), "reversed words", None, whole, plainly)
