"""A question that was read, written as SQL with standard quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from turnwise.tools.question_words import CAMEL
from turnwise.tools.sources import Column, Table

Op = Literal["", "count", "sum", "avg", "median", "min", "max", "list"]


@dataclass(frozen=True, slots=True)
class Condition:
    column: str
    sql: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as the parts of a query. Without an operation it is only the rest of one: "and by region?".

    A rest may be another operation of the same measure: "and the average?"."""

    table: Table
    op: Op = ""
    other: Op = ""  # of a rest
    measure: Column | None = None  # of a count, the column whose different values are counted
    said: str = ""  # what is counted, as the question calls it
    groups: tuple[tuple[str, str], ...] = ()  # expressions and their names
    conditions: tuple[Condition, ...] = ()
    rank: Literal["", "DESC", "ASC"] = ""
    limit: int | None = None  # of a ranking; None: the first, and those that are its equals
    shown: tuple[str, ...] = ()  # columns of a list; none: all
    distinct: bool = False  # a list of values, each once
    order: str = ""
    certain: int = 0  # how many names of the question are whole names here; that of the table counts twice


def as_sql(reading: Reading) -> str:
    table, where = quoted_name(reading.table.name), _where(reading.conditions)
    if reading.op == "list":
        return _listed(reading, table, where)
    value, alias = _value(reading)
    if not reading.groups:
        counts = reading.measure is not None and reading.op in ("sum", "avg", "median")
        counted = f", COUNT({quoted_name(reading.measure.name)}) AS row_count" if counts and reading.measure else ""
        return f"SELECT {value} AS {alias}{counted} FROM {table}{where}"
    keys = ", ".join(expression for expression, _ in reading.groups)
    heads = ", ".join(f"{expression} AS {name}" if name else expression for expression, name in reading.groups)
    rest = f"FROM {table}{where} GROUP BY {keys}"
    if not reading.rank:
        order = keys if any(name for _, name in reading.groups) else f"{alias} DESC NULLS LAST, {keys}"
        return f"SELECT {heads}, {value} AS {alias} {rest} ORDER BY {order}"
    if reading.limit:
        order = f"{alias} {reading.rank} NULLS LAST, {keys}"
        return f"SELECT {heads}, {value} AS {alias} {rest} ORDER BY {order} LIMIT {reading.limit}"
    place = f"RANK() OVER (ORDER BY {value} {reading.rank} NULLS LAST) AS place"
    ranked = f"(SELECT {heads}, {value} AS {alias}, {place} {rest}) AS ranked"
    return f"SELECT {keys}, {alias} FROM {ranked} WHERE place = 1 ORDER BY {keys}"


def _listed(reading: Reading, table: str, where: str) -> str:
    shown = ", ".join(map(quoted_name, reading.shown)) or "*"
    if reading.rank and reading.measure:
        measure, label = quoted_name(reading.measure.name), quoted_name(reading.shown[0])
        if reading.limit:
            order = f"{measure} {reading.rank} NULLS LAST, {label}"
            return f"SELECT {shown} FROM {table}{where} ORDER BY {order} LIMIT {reading.limit}"
        extreme = "MAX" if reading.rank == "DESC" else "MIN"
        best = Condition("", f"{measure} = (SELECT {extreme}({measure}) FROM {table}{where})")
        return f"SELECT {shown} FROM {table}{_where((*reading.conditions, best))} ORDER BY {label}"
    order = quoted_name(reading.order) if reading.order else shown if reading.distinct else ""
    distinct = "DISTINCT " if reading.distinct and not reading.order else ""
    return f"SELECT {distinct}{shown} FROM {table}{where}{f' ORDER BY {order}' if order else ''}"


def _value(reading: Reading) -> tuple[str, str]:
    """What is worked out, and its name, which is how the answer will call it."""
    said = re.sub(r"\W+", "_", reading.said.lower())
    if reading.op == "count":
        counted = f"DISTINCT {quoted_name(reading.measure.name)}" if reading.measure else "*"
        return f"COUNT({counted})", f"number_of_{said}"
    assert reading.measure is not None
    function = {"sum": "SUM", "avg": "AVG", "median": "MEDIAN", "min": "MIN", "max": "MAX"}[reading.op]
    called = {"sum": "total", "avg": "average", "median": "median", "min": "lowest", "max": "highest"}[reading.op]
    if reading.measure.kind == "date":
        called = {"min": "earliest", "max": "latest"}[reading.op]
    alias = re.sub(r"\W+", "_", CAMEL.sub("_", reading.measure.name).lower()).strip("_")
    return f"{function}({quoted_name(reading.measure.name)})", f"{called}_{alias}"


def _where(conditions: Sequence[Condition]) -> str:
    return f" WHERE {' AND '.join(each.sql for each in conditions)}" if conditions else ""


def quoted_name(name: str) -> str:
    """A name as SQL, in quotes: they are taken off where the database can do without."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
