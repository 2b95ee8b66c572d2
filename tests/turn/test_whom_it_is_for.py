"""Messages that only tell whom or what the last question is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.text import without_citations

ALLOTMENTS = """# Mere Lane Allotments

## Rent

| Plot | Per year | Key deposit |
|---|---|---|
| Full plot | £62 | £15 |
| Half plot | £34 | £15 |
| Pensioner | £25 | none |
| School class | £10 | none |

## Animals

Pets need the committee's consent in writing. Bees are kept at the far end only.

## Water

The taps are off from November to March.
"""


@pytest.fixture(scope="module")
def allotments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("allotments")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={"allotments.md": ALLOTMENTS.encode()})
        yield engine


def answer(engine: Engine, *messages: str) -> str:
    chat = engine.chat()
    *_, last = [chat.ask(message) for message in messages]
    return without_citations(last.text)


def test_a_person_told_is_whom_the_last_question_is_about(allotments: Engine) -> None:
    told = answer(allotments, "how much is it to rent a plot", "im a pensioner")
    assert told.removeprefix("As I said: ") == "Pensioner: Per year £25, Key deposit none."


def test_a_rule_for_a_kind_is_said_again_for_another_of_that_kind(allotments: Engine) -> None:
    assert "Pets need the committee's consent" in answer(allotments, "can i have a dog", "what about a cat")


def test_what_no_sentence_answers_is_not_answered_by_what_was_said(allotments: Engine) -> None:
    assert answer(allotments, "can i have a dog", "what about a shed").startswith("I don’t know")


HOSTEL = """# Quay Hostel

A bed in the dormitory costs £28 a night.

## Animals

Dogs are welcome in the garden. Cats are not allowed.

## Joining the club

To join the club, send the form to the warden.

| Membership | Price |
|---|---|
| Adult | £30 |
| Junior | £12 |
"""


@pytest.fixture(scope="module")
def hostel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("hostel")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={"hostel.md": HOSTEL.encode()})
        yield engine


def test_what_was_said_of_one_is_not_said_of_another(hostel: Engine) -> None:
    told = answer(hostel, "Can I bring a dog to the hostel?", "what about a cat?")
    assert "Cats are not allowed" in told
    assert not told.startswith("As I said: Dogs")


def test_a_price_asked_for_after_how_to_do_something_is_not_its_object(hostel: Engine) -> None:
    assert "£30" in answer(hostel, "How do I join the club?", "and the price?")


BARNS = """# Barns to rent

| Barn | Half day | Full day |
|---|---|---|
| Oak barn | £30 | £52 |
| Red barn | £14 | £25 |

Choirs get 30 % off. A lamp costs £5 a day, a heater £9.

## If the heater stays cold

If the red lamp is off, push the plug in. If it stays off, feed the meter. If that is no use either, write to
barns@mere.example.
"""


@pytest.fixture(scope="module")
def barns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("barns")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={"barns.md": BARNS.encode()})
        yield engine


def test_a_row_told_is_not_repeated_for_what_it_does_not_say(barns: Engine) -> None:
    assert answer(barns, "how much is the oak barn", "is that cheaper for choirs") == "Choirs get 30 % off."


def test_a_sentence_with_both_things_is_told_again_for_the_other(barns: Engine) -> None:
    assert "a heater £9" in answer(barns, "what does a lamp cost", "and a heater?")


def test_what_did_not_help_leads_to_the_next_remedy_of_a_paragraph(barns: Engine) -> None:
    told = answer(barns, "the heater stays cold", "that didn't help")
    assert "barns@mere.example" in told or "feed the meter" in told
