"""Word files, read into headings and blocks."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import docx
from docx.document import Document as Docx
from docx.table import Table, _Cell
from docx.text.paragraph import Paragraph

from turnwise.documents.archive import open_archive
from turnwise.documents.blocks import Builder, as_title

MOST_ANCESTORS = 10  # of a style
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_KNOWN = re.compile(r"heading \d|title$|list\b", re.IGNORECASE)


def read_docx(data: bytes, name: str, builder: Builder) -> str:
    """Put the document into the builder. Gives its title: the one it shows, else the one in its properties."""
    open_archive(data, name).close()
    document = docx.Document(io.BytesIO(data))
    shown = ""
    styles = _styles(document)
    in_list = False
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            builder.table(_rows(block))
            in_list = False
            continue
        style = styles.get(_style_id(block), "")
        heading = _HEADING.match(style)
        if style == "Title":
            shown = shown or block.text
            builder.heading(1, block.text)
        elif heading:
            builder.heading(int(heading[1]), block.text)
        elif style.startswith("List") or _is_numbered(block):
            builder.block(f"- {block.text}" if block.text.strip() else "", tight=in_list)
        else:
            builder.block(block.text, code=style in ("HTML Preformatted", "Plain Text"))
        in_list = style.startswith("List") or _is_numbered(block)
    properties = document.core_properties
    dated = properties.modified or properties.created
    builder.date = dated.date().isoformat() if dated else ""
    return shown or as_title(properties.title or "") or builder.main_heading


def _styles(document: Docx) -> dict[str, str]:
    """The names of the styles by id (asking each paragraph for its own is slow); one that is made from a heading or a
    list goes by the name of that."""
    return {style.style_id: _known(style) for style in document.styles}


def _known(style: Any) -> str:
    name = style.name or ""
    for _ in range(MOST_ANCESTORS):
        if style is None or _KNOWN.match(style.name or ""):
            break
        style = getattr(style, "base_style", None)
    return (style.name or "") if style is not None and _KNOWN.match(style.name or "") else name


def _style_id(paragraph: Paragraph) -> str:
    return paragraph._p.style or ""


def _is_numbered(paragraph: Paragraph) -> bool:
    properties = paragraph._p.pPr
    return properties is not None and properties.numPr is not None


def _rows(table: Table) -> Iterator[Sequence[str]]:
    """The cells of each row as they are stored: one that spans several columns once."""
    for row in table.rows:
        yield [_Cell(cell, table).text for cell in row._tr.tc_lst]
