"""Appends tables of spreadsheets and CSV files to a document; each row repeats the column names, so that it makes sense
on its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, groupby, islice

from turnwise.documents.blocks import Builder

MAX_BLOCK_CHARS = 1000  # rows are grouped, because a table may have millions
SAMPLE_ROWS = 20  # to detect the header and the delimiter
MAX_TITLE_CHARS = 80  # of a line above a table
MAX_CHART_ROWS = 500  # nobody reads a longer chart as numbers
_NUMBER = re.compile(r"[-+]?[\d.,]+%?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DIGITS = re.compile(r"\d+")
_UNNAMED = re.compile(r"(?:sheet|tabelle|feuille?|hoja|planilha|folha|foglio|blad|工作表|シート) ?\d*", re.I)

Row = list[str]


def add_sheet(name: str, rows: Iterable[Row], builder: Builder) -> None:
    """Append a section with the tables of a sheet, which empty rows divide, and the lines between them. A short line
    that stands alone above a table is its heading."""
    if not _UNNAMED.fullmatch(name):
        builder.heading(1, name)
    line, columns = "", Row()
    for is_filled, run in groupby(rows, key=any):
        if not is_filled:
            continue
        for table in _side_by_side(list(run)):
            if len(table) == 1 and len(table[0]) == 1:
                builder.block(line)
                line = table[0][0]
                continue
            if line and len(line) <= MAX_TITLE_CHARS and line[-1] not in ".!?":
                builder.heading(2, line.rstrip(":"))
            else:
                builder.block(line)
            line = ""
            columns = _add_part(table, builder, columns)
    builder.block(line)


def _add_part(table: list[Row], builder: Builder, above: Row) -> Row:
    """Append the rows between two empty ones, and return the column names for those below."""
    if len(table[0]) == 1:
        builder.block("\n".join(row[0] for row in table))
        return above
    if len(table) == 1 and _columns(table[0], []):  # a header, or a label and what is filled in beside it
        builder.block(_row_text([], table[0]))
        return table[0]
    return add_table(iter(table), builder, above)


def add_table(rows: Iterator[Row], builder: Builder, above: Sequence[str] = ()) -> Row:
    """Append non-empty rows, and return their column names: those of the table above if these go on with it."""
    top = list(islice(rows, SAMPLE_ROWS))
    captions = rows_above(top)
    builder.block("\n".join(cell.strip() for row in top[:captions] for cell in row if cell.strip()))
    del top[:captions]
    first = top[0] if top else []
    columns, taken = _header(top)
    rows = chain(top[taken:], rows)
    if not columns and first and len(first) == len(above):
        columns = list(above)
    if not columns and not any(map(str.isalpha, "".join(first[:1]))):
        columns = [f"column {number}" for number in range(1, len(first) + 1)]
    for number, block in enumerate(_group_rows(_row_text(columns, row) for row in rows)):
        builder.block("\n".join(block), tight=number > 0, code=len(block) > 1)
    return columns


def _side_by_side(table: list[Row]) -> list[list[Row]]:
    """The tables that empty columns divide, if each begins with the same name or has labels and what is filled in; else
    the one table without empty columns."""
    width = max(map(len, table))
    filled = [any(len(row) > place and row[place] for row in table) for place in range(width)]
    parts = []
    for is_filled, run in groupby(range(width), key=filled.__getitem__):
        if is_filled:
            parts.append([row for row in _at_places(table, list(run)) if any(row)])
    first = {part[0][0] for part in parts}
    if len(parts) > 1 and ((len(first) == 1 and any(first)) or any(map(_is_form, parts))):
        return parts
    return [_at_places(table, [place for place in range(width) if filled[place]])]


def _at_places(table: list[Row], places: Sequence[int]) -> list[Row]:
    """The table with just these columns."""
    return [[row[place] if len(row) > place else "" for place in places] for row in table]


def rows_above(top: Sequence[Sequence[str]]) -> int:
    """How many rows stand above the table: each of a single text, such as a title, with two rows or more below that all
    have several cells, but for remarks at the end."""
    filled = [sum(bool(cell.strip()) for cell in row) for row in top]
    while filled and filled[-1] <= 1:
        filled.pop()
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


def _header(top: Sequence[Row]) -> tuple[list[str], int]:
    """The column names and how many rows they stand in: two if the first has groups of columns; none if there is no
    header."""
    if names := _columns_in_groups(top):
        return names, 2
    names = [] if not top or _is_form(top) else _columns(top[0], top[1:])
    return names, 1 if names else 0


def _columns(row: Sequence[str], below: Sequence[Sequence[str]]) -> list[str]:
    """The column names if the first row is a header, else []: they are distinct, and none but the first is empty."""
    names = [" ".join(cell.split()) for cell in row]
    while names and not names[-1]:
        names.pop()
    if not names or len(names) < min(2, len(row)) or not all(names[1:]) or len(set(names)) < len(names):
        return []
    return names if _are_names(names, below) else []


def _are_names(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the cells of a row may be those of a header: none is a number (except several years) or has the shape of
    the cells below it ("45 min" above "30 min")."""
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    if names[0] in numbers or (numbers and not (len(numbers) > 1 and all(map(_YEAR.fullmatch, numbers)))):
        return False
    for place, name in enumerate(names):
        shapes = [_shape_of(each[place]) for each in below if len(each) > place and each[place].strip()]
        if _has_digit(name) and name not in numbers and 2 * shapes.count(_shape_of(name)) > len(shapes):
            return False
    return True


