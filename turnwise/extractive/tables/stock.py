"""What is in stock by a table that counts it: "is anything out of stock?", "how many of those are left?", "when is it
back?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.extractive.statements import asked_stems
from turnwise.extractive.tables.answers import Answer, the_only, write
from turnwise.extractive.tables.model import Table
from turnwise.extractive.tables.vocabulary import ANY_ROW_STEMS, LAST_SIGNS
from turnwise.extractive.writing import quote

_OPENING = re.compile(r"(?:(?:and|so|but|ok|okay|hi|hello|please),? )*", re.I)
_OUT = r"(?P<out>(?:out of|not in|no longer in|not on) stock|sold out|unavailable|not available)"
_STATE = (
    rf"(?:(?:currently|still|now|again|left) )*(?:{_OUT}|in stock|on stock|available|left)(?: (?:right )?now| today)?"
)
_HAVE = r"(?:do you (?:still )?have|have you (?:still )?got)"
_WHAT = r"(?:any of |any |the |your |some )?(?P<what>.+?)"
_WHICH = re.compile(
    rf"(?:what|which)(?: (?P<what>[^,?]+?))?(?:['’]s| is| are| do you have| have you got) {_STATE}", re.I
)
_ASKS = (
    _WHICH,
    *(
        re.compile(pattern, re.I)
        for pattern in (
            rf"how many (?:of )?{_WHAT} (?:are (?:there )?|{_HAVE} ?)(?:{_STATE})?",
            rf"how many(?P<what> (?:of )?(?:them|those|these))?(?: are| is)?(?: there)? {_STATE}",
            rf"how many(?P<what> of it)?(?: are there| {_HAVE})?",
            rf"(?:is|are|{_HAVE})(?: there)? {_WHAT} {_STATE}",
            rf"{_HAVE} (?P<what>it|them|those|these|that one)",
            rf"{_WHAT} {_STATE}",
        )
    ),
)
_ASKS_WHEN = re.compile(
    rf"when (?:is|are|will|do you get|can (?:i|we) get) {_WHAT} "
    r"(?:be )?(?:back(?: in)?|restocked|available|in stock|again)(?: (?:in )?stock| again)*",
    re.I,
)
_POINTS = re.compile(r"(?:it|they|them|those|these|that|this|that one)(?: ones?)?", re.I)
_COUNTS = re.compile(r"\b(?:stock|qty|quantit(?:y|ies)|availab(?:le|ility)|inventory|on hand|left)\b", re.I)
_TELLS_WHEN = re.compile(
    r"\b(?:restock\w*|back|expected|due|available from|next delivery|arriv\w+|delivery date)\b", re.I
)
_NONE = re.compile(r"0+|none|out(?: of stock)?|sold[- ]out|unavailable|not available", re.I)
_SOME = re.compile(r"0*[1-9]\d*|in stock|available|low(?: stock)?|few(?: left)?", re.I)


def stock_rows(question: str, tables: Sequence[Table]) -> str:
    """The rows that are in or out of stock, whichever is asked for, or the count of those that are named; empty if the
    question asks for neither, or no table has it."""
    plain = LAST_SIGNS.sub("", _OPENING.sub("", question, count=1))
    if found := _ASKS_WHEN.fullmatch(plain):
        return _named(found["what"], [(table, _column(table, _TELLS_WHEN)) for table in tables])
    found = next(filter(None, (pattern.fullmatch(plain) for pattern in _ASKS)), None)
    counted = [(table, column) for table in tables if (column := _stock_column(table))] if found else []
    if found is None or not counted:
        return ""
    what = (found["what"] or ("anything" if found.re is _WHICH else "those")).removeprefix(" of ").strip()
    if found.re is not _WHICH and ANY_ROW_STEMS.isdisjoint(asked_stems(what)):
        return _named(what, counted)
    return write([_in_state(what, bool(found.groupdict().get("out")), table, column) for table, column in counted])


def _column(table: Table, pattern: re.Pattern[str]) -> str:
    """The only column with such a name; empty if there is none."""
    return the_only([each for each in table.columns if pattern.search(each.replace("_", " "))])


def _stock_column(table: Table) -> str:
    column = _column(table, _COUNTS)
    cells = [row.cells.get(column, "") for row in table.rows]
    return column if any(_NONE.fullmatch(cell) or _SOME.fullmatch(cell) for cell in cells) else ""


def _in_state(what: str, is_out: bool, table: Table, column: str) -> Answer:
    """The rows of a kind that are out of stock, or those that are not; that none is so is said of all rows."""
    rows = table.rows if ANY_ROW_STEMS & asked_stems(what) else table.select_subject(what)
    if _POINTS.fullmatch(what):
        rows = table.just_said
    state = _NONE if is_out else _SOME
    found = [row for row in rows if state.fullmatch(row.cells.get(column, ""))]
    if found or not rows or table.is_cut:
        return Answer(table, found, "Out of stock" if is_out else "In stock" if found else "")
    return Answer(table, rows, f"None of these {len(rows)} is {'out of' if is_out else 'in'} stock")


def _named(what: str, columns: Sequence[tuple[Table, str]]) -> str:
    """The cells of the rows that are named or were just told; the whole row of one that is out of stock."""
    told = []
    for table, column in columns:
        keys = asked_stems(what)
        points = _POINTS.fullmatch(what)
        rows = table.just_said if points else [row for row in table.rows if keys and keys <= row.stems]
        if column and 0 < len(rows) < len(table.rows):
            told += [quote(row.candidate, "" if _NONE.fullmatch(row.cells.get(column, "")) else column) for row in rows]
    return "\n".join(f"- {each}" for each in told) if len(told) > 1 else "".join(told)
