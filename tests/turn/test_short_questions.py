"""Short questions in everyday spelling, whose answers are labels, names in passing, or amounts in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.text import without_citations

CLUB = """HARLOW SAILING CLUB
Harbour master: Ms. R. Lindqvist, phone 01632 960 811, email master@harlow.example

Moorings
The mooring bond is three months' dues and is kept by the club until you leave. Visitors pay at the kiosk. Boats without
a permit are towed after two days; write to the club secretary, Mr Aldous Penn, at least a week before.

Boats
The dinghies were given by Olive Marsh, a retired teacher, in 1998. Each dinghy seats three people. Settling the dues is
done through the HarbourPay app. Dues are £140 a year and free for sailors under 14.
"""
ENGINES = """# Outboard engines

## Troubleshooting

- **The engine does not start.** Squeeze the fuel bulb until it is firm and open the vent of the tank.
- **The propeller turns slowly.** Cut away weed and rope. Check the shear pin for damage.

## Numbers

The engine's serial number is on the plate under the cowl. Its number of cylinders is two.
"""


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("club")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={"club.txt": CLUB.encode(), "engines.md": ENGINES.encode()})
        yield engine


def answer(engine: Engine, question: str) -> str:
    return without_citations(engine.chat().ask(question).text)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("engine doesnt start", "The engine does not start. Squeeze the fuel bulb"),
        ("propeller is slow", "The propeller turns slowly. Cut away weed and rope. Check the shear pin"),
    ],
)
def test_a_problem_is_answered_with_its_remedy(club: Engine, question: str, told: str) -> None:
    assert answer(club, question).startswith(told)


@pytest.mark.parametrize(
    "question", ["whats the harbour masters number", "what's the harbour master's number?", "harbour master's number"]
)
def test_the_number_of_a_person_is_a_phone_number(club: Engine, question: str) -> None:
    assert answer(club, question).startswith("Harbour master: Ms. R. Lindqvist, phone 01632 960 811")


def test_the_number_of_a_thing_is_no_phone_number(club: Engine) -> None:
    assert answer(club, "what's the engine's serial number?").startswith("The engine's serial number is on the plate")


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("whos the club secretary", "Mr Aldous Penn"),
        ("who is aldous penn", "club secretary"),
        ("who was olive marsh?", "a retired teacher"),
    ],
)
def test_an_apposition_says_who_somebody_is(club: Engine, question: str, told: str) -> None:
    assert told in answer(club, question)


def test_an_amount_in_words_is_an_amount(club: Engine) -> None:
    assert answer(club, "how much is the mooring bond").startswith("The mooring bond is three months' dues")


@pytest.mark.parametrize(
    "question",
    ["how do i pay my dues", "how much is the mooring bond", "who gave the dinghies", "where do visitors pay"],
)
def test_a_question_mark_changes_nothing(club: Engine, question: str) -> None:
    assert answer(club, question) == answer(club, f"{question}?")
