"""What stands in a text in another writing: escapes undone where they stand, and payloads taken out and decoded."""

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

SHORTEST = 12  # characters of base64 that are looked at
CERTAIN = 24  # characters of base64 from which what they hold need not have a known word

_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_PLUS = re.compile(r"\+(?<=\w\+)(?=\w)")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z][A-Za-z0-9]{1,30};)")
_ESCAPE = re.compile(
    r"\\(?:u[0-9A-Fa-f]{4}(?:\\u[0-9A-Fa-f]{4})*|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}(?:\\x[0-9A-Fa-f]{2})*"
    r"|[0-3][0-7]{2}(?:\\[0-3][0-7]{2})*)"
)
_BASE64_LINE = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{SHORTEST},}}")
_BASE64 = re.compile(rf"{_BASE64_LINE.pattern}(?:[ \t]{{0,4}}\n[ \t]{{0,4}}[A-Za-z0-9+/_-]{{2,}})*={{0,2}}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x)?[0-9A-Fa-f]{2}[ :,-]{0,2}){8,}(?![0-9A-Za-z])")
_HEX_SIGNS = "0123456789ABCDEFabcdefx :,-"
_BINARY = re.compile(r"(?<![0-9A-Za-z])(?:[01]{8}[ ,]{0,2}){4,}(?![0-9A-Za-z])")
_WIDE = re.compile(r"[A-Za-z0-9+/_-]{40}")  # a line that may be one of several
_PAIR = re.compile(r"(?:0x)?[0-9A-Fa-f]{2}[:,-]?")
_EIGHT_BITS = re.compile(r"[01]{8}")
_NOT_HEX = re.compile(r"0x|[^0-9A-Fa-f]")
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_SHOWN = {0xE0000 + point: chr(point) for point in range(0x20, 0x7F)}
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_ZERO_WIDTH = re.compile("[\u200b\u200c\u200d\u2060\ufeff]{16,}")
_UNSHOWN = {*map(chr, range(0xE0020, 0xE01F0)), *map(chr, range(0xFE00, 0xFE0F)), *"\u200b\u200c\u200d\u2060\ufeff"}
_UNPRINTED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Payload:
    text: str
    kind: str
    span: tuple[int, int]  # where it stood in the text that it was found in


