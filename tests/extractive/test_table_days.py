"""Days and months in cells, and the hours for those that are asked about."""

from __future__ import annotations

import pytest

from turnwise.dialogue.citing import abstains
from turnwise.english import WEEKDAYS
from turnwise.extractive import ExtractiveAnswerer
from turnwise.extractive.periods import days_in, periods_in, periods_named
from turnwise.text import without_citations
from turnwise.types import Evidence, Hit, Passage, Prompt


@pytest.mark.parametrize(
    ("cell", "days"),
    [
        ("daily", WEEKDAYS),
        ("Monday to Wednesday", WEEKDAYS[:3]),
        ("Saturday–Monday", ("saturday", "sunday", "monday")),
        ("Fridays and Sundays", ("friday", "sunday")),
        ("Monday, Tuesday and Friday", ("monday", "tuesday", "friday")),
        ("Sunday", ("sunday",)),
        ("Mon-Wed", WEEKDAYS[:3]),
        ("Tue, Thurs", ("tuesday", "thursday")),
        ("on order", ()),
        ("Friday evening", ()),
        ("", ()),
    ],
)
def test_the_days_of_a_cell(cell: str, days: tuple[str, ...]) -> None:
    assert days_in(cell) == frozenset(days)


@pytest.mark.parametrize(
    ("cell", "periods"),
    [
        ("April to June", ("april", "may", "june")),
        ("Nov–Jan.", ("november", "december", "january")),
        ("Saturday & Sunday", WEEKDAYS[5:]),
        ("Maybe", ()),
        ("1 May", ()),
    ],
)
def test_the_days_or_months_that_a_cell_is_for(cell: str, periods: tuple[str, ...]) -> None:
    assert periods_in(cell) == frozenset(periods)


@pytest.mark.parametrize(
    ("question", "periods"),
    [
        ("is it open on Tues?", ("tuesday",)),
        ("and in may or in August?", ("may", "august")),
        ("what about the weekend", WEEKDAYS[5:]),
        ("may I march on, decisively?", ()),
    ],
)
def test_the_days_and_months_that_a_question_names(question: str, periods: tuple[str, ...]) -> None:
    assert periods_named(question) == frozenset(periods)


MILL = "Season | Mill | Bakery\nMay–September | 9–18 | 7–15\nOctober–April | 10–16 | 8–14"
SUMMER, WINTER = "May–September: Mill 9–18, Bakery 7–15.", "October–April: Mill 10–16, Bakery 8–14."
WEEK = "Day | Hours\nMonday to Thursday | 8–20\nFriday | 8–17"


class Doubting:
    """A judge to whom everything answers a little, but nothing well."""

    def odds(self, _question: str, sentences: list[Passage]) -> list[float]:
        return [-2.0 for _ in sentences]


def told(question: str, table: str) -> str:
    passage = Passage(1, 1, "Visiting Alder Mill", "", f"{table}\n\nDogs stay outside.", "Visiting > Opening hours")
    prompt = Prompt((), question, (question,), (Evidence(1, Hit(passage, 1.0)),), ())
    return without_citations(ExtractiveAnswerer(Doubting()).answer(prompt))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "table", "rows"),
    [
        ("what are the opening hours of the mill?", MILL, f"{SUMMER} {WINTER}"),
        ("when is alder mill open in June?", MILL, SUMMER),
        ("when does the mill open in winter", MILL, f"{SUMMER} {WINTER}"),
        ("how late are you open on wednesdays?", WEEK, "Monday to Thursday: Hours 8–20."),
    ],
)
def test_hours_are_told_of_the_document_that_is_named_for_the_day_or_month(
    question: str, table: str, rows: str
) -> None:
    assert told(question, table) == f"Opening hours – {rows}"


def test_the_hours_of_something_else_are_not_told() -> None:
    assert abstains(told("when does the chapel open?", MILL))


PLAN = "Time | Item\n9:15 | Doors open\n10:30 | Second coffee\nlater | Doors close"


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("when do the doors open?", "Time 9:15: Item Doors open."),
        ("what time is the second coffee", "Time 10:30: Item Second coffee."),
    ],
)
def test_a_row_that_begins_with_a_time_says_when_something_is(question: str, row: str) -> None:
    assert told(question, PLAN).startswith(row)


def test_a_row_without_a_time_does_not_say_when() -> None:
    assert not told("when do the doors close?", PLAN).startswith("later")
