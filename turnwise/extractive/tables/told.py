"""Questions about the rows of the last answer: "which of those are vegan?", "how many are there?", "is it vegan?"."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from turnwise.dialogue.citing import abstains
from turnwise.dialogue.language import says
from turnwise.english import NUMBER_WORD, WEEKDAYS
from turnwise.extractive.cells import row_in_words
from turnwise.extractive.kinds import PRICE_WORDS, QUANTITIES, answer_patterns
from turnwise.extractive.periods import days_in
from turnwise.extractive.statements import asked_stems, stems_of, stems_with_headings
from turnwise.extractive.tables.answers import list_rows, the_only
from turnwise.extractive.tables.comparatives import MAX_ANSWERS_BACK, rows_by_answer
from turnwise.extractive.tables.exclusions import rows_without
from turnwise.extractive.tables.lists import rows_within_limit
from turnwise.extractive.tables.model import NO, YES, Row, Table, is_missing, is_negated
from turnwise.extractive.tables.superlatives import (
    DATES,
    HEIGHTS,
    LENGTHS,
    SIZES,
    WEIGHTS,
    superlative_rows,
)
from turnwise.extractive.tables.vocabulary import ANY_ROW_STEMS, FORM_STEMS, NEGATION, column_stems
from turnwise.extractive.writing import quote
from turnwise.text import stem, words
from turnwise.types import Prompt

_OPENING = re.compile(r"(?:(?:and|so|but|ok|okay|then|now|no|sorry|actually|i mean|i meant),? )*", re.I)
_THESE = rf"(?:(?:all )?(?:of )?(?:these|those|them|the (?:\d+|{NUMBER_WORD}|lot)))"
_VERB = (
    r"(?:is|are|has|have|contains?|includes?|costs?|weighs?|lasts?|takes?|can|do|does|runs?|opens?|works?"
    r"|(?:is|are|do|does)n['’]t)"
)
_WHICH_OF = re.compile(
    rf"(?:which|what)(?: ones?)? (?:(?:of|among|out of) {_THESE} (?P<of>.+)|(?P<rest>{_VERB}\b.+))",
    re.I,
)
_ANY_OF = re.compile(
    rf"(?:is|are|do|does|have|has) (?:(?:any|some|one|all|both|either|each|none)(?: of {_THESE}| ones?)"
    r"|(?:they|these|those)(?: all| both)?) (?P<rest>.+)",
    re.I,
)
_HOW_MANY_OF = re.compile(rf"how many (?:of {_THESE}|ones) (?P<rest>.+)", re.I)
_HOW_MANY = re.compile(
    r"how many(?: (?:of (?:them|these|those)|ones))?(?: (?:are|is|were) (?:there|they|that|those|these|it))?"
    r"(?: (?:in total|in all|altogether|all together))?",
    re.I,
)
_SEVERAL = re.compile(r"\bof (?:them|these|those)\b|\bones\b|\ball\b|\bhow many\b|\b(?:total|average)\b", re.I)
_POINTS_BACK = re.compile(r"\b(?:it|its|they|them|their|that|this|these|those|he|she|his|her|one)\b", re.I)
_ASKS_COLUMN = re.compile(
    r"(?:what|when|how (?:long|much|big|large|high|fast|heavy))(?:['’]s| is| time is) (?:the|its)\b", re.I
)
_WHOLE_COLUMN = re.compile(r"what are (?:the|your|all the) (?:[a-z]+ )?[a-z]+s", re.I)  # of all rows
_JUST_COLUMN = re.compile(  # "which room?", "how many seats?"
    r"(?:(?:for |in |on |at )?(?:which|what(?! about))|how many|the) [a-z]+(?: [a-z]+){0,2}?(?: (?:are|is) there)?",
    re.I,
)
_AND_COLUMN = re.compile(r"(?:and|(?:what|how) about) (?:with |by )?(?:the )?[a-z]+(?: [a-z]+)?", re.I)
_AND_ANOTHER = re.compile(r"(?:and|or),? (?:(?:the|an?|your) )?(?P<name>[^,;?]{1,40})\W*", re.I)  # "and the bridge?"
_WHO_RUNS_IT = re.compile(
    r"who(?:['’]s| is| will be)? (?:runs?|leads?|teach(?:es)?|organi[sz]es?|hosts?|coach(?:es)?|takes?"
    r"|running|leading|teaching|organi[sz]ing|hosting|coaching|taking) (?:it|this|that|them)",
    re.I,
)
_IN_CHARGE = frozenset(
    map(stem, "leader teacher instructor tutor coach trainer organiser organizer host guide supervisor".split())
)
_PERSON = re.compile(r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Sir|Dame|Sra?|Herr|Frau|Mme|M)\.? \w")
_HOW_MUCH_IS_IT = re.compile(r"(?:how much (?:is|does|would)|what (?:is|does)) (?:it|that|this)(?: be| cost)?", re.I)
_HOW_OFTEN = re.compile(r"how (?:often|frequently)\b", re.I)
_YES_OR_NO = re.compile(r"(?:is|are|does|do|has|have|can|was|were)\b", re.I)
_RELATION = re.compile(  # a cell that has the words of such a question does not answer it
    r"\b(?:or|after|before|more|less|fewer|under|over|above|below|until|till?|to|up|from|since|by|between|than|least|most"
    r"|only|just|exactly|closed)\b|[–—-]",
    re.I,
)
_FREE_TEXT = frozenset(map(stem, "note notes comment comments remark remarks description details info".split()))
_MAX_CATEGORY_WORDS = 2
_MEASURES = (  # words for what a column has, with the stems of its name
    (re.compile(r"\bhow heavy\b|\bweighs?\b", re.I), WEIGHTS),
    (re.compile(r"\bhow (?:long|far)\b", re.I), LENGTHS),
    (re.compile(r"\bhow (?:tall|high)\b", re.I), HEIGHTS),
    (re.compile(r"\bhow (?:big|large)\b", re.I), SIZES),
    (re.compile(r"\bhow much\b|\bwhat (?:does|do) \w+ cost\b", re.I), PRICE_WORDS),
    (re.compile(r"\bwhat time\b", re.I), frozenset(map(stem, "time times start starts hours".split()))),
    (re.compile(r"\bhow often\b", re.I), frozenset(map(stem, "every frequency interval".split()))),
    (re.compile(r"\bwhen\b", re.I), DATES | frozenset(map(stem, "days time times available hours".split()))),
)
_FILLERS = frozenset(  # words of such questions that name no column
    map(stem, "heavy weigh long far tall high big large much take often number address time work run open".split())
)


def about_told_rows(message: str, tables: Sequence[Table], prompt: Prompt) -> str:
    """The answer to a message about the rows of the last answer, or, if it told just one and the message means several,
    of the last one that told several; empty if it is about anything else."""
    told_in = {table: rows for table in tables if any(rows := rows_by_answer(table, prompt)) and rows[0]}
    if len(told_in) != 1:
        return ""
    ((table, by_answer),) = told_in.items()
    answers = [answer for answer in reversed(prompt.said[-MAX_ANSWERS_BACK:]) if not abstains(answer)]
    text = _OPENING.sub("", message.strip(), count=1).rstrip("?!. ")
    goes_on = bool(_AND_COLUMN.fullmatch(message.strip().rstrip("?!. ")))
    is_one = len(by_answer[0]) == 1 and _is_whole(answers[0], 1)
    if is_one and (_is_broader(text, by_answer[0][0], prompt.last_question) or _has_left(by_answer[0][0], prompt)):
        return ""
    if is_one and (answer := _about_one(text, by_answer[0][0], table, goes_on)):
        return answer
    back = next((index for index, rows in enumerate(by_answer) if len(rows) > 1), None)
    if back is None or not all(map(_is_whole, answers[: back + 1], map(len, by_answer))):
        return ""
    told = table.only(by_answer[back])
    if back and text.lower() == "how many":
        return ""  # of what was told last
    if _HOW_MANY.fullmatch(text):
        return list_rows(told.rows, f"{len(told.rows)} rows")
    for pattern in (_WHICH_OF, _ANY_OF, _HOW_MANY_OF):
        if found := pattern.fullmatch(text):
            if pattern is _WHICH_OF and not found["of"] and table.numbers_in(text)[1]:
                return ""  # "what can I do in year 7?" asks about all rows
            return _some_of(found.groupdict().get("of") or found["rest"], told, table)
    return ""


def another_row(message: str, tables: Sequence[Table], prompt: Prompt) -> str:
    """The row that a message such as "and the baguette?" names, of the table whose rows the last answer told, and
    nothing else; just a cell if that told one. Empty if the message may mean anything else."""
    found = _AND_ANOTHER.fullmatch(message.strip())
    told_in = [(table, table.just_said) for table in tables if table.just_said]
    if not found or len(told_in) != 1 or prompt.said[-1].count("[") > len(told_in[0][1]):
        return ""
    ((table, told),) = told_in
    keys = asked_stems(found["name"])
    named = [row for row in table.rows if keys and keys <= row.cell_stems[0]]
    named = [row for row in named if row.cell_stems[0] == keys] or named
    if len(named) != 1 or named[0] in told or any(keys <= column_stems(column) for column in table.columns):
        return ""
    if any(keys <= kind for row in table.rows if row is not named[0] for kind in row.kinds):
        return ""  # "and the bread?" after the cheapest cake
    text = quote(named[0].candidate, _column_told(told[0], prompt.said[-1]) if len(told) == 1 else "")
    return f"{says('en', 'again')}{text}" if named[0].candidate.said else text


def _column_told(row: Row, answer: str) -> str:
    """The column of the only cell of a row that an answer told; empty if it told the whole row."""
    if row_in_words(row.candidate) in answer:
        return ""
    return next((column for column in row.cells if row_in_words(row.candidate, column) in answer), "")


def _is_whole(answer: str, found: int) -> bool:
    """Whether all rows that an answer was about are among those found again."""
    return "There are more rows." not in answer and sum(line.startswith("- ") for line in answer.splitlines()) <= found


def _some_of(condition: str, told: Table, table: Table) -> str:
    """Those of the rows told that a condition fits: "are vegan", "is the cheapest", "cost less than £3"."""
    question = f"which {told.first_column or 'thing'} {condition}"
    if NEGATION.search(condition):
        return rows_without(question, [told])
    limited = superlative_rows(question, asked_stems(question), [told], []) or rows_within_limit(question, [told])
    if limited:
        return limited
    keys = asked_stems(condition) - FORM_STEMS
    fitting = table.select(condition)
    if not keys or not (fitting or keys <= table.flags.keys()):
        return ""  # it has a word that no row has
    chosen = [row for row in told.rows if row in fitting]
    columns = _deciding_columns(keys, table)
    cells = [row.cells.get(column, "") for row in told.rows for column in columns]
    if not columns:
        return ""
    total = len(told.rows)
    if chosen:
        count = f"All {total}" if len(chosen) == total else f"{len(chosen)} of the {total}"
        return list_rows(chosen, "" if any(map(is_missing, cells)) else count)
    if any(map(is_missing, cells)) or not all(_can_deny(column, told, table) for column in columns):
        return ""
    return list_rows(told.rows, f"None of the {total}", the_only(columns))


def _deciding_columns(keys: Set[str], table: Table) -> list[str]:
    """The columns that say which rows a condition fits: of "yes" and "no", of days, or of short kinds; none if one of
    its words is in no such column."""
    deciding: set[str] = set()
    for key in keys:
        if column := table.flags.get(key):
            deciding.add(column)
            continue
        columns = [
            column for column in table.columns if key in table.cell_stems_of(column) and _has_kinds(column, table)
        ]
        if not columns and (key not in table.naming_stems or table.has_kind(key)):
            return []
        deciding.update(columns)
    return [column for column in table.columns if column in deciding]


def _parts(column: str, table: Table) -> list[str]:
    return [part for row in table.rows if (cell := row.cells.get(column, "")) for part in cell.lower().split(", ")]


def _has_kinds(column: str, table: Table) -> bool:
    """Whether a column has days, or kinds of few words, rather than free text."""
    if any(days_in(row.cells.get(column, "")) for row in table.rows):
        return True
    is_short = all(len(words(part)) <= _MAX_CATEGORY_WORDS for part in _parts(column, table))
    return is_short and _FREE_TEXT.isdisjoint(column_stems(column))


def _can_deny(column: str, told: Table, table: Table) -> bool:
    """Whether rows whose cells in a column do not have something are evidently without it."""
    cells = [row.cells.get(column, "") for row in told.rows]
    if column in table.flags.values():
        return True
    if any(days_in(row.cells.get(column, "")) for row in table.rows):
        return all(0 < len(days_in(cell)) < len(WEEKDAYS) for cell in cells)
    parts = _parts(column, table)
    return len(set(parts)) < len(parts)  # kinds that rows share


def _is_broader(text: str, row: Row, last_question: str) -> bool:
    """Whether a message asks for more than the row that was told: the last question without the name of that row, or
    "what are the fees?"."""
    if _POINTS_BACK.search(text):
        return False
    asked, before = asked_stems(text), asked_stems(last_question)
    return bool(_WHOLE_COLUMN.fullmatch(text)) or (
        asked < before and not (before - asked).isdisjoint(stems_of(row.name))
    )


def _has_left(row: Row, prompt: Prompt) -> bool:
    """Whether the question before had no answer, and the message was completed with a word of it that the row does not
    have: "how heavy is it?" after a lamp that the documents do not know is not about the lamp that was told before."""
    added = asked_stems(" ".join(prompt.asked)) & asked_stems(prompt.last_question)
    return abstains(prompt.said[-1]) and not added <= stems_with_headings(row.candidate)


def _about_one(text: str, row: Row, table: Table, goes_on: bool) -> str:
    """What the row that was told says about a single thing: "is it available daily?", "how heavy is it?"; `goes_on` is
    whether the message may just name a column, "and express?"."""
    asked = asked_stems(text) - stems_of(row.name)
    column = _column_meant(text, asked, table)
    just_column = None if _is_line_of_text(row) else _JUST_COLUMN.fullmatch(text)
    names_column = bool(just_column or _ASKS_COLUMN.match(text)) and bool(asked & column_stems(column))
    if goes_on and not any((asked | PRICE_WORDS) & stems_of(each.name) for each in table.rows):
        names_column = names_column or (bool(asked) and asked <= column_stems(column))
    if _SEVERAL.search(text) and not (names_column and just_column):
        return ""
    if not _POINTS_BACK.search(text) and not names_column:
        return ""
    cell = row.cells.get(column, "").lower()
    if not column and _HOW_MUCH_IS_IT.fullmatch(text) and len(table.price_columns) > 1:
        return quote(row.candidate)
    if not column or is_missing(cell):
        return ""
    told = f"{column.replace('_', ' ')} {cell}"
    if _HOW_OFTEN.match(text) and not all(each.search(told) for each in answer_patterns(text, QUANTITIES)):
        return ""  # "how often do I give it?" is not answered by "given as: tablet"
    verdict = ""
    if _YES_OR_NO.match(text) and not (NEGATION.search(text) or _RELATION.search(text) or is_negated(column)):
        value = asked - column_stems(column) - _FILLERS - FORM_STEMS
        days = set(WEEKDAYS) if "daili" in value else {day for day in WEEKDAYS if stem(day) in value}
        if not value and cell in YES | NO:
            verdict = "Yes. " if cell in YES else "No. "
        elif days and days_in(cell):
            verdict = "Yes. " if days <= days_in(cell) else "No. "
        elif value and value == stems_of(cell):
            verdict = "Yes. "
    return f"{verdict}{quote(row.candidate, column)}"


def _is_line_of_text(row: Row) -> bool:
    """Whether it is a line "name: value; name: value" of a text, which is quoted as it stands."""
    return bool(row.candidate.statement.values) and row_in_words(row.candidate) == row.candidate.text


def _column_meant(text: str, asked: Set[str], table: Table) -> str:
    """The only column that a question is about, by its name, by what its cells say, or by a word for what it measures;
    empty if there is none, or if the question has a word that does not belong to it."""
    if _WHO_RUNS_IT.fullmatch(text):
        return _column_in_charge(table)
    known = {column: column_stems(column) | table.cell_stems_of(column) for column in table.columns}
    measured = next((stems for pattern, stems in _MEASURES if pattern.search(text)), frozenset())
    asked = asked - (_FILLERS - frozenset().union(*map(column_stems, table.columns))) - ANY_ROW_STEMS
    if _JUST_COLUMN.fullmatch(text):
        asked -= {"group"}  # "which age groups?"
    fitting = [
        column
        for column in table.columns
        if asked - FORM_STEMS <= known[column] and (asked & known[column] or column_stems(column) & measured)
    ]
    return the_only(fitting)


def _column_in_charge(table: Table) -> str:
    """The only column with those who run something, by its name or because all its cells begin like "Mrs"."""
    named = [column for column in table.columns if column_stems(column) & _IN_CHARGE]
    with_titles = [
        column for column in table.columns if all(_PERSON.match(row.cells.get(column, "")) for row in table.rows)
    ]
    return the_only(named or with_titles)
