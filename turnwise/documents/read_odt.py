"""Reads OpenDocument texts, spreadsheets and slides into headings and blocks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from turnwise.documents.archive import open_archive
from turnwise.documents.blocks import Builder, as_title, iso_date
from turnwise.documents.tables import MAX_CHART_ROWS, Row, add_sheet

MAX_COLUMNS = 50  # that one cell stands for
MAX_ROWS = 1000  # that one row with text stands for
_HIDDEN_TAGS = ("text:hidden-text", "text:hidden-paragraph")
_STYLED_TAGS = ("text:span", "text:p", "text:h", *_HIDDEN_TAGS)
_NAME = re.compile(r"\{urn:oasis:names:tc:opendocument:xmlns:(\w+):[\d.]+\}(\S+)")


def read_odt(data: bytes, name: str, builder: Builder) -> str:
    """Read the document into the builder. Returns the title in its properties, else the first main heading, else ""."""
    with open_archive(data, name) as archive:
        content = ElementTree.fromstring(archive.read("content.xml"))
        _put_in_charts(content, archive)
        metadata = (
            ElementTree.fromstring(archive.read("meta.xml")) if "meta.xml" in archive.namelist() else Element("none")
        )
    _extract_hidden(content, builder)
    notes = _take_notes(content)
    for body in content.iter():
        match _tag(body):
            case "office:text":
                _add_blocks(body, builder)
            case "office:spreadsheet":
                _add_sheets(body, _styles_with_display(content, "false"), builder)
            case "office:presentation":
                slides = (each for each in body if _tag(each) == "drawing:page")
                for number, slide in enumerate(slides, 1):
                    _add_slide(slide, number, builder)
    main_heading = "" if name.lower().endswith(".ods") else builder.main_heading  # a sheet names only itself
    if notes:
        builder.heading(1, "Notes")
    for note in notes:
        builder.block(_text(note))
    dc = "{http://purl.org/dc/elements/1.1/}"
    builder.date = iso_date(metadata.findtext(f".//{dc}date") or "")
    return as_title(metadata.findtext(f".//{dc}title") or "") or main_heading


def _extract_hidden(content: Element, builder: Builder) -> None:
    """Move comments and hidden text out of the document, into the builder's hidden text."""
    hidden = _styles_with_display(content, "none")
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


def _styles_with_display(content: Element, value: str) -> set[str]:
    styles = (each for each in content.iter() if _tag(each) == "style:style")
    return {
        _attribute(style, "name") for style in styles if any(_attribute(each, "display") == value for each in style)
    }


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


def _add_blocks(body: Element, builder: Builder, page: int | None = None) -> None:
    for node in body:
        match _tag(node):
            case "text:h":
                level = next((value for key, value in node.items() if key.endswith("outline-level")), "1")
                builder.heading(int(level), _text(node))
            case "text:list":
                items = (_text(each) for each in node.iter() if _tag(each) in ("text:p", "text:h"))
                for number, item in enumerate(item for item in items if item.strip()):
                    builder.block(f"- {item}", page, tight=number > 0)
            case "table:table":
                builder.table((list(_cells(row)) for row in _rows(node)), page)
            case "text:section" | "drawing:text-box":
                _add_blocks(node, builder, page)
            case "text:p" | "drawing:frame":
                builder.block(_text(node), page)


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
            yield from [_text(cell)] * min(_repeated(cell, "columns"), MAX_COLUMNS)


def _repeated(node: Element, what: str) -> int:
    """How many rows or columns an element stands for."""
    repeated = _attribute(node, f"number-{what}-repeated")
    return int(repeated) if repeated.isdecimal() else 1


# --- spreadsheets ----------------------------------------------------------------------------------------------------


def _add_sheets(body: Element, hidden: Collection[str], builder: Builder) -> None:
    for sheet in (each for each in body if _tag(each) == "table:table"):
        rows = _visible_rows(sheet, builder)
        if _attribute(sheet, "style-name") not in hidden:
            add_sheet(_attribute(sheet, "name"), rows, builder)
            continue
        for row in rows:
            builder.hide("a hidden sheet", " ".join(filter(None, row)))


