"""Markdown, read into headings and blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from turnwise.documents.blocks import Builder, iso_date
from turnwise.documents.read_html import read_html

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?=[\w-]+[ \t]*:)(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.+?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_DATE = re.compile(r"^date[ \t]*:[ \t]*[\"']?(.+?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def read_markdown(text: str, builder: Builder) -> str:
    """Put the document into the builder. Gives its title: the first main heading, else the front matter's, else ""."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT_MATTER.match(text)
    titled = _TITLE.search(front[1]) if front else None
    dated = _DATE.search(front[1]) if front else None
    builder.date = builder.date or (iso_date(dated[1]) if dated else "")
    parser = MarkdownIt("commonmark").enable("table")
    for node in SyntaxTreeNode(parser.parse(text[front.end() :] if front else text)).children:
        _read(node, builder)
    return builder.main_heading or (titled[1].strip("\"'") if titled else "")


def _read(node: SyntaxTreeNode, builder: Builder) -> None:
    if node.type == "heading":
        builder.heading(int(node.tag[1]), _text(node))
    elif node.type == "html_block":
        read_html(node.content, builder)
    elif node.type == "table":
        builder.table(_rows(node))
    elif node.type in ("bullet_list", "ordered_list"):
        for number, line in enumerate(_lines(node)):
            builder.block(line, tight=number > 0)
    elif node.type == "blockquote":
        for child in node.children:
            builder.block(_text(child))
    else:
        builder.block(_text(node), code=node.type in ("fence", "code_block"))


def _lines(node: SyntaxTreeNode) -> Iterator[str]:
    """The items of a list or the rows of a table, as text."""
    if node.type == "table":
        yield from (" | ".join(row) for row in _rows(node))
        return
    first = int(node.attrs.get("start", 1))
    for number, item in enumerate(node.children, first):
        marker = "- " if node.type == "bullet_list" else f"{number}. "
        yield marker + _text(item).replace("\n", "\n  ")


def _rows(node: SyntaxTreeNode) -> Iterator[list[str]]:
    """The rows of a table, the cells as text."""
    for row in (row for section in node.children for row in section.children):
        yield [_text(cell) for cell in row.children]


def _text(node: SyntaxTreeNode) -> str:
    """What a reader sees of a block: its words, without the marks."""
    if node.type == "inline":
        return "".join(_inline(child) for child in node.children)
    if node.type in ("bullet_list", "ordered_list", "table"):
        return "\n".join(_lines(node))
    if not node.children:
        return node.content if node.type in ("fence", "code_block", "html_block") else ""
    return "\n".join(_text(child) for child in node.children)


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