def unescaped(tape: Tape, signs: Counter[str]) -> Tape:
    """With percent-encoding, HTML entities and backslash escapes undone, once."""

    def counted(name: str, new: str | None, old: str, size: int) -> str | None:
        if new is None or new == old:
            return None
        signs[name] += max(1, len(old) // size)
        return new

    if "%" in tape.text:
        before = tape
        tape = tape.sub(_PERCENT, lambda found: counted("url", _percent(found[0]), found[0], 3))
        if tape is not before:
            tape = tape.sub(_PLUS, lambda _: " ")
    if "&" in tape.text:
        tape = tape.sub(_ENTITY, lambda found: counted("html", _entity(found[0]), found[0], len(found[0])))
    if "\\" in tape.text:
        tape = tape.sub(_ESCAPE, lambda found: counted("escapes", _escape(found[0]), found[0], 6))
    return tape


def hidden(text: str) -> Iterator[Payload]:
    """What is written in characters that do not show: tags, variation selectors, zero-width bits."""
    if text.isascii() or characters_of(text).isdisjoint(_UNSHOWN):
        return
    if runs := [found for found in _TAGS.finditer(text) if not _flag(text, found)]:
        gap = " " if any(len(found[0]) > 1 for found in runs) else ""  # not where they stand one by one among others
        written = gap.join("".join(chr(ord(each) - 0xE0000) for each in found[0]) for found in runs)
        if written.strip():
            yield Payload(written, "hidden tags", (runs[0].start(), runs[-1].end()))
        if not _TAGS.sub("", text).isascii():  # there are no tags for other letters: they stand among them as they are
            yield Payload(text.translate(_SHOWN), "hidden tags", (0, len(text)))
    for found in _SELECTORS.finditer(text):
        values = bytes(ord(each) - 0xFE00 if each < "\uff00" else ord(each) - 0xE0100 + 16 for each in found[0])
        if (told := _told(values)) is not None:
            yield Payload(told, "hidden selectors", found.span())
    for found in _ZERO_WIDTH.finditer(text):
        signs = sorted(set(found[0]))
        if len(signs) == 2:
            for zero, one in (signs, signs[::-1]):
                bits = found[0].replace(zero, "0").replace(one, "1")
                if (told := _told(_bytes_of(bits))) is not None:
                    yield Payload(told, "hidden bits", found.span())
                    break


def payloads(text: str, tokens: Tokens) -> Iterator[Payload]:
    """What stands in a text of these tokens as base64, hexadecimal or binary digits and holds words."""
    long = [each for each in tokens.all if len(each) >= SHORTEST and not each.islower()]
    if any(_WIDE.search(each) or _base64_in(each) for each in long):
        for found in _runs_of_base64(text):
            yield from _of_base64(found)
    pairs = sum(1 for each in tokens.odd if _PAIR.fullmatch(each))
    if pairs > 2 or tokens.any_like(_HEX):
        for found in _runs_of_hex(text):
            digits = _NOT_HEX.sub("", found[0])
            told = _told(bytes.fromhex(digits[: len(digits) // 2 * 2]))
            if told is not None and (len(digits) >= CERTAIN or ascii_words(told) & WORDS):
                yield Payload(told, "decoded hex", found.span())
    if tokens.any_like(_EIGHT_BITS):
        for found in _BINARY.finditer(text):
            if (told := _told(_bytes_of(re.sub("[ ,]", "", found[0])))) is not None:
                yield Payload(told, "decoded binary", found.span())


def _runs_of_base64(text: str) -> Iterator[re.Match[str]]:
    """Where base64 may stand: only what stands without gaps for long is looked at."""
    end = 0
    for start, stop in long_runs(text, SHORTEST):
        while first := _BASE64_LINE.search(text, max(start, end), stop):
            if found := _BASE64.match(text, first.start()):
                yield found
            end = found.end() if found else first.end()


def _runs_of_hex(text: str) -> Iterator[re.Match[str]]:
    """Where eight pairs of hexadecimal digits and more stand: only what is written with their signs is looked at."""
    for start, stop in long_runs(text, 16, _HEX_SIGNS):
        yield from _HEX.finditer(text, start, stop + 1)


def _base64_in(token: str) -> bool:
    return any(_base64(found[0]) is not None for found in _BASE64.finditer(token))


def _of_base64(found: re.Match[str]) -> Iterator[Payload]:
    """The whole of it; where that is no text, its lines as far as they are of one length, then each by itself."""
    whole = found[0]
    if (told := _base64(whole)) is not None:
        yield Payload(told, "decoded base64", found.span())
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
            if (told := _base64("".join(lines[at:end]))) is not None:
                yield Payload(told, "decoded base64", (starts[at], starts[end] - 1))
                break
        else:
            end = same
            for place in range(at, same if same > at + 1 else at):
                if (told := _base64(lines[place])) is not None:
                    yield Payload(told, "decoded base64", (starts[place], starts[place + 1] - 1))
        at = end


def _flag(text: str, tags: re.Match[str]) -> bool:
    """Whether tags say which flag is shown: those of England, Scotland and Wales are written so."""
    return len(tags[0]) < 8 and text[tags.start() - 1 : tags.start()] == "\U0001f3f4"


def _base64(text: str) -> str | None:
    signs = "".join(text.split()).rstrip("=").replace("-", "+").replace("_", "/")
    if len(signs) < SHORTEST:
        return None
    if len(signs) % 4 == 1:
        signs = signs[:-1]
    told = _told(binascii.a2b_base64(signs + "=" * (-len(signs) % 4)))
    if told is None and signs.isupper() and not set(signs) & set("0189+/"):
        try:
            told = _told(base64.b32decode(signs + "=" * (-len(signs) % 8)))
        except binascii.Error:
            return None
    if told is not None and len(signs) < CERTAIN and not ascii_words(told) & WORDS:
        return None
    return told


def _told(values: bytes) -> str | None:
    """Bytes as text, where they are text that holds words."""
    if len(values) > 7 and not any(values[1:32:2]):
        values = values.decode("utf-16-le", "replace").encode("utf-8", "replace")
    try:
        text = values.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(values) - 3 or error.start < 8:
            return None
        text = values[: error.start].decode("utf-8")  # cut off inside a character
    if _UNPRINTED.search(text):
        return None
    letters = sum(map(str.isalnum, text))
    return text if letters > 3 and letters > len(text) * (0.3 if text.isascii() else 0.12) else None


def _bytes_of(bits: str) -> bytes:
    size = len(bits) // 8
    return int(bits[: size * 8], 2).to_bytes(size, "big") if size else b""


def _percent(text: str) -> str | None:
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        return None


def _entity(text: str) -> str | None:
    return html.unescape(text) or None


def _escape(text: str) -> str | None:
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
