"""Reads CSV and TSV files row by row."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice

from turnwise.documents.blocks import Builder
from turnwise.documents.tables import SAMPLE_ROWS, add_table, rows_above
from turnwise.errors import UnreadableDocument

_TOLD_DELIMITER = re.compile(r"sep=([,;\t|])[ \t]*\r?\n", re.I)  # as Excel begins a file, and shows it to nobody


def read_csv(text: str, name: str, builder: Builder) -> str:
    """Read the rows into the builder as "column: value; column: value", or, without column names, as "first cell:
    second cell, third cell". Returns "": a table has no title."""
    csv.field_size_limit(1 << 20)
    told = _TOLD_DELIMITER.match(text)
    if told:
        text = text[told.end() :]
    delimiter = told[1] if told else "\t" if name.lower().endswith(".tsv") else _delimiter(text)
    try:
        add_table(_rows(text, delimiter), builder)
    except csv.Error as error:
        raise UnreadableDocument(f"{name} cannot be read as a table: {error}.", "Check its quotation marks.") from error
    return ""


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """The non-empty rows, parsed lazily."""
    lines = (found[0] for found in re.finditer(r"[^\n]*\n|[^\n]+", text.replace("\r\n", "\n").replace("\r", "\n")))
    return (row for row in csv.reader(lines, delimiter=delimiter) if any(cell.strip() for cell in row))


def _delimiter(text: str) -> str:
    """Detect the delimiter: the one that gives the first rows the same number of columns, and the most."""
    best, most = ",", 1
    for delimiter in ",;\t|":
        try:
            top = list(islice(_rows(text[: 1 << 16], delimiter), SAMPLE_ROWS))
            widths = {len(row) for row in top[rows_above(top) :]}
        except csv.Error:
            continue
        if len(widths) == 1 and max(widths) > most:
            best, most = delimiter, max(widths)
    return best
