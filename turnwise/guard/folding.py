"""The plain form of a text, and the `Tape` that keeps the original position of each of its characters."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence, Set
from functools import cache, lru_cache

import numpy as np

from turnwise.guard.lookalikes import in_one_script

Places = np.ndarray[tuple[int], np.dtype[np.int64]]
Points = np.ndarray[tuple[int], np.dtype[np.uint32]]

MAX_EXPANSION_CHARS = 4  # that one character may become; a few ligatures stand for whole phrases
MAX_REPLACEMENTS = 8  # up to this many different characters, one str.replace after the other is fastest
MIN_ARRAY_CHARS = 4_000  # from this length on, an array is the fastest way to the distinct characters
CACHED_TEXTS = 8  # several steps and rails want the characters of the same long text
MIN_FLOOD_MARKS = 4  # this many marks on one letter are noise

_LINE_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_SMALL_CAPITALS = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɑɡꞮ´", "abcdefghijklmnoprstuvwyzagi'", strict=True))
_SHOWN_FORMATS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u3164\uffa0"
# Ranges that never change: ideographs, Korean syllables, private use, planes without characters.
_UNCHANGING = (
    (0x3400, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xE000, 0xF8FF),
    (0x20000, 0x2F7FF),
    (0x30000, 0xDFFFF),
    (0xE1000, 0x10FFFF),
)
_SPECIAL = {*_SMALL_CAPITALS, *_BLANK_LETTERS, *map(chr, range(0x1F150, 0x1F18A)), *map(chr, range(0xE0000, 0xE1000))}
_VISIBLE = {"Lu", "Ll", "Lo", "Lm", "Nd", "Po", "Pd", "Sm", "So", "Co", "Cn"}
_KEPT = re.compile("[\u0e33\u0eb3\u3131-\u318e]")  # Thai, Lao and Korean letters that NFKC would decompose
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"  # on letters of any script
_JOINING = (  # these may combine with the letter before
    "\u0653-\u0655\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0c56\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dca\u0dcf\u0ddf\u102e"
    "\u1161-\u1175\u11a8-\u11c2\u1b35\u3099\u309a"
)
_ANY_MARK = re.compile(f"[{_MARKS}]")
_FLOOD = re.compile(f"[{_MARKS}]{{{MIN_FLOOD_MARKS},}}")
_CLUSTER = re.compile(f"[^{_MARKS}{_JOINING}\\s][{_MARKS}{_JOINING}]{{1,4}}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\t]")


def characters_in(*ranges: tuple[int, int]) -> frozenset[str]:
    """All characters in these ranges of code points, each with its first and last."""
    return frozenset(chr(point) for first, last in ranges for point in range(first, last + 1))


_UP_TO_MARKS = "".join(map(chr, (*range(0x300, 0x3100), *range(0xFE20, 0xFE30))))
_ALL_MARKS = frozenset(re.findall(f"[{_MARKS}{_JOINING}]", _UP_TO_MARKS))
_HIDDEN = frozenset("\u00ad\u061c\u180e\u200b\u200e\u200f\ufeff") | characters_in((0x2060, 0x2064))
_BIDI = characters_in((0x202A, 0x202E), (0x2066, 0x2069))
_TAGS = characters_in((0xE0020, 0xE007E))
_SELECTORS = characters_in((0xE0100, 0xE01EF), (0xFE00, 0xFE0D))
_AFTER_LETTER = re.compile("(?<=[A-Za-z])[\u200c\u200d\ufe0e\ufe0f]")  # elsewhere they shape emoji, Persian and Hindi


class Tape:
    """A text, and the position of each of its characters in the original (None if the positions are the same)."""

    __slots__ = ("places", "text")

    def __init__(self, text: str, places: Places | None = None) -> None:
        self.text = text
        self.places = places

    def origin(self) -> Sequence[int]:
        return range(len(self.text)) if self.places is None else self.places.data

    def place(self, start: int, end: int, length: int) -> tuple[int, int]:
        """The span in the original, which has this length, of a span in the text."""
        if self.places is None:
            return start, end
        first = int(self.places[start]) if start < len(self.text) else length
        return first, int(self.places[end]) if end < len(self.text) else length

    def derive(self, text: str, inner: Places | None) -> Tape:
        """A new text made from this one; `inner` is the position in this one of each new character."""
        if inner is None:
            return Tape(text, self.places)
        return Tape(text, inner if self.places is None else self.places[inner])

    def sub(self, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str | Spread | None]) -> Tape:
        """Replace all matches; if `replace` returns None, the match is left. The characters of a replacement are spread
        evenly over the match, unless it is a `Spread`, which has positions of its own."""
        pieces: list[str] = []
        segments: list[tuple[int, int, int]] = []  # start, old length, new length
        exact: list[tuple[int, Sequence[int]]] = []
        last = size = 0
        for found in pattern.finditer(self.text):
            new = replace(found)
            if new is None or new == found[0]:
                continue
            start, end = found.span()
            text = new.text if isinstance(new, Spread) else new
            size += start - last
            if isinstance(new, Spread):
                exact.append((size, new.places))
            segments += ((last, start - last, start - last), (start, end - start, len(text)))
            pieces += (self.text[last:start], text)
            size += len(text)
            last = end
        if not segments:
            return self
        rest = len(self.text) - last
        pieces.append(self.text[last:])
        if not exact and all(old == new for _, old, new in segments):
            return self.derive("".join(pieces), None)
        segments.append((last, rest, rest))
        starts, olds, news = np.array(segments, np.int64).T
        steps = np.arange(size + rest) - np.repeat(np.cumsum(news) - news, news)
        inner = np.repeat(starts, news) + steps * np.repeat(olds, news) // np.repeat(np.maximum(news, 1), news)
        for at, places in exact:
            inner[at : at + len(places)] = places
        return self.derive("".join(pieces), inner)


class Spread:
    """A replacement with the position of each of its characters."""

    __slots__ = ("places", "text")

    def __init__(self, text: str, places: Sequence[int]) -> None:
        self.text = text
        self.places = places


def fold(tape: Tape, signs: Counter[str] | None = None) -> Tape:
    """The text without invisible characters, in compatibility forms, and with each word in one script. Repeated spaces
    are kept; see `collapse_spaces`."""
    if tape.text.isascii():
        return _fold_characters(tape, characters_of(tape.text), None) if _CONTROL.search(tape.text) else tape
    characters = characters_of(tape.text)
    if signs is not None:
        _count_invisible(tape.text, characters, signs)
    for _ in range(3):
        before = tape.text
        tape = _fold_characters(tape, characters, signs)
        if tape.text != before:
            characters = characters_of(tape.text)
        folded = tape.text
        if characters & _ALL_MARKS:
            tape = _compose_marks(tape, signs)
        text, changed = in_one_script(tape.text, characters)
        tape = tape.derive(text, None)
        if signs is not None:
            signs["homoglyphs"] += changed
        if text == before:
            break
        if text != folded:
            characters = characters_of(text)
    return tape


def _count_invisible(text: str, characters: Set[str], signs: Counter[str]) -> None:
    """Count the invisible characters."""
    for name, group in (("zero_width", _HIDDEN), ("bidi", _BIDI), ("tags", _TAGS), ("selectors", _SELECTORS)):
        signs[name] += sum(map(text.count, characters & group))
    if not characters.isdisjoint("\u200c\u200d\ufe0e\ufe0f"):
        for found in _AFTER_LETTER.finditer(text):
            signs["zero_width" if found[0] < "\u2010" else "selectors"] += 1


def collapse_spaces(tape: Tape) -> Tape:
    """The text with each run of spaces as one."""
    if "  " not in tape.text:
        return tape
    points = _points(tape.text)
    blank = points == 32
    kept = np.flatnonzero(~(blank & np.concatenate(([False], blank[:-1]))))
    return tape.derive(_text(points[kept]), kept)


def _fold_characters(tape: Tape, characters: Set[str], signs: Counter[str] | None) -> Tape:
    text = tape.text
    if "\r\n" in text:
        points = _points(text)
        kept = np.flatnonzero(~((points == 13) & (np.append(points[1:], 0) == 10)))
        text = text.replace("\r\n", "\n")
        tape = tape.derive(text, kept)
    table = {ord(each): new for each in characters if (new := fold_character(each)) != each}
    forms = {chr(point) for point, new in table.items() if point > 127 and new.isalnum()}
    if forms and signs is not None:
        signs["forms"] += sum(
            map(text.count, forms) if len(forms) <= MAX_REPLACEMENTS else map(forms.__contains__, text)
        )
    return _apply_table(tape, table) if table else tape


def _apply_table(tape: Tape, table: dict[int, str]) -> Tape:
    new = tape.text
    if len(table) > MAX_REPLACEMENTS:
        new = new.translate(table)
    else:
        for point, each in table.items():
            new = new.replace(chr(point), each)
    if all(len(each) == 1 for each in table.values()):
        return tape.derive(new, None)
    lengths = np.ones(max(table) + 2, np.uint8)  # the last entry is for all characters beyond the table
    for point, each in table.items():
        lengths[point] = len(each)
    sizes = lengths.take(_points(tape.text), mode="clip")
    return tape.derive(new, np.repeat(np.arange(len(tape.text)), sizes))


@lru_cache(maxsize=16384)
def fold_character(each: str) -> str:
    """The plain form of one character: "" if it is invisible, a space or line break for any whitespace."""
    if each in "\n ":
        return each
    category = unicodedata.category(each)
    if category in _VISIBLE and each not in _SPECIAL and unicodedata.is_normalized("NFKC", each):
        return each
    if each in _LINE_ENDS or each == "\r":
        return "\n"
    if each in "\t\x1f\u2800" or category == "Zs":
        return " "
    if category in ("Cc", "Cs") or (category == "Cf" and each not in _SHOWN_FORMATS) or each in _BLANK_LETTERS:
        return ""
    point = ord(each)
    if 0xFE00 <= point <= 0xFE0F or 0xE0000 <= point <= 0xE0FFF:
        return ""
    if each in _SMALL_CAPITALS:
        return _SMALL_CAPITALS[each]
    for first in (0x1F150, 0x1F170):  # negative circled and squared letters
        if first <= point < first + 26:
            return chr(ord("A") + point - first)
    if point < 0x80 or _KEPT.match(each):
        return each
    plain = unicodedata.normalize("NFKC", each)
    if plain == each or len(plain) > MAX_EXPANSION_CHARS or plain[0] == " " or _ANY_MARK.match(plain):
        return each
    return "".join(map(fold_character, plain))


def _compose_marks(tape: Tape, signs: Counter[str] | None) -> Tape:
    """Combine marks with the letter before them if there is such a letter; drop other marks, and floods of them."""
    size = len(tape.text)
    tape = tape.sub(_FLOOD, lambda _: "")
    dropped = size - len(tape.text)
    tape = tape.sub(_CLUSTER, lambda found: unicodedata.normalize("NFC", found[0]))
    if left := set(_ANY_MARK.findall(tape.text)):
        size = len(tape.text)
        tape = _apply_table(tape, {ord(mark): "" for mark in left})
        dropped += size - len(tape.text)
    if signs is not None:
        signs["combining"] += dropped
    return tape


def characters_of(text: str) -> Set[str]:
    """The distinct characters of a text; for a long one, without those that never change."""
    return set(text) if len(text) < MIN_ARRAY_CHARS or text.isascii() else _characters_of_long(text)


@lru_cache(maxsize=CACHED_TEXTS)
def _characters_of_long(text: str) -> Set[str]:
    points = _points(text).astype(np.int64)  # an index of 32 bits takes three times as long
    present = np.zeros(int(points.max()) + 1, np.bool_)
    present[points] = True
    for first, last in _UNCHANGING:
        present[first : last + 1] = False
    return frozenset(map(chr, np.flatnonzero(present).tolist()))


def long_runs(text: str, min_chars: int, allowed: str = "") -> list[tuple[int, int]]:
    """The bounds of runs of at least `min_chars` characters without whitespace, or of only these characters."""
    edges = np.flatnonzero(np.diff(_are_allowed(text, allowed), prepend=False, append=False))
    starts, ends = edges[::2], edges[1::2]
    long = ends - starts >= min_chars
    return list(zip(starts[long].tolist(), ends[long].tolist(), strict=True))


def lone_characters(text: str, gaps: str, max_gap: int) -> list[tuple[int, int]]:
    """The bounds of stretches in which lone characters follow one another, each between two of the characters `gaps`
    and at most `max_gap` before the next one. The gap before a stretch, and the character before that, are part of it.
    """
    gap = _are_allowed(text, gaps)
    lone = np.flatnonzero(gap[:-2] & ~gap[1:-1] & gap[2:]) + 1
    first = np.flatnonzero(np.diff(lone) <= max_gap + 1)
    starts, ends = np.maximum(lone[first] - max_gap - 1, 0), lone[first + 1] + 1
    begins = np.ones(len(first) + 1, np.bool_)  # whether a stretch starts here, or overlaps the one before
    begins[1:-1] = starts[1:] > ends[:-1]
    return list(zip(starts[begins[:-1]].tolist(), ends[begins[1:]].tolist(), strict=True))


def _are_allowed(text: str, allowed: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return _character_mask(allowed).take(_points(text), mode="clip")


@cache
def _character_mask(allowed: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which characters are allowed, or are not whitespace if none are given. The last entry is for all beyond."""
    points = map(chr, range(ord(max(allowed)) + 2 if allowed else 0x3002))
    return np.array([each in allowed if allowed else not each.isspace() for each in points])


def _points(text: str) -> Points:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _text(points: Points) -> str:
    return points.tobytes().decode("utf-32-le", "surrogatepass")