def _visible_rows(sheet: Element, builder: Builder) -> Iterator[Row]:
    """The rows of a sheet. Each row beside a cell that spans several has its text, and each column below which a cell
    stands that spans several."""
    hidden_columns = _hidden_columns(sheet)
    spanning: dict[int, tuple[str, int]] = {}  # text and last row, by column
    above: set[int] = set()  # the columns with text in the row before
    number = 0
    for row in _rows(sheet):
        texts, has_own, hidden = Row(), False, Row()
        told, wide, end = set[int](), ("", 0), 0  # where the last cell ends that spans columns and has text before it
        for cell in row:
            is_covered = _tag(cell) == "table:covered-table-cell"
            if not is_covered and _tag(cell) != "table:table-cell":
                continue
            column, text = len(texts) + len(hidden), " ".join(_text(cell).split())
            if text and not is_covered:
                has_own = True
                spanning[column] = wide = text, number + int(_attribute(cell, "number-rows-spanned") or 1)
                end = column + int(_attribute(cell, "number-columns-spanned") or 1) if told else 0
            for place in range(column, column + min(_repeated(cell, "columns"), MAX_COLUMNS)):
                if is_covered and place < end and place in above:
                    spanning[place] = wide
                if is_covered:
                    covering, last = spanning.get(place, ("", 0))
                    text = covering if last > number else ""
                if text:
                    told.add(place)
                (hidden if place in hidden_columns else texts).append(text)
        above = told
        number += _repeated(row, "rows")
        if _is_hidden(row):
            builder.hide("a hidden row", " ".join(filter(None, texts + hidden)))
            continue
        builder.hide("a hidden column", " ".join(filter(None, hidden)))
        if has_own:
            yield from [texts] * min(_repeated(row, "rows"), MAX_ROWS)
        elif not any(texts):
            yield []


def _hidden_columns(sheet: Element) -> set[int]:
    hidden, column = set(), 0
    for each in sheet.iter():
        if _tag(each) == "table:table-column":
            count = min(_repeated(each, "columns"), MAX_COLUMNS)
            hidden |= set(range(column, column + count)) if _is_hidden(each) else set()
            column += count
    return hidden


def _is_hidden(node: Element) -> bool:
    return _attribute(node, "visibility") in ("collapse", "filter")


# --- slides ----------------------------------------------------------------------------------------------------------


def _put_in_charts(content: Element, archive: ZipFile) -> None:
    """Put the title and the table behind each chart of a slide in its place."""
    files = archive.namelist()
    slides = (each for each in content.iter() if _tag(each) == "drawing:page")
    for frame in (each for slide in slides for each in slide.iter() if _tag(each) == "drawing:frame"):
        for drawn in [each for each in frame if _tag(each) == "drawing:object"]:
            file = f"{_attribute(drawn, 'href').removeprefix('./')}/content.xml"
            chart = list(ElementTree.fromstring(archive.read(file)).iter()) if file in files else []
            title = [each for each in chart if _tag(each) == "chart:title"][:1]
            tables = [each for each in chart if _tag(each) == "table:table"]
            if tables and sum(1 for _ in _rows(tables[0])) <= MAX_CHART_ROWS:
                for cell in [each for each in tables[0].iter() if _attribute(each, "value") == "NaN"]:
                    del cell[:]
                frame.extend([*(each for part in title for each in part), tables[0]])


def _add_slide(slide: Element, number: int, builder: Builder) -> None:
    """Append a slide, which is a page: its title, what stands below, and the notes."""
    shapes = list(_shapes(slide))
    title = next((each for each in shapes if _attribute(each, "class") == "title"), None)
    heading = " ".join(_text(title).split()) if title is not None else ""
    shapes = [each for each in shapes if each is not title and _text(each).strip()]
    notes = [_text(each) for part in slide if _tag(part) == "presentation:notes" for each in _shapes(part)]
    said = "\n".join(filter(str.strip, notes))
    if shapes or said:
        builder.heading(1, heading or f"Slide {number}")
    else:
        builder.block(heading, number)
    for shape in shapes:
        _add_blocks(shape, builder, number)
    builder.block(f"Notes: {said}" if said else "", number)


def _shapes(node: Element) -> Iterator[Element]:
    for child in node:
        if _tag(child) in ("drawing:frame", "drawing:custom-shape"):
            yield child
        elif _tag(child) == "drawing:g":
            yield from _shapes(child)


# --- text ------------------------------------------------------------------------------------------------------------


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
