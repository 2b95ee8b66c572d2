"""Rows of tables and items of lists: which of them a question means, and which are told together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from turnwise.extractive.kinds import MAX_QUESTION_CHARS, MEASURE_WORDS, MONEY, PRICE_WORDS, QUANTITIES, sought
from turnwise.extractive.statements import (
    ANSWERS,
    CONTINUES,
    MAX_GAP,
    Candidate,
    asked_stems,
    neighbours,
    stems_of,
    units,
)
from turnwise.text import asks, ends, words

MAX_WHOLE_TABLE_ROWS = 8  # a larger table is not told whole

# Two things joined by "and" or "or", of a few words each, and words that compare.
_JOINED = re.compile(r"(?<![\w’'-])((?:[\w’'-]+ ){0,3}[\w’'-]+),? (?:and|or) ((?:[\w’'-]+ ){0,3}[\w’'-]+)", re.I)
_COMPARES = re.compile(r"\b(?:than|between|versus|vs)\b", re.I)


def mark_rows(
    pool: Sequence[Candidate],
    question: str,
    chances: Mapping[str, float],
    asked: Set[str],
    typed: Set[str],
    pointing: bool,
) -> None:
    """Mark the rows that are meant: named by a word that is asked for; told in the last answer and asked for again by
    words of theirs, such as "which room?"; or telling the amount that is asked for, where no row of their passage is
    named.

    Of what is asked for, the words of this message are `typed`, and `pointing` is whether it has a pronoun.
    """
    rows = [each for each in pool if each.stated.is_row]
    named = {each.evidence.number for each in rows if each.stated.named_by(asked)}
    for each in rows:
        has_price = MONEY.search(f"{each.stated.whole} {each.evidence.passage.heading}")
        held = stems_of(each.text) | (PRICE_WORDS if has_price else set())
        missing = typed - MEASURE_WORDS - held
        again = each.just_said and not typed.isdisjoint(held) and (not missing or pointing)
        each.meant = each.stated.named_by(asked) or again
        if each.evidence.number not in named:
            each.meant = each.meant or _tells(each, question, chances)
        if each.said and typed & PRICE_WORDS and not has_price:
            each.meant = False  # a day of the month is no price
    _tell_apart(rows, asked - MEASURE_WORDS, set() if pointing else typed, question)
    items = [each for each in pool if each.stated.item and ": " in each.text]
    _leave_to_its_name([*rows, *items], (asked if pointing else typed) - MEASURE_WORDS, question)
    if pointing:
        _leave_to_the_last(rows, typed)


def _tells(row: Candidate, question: str, chances: Mapping[str, float]) -> bool:
    """Whether a row gives the amount or the time that the question asks for, and it or what stands above it names most
    of what the question is about: "adult: 5 euros" under "Tickets" of the document that was talked about."""
    if not any(given.search(row.text) for given in sought(question, QUANTITIES)):
        return False
    named = {key: chances.get(key, 1.0) for key in asked_stems(question) - MEASURE_WORDS}
    stated, passage = row.stated, row.evidence.passage
    place = stems_of(f"{stated.above} {passage.called} {passage.heading}")
    near = stems_of(stated.values or stated.row) | (place - stems_of(row.text))  # the names of its fields say nothing
    return bool(named) and 2 * sum(named[key] for key in named.keys() & near) >= sum(named.values())


def _tell_apart(rows: Sequence[Candidate], asked: Set[str], typed: Set[str], question: str) -> None:
    """Mark the rows that are not asked for by a word of their own, for one that all rows of a table have tells nothing,
    and unless several are asked for, leave out those of which another names all that is asked for and more: "vaccinate
    a dog" means no cat, and "and a cat?" after it no dog."""
    for table in _tables(rows):
        own = [stems_of(each.text) & asked for each in table]
        shared = frozenset.intersection(*own) if len(own) > 1 else frozenset()
        for each, said in zip(table, own, strict=True):
            each.by_place = said <= shared
        names = [] if _wants_several(question, table) else [stems_of(each.stated.name) & asked for each in table]
        for each, named in zip(table, names, strict=False):
            less = any(named < other or named & typed < other & typed for other in names)
            each.meant = each.meant and not less


def _leave_to_its_name(lines: Sequence[Candidate], asked: Set[str], question: str) -> None:
    """Where the whole name of a row or an item is asked for, leave out what names less of the question, or no more and
    begins alike: "a child under 5" is no "child aged 5 to 17"."""
    for table in _tables(lines):
        names = {id(each): stems_of(each.stated.name) & asked for each in table}
        spelled = [each for each in table if names[id(each)] and _spells(question, each)]
        for each in table:
            each.spelled = each in spelled and len(names[id(each)]) > 1
        for each in table if spelled and not _wants_several(question, table) else ():
            named, first = names[id(each)], _first_word(each)
            for other in spelled:
                alike = named == names[id(other)] and first == _first_word(other) and each not in spelled
                each.meant = each.meant and not (named < names[id(other)] or alike)


