"""Opening hours in a table, asked for without any other word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.text import without_citations

TIP = """# Marsh End recycling centre

## Opening hours

| Day | Summer | Winter |
|---|---|---|
| Monday to Thursday | 8 am – 7 pm | 9 am – 4 pm |
| Friday | closed | closed |
| Saturday | 8 am – 5 pm | 10 am – 3 pm |

We are closed on Christmas Day. The shop opens an hour later than the centre.

## Charges

| Load | Price |
|---|---|
| Rubble | £4 |
| Tyres | £6 |
"""


@pytest.fixture(scope="module")
def tip(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("tip")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={"tip.md": TIP.encode()})
        yield engine


def answer(engine: Engine, question: str) -> str:
    return without_citations(engine.chat().ask(question).text)


@pytest.mark.parametrize(
    "question",
    [
        "when are you open",
        "what are your opening hours?",
        "opening times?",
        "what time do you open",
        "when do you close",
    ],
)
def test_the_whole_table_is_told(tip: Engine, question: str) -> None:
    told = answer(tip, question)
    assert "Monday to Thursday: Summer 8 am – 7 pm, Winter 9 am – 4 pm." in told
    assert "Saturday: Summer 8 am – 5 pm, Winter 10 am – 3 pm." in told
    assert "£" not in told


def test_one_day_is_told_alone(tip: Engine) -> None:
    told = answer(tip, "are you open on saturdays")
    assert "Saturday: Summer 8 am – 5 pm" in told
    assert "Friday" not in told
