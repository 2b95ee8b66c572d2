"""A parsed question, and how it is written as SQL with standard quotes, which are removed later where the database does
not need them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from turnwise.tools.question_words import CAMEL
from turnwise.tools.sources import Column, Table, quoted_name

Op = Literal["", "count", "sum", "avg", "median", "min", "max", "list"]


@dataclass(frozen=True, slots=True)
class Condition:
    column: str
    sql: str


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question as the parts of a query. Without an operation it continues an earlier one: "and by region?".

    A continuation may also change the operation: "and the average?"."""

    table: Table
    op: Op = ""
    new_op: Op = ""  # in a continuation
    measure: Column | None = None  # for a count, the column whose distinct values are counted
    counted_as: str = ""  # the question's word for what is counted
    groups: tuple[tuple[str, str], ...] = ()  # expressions and their names
    conditions: tuple[Condition, ...] = ()
    rank: Literal["", "DESC", "ASC"] = ""
    limit: int | None = None  # of a ranking; None: the first, with ties
    shown: tuple[str, ...] = ()  # columns of a list; empty: all
    distinct: bool = False
    order: str = ""
    exact_names: int = 0  # names in the question that match completely; the table's counts twice


def as_sql(parsed: ParsedQuestion) -> str:
    table, where = quoted_name(parsed.table.name), _where_sql(parsed.conditions)
    if parsed.op == "list":
        return _list_sql(parsed, table, where)
    value, alias = _value_and_alias(parsed)
    if not parsed.groups:
        counts = parsed.measure is not None and parsed.op in ("sum", "avg", "median")
        counted = f", COUNT({quoted_name(parsed.measure.name)}) AS row_count" if counts and parsed.measure else ""
        return f"SELECT {value} AS {alias}{counted} FROM {table}{where}"
    keys = ", ".join(expression for expression, _ in parsed.groups)
    heads = ", ".join(f"{expression} AS {name}" if name else expression for expression, name in parsed.groups)
    rest = f"FROM {table}{where} GROUP BY {keys}"
    if not parsed.rank:
        order = keys if any(name for _, name in parsed.groups) else f"{alias} DESC NULLS LAST, {keys}"
        return f"SELECT {heads}, {value} AS {alias} {rest} ORDER BY {order}"
    if parsed.limit:
        order = f"{alias} {parsed.rank} NULLS LAST, {keys}"
        return f"SELECT {heads}, {value} AS {alias} {rest} ORDER BY {order} LIMIT {parsed.limit}"
    place = f"RANK() OVER (ORDER BY {value} {parsed.rank} NULLS LAST) AS place"
    ranked = f"(SELECT {heads}, {value} AS {alias}, {place} {rest}) AS ranked"
    return f"SELECT {keys}, {alias} FROM {ranked} WHERE place = 1 ORDER BY {keys}"


def _list_sql(parsed: ParsedQuestion, table: str, where: str) -> str:
    shown = ", ".join(map(quoted_name, parsed.shown)) or "*"
    if parsed.rank and parsed.measure:
        measure, label = quoted_name(parsed.measure.name), quoted_name(parsed.shown[0])
        if parsed.limit:
            order = f"{measure} {parsed.rank} NULLS LAST, {label}"
            return f"SELECT {shown} FROM {table}{where} ORDER BY {order} LIMIT {parsed.limit}"
        extreme = "MAX" if parsed.rank == "DESC" else "MIN"
        best = Condition("", f"{measure} = (SELECT {extreme}({measure}) FROM {table}{where})")
        return f"SELECT {shown} FROM {table}{_where_sql((*parsed.conditions, best))} ORDER BY {label}"
    order = quoted_name(parsed.order) if parsed.order else shown if parsed.distinct else ""
    distinct = "DISTINCT " if parsed.distinct and not parsed.order else ""
    return f"SELECT {distinct}{shown} FROM {table}{where}{f' ORDER BY {order}' if order else ''}"


def _value_and_alias(parsed: ParsedQuestion) -> tuple[str, str]:
    """The computed expression, and its alias, which the answer uses as its name."""
    counted_as = re.sub(r"\W+", "_", parsed.counted_as.lower())
    if parsed.op == "count":
        counted = f"DISTINCT {quoted_name(parsed.measure.name)}" if parsed.measure else "*"
        return f"COUNT({counted})", f"number_of_{counted_as}"
    assert parsed.measure is not None
    function = {"sum": "SUM", "avg": "AVG", "median": "MEDIAN", "min": "MIN", "max": "MAX"}[parsed.op]
    called = {"sum": "total", "avg": "average", "median": "median", "min": "lowest", "max": "highest"}[parsed.op]
    if parsed.measure.kind == "date":
        called = {"min": "earliest", "max": "latest"}[parsed.op]
    alias = re.sub(r"\W+", "_", CAMEL.sub("_", parsed.measure.name).lower()).strip("_")
    return f"{function}({quoted_name(parsed.measure.name)})", f"{called}_{alias}"


def _where_sql(conditions: Sequence[Condition]) -> str:
    return f" WHERE {' AND '.join(each.sql for each in conditions)}" if conditions else ""


def quoted_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
