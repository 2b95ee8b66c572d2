"""Reads Excel workbooks: each sheet is a section, and rows without an empty one between them are a table."""

from __future__ import annotations

import datetime
import io
import warnings
from bisect import bisect_left
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import openpyxl

from turnwise.documents.archive import open_archive
from turnwise.documents.blocks import Builder, as_title
from turnwise.documents.numbers import shown
from turnwise.documents.read_docx import WHITE_TEXT, read_properties
from turnwise.documents.tables import Row, add_sheet

_WHITE = ("FFFFFFFF", "00FFFFFF")
MAX_COLUMNS = 50  # that one cell stands for
_PAGE_COLOUR = 0  # in a theme


def read_xlsx(data: bytes, name: str, builder: Builder) -> str:
    """Read the visible sheets into the builder. Returns the title in the properties, or ""."""
    open_archive(data, name).close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they tell what would be lost if the workbook were saved again
        workbook = openpyxl.load_workbook(io.BytesIO(data), data_only=True, keep_links=False)
    for sheet in workbook.worksheets:
        if sheet.sheet_state != "visible":
            for row in _rows(sheet, builder):
                builder.hide("a hidden sheet", " ".join(filter(None, row)))
            continue
        add_sheet(sheet.title, _rows(sheet, builder), builder)
    properties = workbook.properties
    read_properties(properties, builder)
    return as_title(properties.title or "")


def _rows(sheet: Any, builder: Builder) -> Iterator[Row]:
    """The visible cells of each row, and an empty one where rows are left out. Each row beside a cell that spans
    several has its text, and each column below which a cell stands that spans several."""
    hidden_rows = {number for number, each in sheet.row_dimensions.items() if each.hidden}
    widths = sheet.column_dimensions.values()
    hidden_columns = sorted({number for each in widths if each.hidden for number in range(each.min, each.max + 1)})
    spanned = {
        (row, column): (area.min_row, area.min_col)
        for area in sheet.merged_cells.ranges
        for row in range(area.min_row, area.max_row + 1)
        for column in range(area.min_col, min(area.max_col, area.min_col + MAX_COLUMNS) + 1)
        if (row, column) != (area.min_row, area.min_col)
    }
    is_coloured = bool(sheet.tables or sheet.conditional_formatting)  # white text may have a dark ground
    cells, last = sheet._cells, 0  # only those in the file; all rows and columns might be a billion
    above: set[int] = set()  # the columns with text in the row before
    wide: set[tuple[int, int]] = set()  # the cells told in each column they span, for the columns have names
    for number, places in groupby(sorted(cells), key=itemgetter(0)):
        if number > last + 1:
            yield []
        last, row, has_own, told = number, Row(), False, set[int]()
        for place in places:
            column, home = place[1], spanned.get(place, place)
            cell = cells[home]
            if home[0] == number and column in above and min(told, default=column) < home[1]:
                wide.add(home)
            text = _text(cell) if home[1] == column or home in wide else ""
            if cell.comment and place not in spanned:
                builder.hide("a comment", cell.comment.text)
            if why := _reason_hidden(cell, number in hidden_rows, column in hidden_columns, is_coloured):
                builder.hide(why, text)
                continue
            row += [""] * (column - 1 - bisect_left(hidden_columns, column) - len(row)) + [text]
            if text:
                told.add(column)
            has_own = has_own or bool(text and place not in spanned)
        above = told
        if number not in hidden_rows and (has_own or not any(row)):
            yield row


def _reason_hidden(cell: Any, row_hidden: bool, column_hidden: bool, is_coloured: bool) -> str:
    """Why nobody sees a cell, or ""."""
    if row_hidden or column_hidden:
        return "a hidden row" if row_hidden else "a hidden column"
    colour = cell.font.color
    if colour is None or is_coloured or cell.fill.fill_type is not None:
        return ""
    is_white = colour.rgb in _WHITE if colour.type == "rgb" else colour.type == "theme" and colour.theme == _PAGE_COLOUR
    return WHITE_TEXT if is_white and not colour.tint else ""


def _text(cell: Any) -> str:
    """What a cell shows."""
    match cell.value:
        case None:
            return ""
        case bool(value):
            return str(value).upper()
        case int(value) | float(value):
            return shown(value, cell.number_format)
        case datetime.datetime() as moment:
            return moment.isoformat(" ", "minutes").removesuffix(" 00:00")
        case datetime.time() as time:
            return time.isoformat("seconds" if time.second else "minutes")
        case datetime.timedelta() as duration:
            return _duration(duration, with_seconds="s" in cell.number_format.lower())
        case value:
            return "" if cell.data_type == "e" else " ".join(str(value).split())


def _duration(duration: datetime.timedelta, with_seconds: bool) -> str:
    minutes, seconds = divmod(round(abs(duration.total_seconds())), 60)
    text = f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if with_seconds else "")
    return f"-{text}" if duration.total_seconds() < 0 else text
