"""Rows in words."""

from __future__ import annotations

import pytest

from turnwise.extractive.cells import column_label, row_in_words
from turnwise.extractive.choosing import candidates
from turnwise.types import Evidence, Hit, Passage, Prompt


def written(line: str, source: str = "stock.csv", column: str = "") -> str:
    passage = Passage(1, 1, "stock", source, f"{line}\n{line}x")
    first, *_ = candidates(Prompt((), "", ("",), (Evidence(1, Hit(passage, 1.0)),), ()))
    return row_in_words(first, column)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("item: Rye loaf; price_eur: 4.20; days: daily", "Rye loaf: price €4.20, days daily."),
        ("item: Rope; Price (GBP): 4; length_m: 12.5", "Rope: Price £4, length 12.5 m."),
        ("item: Rope; price_chf: 4; price_per_kg: 3", "Rope: price 4 CHF, price per kg 3."),
        ("item: Rope; price_eur: on request", "Rope: price on request."),
        ("item: Bun; vegan: no; allergens: egg, milk", "Bun: vegan: no; allergens egg, milk."),
        ("time: 8:15; line: 4; stop: Quay", "Time 8:15: line 4, stop Quay."),
        ("code: R-15; repair: New screen", "Code R-15: repair New screen."),
        ("item: Pie; note: ask the staff.", "Pie: note ask the staff."),
    ],
)
def test_a_row_of_a_file_reads_as_a_sentence(line: str, words: str) -> None:
    assert written(line) == words


def test_a_line_of_fields_in_a_text_is_quoted_as_it_stands() -> None:
    line = "item: Rye loaf; price_eur: 4.20; days: daily"
    assert written(line, "notes.txt") == line


def test_a_single_cell_is_told_with_the_name_of_the_row() -> None:
    assert written("item: Bun; price_eur: 2; vegan: no", column="vegan") == "Bun: vegan no."
    assert written("item: Bun; price_eur: 2; vegan: no", column="price_eur") == "Bun: price €2."


@pytest.mark.parametrize(
    ("column", "label"),
    [("price_eur", "price"), ("Price (EUR)", "Price"), ("price in usd", "price"), ("price_per_kg", "price per kg")],
)
def test_the_label_of_a_column_has_no_unit(column: str, label: str) -> None:
    assert column_label(column) == label
