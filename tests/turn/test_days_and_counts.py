"""Short messages after a question about days, counts and the like, as anybody types them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine

LIBRARY = {
    "pool.md": """# Brookfield pool

## Opening hours

| Day | Open |
|---|---|
| Monday to Friday | 6:30 - 21:00 |
| Saturday | 8:00 - 18:00 |
| Sunday | 9:00 - 17:00 |

## Parking

The car park behind the pool has 80 spaces. Parking costs £1.50 an hour.
""",
    "library.md": """# Town library

## Opening hours

| Day | Open |
|---|---|
| Monday to Friday | 9:00 - 19:00 |
| Saturday | 10:00 - 14:00 |
| Sunday | closed |
""",
    "judo.md": """# Judo club

## Classes

| Class | Day | Time | Price a month |
|---|---|---|---|
| Kids Judo | Tuesday | 16:00 | £20 |
| Judo Adults | Thursday | 19:00 | £30 |
| Judo Teens | Wednesday | 17:30 | £25 |
""",
}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("town")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={name: text.encode() for name, text in LIBRARY.items()})
        yield engine


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (("when is the pool open on saturdays?", "what about sundays"), "Sunday: Open 9:00 - 17:00. [1]"),
        (("when is the library open on saturday?", "what about sundays"), "Sunday: closed. [1]"),
        (("when is the library open on saturday?", "weekdays?"), "Monday to Friday: Open 9:00 - 19:00. [1]"),
        (("when is the pool open on saturday?", "what about sundays", "and the library?"), "Sunday: closed. [2]"),
        (("when does the library open?", "and the pool?", "saturday mornings?"), "Saturday: Open 8:00 - 18:00. [2]"),
        (("is there parking at the pool?", "how much is that for 4 hours?"), "Parking costs £1.50 an hour. [1]"),
        (
            ("is there parking at the pool?", "what does it cost?", "how much is that for 4 hours?"),
            "4 × £1.50 is £6. (from “Parking costs £1.50 an hour.”)",
        ),
        (("do you have judo for kids?", "when is that"), "Kids Judo: Day Tuesday, Time 16:00, Price a month £20. [1]"),
    ],
)
def test_what_a_short_message_is_answered_with(town: Engine, asked: tuple[str, ...], answer: str) -> None:
    chat = town.chat()
    *before, last = (chat.ask(message).text for message in asked)
    told = last.removeprefix("As I said: ").removeprefix("Opening hours – ")
    assert told == answer, before


def test_the_same_question_is_answered_alike_again(town: Engine) -> None:
    chat = town.chat()
    first = chat.ask("tell me about parking at the pool").text
    assert first == "The car park behind the pool has 80 spaces. [1] Parking costs £1.50 an hour. [1]"
    chat.ask("when is kids judo?")
    assert chat.ask("Tell me about parking at the pool!").text == f"As I said: {first}"
    assert chat.ask("tell me about parking at the pool").text == f"As I said: {first}"


def test_what_else_asked_twice_goes_on(town: Engine) -> None:
    chat = town.chat()
    told = [chat.ask(message).text for message in ("tell me about judo", "what else?", "what else?")]
    assert not any(each.startswith("As I said") for each in told)