def _columns_in_groups(top: Sequence[Row]) -> list[str]:
    """The names of columns under groups such as "Summer" above "Hour" and "Day", else []. The lower names are repeated
    (but not below) or stand mostly above numbers, while a first row of data would do neither."""
    width = max(map(len, top), default=0)
    rows = [[" ".join(cell.split()) for cell in row] + [""] * (width - len(row)) for row in top]
    if len(rows) < 3 or all(rows[0][1:]) or not all(map(any, zip(*rows[:2], strict=True))):
        return []
    names, below = rows[1], rows[2:]
    numeric = [sum(map(_has_digit, cells)) > sum(map(bool, cells)) / 2 for cells in list(zip(*below, strict=True))[1:]]
    said = list(filter(None, names))
    is_repeated = len(set(said)) < len(said) and not set(said) & set(chain(*below))
    if not (is_repeated or 2 * sum(numeric) >= len(numeric)) or not _are_names(names, below):
        return []
    groups: Iterator[str] = accumulate(rows[0], lambda left, group: group or left)
    columns = [name if group == name else f"{group} {name}".strip() for group, name in zip(groups, names, strict=True)]
    return columns if len(set(columns)) == width else []


def _is_form(top: Sequence[Row]) -> bool:
    """Whether the rows of two columns are labels and what is filled in beside them, which is of several kinds."""
    if len(top) == SAMPLE_ROWS or {len(row) for row in top} != {2} or not all(top[0]):
        return False
    if all(label.rstrip().endswith(":") for label, _ in top):
        return True
    labels, (_, *values) = zip(*top, strict=True)
    return (
        len(values) > 2
        and not any(map(_has_digit, labels))
        and 1 / 3 <= sum(map(_has_digit, values)) / len(values) < 2 / 3
    )


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _shape_of(cell: str) -> str:
    """The text of a cell with each number replaced by 0: cells of one kind share it."""
    return " ".join(_DIGITS.sub("0", cell).split())


def _row_text(columns: Sequence[str], row: Sequence[str]) -> str:
    cells = [" ".join(cell.split()) for cell in row]
    if not columns:
        return ": ".join(filter(None, (cells[0].rstrip(":"), ", ".join(filter(None, cells[1:])))))
    named = [f"{column}: {cell}" if column else cell for column, cell in zip(columns, cells, strict=False) if cell]
    return "; ".join([*named, *(cell for cell in cells[len(columns) :] if cell)])
