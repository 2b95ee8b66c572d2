"""The rows without something: "do you have anything without nuts?", "which cakes are not vegan?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.extractive.cells import column_label
from turnwise.extractive.statements import asked_stems
from turnwise.extractive.tables.answers import Answer, write
from turnwise.extractive.tables.model import NO, Row, Table, is_missing
from turnwise.extractive.tables.vocabulary import ANY_ROW_STEMS, column_stems
from turnwise.text import stem, words

_QUESTION = re.compile(
    r"(?:(?:and|so|but),? )?(?:do you (?:have|sell|offer)|have you got|(?:is|are) there|which|what|list|show)(?: me)? "
    r"(?:any )?(?P<what>[^,?]{1,60}?) (?:that )?(?:(?:is|are|has|have) )?"
    r"(?:without|with no|free of|not|no|(?:is|are)n['’]t|do(?:es)?(?:n['’]t| not) (?:contain|have)) "
    r"(?:any )?(?P<excluded>[^,?]{1,40}?)(?: in (?:it|them))?\W*",
    re.I,
)
_ANYTHING = re.compile(  # "what has no milk?"
    r"(?:(?:and|so|but),? )?(?:which|what)(?: ones?)?(?:['’]s| is| are| has| have| contains?)? "
    r"(?:no|without|free of) (?:any )?(?P<excluded>[^,?]{1,40}?)(?: in (?:it|them))?\W*",
    re.I,
)
_CONTENTS = frozenset(map(stem, "contains contents allergens ingredients".split()))


def rows_without(question: str, tables: Sequence[Table]) -> str:
    """The rows that a column says are without something; empty if none does."""
    if found := _ANYTHING.fullmatch(question):
        return write([_answer("items", found["excluded"], table) for table in tables])
    found = _QUESTION.fullmatch(question)
    return write([_answer(found["what"], found["excluded"], table) for table in tables]) if found else ""


def _answer(what: str, excluded: str, table: Table) -> Answer:
    keys = asked_stems(excluded)
    rows = table.select(what) if asked_stems(what) & ANY_ROW_STEMS else table.select_subject(what)
    if len(keys) != 1:
        return Answer(table, [])
    (key,) = keys
    if column := table.flags.get(key):
        kept = [row for row in rows if row.cells.get(column, "").lower() in NO]
        return Answer(table, kept, f"Rows found with “no” for {column_label(column)}")
    columns = [column for column in table.columns if column_stems(column) & _CONTENTS]
    if len(columns) != 1 or not any(_has(row, columns[0], key) for row in table.rows):
        return Answer(table, [])
    column = columns[0]
    known = [row for row in rows if not is_missing(row.cells.get(column, ""))]
    kept = [row for row in known if not _has(row, column, key)]
    return Answer(table, kept, f"Rows found without {excluded} in {column_label(column)}")


def _has(row: Row, column: str, key: str) -> bool:
    """Whether the name or the cell has a word that ends in the key, as "walnut" does in "nut"."""
    return any(stem(word.lower()).endswith(key) for word in words(f"{row.name} {row.cells.get(column, '')}"))
