"""The day that something is open longest."""

from __future__ import annotations

import pytest

from turnwise.extractive.choosing import candidates
from turnwise.extractive.tables import answer_from_tables
from turnwise.text import without_citations
from turnwise.types import Evidence, Hit, Passage, Prompt

HOURS = (
    "Day | Reading room | Archive",
    "Monday | 09:00–17:00 | closed",
    "Tuesday | 09:00–20:30 | 10:00–16:00",
    "Wednesday to Friday | 09:00–17:00 | 10:00–12:00, 13:00–18:30",
    "Saturday | 10:00–13:00 | 9:30–12:00",
)


def answer(question: str, *rows: str) -> str:
    passage = Passage(1, 1, "Town library", "library.md", "\n".join(rows or HOURS), "Opening times")
    prompt = Prompt((), question, (question,), (Evidence(1, Hit(passage, 1.0)),), ())
    return without_citations(answer_from_tables(question, candidates(prompt), prompt))


READING_ROOM = "Longest of the 4 found, by Reading room:\n\n- Tuesday: Reading room 09:00–20:30."
ARCHIVE = "Longest of the 3 found, by Archive:\n\n- Wednesday to Friday: Archive 10:00–12:00, 13:00–18:30."


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("which day is open longest", f"{READING_ROOM}\n\n{ARCHIVE}"),
        ("On which day are you open the longest?", f"{READING_ROOM}\n\n{ARCHIVE}"),
        ("when is the library open longest?", f"{READING_ROOM}\n\n{ARCHIVE}"),
        ("which day is the archive open longest?", ARCHIVE),
        (
            "what day is the archive open shortest?",
            "Shortest of the 3 found, by Archive:\n\n- Saturday: Archive 9:30–12:00.",
        ),
        ("which day is the café open longest?", ""),
        ("which shop is open longest?", ""),
    ],
)
def test_the_day_with_the_longest_hours_is_told_for_each_place(question: str, told: str) -> None:
    assert answer(question) == told


@pytest.mark.parametrize(
    ("cells", "day"),
    [
        (("9 am to 5 pm", "10am-8pm"), "Tuesday"),
        (("9.30–17.00", "10.00–17.00"), "Monday"),
        (("9–5", "10–8"), ""),
        (("9:00–5:00", "10:00–17:00"), ""),
        (("by appointment", "10:00–17:00"), ""),
        (("closed", "10:00–17:00"), ""),
    ],
)
def test_hours_that_are_not_clear_are_not_compared(cells: tuple[str, str], day: str) -> None:
    text = answer("which day are you open longest?", "Day | Hours", f"Monday | {cells[0]}", f"Tuesday | {cells[1]}")
    assert (f"- {day}: " in text) if day else text == ""
