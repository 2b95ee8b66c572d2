"""Columns that are each for a range of ages or sizes: of "Age 4-6" and "Age 7-9", the second is for "an 8 year old"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.extractive.tables.amounts import includes_number, stands_for_several
from turnwise.extractive.tables.model import Row, Table
from turnwise.extractive.tables.vocabulary import column_stems
from turnwise.text import stem

_FOR = re.compile(
    r"(?:,? (?:for|in|aged?))?(?: (?:an?|my|our|the|his|her))?"
    r"(?: (?:child(?:ren)?|kids?|sons?|daughters?|boys?|girls?)(?:,? (?:who(?:['’]?s| is| are)|of|in|is|shes|hes))?)?"
    r",? (?:(?P<what>(?!(?:an?|my|our|the|his|her|for|in|of|is)\b)[a-z]+) )?(?P<number>\d{1,3})\b"
    r"(?:[ -](?P<old>(?:years?|yrs?)(?:[ -]olds?)?|y\.?o)\b)?",
    re.I,
)
_AGES = frozenset(map(stem, "age ages aged year years".split()))


def for_number(question: str, tables: Sequence[Table]) -> tuple[str, Sequence[Table]]:
    """A question without the age or size that it names, and the tables with just the columns for that; both as they are
    if it names none, or no table has such columns."""
    for found in _FOR.finditer(question):
        what = _AGES if _is_age(found) else {stem(found["what"] or "")}
        narrowed = [_with_column_for(int(found["number"]), what, table) for table in tables]
        if any(new is not old for new, old in zip(narrowed, tables, strict=True)):
            return question[: found.start()] + question[found.end() :], narrowed
    return question, tables


def age_in(question: str) -> tuple[int | None, str]:
    """The age that a question names, if any, and the question without it."""
    found = next(filter(_is_age, _FOR.finditer(question)), None)
    return (int(found["number"]), question.replace(found[0], "", 1)) if found else (None, question)


def _is_age(found: re.Match[str]) -> bool:
    return bool(found["old"] or found["what"] in ("age", "aged"))


def _with_column_for(number: int, what: frozenset[str] | set[str], table: Table) -> Table:
    """The table with just one of its columns for ranges of something, the one for this number."""
    ranged = [each for each in table.columns if stands_for_several(each) and column_stems(each) & what]
    fitting = [each for each in ranged if includes_number(each, number)]
    if len(fitting) != 1 or len(ranged) < 2:
        return table
    left_out = {*ranged} - {*fitting}
    cells = ({column: cell for column, cell in row.cells.items() if column not in left_out} for row in table.rows)
    rows = [Row(row.candidate, row.name, own) for row, own in zip(table.rows, cells, strict=True)]
    return Table(rows, table.is_told)
