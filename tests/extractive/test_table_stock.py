"""What is in stock, by a table that counts it."""

from __future__ import annotations

import pytest

from turnwise.extractive.choosing import candidates
from turnwise.extractive.tables import answer_from_tables
from turnwise.extractive.writing import mark_said_rows
from turnwise.text import without_citations
from turnwise.types import Evidence, Hit, Passage, Prompt

GARDEN = Passage(
    1,
    1,
    "garden",
    "garden.csv",
    "plant: Red maple; kind: tree; price_eur: 89; in_stock: 4; back_on: \n"
    "plant: Silver birch; kind: tree; price_eur: 64; in_stock: 0; back_on: 3 March\n"
    "plant: Dog rose; kind: shrub; price_eur: 12; in_stock: 0; back_on: 10 April\n"
    "plant: Yew; kind: shrub; price_eur: 19; in_stock: 31; back_on: ",
)
PAINT = Passage(
    2,
    2,
    "Paint",
    "paint.md",
    "Colour | Price | Availability\nChalk white | £18 | in stock\nMoss | £21 | sold out\nRust | £21 | low",
    "Wall paint",
)
HOTEL = Passage(3, 3, "Hotel", "hotel.md", "Room | Price\nSingle | £60\nDouble | £90", "Rooms")


def answer(question: str, passage: Passage, said: str = "") -> str:
    prompt = Prompt((), question, (question,), (Evidence(1, Hit(passage, 1.0)),), (said,) if said else ())
    pool = candidates(prompt)
    mark_said_rows(pool, prompt.said)
    return without_citations(answer_from_tables(question, pool, prompt))


def names(text: str) -> list[str]:
    lines = (line.removeprefix("- ") for line in text.splitlines())
    return [line.partition(": ")[0] for line in lines if line and not line.endswith(":")]


@pytest.mark.parametrize(
    ("question", "passage", "found"),
    [
        ("is anything out of stock?", GARDEN, ["Silver birch", "Dog rose"]),
        ("what's sold out", PAINT, ["Moss"]),
        ("which trees are in stock", GARDEN, ["Red maple"]),
        ("which shrubs are not available?", GARDEN, ["Dog rose"]),
        ("ok, what colours do you have in stock right now", PAINT, ["Chalk white", "Rust"]),
        ("are there any trees left?", GARDEN, ["Red maple", "Silver birch"]),
        ("is the yew in stock", GARDEN, ["Yew"]),
        ("do you still have moss available?", PAINT, ["Moss"]),
        ("how many yews do you have", GARDEN, ["Yew"]),
    ],
)
def test_the_rows_that_are_asked_for_are_told(question: str, passage: Passage, found: list[str]) -> None:
    assert names(answer(question, passage)) == found


def test_the_count_of_those_just_told() -> None:
    said = "Red maple: kind tree, price €89, in stock 4. [1]"
    assert answer("how many of those are left", GARDEN, said) == "Red maple: in stock 4."
    for question in ("do you have it?", "how many?", "how many are left", "is that one available?"):
        assert answer(question, GARDEN, said) == "Red maple: in stock 4."


def test_a_number_names_no_row_by_its_amount() -> None:
    assert answer("is the 4 in stock", GARDEN) == ""


def test_that_nothing_is_out_of_stock_is_said() -> None:
    text = "item: Rope; stock: 4\nitem: Hook; stock: 7"
    assert answer("is anything out of stock", Passage(1, 1, "shed", "shed.csv", text)).startswith(
        "None of these 2 is out of stock:\n\n- Rope: stock 4."
    )


def test_when_it_is_back() -> None:
    assert answer("when is the dog rose back in stock?", GARDEN) == "Dog rose: back on 10 April."


@pytest.mark.parametrize("question", ["is breakfast available?", "is anything out of stock?", "what's available?"])
def test_a_table_that_counts_nothing_does_not_answer(question: str) -> None:
    assert answer(question, HOTEL) == ""
