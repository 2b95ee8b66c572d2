"""Reads OpenDocument texts into headings and blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from turnwise.documents.archive import open_archive
from turnwise.documents.blocks import Builder, as_title, iso_date

MAX_COLUMNS = 50  # that one cell stands for
_HIDDEN_TAGS = ("text:hidden-text", "text:hidden-paragraph")
_STYLED_TAGS = ("text:span", "text:p", "text:h", *_HIDDEN_TAGS)
_NAME = re.compile(r"\{urn:oasis:names:tc:opendocument:xmlns:(\w+):[\d.]+\}(\S+)")


def read_odt(data: bytes, name: str, builder: Builder) -> str:
    """Read the document into the builder. Returns the title in its properties, else the first main heading, else ""."""
    with open_archive(data, name) as archive:
        content = ElementTree.fromstring(archive.read("content.xml"))
        metadata = (
            ElementTree.fromstring(archive.read("meta.xml")) if "meta.xml" in archive.namelist() else Element("none")
        )
    _extract_hidden(content, builder)
    notes = _take_notes(content)
    for body in content.iter():
        if _tag(body) == "office:text":
            _add_blocks(body, builder)
    main_heading = builder.main_heading
    if notes:
        builder.heading(1, "Notes")
    for note in notes:
        builder.block(_text(note))
    dc = "{http://purl.org/dc/elements/1.1/}"
    builder.date = iso_date(metadata.findtext(f".//{dc}date") or "")
    return as_title(metadata.findtext(f".//{dc}title") or "") or main_heading


def _extract_hidden(content: Element, builder: Builder) -> None:
    """Move comments and hidden text out of the document, into the builder's hidden text."""
    hidden = {
        _attribute(style, "name")
        for style in content.iter()
        if _tag(style) == "style:style" and any(_attribute(each, "display") == "none" for each in style)
    }
    for parent in list(content.iter()):
        for place, node in reversed(list(enumerate(parent))):
            tag = _tag(node)
            comment = tag in ("office:annotation", "text:note-comment")
            if not comment and not (
                tag in _STYLED_TAGS and (_attribute(node, "style-name") in hidden or tag in _HIDDEN_TAGS)
            ):
                continue
            builder.hide("a comment" if comment else "hidden text", _text(node))
            parent.remove(node)
            if place:
                parent[place - 1].tail = (parent[place - 1].tail or "") + (node.tail or "")
            else:
                parent.text = (parent.text or "") + (node.tail or "")


def _attribute(node: Element, name: str) -> str:
    """An attribute by its name, in any namespace."""
    return next((value for key, value in node.items() if key.rpartition("}")[2] == name), "")


def _take_notes(content: Element) -> list[Element]:
    """Move the bodies of footnotes and endnotes out of the text that they belong to."""
    notes = [each for each in content.iter() if _tag(each) == "text:note"]
    bodies = [body for note in notes for body in note if _tag(body) == "text:note-body"]
    for note in notes:
        for part in list(note):
            note.remove(part)
    return bodies


def _add_blocks(body: Element, builder: Builder) -> None:
    for node in body:
        match _tag(node):
            case "text:h":
                level = next((value for key, value in node.items() if key.endswith("outline-level")), "1")
                builder.heading(int(level), _text(node))
            case "text:list":
                items = (_text(each) for each in node.iter() if _tag(each) in ("text:p", "text:h"))
                for number, item in enumerate(item for item in items if item.strip()):
                    builder.block(f"- {item}", tight=number > 0)
            case "table:table":
                builder.table(list(_cells(row)) for row in _rows(node))
            case "text:section":
                _add_blocks(node, builder)
            case "text:p" | "draw:frame":
                builder.block(_text(node))


def _rows(table: Element) -> Iterator[Element]:
    """The rows of a table, less those of tables in its cells."""
    for node in table:
        if _tag(node) == "table:table-row":
            yield node
        elif _tag(node) in ("table:table-header-rows", "table:table-rows", "table:table-row-group"):
            yield from _rows(node)


def _cells(row: Element) -> Iterator[str]:
    """The texts of a row, column by column; one that spans several columns leaves the others empty."""
    for cell in row:
        if _tag(cell) in ("table:table-cell", "table:covered-table-cell"):
            repeated = _attribute(cell, "number-columns-repeated")
            yield from [_text(cell)] * (min(int(repeated), MAX_COLUMNS) if repeated.isdecimal() else 1)


def _text(node: Element) -> str:
    return "".join(_texts(node)).strip("\n")


def _texts(node: Element) -> Iterator[str]:
    yield node.text or ""
    for child in node:
        tag = _tag(child)
        if tag in ("text:line-break", "text:tab", "text:s"):
            yield "\n" if tag == "text:line-break" else " "
        apart = "\n" if tag in ("text:p", "text:h") else ""  # paragraphs of a cell, or of a text box
        yield apart
        yield from _texts(child)
        yield apart + (child.tail or "")


def _tag(node: Element) -> str:
    found = _NAME.fullmatch(node.tag) if isinstance(node.tag, str) else None
    return f"{found[1]}:{found[2]}" if found else ""
