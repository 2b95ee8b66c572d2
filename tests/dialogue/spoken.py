"""Histories for the tests."""

from __future__ import annotations

from turnwise.types import FollowUp, Message


def said(*contents: str) -> list[Message]:
    """A history in which user and assistant take turns, the user first."""
    return [Message("assistant" if place % 2 else "user", content) for place, content in enumerate(contents)]


def long_talk(turns: int, **at: str) -> list[Message]:
    """A conversation about rivers. `turn_3="..."` sets the question of turn 3, `answer_3="..."` its answer."""
    contents = []
    for turn in range(1, turns + 1):
        contents.append(at.get(f"turn_{turn}", f"How long is river number {turn}?"))
        contents.append(at.get(f"answer_{turn}", f"River number {turn} is {turn} miles long. [1]"))
    return said(*contents)


def leans(confidence: float) -> FollowUp:
    """A follow-up with this confidence."""
    return FollowUp(True, "pattern", confidence, "", (), "why")
