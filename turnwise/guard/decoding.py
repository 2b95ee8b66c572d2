"""Encoded parts of a text: escapes are undone in place, and payloads are extracted and decoded."""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from urllib.parse import unquote_to_bytes

from turnwise.guard.folding import Tape, characters_of, long_runs
from turnwise.guard.vocabulary import WORDS, Tokens, ascii_words
from turnwise.text import SELECTORS, hidden_bytes

MIN_BASE64_CHARS = 12
MIN_CERTAIN_CHARS = 24  # a shorter payload in base64 or hexadecimal must contain a known word

_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*")  # starts with a fixed character, which is found faster
_PLUS = re.compile(r"\+(?<=\w\+)(?=\w)")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z][A-Za-z0-9]{1,30};)")
_ESCAPE = re.compile(
    r"\\(?:u[0-9A-Fa-f]{4}(?:\\u[0-9A-Fa-f]{4})*|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}(?:\\x[0-9A-Fa-f]{2})*"
    r"|[0-3][0-7]{2}(?:\\[0-3][0-7]{2})*)"
)
_BASE64_LINE = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{MIN_BASE64_CHARS},}}")
_BASE64 = re.compile(rf"{_BASE64_LINE.pattern}(?:[ \t]{{0,4}}\n[ \t]{{0,4}}[A-Za-z0-9+/_-]{{2,}})*={{0,2}}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x)?[0-9A-Fa-f]{2}[ :,-]{0,2}){8,}(?![0-9A-Za-z])")
_HEX_CHARS = "0123456789ABCDEFabcdefx :,-"
_BINARY = re.compile(r"(?<![0-9A-Za-z])(?:[01]{8}[ ,]{0,2}){4,}(?![0-9A-Za-z])")
_BASE64_WIDE = re.compile(r"[A-Za-z0-9+/_-]{40}")  # perhaps one of several lines
_PAIR = re.compile(r"(?:0x)?[0-9A-Fa-f]{2}[:,-]?")
_EIGHT_BITS = re.compile(r"[01]{8}")
_NOT_HEX = re.compile(r"0x|[^0-9A-Fa-f]")
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_TAGS_TO_ASCII = {0xE0000 + point: chr(point) for point in range(0x20, 0x7F)}
_ZERO_WIDTH = re.compile("[\u200b\u200c\u200d\u2060\ufeff]{16,}")
_INVISIBLE = {*map(chr, range(0xE0020, 0xE01F0)), *map(chr, range(0xFE00, 0xFE0F)), *"\u200b\u200c\u200d\u2060\ufeff"}
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Payload:
    text: str
    kind: str
    span: tuple[int, int]  # in the text it was found in


