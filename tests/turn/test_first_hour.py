"""What people try in their first hour with documents of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import turnwise
from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.text import without_citations

HANDBOOK = """GOLDEN CRUST BAKERY
EMPLOYEE HANDBOOK
Revised January 2025

1. WORKING HOURS
The early shift runs from 3:30 am to 11:30 am. The late shift runs from 10:00 am to 6:00 pm.

2. BREAKS
Every employee who works more than six hours is entitled to one unpaid meal break of 30 minutes.
"""
PLATES = """# Plate Tectonics – Lecture Notes 2025

## Plate boundaries

At divergent boundaries plates move apart and new crust is formed. At convergent boundaries plates collide. The East
Pacific Rise spreads by up to 15 centimetres a year.
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("first")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={"handbook.txt": HANDBOOK.encode(), "plates.md": PLATES.encode()})
        yield engine


def test_the_lines_at_the_top_of_a_plain_text_are_its_title(engine: Engine) -> None:
    assert "GOLDEN CRUST BAKERY – EMPLOYEE HANDBOOK" in [each.title for each in engine.index.documents()]
    told = engine.chat().ask("When does the early shift start at the bakery?").text
    assert without_citations(told).startswith("The early shift runs from 3:30 am")


def test_a_difference_that_no_sentence_tells_is_told_side_by_side(engine: Engine) -> None:
    told = engine.chat().ask("What's the difference between divergent and convergent boundaries?").text
    assert "**Divergent boundaries**: At divergent boundaries plates move apart" in told
    assert "**Convergent boundaries**: At convergent boundaries plates collide." in told


@pytest.mark.parametrize("sum_", ["how much is that for 3 hours?", "what is 15 % of that?"])
def test_no_sum_is_made_of_the_numbers_in_an_i_dont_know(engine: Engine, sum_: str) -> None:
    chat = engine.chat()
    assert chat.ask("Is there a lecture on saunas in 2025?").text.startswith("I don’t know")
    assert "2,025" not in chat.ask(sum_).text


@pytest.mark.parametrize("message", [None, 5, ["What is BERT?"]])
def test_a_message_that_is_no_text_is_told_so(engine: Engine, message: Any) -> None:
    with pytest.raises(turnwise.InputError, match="A message is a string"):
        engine.chat().ask(message)


def test_a_filter_may_be_given_a_list_or_one_name() -> None:
    assert turnwise.Filter(tags=["draft"]) == turnwise.Filter(tags=("draft",))  # type: ignore[arg-type]
    assert turnwise.Filter(collections="birds") == turnwise.Filter(collections=("birds",))  # type: ignore[arg-type]
