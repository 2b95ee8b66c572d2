"""Answers have what a question asks for: all rows or the one that is meant, a time or how often, one list of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.dialogue.citing import abstains
from turnwise.engine import Engine

POOL = """# Pool

## Opening hours

| Day | Main pool | Sauna |
|---|---|---|
| Tuesday | 7:00 - 20:00 | 14:00 - 21:00 |
| Wednesday | 7:00 - 20:00 | 14:00 - 21:00 |
| Thursday | 7:00 - 21:30 | 14:00 - 21:30 |

## Rules

Dogs are not allowed anywhere in the building, except assistance dogs.
"""
JUDO = """# Judo club

## Fees

| Group | Per month | Joining fee |
|---|---|---|
| Adults | £26 | £20 |
| Youth | £18 | £15 |
| Children | £14 | £10 |
"""
MUSEUM = "# Museum\n\nDogs may come in if they are carried. Photography without flash is allowed everywhere.\n"
COFFEE = """# Coffee machine

Descale the machine when the display asks for it, about every two months. Descaling takes 25 minutes and must not be
interrupted. With a filter, descaling is needed only twice a year.

To clean the machine, follow these steps:

1. Empty the tank.
2. Run the cleaning program.

The machine comes in three colours:

- black
- white
- red
"""
COURSE = "# Databases\n\nAsk Marek Novak, not the lecturer, for an extension. The exam takes two hours.\n"
PUMPS = "# DX9 pump\n\nThe DX9 pump weighs 5 kilograms and costs 120 euros.\n"
CODES = """# Coffee machine

## Error codes

| Code | Meaning | What to do |
|---|---|---|
| E01 | Water tank empty | Fill the tank |
| E07 | Pump without pressure | Bleed the system |
| E08 | The tank cannot be found | Push the tank in |
"""
TANKS = "# Spare parts\n\nThere are two kinds of tanks: glass tanks and steel tanks. Both cost £20.\n"
HOURS = """# Museum

From April to October the museum is open Tuesday to Sunday from 10:00 to 17:00. It is closed on Mondays.
"""
NOTES = """# Release notes

## Version 3.10

- New: iced coffee.
- Fixed: the clock.

## Version 3.9

- New: guest mode.
"""
NOTES_OF_2024 = """# Release notes

## Version 3.10 (May 2024)

- New: iced coffee.
- Fixed: the pump stopped (error E07).

## Version 3.9 (June 2023)

- Fixed: the clock.
"""
BOATS = """# Lake boats

The Astrid was built in 1911 as a paddle steamer with two decks. Astrid posters were made of linen until 1925, when
paper took its place.

| Boat | Adult | Child |
|---|---|---|
| Astrid | €9 | €4 |
| Bodil | €7 | €3 |

The engine must cool down until the gauge is in the green field, because hot steam hurts.
"""
EVERY_DAY = (
    "Opening hours – Tuesday: Main pool 7:00 - 20:00, Sauna 14:00 - 21:00. [1] "
    "Wednesday: Main pool 7:00 - 20:00, Sauna 14:00 - 21:00. [1] "
    "Thursday: Main pool 7:00 - 21:30, Sauna 14:00 - 21:30. [1]"
)
ALL_FEES = (
    "Fees – Adults: Per month £26, Joining fee £20. [1] Youth: Per month £18, Joining fee £15. [1] "
    "Children: Per month £14, Joining fee £10. [1]"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Engine]]:
    opened: dict[tuple[str, ...], Engine] = {}

    def of(*documents: str) -> Engine:
        if documents not in opened:
            folder: Path = tmp_path_factory.mktemp("library")
            engine = opened[documents] = build(Settings(library=str(folder)), create=True)
            engine.add(contents={f"{number}.md": text.encode() for number, text in enumerate(documents)})
        return opened[documents]

    yield of
    for engine in opened.values():
        engine.close()


@pytest.mark.parametrize(
    ("documents", "asked", "answer"),
    [
        ((POOL,), ("when is the pool open on wednesday?", "when is the pool open?"), EVERY_DAY),
        ((POOL,), ("what time does the sauna open on wednesday?", "what are the opening hours?"), EVERY_DAY),
        ((JUDO,), ("how much is judo for adults?", "how much does judo cost?"), ALL_FEES),
        (
            (MUSEUM, POOL),
            ("are dogs allowed in the museum?", "and the pool?", "and the museum?"),
            "As I said: Dogs may come in if they are carried. [1]",
        ),
        (
            (COFFEE,),
            ("how long does descaling take?",),
            "Descaling takes 25 minutes and must not be interrupted. [1]",
        ),
        (
            (COFFEE,),
            ("how long does descaling take?", "how often do i have to do it"),
            "Descale the machine when the display asks for it, about every two months. [1] "
            "With a filter, descaling is needed only twice a year. [1]",
        ),
        ((PUMPS,), ("how heavy is the DX-9?",), "The DX9 pump weighs 5 kilograms and costs 120 euros. [1]"),
        ((HOURS,), ("when is the museum open?", "is it open on mondays?"), "It is closed on Mondays. [1]"),
        (
            (NOTES,),
            ("what changed in the latest version?",),
            "Version 3.10: New: iced coffee. [2] Fixed: the clock. [2]",
        ),
        (
            (BOATS,),
            ("tell me about the Astrid",),
            "The Astrid was built in 1911 as a paddle steamer with two decks. [1]",
        ),
        (
            (BOATS,),
            ("tell me about the Astrid", "when was it built?"),
            "As I said: The Astrid was built in 1911 as a paddle steamer with two decks. [1]",
        ),
        (
            (BOATS,),
            ("how long must the engine cool down?",),
            "The engine must cool down until the gauge is in the green field, because hot steam hurts. [1]",
        ),
        (
            (CODES, TANKS),
            ("what kinds of tanks are there?",),
            "There are two kinds of tanks: glass tanks and steel tanks. [1]",
        ),
        (
            (NOTES_OF_2024, HOURS),
            ("what is error E07?", "was it fixed?", "when"),
            "As I said: Version 3.10 (May 2024): Fixed: the pump stopped (error E07). [1]",
        ),
        ((COFFEE,), ("How do I clean the machine?",), "1. Empty the tank. [1]\n2. Run the cleaning program. [1]"),
    ],
)
def test_the_answer_has_what_is_asked_for(
    library: Callable[..., Engine], documents: tuple[str, ...], asked: tuple[str, ...], answer: str
) -> None:
    chat = library(*documents).chat()
    *before, last = (chat.ask(message).text for message in asked)
    assert last == answer, before


@pytest.mark.parametrize(
    ("documents", "asked"),
    [
        ((COURSE,), ("who do i ask for an extension", "what's his email")),
        ((COFFEE,), ("how many colours did we sell in 2023?",)),
        ((COFFEE,), ("how many machines broke down in Germany?",)),
        ((PUMPS,), ("How much does the DX8 pump cost?",)),
        ((PUMPS,), ("how heavy is the dx9?", "and the dx8?")),
        ((CODES,), ("my machine shows E07, what should i do", "what does E09 mean?")),
        (
            (POOL, "# Library\n\nWe lend books and films.\n"),
            ("can I bring my dog to the pool?", "no i meant the library"),
        ),
    ],
)
def test_what_the_documents_do_not_tell(
    library: Callable[..., Engine], documents: tuple[str, ...], asked: tuple[str, ...]
) -> None:
    chat = library(*documents).chat()
    assert abstains([chat.ask(message).text for message in asked][-1])
