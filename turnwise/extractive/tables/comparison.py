"""The rows that the sides of a comparison name: "compare the adult and student fees"."""

from __future__ import annotations

from collections.abc import Sequence, Set

from turnwise.extractive.kinds import PRICE_WORDS
from turnwise.extractive.sides import is_about_all, opens_with, side_stems
from turnwise.extractive.statements import Candidate, asked_stems, stems_of
from turnwise.extractive.tables.answers import Answer, write
from turnwise.extractive.tables.model import Row, Table, price_item_cells
from turnwise.extractive.tables.vocabulary import FORM_STEMS

_COMPARING_STEMS = stems_of("compare comparison difference different differ between vs versus")


def compared_rows(question: str, sides: Sequence[str], tables: Sequence[Table], pool: Sequence[Candidate]) -> str:
    """The rows of both sides. Unless prices are asked for, a sentence about a side wins: residential and nursing care
    may differ in more than a table shows."""
    own, asked = side_stems(sides), asked_stems(question)
    wants_prices = not asked.isdisjoint(PRICE_WORDS)
    other = asked.difference(_COMPARING_STEMS, *own)
    fitting = [
        table
        for table in tables
        if (not other or not asked.isdisjoint(table.subject_stems))
        and (wants_prices or not _in_a_sentence(own, table, pool))
    ]
    return write([Answer(table, rows_of_sides(table, own)) for table in fitting])


def _in_a_sentence(sides: Sequence[Set[str]], table: Table, pool: Sequence[Candidate]) -> bool:
    """Whether a sentence is about all sides, or one in the table's document begins with a side."""
    prose = [each for each in pool if not each.statement.is_row and not price_item_cells(each)]
    return any(
        is_about_all(each, sides)
        or (each.evidence.passage.document_id == table.document and any(opens_with(each, side) for side in sides))
        for each in prose
    )


def rows_of_sides(table: Table, sides: Sequence[Set[str]]) -> list[Row]:
    """The rows that each side names; [] if a side names none, or one that another side names too."""
    chosen: list[Row] = []
    for side in sides:
        keys = side - table.naming_stems - FORM_STEMS
        rows = [row for row in table.rows if keys and keys <= row.cell_stems[0]]
        if not rows or any(row in chosen for row in rows):
            return []
        chosen += rows
    return chosen
