"""Short messages after a price, a correction or a name, as anybody types them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine

LIBRARY = {
    "judo.md": """# Judo club

## Fees

| Membership | Per month | Joining fee |
|---|---|---|
| Adults | £26 | £20 |
| Youth | £18 | £15 |
| Children (up to 11) | £14 | £10 |

## Training times

| Group | Days | Coach |
|---|---|---|
| Judo Kids | Thursday | Tom Reyes |
| Judo Adults | Wednesday | Ken Sato |

## Gradings

A black belt requires a minimum age of 15, because the examination strains joints that are still growing.
""",
    "hall.md": """# Town hall

The large hall holds 90 people and costs £35 an hour, or £180 for a whole day.
""",
    "library.md": """# Town library

The library is open on Monday from 13:00 to 18:00, on Tuesday from 10:00 to 18:00 and on Thursday from 10:00 to 20:00.
A lost card is replaced for £3.

## Fines

| Item | Fine per day |
|---|---|
| Book | 20p |
| Film | 50p |
""",
    "baths.md": """# Baths

## Opening hours

| Day | Main pool | Sauna |
|---|---|---|
| Tuesday | 7:00 - 20:00 | 14:00 - 21:00 |
| Thursday | 7:00 - 21:30 | 14:00 - 21:30 |

## Admission

| Ticket | Single visit | Season pass |
|---|---|---|
| Adult | £6.50 | £310.00 |
| Child (4-15) | £3.20 | £140.00 |
""",
    "parking.md": """# Car park

A lost ticket is charged at £20.
""",
    "course.md": """# Course

## Assignments

| Assignment | Topic | Due | Points |
|---|---|---|---|
| 1 | ER modelling | 22 October 2026 | 20 |
| 2 | Relational algebra | 5 November 2026 | 25 |
""",
}
HALL = "how much is the large hall?"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("town")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={name: text.encode() for name, text in LIBRARY.items()})
        yield engine


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (("how much does judo cost?", "how much is that a year?"), "Which number do you mean: £26, £18 or £14?"),
        (("how much does judo cost?", "how much is that a year?", "£14"), "£14 × 12 is £168."),
        ((HALL, "how much is that for 3 hours?"), "3 × £35 is £105."),
        ((HALL, "for 3 hours?", "and 6 hours?"), "6 × £35 is £210."),
        (("what is the fine for a film?", "how much is that for 4 days?"), "4 × £0.50 is £2."),
        (("how much is a lost ticket", "and a lost card?", "how much is that together?"), "£20 + £3 is £23."),
        (("how much is a season pass for adults?", "no i meant for kids"), "Child (4-15):"),
        (("how much is a season pass for adults?", "no, i meant kids"), "Child (4-15):"),
        (("when is the library open on tuesday?", "no, the pool", "i meant thursday"), "Thursday: Main pool 7:00"),
        (("when is assignment 1 due?", "and 2?"), "Assignment 2:"),
    ],
)
def test_what_a_short_message_is_answered_with(town: Engine, asked: tuple[str, ...], answer: str) -> None:
    chat = town.chat()
    *before, last = (chat.ask(message).text for message in asked)
    told = last.removeprefix("As I said: ").removeprefix("Admission – ").removeprefix("Assignments – ")
    assert told.startswith(answer), [*before, last]


@pytest.mark.parametrize(
    ("asked", "query"),
    [
        (
            ("are dogs allowed in the hall?", "and at the pool?", "and in the library?"),
            "are dogs allowed in the library?",
        ),
        (
            ("what is the fine for a film?", "how much is that for 4 days?", "and for a book?"),
            "what is the fine for a book?",
        ),
    ],
)
def test_what_a_short_message_asks(town: Engine, asked: tuple[str, ...], query: str) -> None:
    chat = town.chat()
    *_, last = (chat.ask(message) for message in asked)
    assert last.condensed_query == query


def test_he_is_neither_a_group_nor_a_coach(town: Engine) -> None:
    chat = town.chat()
    chat.ask("when does judo for kids train?")
    query = chat.ask("can he get a black belt?").condensed_query
    assert query is not None
    assert query.startswith("can he get a black belt")
    assert "Reyes" not in query
