"""Messages that lean on the conversation are read as they were typed, and after the last question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine

FERRY = """# Rona Ferry: carriage of goods

## Bicycles and boats

A bicycle costs £4 each way. Kayaks cost £9 each way, because the crew has to lash them to the upper deck. Electric
bicycles may not be charged on board since the sockets are needed for the kitchen.

## Damage

Take photographs before you leave the harbour. Tell the harbour office within five days of the crossing. The money is
paid out in about three weeks. Old paintings and used telephones are not insured.

## Animals

Dogs travel free on the open deck. They are not allowed in the saloon because some guests are allergic to them. Mrs
Sinclair at the pier keeps a list of those who travel with a dog.

## Groups

Groups of more than twelve must book by telephone. The booking lapses when nobody has paid two days before.
"""


@pytest.fixture(scope="module")
def ferry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("ferry")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={"ferry.md": FERRY.encode()})
        yield engine


def answer(engine: Engine, *turns: str) -> str:
    chat = engine.chat()
    *_, last = [chat.ask(turn).text for turn in turns]
    return last


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        (("what do I pay to bring a kayak", "why is that one dearer"), "lash them to the upper deck"),
        (("how much is a kayak on the ferry", "do they tie it up?"), "lash them to the upper deck"),
        (("are dogs allowed in the saloon", "how come"), "some guests are allergic"),
        (("can I charge my electric bicycle on the ferry", "how come?"), "the sockets are needed"),
        (
            ("something of mine got damaged on the ferry, what do I do", "it was a picture by my grandfather"),
            "paintings",
        ),
        (("how do we book as a group of twenty", "can't we do it online"), "must book by telephone"),
        # Not recognised as leaning:
        (("can I take my dog along on the ferry", "my sister has an allergy"), "not allowed in the saloon"),
    ],
)
def test_it_is_answered_from_what_was_talked_about(ferry: Engine, turns: tuple[str, ...], told: str) -> None:
    assert told in answer(ferry, *turns)


@pytest.mark.parametrize(
    "turns",
    [
        ("what do I pay to bring a kayak", "who invented it?"),
        ("can I take my dog along on the ferry", "what does it eat there?"),
        ("can my bike come on the ferry", "do we get free tea"),
        ("how do we book as a group of twenty", "is there a film on board"),
    ],
)
def test_what_the_documents_do_not_say_is_not_known(ferry: Engine, turns: tuple[str, ...]) -> None:
    assert answer(ferry, *turns).startswith("I don’t know")


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        (("how do I report damage", "is there a deadline"), "As I said: Tell the harbour office within five days"),
        (("something of mine got damaged on the ferry, what do I do", "when do i see the money"), "three weeks"),
        (("how much is a kayak on the ferry", "what does that cost for an electric bicycle"), "£4 each way"),
    ],
)
def test_times_and_amounts_are_read_as_they_were_typed_too(ferry: Engine, turns: tuple[str, ...], told: str) -> None:
    assert told in answer(ferry, *turns)
