"""The rows that the sides of a comparison name: "compare the adult and student fees"."""

from __future__ import annotations

from collections.abc import Sequence, Set

from turnwise.extractive.kinds import PRICE_WORDS
from turnwise.extractive.sides import side_stems
from turnwise.extractive.statements import Candidate, asked_stems, stems_of
from turnwise.extractive.tables.answers import Answer, write
from turnwise.extractive.tables.model import Row, Table, price_item_cells
from turnwise.extractive.tables.vocabulary import FORM_STEMS


def compared_rows(question: str, sides: Sequence[str], tables: Sequence[Table], pool: Sequence[Candidate]) -> str:
    """The rows of both sides. Unless prices are asked for, a sentence about a side wins: residential and nursing care
    may differ in more than a table shows."""
    own, asked = side_stems(sides), asked_stems(question)
    if asked.isdisjoint(PRICE_WORDS) and any(_in_a_sentence(side, pool) for side in own):
        return ""
    fitting = [table for table in tables if not asked.isdisjoint(table.subject_stems)]
    return write([Answer(table, _rows_of_sides(table, own)) for table in fitting])


def _in_a_sentence(side: Set[str], pool: Sequence[Candidate]) -> bool:
    prose = [each for each in pool if not each.statement.is_row and not price_item_cells(each)]
    return any(side <= stems_of(each.text) for each in prose)


def _rows_of_sides(table: Table, sides: Sequence[Set[str]]) -> list[Row]:
    """The rows that each side names; [] if a side names none, or one that another side names too."""
    chosen: list[Row] = []
    for side in sides:
        keys = side - table.naming_stems - FORM_STEMS
        rows = [row for row in table.rows if keys and keys <= row.cell_stems[0]]
        if not rows or any(row in chosen for row in rows):
            return []
        chosen += rows
    return chosen
