"""Turns plain questions into queries without a language model: counts, sums, averages, extremes, rankings, groups,
filters.

Every word of a question must be an operation, a number, a date, a function word, or the name of a table, a column or a
value. With any other word, we assume that the question is not about the data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from turnwise.text import is_content, stem, words
from turnwise.tools.question_reader import QuestionReader
from turnwise.tools.question_sql import ParsedQuestion, as_sql
from turnwise.tools.question_words import marks_of, names_of
from turnwise.tools.sources import Table

MAX_QUESTION_CHARS = 300
RECENT_MESSAGES = 4  # of the user, which a question may continue

_ARITHMETIC = re.compile(r"[%*/^+]")  # for the calculator, not a query
_APPENDED = re.compile(r"\s*\([^()]*\)(?=\W*$)")  # words that condensing appended to a question
_CONTINUES = re.compile(
    r"^(?:and|what about|how about|only|just|now|or|in|from|by|per|for|since|top|bottom|the (?:same|top|bottom))\b",
    re.I,
)
# After a count: asks for the rows that were counted.
_ASKS_FOR_COUNTED = re.compile(
    r"(?:and |so )?(?:(?:which|what|who)(?: ones?| are (?:they|these|those))?"
    r"|(?:list|show|name)(?: me)? (?:them|these|those)(?: all)?)(?:,? please)?\W*$",
    re.I,
)


def read_question(question: str, tables: Sequence[Table], asked: Sequence[str] = ()) -> str:
    """Return a question as SQL with standard quotes, or "" if it is not about these tables.

    `asked` are the user's earlier messages: a question with only a group or a filter takes the rest from the last one
    about the data, and one that names nothing from a table only counts after such a question."""
    alone = _APPENDED.sub("", question)
    if asked and not mentions(alone, tables) and _resolve(asked[-RECENT_MESSAGES:], tables) is None:
        return ""
    parsed = _resolve([*asked[-RECENT_MESSAGES:], alone], tables)
    if parsed is None and not _CONTINUES.match(question):
        parsed = _best_parse(question, tables)
    return as_sql(parsed) if parsed and parsed.op else ""


def mentions(question: str, tables: Sequence[Table]) -> bool:
    """Whether a question names anything from these tables."""
    question_stems = {stem(word) for word in words(question[:MAX_QUESTION_CHARS]) if is_content(word)}
    return any(set(phrase) & question_stems for table in tables for phrase in names_of(table) if len(phrase) < 3)


def _resolve(asked: Sequence[str], tables: Sequence[Table]) -> ParsedQuestion | None:
    """The last of these messages, completed from the ones right before it."""
    parsed = _best_parse(asked[-1], tables)
    if parsed is not None and parsed.op:
        return parsed
    last = asked[-1].strip()
    if len(asked) == 1 or not (_CONTINUES.match(last) or _ASKS_FOR_COUNTED.match(last)):
        return None
    base = _resolve(asked[:-1], tables)
    if _ASKS_FOR_COUNTED.match(last):
        counted = base and base.op == "count" and not base.groups
        return ParsedQuestion(base.table, "list", conditions=base.conditions) if base and counted else None
    rest = _best_parse(asked[-1], [base.table]) if base else None
    return _merge(base, rest) if base and rest else None


def _best_parse(question: str, tables: Sequence[Table]) -> ParsedQuestion | None:
    """Parse a question for the table that fits best; None if no table does, or several do equally."""
    if len(question) > MAX_QUESTION_CHARS or _ARITHMETIC.search(question):
        return None
    marked = [(table, marks_of(question, table)) for table in tables]
    candidates = [parsed for table, marks in marked if marks and (parsed := QuestionReader(table, marks).read())]
    best = max((_fit(parsed) for parsed in candidates), default=None)
    fitting = [parsed for parsed in candidates if _fit(parsed) == best]
    return fitting[0] if len(fitting) == 1 else None


def _fit(parsed: ParsedQuestion) -> tuple[bool, int, bool]:
    return bool(parsed.op), parsed.exact_names, not parsed.table.view


def _merge(base: ParsedQuestion, rest: ParsedQuestion) -> ParsedQuestion | None:
    """The earlier question updated by the later one: conditions on the same columns are replaced.

    Returns None if the two do not combine. A new group or operation drops the earlier ranking."""
    if base.op == "list" and (rest.groups or rest.rank or rest.new_op):
        return None
    if rest.rank and not (rest.groups or base.groups):
        return None
    if rest.new_op and (base.measure is None or base.op == "count" or base.measure.kind != "number"):
        return None
    replaced = {each.column for each in rest.conditions}
    kept = tuple(each for each in base.conditions if each.column not in replaced)
    merged = replace(base, op=rest.new_op or base.op, conditions=(*kept, *rest.conditions))
    if rest.groups or rest.rank or rest.new_op:
        merged = replace(merged, groups=rest.groups or base.groups, rank=rest.rank, limit=rest.limit)
    return merged
