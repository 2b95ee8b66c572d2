"""The price of several things, where a sentence tells that of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.extractive.counted import total_of_several
from turnwise.extractive.statements import Candidate, Statement
from turnwise.text import without_citations
from turnwise.types import Evidence, Hit, Passage

EVIDENCE = Evidence(1, Hit(Passage(1, 1, "Prices", "prices.md", "A wash costs £4."), 1.0))

HARBOUR = """# Skell harbour office

## Services

A shower costs £2.50 and takes five minutes. Gas bottles are £31 each. A bag of ice is free for members.

## Ferry

A ferry crossing costs £6. A book of 10 crossings costs £48.
"""
BAKERY = """# Orr bakery

A loaf costs £3. There is a discount on large orders.
"""
SCARVES = "item,kind,price\nWool scarf,clothing,£22.00\nTin whistle,music,£6.50\n"


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("harbour")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={"harbour.md": HARBOUR.encode(), "bakery.md": BAKERY.encode(), "s.csv": SCARVES.encode()})
        yield engine


def answer(engine: Engine, question: str) -> str:
    return without_citations(engine.chat().ask(question).text)


@pytest.mark.parametrize(
    ("question", "total"),
    [
        ("how much for 3 showers", "3 × £2.50 is £7.50."),
        ("what do two gas bottles cost?", "2 × £31 is £62."),
        ("how much for 4 of the tin whistles", "4 × £6.50 is £26.00."),
    ],
)
def test_it_is_worked_out(harbour: Engine, question: str, total: str) -> None:
    assert answer(harbour, question).endswith(f"\n\n{total}")


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("how much for 10 crossings", "A book of 10 crossings costs £48."),  # as many have a price of their own
        ("how much is one shower", "A shower costs £2.50"),
        ("how much for 5 loaves", "A loaf costs £3."),  # the price depends on the number
    ],
)
def test_it_is_not_worked_out_where_the_price_may_be_another(harbour: Engine, question: str, told: str) -> None:
    text = answer(harbour, question)
    assert told in text
    assert "×" not in text


@pytest.mark.parametrize(
    ("question", "pool"),
    [
        ("How much are 3 washes?", ["A book of 10 washes costs £35."]),
        ("How much are 3 washes?", ["A book of ten washes costs £35."]),
        ("How much does level 5 training cost?", ["Level 1 training costs £50.", "Level 5 training costs £70."]),
        ("how much " * 2000, ["A wash costs £4."]),
    ],
)
def test_a_price_of_many_and_a_number_that_names_something_are_not_multiplied(question: str, pool: list[str]) -> None:
    found = [Candidate(Statement(text), EVIDENCE, 0, 0, 0.0, False, False) for text in pool]
    assert total_of_several(question, found, found) == ""
