"""Reads Markdown into headings and blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from turnwise.documents.blocks import Builder, iso_date
from turnwise.documents.read_html import read_html
from turnwise.documents.unseen import makes_text_white, reason_hidden
from turnwise.text import is_field

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?=[\w-]+[ \t]*:)(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.+?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_DATE = re.compile(r"^date[ \t]*:[ \t]*[\"']?(.+?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_ELEMENT = re.compile(r"<(/?)([a-zA-Z][\w-]{0,30})((?:[^<>\"']|\"[^\"<]{0,2000}\"|'[^'<]{0,2000}'){0,300}?)>")
_VOID = ("br", "img", "hr", "input", "meta", "link", "wbr")
_HIDDEN = re.compile(r"(?:^|\s)hidden(?:$|[\s=/])", re.IGNORECASE)
_STYLE = re.compile(r"\bstyle\s{0,3}=\s{0,3}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
MAX_OPEN_ELEMENTS = 1000  # of the same name, nested
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def read_markdown(text: str, builder: Builder) -> str:
    """Read the document into the builder. Returns the first main heading, else the front matter's title, else ""."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT_MATTER.match(text)
    titled = _TITLE.search(front[1]) if front else None
    dated = _DATE.search(front[1]) if front else None
    builder.date = builder.date or (iso_date(dated[1]) if dated else "")
    if front:
        builder.hide("its front matter", front[1])
    parser, env = MarkdownIt("commonmark").enable("table"), dict[str, Any]()
    tracker = _HiddenTracker(builder)
    for node in SyntaxTreeNode(parser.parse(text[front.end() :] if front else text, env)).children:
        if node.type == "html_block":
            tracker.read_tags(node.content)
        if tracker.is_hidden:
            builder.hide(tracker.why, _text(node, builder))
        else:
            _add_node(node, builder)
    for name, reference in env.get("references", {}).items():
        builder.hide("a link that is not shown", f"{name} {reference['title']}" if reference["title"] else "")
    return builder.main_heading or (titled[1].strip("\"'") if titled else "")


class _HiddenTracker:
    """Follows HTML tags in Markdown: everything up to the end of a hidden element is hidden."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._open: list[tuple[str, str]] = []  # the hidden element and those of its name inside it, with the reason

    @property
    def is_hidden(self) -> bool:
        return bool(self._open)

    @property
    def why(self) -> str:
        return self._open[0][1]

    def read_tags(self, html: str) -> None:
        for closing, name, attributes in _ELEMENT.findall(html):
            name = name.lower()
            if closing:
                if self._open and name == self._open[-1][0]:
                    self._open.pop()
            elif name in _VOID or attributes.endswith("/"):
                continue
            elif self._open:
                if name == self._open[-1][0] and len(self._open) < MAX_OPEN_ELEMENTS:
                    self._open.append((name, ""))
            elif why := _reason_hidden(attributes):
                self._open.append((name, why))


def _reason_hidden(attributes: str) -> str:
    if _HIDDEN.search(attributes):
        return "text that is not displayed"
    styled = _STYLE.search(attributes)
    style = (styled[1] or styled[2] or styled[3] or "") if styled else ""
    return reason_hidden(style) or ("white text" if makes_text_white(style) else "")


def _add_node(node: SyntaxTreeNode, builder: Builder) -> None:
    if node.type == "heading":
        builder.heading(int(node.tag[1]), _text(node, builder))
    elif node.type == "html_block":
        read_html(node.content, builder)
    elif node.type == "table":
        builder.table(_rows(node, builder))
    elif node.type in ("bullet_list", "ordered_list"):
        for number, line in enumerate(_lines(node, builder)):
            builder.block(line, tight=number > 0)
    elif node.type == "blockquote":
        for child in node.children:
            builder.block(_text(child, builder))
    else:
        builder.block(_text(node, builder), code=node.type in ("fence", "code_block"))


def _lines(node: SyntaxTreeNode, builder: Builder) -> Iterator[str]:
    """The items of a list or the rows of a table, as text."""
    if node.type == "table":
        yield from (" | ".join(row) for row in _rows(node, builder))
        return
    first = int(node.attrs.get("start", 1))
    for number, item in enumerate(node.children, first):
        marker = "- " if node.type == "bullet_list" else f"{number}. "
        yield marker + _text(item, builder).replace("\n", "\n  ")


def _rows(node: SyntaxTreeNode, builder: Builder) -> Iterator[list[str]]:
    """The rows of a table, the cells as text."""
    for row in (row for section in node.children for row in section.children):
        yield [_text(cell, builder) for cell in row.children]


def _text(node: SyntaxTreeNode, builder: Builder) -> str:
    """The visible text of a block, without markup."""
    if node.type == "inline":
        return _visible_text(node, builder)
    if node.type in ("bullet_list", "ordered_list", "table"):
        return "\n".join(_lines(node, builder))
    if not node.children:
        return node.content.rstrip("\n") if node.type in ("fence", "code_block", "html_block") else ""
    return "\n".join(_text(child, builder) for child in node.children)


def _visible_text(line: SyntaxTreeNode, builder: Builder) -> str:
    """The visible text of a paragraph; hidden elements and comments are kept as hidden text.

    Its lines are joined into one, unless each reads "name: value"."""
    tracker, lines = _HiddenTracker(builder), [""]
    hidden: dict[str, list[str]] = {}
    for child in line.children:
        if child.type == "html_inline":
            if child.content.startswith("<!--"):
                builder.hide("an HTML comment", child.content[4:].removesuffix("-->"))
            tracker.read_tags(child.content)
        if tracker.is_hidden:
            hidden.setdefault(tracker.why, []).append(_inline(child))
        elif child.type == "softbreak":
            lines.append("")
        else:
            lines[-1] += _inline(child)
    for why, words in hidden.items():
        builder.hide(why, "".join(words))
    return ("\n" if all(map(is_field, lines)) else " ").join(lines)


def _inline(node: SyntaxTreeNode) -> str:
    if node.type == "softbreak":
        return " "
    if node.type == "hardbreak":
        return "\n"
    if node.type == "html_inline":
        return "\n" if _LINE_BREAK.fullmatch(node.content) else ""
    if node.children:
        return "".join(_inline(child) for child in node.children)
    return node.content
