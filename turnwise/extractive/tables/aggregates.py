"""The sum or average of a column: "what's the average price?", "and both together?", "what do they weigh in total?".

It is over the rows that a question names, or else those of the last answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from itertools import takewhile

from turnwise.extractive.kinds import PRICE_WORDS
from turnwise.extractive.statements import asked_stems
from turnwise.extractive.tables.amounts import Amount, amount_in_column, price_in
from turnwise.extractive.tables.answers import list_rows
from turnwise.extractive.tables.comparatives import rows_by_answer
from turnwise.extractive.tables.model import Row, Table, comparable_amounts
from turnwise.extractive.tables.superlatives import WEIGHTS, column_to_compare
from turnwise.extractive.tables.totals import working
from turnwise.extractive.tables.vocabulary import NUMBER_WORD, column_stems
from turnwise.text import stem
from turnwise.types import Prompt

MAX_ROWS = 12  # of a longer list, neither the sum nor the average is worked out

_AVERAGE = re.compile(r"\b(?:average|mean(?= (?:price|cost|fee|weight|\w+\W*$)))\b", re.I)
_TOTAL = re.compile(
    rf"\b(?:total(?! number)|sum|altogether|(?:all|both|the (?:{NUMBER_WORD}|lot))(?: \w+)? together"
    r"|(?:that|this|it|they|them) together|combined"
    r"|in all|one of each|(?:for|of|are|do|cost) (?:them )?(?:both|all)(?: of (?:them|these|those))?(?: cost)?\W*$)",
    re.I,
)
_ASKS = re.compile(
    r"(?:(?:and|so|but|ok|okay),? )*(?:what|how much|for|both|all|together|altogether|the|total)\b", re.I
)
_BOTH = re.compile(r"\bboth\b", re.I)
_WEIGHS = re.compile(r"\bweigh", re.I)
_FORM_STEMS = frozenset(
    map(stem, "average mean total sum altogether together combined one two three lot come work add weigh row".split())
)


@dataclass(frozen=True, slots=True)
class _Request:
    is_average: bool
    both: bool  # whether it is about two rows
    asked: set[str]  # the stems that name a column or rows
    columns: Set[str]  # stems of columns that are meant if none is named


def sum_or_average(message: str, tables: Sequence[Table], prompt: Prompt) -> str:
    """The rows and the working; empty unless the message asks for a sum or average of one table."""
    average = _AVERAGE.search(message)
    if not _ASKS.match(message) or not (average or _TOTAL.search(message)):
        return ""
    request = _Request(
        bool(average),
        bool(_BOTH.search(message)),
        asked_stems(message) - _FORM_STEMS,
        WEIGHTS if _WEIGHS.search(message) else PRICE_WORDS,
    )
    answers = [answer for table in tables if (answer := _answer(request, table, prompt))]
    return answers[0] if len(answers) == 1 else ""


def _answer(request: _Request, table: Table, prompt: Prompt) -> str:
    column = column_to_compare(table, request.asked, request.columns)
    if column is None:
        return ""
    subject = request.asked - column_stems(column) - PRICE_WORDS
    if subject:
        rows = [] if table.is_cut else table.select_subject(" ".join(subject))
    else:
        rows = _rows_meant(table, prompt, request.both)
        names_column = bool(request.asked & column_stems(column) - PRICE_WORDS)
        if not rows and names_column and not table.is_cut:
            rows = table.rows  # "what's the total quantity?"
    if not 1 < len(rows) <= MAX_ROWS:
        return ""
    amounts = [amount for row in rows if (amount := _amount(request, row, column))]
    if len(amounts) < len(rows) or not comparable_amounts(rows, column):
        return ""
    worked_out = _average(amounts) if request.is_average else working([1] * len(amounts), amounts)
    return f"{list_rows(rows, column=column)}\n\n{worked_out}"


def _rows_meant(table: Table, prompt: Prompt, both: bool) -> list[Row]:
    """The rows of the last answer if it told several; else those of the last answers that told one each; else those of
    the last one that told several."""
    told = rows_by_answer(table, prompt)
    if not told or not told[0]:
        return []
    if len(told[0]) > 1:
        return told[0] if len(told[0]) == 2 or not both else []
    singles = list(dict.fromkeys(rows[0] for rows in takewhile(lambda rows: len(rows) == 1, told)))
    if len(singles) > 1:
        return list(reversed(singles[:2] if both else singles))
    if both:
        return []
    return next((rows for rows in told if len(rows) > 1), [])


def _amount(request: _Request, row: Row, column: str) -> Amount | None:
    """The amount of a row; a price for so much of something has an average, but no sum."""
    cell = row.cells.get(column, "")
    is_price = not column_stems(column).isdisjoint(PRICE_WORDS)
    return price_in(column, cell) if is_price and not request.is_average else amount_in_column(column, cell)


def _average(amounts: Sequence[Amount]) -> str:
    """A sum divided by its number of terms: "(£2 + £3) / 2 is £2.50."."""
    exact = sum((amount.value for amount in amounts), Decimal(0)) / len(amounts)
    highest = max(amounts, key=lambda amount: amount.value)
    places = Decimal("0.01") if highest.is_money or exact % 1 else Decimal(1)
    result = exact.quantize(places)
    about = "" if result == exact else "about "
    terms = " + ".join(amount.write(amount.number) for amount in amounts)
    return f"({terms}) / {len(amounts)} is {about}{highest.write(f'{result:,}')}."
