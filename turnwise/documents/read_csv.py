"""Reads tables row by row; each row repeats the column names, so that it makes sense on its own."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from turnwise.documents.blocks import Builder
from turnwise.errors import UnreadableDocument

MAX_BLOCK_CHARS = 1000  # rows are grouped, because a table may have millions
SAMPLE_ROWS = 20  # to detect the delimiter and the header
_TOLD_DELIMITER = re.compile(r"sep=([,;\t|])[ \t]*\r?\n", re.I)  # as Excel begins a file, and shows it to nobody
_NUMBER = re.compile(r"[-+]?[\d.,]+%?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DIGITS = re.compile(r"\d+")


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


def add_table(rows: Iterator[list[str]], builder: Builder, above: Sequence[str] = ()) -> list[str]:
    """Append non-empty rows, and return their column names: those of the table above if these go on with it."""
    top = list(islice(rows, SAMPLE_ROWS))
    captions = _captions(top)
    builder.block("\n".join(cell.strip() for row in top[:captions] for cell in row if cell.strip()))
    del top[:captions]
    first = top[0] if top else []
    columns = _columns(first, top[1:])
    rows = chain(top[1:] if columns else top, rows)
    if not columns and first and len(first) == len(above):
        columns = list(above)
    if not columns and not any(map(str.isalpha, "".join(first[:1]))):
        columns = [f"column {number}" for number in range(1, len(first) + 1)]
    for number, block in enumerate(_group_rows(_row_text(columns, row) for row in rows)):
        builder.block("\n".join(block), tight=number > 0, code=len(block) > 1)
    return columns


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """The non-empty rows, parsed lazily."""
    lines = (found[0] for found in re.finditer(r"[^\n]*\n|[^\n]+", text.replace("\r\n", "\n").replace("\r", "\n")))
    return (row for row in csv.reader(lines, delimiter=delimiter) if any(cell.strip() for cell in row))


def _captions(top: Sequence[Sequence[str]]) -> int:
    """How many rows stand above the table: each of a single text, such as a title, with two rows or more below that all
    have several cells."""
    filled = [sum(bool(cell.strip()) for cell in row) for row in top]
    count = next((place for place, cells in enumerate(filled) if cells > 1), 0)
    return count if len(filled) >= count + 2 and min(filled[count:]) > 1 else 0


def _group_rows(rows: Iterable[str]) -> Iterator[list[str]]:
    """Group rows into blocks of limited length."""
    block: list[str] = []
    length = 0
    for row in rows:
        if block and length + len(row) > MAX_BLOCK_CHARS:
            yield block
            block, length = [], 0
        block.append(row)
        length += len(row) + 1
    yield block


def _delimiter(text: str) -> str:
    """Detect the delimiter: the one that gives the first rows the same number of columns, and the most."""
    best, most = ",", 1
    for delimiter in ",;\t|":
        try:
            top = list(islice(_rows(text[: 1 << 16], delimiter), SAMPLE_ROWS))
            widths = {len(row) for row in top[_captions(top) :]}
        except csv.Error:
            continue
        if len(widths) == 1 and max(widths) > most:
            best, most = delimiter, max(widths)
    return best


def _columns(row: Sequence[str], below: Sequence[Sequence[str]]) -> list[str]:
    """The column names if the first row is a header, else [].

    Header cells are distinct, and none but the first is empty; none is a number (except several years) or has the shape
    of the cells below it ("45 min" above "30 min")."""
    names = [" ".join(cell.split()) for cell in row]
    while names and not names[-1]:
        names.pop()
    if not names or len(names) < min(2, len(row)) or not all(names[1:]) or len(set(names)) < len(names):
        return []
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    if names[0] in numbers or (numbers and not (len(numbers) > 1 and all(map(_YEAR.fullmatch, numbers)))):
        return []
    for place, name in enumerate(names):
        shapes = [_shape_of(each[place]) for each in below if len(each) > place and each[place].strip()]
        if any(map(str.isdigit, name)) and name not in numbers and 2 * shapes.count(_shape_of(name)) > len(shapes):
            return []
    return names


def _shape_of(cell: str) -> str:
    """The text of a cell with each number replaced by 0: cells of one kind share it."""
    return " ".join(_DIGITS.sub("0", cell).split())


def _row_text(columns: Sequence[str], row: Sequence[str]) -> str:
    cells = [" ".join(cell.split()) for cell in row]
    if not columns:
        return ": ".join(filter(None, (cells[0], ", ".join(filter(None, cells[1:])))))
    named = [f"{column}: {cell}" if column else cell for column, cell in zip(columns, cells, strict=False) if cell]
    return "; ".join([*named, *(cell for cell in cells[len(columns) :] if cell)])
