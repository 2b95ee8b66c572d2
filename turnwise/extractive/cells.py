"""Rows of tables in words: "Rye loaf: price €4.20, weight 750 g, vegan: yes."."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.extractive.statements import Candidate

# By the last word of a column's name, in lower case.
_CURRENCY_SIGNS = {"usd": "$", "$": "$", "eur": "€", "€": "€", "gbp": "£", "£": "£"}
_OTHER_CURRENCIES = frozenset("chf sek nok dkk pln cad aud".split())
_UNITS = frozenset("mg g kg t ml cl l mm cm m km mi min mins h hr hrs w kw kwh %".split())
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[$€£%]")
_CODE = re.compile(r"\d.*|(?=.*\d)[^a-z ]+")  # it says little without the name of its column: 1002, R-15
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def column_label(column: str) -> str:
    """The name of a column in words, without the unit of its numbers: "price" for "price_eur" and "price (EUR)"."""
    name, unit = name_and_unit(column)
    return name if unit else column.replace("_", " ").strip()


def row_in_words(candidate: Candidate, column: str = "") -> str:
    """A row as a sentence, with all its cells or just the one in this column. A row of a Markdown table reads well as
    it is quoted, one of a CSV file does not."""
    cells = candidate.statement.cells
    is_file = candidate.evidence.passage.source.lower().endswith((".csv", ".tsv"))
    if not column and (not is_file or len(cells) < 2 or not candidate.statement.row):
        return candidate.text
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
    if sign := _CURRENCY_SIGNS.get(unit.lower()):
        return f"{name} {sign}{cell}"
    return f"{name} {cell} {unit.upper() if unit.lower() in _OTHER_CURRENCIES else unit}"


def name_and_unit(column: str) -> tuple[str, str]:
    """The name of a column and the unit at its end: "price" and "eur". In "price per kg" no unit of a number ends."""
    *name, last = _WORD.findall(column) or [""]
    if name and name[-1].lower() == "in":
        name.pop()
    is_unit = last.lower() in {*_CURRENCY_SIGNS, *_OTHER_CURRENCIES, *_UNITS}
    return (" ".join(name), last) if name and is_unit and name[-1].lower() != "per" else (column, "")
