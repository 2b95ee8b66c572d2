"""Sums and averages of a column: which are worked out, how they are written, and which are left alone."""

from __future__ import annotations

import pytest

from turnwise.extractive.choosing import candidates
from turnwise.extractive.tables import answer_from_tables
from turnwise.extractive.tables.aggregates import sum_or_average
from turnwise.extractive.tables.model import tables_in
from turnwise.text import without_citations
from turnwise.types import Evidence, Hit, Passage, Prompt


def told(question: str, *rows: str, said: tuple[str, ...] = ()) -> str:
    """The working for a table of these rows, each of which is like "item: Rope; price: £4"."""
    passage = Passage(1, 1, "list", "list.csv", "\n".join(rows))
    prompt = Prompt((), question, (question,), (Evidence(1, Hit(passage, 1.0)),), said)
    answer = sum_or_average(question, tables_in(candidates(prompt)), prompt)
    return answer.rpartition("\n\n")[2]


def table(column: str, *cells: str) -> list[str]:
    names = ("Rope", "Nail", "Hook", "Bolt")
    return [f"item: {name}; {column}: {cell}" for name, cell in zip(names, cells, strict=False)]


def as_told(rows: list[str]) -> str:
    """An answer with these rows of an item and one amount."""
    cells = [row.removeprefix("item: ").split("; ") for row in rows]
    return "\n".join(f"- {name}: {amount.replace(': ', ' ')}." for name, amount, *_ in cells)


@pytest.mark.parametrize(
    ("question", "column", "cells", "working"),
    [
        ("what's the total stock?", "stock", ("4", "5", "6"), "4 + 5 + 6 is 15."),
        ("what's the average price of the items?", "price", ("£2", "£3"), "(£2 + £3) / 2 is £2.50."),
        ("what's the mean price of the items?", "price", ("£2", "£3"), "(£2 + £3) / 2 is £2.50."),
        ("how much do the items cost in all?", "price", ("£2", "£3.50"), "£2 + £3.50 is £5.50."),
        (
            "what's the total weight?",
            "weight",
            ("0.125 kg", "0.25 kg", "0.0625 kg"),
            "0.125 kg + 0.25 kg + 0.0625 kg is 0.4375 kg.",
        ),
        ("what's the total weight?", "weight", ("1.50 kg", "2.50 kg"), "1.50 kg + 2.50 kg is 4 kg."),
        ("what's the total price of the items?", "price", ("£1.50", "£2.50"), "£1.50 + £2.50 is £4.00."),
        ("what's the total price of the items?", "price", ("1.50", "2.50"), "1.50 + 2.50 is 4.00."),
        ("what's the total weight?", "weight", ("600 g", "1000 g"), "600 g + 1000 g is 1,600 g."),
    ],
)
def test_a_sum_is_written_exactly(question: str, column: str, cells: tuple[str, ...], working: str) -> None:
    assert told(question, *table(column, *cells)) == working


@pytest.mark.parametrize("kind", ["total", "average"])
@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("duration", ("2 hours", "3 hours", "30 min")),
        ("stay", ("2 hours", "3 hours")),
        ("drying_min", ("20", "30")),
        ("date", ("2025-03-12", "2025-03-14")),
        ("start", ("12 March 2025", "14 March 2025")),
        ("start", ("5 pm", "6 pm")),
        ("phone", ("4411", "4400")),
        ("staff_id", ("11", "12")),
        ("postcode", ("1010", "1020")),
        ("serial_number", ("11", "12")),
        ("year", ("1", "2")),
        ("built", ("1990", "2004")),
        ("room", ("12", "14")),
        ("label", ("0012", "0014")),
        ("sugar", ("10%", "20%")),
        ("sugar_%", ("10", "20")),
        ("stock", ("12,500", "9.500")),
        ("price", ("£12,500", "£9.500")),
        ("price", ("£3 per kg", "£2 each")),
        ("stock", ("1" * 30, "2" * 30)),
        ("price", ("£" + "1" * 30, "£" + "2" * 30)),
    ],
)
def test_what_cannot_be_added_is_left_alone(kind: str, column: str, cells: tuple[str, ...]) -> None:
    name = column.replace("_", " ")
    assert told(f"what's the {kind} {name}?", *table(column, *cells)) == ""
    assert told(f"what's the {kind} {name} of the items?", *table(column, *cells)) == ""


@pytest.mark.parametrize("cells", [("£3 per kg", "£2 per kg"), ("£3 each", "£2 each"), ("£3/kg", "£2/kg")])
def test_rates_have_an_average_but_no_sum(cells: tuple[str, ...]) -> None:
    assert told("what's the total price of the items?", *table("price", *cells)) == ""
    assert told("what's the average price of the items?", *table("price", *cells)) == "(£3 + £2) / 2 is £2.50."


