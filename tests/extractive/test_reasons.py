"""A bare "why?" after an answer."""

from __future__ import annotations

import pytest

from turnwise.extractive import ExtractiveAnswerer
from turnwise.types import Evidence, Hit, Passage, Prompt

NARROW = "The chairs in the lounge are so narrow that nobody can sleep in them."
KAYAKS = "Kayaks cost £9, because the crew has to lash them."
BAR = "The bar closes at ten."
FARES = """| Passenger | Single |
|---|---|
| Adult | £11 |
| Islander | £4 |"""
PASSAGES = (
    Passage(1, 1, "Ferry", "Lounge", f"{BAR} {NARROW}"),
    Passage(2, 1, "Ferry", "Kayaks", f"{KAYAKS} They may not be used in the harbour."),
    Passage(3, 1, "Ferry", "Fares", FARES),
    Passage(4, 2, "Islands", "Rona", "Rona has 40 islanders and a lighthouse."),
)


class SureJudge:
    """A judge to whom everything answers."""

    def odds(self, _question: str, sentences: list[Passage]) -> list[float]:
        return [4.0 for _ in sentences]


def answer(last_question: str, told: str, message: str, completed: str) -> str:
    evidence = tuple(Evidence(place, Hit(each, 1.0)) for place, each in enumerate(PASSAGES, 1))
    prompt = Prompt((), message, (completed,), evidence, (told,), last_question=last_question)
    return ExtractiveAnswerer(SureJudge()).answer(prompt)


@pytest.mark.parametrize("why", ["why", "why not?", "how come", "but why is that", "ok, and why not?"])
def test_the_reason_in_the_last_answer_is_told_again(why: str) -> None:
    told = f"{BAR} [1] {NARROW} [1]"
    assert answer("can I sleep in the lounge?", told, why, f"{why} (lounge)") == f"As I said: {NARROW} [1]"


def test_what_gives_no_reason_is_no_answer() -> None:
    told = "Adult: Single £11. [3]"
    assert answer("how much is a single for an adult?", told, "why", "why (adult)").startswith("I don’t know")
    assert "40 islanders" not in answer("how much is it for an islander?", told, "why", "why (islander)")


def test_elsewhere_a_reason_of_what_is_meant_is_told() -> None:
    told = "They may not be used in the harbour. [2]"
    assert KAYAKS in answer("can I use a kayak in the harbour?", told, "why not", "why not (kayak)")
