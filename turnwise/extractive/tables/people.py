"""The prices for a group of people that the documents call by another name: "and for kids?" is the junior row, and
"for my 7 year old?" the one for children from 5 to 15."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.extractive.kinds import PRICE_WORDS
from turnwise.extractive.statements import Candidate, asked_stems, stems_of
from turnwise.extractive.tables.amounts import includes_number, stands_for_several
from turnwise.extractive.tables.answers import Answer, write
from turnwise.extractive.tables.model import Row, Table
from turnwise.extractive.tables.ranges import age_in
from turnwise.extractive.tables.vocabulary import FORM_STEMS, PEOPLE, without_people

_ASKS_PRICE = re.compile(
    r"\b(?:how much|costs?|prices?|fees?|pay|charged?|fares?|rates?|tickets?|memberships?)\b", re.I
)
_SEVERAL = re.compile(r"\b(?:groups?|famil(?:y|ies)|party|parties|households?)\b", re.I)
_BRACKETS = re.compile(r"[()]")


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


def rows_for_age(question: str, tables: Sequence[Table]) -> str:
    """The only row with a price that is for somebody of the age in a question, which names nothing else but what its
    table is about; empty if there is none."""
    age, rest = age_in(question)
    if age is None or not _ASKS_PRICE.search(question):
        return ""
    keys = asked_stems(without_people(rest)) - PRICE_WORDS - FORM_STEMS
    priced = [table for table in tables if table.price_columns and keys <= table.naming_stems]
    answers = [Answer(table, [row for row in table.rows if _is_for_age(row, age)]) for table in priced]
    return write(answers) if sum(len(each.rows) for each in answers) == 1 else ""


def _is_for_age(row: Row, age: int) -> bool:
    name = _BRACKETS.sub("", row.name)
    return stands_for_several(name) and includes_number(name, age) and not _SEVERAL.search(name)
