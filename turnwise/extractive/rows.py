"""Rows of tables and items of lists: which of them a question means, and which are quoted together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from turnwise.dialogue.asked_again import asks_again
from turnwise.dialogue.intent import read_intent
from turnwise.extractive.asking import PRONOUN, is_teacher_asked
from turnwise.extractive.kinds import (
    MAX_QUESTION_CHARS,
    MEASURE_WORDS,
    OPENING_WORDS,
    PRICE_WORDS,
    QUANTITIES,
    answer_patterns,
    has_money,
    tells_measure,
    without_measures,
)
from turnwise.extractive.periods import PERIOD_STEMS, periods_in, periods_named
from turnwise.extractive.statements import (
    ANSWER_SCORE,
    CONTINUATION_SCORE,
    Candidate,
    asked_stems,
    line_above,
    neighbours,
    stems_of,
    units,
)
from turnwise.text import asks, ends, stem, words
from turnwise.types import Prompt

NAMING_PROBABILITY = 0.5  # from here on a word of the conversation may name a row
MAX_WHOLE_TABLE_ROWS = 8  # a larger table is not quoted whole

# Two things joined by "and" or "or", of a few words each, and words that compare.
_JOINED = re.compile(r"(?<![\w’'-])((?:[\w’'-]+ ){0,3}[\w’'-]+),? (?:and|or) ((?:[\w’'-]+ ){0,3}[\w’'-]+)", re.I)
_COMPARES = re.compile(r"\b(?:than|between|versus|vs)\b", re.I)
# What a row must not have, "without milk", and the most it may cost, "under 6". "Under 5s" are people.
_WITHOUT = re.compile(
    r"\b(?:(?:without|with no|ha(?:s|ve) no|contains? no|free (?:of|from)|do(?:es)?(?:n['’]t| not) (?:have|contain)) "
    r"(?:any )?([a-z]{3,})|([a-z]{3,})[- ]free)\b",
    re.I,
)
_AT_MOST = re.compile(r"\b(?:under|below|less than|cheaper than|up to|at most) [$€£]? ?(\d+(?:\.\d+)?)(?![\w%])", re.I)
_PEOPLE = re.compile(r"\b(?:child\w*|kids?|babies|adults?|seniors?|age\w*|years?|people|persons?)\b", re.I)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_YES_OR_NO = re.compile(r"(?:yes|no)[.,!]", re.I)


def mark_rows(pool: Sequence[Candidate], question: str, chances: Mapping[str, float], prompt: Prompt) -> None:
    """Mark the rows that are meant: those with a word that is asked for; those quoted in the last answer and asked for
    again by words of theirs, such as "which room?"; and those that give the amount asked for, if no row of their
    passage has a word that is asked for. `chances` says how surely each word of the conversation is meant."""
    typed, pointing = asked_stems(prompt.question), bool(PRONOUN.search(prompt.question))
    wanted = asked_stems(question)
    asked: Set[str] = (typed or wanted) | {key for key in wanted if chances.get(key, 0.0) >= NAMING_PROBABILITY}
    rows = [each for each in pool if each.statement.is_row]
    if asked <= OPENING_WORDS and any(map(tells_hours, rows)):
        asked = frozenset()  # "when do you close?" does not mean just the days with the word "closed"
    named = {each.evidence.number for each in rows if each.statement.named_by(asked)}
    for each in rows:
        has_price = has_money(each)
        held = stems_of(each.text) | (PRICE_WORDS if has_price else set())
        missing = typed - MEASURE_WORDS - held
        again = each.just_said and not typed.isdisjoint(held) and (not missing or pointing)
        each.meant = each.statement.named_by(asked) or again
        if each.evidence.number not in named:
            each.meant = each.meant or _gives_amount(each, question, chances)
        if each.said and typed & PRICE_WORDS and not has_price:
            each.meant = False  # a day of the month is not a price
        each.meant = each.meant and not _contradicts(each, question[:MAX_QUESTION_CHARS])
    _distinguish(rows, asked - MEASURE_WORDS, set() if pointing else typed, question)
    items = [each for each in pool if each.statement.is_item and ": " in each.text]
    _prefer_spelled([*rows, *items], (asked if pointing else typed) - MEASURE_WORDS, question)
    _prefer_labelled(items, prompt.question)
    for each in rows:
        each.meant = each.meant or is_teacher_asked(each, question)
    if pointing:
        _prefer_just_said(rows, typed)
    measured = [each for each in rows if tells_measure(each, question)]
    for table in by_table(rows) if measured else ():
        for each in table if any(each in measured for each in table) else ():
            each.meant = each.spelled = each in measured
    if periods := periods_named(question[:MAX_QUESTION_CHARS]):
        _prefer_period(rows, periods)
    _prefer_document(rows, asked - MEASURE_WORDS - PERIOD_STEMS)


def _contradicts(row: Candidate, question: str) -> bool:
    """Whether a row has what the question excludes, or costs more than it allows."""
    cells = row.statement.cells
    for found in _WITHOUT.finditer(question):
        excluded = stem((found[1] or found[2]).lower())
        values = [re.sub(r"\b[\w-]+[- ]free\b", "", value, flags=re.I) for _, value in cells]
        if any(stem(word.lower()).endswith(excluded) for value in values for word in words(value)):
            return True
        if any(
            {excluded, "free"} <= stems_of(column.replace("_", " ")) and value.lower() == "no"
            for column, value in cells
        ):
            return True
    most = None if _PEOPLE.search(question) else _AT_MOST.search(question)
    prices = [_NUMBER.search(value) for column, value in cells if stems_of(column) & PRICE_WORDS]
    return most is not None and any(price is not None and float(price[0]) > float(most[1]) for price in prices)


def _gives_amount(row: Candidate, question: str, chances: Mapping[str, float]) -> bool:
    """Whether a row gives the amount or time that the question asks for, and it or its headings name most of what the
    question is about: "adult: 5 euros" under "Tickets", in the document that was talked about."""
    if not any(pattern.search(row.text) for pattern in answer_patterns(question, QUANTITIES)):
        return False
    asked = asked_stems(question)
    named = {key: chances.get(key, 1.0) for key in asked - MEASURE_WORDS}
    statement, headings = row.statement, _names_around(row)
    if asked & OPENING_WORDS and without_measures(named.keys()) <= PERIOD_STEMS:
        # "When are you open on Friday?" asks for all that is under "Opening hours".
        return tells_hours(row)
    # The names of the row's own fields do not count.
    near = stems_of(statement.values or statement.row) | (headings - stems_of(row.text))
    return bool(named) and 2 * sum(named[key] for key in named.keys() & near) >= sum(named.values())


def tells_hours(row: Candidate) -> bool:
    """Whether a row is under a heading such as "Opening hours"."""
    return not OPENING_WORDS.isdisjoint(stems_of(line_above(row)))


def _distinguish(rows: Sequence[Candidate], asked: Set[str], typed: Set[str], question: str) -> None:
    """Mark the rows that are meant only by their place: whatever they have of the question, all rows of their table
    have. Unless several rows are asked for, drop a row if the name of another has all its words of the question and
    more: "vaccinate a dog" does not mean the cat, and "and a cat?" after it does not mean the dog."""
    for table in by_table(rows):
        own = [stems_of(each.text) & asked for each in table]
        shared = frozenset.intersection(*own) if len(own) > 1 else frozenset()
        for each, said in zip(table, own, strict=True):
            each.by_place = said <= shared
        names = [] if _wants_several(question, table) else [stems_of(each.statement.name) & asked for each in table]
        for each, named in zip(table, names, strict=False):
            names_less = any(named < other or named & typed < other & typed for other in names)
            each.meant = each.meant and not names_less


def _prefer_spelled(lines: Sequence[Candidate], asked: Set[str], question: str) -> None:
    """If the question has the whole name of a row or item, drop those that name less of the question, or that name the
    same and begin alike: "a child under 5" is not a "child aged 5 to 17"."""
    for table in by_table(lines):
        names = {id(each): stems_of(each.statement.name) & asked for each in table}
        spelled = [each for each in table if names[id(each)] and _spells(question, each)]
        for each in table:
            each.spelled = each in spelled and len(names[id(each)]) > 1
        for each in table if spelled and not _wants_several(question, table) else ():
            named, first = names[id(each)], _first_word(each)
            for other in spelled:
                alike = named == names[id(other)] and first == _first_word(other) and each not in spelled
                each.meant = each.meant and not (named < names[id(other)] or alike)


def _prefer_labelled(items: Sequence[Candidate], typed: str) -> None:
    """If a message has the whole label of an item, of several words, the other items of that list are not meant: "and
    the day before?" where the list has "Two days before: ..." and "The day before: ..."."""
    for listed in by_table(items):
        labelled = [each for each in listed if len(words(each.statement.name)) > 1 and _spells(typed, each)]
        for each in listed if labelled else ():
            each.meant = each.spelled = each in labelled


