"""The price of a row or column that is asked for by its own name: "how much is climbing?" does not mean the hire of
shoes."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from turnwise.dialogue.language import says
from turnwise.extractive.cells import row_in_words
from turnwise.extractive.kinds import PRICE_WORDS, states_amount
from turnwise.extractive.statements import Candidate, asked_stems, stems_of
from turnwise.extractive.tables.amounts import amount_in, is_price
from turnwise.extractive.tables.answers import Answer, list_rows, write
from turnwise.extractive.tables.model import Row, Table
from turnwise.extractive.tables.vocabulary import column_stems
from turnwise.extractive.writing import quote

MAX_WHOLE_CELLS = 6  # of a row with more cells than this besides its name, just the price is told

_QUESTION = re.compile(
    r"(?:(?:and|so|but|ok|okay|hi|hello),? )*(?:how much(?:['’]s| is| are| does| do| for)|what (?:does|do)"
    r"|(?:what(?:['’]s| is| are) )?the (?:price|cost|fee|charge)s? (?:of|for)|price of) (?:the |an? |your )?"
    r"(?P<name>[^,;?]{1,60}?)(?: costs?)?(?:,? please)?\W*",
    re.I,
)


def price_of_named(question: str, tables: Sequence[Table], pool: Sequence[Candidate], said: Sequence[str]) -> str:
    """The rows with prices that have exactly this name, or the prices in the column of this name; empty if there are
    none, or if a sentence states the price. `said` are the earlier answers."""
    found = _QUESTION.fullmatch(question)
    name = asked_stems(found["name"]) if found else set()
    if not name or any(states_amount(question, each.text) for each in pool if not each.statement.is_row):
        return ""
    return _prices_of_row(name, tables) or _prices_in_column(name, tables, said)


def _prices_of_row(name: Set[str], tables: Sequence[Table]) -> str:
    answers = [
        Answer(table, [row for row in table.rows if row.cell_stems[0] == name and _has_price(row)]) for table in tables
    ]
    rows = [row for answer in answers for row in answer.rows]
    columns = [column for answer in answers if answer.rows for column in answer.table.price_columns]
    text = write(answers)
    one = len(rows) == len(columns) == 1
    if one and (len(rows[0].cells) > MAX_WHOLE_CELLS or rows[0].is_narrowed):
        text = list_rows(rows, column=columns[0])
    told_before = all(row.candidate.said for row in rows)
    return f"{says('en', 'again')}{text}" if text and told_before else text


def _prices_in_column(name: Set[str], tables: Sequence[Table], said: Sequence[str]) -> str:
    """The prices in the column of this name, each after the name of its row: "Price per month: Pro £9."; empty unless
    just one table has them. The name may have words of the table's headings: "the pro plan"."""
    found = [(column, rows) for table in tables for column in table.columns if (rows := _priced(name, column, table))]
    if len(found) != 1:
        return ""
    ((column, rows),) = found
    text = " ".join(quote(row.candidate, column) for row in rows)
    return f"{says('en', 'again')}{text}" if all(_is_told(row, column, said) for row in rows) else text


def _priced(name: Set[str], column: str, table: Table) -> list[Row]:
    """The rows with a price in a column, if it has this name."""
    own = column_stems(column)
    if not own or not own <= name <= own | table.place_stems:
        return []
    return [row for row in table.rows if stems_of(row.name) & PRICE_WORDS and _is_money(row.cells.get(column, ""))]


def _is_told(row: Row, column: str, said: Sequence[str]) -> bool:
    """Whether an earlier answer told this cell, alone or with the whole row."""
    forms = row_in_words(row.candidate), row_in_words(row.candidate, column)
    return any(form in answer for form in forms for answer in said)


def _is_money(cell: str) -> bool:
    amount = amount_in(cell)
    return amount is not None and amount.is_money


def _has_price(row: Row) -> bool:
    return any(is_price(column, cell) for column, cell in row.cells.items())
