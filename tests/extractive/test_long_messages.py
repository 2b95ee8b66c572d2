"""A message of thousands of sentences is not read sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from turnwise.extractive import ExtractiveAnswerer
from turnwise.types import Evidence, Hit, Passage, Prompt


class Counting:
    """A judge that finds no answer, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def odds(self, _question: str, sentences: Sequence[Passage]) -> list[float]:
        self.asked += 1
        return [-5.0 for _ in sentences]


@pytest.mark.parametrize("message", ["-... " * 3000, "? " * 5000, " ".join(f"What is x{n}?" for n in range(800))])
def test_the_judge_is_asked_no_more_for_a_longer_message(message: str) -> None:
    passage = Passage(1, 1, "Mill", "", "The mill grinds wheat. It is open on Sundays.", "")
    judge = Counting()
    asked = tuple(message.split("? ")) if "What" in message else (message,)
    answer = ExtractiveAnswerer(judge).answer(Prompt((), message, asked, (Evidence(1, Hit(passage, 1.0)),), ()))
    assert answer.startswith("I don’t know")
    assert judge.asked <= 60
