"""What a question names by a code, as a place or a day: what tells of another one is no answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.extractive.kinds import MAX_QUESTION_CHARS, MEASURE_WORDS
from turnwise.extractive.periods import days_told, periods_named
from turnwise.extractive.statements import Candidate, stems_of, stems_with_headings

_CODE = re.compile(r"(?<![\w-])(?!v\d)([A-Za-z]{1,8})-?(\d{1,5}[A-Za-z]{0,2})(?![\w-])", re.I)
_PLACE = re.compile(r"\b(?:in|at|to|inside|into|from|of) (?:the|your|our|my) ([\w-]+(?: [\w-]+)?)", re.I)


def of_what_is_named(question: str, typed: str, pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentences that may tell of what a question names; all if it names nothing like that."""
    question = question[:MAX_QUESTION_CHARS]
    return _of_named_days(question, _of_named_place(question, _of_named_codes(question, typed, pool)))


def _of_named_codes(question: str, typed: str, pool: Sequence[Candidate]) -> list[Candidate]:
    """What is in passages with one of the codes that the message has as it was `typed`."""
    codes = [rf"(?<![A-Za-z]){letters}[ -]?{number}(?!\w)" for letters, number in _CODE.findall(question)]
    named = [pattern for pattern in (re.compile(code, re.I) for code in codes) if pattern.search(typed)]
    if not named:
        return list(pool)
    passages = {each.evidence.number: each.evidence.passage for each in pool}
    texts = {number: f"{each.called}\n{each.heading}\n{each.source}\n{each.text}" for number, each in passages.items()}
    with_code = {number for number, text in texts.items() if any(code.search(text) for code in named)}
    return [each for each in pool if each.evidence.number in with_code]


def _of_named_place(question: str, pool: Sequence[Candidate]) -> list[Candidate]:
    """If some documents are called as a place in the question, what has less of its name than they have is left out."""
    places = stems_of(" ".join(_PLACE.findall(question))) - MEASURE_WORDS
    called = {each.evidence.passage.document_id: places & stems_of(each.evidence.passage.called) for each in pool}
    titles = [named for named in called.values() if named]
    if not titles or len(titles) == len(called):
        return list(pool)
    named = frozenset().union(*titles)
    return [each for each in pool if not any(named & stems_with_headings(each) < title for title in titles)]


def _of_named_days(question: str, pool: Sequence[Candidate]) -> list[Candidate]:
    """If a sentence tells of a day that is asked about, those of its document that tell only of other days are left
    out: "is it open on Mondays?" is not answered by the hours from Tuesday to Sunday."""
    days = periods_named(question)
    told = {id(each): days_told(each.text) for each in pool if days and not each.statement.is_row}
    documents = {each.evidence.passage.document_id for each in pool if told.get(id(each), frozenset()) & days}

    def is_of_others(each: Candidate) -> bool:
        own = told.get(id(each), frozenset())
        return bool(own) and own.isdisjoint(days) and each.evidence.passage.document_id in documents

    return [each for each in pool if not is_of_others(each)]
