"""Formulas in TeX as MathML that is safe to put on a page: known tags, known attributes, and plain text in them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from markdown_it.common.utils import escapeHtml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_FORMULA_LENGTH = 2000  # characters; a longer formula is shown as written
MAX_DEPTH = 40  # of nested braces

TAGS = frozenset(
    "math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt"
    " mstyle msub msubsup msup mtable mtd mtext mtr munder munderover".split()
)
_WORD = re.compile(r"[a-z][a-z -]{0,60}")
_LENGTH = re.compile(r"[+-]?(?:\d{1,2}(?:\.\d{1,4})?|\.\d{1,4})(?:em|ex|pt|px|mm|cm|pc|in|%)?")
_LENGTHS = re.compile(rf"{_LENGTH.pattern}(?: {_LENGTH.pattern}){{0,30}}")
_ATTRIBUTE_PATTERNS = {
    **dict.fromkeys(
        "accent accentunder columnalign columnlines display displaystyle fence form frame largeop linebreak mathvariant"
        " movablelimits notation rowalign rowlines separator stretchy symmetric".split(),
        _WORD,
    ),
    **dict.fromkeys(
        "columnspacing depth height linethickness lspace maxsize minsize rowspacing rspace scriptlevel voffset"
        " width".split(),
        _LENGTHS,
    ),
}
ATTRIBUTES = frozenset(_ATTRIBUTE_PATTERNS)

# Definitions can make a formula expand without end, and a single formula needs none.
_DEFINITION = re.compile(r"\\(?:(?:re)?new|provide|[egx]?def|let|Declare|require|input|include|catcode|csname|loop)")


def mathml(tex: str, display: bool) -> str:
    """The formula as a <math> element; if it cannot be parsed, as it was written, in <code>."""
    source = tex.strip()
    element = _parse(source, display)
    if element is None:
        return f'<code class="tex">{escapeHtml(source)}</code>'
    return "".join(_to_html(element))


def _parse(source: str, display: bool) -> Element | None:
    if (
        not source
        or len(source) > MAX_FORMULA_LENGTH
        or source.count("{") > 400
        or _is_too_deep(source)
        or _DEFINITION.search(source)
    ):
        return None
    from latex2mathml.converter import convert_to_element

    try:
        return convert_to_element(source, display="block" if display else "inline")
    except Exception:  # the parser has no common class of errors
        return None


def _is_too_deep(source: str) -> bool:
    """Whether a formula is nested deeper than anyone writes, by braces, \\left or environments."""
    depth = 0
    for mark in re.finditer(r"\\begin|\\left|\\end|\\right|\\.|[{}]", source):
        depth += {"{": 1, "\\begin": 1, "\\left": 1, "}": -1, "\\end": -1, "\\right": -1}.get(mark[0], 0)
        if depth > MAX_DEPTH:
            return True
    return False


def _to_html(element: Element) -> Iterator[str]:
    """The element as HTML. The parser leaves character references in its texts, and whatever the formula held."""
    known = element.tag in TAGS
    if known:
        fits = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTE_PATTERNS}
        given = "".join(
            f' {name}="{value}"'
            for name, value in sorted(fits.items())
            if _ATTRIBUTE_PATTERNS[name].fullmatch(str(value))
        )
        yield f"<{element.tag}{given}>"
    yield _text(element.text)
    for child in element:
        yield from _to_html(child)
        yield _text(child.tail)
    if known:
        yield f"</{element.tag}>"


def _text(text: str | None) -> str:
    return escapeHtml(html.unescape(text)) if text else ""
