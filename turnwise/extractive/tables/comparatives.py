"""Which of two rows has the lower or higher amount: "what's cheaper, rye or sourdough?", "which one is cheaper?"."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from turnwise.dialogue.citing import abstains
from turnwise.extractive.kinds import PRICE_WORDS
from turnwise.extractive.sides import side_stems
from turnwise.extractive.statements import Candidate, stems_of
from turnwise.extractive.tables.answers import Answer, write
from turnwise.extractive.tables.comparison import rows_of_sides
from turnwise.extractive.tables.model import Row, Table, comparable_amounts
from turnwise.extractive.tables.superlatives import (
    DATES,
    HEIGHTS,
    LENGTHS,
    SIZES,
    SPEEDS,
    WEIGHTS,
    best_cell,
    best_rows,
    by_column,
    column_to_compare,
)
from turnwise.extractive.tables.vocabulary import column_stems
from turnwise.extractive.writing import is_told
from turnwise.types import Prompt

MAX_ANSWERS_BACK = 4  # that "which of them" may refer to
RECENT_ANSWERS = 2  # one of which must have told a row that "which one" refers to

_COMPARATIVES: tuple[tuple[str, bool, Set[str]], ...] = (
    ("cheaper|less expensive|costs? less", False, PRICE_WORDS),
    ("more expensive|dearer|pricier|costlier|costs? more", True, PRICE_WORDS),
    ("longer", True, LENGTHS),
    ("shorter", False, LENGTHS),
    ("larger|bigger", True, SIZES),
    ("smaller", False, SIZES),
    ("heavier", True, WEIGHTS),
    ("lighter", False, WEIGHTS),
    ("taller", True, HEIGHTS),
    ("faster|quicker", True, SPEEDS),
    ("earlier|sooner", False, DATES),
    ("later", True, DATES),
)
_WORD = rf"(?P<word>{'|'.join(words for words, *_ in _COMPARATIVES)})"
_SIDES = r"(?P<one>[^,?]{1,60}?),? or (?P<other>[^,?]{1,60}?)"
_START = r"(?:(?:and|so|but|ok|okay),? )?"
_QUESTIONS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"{_START}(?:which|what)(?: one| of (?:them|these|those|the two|both))?(?:['’]s| is| are)?(?: the)? {_WORD}"
        rf"(?:[,:]? {_SIDES})?\W*",
        rf"{_START}(?:is|are|does|do) {_SIDES} {_WORD}\W*",
    )
)


@dataclass(frozen=True, slots=True)
class _Request:
    """What a question compares."""

    word: str  # "cheaper", also if the question says "costs less"
    is_higher: bool
    columns: Set[str]  # stems of columns that it may mean
    sides: Sequence[Set[str]]  # the stems of both; none if they were told before


def comparative_row(question: str, tables: Sequence[Table], pool: Sequence[Candidate], prompt: Prompt) -> str:
    """The one of two rows that is cheaper, longer or the like; empty if a sentence may tell."""
    request = _request_in(question)
    if request is None or _in_a_sentence(request, pool):
        return ""
    answer = write([_answer(request, table, prompt) for table in tables])
    return answer or next(filter(None, (_cell_of_columns(request, table) for table in tables)), "")


def _cell_of_columns(request: _Request, table: Table) -> str:
    """The better cell of the row that is compared, where the two things are the columns."""
    compared = [row for row in table.rows if stems_of(row.name) & request.columns]
    named = [any(side <= column_stems(column) for column in table.columns) for side in request.sides]
    meant = all(named) if named else bool(table.just_said)
    return best_cell(compared[0], request.is_higher) if meant and len(compared) == 1 and len(table.columns) == 2 else ""


def _request_in(question: str) -> _Request | None:
    found = next(filter(None, (pattern.fullmatch(question) for pattern in _QUESTIONS)), None)
    if found is None:
        return None
    sides = side_stems([found["one"], found["other"]]) if found["one"] else []
    words, is_higher, columns = next(each for each in _COMPARATIVES if re.fullmatch(each[0], found["word"], re.I))
    return _Request(words.partition("|")[0], is_higher, columns, sides)


def _in_a_sentence(request: _Request, pool: Sequence[Candidate]) -> bool:
    """Whether a sentence compares both sides."""
    prose = [stems_of(each.text) for each in pool if not each.statement.is_row]
    return bool(request.sides) and any(all(side <= said for side in request.sides) for said in prose)


def _answer(request: _Request, table: Table, prompt: Prompt) -> Answer:
    rows = rows_of_sides(table, request.sides) if request.sides else recently_told(table, prompt)
    column = column_to_compare(table, set(), request.columns)
    amounts = [] if column is None or len(rows) != 2 else comparable_amounts(rows, column)
    if len(amounts) != 2:
        return Answer(table, [])
    best = best_rows(amounts, request.is_higher)
    lead = f"{request.word.capitalize()} of the two rows" if len(best) == 1 else "The two rows are equal"
    return Answer(table, best, lead, by_column(column))


def rows_by_answer(table: Table, prompt: Prompt) -> list[list[Row]]:
    """The rows that each of the last answers told, the latest first, without those that knew no answer."""
    answers = [answer for answer in reversed(prompt.said[-MAX_ANSWERS_BACK:]) if not abstains(answer)]
    return [[row for row in table.rows if is_told(row.candidate, [answer])] for answer in answers]


def recently_told(table: Table, prompt: Prompt) -> list[Row]:
    """The rows of the last answer if it has several, else the last two that were told, one after the other."""
    told: list[Row] = []
    if any(is_told(row.candidate, prompt.said[-RECENT_ANSWERS:]) for row in table.rows):
        for rows in rows_by_answer(table, prompt):
            told += [row for row in rows if row not in told]
            if len(told) > 1:
                break
    return table.just_said if len(table.just_said) > 1 else told