def _prefer_just_said(rows: Sequence[Candidate], typed: Set[str]) -> None:
    """After "the full one", "how long does it take?" does not mean a row that begins alike and was not just quoted."""
    for table in by_table(rows):
        firsts = {_first_word(each) for each in table if each.just_said}
        for each in table:
            kept = each.just_said or _first_word(each) not in firsts or typed & stems_of(each.statement.name)
            each.meant = each.meant and bool(kept)


def _prefer_period(rows: Sequence[Candidate], periods: Set[str]) -> None:
    """Of the rows of a table that are each for some days or months, only those for the ones that are asked about are
    meant: "Monday to Thursday" for a Wednesday."""
    for table in by_table(rows):
        fitting = [each for each in table if periods_in(each.statement.name) & periods]
        for each in table if fitting and any(each.meant for each in table) else ():
            each.meant = each.spelled = each in fitting


def _prefer_document(rows: Sequence[Candidate], named: Set[str]) -> None:
    """If some of the rows that are meant are in documents or sections whose names have more of what is asked for, the
    others are not meant, unless they have it themselves: "is the library open on Sunday?" does not mean the pool."""
    meant = [each for each in rows if each.meant] if named else []
    around = [named & _names_around(each) for each in meant]
    places = set(around)  # a few, however many rows
    for each, near in zip(meant, around, strict=True):
        own = near | (stems_of(each.text) & named)
        each.meant = not any(own < other for other in places)


