"""The day that something is open longest: "which day are you open longest?", "which day is the pool open shortest?"."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from turnwise.extractive.cells import column_label
from turnwise.extractive.periods import days_in
from turnwise.extractive.statements import Candidate, asked_stems, stems_of
from turnwise.extractive.tables.answers import list_rows, the_only
from turnwise.extractive.tables.model import Row, Table, is_missing
from turnwise.extractive.tables.vocabulary import column_stems

_QUESTION = re.compile(
    r"(?:(?:and|so|but),? )?(?:(?:on )?(?:which|what) days?(?: of the week)?|when)(?:['’]s| is| are| do| does)? ?"
    r"(?P<what>[^,?]{0,40}?) ?opens?(?: for)?(?: the)? (?P<word>longest|shortest)\W*",
    re.I,
)
_TIME = r"(\d{1,2})(?:[:.](\d\d))? ?([ap]m)?"
_SPAN = re.compile(rf"{_TIME} ?(?:-|–|—|to|until) ?{_TIME}", re.I)
_CLOSED = re.compile(r"closed", re.I)


def open_longest(question: str, tables: Sequence[Table], pool: Sequence[Candidate]) -> str:
    """The days with the longest or shortest hours, for each column with hours that the question may mean; empty unless
    just one table has them, or if a sentence may tell."""
    found = _QUESTION.fullmatch(question)
    prose = [each for each in pool if not each.statement.is_row]
    if found is None or any(asked_stems(found["word"]) <= stems_of(each.text) for each in prose):
        return ""
    word, keys = found["word"].lower(), asked_stems(found["what"])
    return the_only([answer for table in tables if (answer := _answer(word, keys, table))])


def _answer(word: str, keys: Set[str], table: Table) -> str:
    if table.is_cut or not all(days_in(row.name) for row in table.rows) or not keys <= table.naming_stems:
        return ""
    columns = [column for column in table.columns if column_stems(column) & keys] or table.columns
    pick = max if word == "longest" else min
    parts = []
    for column in columns:
        minutes = _minutes_by_row(table, column)
        if len(minutes) < 2:
            return ""
        best = pick(minutes.values())
        rows = [row for row, length in minutes.items() if length == best]
        opening = f"{word.capitalize()} of the {len(minutes)} found, by {column_label(column)}"
        parts.append(list_rows(rows, opening, column))
    return "\n\n".join(parts)


def _minutes_by_row(table: Table, column: str) -> dict[Row, int]:
    """How long each row is open, without those that are closed; {} if a cell has anything else."""
    minutes: dict[Row, int] = {}
    for row in table.rows:
        cell = row.cells.get(column, "").strip()
        if is_missing(cell) or _CLOSED.fullmatch(cell):
            continue
        lengths = [_length(span) for span in re.split(r", | and | & ", cell)]
        if not all(lengths):
            return {}
        minutes[row] = sum(lengths)
    return minutes


def _length(span: str) -> int:
    """The minutes from one time to another, such as "9:00–17:30" or "9 am to 5 pm"; 0 if it is not clear."""
    found = _SPAN.fullmatch(span.strip())
    if found is None:
        return 0
    hour, minute, half, last_hour, last_minute, last_half = found.groups()
    if bool(half) != bool(last_half) or not (half or (minute and last_minute)):
        return 0
    return max(0, _minute_of_day(last_hour, last_minute, last_half) - _minute_of_day(hour, minute, half))


def _minute_of_day(hour: str, minute: str | None, half: str | None) -> int:
    hours = int(hour) % 12 + 12 * (half.lower() == "pm") if half else int(hour)
    return 60 * hours + int(minute or 0)
