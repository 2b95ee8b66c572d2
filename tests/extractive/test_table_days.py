"""Amounts and days in cells."""

from __future__ import annotations

import pytest

from turnwise.extractive.tables.amounts import DAYS, days_in


@pytest.mark.parametrize(
    ("cell", "days"),
    [
        ("daily", DAYS),
        ("Monday to Wednesday", DAYS[:3]),
        ("Saturday–Monday", ("saturday", "sunday", "monday")),
        ("Fridays and Sundays", ("friday", "sunday")),
        ("Monday, Tuesday and Friday", ("monday", "tuesday", "friday")),
        ("Sunday", ("sunday",)),
        ("Mon-Wed", DAYS[:3]),
        ("Tue, Thurs", ("tuesday", "thursday")),
        ("on order", ()),
        ("Friday evening", ()),
        ("", ()),
    ],
)
def test_the_days_of_a_cell(cell: str, days: tuple[str, ...]) -> None:
    assert days_in(cell) == frozenset(days)
