"""Finds text that a page hides by its own styles: not displayed, without size, off-screen, or in the colour of its
background. Pages also hide menus and screen-reader text for good reasons; the content is judged elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

MAX_STYLE_RULES = 300  # considered per page
MAX_STYLE_CHARS = 200_000  # of style sheets read per page

_HIDDEN_CLASSES = ".sr-only, .visually-hidden, .visuallyhidden, .screen-reader-text, .screen-reader-only"
_DECLARATION = re.compile(r"([\w-]{2,30})\s{0,5}:\s{0,5}([^;]{1,200})")
_RULE = re.compile(r"([^{}@;]{1,300})\{([^{}]{1,2000})\}")
_ZERO = re.compile(r"[+-]?0*\.?0+(?:px|pt|em|rem|%|vw|vh)?$")
_TINY = re.compile(r"(?:0*1(?:\.\d{1,3})?|0*\.\d{1,4})(?:px|pt)$|0?\.0\d{0,3}r?em$")
_OFF_SCREEN = re.compile(r"-\d{4,}(?:\.\d+)?px|-\d{3,}(?:\.\d+)?r?em|-9\d\d(?:\.\d+)?px")
_POSITION_PROPERTIES = ("left", "right", "top", "bottom", "text-indent", "margin-left", "margin-top", "transform")
_TRANSPARENT = re.compile(r"(?:rgba|hsla)\([^)]{1,60},\s{0,3}0?\.?0+%?\s{0,3}\)$|#[0-9a-f]{3}0$|#[0-9a-f]{6}00$")
_NUMBER = re.compile(r"\d{1,3}")
_WHITE = (255, 255, 255)
_NAMED_COLOURS = {
    "white": _WHITE,
    "black": (0, 0, 0),
    "red": (255, 0, 0),
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
}
SAME_COLOUR_DISTANCE = 12  # in each of red, green and blue: people cannot tell the colours apart


def reason_hidden(style: str) -> str:
    """Why an element with this style is not visible, or "" if it is, or if that depends on what is behind it."""
    declared = _declarations(style)
    if declared.get("display") == "none":
        return "text that is not displayed"
    if declared.get("visibility") in ("hidden", "collapse"):
        return "invisible text"
    if _ZERO.match(declared.get("opacity", "1")):
        return "invisible text"
    size = declared.get("font-size", "")
    if _ZERO.match(size) or _TINY.match(size):
        return "text too small to read"
    if any(_OFF_SCREEN.search(declared.get(name, "")) for name in _POSITION_PROPERTIES):
        return "text outside of the page"
    if "scale(0)" in declared.get("transform", ""):
        return "invisible text"
    if re.match(r"(?:rect\(\s{0,3}0|inset\((?:50|100)%)", declared.get("clip", "") or declared.get("clip-path", "")):
        return "text that is cut away"
    sizes = (declared.get(name, "") for name in ("height", "width", "max-height", "max-width"))
    if declared.get("overflow", "").startswith(("hidden", "clip")) and any(
        _ZERO.match(each) or each == "1px" for each in sizes
    ):
        return "text that is cut away"
    colour, behind = declared.get("color", ""), _background(declared)
    if _is_transparent(colour) or (colour and behind and _same_colour(_rgb(colour), _rgb(behind))):
        return "text in the colour of its background"
    return ""


def hidden_roots(tree: LexborHTMLParser) -> dict[int, str]:
    """The hidden elements, by their ids in memory, with the reason; everything inside them is hidden too."""
    roots: dict[int, str] = {}
    rules = list(_rules(tree))
    for selector, style in rules:
        if why := reason_hidden(style):
            for node in _select(tree, selector):
                if not _is_shown(node):
                    roots.setdefault(node.mem_id, why)
    for node in _select(tree, f"[hidden], {_HIDDEN_CLASSES}"):
        if not _is_shown(node):
            roots.setdefault(node.mem_id, "text that is not displayed")
    styled = _select(tree, "[style], font[color]")
    for node in styled:
        if why := reason_hidden(node.attributes.get("style") or ""):
            roots.setdefault(node.mem_id, why)
    white = [node for node in styled if node.mem_id not in roots and _is_white(node)]
    white += [node for selector, style in rules if makes_text_white(style) for node in _select(tree, selector)]
    if white:
        with_background = {node.mem_id for node in _select(tree, "[bgcolor], [background]")}
        with_background |= {node.mem_id for node in styled if _sets_background(node.attributes.get("style") or "")}
        with_background |= {
            node.mem_id for selector, style in rules if _sets_background(style) for node in _select(tree, selector)
        }
        for node in white:
            if not _is_inside(node, with_background):
                roots.setdefault(node.mem_id, "white text")
    for whole in (tree.body, tree.root):  # some pages hide everything until they fade in
        if whole is not None:
            roots.pop(whole.mem_id, None)
    return roots


def _rules(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    """The plain rules of a page's own styles, without those for print, animations and states such as :hover."""
    styles = "".join(node.text() or "" for node in tree.css("style"))[:MAX_STYLE_CHARS]
    left = MAX_STYLE_RULES
    for found in _RULE.finditer(_top_level(styles)):
        selector = found[1].strip().rpartition("*/")[2].strip()
        if (
            selector
            and ":" not in selector
            and (makes_text_white(found[2]) or reason_hidden(found[2]) or _sets_background(found[2]))
        ):
            yield selector, found[2]
            left -= 1
        if not left:
            return