def unescape(tape: Tape, signs: Counter[str]) -> Tape:
    """Undo one level of percent-encoding, HTML entities and backslash escapes."""

    def counted(name: str, new: str | None, old: str, size: int) -> str | None:
        if new is None or new == old:
            return None
        signs[name] += max(1, len(old) // size)
        return new

    if "%" in tape.text:
        before = tape
        tape = tape.sub(_PERCENT, lambda found: counted("url", _decode_percent(found[0]), found[0], 3))
        if tape is not before:
            tape = tape.sub(_PLUS, lambda _: " ")
    if "&" in tape.text:
        tape = tape.sub(_ENTITY, lambda found: counted("html", _decode_entity(found[0]), found[0], len(found[0])))
    if "\\" in tape.text:
        tape = tape.sub(_ESCAPE, lambda found: counted("escapes", _decode_escape(found[0]), found[0], 6))
    return tape


def invisible_payloads(text: str) -> Iterator[Payload]:
    """Payloads written in invisible characters: tags, variation selectors, zero-width bits."""
    if text.isascii() or characters_of(text).isdisjoint(_INVISIBLE):
        return
    if runs := [found for found in _TAGS.finditer(text) if not _is_flag(text, found)]:
        gap = " " if any(len(found[0]) > 1 for found in runs) else ""  # none if single tags are scattered in the text
        tagged = gap.join("".join(chr(ord(each) - 0xE0000) for each in found[0]) for found in runs)
        if tagged.strip():
            yield Payload(tagged, "hidden tags", (runs[0].start(), runs[-1].end()))
        if not _TAGS.sub("", text).isascii():  # other letters have no tags, so they may be visible between the tags
            yield Payload(text.translate(_TAGS_TO_ASCII), "hidden tags", (0, len(text)))
    for found in SELECTORS.finditer(text):
        if (decoded := _decode_text(hidden_bytes(found[0]))) is not None:
            yield Payload(decoded, "hidden selectors", found.span())
    for found in _ZERO_WIDTH.finditer(text):
        digits = sorted(set(found[0]))
        if len(digits) == 2:
            for zero, one in (digits, digits[::-1]):
                bits = found[0].replace(zero, "0").replace(one, "1")
                if (decoded := _decode_text(_bytes_of(bits))) is not None:
                    yield Payload(decoded, "hidden bits", found.span())
                    break


def payloads(text: str, tokens: Tokens) -> Iterator[Payload]:
    """Payloads in base64, hexadecimal or binary digits that contain words, in a text with these tokens."""
    long = [each for each in tokens.all if len(each) >= MIN_BASE64_CHARS and not each.islower()]
    if any(_BASE64_WIDE.search(each) or _has_base64(each) for each in long):
        for found in _base64_runs(text):
            yield from _base64_payloads(found)
    pairs = sum(1 for each in tokens.odd if _PAIR.fullmatch(each))
    if pairs > 2 or tokens.any_like(_HEX):
        for found in _hex_runs(text):
            digits = _NOT_HEX.sub("", found[0])
            decoded = _decode_text(bytes.fromhex(digits[: len(digits) // 2 * 2]))
            if decoded is not None and (len(digits) >= MIN_CERTAIN_CHARS or ascii_words(decoded) & WORDS):
                yield Payload(decoded, "decoded hex", found.span())
    if tokens.any_like(_EIGHT_BITS):
        for found in _BINARY.finditer(text):
            if (decoded := _decode_text(_bytes_of(re.sub("[ ,]", "", found[0])))) is not None:
                yield Payload(decoded, "decoded binary", found.span())


def _base64_runs(text: str) -> Iterator[re.Match[str]]:
    """Stretches that may be base64. For speed, only long runs without whitespace are searched."""
    end = 0
    for start, stop in long_runs(text, MIN_BASE64_CHARS):
        while first := _BASE64_LINE.search(text, max(start, end), stop):
            if found := _BASE64.match(text, first.start()):
                yield found
            end = found.end() if found else first.end()


def _hex_runs(text: str) -> Iterator[re.Match[str]]:
    """Stretches of eight or more pairs of hexadecimal digits. For speed, only runs of their characters are searched."""
    for start, stop in long_runs(text, 16, _HEX_CHARS):
        yield from _HEX.finditer(text, start, stop + 1)


def _has_base64(token: str) -> bool:
    return any(_decode_base64(found[0]) is not None for found in _BASE64.finditer(token))


def _base64_payloads(found: re.Match[str]) -> Iterator[Payload]:
    """The whole stretch decoded; if that is not text, groups of lines of equal length, or else each line by itself."""
    whole = found[0]
    if (decoded := _decode_base64(whole)) is not None:
        yield Payload(decoded, "decoded base64", found.span())
        return
    lines = whole.split("\n")
    if len(lines) == 1:
        return
    starts = list(accumulate((len(line) + 1 for line in lines), initial=found.start()))
    at = 0
    while at < len(lines):
        same = at + 1
        while same < len(lines) and len(lines[same]) == len(lines[at]):
            same += 1
        for end in dict.fromkeys((min(same + 1, len(lines)), same)):
            if (decoded := _decode_base64("".join(lines[at:end]))) is not None:
                yield Payload(decoded, "decoded base64", (starts[at], starts[end] - 1))
                break
        else:
            end = same
            for place in range(at, same if same > at + 1 else at):
                if (decoded := _decode_base64(lines[place])) is not None:
                    yield Payload(decoded, "decoded base64", (starts[place], starts[place + 1] - 1))
        at = end


def _is_flag(text: str, tags: re.Match[str]) -> bool:
    """Whether these tags are part of a flag emoji, such as those of England, Scotland and Wales."""
    return len(tags[0]) < 8 and text[tags.start() - 1 : tags.start()] == "\U0001f3f4"


def _decode_base64(text: str) -> str | None:
    """The text encoded in base64, or in base32, or None if there is none."""
    encoded = "".join(text.split()).rstrip("=").replace("-", "+").replace("_", "/")
    if len(encoded) < MIN_BASE64_CHARS:
        return None
    if len(encoded) % 4 == 1:
        encoded = encoded[:-1]
    decoded = _decode_text(binascii.a2b_base64(encoded + "=" * (-len(encoded) % 4)))
    if decoded is None and encoded.isupper() and not set(encoded) & set("0189+/"):
        try:
            decoded = _decode_text(base64.b32decode(encoded + "=" * (-len(encoded) % 8)))
        except binascii.Error:
            return None
    if decoded is not None and len(encoded) < MIN_CERTAIN_CHARS and not ascii_words(decoded) & WORDS:
        return None
    return decoded


def _decode_text(values: bytes) -> str | None:
    """The bytes as text, or None if they are not text with words."""
    if len(values) > 7 and not any(values[1:32:2]):
        values = values.decode("utf-16-le", "replace").encode("utf-8", "replace")
    try:
        text = values.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(values) - 3 or error.start < 8:
            return None
        text = values[: error.start].decode("utf-8")  # cut off inside a character
    if _UNPRINTABLE.search(text):
        return None
    letters = sum(map(str.isalnum, text))
    return text if letters > 3 and letters > len(text) * (0.3 if text.isascii() else 0.12) else None


def _bytes_of(bits: str) -> bytes:
    size = len(bits) // 8
    return int(bits[: size * 8], 2).to_bytes(size, "big") if size else b""


def _decode_percent(text: str) -> str | None:
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        return None


def _decode_entity(text: str) -> str | None:
    return html.unescape(text) or None


def _decode_escape(text: str) -> str | None:
    if text.startswith("\\x"):
        values = bytes.fromhex(text.replace("\\x", ""))
    elif text.startswith("\\u{") or text.startswith("\\U"):
        point = int(text[2:].strip("{}"), 16)
        return chr(point) if point < 0x110000 else None
    elif text.startswith("\\u"):
        return bytes.fromhex(text.replace("\\u", "")).decode("utf-16-be", "replace")
    else:
        values = bytes(int(each, 8) for each in text.split("\\")[1:])
    try:
        return values.decode("utf-8")
    except UnicodeDecodeError:
        return values.decode("latin-1")