def _names_around(row: Candidate) -> frozenset[str]:
    """The stems of the line above a row, of its headings and of its document's name."""
    passage = row.evidence.passage
    return stems_of(f"{row.statement.above} {passage.called} {passage.heading}")


def by_table(rows: Sequence[Candidate]) -> Iterable[list[Candidate]]:
    """The rows or items under the same heading of a passage."""
    tables: dict[tuple[int, str], list[Candidate]] = {}
    for each in rows:
        tables.setdefault((each.evidence.number, each.statement.above), []).append(each)
    return tables.values()


def _spells(question: str, row: Candidate) -> bool:
    """Whether a question has the name of a row as it is written; or, of a row of fields, the first value or another one
    of several words."""
    first, *others = [field.partition(": ")[2] for field in row.text.split("; ")] if "; " in row.text else [""]
    names = (row.statement.name, first, *(each for each in others if " " in each))
    asked = f" {' '.join(words(question.lower()))} "
    return any(f" {' '.join(words(name.lower()))} " in asked for name in names if name)


def _wants_several(question: str, table: Sequence[Candidate]) -> bool:
    return bool(_COMPARES.search(question) or _joined(question, table))


def _joined(question: str, table: Sequence[Candidate]) -> list[Candidate]:
    """The rows that a question joins with "and": those that each side names best, if both sides name some, and those
    that are for both: for adults and children also the family ticket, "two adults and up to four children"."""
    found: set[int] = set()
    for sides in _JOINED.findall(question[:MAX_QUESTION_CHARS]):
        one, other = (_best_named(side, table) for side in sides)
        if one and other:
            found |= one | other | _for_both(_names(one, sides[0], table), _names(other, sides[1], table), table)
    return [each for place, each in enumerate(table) if place in found]


def _names(places: Set[int], side: str, table: Sequence[Candidate]) -> frozenset[str]:
    """The words of a side that name these rows."""
    named = frozenset().union(*(stems_of(table[place].statement.name) for place in places))
    return named & stems_of(side) - MEASURE_WORDS


def _for_both(one: Set[str], other: Set[str], table: Sequence[Candidate]) -> set[int]:
    """The places of the rows that have a word of each side that the other does not have."""
    texts = [stems_of(each.text) for each in table]
    return {place for place, text in enumerate(texts) if text & (one - other) and text & (other - one)}


