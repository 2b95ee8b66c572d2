"""Tables of comma or tab separated values, read row by row: each says its columns, so that it makes sense alone."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from turnwise.documents.blocks import Builder
from turnwise.errors import UnreadableDocument

LONGEST_BLOCK = 1000  # characters of rows that go together: a table may have millions
LOOKED_AT = 20  # rows that tell what separates the columns
_NUMBER = re.compile(r"[-+]?[\d.,]+%?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DIGITS = re.compile(r"\d+")


def read_csv(text: str, name: str, builder: Builder) -> str:
    """Put the rows into the builder as "column: value; column: value"; where the columns have no names, as "first
    cell: second cell, third cell". It has no title of its own."""
    csv.field_size_limit(1 << 20)
    delimiter = "\t" if name.lower().endswith(".tsv") else _delimiter(text)
    try:
        rows = _rows(text, delimiter)
        top = list(islice(rows, LOOKED_AT))
        first = top[0] if top else []
        columns = _columns(first, top[1:])
        rows = chain(top[1:] if columns else top, rows)
        if not columns and not any(map(str.isalpha, "".join(first[:1]))):
            columns = [f"column {number}" for number in range(1, len(first) + 1)]
        for number, block in enumerate(_together(_told(columns, row) for row in rows)):
            builder.block("\n".join(block), tight=number > 0, code=len(block) > 1)
    except csv.Error as error:
        raise UnreadableDocument(f"{name} cannot be read as a table: {error}.", "Check its quotation marks.") from error
    return ""


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows that hold anything. Lines are handed on one by one, as they are asked for."""
    lines = (found[0] for found in re.finditer(r"[^\n]*\n|[^\n]+", text.replace("\r\n", "\n").replace("\r", "\n")))
    return (row for row in csv.reader(lines, delimiter=delimiter) if any(cell.strip() for cell in row))


def _together(rows: Iterable[str]) -> Iterator[list[str]]:
    """Rows in blocks of some length."""
    block: list[str] = []
    length = 0
    for row in rows:
        if block and length + len(row) > LONGEST_BLOCK:
            yield block
            block, length = [], 0
        block.append(row)
        length += len(row) + 1
    yield block


def _delimiter(text: str) -> str:
    """What separates the columns: the mark that gives every row at the top the same number of them, and the most."""
    best, most = ",", 1
    for delimiter in ",;\t|":
        try:
            widths = {len(row) for row in islice(_rows(text[: 1 << 16], delimiter), LOOKED_AT)}
        except csv.Error:
            continue
        if len(widths) == 1 and max(widths) > most:
            best, most = delimiter, max(widths)
    return best


def _columns(row: Sequence[str], below: Sequence[Sequence[str]]) -> list[str]:
    """The names of the columns, where the first row holds them: each there, none twice, no number that is not one of
    several years, and none that looks as the cells below it do ("45 min" above "30 min")."""
    names = [" ".join(cell.split()) for cell in row]
    if not names or not all(names) or len(set(names)) < len(names) or _NUMBER.fullmatch(names[0]):
        return []
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    if numbers and not (len(numbers) > 1 and all(map(_YEAR.fullmatch, numbers))):
        return []
    for place, name in enumerate(names):
        looks = [_look(each[place]) for each in below if len(each) > place and each[place].strip()]
        if any(map(str.isdigit, name)) and name not in numbers and 2 * looks.count(_look(name)) > len(looks):
            return []
    return names


def _look(cell: str) -> str:
    """What cells of one kind share: their text without the figures."""
    return " ".join(_DIGITS.sub("0", cell).split())


def _told(columns: Sequence[str], row: Sequence[str]) -> str:
    cells = [" ".join(cell.split()) for cell in row]
    if not columns:
        return ": ".join(filter(None, (cells[0], ", ".join(filter(None, cells[1:])))))
    named = [f"{column}: {cell}" for column, cell in zip(columns, cells, strict=False) if cell]
    return "; ".join([*named, *(cell for cell in cells[len(columns) :] if cell)])
