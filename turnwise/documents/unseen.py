"""What a page hides from its readers, as its own styles tell: not displayed, without size, off the screen, or in the
colour of what is behind it. Pages hide menus and help for screen readers too; what it says is judged elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

MOST_RULES = 300  # of a page's styles that are looked at
MOST_STYLE = 200_000  # characters of a page's styles that are read

_HIDDEN_CLASSES = ".sr-only, .visually-hidden, .visuallyhidden, .screen-reader-text, .screen-reader-only"
_DECLARATION = re.compile(r"([\w-]{2,30})\s{0,5}:\s{0,5}([^;]{1,200})")
_RULE = re.compile(r"([^{}@;]{1,300})\{([^{}]{1,2000})\}")
_ZERO = re.compile(r"[+-]?0*\.?0+(?:px|pt|em|rem|%|vw|vh)?$")
_TINY = re.compile(r"(?:0*1(?:\.\d{1,3})?|0*\.\d{1,4})(?:px|pt)$|0?\.0\d{0,3}r?em$")
_FAR = re.compile(r"-\d{4,}(?:\.\d+)?px|-\d{3,}(?:\.\d+)?r?em|-9\d\d(?:\.\d+)?px")
_LENGTHS = ("left", "right", "top", "bottom", "text-indent", "margin-left", "margin-top", "transform")
_CLEAR = re.compile(r"(?:rgba|hsla)\([^)]{1,60},\s{0,3}0?\.?0+%?\s{0,3}\)$|#[0-9a-f]{3}0$|#[0-9a-f]{6}00$")
_NUMBER = re.compile(r"\d{1,3}")
_WHITE = (255, 255, 255)
_NAMED = {"white": _WHITE, "black": (0, 0, 0), "red": (255, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240)}
NEAR = 12  # in each of red, green and blue: two colours that nobody tells apart


def hiding(style: str) -> str:
    """Why an element of this style is not seen, "" where it is, or where only what is behind it could tell."""
    given = _declarations(style)
    if given.get("display") == "none":
        return "text that is not displayed"
    if given.get("visibility") in ("hidden", "collapse"):
        return "invisible text"
    if _ZERO.match(given.get("opacity", "1")):
        return "invisible text"
    size = given.get("font-size", "")
    if _ZERO.match(size) or _TINY.match(size):
        return "text too small to read"
    if any(_FAR.search(given.get(name, "")) for name in _LENGTHS):
        return "text outside of the page"
    if "scale(0)" in given.get("transform", ""):
        return "invisible text"
    if re.match(r"(?:rect\(\s{0,3}0|inset\((?:50|100)%)", given.get("clip", "") or given.get("clip-path", "")):
        return "text that is cut away"
    sizes = (given.get(name, "") for name in ("height", "width", "max-height", "max-width"))
    if given.get("overflow", "").startswith(("hidden", "clip")) and any(
        _ZERO.match(each) or each == "1px" for each in sizes
    ):
        return "text that is cut away"
    colour, behind = given.get("color", ""), _background(given)
    if _is_clear(colour) or (colour and behind and _alike(_colour(colour), _colour(behind))):
        return "text in the colour of its background"
    return ""


def hidden_roots(tree: LexborHTMLParser) -> dict[int, str]:
    """The elements that are not seen with all in them, by their ids in memory: why not."""
    roots: dict[int, str] = {}
    rules = list(_rules(tree))
    for selector, style in rules:
        if why := hiding(style):
            for node in _matching(tree, selector):
                if not _is_shown(node):
                    roots.setdefault(node.mem_id, why)
    for node in _matching(tree, f"[hidden], {_HIDDEN_CLASSES}"):
        if not _is_shown(node):
            roots.setdefault(node.mem_id, "text that is not displayed")
    styled = _matching(tree, "[style], font[color]")
    for node in styled:
        if why := hiding(node.attributes.get("style") or ""):
            roots.setdefault(node.mem_id, why)
    white = [node for node in styled if node.mem_id not in roots and _is_white(node)]
    white += [node for selector, style in rules if writes_white(style) for node in _matching(tree, selector)]
    if white:
        filled = {node.mem_id for node in _matching(tree, "[bgcolor], [background]")}
        filled |= {node.mem_id for node in styled if _fills(node.attributes.get("style") or "")}
        filled |= {node.mem_id for selector, style in rules if _fills(style) for node in _matching(tree, selector)}
        for node in white:
            if not _stands_in(node, filled):
                roots.setdefault(node.mem_id, "white text")
    for whole in (tree.body, tree.root):  # a page that is faded in
        if whole is not None:
            roots.pop(whole.mem_id, None)
    return roots


def _rules(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    """The plain rules of a page's own styles; those for print, animations and states such as :hover are passed over."""
    styles = "".join(node.text() or "" for node in tree.css("style"))[:MOST_STYLE]
    left = MOST_RULES
    for found in _RULE.finditer(_top_level(styles)):
        selector = found[1].strip().rpartition("*/")[2].strip()
        if selector and ":" not in selector and (writes_white(found[2]) or hiding(found[2]) or _fills(found[2])):
            yield selector, found[2]
            left -= 1
        if not left:
            return


