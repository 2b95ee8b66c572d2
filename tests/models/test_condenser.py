"""What the trained condenser looks at: as much at turn 500 as at turn 20, each message read once."""

from __future__ import annotations

import pytest

from turnwise.models import condenser
from turnwise.models.condenser import LONGEST, LONGEST_TEXT, MOST_MENTIONS, RECENT, OnnxCondenser, Said, lay_out
from turnwise.types import Message

ANSWER = "Rivers carry water to the sea, past Vienna and Basel. Most of them rise in hills. [1] " * 10


def talk(turns: int) -> list[Message]:
    return [
        message
        for turn in range(turns)
        for message in (Message("user", f"How long is river {turn}?"), Message("assistant", f"{turn} miles. {ANSWER}"))
    ]


@pytest.fixture(scope="module")
def model() -> condenser._Model:
    return OnnxCondenser(threads=1)._model()


@pytest.mark.parametrize("turns", [20, 500])
def test_what_is_read_does_not_grow_with_the_conversation(model: condenser._Model, turns: int) -> None:
    read: list[str] = []

    def noted(text: str) -> Said:
        read.append(text)
        return model._read(text)

    layout = lay_out("Where does it end?", talk(turns), noted)
    assert len(read) == RECENT + 2, "the first question and the message"
    assert max(map(len, read)) <= LONGEST_TEXT
    assert len(layout.ids) <= LONGEST
    assert len(layout.mentions) == len(layout.facts) == len(layout.places) <= MOST_MENTIONS


def test_a_message_is_taken_apart_once(model: condenser._Model) -> None:
    history = talk(500)
    model.predict("Where does it end?", history)
    before = model._read.cache_info().misses
    model.predict("And where does it begin?", [*history, *talk(1)[:1], Message("assistant", "In the hills near Ulm.")])
    assert model._read.cache_info().misses - before == 2, "the message, and the answer before it"


def test_what_is_known_of_a_word(model: condenser._Model) -> None:
    history = [
        Message("user", "What is the Danube?"),
        Message("assistant", "The danube is a river. Ships of the IMO use it."),
        Message("user", "How many ships?"),
        Message("assistant", "About 40 ships."),
    ]
    layout = lay_out("Why is that?", history, model._read)
    known = {mention.word.text: facts for mention, facts in zip(layout.mentions, layout.facts, strict=True)}
    assert known["Danube"] == [1, 0, 1, 0, 1, 0, 0, 0, 1, 1]
    assert known["ships"] == [0, 0, 0, 1, 0, 1, 0, 1, 1, 1]
    assert known["IMO"] == [1, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    assert known["40"] == [0, 1, 0, 0, 0, 1, 0, 0, 1, 0]