@pytest.mark.parametrize(
    ("question", "column"),
    [
        ("what is the average rating?", "average_rating"),
        ("what is the sum insured?", "sum_insured"),
        ("what's the total?", "total"),
        ("what's the total of the items?", "total"),
        ("what's the mean price of the items?", "mean price"),
    ],
)
def test_a_column_of_sums_is_not_summed(question: str, column: str) -> None:
    rows = [f"{row}; price: £5" for row in table(column, "£4", "£5")]
    assert told(question, *rows, said=(as_told(rows),)) == ""


@pytest.mark.parametrize(
    "question",
    [
        "what is included in all items?",
        "what is included for all?",
        "what does that mean here?",
        "what does that mean price?",
        "what is in all items?",
        "what is its average price?",
        "how much is it in total?",
    ],
)
def test_other_questions_are_no_sums(question: str) -> None:
    rows = table("price", "£4", "£5")
    assert told(question, *rows, said=(as_told(rows),)) == ""


def test_a_single_row_told_is_meant_alone() -> None:
    rows = table("price", "£4", "£5", "£6")
    everything = as_told(rows)
    assert told("how much is that in total?", *rows, said=(everything,)) == "£4 + £5 + £6 is £15."
    assert told("how much is that in total?", *rows, said=(everything, as_told(rows[:1]))) == ""
    stock = table("stock", "4", "5")
    assert told("what's the total stock?", *stock, said=(as_told(stock[:1]),)) == ""


@pytest.mark.parametrize("name", ["Total", "TOTAL:", "Sum", "Subtotal", "Sub-total", "Altogether", "Grand total"])
def test_a_row_with_the_total_is_left_out(name: str) -> None:
    rows = [*table("stock", "4", "6"), f"item: {name}; stock: 10"]
    assert told("what's the total stock?", *rows) == "4 + 6 is 10."
    assert told("what's the average stock?", *rows) == "(4 + 6) / 2 is 5."


def test_a_row_that_may_be_a_total_is_not_guessed() -> None:
    assert told("what's the total stock?", *table("stock", "4", "6"), "item: Total for March; stock: 10") == ""


@pytest.mark.parametrize(
    ("cells", "working"),
    [
        (("1", "2", "3", "3"), "(1 + 2 + 3 + 3) / 4 is 2.25."),
        (("1", "1", "2"), "(1 + 1 + 2) / 3 is about 1.33."),
        (("0.125", "0.25", "0.0625"), "(0.125 + 0.25 + 0.0625) / 3 is about 0.1458."),
    ],
)
def test_an_average_is_exact_or_about(cells: tuple[str, ...], working: str) -> None:
    assert told("what's the average stock?", *table("stock", *cells)) == working


HIRE = """Gear | Age 3-6 | Age 7-12 | Age 13+
Skis | £9.50 | £12 | £15
Helmet | £3 | £3.50 | £4
Sledge | £6 | £6 | £8"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("how much are skis for a 9 year old?", "Skis: Age 7-12 £12."),
        ("how much is a helmet for my daughter, age 14", "Helmet: Age 13+ £4."),
        ("how much for 2 helmets and a sledge for a 5-year-old?", "2 × £3 + £6 is £12."),
        ("how much for 2 helmets and a sledge?", ""),
    ],
)
def test_a_price_by_age_is_that_in_the_column_for_the_age(question: str, expected: str) -> None:
    passage = Passage(1, 1, "hire", "hire.md", HIRE)
    prompt = Prompt((), question, (question,), (Evidence(1, Hit(passage, 1.0)),), ())
    answer = answer_from_tables(question, candidates(prompt), prompt)
    assert without_citations(answer).endswith(expected) if expected else " is £" not in answer


TICKETS = """Ticket | Price
Adult | £9
Child (4-15) | £5
Child under 4 | free
Group 8+ | £40"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("how much is a ticket for my 10 year old?", "Child (4-15): Price £5."),
        ("what does it cost for a child aged 3", "Child under 4: Price free."),
        ("what do boots cost for a 10 year old", ""),
        ("how much for my 40 year old?", ""),
        ("how much are tickets for 2 adults and a 10 year old?", ""),
    ],
)
def test_a_price_by_age_is_that_in_the_row_for_the_age(question: str, expected: str) -> None:
    passage = Passage(1, 1, "Tickets", "tickets.md", TICKETS)
    prompt = Prompt((), question, (question,), (Evidence(1, Hit(passage, 1.0)),), ())
    assert without_citations(answer_from_tables(question, candidates(prompt), prompt)) == expected
