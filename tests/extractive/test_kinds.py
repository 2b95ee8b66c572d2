"""Whether a sentence has the kind of thing that a question asks for."""

from __future__ import annotations

import pytest

from turnwise.extractive.kinds import states_amount


@pytest.mark.parametrize(
    ("question", "sentence", "states"),
    [
        ("How much is the deposit?", "The deposit is five weeks' rent.", True),
        ("how much is a tent", "- Tents cost £34 and stoves cost £6.50.", True),
        ("how much is a stove", "Tents cost £34 and stoves cost £6.50.", True),
        ("how much is a lamp", "Tents cost £34 and stoves cost £6.50.", False),
        ("how long is the ferry trip", "The ferry trip takes about two hours.", True),
        ("how long is delivery", "Standard delivery takes three to five working days.", True),
        ("how much is the course", "The course takes three weeks.", False),
        ("how long is the course", "The course costs 40 euros.", False),
        ("what is the deposit", "The deposit is five weeks' rent.", False),
    ],
)
def test_a_sentence_says_how_much_the_thing_is_that_is_asked_about(question: str, sentence: str, states: bool) -> None:
    assert states_amount(question, sentence) is states
