"""Reads one plain question, word by word, as a query of one table."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from turnwise.text import stem
from turnwise.tools.question_sql import Condition, Op, ParsedQuestion, quoted_text
from turnwise.tools.question_words import COMPARISONS, SYNONYMS, Mark, is_id, numbers_rows, split_name
from turnwise.tools.sources import Column, Table, quoted_name

DEFAULT_RANKING_ROWS = 5  # for "top products" without a number

_AGGREGATES: dict[str, Op] = {"sum": "sum", "avg": "avg", "median": "median", "min": "min", "max": "max"}
_EXTREMES: dict[str, Op] = {"DESC": "max", "ASC": "min"}
_SUPERLATIVES = ("most", "least", "dearest", "cheapest", "latest", "earliest")
_SIGN_OF = {"after": ">", "since": ">=", "before": "<", "until": "<="}  # of words that compare times
_RATES = {stem(word) for word in "price cost rate rating score age percent percentage share ratio temperature".split()}


@dataclass
class QuestionReader:
    """Reads the marks of one question from left to right. The result is None if they do not fit together."""

    table: Table
    marks: list[Mark]
    op: str = ""
    op_place: int = -1
    asks: str = ""  # list, which, what
    rank: Literal["", "DESC", "ASC"] = ""
    rank_place: int = -1
    limit: int | None = None
    ranked: bool = False  # "top", "bottom" or a number before a superlative
    rows: int = -1  # the position of the word for the table or its rows
    key: Column | None = None  # the column that numbers the rows, if the question names it
    order: str = ""
    by: list[Mark] = field(default_factory=list)
    columns: list[tuple[int, Column, str]] = field(default_factory=list)  # position, column, text
    used: set[str] = field(default_factory=set)  # columns with a condition
    conditions: list[Condition] = field(default_factory=list)
    exact_names: int = 0

    def read(self) -> ParsedQuestion | None:
        try:
            place = 0
            while place < len(self.marks):
                place += self._take(place)
            return self._result()
        except _DoesNotFit:
            return None

    def _kind(self, place: int) -> str:
        return self.marks[place].kind if 0 <= place < len(self.marks) else ""

    def _take(self, place: int) -> int:
        """Take in the mark at a position. Returns how many marks were consumed."""
        mark = self.marks[place]
        match mark.kind:
            case "count" | "sum" | "avg" | "median" | "min" | "max":
                if not self.op:
                    self.op, self.op_place = mark.kind, place
                elif {self.op, mark.kind} != {"count", "sum"}:  # "total number of"
                    raise _DoesNotFit
            case kind if kind in (*_SUPERLATIVES, "top", "bottom"):
                return self._take_rank(place)
            case "by":
                return self._take_groups(place)
            case "order":
                column = self._column_at(place + 1)
                self.order = column.name
                return 2
            case kind if kind in COMPARISONS:
                return self._take_comparison(place)
            case "list" | "which" | "what":
                self.asks = self.asks or mark.kind
                if self.asks != mark.kind and mark.kind != "which":
                    raise _DoesNotFit
            case "table" | "rows":
                self.rows = place
                self.exact_names += 2 * (mark.kind == "table")
            case "column" if numbers_rows(mark.value) and self._kind(place + 1) != "number":
                self.rows, self.key = place, mark.value
                self.exact_names += 1
            case "column":
                self.columns.append((place, mark.value, mark.text))
                self.exact_names += split_name(mark.text) == split_name(mark.value.name)
            case "value":
                self._take_value(place)
            case "quoted":
                column = self._column_before(place, None)
                self._add(column, f"{quoted_name(column.name)} = {quoted_text(mark.value)}")
            case "number" | "period":
                self._take_number(place)
            case "any year":
                column = self._column_before(place, "date")
                month = f"SUBSTR(CAST({quoted_name(column.name)} AS TEXT), 6, 2)"
                self._add(column, f"{month} = {quoted_text(mark.value)}")
            case "or" if not (self._kind(place - 1) == self._kind(place + 1) == "value"):
                raise _DoesNotFit
            case "year" if self._kind(place + 1) != "number":
                raise _DoesNotFit
            case "month":
                raise _DoesNotFit
        return 1

    def _take_rank(self, place: int) -> int:
        if self.rank:
            if self.ranked and self._kind(place) in _SUPERLATIVES:
                return 1  # "top 5 most expensive"
            raise _DoesNotFit
        kind = self._kind(place)
        self.rank = "DESC" if kind in ("most", "dearest", "latest", "top") else "ASC"
        self.rank_place = place
        if kind in ("dearest", "cheapest"):
            self.columns.append(
                (place, self._only_column(lambda column: column.kind == "number" and _is_rate(column)), "")
            )
        if kind in ("latest", "earliest"):
            self.columns.append((place, self._only_column(lambda column: column.kind == "date"), ""))
        if kind in ("top", "bottom"):
            self.ranked = True
            numbered = self._kind(place + 1) == "number"
            self.limit = self._row_count(place + 1) if numbered else DEFAULT_RANKING_ROWS
            return 2 if numbered else 1
        return 1

    def _take_groups(self, place: int) -> int:
        end = place + 1
        while self._kind(end) in ("column", "table", "rows", "filler", "year", "month") or (
            self._kind(end) in ("count", "sum", "avg") and self.rank
        ):
            mark = self.marks[end]
            if mark.kind == "filler" and mark.text.lower() not in ("and", "the"):
                break
            if mark.kind in ("count", "sum", "avg") and self.rank and not self.op:
                self.op, self.op_place = mark.kind, end
            elif mark.kind != "filler":
                self.by.append(mark)
            end += 1
        if not self.by:
            raise _DoesNotFit
        return end - place

    def _take_comparison(self, place: int) -> int:
        kind = self._kind(place)
        if self._kind(place + 1) not in ("number", "period"):
            raise _DoesNotFit
        first, taken = self.marks[place + 1], 2
        last = first
        if kind == "between":
            if self._kind(place + 2) != "filler" or self._kind(place + 3) not in ("number", "period"):
                raise _DoesNotFit
            last, taken = self.marks[place + 3], 4
        of_dates = first.kind == "period" or kind in _SIGN_OF
        years = kind == "between" and _is_year(first) and not self._is_number(place - 1)
        sign = _SIGN_OF.get(kind, kind)
        if (of_dates or years) and self._has_dates():
            column = self._column_before(place, "date")
            begin, end, name = _period_bounds(first.value)[0], _period_bounds(last.value)[1], quoted_name(column.name)
            bounds = {
                ">": f"{name} >= '{end}'",
                ">=": f"{name} >= '{begin}'",
                "<": f"{name} < '{begin}'",
                "<=": f"{name} < '{end}'",
            }
            self._add(column, bounds.get(sign, f"{name} >= '{begin}' AND {name} < '{end}'"))
            return taken
        if first.kind == "period" or last.kind == "period":
            raise _DoesNotFit
        column = self._column_before(place, "number")
        name = quoted_name(column.name)
        between = f"{name} BETWEEN {first.value} AND {last.value}"
        self._add(column, between if sign == "between" else f"{name} {sign} {first.value}")
        return taken

    def _take_value(self, place: int) -> None:
        found: list[tuple[str, str]] = self.marks[place].value
        named = {each[1].name for each in self.columns}
        columns = {column for column, _ in found}
        if len(columns) > 1:
            columns &= named
        if len(columns) != 1:
            raise _DoesNotFit
        (name,) = columns
        values = [value for column, value in found if column == name]
        same = [each for each in self.conditions if each.column == name]
        for each in same:
            values += re.findall(r"'((?:[^']|'')*)'", each.sql)
            self.conditions.remove(each)
        column = next(each for each in self.table.columns if each.name == name)
        texts = ", ".join(quoted_text(value.replace("''", "'")) for value in sorted(set(values)))
        self._add(
            column, f"{quoted_name(name)} = {texts}" if len(set(values)) == 1 else f"{quoted_name(name)} IN ({texts})"
        )

    def _take_number(self, place: int) -> None:
        """A number outside an operation: the length of a ranking, the value of a column, or a date."""
        mark = self.marks[place]
        if mark.kind == "number" and self._kind(place + 1) in _SUPERLATIVES:
            self.limit, self.ranked = self._row_count(place), True
            return
        before = place - 1
        while self._kind(before) == "filler" and self.marks[before].text.lower() in ("of", "is", "was", "a", "the"):
            before -= 1
        if mark.kind == "number" and self._is_number(before):
            column = self.marks[before].value
            self._add(column, f"{quoted_name(column.name)} = {mark.value}")
        elif (mark.kind == "period" or _is_year(mark)) and self._has_dates():
            column = self._column_before(place, "date")
            begin, end = _period_bounds(mark.value)
            self._add(column, f"{quoted_name(column.name)} >= '{begin}' AND {quoted_name(column.name)} < '{end}'")
        elif mark.kind == "number" and (texts := self._text_columns_with(mark.value, before)):
            self._add(texts[0], f"{quoted_name(texts[0].name)} = {quoted_text(mark.value)}")
        elif mark.kind == "number" and _is_year(mark):
            column = self._only_column(lambda each: each.kind == "number" and split_name(each.name)[-1:] == ("year",))
            self._add(column, f"{quoted_name(column.name)} = {mark.value}")
        else:
            raise _DoesNotFit

    def _text_columns_with(self, number: str, before: int) -> list[Column]:
        """The text column with this number as a value, such as a version: the named one, else the only one."""
        having = [column for column in self.table.columns if number in column.values]
        named = self.marks[before].value if self._kind(before) == "column" else None
        return [named] if named in having else having if len(having) == 1 else []

    def _add(self, column: Column, sql: str) -> None:
        self.used.add(column.name)
        self.conditions.append(Condition(column.name, sql))

    def _row_count(self, place: int) -> int:
        number = self.marks[place].value
        if not number.isdigit() or not 0 < int(number) <= 1000:
            raise _DoesNotFit
        return int(number)

    def _column_at(self, place: int) -> Column:
        if self._kind(place) != "column":
            raise _DoesNotFit
        column: Column = self.marks[place].value
        return column

    def _column_before(self, place: int, kind: str | None) -> Column:
        """The nearest fitting column before a position, else the only fitting one in the table."""
        for _, column, _ in reversed([each for each in self.columns if each[0] < place]):
            if kind is None or column.kind == kind:
                return column
        if kind is None:
            raise _DoesNotFit
        return self._only_column(lambda column: column.kind == kind and not is_id(column))

    def _only_column(self, fits: Callable[[Column], bool]) -> Column:
        found = [column for column in self.table.columns if fits(column)]
        if len(found) != 1:
            raise _DoesNotFit
        return found[0]

    def _is_number(self, place: int) -> bool:
        return self._kind(place) == "column" and self.marks[place].value.kind == "number"

    def _has_dates(self) -> bool:
        return any(column.kind == "date" for column in self.table.columns)

    def _names_date(self) -> bool:
        """Whether a named date column has a condition: "staff hired in 2021"."""
        return any(column.kind == "date" and column.name in self.used for _, column, _ in self.columns)

    def _names_number(self) -> bool:
        return any(column.kind == "number" for _, column, _ in self.columns)

    # --- the result

    def _result(self) -> ParsedQuestion:
        parsed = ParsedQuestion(
            self.table, conditions=tuple(self.conditions), order=self.order, exact_names=self.exact_names
        )
        if not self.columns and self.rows < 0 and not self.asks and (rest := self._continuation(parsed)):
            return rest
        if self.rank:
            return self._ranking(parsed)
        if self.op:
            return self._aggregate(parsed)
        parsed = replace(parsed, groups=self._groups())
        if not self.columns and self.rows < 0 and self.asks not in ("list", "which") and (self.by or self.conditions):
            return parsed  # continues an earlier question
        if parsed.groups:
            return self._bare_measure(parsed)
        return self._listing(parsed)

    def _bare_measure(self, parsed: ParsedQuestion) -> ParsedQuestion:
        """A measure without an operation is summed: "revenue by region". "sales by region" of a sales table sums its
        amounts or, if there are none, counts its rows."""
        named = [column for _, column, _ in self.columns if column.name not in self.used]
        if self.asks == "which" or len(named) > 1 or any(each.kind != "number" or is_id(each) for each in named):
            raise _DoesNotFit
        if named and _is_rate(named[0]):
            raise _DoesNotFit
        numbers = [column for column in self.table.columns if column.kind == "number" and not is_id(column)]
        if not named and (self.key or not numbers):
            return replace(parsed, op="count", measure=self.key, counted_as=self.marks[self.rows].text)
        return replace(parsed, op="sum", measure=named[0] if named else self._amount())

    def _continuation(self, parsed: ParsedQuestion) -> ParsedQuestion | None:
        """A question that continues an earlier one and names no measure: "only the top 3", "and the average?"."""
        if self.ranked and not self.op and not self.by:
            return replace(parsed, rank=self.rank, limit=self.limit)
        if self.op in _AGGREGATES and not self.rank and self._op_text() != "how much":
            return replace(parsed, new_op=_AGGREGATES[self.op], groups=self._groups())
        return None

    def _groups(self) -> tuple[tuple[str, str], ...]:
        of_rows = self.op == "avg" and all(  # "average price per order"
            mark.kind == "table" or (mark.kind == "column" and numbers_rows(mark.value)) for mark in self.by
        )
        return () if of_rows else tuple(self._group(mark) for mark in self.by)

    def _group(self, mark: Mark) -> tuple[str, str]:
        if mark.kind in ("year", "month"):
            date = quoted_name(self._column_before(len(self.marks), "date").name)
            return f"SUBSTR(CAST({date} AS TEXT), 1, {4 if mark.kind == 'year' else 7})", mark.kind
        if mark.kind != "column":
            raise _DoesNotFit
        return quoted_name(mark.value.name), ""

    def _aggregate(self, parsed: ParsedQuestion) -> ParsedQuestion:
        groups = self._groups()
        if self.op == "sum" and self.key and not self._names_number() and self._op_text() != "how much":
            self.op = "count"  # "total orders"
        if self.op == "count":
            measure, noun = self._count_of()
            adds = measure is not None and measure.kind == "number" and not is_id(measure)
            if adds and measure is not None and _is_rate(measure):
                raise _DoesNotFit
            op: Op = "sum" if adds else "count"
            self._require_used(measure)
            return replace(parsed, op=op, measure=measure, counted_as=noun, groups=groups)
        measure = self._measure(self.op_place, dates=self.op in ("min", "max"))
        self._require_used(measure)
        if self._op_text() == "how much" and _is_rate(measure):
            return self._listing(parsed)
        return replace(parsed, op=_AGGREGATES[self.op], measure=measure, groups=groups)

    def _op_text(self) -> str:
        return self.marks[self.op_place].text.lower()

    def _count_of(self) -> tuple[Column | None, str]:
        """What to count (rows, or the distinct values of a column), and what the question calls it."""
        after = [each for each in self.columns if each[0] > self.op_place and each[1].name not in self.used]
        if self.rows > self.op_place and (not after or self.rows < after[0][0]):
            mark = self.marks[self.rows]
            return self.key, f"rows of {self.table.name}" if mark.kind == "rows" else mark.text
        if after:
            return after[0][1], after[0][2]
        if not any(mark.kind == "value" for mark in self.marks):
            raise _DoesNotFit
        return None, f"rows of {self.table.name}"

    def _measure(self, place: int, dates: bool = False) -> Column:
        fitting = [
            each
            for each in self.columns
            if (each[1].kind == "number" and not is_id(each[1])) or (dates and each[1].kind == "date")
        ]
        after = [each for each in fitting if each[0] >= place]
        if chosen := after or fitting:
            return chosen[0][1]
        if self.rows > place:  # "total sales" of a sales table
            return self._amount()
        raise _DoesNotFit

    def _amount(self) -> Column:
        """The amount column of a table such as sales."""
        own = split_name(self.table.name)
        if self.key:  # "the biggest order", if a row has one amount
            return self._only_column(
                lambda column: column.kind == "number" and not is_id(column) and not _is_rate(column)
            )
        money = SYNONYMS[0] if set(own) & SYNONYMS[0] else set(own)
        return self._only_column(lambda column: column.kind == "number" and bool(set(split_name(column.name)) & money))

    def _ranking(self, parsed: ParsedQuestion) -> ParsedQuestion:
        entity, of_rows = self._entity()
        ranked = replace(parsed, rank=self.rank, limit=self.limit if self.ranked else None)
        by = self.by[0] if len(self.by) == 1 else None
        if self.by and (by is None or by.kind not in ("column", "table", "rows")):
            raise _DoesNotFit
        if by is not None and by.kind == "column":
            if by.value.kind != "number" and not entity and not self.ranked:  # "highest price by category"
                measure = self._measure(self.rank_place)
                self._require_used(measure)
                return replace(parsed, op=_EXTREMES[self.rank], measure=measure, groups=self._groups())
            self.columns.append((len(self.marks), by.value, by.text))
        groups = ((quoted_name(entity.name), ""),) if entity else ()
        by_rows = self.rows > self.rank_place and not self._names_number()
        if entity and (self.op == "count" or by_rows or (by is not None and by.kind != "column")):
            much = self._ranking_amount() if self.op != "count" else None
            self._require_used(much, entity)
            noun = self.marks[self.rows].text if self.rows >= 0 else f"rows of {self.table.name}"
            measured = much or self.key
            return replace(ranked, op="sum" if much else "count", measure=measured, counted_as=noun, groups=groups)
        measure = self._measure(self.rank_place, dates=True)
        extreme = _EXTREMES[self.rank]
        self._require_used(measure, entity)
        if entity:
            named = _AGGREGATES.get(self.op)
            whole: Op = extreme if measure.kind == "date" or _is_rate(measure) else "sum"
            return replace(ranked, op=named or whole, measure=measure, groups=groups)
        if self.op and _AGGREGATES.get(self.op) != extreme:
            raise _DoesNotFit
        if of_rows or ranked.limit:
            return replace(ranked, op="list", measure=measure, shown=(*self._label(measure), measure.name))
        return replace(parsed, op=extreme, measure=measure)

    def _label(self, measure: Column) -> tuple[str, ...]:
        return (self.key.name,) if self.key else _label_column(self.table, measure)

    def _ranking_amount(self) -> Column | None:
        """What "by sales" or "the highest sales" ranks by in a sales table: the amounts, or None to count rows."""
        if self.marks[self.rank_place].text.lower() in ("most", "fewest"):
            return None
        numbers = [column for column in self.table.columns if column.kind == "number" and not is_id(column)]
        return self._amount() if numbers else None

    def _entity(self) -> tuple[Column | None, bool]:
        """What is ranked: the values of a column, or the rows of the table; neither if it asks for a number."""
        texts = [column for _, column, _ in self.columns if column.kind == "text" and column.name not in self.used]
        if texts:
            return texts[0], False
        between = {self._kind(place) for place in range(self.rank_place + 1, self.rows)}
        follows = self.rows > self.rank_place and between <= {"column", "number"}  # "highest priced product"
        return None, follows or 0 <= self.rows < self.rank_place

    def _listing(self, parsed: ParsedQuestion) -> ParsedQuestion:
        named = list(dict.fromkeys(column.name for _, column, _ in self.columns))
        shown = [name for name in named if name not in self.used]
        if self.asks in ("list", "which"):
            if self.rows < 0 and not named:  # a value alone: "who is Bob?"
                raise _DoesNotFit
            return replace(parsed, op="list", shown=tuple(shown), distinct=self.rows < 0 and bool(shown))
        if not self.conditions or not (shown or (self.rows >= 0 and (self.asks or self._names_date()))):
            raise _DoesNotFit
        numbers = [column for _, column, _ in self.columns if column.kind == "number" and column.name in shown]
        if len(shown) == len(numbers) == 1 and not _is_rate(numbers[0]) and not is_id(numbers[0]):
            return replace(parsed, op="sum", measure=numbers[0])
        if shown:  # "what is the price of the lamp?": show the lamp too
            shown = list(dict.fromkeys([*(each.column for each in self.conditions), *shown]))
        return replace(parsed, op="list", shown=tuple(shown), distinct=bool(shown))

    def _require_used(self, *columns: Column | None) -> None:
        """Raise _DoesNotFit if a column was named but is not used."""
        unused = {column.name for _, column, _ in self.columns} - self.used
        if unused - {column.name for column in columns if column is not None}:
            raise _DoesNotFit


class _DoesNotFit(Exception):
    """The parts of a question do not make up a query."""


def _is_rate(column: Column) -> bool:
    """Whether summing the column is meaningless, as with prices."""
    return bool(set(split_name(column.name)) & _RATES)


def _is_year(mark: Mark) -> bool:
    return bool(re.fullmatch(r"(?:19|20)\d\d", str(mark.value)))


def _period_bounds(period: str) -> tuple[str, str]:
    """The first day of a year, month or day, and the first day after it."""
    numbers = [int(part) for part in period.split("-")]
    if len(numbers) == 3:
        try:
            day = datetime.date(*numbers)
        except ValueError as error:
            raise _DoesNotFit from error
        return period, str(day + datetime.timedelta(days=1))
    year, month = numbers[0], numbers[1] if len(numbers) == 2 else 0
    after = (year + 1, 1) if month in (0, 12) else (year, month + 1)
    return f"{year}-{month or 1:02}-01", f"{after[0]}-{after[1]:02}-01"


def _label_column(table: Table, measure: Column) -> tuple[str, ...]:
    """The column that names a row of the table."""
    texts = [column for column in table.columns if column.kind == "text"]
    own = split_name(table.name)
    named = [column for column in texts if set(split_name(column.name)) & {"name", "titl", "label", *own}]
    rest = [column for column in table.columns if column.name != measure.name]
    return tuple(column.name for column in (named or texts or rest)[:1])
