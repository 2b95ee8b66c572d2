"""Classifies every word of a plain question: an operation, a number, a date, or a name from the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any

from turnwise.english import MONTHS, NUMBER_WORDS
from turnwise.text import STOP_WORDS, stem
from turnwise.tools.sources import Column, Table

_MEANINGS = {
    "count": "how many|number of|total number of|count of|count",
    "sum": "how much|sum of|sum|total|total of|combined",
    "avg": "average|mean|avg|on average",
    "median": "median",
    "min": "minimum|min",
    "max": "maximum|max",
    "most": "highest|largest|biggest|greatest|most",
    "least": "lowest|smallest|least|fewest",
    "dearest": "most expensive|priciest|dearest",
    "cheapest": "cheapest|least expensive",
    "latest": "latest|newest|most recent",
    "earliest": "earliest|oldest",
    "top": "top",
    "bottom": "bottom",
    "by": "by|per|for each|in each|of each|for every|grouped by|group by|broken down by|split by|across",
    "order": "sorted by|ordered by|sort by|order by",
    ">": "over|above|more than|greater than|higher than|larger than|bigger than|>",
    ">=": "at least|no less than|>=",
    "<": "under|below|less than|fewer than|lower than|smaller than|cheaper than|<",
    "<=": "at most|no more than|up to|<=",
    "=": "equal to|equals|exactly|=",
    "between": "between",
    "after": "after",
    "since": "since",
    "before": "before",
    "until": "until|till",
    "list": "list|show|show me|give|give me|display|find",
    "which": "which|who",
    "what": "what|when",
    "or": "or",
    "rows": "row|rows|record|records|entry|entries",
    "year": "year|years",
    "month": "month|months",
    "filler": """in total|altogether|overall|a|an|the|of|in|on|at|for|from|to|with|is|are|was|were|
        be|been|being|do|does|did|have|has|had|there|all|our|we|us|i|my|me|you|your|
        their|any|some|that|whose|where|and|also|please|can|could|would|tell|only|just|data|
        dataset|table|database|exist|exists|sold|placed|made|bought|purchased|recorded|
        registered|located|based|live|lives|living|come|comes|came|belong|belongs|worth|during|
        within|among|as|each|dollars|euros|usd|eur|value|values|currently|now|then|instead|
        what about|how about|same|its|priced|place|make|makes|buy|sell|
        distinct|different|unique""",
}
COMPARISONS = (">", ">=", "<", "<=", "=", "between", "after", "since", "before", "until")
_PHRASES = {tuple(phrase.split()): meaning for meaning, listed in _MEANINGS.items() for phrase in listed.split("|")}
SYNONYMS = [
    {stem(word) for word in group.split()}
    for group in (
        "sales revenue turnover amount income",
        "price cost costs",
        "customer client",
        "product item article",
        "salary wage pay",
    )
]
_NUMBERS = {word: number for number, word in enumerate(NUMBER_WORDS[:10], 1)}
_TOKEN = re.compile(
    r"[\"“]([^\"”]{1,80})[\"”]|(?<!\w)'([^']{1,80})'(?!\w)|(\d{4}-\d\d-\d\d)|(\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?!\w)"
    r"|([^\W_]+)(?:['’]s?\b)?|(>=|<=|[<>=])"
)
CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_ROW_NAMES = ("order", "invoice", "ticket")  # singular, because a column "orders" is a count
_NAME_LIKE = (("name",), ("titl",), ("label",))


@dataclass(frozen=True, slots=True)
class Mark:
    """A classified stretch of the question."""

    kind: str  # a key of _MEANINGS, or: table, column, value, quoted, number, period, any year
    value: Any = None
    text: str = ""  # as written in the question


def marks_of(question: str, table: Table) -> list[Mark] | None:
    """Classify the whole question, preferring the longest match; None if a word means nothing."""
    tokens = list(_tokens(question))
    marks: list[Mark] = []
    place = 0
    while place < len(tokens):
        kind, text = tokens[place]
        if kind != "word":
            marks.append(Mark(kind, text, text))
            place += 1
            continue
        run = [
            text
            for _, text in takewhile(lambda each: each[0] == "word" or each[1].isdigit(), tokens[place : place + 6])
        ]
        length, mark = _longest(run, table, [text for _, text in tokens[place:]])
        if mark is None:
            return None
        marks.append(mark)
        place += length
    return marks


def _tokens(question: str) -> Iterator[tuple[str, str]]:
    for found in _TOKEN.finditer(question):
        double, single, day, number, word, sign = found.groups()
        if double or single:
            yield "quoted", double or single
        elif day:
            yield "period", day
        elif number:
            yield "number", number.replace(",", "")
        elif word and word.lower() in _NUMBERS:
            yield "number", str(_NUMBERS[word.lower()])
        else:
            yield "word", word or sign


def _longest(run: list[str], table: Table, rest: list[str]) -> tuple[int, Mark | None]:
    """Match as many of the first words as possible. Returns how many, and their meaning."""
    names, lower = names_of(table), [word.lower() for word in run]
    if lower[0] in MONTHS and run[0] != "may":
        month = f"{MONTHS.index(lower[0]) + 1:02}"
        if len(rest) > 1 and re.fullmatch(r"\d{4}", rest[1]):
            return 2, Mark("period", f"{rest[1]}-{month}", " ".join(rest[:2]))
        return 1, Mark("any year", month, run[0])
    for length in range(len(run), 0, -1):
        text = " ".join(run[:length])
        phrase = tuple(lower[:length])
        stemmed = tuple(map(stem, phrase))
        meaning = _PHRASES.get(phrase)
        if meaning and not _is_column_here(phrase, meaning, names, rest[length:]):
            return length, Mark(meaning, None, text)
        kind, value = names.get(stemmed, ("", None))
        as_written = values_of(table).get(phrase)
        if as_written and not (kind == "table" or (kind == "column" and value.name.lower() == text.lower())):
            return length, Mark("value", as_written, text)
        if kind:
            return length, Mark(kind, value, text)
    if column := _date_column(lower[0], table):
        return 1, Mark("column", column, run[0])
    return 1, None


def _date_column(word: str, table: Table) -> Column | None:
    """The date column a verb refers to: "hired" is hire_date."""
    if not word.endswith("ed"):
        return None
    matching = [column for column in table.columns if column.kind == "date" and stem(word) in split_name(column.name)]
    return matching[0] if len(matching) == 1 else None


def _is_column_here(
    phrase: tuple[str, ...], meaning: str, names: dict[tuple[str, ...], tuple[str, Any]], after: list[str]
) -> bool:
    """Whether an operation word ("total", "since") means the column of that name, because nothing follows it."""
    if names.get(tuple(map(stem, phrase)), ("",))[0] != "column" or meaning in ("by", "or"):
        return False
    if meaning == "filler":
        return phrase[0] not in STOP_WORDS
    following = next((word for word in after if word.lower() not in ("of", "the", "number")), "")
    return not ((stem(following.lower()),) in names or (meaning in COMPARISONS and following[:1].isdigit()))


@lru_cache(maxsize=1024)
def names_of(table: Table) -> dict[tuple[str, ...], tuple[str, Any]]:
    """The names in a table by their stems. Whole names take precedence over values, and values over parts of names."""
    names: dict[tuple[str, ...], tuple[str, Any]] = {}
    split = {column.name: split_name(column.name) for column in table.columns}
    title = split_name(table.name)
    names[title] = ("table", None)
    for column in table.columns:
        names.setdefault(split[column.name], ("column", column))
    for written, found in values_of(table).items():
        phrase = tuple(map(stem, written))
        if names.get(phrase, ("value",))[0] == "value":
            names.setdefault(phrase, ("value", []))[1].extend(found)
    if head := [part for part in title if not part.isdigit()][-1:]:  # "sales" for sales_2023
        names.setdefault(tuple(head), ("table", None))
    for part in {part for parts in split.values() for part in _calling_words(parts) if len(part) > 2}:
        matching = [
            column for column in table.columns if part in _calling_words(split[column.name]) and not is_id(column)
        ]
        if len(matching) == 1:
            names.setdefault((part,), ("column", matching[0]))
    for group in SYNONYMS:
        matching = [column for column in table.columns if group & set(split[column.name])]
        if len(matching) == 1:
            for word in group:
                names.setdefault((word,), ("column", matching[0]))
    return names


@lru_cache(maxsize=1024)
def values_of(table: Table) -> dict[tuple[str, ...], list[tuple[str, str]]]:
    """The values of a table by their words, each with its column; words common in any question are skipped."""
    found: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for column in table.columns:
        for value in column.values:
            phrase = tuple(word.lower() for word in re.findall(r"[^\W_]+", value))
            plain = len(phrase) == 1 and ((value.lower(),) in _PHRASES or value.lower() in STOP_WORDS)
            if phrase and not plain:
                found.setdefault(phrase, []).append((column.name, value))
    return found


def split_name(name: str) -> tuple[str, ...]:
    """The stems of the words of a name: order_date, OrderDate and "Order date" are the same."""
    return tuple(stem(word.lower()) for word in re.findall(r"[^\W_]+", CAMEL.sub(" ", name)))


def _calling_words(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The words by which a column can be called: the last one ("unit_price" is a price), or all if that is "name"."""
    return parts if parts[-1:] in _NAME_LIKE else parts[-1:]


def is_id(column: Column) -> bool:
    """Whether its numbers only identify rows."""
    return split_name(column.name)[-1:] in (("id",), ("key",), ("number",), ("no",)) or numbers_rows(column)


def numbers_rows(column: Column) -> bool:
    """Whether a column numbers the rows: "order" in a table of orders."""
    return column.kind == "number" and column.name.lower() in _ROW_NAMES
