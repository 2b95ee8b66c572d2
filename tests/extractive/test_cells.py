"""Rows in words."""

from __future__ import annotations

import pytest

from turnwise.extractive.cells import column_label, row_in_words
from turnwise.extractive.choosing import candidates
from turnwise.extractive.writing import is_told, mark_said_rows
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
        ("part_no: R-15; product: Screen; price_eur: 90", "Screen: price €90, part no R-15."),
        ("id: 12; full_name: Ann Orr; room: 4", "Ann Orr: room 4, id 12."),
        ("shirt: Polo; stock_s: 3; stock_m: 5; stock_l: 7", "Polo: stock s 3, stock m 5, stock l 7."),
        ("item: Cart; price/kg: 9.50; max speed (km/h): 50", "Cart: price/kg 9.50, max speed (km/h) 50."),
        ("item: Jar; volume_l: 2; capacity (l): 3", "Jar: volume 2 l, capacity 3 l."),
        ("item: Pie; note: ask the staff.", "Pie: note ask the staff."),
        ("item: Rope; price_euro: 4; deposit_yen: 9", "Rope: price €4, deposit ¥9."),
        ("item: Parcel; weight_pounds: 4", "Parcel: weight pounds 4."),
        ("item: Ride; price_min: 5; price_max: 9", "Ride: price min 5, price max 9."),
        ("item: Ride; qty_min: 2; Age (min): 5", "Ride: qty min 2, Age (min) 5."),
        ("item: Room; charge_min: 40; charging_min: 30", "Room: charge min 40, charging 30 min."),
        ("item: Ride; rating_min: 2; delay_mins: 5", "Ride: rating min 2, delay 5 mins."),
        ("item: Ride; duration_min: 5; Waiting time (min): 9", "Ride: duration 5 min, Waiting time 9 min."),
        ("item: Ride; length_min: 5; drying_min: 9", "Ride: length 5 min, drying 9 min."),
        ("item: Ride; minutes: 5; size_m: 3", "Ride: minutes 5, size 3 m."),
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


def test_a_row_is_told_whole_where_the_cell_is_empty() -> None:
    assert written("item: Bun; price_eur: 2", column="vegan") == "Bun: price €2."


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("Iced Latte: price £3.00, size L. [1]", ["Iced Latte"]),
        ("Iced Latte: price £3.00. [1]", ["Iced Latte"]),
        ("Both:\n\n- Iced Latte: size L. [1]\n- Latte: size L. [1]", ["Latte", "Iced Latte"]),
        ("As I said: Latte: price £3.00. [1]", ["Latte"]),
        ("They differ. Latte: price £3.00, size L. [1]", ["Latte"]),
        ("Tea: price £2 [1] Latte: price £3.00. [1]", ["Latte"]),
        ("Latte: price £3.00.50 [1]", []),
    ],
)
def test_a_row_is_told_only_under_its_whole_name(answer: str, told: list[str]) -> None:
    rows = "name: Latte; price_gbp: 3.00; size: L\nname: Iced Latte; price_gbp: 3.00; size: L"
    passage = Passage(1, 1, "drinks", "drinks.csv", rows)
    pool = candidates(Prompt((), "", ("",), (Evidence(1, Hit(passage, 1.0)),), ()))
    assert [each.statement.cells[0][1] for each in pool if is_told(each, [answer])] == told
    mark_said_rows(pool, [answer])
    assert [each.statement.cells[0][1] for each in pool if each.just_said and each.said] == told


@pytest.mark.parametrize(
    ("column", "label"),
    [("price_eur", "price"), ("Price (EUR)", "Price"), ("price in usd", "price"), ("price_per_kg", "price per kg")],
)
def test_the_label_of_a_column_has_no_unit(column: str, label: str) -> None:
    assert column_label(column) == label