def _leave_to_the_last(rows: Sequence[Candidate], typed: Set[str]) -> None:
    """After "the full one", "how long does it take?" means no row that begins alike and was not told just now."""
    for table in _tables(rows):
        told = {_first_word(each) for each in table if each.just_said}
        for each in table:
            again = each.just_said or _first_word(each) not in told or typed & stems_of(each.stated.name)
            each.meant = each.meant and bool(again)


def _tables(rows: Sequence[Candidate]) -> Iterable[list[Candidate]]:
    """The rows or items under the same heading of a passage."""
    found: dict[tuple[int, str], list[Candidate]] = {}
    for each in rows:
        found.setdefault((each.evidence.number, each.stated.above), []).append(each)
    return found.values()


def _spells(question: str, row: Candidate) -> bool:
    """Whether a question has the name of a row as it is written, or of a row of fields the first or one of several
    words."""
    first, *others = [field.partition(": ")[2] for field in row.text.split("; ")] if "; " in row.text else [""]
    names = (row.stated.name, first, *(each for each in others if " " in each))
    asked = f" {' '.join(words(question.lower()))} "
    return any(f" {' '.join(words(name.lower()))} " in asked for name in names if name)


def _wants_several(question: str, table: Sequence[Candidate]) -> bool:
    return bool(_COMPARES.search(question) or _joined(question, table))


def _joined(question: str, table: Sequence[Candidate]) -> list[Candidate]:
    """The rows that a question joins: those that each side of an "and" names best, where both name some."""
    found: set[int] = set()
    for sides in _JOINED.findall(question[:MAX_QUESTION_CHARS]):
        one, other = (_best_named(side, table) for side in sides)
        found |= one | other if one and other else set()
    return [each for place, each in enumerate(table) if place in found]


def _best_named(side: str, table: Sequence[Candidate]) -> set[int]:
    """The places of the rows whose names have most words of it, or stand in it as they are."""
    named = stems_of(side)
    worth = [len(named & stems_of(each.stated.name)) + _spells(side, each) for each in table]
    best = max(worth, default=0)
    return {place for place, much in enumerate(worth) if much and much == best}


def priced(row: Candidate, asked: Set[str]) -> Set[str]:
    """The words of asking for a price that a row means and does not say: "adult: 5 euros" says what it costs."""
    stated, passage = row.stated, row.evidence.passage
    means = stated.is_row and row.meant and asked & PRICE_WORDS and MONEY.search(f"{stated.whole} {passage.heading}")
    return asked & PRICE_WORDS if means and asked.isdisjoint(stems_of(stated.row or row.text)) else frozenset()


def with_tables(question: str, chosen: Sequence[Candidate], pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentences, and beside a row the others of its small table that answer as well as it does."""
    best = next((each for each in chosen if each.by_place), next((each for each in chosen if each.stated.is_row), None))
    if best is None:
        return list(chosen)
    rows = [each for each in pool if each.stated.is_row and each.meant and neighbours(each, best)]
    if len(rows) > MAX_WHOLE_TABLE_ROWS:
        return list(chosen)
    joined = _joined(question, rows)
    firsts = set(map(_first_word, joined))  # of what begins alike, only what is joined is asked for
    kept = [each for each in chosen if each in joined or each not in rows or _first_word(each) not in firsts]
    more = joined or _named_alike(best, rows) or _of_one_table(best, rows)
    return [*kept, *(each for each in more if each not in kept)]


def _named_alike(best: Candidate, rows: Sequence[Candidate]) -> list[Candidate]:
    """The rows that begin as one does that is named: of children both "child under 5" and "child aged 5 to 17"."""
    first = "" if best.by_place else _first_word(best)
    return [each for each in rows if first and _first_word(each) == first and _allowed(each)]


def _of_one_table(best: Candidate, rows: Sequence[Candidate]) -> list[Candidate]:
    """The rows of the table of one that is not asked for by a word of its own, where another answers as well."""
    table = [each for each in rows if best.by_place and each.said == best.said]
    alike = [each for each in table if each.score >= max(ANSWERS, best.score - MAX_GAP)]
    return [each for each in table if _allowed(each)] if len(alike) > 1 else []


def _allowed(row: Candidate) -> bool:
    """Whether the judge did not turn it down."""
    return not row.score or row.score >= CONTINUES


def _first_word(row: Candidate) -> str:
    """The first word of its name that says something, by its stem."""
    return next((key for word in words(row.stated.name) for key in stems_of(word)), "")


def leads(chosen: Sequence[Candidate]) -> Iterator[str]:
    """What stands before each as it is quoted. An item that is no sentence says little without the heading of its list,
    which may be "What is not covered", nor a row that the question does not name, or that is told beside one of another
    list; once is enough for those under the same."""
    last = ""
    several = len({each.stated.above for each in chosen if each.stated.is_row}) > 1
    for each in chosen:
        row = each.by_place or (several and each.stated.is_row)
        bare = row or (each.item and (not ends(each.text) or len(units(each.text)) < 4))
        heading = (each.stated.above or each.evidence.passage.heading.rpartition(" > ")[2]).rstrip(": ") if bare else ""
        yield "" if heading in ("", last) else f"{heading} " if asks(heading) else f"{heading}{' –' if row else ':'} "
        last = heading
