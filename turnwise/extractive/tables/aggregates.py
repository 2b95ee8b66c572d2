"""The sum or average of a column: "what's the average price?", "and both together?", "what do they weigh in total?".

It is over the rows that a question names, or else those of the last answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import takewhile

from turnwise.english import NUMBER_WORD
from turnwise.extractive.kinds import PRICE_WORDS
from turnwise.extractive.statements import asked_stems
from turnwise.extractive.tables.amounts import Amount, amount_in_column, names_sum, price_in
from turnwise.extractive.tables.answers import list_rows, the_only
from turnwise.extractive.tables.comparatives import rows_by_answer
from turnwise.extractive.tables.model import Row, Table, comparable_amounts
from turnwise.extractive.tables.superlatives import WEIGHTS, column_to_compare
from turnwise.extractive.tables.totals import working, write_exactly
from turnwise.extractive.tables.vocabulary import column_stems
from turnwise.text import stem
from turnwise.types import Prompt

MAX_ROWS = 12  # of a longer list, neither the sum nor the average is worked out

_AVERAGE = re.compile(r"\b(?:average|the mean(?= \w))\b", re.I)
_PRICED = r"\b(?:how much|costs?|price|pay|weigh)\b"
_OF_ALL = r"(?:for|of|are|do|cost) (?:them )?(?:both|all)(?: of (?:them|these|those))?(?: cost)?"
_TOTAL = re.compile(
    rf"\b(?:total(?! number)|sum|altogether|(?:all|both|the (?:{NUMBER_WORD}|lot))(?: \w+)? together"
    r"|(?:that|this|they|them) together|combined"
    rf"|one of each|{_PRICED}.* (?:in all|{_OF_ALL})\W*$|^(?:and |so |but )?{_OF_ALL}\W*$)",
    re.I,
)
# "What is included in all rooms?", and "its average", which is of one row.
_OTHER = re.compile(r"\b(?:its?|includ\w*|contain\w*|offer\w*|available|served?|kinds?|types?|does .* mean)\b", re.I)
_ASKS = re.compile(
    r"(?:(?:and|so|but|ok|okay),? )*(?:what|how much|for|both|all|together|altogether|the|total)\b", re.I
)
_BOTH = re.compile(r"\bboth\b", re.I)
_WEIGHS = re.compile(r"\bweigh", re.I)
_FORM_STEMS = frozenset(
    map(stem, "average mean total sum altogether together combined one two three lot come work add weigh row".split())
)

_TOTAL_ROW = re.compile(r"(?:grand |overall )?(?:sub[- ]?)?(?:totals?|sum)|altogether|overall|average|mean", re.I)
_PER = re.compile(r"\b(?:per|each)\b|/", re.I)
# Columns whose numbers say which one, when, or how long; a "number of seats" is a quantity.
_NOT_QUANTITIES = re.compile(
    r"\b(?:(?:tele)?phone|tel|mobile|fax|ext(?:ension)?|ids?|\w*codes?|zip|no|nr|num|numbers?(?! of)|serial|sku|isbn"
    r"|ref|reference|account|room|floor|page|version|rank|position|years?|months?|weeks?|days?|nights?|hours?|hrs?|h"
    r"|minutes?|mins?|seconds?|time|duration|dates?|born|founded|built|opened|since|percent\w*|pct|share|rate)\b|%",
    re.I,
)
_NO_SUM = re.compile(r"\b(?:ratings?|scores?|ages?|temperature|speed|height)\b", re.I)
_NO_UNITS = frozenset({"time", "day", "day of the year", "am", "pm", "o'clock", "st", "nd", "rd", "th", "°c", "°f"})
_YEARS = range(1800, 2101)


@dataclass(frozen=True, slots=True)
class _Request:
    is_average: bool
    both: bool  # whether it is about two rows
    asked: Set[str]  # the stems that name a column or rows
    columns: Set[str]  # stems of columns that are meant if none is named


def sum_or_average(message: str, tables: Sequence[Table], prompt: Prompt) -> str:
    """The rows and the working; empty unless the message asks for a sum or average of one table."""
    average = _AVERAGE.search(message)
    if not _ASKS.match(message) or _OTHER.search(message) or not (average or _TOTAL.search(message)):
        return ""
    asked = asked_stems(message)
    if any(_is_named(column, asked) for table in tables for column in (table.first_column, *table.columns)):
        return ""  # "the sum insured"
    request = _Request(
        bool(average),
        bool(_BOTH.search(message)),
        asked - _FORM_STEMS,
        WEIGHTS if _WEIGHS.search(message) else PRICE_WORDS,
    )
    return the_only([answer for table in tables if (answer := _answer(request, table, prompt))])


def _is_named(column: str, asked: Set[str]) -> bool:
    """Whether a question names a column that has sums or averages."""
    return names_sum(column) and column_stems(column) - _FORM_STEMS <= asked


def _answer(request: _Request, table: Table, prompt: Prompt) -> str:
    if any(map(names_sum, (table.first_column, *table.columns))):
        return ""
    column = column_to_compare(table, request.asked, request.columns)
    if column is None:
        return ""
    subject = request.asked - column_stems(column) - PRICE_WORDS
    if subject:
        rows = [] if table.is_cut else table.select_subject(" ".join(subject))
    else:
        rows = _rows_meant(table, prompt, request.both)
        names_column = bool(request.asked & column_stems(column) - PRICE_WORDS)
        if not rows and names_column and not table.is_cut and not _told_one(table, prompt):
            rows = table.rows  # "what's the total quantity?"
    rows = [row for row in rows if not _is_total(row)]
    if not 1 < len(rows) <= MAX_ROWS:
        return ""
    amounts = [amount for row in rows if (amount := _amount(request, row, column))]
    units = {amount.unit for amount in amounts if amount.value}
    if len(amounts) < len(rows) or len(units) > 1 or not comparable_amounts(rows, column):
        return ""
    if not _may_be_added(request, rows, column, amounts):
        return ""
    worked_out = _average(amounts) if request.is_average else working([1] * len(amounts), amounts)
    return f"{list_rows(rows, column=column)}\n\n{worked_out}"


def _told_one(table: Table, prompt: Prompt) -> bool:
    told = rows_by_answer(table, prompt)
    return bool(told) and len(told[0]) == 1


def _is_total(row: Row) -> bool:
    """Whether a row is the sum of others."""
    return any(_TOTAL_ROW.fullmatch(cell.strip(" :.*_=")) for cell in (row.name, *row.cells.values()))


def _may_be_added(request: _Request, rows: Sequence[Row], column: str, amounts: Sequence[Amount]) -> bool:
    """Whether the amounts are money, or so many or so much of something."""
    name = column.replace("_", " ")
    if any(_TOTAL_ROW.match(row.name) or amount.is_ambiguous for row, amount in zip(rows, amounts, strict=True)):
        return False  # "Total for March" may be a sum
    if len({amount.per for amount in amounts}) > 1:
        return False
    if not request.is_average and (amounts[0].per or _PER.search(" ".join((name, *(row.name for row in rows))))):
        return False
    if any(amount.is_money for amount in amounts) or not column_stems(column).isdisjoint(PRICE_WORDS):
        return not any("%" in amount.after for amount in amounts)
    if _NOT_QUANTITIES.search(name) or (_NO_SUM.search(name) and not request.is_average):
        return False
    if any(_is_no_quantity(amount) for amount in amounts):
        return False
    return not all(not amount.unit and amount.value in _YEARS for amount in amounts)


def _is_no_quantity(amount: Amount) -> bool:
    has_other_unit = amount.unit.lower() in _NO_UNITS or _NOT_QUANTITIES.search(f"{amount.unit} {amount.after}")
    return bool(has_other_unit) or bool(re.match(r"0\d", amount.number))


def _rows_meant(table: Table, prompt: Prompt, both: bool) -> list[Row]:
    """The rows of the last answer if it told several; else those of the last answers that told one each. A single one
    is meant alone."""
    told = rows_by_answer(table, prompt)
    if not told or not told[0]:
        return []
    if len(told[0]) > 1:
        return told[0] if len(told[0]) == 2 or not both else []
    singles = list(dict.fromkeys(rows[0] for rows in takewhile(lambda rows: len(rows) == 1, told)))
    return list(reversed(singles[:2] if both else singles)) if len(singles) > 1 else []


def _amount(request: _Request, row: Row, column: str) -> Amount | None:
    """The amount of a row; a price for so much of something has an average, but no sum."""
    cell = row.cells.get(column, "")
    is_price = not column_stems(column).isdisjoint(PRICE_WORDS)
    return price_in(column, cell) if is_price and not request.is_average else amount_in_column(column, cell)


def _average(amounts: Sequence[Amount]) -> str:
    """A sum divided by its number of terms: "(£2 + £3) / 2 is £2.50."."""
    exact = sum((amount.value for amount in amounts), Decimal(0)) / len(amounts)
    highest = max(amounts, key=lambda amount: amount.value)
    decimals = max(amount.decimals for amount in amounts)
    places = 2 if highest.is_money else max(2, decimals)
    result = exact
    if exact != round(exact, places if highest.is_money else decimals + 3):
        result = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    about = "" if result == exact else "about "
    terms = " + ".join(amount.write(amount.number) for amount in amounts)
    return f"({terms}) / {len(amounts)} is {about}{highest.write(write_exactly(result, amounts))}."
