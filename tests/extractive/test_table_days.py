"""Amounts and days in cells."""

from __future__ import annotations

import pytest

from turnwise.english import WEEKDAYS
from turnwise.extractive.tables.amounts import days_in


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