def _best_named(side: str, table: Sequence[Candidate]) -> set[int]:
    """The places of the rows whose names share most words with it, where the exact name counts as one more."""
    named = stems_of(side)
    counts = [len(named & stems_of(each.statement.name)) + _spells(side, each) for each in table]
    best = max(counts, default=0)
    return {place for place, count in enumerate(counts) if count and count == best}


def implied_price_words(row: Candidate, asked: Set[str]) -> Set[str]:
    """The price words of a question that a row implies without having them: "adult: 5 euros" says what it costs."""
    statement, price_words = row.statement, asked & PRICE_WORDS
    if not (statement.is_row and row.meant and price_words):
        return frozenset()
    has_price = has_money(row)
    return price_words if has_price and asked.isdisjoint(stems_of(statement.row or row.text)) else frozenset()


def with_tables(
    question: str, chosen: Sequence[Candidate], pool: Sequence[Candidate], prompt: Prompt
) -> list[Candidate]:
    """The sentences and, if one is a row, the other rows of its small table that answer as well."""
    best = next(
        (each for each in chosen if each.by_place), next((each for each in chosen if each.statement.is_row), None)
    )
    if best is None:
        return list(chosen)
    rows = [each for each in pool if each.statement.is_row and each.meant and neighbours(each, best)]
    if len(rows) > MAX_WHOLE_TABLE_ROWS:
        return list(chosen)
    joined = _joined(question, rows)
    firsts = set(map(_first_word, joined))  # of rows that begin alike, only the joined ones are asked for
    kept = [each for each in chosen if each in joined or each not in rows or _first_word(each) not in firsts]
    of_another = asks_again(prompt.question, question) or read_intent(prompt.question).intent == "clarify"
    untold = [each for each in rows if each.said == best.said] if of_another else rows
    more = joined or _beginning_alike(best, rows) or _whole_table(best, untold)
    return [*kept, *(each for each in more if each not in kept)]


def _beginning_alike(best: Candidate, rows: Sequence[Candidate]) -> list[Candidate]:
    """The rows that begin like a row that is asked for: for children, "child under 5" and "child aged 5 to 17"."""
    first = "" if best.by_place else _first_word(best)
    return [each for each in rows if first and _first_word(each) == first and _not_rejected(each)]


def _whole_table(best: Candidate, rows: Sequence[Candidate]) -> list[Candidate]:
    """All rows of the table, if the best one is meant only by its place and another one answers too."""
    table = [each for each in rows if best.by_place]
    answering = [each for each in table if each.score >= ANSWER_SCORE]
    return [each for each in table if _not_rejected(each)] if len(answering) > 1 else []


def _not_rejected(row: Candidate) -> bool:
    """Whether the judge did not read it, or accepted it."""
    return not row.score or row.score >= CONTINUATION_SCORE


def _first_word(row: Candidate) -> str:
    """The stem of the first word in its name that has one."""
    return next((key for word in words(row.statement.name) for key in stems_of(word)), "")


def lead_ins(chosen: Sequence[Candidate]) -> Iterator[str]:
    """The words to put before each sentence as it is quoted. An item that is not a sentence says little without the
    heading of its list, which may be "What is not covered", and any item without the version or year that is its
    heading. The same goes for a row that the question does not name, or that is quoted next to one of another list. A
    sentence after "Yes." follows it and its question, because that may not be what the user asks. A heading is not
    repeated."""
    last = ""
    several = len({each.statement.above for each in chosen if each.statement.is_row}) > 1
    for each in chosen:
        row = each.by_place or (several and each.statement.is_row)
        above = (each.version or line_above(each)).rstrip(": ")
        reply = f"{each.statement.reply} " if each.statement.reply and asks(above) else ""
        replies = reply or (asks(above) and _YES_OR_NO.match(each.text))
        short = not ends(each.text) or len(units(each.text)) < 4
        bare = row or replies or (each.is_item and (short or each.version))
        heading = above if bare else ""
        lead = f"{heading} {reply}" if asks(heading) else f"{heading}{' –' if row else ':'} "
        yield "" if heading in ("", last) else lead
        last = heading
