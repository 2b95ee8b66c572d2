"""Rows of tables in words: "Rye loaf: price €4.20, weight 750 g, vegan: yes."."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.extractive.statements import Candidate, Statement
from turnwise.sums.grammar import CURRENCIES

# By the last word of a column's name, in lower case. "pound" is not among them: it may be a weight.
CURRENCY_SIGNS = {word: sign for word, sign in CURRENCIES.items() if not sign.isalpha()}
_OTHER_CURRENCIES = frozenset("chf sek nok dkk pln cad aud".split())
_UNITS = frozenset("mg g kg t ml cl l mm cm m km mi min mins h hr hrs w kw kwh %".split())
# A single letter is a unit only in brackets or after one of these: "stock_m" may be the stock of a size.
_MEASURES = frozenset("weight length height distance volume width depth duration time size".split())
# After one of these "min" is minutes: "price_min" is a minimum.
_DURATIONS = frozenset(
    """duration time length wait delay travel journey ride walk drive flight runtime preparation prep waiting travelling
    traveling riding walking driving cooking baking roasting boiling simmering steeping brewing soaking proving resting
    drying curing charging cleaning parking running training""".split()
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[$€£¥%]")
_CODE = re.compile(r"\d.*|(?=.*\d)[^a-z ]+")  # it says little without the name of its column: 1002, R-15
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def column_label(column: str) -> str:
    """The name of a column in words, without the unit of its numbers: "price" for "price_eur" and "price (EUR)"."""
    name, unit = name_and_unit(column)
    return name if unit else column.replace("_", " ").strip()


def is_table_file(source: str) -> bool:
    """Whether a document is a table as a whole, by the name of its file."""
    return source.lower().endswith((".csv", ".tsv"))


def row_in_words(candidate: Candidate, column: str = "") -> str:
    """A row as a sentence, with all its cells or just the one in this column. A row of a Markdown table reads well as
    it is quoted, one of a CSV file does not."""
    return statement_in_words(candidate.statement, column, is_table_file(candidate.evidence.passage.source))


def statement_in_words(statement: Statement, column: str, is_file: bool) -> str:
    """The same, for what a table file or another document states."""
    cells = statement.cells
    column = column if dict(cells[1:]).get(column) else ""  # an empty cell says nothing: then the whole row is told
    if not column and (not is_file or len(cells) < 2 or not statement.row):
        return statement.text
    (head, first), *others = cells
    label = column_label(head)
    name = f"{label[:1].upper()}{label[1:]} {first}" if head and _CODE.fullmatch(first) else first
    if column:
        return f"{name}: {_cell_in_words(column, dict(others)[column])}".rstrip(".") + "."
    return f"{name}: {_join(others)}".rstrip(".") + "."


def _join(cells: Sequence[tuple[str, str]]) -> str:
    """The cells one after another; "vegan: no" has a colon, so that it does not run into the next."""
    parts = [
        f"{column_label(column)}: {cell}" if cell.lower() in ("yes", "no") else _cell_in_words(column, cell)
        for column, cell in cells
        if cell
    ]
    return ("; " if any(", " in cell for _, cell in cells) else ", ").join(parts)


def _cell_in_words(column: str, cell: str) -> str:
    """A cell after the name of its column; a number has the unit that the name ends in."""
    name, unit = name_and_unit(column)
    if not unit or not _NUMBER.fullmatch(cell):
        return f"{column_label(column)} {cell}".strip()
    if sign := CURRENCY_SIGNS.get(unit.lower()):
        return f"{name} {sign}{cell}"
    return f"{name} {cell} {unit.upper() if unit.lower() in _OTHER_CURRENCIES else unit}"


def name_and_unit(column: str) -> tuple[str, str]:
    """The name of a column and the unit at its end: "price" and "eur". "Price per kg", "speed (km/h)" and "price_min"
    have none."""
    *name, last = _WORD.findall(column) or [""]
    if name and name[-1].lower() == "in":
        name.pop()
    is_unit = last.lower() in {*CURRENCY_SIGNS, *_OTHER_CURRENCIES, *_UNITS}
    if not name or not is_unit or name[-1].lower() == "per" or column[: column.rindex(last)].rstrip().endswith("/"):
        return column, ""
    if last.lower() == "min" and name[-1].lower() not in _DURATIONS:
        return column, ""
    is_sure = not last.isalpha() or len(last) > 1 or name[-1].lower() in _MEASURES
    return (" ".join(name), last) if is_sure or f"({last})" in column or f"[{last}]" in column else (column, "")
