"""Tables of a page as rows of cells; tables that only lay out the page are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

CELLS = ("td", "th")
MAX_CELL_CHARS = 500  # longer ones are columns of a page, or chapters
MAX_SPAN = 50  # rows or columns that one cell may span
MAX_COLUMNS = 100  # in which a cell is said again
_NO_DATA = "table, h1, h2, h3, h4, h5, h6, pre, ul, ol, dl"  # in the cells of a table that lays out a page


@dataclass(slots=True)
class Tables:
    """Finds the cell of a table that a piece of a page belongs to."""

    _is_data: dict[int, bool] = field(default_factory=dict)  # by the id of a table
    _cells: dict[int, LexborNode | None] = field(default_factory=dict)  # by the id of an element

    def cell_around(self, node: LexborNode) -> LexborNode | None:
        """The cell that an element is or is in, if it is of a table of data."""
        climbed: list[int] = []
        above: LexborNode | None = node
        while above is not None and above.tag not in CELLS and above.mem_id not in self._cells:
            climbed.append(above.mem_id)
            above = above.parent
        cell = None
        if above is not None:
            if above.mem_id not in self._cells:
                self._cells[above.mem_id] = above if self._of_data(above) else None
            cell = self._cells[above.mem_id]
        self._cells.update(dict.fromkeys(climbed, cell))
        return cell

    def _of_data(self, cell: LexborNode) -> bool:
        table = _table_around(cell)
        if table is None:
            return False
        if table.mem_id not in self._is_data:
            self._is_data[table.mem_id] = all(each.mem_id == table.mem_id for each in table.css(_NO_DATA)) and all(
                len(each.text()) <= MAX_CELL_CHARS for each in table.css("td, th")
            )
        return self._is_data[table.mem_id]


def table_of(cell: LexborNode) -> int:
    """The id of the table that a cell is in."""
    table = _table_around(cell)
    return table.mem_id if table is not None else 0


def _table_around(cell: LexborNode) -> LexborNode | None:
    above = cell.parent
    while above is not None and above.tag != "table":
        above = above.parent
    return above


def span_of(cell: LexborNode, name: str) -> int:
    """How many rows or columns a cell spans."""
    value = (cell.attributes.get(name) or "1").strip()
    return min(max(int(value), 1), MAX_SPAN) if value.isdecimal() and len(value) < 5 else 1


@dataclass(slots=True)
class Grid:
    """Completes the rows of a table: a cell that spans rows is said again in each, one that spans columns leaves the
    others empty."""

    table: int = 0
    _carried: dict[int, tuple[int, str]] = field(default_factory=dict)  # by column: for how many rows, and the text

    def row(self, table: int, cells: Sequence[tuple[str, int, int]]) -> list[str]:
        """The texts of a row, of cells with their text, the rows and the columns that they span."""
        if table != self.table:
            self.table, self._carried = table, {}
        carried, self._carried = self._carried, {}
        texts: list[str] = []

        def repeat() -> None:
            while len(texts) in carried:
                rows, text = carried[len(texts)]
                if rows > 1:
                    self._carried[len(texts)] = rows - 1, text
                texts.append(text)

        for text, rows, columns in cells:
            repeat()
            for said in (text, *[""] * (columns - 1)):
                if rows > 1 and len(texts) < MAX_COLUMNS:
                    self._carried[len(texts)] = rows - 1, said
                texts.append(said)
        repeat()
        return texts
