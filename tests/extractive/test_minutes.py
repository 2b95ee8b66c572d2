"""What minutes say in their own way: what was decided, and who is to do what."""

from __future__ import annotations

import pytest

from turnwise.extractive.choosing import candidates
from turnwise.extractive.minutes import tells_in_minutes
from turnwise.extractive.statements import statements
from turnwise.types import Evidence, Hit, Passage, Prompt

BARN = (
    "Ida proposed a new roof. Decision: the roof is mended by Ek & Sons. Tom will ask Mr Ek, and Ida asked for a list."
)
TASKS = "Task | Who | By\nBuy paint | Ida Moe | May\nCall Tom | Ann | June"


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("what was decided on the barn?", ["Decision: the roof is mended by Ek & Sons."]),
        ("what was agreed about the roof", ["Decision: the roof is mended by Ek & Sons."]),
        ("what was decided on the well?", []),
        ("who mends the roof?", []),
        ("what does Tom have to do?", ["Tom will ask Mr Ek, and Ida asked for a list."]),
        ("and what did ida moe agree to do?", ["Buy paint: Who Ida Moe, By May."]),
        ("what is Ann going to do", ["Call Tom: Who Ann, By June."]),
        ("what does the paint do?", []),
    ],
)
def test_decisions_and_tasks_are_told_as_minutes_tell_them(question: str, told: list[str]) -> None:
    evidence = tuple(
        Evidence(number, Hit(Passage(number, 1, "Minutes", "", text, heading), 1.0))
        for number, (text, heading) in enumerate(((BARN, "2. The barn"), (TASKS, "Actions")), 1)
    )
    pool = candidates(Prompt((), question, (question,), evidence, ()))
    assert [each.text for each in pool if tells_in_minutes(question, each)] == told


@pytest.mark.parametrize(
    ("decision", "refers"), [("Decision: approved.", True), ("Decision: the offer is approved.", False)]
)
def test_a_bare_decision_refers_to_what_was_proposed(decision: str, refers: bool) -> None:
    assert [each.refers_back for each in statements(f"Ida proposed a fee of £3. {decision}")] == [False, refers]
