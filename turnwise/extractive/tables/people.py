"""The prices for a group of people that the documents call by another name: "and for kids?" is the junior row."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.extractive.statements import Candidate, asked_stems, stems_of
from turnwise.extractive.tables.answers import Answer, write
from turnwise.extractive.tables.model import Table
from turnwise.extractive.tables.vocabulary import PEOPLE

_ASKS_PRICE = re.compile(
    r"\b(?:how much|costs?|prices?|fees?|pay|charged?|fares?|rates?|tickets?|memberships?)\b", re.I
)


def rows_for_group(question: str, tables: Sequence[Table], pool: Sequence[Candidate]) -> str:
    """The rows for the only group of people in a question, which asks for a price or follows an answer with one."""
    groups = [found[0] for pattern in PEOPLE.values() if (found := pattern.search(question))]
    if len(groups) != 1 or any(stems_of(groups[0]) & stems_of(each.text) for each in pool):
        return ""
    fitting = [table for table in tables if table.price_columns]
    if not _ASKS_PRICE.search(question):
        if asked_stems(question) - asked_stems(groups[0]):
            return ""
        fitting = [table for table in fitting if table.just_said]
    return write([Answer(table, table.select(question)) for table in fitting])
