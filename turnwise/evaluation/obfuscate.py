"""Ways to hide the words of a text from a rail that only reads it literally. The evaluation measures what each costs in
recall; the guard's reading must undo them all."""

from __future__ import annotations

import base64
import codecs
import html
import textwrap
from collections.abc import Callable, Mapping
from urllib.parse import quote

Obfuscation = Callable[[str], str]

_HOMOGLYPHS = str.maketrans("aceijopsxyABCEHIKMOPTX", "асеіјорѕхуАВСЕНІКМОРТХ")
_LEET = str.maketrans("aeiostAEIOST", "431057431057")
_BOLD = {
    **{ord("A") + at: chr(0x1D400 + at) for at in range(26)},
    **{ord("a") + at: chr(0x1D41A + at) for at in range(26)},
}
_MARKS = "\u0301\u0332\u0310\u0324\u0337"


def fullwidth(text: str) -> str:
    return "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in text)


def mathematical(text: str) -> str:
    return text.translate(_BOLD)


def tags(text: str) -> str:
    """The text as invisible tag characters, after a harmless word."""
    return "Hello" + "".join(chr(0xE0000 + ord(each)) if " " <= each <= "~" else each for each in text)


def zero_width(text: str) -> str:
    return "\u200b".join(text)


def soft_hyphens(text: str) -> str:
    return "\u00ad".join(text)


def directions(text: str) -> str:
    return "\u202d" + "\u2066".join(text) + "\u202c"


def selectors(text: str) -> str:
    return "".join(f"{each}\ufe01" if each.isalpha() else each for each in text)


def combining(text: str) -> str:
    return "".join(f"{each}{_MARKS}" if each.isalpha() else each for each in text)


def homoglyphs(text: str) -> str:
    """Cyrillic look-alikes at every other position."""
    return "".join(each.translate(_HOMOGLYPHS) if at % 2 else each for at, each in enumerate(text))


def leet(text: str) -> str:
    return text.translate(_LEET)


def spacing(text: str) -> str:
    """A space between letters, and three between words."""
    return "   ".join(" ".join(word) for word in text.split())


def dotted(text: str) -> str:
    return " ".join(".".join(word) for word in text.split())


def hyphenated(text: str) -> str:
    return " ".join("-".join(word) for word in text.split())


def markup(text: str) -> str:
    """The inside of each longer word in bold."""
    words = text.split(" ")
    return " ".join(f"{word[:2]}<b>{word[2:-1]}</b>{word[-1]}" if len(word) > 3 else word for word in words)


def emphasis(text: str) -> str:
    words = text.split(" ")
    return " ".join(f"{word[:2]}**{word[2:-1]}**{word[-1]}" if len(word) > 3 else word for word in words)


def base64_text(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def base64_urlsafe(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def base64_lines(text: str) -> str:
    return "\n".join(textwrap.wrap(base64_text(text), 40))


def hexadecimal(text: str) -> str:
    return text.encode().hex()


def url(text: str) -> str:
    return "".join(f"%{value:02X}" for value in text.encode())


def url_quoted(text: str) -> str:
    return quote(text, safe="")


def entities(text: str) -> str:
    return "".join(f"&#{ord(each)};" for each in text)


def html_escaped(text: str) -> str:
    return html.escape(text).replace(" ", "&nbsp;")


def escapes(text: str) -> str:
    return "".join(f"\\u{value:04x}" for value in memoryview(text.encode("utf-16-le")).cast("H"))


def rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


def backwards(text: str) -> str:
    return text[::-1]


def nested(text: str) -> str:
    """Base64 of base64, percent-encoded."""
    return quote(base64_text(base64_text(text)), safe="")


OBFUSCATIONS: Mapping[str, Obfuscation] = {
    "fullwidth": fullwidth,
    "mathematical": mathematical,
    "tags": tags,
    "zero-width": zero_width,
    "soft hyphens": soft_hyphens,
    "directions": directions,
    "selectors": selectors,
    "combining": combining,
    "homoglyphs": homoglyphs,
    "leet": leet,
    "spacing": spacing,
    "dotted": dotted,
    "hyphenated": hyphenated,
    "markup": markup,
    "emphasis": emphasis,
    "base64": base64_text,
    "base64, url-safe": base64_urlsafe,
    "base64, in lines": base64_lines,
    "hex": hexadecimal,
    "url": url,
    "url, blanks": url_quoted,
    "html": entities,
    "html, blanks": html_escaped,
    "escapes": escapes,
    "rot13": rot13,
    "reversed": backwards,
    "nested": nested,
}
