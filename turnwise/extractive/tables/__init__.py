"""Questions about a table as a whole: all rows of a kind, the cheapest or longest one, two rows side by side, the price
for several.

Every word of a question must be part of its form, or name a column, a heading, a cell or a group of people. With any
other word, the question is left to the judge, who compares it with each row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.extractive.statements import Candidate, asked_stems
from turnwise.extractive.tables.aggregates import sum_or_average
from turnwise.extractive.tables.comparatives import comparative_row
from turnwise.extractive.tables.comparison import compared_rows
from turnwise.extractive.tables.exclusions import rows_without
from turnwise.extractive.tables.hours import open_longest
from turnwise.extractive.tables.lists import listed_rows, rows_by_whom
from turnwise.extractive.tables.model import tables_in
from turnwise.extractive.tables.named import price_of_named
from turnwise.extractive.tables.people import rows_for_age, rows_for_group
from turnwise.extractive.tables.ranges import for_number
from turnwise.extractive.tables.stock import stock_rows
from turnwise.extractive.tables.superlatives import superlative_rows
from turnwise.extractive.tables.told import about_told_rows, another_row
from turnwise.extractive.tables.totals import total_price
from turnwise.extractive.tables.vocabulary import NEGATION
from turnwise.types import Prompt

MAX_QUESTION_CHARS = 200

_EXAMPLE = re.compile(r"\bexamples?\b", re.I)  # of something that was explained

__all__ = ["answer_from_tables"]


def answer_from_tables(question: str, pool: Sequence[Candidate], prompt: Prompt) -> str:
    """The answer to a question about the tables in the pool, with citations; empty if they do not answer it.

    `question` may have words from the conversation. If it has no answer, the question as typed is tried.
    """
    if prompt.language != "en" or len(question) > MAX_QUESTION_CHARS or _EXAMPLE.search(prompt.question):
        return ""
    tables = tables_in(pool)
    if not tables:
        return ""
    typed = prompt.question if len(prompt.asked) == 1 and len(prompt.question) <= MAX_QUESTION_CHARS else ""
    if typed and (answer := sum_or_average(typed, tables, prompt) or about_told_rows(typed, tables, prompt)):
        return answer
    for text in dict.fromkeys(filter(None, (typed, question))):
        if answer := stock_rows(text, tables):
            return answer
    if NEGATION.search(question):
        return rows_without(question, tables)
    if prompt.sides:
        return compared_rows(question, prompt.sides, tables, pool)
    typed = typed or question
    typed_stems = asked_stems(prompt.question)
    for text in dict.fromkeys((question, typed)):
        of_any, fitting = for_number(text, tables)
        answer = (
            comparative_row(text, tables, pool, prompt)
            or rows_for_age(text, tables)
            or total_price(of_any, fitting, pool)
            or open_longest(text, tables, pool)
            or superlative_rows(text, typed_stems, tables, pool)
            or rows_by_whom(text, tables)
            or listed_rows(text, tables)
            or price_of_named(of_any, fitting, pool, prompt.said)
        )
        if answer:
            return answer
    return rows_for_group(typed, tables, pool) or another_row(typed, tables, prompt)
