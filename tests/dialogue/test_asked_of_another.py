from __future__ import annotations

import pytest

from turnwise.dialogue.asked_again import parallel, question_so_far
from turnwise.types import Message


def asked(*messages: str) -> list[Message]:
    return [each for text in messages for each in (Message("user", text), Message("assistant", "Noted."))]


@pytest.mark.parametrize(
    ("messages", "query"),
    [
        (("how much is swimming?", "and climbing?"), "how much is climbing?"),
        (("how much is swimming?", "and climbing?", "and squash?"), "how much is squash?"),
        (("how much is swimming?", "and climbing?", "and the gym?"), "how much is the gym?"),
        (("what time does the gym open", "and on sunday?", "and the pool?"), "what time does the pool open on sunday"),
        (("how much is a lost key?", "and the late fee?"), "how much is the late fee?"),
        (("when are lessons for adults?", "what about tennis"), "when are tennis for adults?"),
    ],
)
def test_the_same_is_asked_of_one_thing_after_another(messages: tuple[str, ...], query: str) -> None:
    condensed = parallel(messages[-1], asked(*messages[:-1]))
    assert condensed is not None
    assert condensed.query == query


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("how much is swimming?", "and the price?"),  # an attribute of the same thing
        ("how much is the flat?", "and the deposit?"),
        ("how much is it?", "and the gym?"),  # nothing is named that could be replaced
        ("how do I cancel?", "and the gym?"),
        ("how long does a restore take", "what about sync its stuck"),  # it says something of its own
    ],
)
def test_what_is_not_asked_of_a_thing_is_left_alone(last: str, message: str) -> None:
    assert parallel(message, asked(last)) is None


def test_a_new_question_ends_the_old_one() -> None:
    seen = asked("how much is swimming?", "and climbing?", "who runs the club?")
    assert question_so_far(seen) == "who runs the club?"