def _top_level(styles: str) -> str:
    """The styles without the blocks of @media, @keyframes and such."""
    kept, start, depth, at_rule = [], 0, 0, -1
    for brace in re.finditer(r"[{}@;]", styles):
        sign = brace[0]
        if sign == "@" and depth == 0 and at_rule < 0:
            kept.append(styles[start : brace.start()])
            at_rule = brace.start()
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth = max(0, depth - 1)
        if at_rule >= 0 and depth == 0 and sign in "};":
            start, at_rule = brace.end(), -1
    return "".join(kept) + (styles[start:] if at_rule < 0 else "")


def _select(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    try:
        return list(tree.css(selector))
    except SelectolaxError:
        return []


def _is_shown(node: LexborNode) -> bool:
    """Whether an element's inline style overrides the style sheet and displays it."""
    display = _declarations(node.attributes.get("style") or "").get("display", "none")
    return display != "none"


def _is_inside(node: LexborNode, with_background: set[int]) -> bool:
    above: LexborNode | None = node
    for _ in range(100):
        if above is None:
            return False
        if above.mem_id in with_background:
            return True
        above = above.parent
    return True  # nested too deeply to tell: assume that it is visible


def _is_white(node: LexborNode) -> bool:
    attributes = node.attributes
    return makes_text_white(attributes.get("style") or "") or _same_colour(_rgb(attributes.get("color") or ""), _WHITE)


def makes_text_white(style: str) -> bool:
    """Whether a style makes text white without setting a background."""
    declared = _declarations(style)
    return not _background(declared) and _same_colour(_rgb(declared.get("color", "")), _WHITE)


def _sets_background(style: str) -> bool:
    return bool(_background(_declarations(style)))


def _declarations(style: str) -> dict[str, str]:
    if ":" not in style:
        return {}
    found = _DECLARATION.finditer(style.lower())
    return {each[1]: each[2].replace("!important", "").strip() for each in found}


def _background(declared: Mapping[str, str]) -> str:
    value = declared.get("background-color") or declared.get("background") or declared.get("background-image") or ""
    return "" if value in ("none", "transparent", "inherit", "initial", "unset") or _is_transparent(value) else value


def _is_transparent(colour: str) -> bool:
    return colour == "transparent" or bool(_TRANSPARENT.match(colour))


def _rgb(value: str) -> tuple[int, int, int] | None:
    """Parse a colour into red, green and blue; None if it is not a simple one."""
    value = value.strip().lower()
    if value in _NAMED_COLOURS:
        return _NAMED_COLOURS[value]
    digits = value[1:] if value.startswith("#") else ""
    if re.fullmatch(r"[0-9a-f]{3,4}", digits):
        return (int(digits[0] * 2, 16), int(digits[1] * 2, 16), int(digits[2] * 2, 16))
    if re.fullmatch(r"[0-9a-f]{6}(?:[0-9a-f]{2})?", digits):
        return (int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16))
    if value.startswith("rgb") and len(numbers := _NUMBER.findall(value)) >= 3:
        return (int(numbers[0]), int(numbers[1]), int(numbers[2]))
    return None


def _same_colour(one: tuple[int, int, int] | None, other: tuple[int, int, int] | None) -> bool:
    return (
        one is not None
        and other is not None
        and all(abs(a - b) <= SAME_COLOUR_DISTANCE for a, b in zip(one, other, strict=True))
    )