def _top_level(styles: str) -> str:
    """The styles without the blocks of @media, @keyframes and such."""
    kept, start, depth, at = [], 0, 0, -1
    for brace in re.finditer(r"[{}@;]", styles):
        sign = brace[0]
        if sign == "@" and depth == 0 and at < 0:
            kept.append(styles[start : brace.start()])
            at = brace.start()
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth = max(0, depth - 1)
        if at >= 0 and depth == 0 and sign in "};":
            start, at = brace.end(), -1
    return "".join(kept) + (styles[start:] if at < 0 else "")


def _matching(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    try:
        return list(tree.css(selector))
    except SelectolaxError:
        return []


def _is_shown(node: LexborNode) -> bool:
    """Whether an element's own style displays it whatever the page's styles say."""
    display = _declarations(node.attributes.get("style") or "").get("display", "none")
    return display != "none"


def _stands_in(node: LexborNode, filled: set[int]) -> bool:
    above: LexborNode | None = node
    for _ in range(100):
        if above is None:
            return False
        if above.mem_id in filled:
            return True
        above = above.parent
    return True  # so deep that nobody knows


def _is_white(node: LexborNode) -> bool:
    attributes = node.attributes
    return writes_white(attributes.get("style") or "") or _alike(_colour(attributes.get("color") or ""), _WHITE)


def writes_white(style: str) -> bool:
    """Whether it makes text white and says nothing of what is behind it."""
    given = _declarations(style)
    return not _background(given) and _alike(_colour(given.get("color", "")), _WHITE)


def _fills(style: str) -> bool:
    return bool(_background(_declarations(style)))


def _declarations(style: str) -> dict[str, str]:
    if ":" not in style:
        return {}
    found = _DECLARATION.finditer(style.lower())
    return {each[1]: each[2].replace("!important", "").strip() for each in found}


def _background(given: Mapping[str, str]) -> str:
    told = given.get("background-color") or given.get("background") or given.get("background-image") or ""
    return "" if told in ("none", "transparent", "inherit", "initial", "unset") or _is_clear(told) else told


def _is_clear(colour: str) -> bool:
    return colour == "transparent" or bool(_CLEAR.match(colour))


def _colour(told: str) -> tuple[int, int, int] | None:
    """Red, green and blue of a colour that is written plainly."""
    told = told.strip().lower()
    if told in _NAMED:
        return _NAMED[told]
    digits = told[1:] if told.startswith("#") else ""
    if re.fullmatch(r"[0-9a-f]{3,4}", digits):
        return (int(digits[0] * 2, 16), int(digits[1] * 2, 16), int(digits[2] * 2, 16))
    if re.fullmatch(r"[0-9a-f]{6}(?:[0-9a-f]{2})?", digits):
        return (int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16))
    if told.startswith("rgb") and len(numbers := _NUMBER.findall(told)) >= 3:
        return (int(numbers[0]), int(numbers[1]), int(numbers[2]))
    return None


def _alike(one: tuple[int, int, int] | None, other: tuple[int, int, int] | None) -> bool:
    return one is not None and other is not None and all(abs(a - b) <= NEAR for a, b in zip(one, other, strict=True))
