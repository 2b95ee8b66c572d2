"""Reads a message or passage once for all rails: its plain form, and other forms with disguises and encodings undone.
Everything runs in linear time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from turnwise.guard.decoding import Payload, invisible_payloads, payloads, unescape
from turnwise.guard.disguises import strip_formatting, undo_disguises
from turnwise.guard.folding import Tape, collapse_spaces, fold
from turnwise.guard.letters import ROT13_TABLE
from turnwise.guard.turning import gives_words_backwards, gives_words_in_rot13, looks_backwards, looks_like_rot13
from turnwise.guard.vocabulary import Tokens

MAX_DEPTH = 3  # nested encodings
MAX_VIEWS = 32
MAX_PAYLOADS = 4  # of one text that are read one by one; the others are read as one
MAX_SIZE_FACTOR = 4  # all other forms together may be this many times as long as the message, plus 4,096 characters

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class View:
    """A form of the message that rails read. `origin` is the position of each character in the original, or None if the
    text was decoded from all of `span`. `hidden` says that the text was clearly disguised, which no honest text is."""

    text: str
    kind: str
    origin: Sequence[int] | None
    span: tuple[int, int]
    hidden: bool = True


@dataclass(frozen=True, slots=True)
class TextReading:
    """A text in all forms that rails read. `plain` has no invisible characters, uses compatibility forms, and has
    lookalike letters in the script of their word and single spaces. `views` are the plain form, then other forms that
    differ and contain words. `signs` counts what was undone, by kind."""

    original: str
    plain: str
    views: tuple[View, ...]
    signs: Mapping[str, int]

    def place(self, view: View, start: int, end: int) -> tuple[int, int]:
        """The span in the original of a span in a view, including characters in it that the view leaves out."""
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
    """Read any text; it never fails."""
    signs: Counter[str] = Counter()
    views: dict[str, View] = {}
    left = MAX_SIZE_FACTOR * len(text) + 4096
    for view in _views(text, signs, MAX_DEPTH):
        if views and (len(views) >= MAX_VIEWS or left < len(view.text)):
            signs["cut"] += 1  # some forms were not read
            break
        if not views or (view.text not in views and view.text.strip()):
            left -= len(view.text) if views else 0
            views[view.text] = view
    plain, *_ = views.values()
    return TextReading(text, plain.text, tuple(views.values()), MappingProxyType({key: signs[key] for key in +signs}))


def _views(text: str, signs: Counter[str], depth: int) -> Iterator[View]:
    """The plain view, then all others. A decoded payload is read in the same way."""
    loose = fold(Tape(text), signs)
    plain = collapse_spaces(loose)
    whole = (0, len(text))
    yield View(plain.text, "plain", plain.origin(), whole, False)
    found = [(each, each.span) for each in invisible_payloads(text)]
    tape, tokens, kinds = loose, Tokens(loose.text), list[str]()
    found += _payloads_in(tape, tokens, len(text))
    for _ in range(MAX_DEPTH):
        counts: Counter[str] = Counter()
        unescaped = unescape(tape, counts)
        if unescaped is tape:
            break
        found += [(each, unescaped.place(*each.span, len(text))) for each in invisible_payloads(unescaped.text)]
        tape = fold(unescaped, signs)
        tokens = Tokens(tape.text)
        signs.update(counts)
        kinds += [kind for name in counts if (kind := f"decoded {name}") not in kinds]
        found += _payloads_in(tape, tokens, len(text))
    if kinds:
        yield _view(tape, " + ".join(kinds), whole)
    names, tape, tokens = undo_disguises(tape, tokens, signs)
    if names:
        yield _view(tape, " + ".join([*kinds, *names]), whole)
    if (bare := strip_formatting(tape)) is not tape:
        yield _view(bare, "unformatted", whole, hidden=False)
    for view in _turned_views(plain if tape is loose else collapse_spaces(tape), tokens, signs, whole):
        yield view
        found += [(each, whole) for each in payloads(view.text, Tokens(view.text))]
    for payload, span in _limit_payloads(found, signs) if depth else ():
        for view in _views(payload.text, signs, depth - 1):
            inner = "" if view.kind == "plain" else f" > {view.kind}"
            yield View(view.text, payload.kind + inner, None, span)


def _limit_payloads(
    found: Sequence[tuple[Payload, tuple[int, int]]], signs: Counter[str]
) -> Iterator[tuple[Payload, tuple[int, int]]]:
    """The distinct payloads, each counted; those beyond the first few are joined into one."""
    distinct = list({payload.text: (payload, span) for payload, span in reversed(found)}.values())[::-1]
    for payload, _ in distinct:
        if payload.kind != "hidden tags":  # these have been counted by character
            signs[payload.kind.removeprefix("decoded ")] += 1
    yield from distinct[:MAX_PAYLOADS]
    if rest := distinct[MAX_PAYLOADS:]:
        first, last = min(span[0] for _, span in rest), max(span[1] for _, span in rest)
        yield Payload("\n".join(payload.text for payload, _ in rest), rest[0][0].kind, (first, last)), (first, last)


def _view(tape: Tape, kind: str, span: tuple[int, int], hidden: bool = True) -> View:
    tape = collapse_spaces(tape)
    return View(tape.text, kind, tape.origin(), span, hidden)


def _payloads_in(tape: Tape, tokens: Tokens, length: int) -> list[tuple[Payload, tuple[int, int]]]:
    """The payloads of a text, each with its span in the original."""
    return [(each, tape.place(*each.span, length)) for each in payloads(tape.text, tokens)]


def _turned_views(tape: Tape, tokens: Tokens, signs: Counter[str], whole: tuple[int, int]) -> Iterator[View]:
    """Views of the text in ROT13 and backwards, if it shows signs of either."""
    words = tokens.words()
    certain = gives_words_in_rot13(words)
    if certain or looks_like_rot13(tokens, words):
        signs["rot13"] += 1
        yield View(tape.text.translate(ROT13_TABLE), "rot13", tape.origin(), whole, certain)
    certain = gives_words_backwards(words)
    if certain or looks_backwards(tape.text, tokens.all, words):
        signs["reversed"] += 1
        places = np.arange(len(tape.text)) if tape.places is None else tape.places
        back = Tape(tape.text[::-1], places[::-1].copy())
        yield View(back.text, "reversed", back.origin(), whole, certain)
        yield View(_WORD.sub(lambda found: found[0][::-1], tape.text), "reversed words", None, whole, certain)
