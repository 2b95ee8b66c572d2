"""The price of a row that is asked for by its own name: "how much is climbing?" does not mean the hire of shoes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.dialogue.citing import AGAIN
from turnwise.extractive.kinds import states_amount
from turnwise.extractive.statements import Candidate, asked_stems
from turnwise.extractive.tables.amounts import is_price
from turnwise.extractive.tables.answers import Answer, write
from turnwise.extractive.tables.model import Row, Table

_QUESTION = re.compile(
    r"(?:(?:and|so|but|ok|okay|hi|hello),? )*(?:how much(?:['’]s| is| are| does| do| for)|what (?:does|do)"
    r"|(?:what(?:['’]s| is| are) )?the (?:price|cost|fee|charge)s? (?:of|for)|price of) (?:the |an? |your )?"
    r"(?P<name>[^,;?]{1,60}?)(?: costs?)?(?:,? please)?\W*",
    re.I,
)


def price_of_named_row(question: str, tables: Sequence[Table], pool: Sequence[Candidate]) -> str:
    """The rows with prices that have exactly this name; empty if there are none, or if a sentence states the price."""
    found = _QUESTION.fullmatch(question)
    name = asked_stems(found["name"]) if found else set()
    if not name or any(states_amount(question, each.text) for each in pool if not each.statement.is_row):
        return ""
    answers = [
        Answer(table, [row for row in table.rows if row.cell_stems[0] == name and _has_price(row)]) for table in tables
    ]
    text = write(answers)
    told_before = all(row.candidate.said for answer in answers for row in answer.rows)
    return f"{AGAIN}{text}" if text and told_before else text


def _has_price(row: Row) -> bool:
    return any(is_price(column, cell) for column, cell in row.cells.items())
