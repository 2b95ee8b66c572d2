"""Plain questions as SQL, without a language model: counts, sums, averages, extremes, rankings, groups and filters.

A question is read only as a whole: every word of it is an operation, a number, a date, a function word, or the name of
a table, a column or a value. One other word, and the question is not about the data, as far as we can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import takewhile
from typing import Any, Literal

from turnwise.text import STOP_WORDS, is_content, stem, words
from turnwise.tools.sources import Column, Table

SHOWN = 5  # rows of a ranking that names no number
LONGEST_QUESTION = 300  # characters
RECENT = 4  # messages of the user that a question may lean on

Op = Literal["", "count", "sum", "avg", "min", "max", "list"]

_MEANINGS = {
    "count": "how many|number of|total number of|count of|count",
    "sum": "how much|sum of|sum|total|total of|combined",
    "avg": "average|mean|avg|on average",
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
    "distinct": "distinct|different|unique",
    "or": "or",
    "rows": "row|rows|record|records|entry|entries",
    "year": "year|years",
    "month": "month|months",
    "filler": """in total| altogether| overall| a| an| the| of| in| on| at| for| from| to| with| is| are| was| were|
        be| been| being| do| does| did| have| has| had| there| all| our| we| us| i| my| me| you| your|
        their| any| some| that| whose| where| and| also| please| can| could| would| tell| only| just| data|
        dataset| table| database| exist| exists| sold| placed| made| bought| purchased| recorded|
        registered| located| based| live| lives| living| come| comes| came| belong| belongs| worth| during|
        within| among| as| each| dollars| euros| usd| eur| value| values| currently| now| then| instead|
        what about| how about| same| its| priced| place| make| makes| buy| sell""",
}
_COMPARISONS = (">", ">=", "<", "<=", "=", "between", "after", "since", "before", "until")
_PHRASES = {tuple(phrase.split()): meaning for meaning, listed in _MEANINGS.items() for phrase in listed.split("|")}
_AGGREGATES: dict[str, Op] = {"sum": "sum", "avg": "avg", "min": "min", "max": "max"}
_SYNONYMS = [
    {stem(word) for word in group.split()}
    for group in (
        "sales revenue turnover amount income",
        "price cost costs",
        "customer client",
        "product item article",
        "salary wage pay",
    )
]
_RATES = {stem(word) for word in "price cost rate rating score age percent percentage share ratio temperature".split()}
_MONTHS = "january february march april may june july august september october november december".split()
_NUMBERS = dict(zip("one two three four five six seven eight nine ten".split(), range(1, 11), strict=True))
_TOKEN = re.compile(
    r"[\"“]([^\"”]{1,80})[\"”]|(?<!\w)'([^']{1,80})'(?!\w)|(\d{4}-\d\d-\d\d)|(\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?!\w)"
    r"|([^\W_]+)(?:['’]s?\b)?|(>=|<=|[<>=])"
)
_SUMS = re.compile(r"[%*/^+]")  # signs of a sum, which is not for a query
_ADDED = re.compile(r"\s*\([^()]*\)(?=\W*$)")  # words that condensing a question put after it
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_NAME_LIKE = (("name",), ("titl",), ("label",))
_LEANS = re.compile(r"^(?:and|what about|how about|only|just|now|or|in|by|per|for|since|the same)\b", re.I)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a stretch of the question is."""

    kind: str  # a meaning of the table above, or table, column, value, quoted, number, period
    value: Any = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    column: str
    sql: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as the parts of a query. Without an operation it is only the rest of one: "and by region?"."""

    table: Table
    op: Op = ""
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


def read_question(question: str, tables: Sequence[Table], asked: Sequence[str] = ()) -> str:
    """The question as SQL (with standard quotes), empty where it is not one about these tables. `asked` are the user's
    earlier messages: a question that gives only a group or a filter takes the rest from the last about the data."""
    alone = _ADDED.sub("", question)
    reading = _resolved([*asked[-RECENT:], alone], tables)
    if reading is None and not _LEANS.match(question):
        reading = _read(question, tables)
    return _written(reading) if reading and reading.op else ""


def touches(question: str, tables: Sequence[Table]) -> bool:
    """Whether a question names anything of these tables."""
    said = {stem(word) for word in words(question[:LONGEST_QUESTION]) if is_content(word)}
    return any(set(phrase) & said for table in tables for phrase in _names(table) if len(phrase) < 3)


def _resolved(asked: Sequence[str], tables: Sequence[Table]) -> Reading | None:
    """What the last of these messages asks, with what it leaves out taken from those right before it."""
    reading = _read(asked[-1], tables)
    if reading is not None and reading.op:
        return reading
    if len(asked) == 1 or not _LEANS.match(asked[-1].strip()):
        return None
    base = _resolved(asked[:-1], tables)
    rest = _read(asked[-1], [base.table]) if base else None
    return _merged(base, rest) if base and rest else None


def _read(question: str, tables: Sequence[Table]) -> Reading | None:
    """The reading of the table that fits best; None where none does, or several do equally."""
    if len(question) > LONGEST_QUESTION or _SUMS.search(question):
        return None
    marked = [(table, _marks(question, table)) for table in tables]
    readings = [reading for table, marks in marked if marks and (reading := _Reader(table, marks).read())]
    best = max((_fit(reading) for reading in readings), default=None)
    fitting = [reading for reading in readings if _fit(reading) == best]
    return fitting[0] if len(fitting) == 1 else None


def _fit(reading: Reading) -> tuple[bool, int, bool]:
    return bool(reading.op), reading.certain, not reading.table.view


def _merged(base: Reading, rest: Reading) -> Reading:
    """The earlier question with what the later one says in place of what it said of the same columns."""
    given = {each.column for each in rest.conditions}
    kept = tuple(each for each in base.conditions if each.column not in given)
    return replace(base, groups=rest.groups or base.groups, conditions=(*kept, *rest.conditions))


# --- words --------------------------------------------------------------------------------------------------------


def _marks(question: str, table: Table) -> list[Mark] | None:
    """What every stretch of the question is, the longest that fit; None where a word is nothing."""
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
    """The meaning of the longest beginning of these words, and how many words that is."""
    names, lower = _names(table), [word.lower() for word in run]
    month = lower[0] in _MONTHS and len(rest) > 1 and re.fullmatch(r"\d{4}", rest[1])
    if month:
        return 2, Mark("period", f"{rest[1]}-{_MONTHS.index(lower[0]) + 1:02}", " ".join(rest[:2]))
    for length in range(len(run), 0, -1):
        said = " ".join(run[:length])
        phrase = tuple(lower[:length])
        stemmed = tuple(map(stem, phrase))
        meaning = _PHRASES.get(phrase)
        if meaning and not _is_column_here(phrase, meaning, names, rest[length:]):
            return length, Mark(meaning, None, said)
        if stemmed in names:
            kind, value = names[stemmed]
            return length, Mark(kind, value, said)
    return 1, None


def _is_column_here(
    phrase: tuple[str, ...], meaning: str, names: dict[tuple[str, ...], tuple[str, Any]], after: list[str]
) -> bool:
    """Whether an operation word ("total", "since") is rather the column of that name: it has nothing to work on."""
    if names.get(tuple(map(stem, phrase)), ("",))[0] != "column" or meaning in ("by", "or"):
        return False
    if meaning == "filler":
        return phrase[0] not in STOP_WORDS
    following = next((word for word in after if word.lower() not in ("of", "the", "number")), "")
    return not ((stem(following.lower()),) in names or (meaning in _COMPARISONS and following[:1].isdigit()))


@lru_cache(maxsize=128)
def _names(table: Table) -> dict[tuple[str, ...], tuple[str, Any]]:
    """What can be named in a table, by the stems of its words. Whole names outrank values, and those parts of names."""
    names: dict[tuple[str, ...], tuple[str, Any]] = {}
    split = {column.name: _split(column.name) for column in table.columns}
    title = _split(table.name)
    names[title] = ("table", None)
    for column in table.columns:
        names.setdefault(split[column.name], ("column", column))
    for column in table.columns:
        for value in column.values:
            phrase = tuple(stem(word.lower()) for word in re.findall(r"[^\W_]+", value))
            plain = len(phrase) == 1 and ((value.lower(),) in _PHRASES or value.lower() in STOP_WORDS)
            if phrase and not plain and names.get(phrase, ("value",))[0] == "value":
                names.setdefault(phrase, ("value", []))[1].append((column.name, value))
    if head := [part for part in title if not part.isdigit()][-1:]:  # of sales_2023, "sales"
        names.setdefault(tuple(head), ("table", None))
    for part in {part for parts in split.values() for part in _callable(parts) if len(part) > 2}:
        having = [column for column in table.columns if part in _callable(split[column.name]) and not _is_id(column)]
        if len(having) == 1:
            names.setdefault((part,), ("column", having[0]))
    for group in _SYNONYMS:
        having = [column for column in table.columns if group & set(split[column.name])]
        if len(having) == 1:
            for word in group:
                names.setdefault((word,), ("column", having[0]))
    return names


def _split(name: str) -> tuple[str, ...]:
    """The stems of the words of a name: order_date, OrderDate and "Order date" are the same."""
    return tuple(stem(word.lower()) for word in re.findall(r"[^\W_]+", _CAMEL.sub(" ", name)))


def _callable(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name that stand for it: the last ("unit_price" is a price), all where that is "name"."""
    return parts if parts[-1:] in _NAME_LIKE else parts[-1:]


def _is_id(column: Column) -> bool:
    return _split(column.name)[-1:] in (("id",), ("key",), ("number",), ("no",))


# --- the sentence -------------------------------------------------------------------------------------------------


@dataclass
class _Reader:
    """Reads the marks of one question, from left to right. Whatever does not fit together ends it with None."""

    table: Table
    marks: list[Mark]
    op: str = ""
    op_place: int = -1
    asks: str = ""  # list, which, what
    rank: Literal["", "DESC", "ASC"] = ""
    rank_place: int = -1
    limit: int | None = None
    ranked: bool = False  # a top or a bottom
    rows: int = -1  # where the table is named
    distinct: bool = False
    order: str = ""
    by: list[Mark] = field(default_factory=list)
    columns: list[tuple[int, Column, str]] = field(default_factory=list)  # place, column, as it was said
    used: set[str] = field(default_factory=set)  # columns that conditions are about
    conditions: list[Condition] = field(default_factory=list)
    certain: int = 0

    def read(self) -> Reading | None:
        try:
            place = 0
            while place < len(self.marks):
                place += self._take(place)
            return self._whole_reading()
        except _DoesNotFit:
            return None

    def _kind(self, place: int) -> str:
        return self.marks[place].kind if 0 <= place < len(self.marks) else ""

    def _take(self, place: int) -> int:
        """Note what the mark says; how many marks that took."""
        mark = self.marks[place]
        match mark.kind:
            case "count" | "sum" | "avg" | "min" | "max":
                if not self.op:
                    self.op, self.op_place = mark.kind, place
                elif {self.op, mark.kind} != {"count", "sum"}:  # "total number of"
                    raise _DoesNotFit
            case "most" | "dearest" | "latest" | "top" | "least" | "cheapest" | "earliest" | "bottom":
                return self._take_rank(place)
            case "by":
                return self._take_groups(place)
            case "order":
                column = self._column_at(place + 1)
                self.order = column.name
                return 2
            case ">" | ">=" | "<" | "<=" | "=" | "between" | "after" | "since" | "before" | "until":
                return self._take_comparison(place)
            case "list" | "which" | "what":
                self.asks = self.asks or mark.kind
                if self.asks != mark.kind and mark.kind != "which":
                    raise _DoesNotFit
            case "distinct":
                self.distinct = True
            case "table" | "rows":
                self.rows = place
                self.certain += 2 * (mark.kind == "table")
            case "column":
                self.columns.append((place, mark.value, mark.said))
                self.certain += _split(mark.said) == _split(mark.value.name)
            case "value":
                self._take_value(place)
            case "quoted":
                column = self._column_before(place, None)
                self._add(column, f"{_name(column.name)} = {_text(mark.value)}")
            case "number" | "period":
                self._take_number(place)
            case "year" | "month" | "or":
                if mark.kind == "or" and not (self._kind(place - 1) == self._kind(place + 1) == "value"):
                    raise _DoesNotFit
                if mark.kind == "year" and self._kind(place + 1) != "number":
                    raise _DoesNotFit
                if mark.kind == "month":
                    raise _DoesNotFit
        return 1

    def _take_rank(self, place: int) -> int:
        if self.rank:
            if self.ranked and self._kind(place) in ("most", "least", "dearest", "cheapest"):
                return 1  # "top 5 most expensive"
            raise _DoesNotFit
        kind = self._kind(place)
        self.rank = "DESC" if kind in ("most", "dearest", "latest", "top") else "ASC"
        self.rank_place = place
        if kind in ("dearest", "cheapest"):
            self.columns.append((place, self._only(lambda column: column.kind == "number" and _is_rate(column)), ""))
        if kind in ("latest", "earliest"):
            self.columns.append((place, self._only(lambda column: column.kind == "date"), ""))
        if kind in ("top", "bottom"):
            self.ranked = True
            numbered = self._kind(place + 1) == "number"
            self.limit = self._whole(place + 1) if numbered else SHOWN
            return 2 if numbered else 1
        return 1

    def _take_groups(self, place: int) -> int:
        end = place + 1
        while self._kind(end) in ("column", "table", "rows", "filler", "year", "month") or (
            self._kind(end) in ("count", "sum", "avg") and self.rank
        ):
            mark = self.marks[end]
            if mark.kind == "filler" and mark.said.lower() not in ("and", "the"):
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
        sign = self._kind(place)
        if self._kind(place + 1) not in ("number", "period"):
            raise _DoesNotFit
        first, taken = self.marks[place + 1], 2
        last = first
        if sign == "between":
            if self._kind(place + 3) not in ("number", "period"):
                raise _DoesNotFit
            last, taken = self.marks[place + 3], 4
        of_dates = first.kind == "period" or sign in ("after", "since", "before", "until")
        years = sign == "between" and _is_year(first) and not self._is_number(place - 1)
        if (of_dates or years) and self._dates():
            column = self._column_before(place, "date")
            begin, end = _span(first.value)[0], _span(last.value)[1]
            name = _name(column.name)
            bounds = {
                "after": f"{name} >= '{_span(first.value)[1]}'",
                ">": f"{name} >= '{_span(first.value)[1]}'",
                "since": f"{name} >= '{begin}'",
                ">=": f"{name} >= '{begin}'",
                "before": f"{name} < '{begin}'",
                "<": f"{name} < '{begin}'",
                "until": f"{name} < '{end}'",
                "<=": f"{name} < '{end}'",
            }
            self._add(column, bounds.get(sign, f"{name} >= '{begin}' AND {name} < '{end}'"))
            return taken
        if first.kind == "period" or last.kind == "period":
            raise _DoesNotFit
        column = self._column_before(place, "number")
        name, sign = _name(column.name), {"after": ">", "since": ">=", "before": "<", "until": "<="}.get(sign, sign)
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
        texts = ", ".join(_text(value.replace("''", "'")) for value in sorted(set(values)))
        self._add(column, f"{_name(name)} = {texts}" if len(set(values)) == 1 else f"{_name(name)} IN ({texts})")

    def _take_number(self, place: int) -> None:
        """A number that no operation takes: how many of a ranking, what a column is, or when."""
        mark = self.marks[place]
        if mark.kind == "number" and self._kind(place + 1) in (
            "most",
            "least",
            "dearest",
            "cheapest",
            "latest",
            "earliest",
        ):
            self.limit, self.ranked = self._whole(place), True
            return
        before = place - 1
        while self._kind(before) == "filler" and self.marks[before].said.lower() in ("of", "is", "was", "a", "the"):
            before -= 1
        if mark.kind == "number" and self._is_number(before):
            column = self.marks[before].value
            self._add(column, f"{_name(column.name)} = {mark.value}")
        elif (mark.kind == "period" or _is_year(mark)) and self._dates():
            column = self._column_before(place, "date")
            begin, end = _span(mark.value)
            self._add(column, f"{_name(column.name)} >= '{begin}' AND {_name(column.name)} < '{end}'")
        elif mark.kind == "number" and _is_year(mark):
            column = self._only(lambda each: each.kind == "number" and _split(each.name)[-1:] == ("year",))
            self._add(column, f"{_name(column.name)} = {mark.value}")
        else:
            raise _DoesNotFit

    def _add(self, column: Column, sql: str) -> None:
        self.used.add(column.name)
        self.conditions.append(Condition(column.name, sql))

    def _whole(self, place: int) -> int:
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
        """The nearest column before that place that fits, else the only one of the table that does."""
        for _, column, _ in reversed([each for each in self.columns if each[0] < place]):
            if kind is None or column.kind == kind:
                return column
        if kind is None:
            raise _DoesNotFit
        return self._only(lambda column: column.kind == kind and not _is_id(column))

    def _only(self, fits: Any) -> Column:
        found = [column for column in self.table.columns if fits(column)]
        if len(found) != 1:
            raise _DoesNotFit
        return found[0]

    def _is_number(self, place: int) -> bool:
        return self._kind(place) == "column" and self.marks[place].value.kind == "number"

    def _dates(self) -> bool:
        return any(column.kind == "date" for column in self.table.columns)

    def _numbers_named(self) -> bool:
        return any(column.kind == "number" for _, column, _ in self.columns)

    # --- what it comes to

    def _whole_reading(self) -> Reading:
        reading = Reading(self.table, conditions=tuple(self.conditions), order=self.order, certain=self.certain)
        if self.rank:
            return self._ranking(reading)
        if self.op:
            return self._aggregate(reading)
        reading = replace(reading, groups=self._groups())
        if not self.columns and self.rows < 0 and self.asks not in ("list", "which") and (self.by or self.conditions):
            return reading  # the rest of an earlier question
        if reading.groups:
            raise _DoesNotFit
        return self._list(reading)

    def _groups(self) -> tuple[tuple[str, str], ...]:
        of_rows = self.op == "avg" and all(mark.kind == "table" for mark in self.by)  # "average price per order"
        return () if of_rows else tuple(self._group(mark) for mark in self.by)

    def _group(self, mark: Mark) -> tuple[str, str]:
        if mark.kind in ("year", "month"):
            date = _name(self._column_before(len(self.marks), "date").name)
            return f"SUBSTR(CAST({date} AS TEXT), 1, {4 if mark.kind == 'year' else 7})", mark.kind
        if mark.kind != "column":
            raise _DoesNotFit
        return _name(mark.value.name), ""

    def _aggregate(self, reading: Reading) -> Reading:
        groups = self._groups()
        if self.op == "count":
            measure, said = self._counted()
            adds = measure is not None and measure.kind == "number" and not _is_id(measure)
            if adds and measure is not None and _is_rate(measure):
                raise _DoesNotFit
            op: Op = "sum" if adds else "count"
            self._all_used(measure)
            return replace(reading, op=op, measure=measure, said=said, groups=groups)
        measure = self._measure(self.op_place, dates=self.op in ("min", "max"))
        self._all_used(measure)
        if self.marks[self.op_place].said.lower() == "how much" and _is_rate(measure):
            return self._list(reading)
        return replace(reading, op=_AGGREGATES[self.op], measure=measure, groups=groups)

    def _counted(self) -> tuple[Column | None, str]:
        """What is counted, and what it is called: rows, or the different values of a column."""
        after = [each for each in self.columns if each[0] > self.op_place and each[1].name not in self.used]
        if self.rows > self.op_place and (not after or self.rows < after[0][0]):
            mark = self.marks[self.rows]
            return None, mark.said if mark.kind == "table" else f"rows of {self.table.name}"
        if after:
            return after[0][1], after[0][2]
        if not any(mark.kind == "value" for mark in self.marks):
            raise _DoesNotFit
        return None, f"rows of {self.table.name}"

    def _measure(self, place: int, dates: bool = False) -> Column:
        fitting = [
            each
            for each in self.columns
            if (each[1].kind == "number" and not _is_id(each[1])) or (dates and each[1].kind == "date")
        ]
        after = [each for each in fitting if each[0] >= place]
        if chosen := after or fitting:
            return chosen[0][1]
        if self.rows > place:  # "total sales", of a table of sales
            return self._amount()
        raise _DoesNotFit

    def _amount(self) -> Column:
        """The column of a table of sales that says how much."""
        own = _split(self.table.name)
        money = _SYNONYMS[0] if set(own) & _SYNONYMS[0] else set(own)
        return self._only(lambda column: column.kind == "number" and bool(set(_split(column.name)) & money))

    def _ranking(self, reading: Reading) -> Reading:
        entity, of_rows = self._entity()
        ranked = replace(reading, rank=self.rank, limit=self.limit if self.ranked else None)
        by = self.by[0] if len(self.by) == 1 else None
        if self.by and (by is None or by.kind not in ("column", "table", "rows")):
            raise _DoesNotFit
        if by is not None and by.kind == "column":
            self.columns.append((len(self.marks), by.value, by.said))
        groups = ((_name(entity.name), ""),) if entity else ()
        by_rows = self.rows > self.rank_place and not self._numbers_named()
        if entity and (self.op == "count" or by_rows or (by is not None and by.kind != "column")):
            measure = self._much() if self.op != "count" else None
            self._all_used(measure, entity)
            said = self.marks[self.rows].said if self.rows >= 0 else f"rows of {self.table.name}"
            return replace(ranked, op="sum" if measure else "count", measure=measure, said=said, groups=groups)
        measure = self._measure(self.rank_place, dates=True)
        extreme: Op = "max" if self.rank == "DESC" else "min"
        self._all_used(measure, entity)
        if entity:
            named = _AGGREGATES.get(self.op)
            whole: Op = extreme if measure.kind == "date" or _is_rate(measure) else "sum"
            return replace(ranked, op=named or whole, measure=measure, groups=groups)
        if self.op and _AGGREGATES.get(self.op) != extreme:
            raise _DoesNotFit
        if of_rows or ranked.limit:
            return replace(ranked, op="list", measure=measure, shown=(*_label(self.table, measure), measure.name))
        return replace(reading, op=extreme, measure=measure)

    def _much(self) -> Column | None:
        """What "by sales" or "the highest sales" goes by in a table of sales: the amounts, else how many there are."""
        if self.marks[self.rank_place].said.lower() in ("most", "fewest"):
            return None
        numbers = [column for column in self.table.columns if column.kind == "number" and not _is_id(column)]
        return self._amount() if numbers else None

    def _entity(self) -> tuple[Column | None, bool]:
        """What a ranking ranks: the values of a column, or the rows of the table; neither, where it wants a number."""
        texts = [column for _, column, _ in self.columns if column.kind == "text" and column.name not in self.used]
        if texts:
            return texts[0], False
        between = {self._kind(place) for place in range(self.rank_place + 1, self.rows)}
        follows = self.rows > self.rank_place and between <= {"column", "number"}  # "highest priced product"
        return None, follows or 0 <= self.rows < self.rank_place

    def _list(self, reading: Reading) -> Reading:
        named = list(dict.fromkeys(column.name for _, column, _ in self.columns))
        shown = [name for name in named if name not in self.used]
        if self.asks in ("list", "which"):
            if self.rows < 0 and not self.conditions and not shown:
                raise _DoesNotFit
            return replace(reading, op="list", shown=tuple(shown), distinct=self.rows < 0 and bool(shown))
        if not self.conditions or not (shown or (self.rows >= 0 and self.asks)):
            raise _DoesNotFit
        numbers = [column for _, column, _ in self.columns if column.kind == "number" and column.name in shown]
        if len(shown) == len(numbers) == 1 and not _is_rate(numbers[0]) and not _is_id(numbers[0]):
            return replace(reading, op="sum", measure=numbers[0])
        if shown:  # "what is the price of the lamp?": say of which
            shown = list(dict.fromkeys([*(each.column for each in self.conditions), *shown]))
        return replace(reading, op="list", shown=tuple(shown), distinct=bool(shown))

    def _all_used(self, *columns: Column | None) -> None:
        """No column was named in vain."""
        said = {column.name for _, column, _ in self.columns} - self.used
        if said - {column.name for column in columns if column is not None}:
            raise _DoesNotFit


class _DoesNotFit(Exception):
    """The parts of a question make no query together."""


def _is_rate(column: Column) -> bool:
    """Whether adding its numbers up says nothing, as with prices."""
    return bool(set(_split(column.name)) & _RATES)


def _is_year(mark: Mark) -> bool:
    return bool(re.fullmatch(r"(?:19|20)\d\d", str(mark.value)))


def _span(period: str) -> tuple[str, str]:
    """The first day of a year, a month or a day, and the first day after it."""
    numbers = [int(part) for part in period.split("-")]
    if len(numbers) == 3:
        import datetime

        try:
            day = datetime.date(*numbers)
        except ValueError as error:
            raise _DoesNotFit from error
        return period, str(day + datetime.timedelta(days=1))
    year, month = numbers[0], numbers[1] if len(numbers) == 2 else 0
    after = (year + 1, 1) if month in (0, 12) else (year, month + 1)
    return f"{year}-{month or 1:02}-01", f"{after[0]}-{after[1]:02}-01"


def _label(table: Table, measure: Column) -> tuple[str, ...]:
    """The column by which people call a row of the table."""
    texts = [column for column in table.columns if column.kind == "text"]
    own = _split(table.name)
    named = [column for column in texts if set(_split(column.name)) & {"name", "titl", "label", *own}]
    rest = [column for column in table.columns if column.name != measure.name]
    return tuple(column.name for column in (named or texts or rest)[:1])


# --- SQL ----------------------------------------------------------------------------------------------------------


def _written(reading: Reading) -> str:
    table, where = _name(reading.table.name), _where(reading.conditions)
    if reading.op == "list":
        return _listed(reading, table, where)
    value, alias = _value(reading)
    if not reading.groups:
        counts = reading.measure is not None and reading.op in ("sum", "avg")
        counted = f", COUNT({_name(reading.measure.name)}) AS row_count" if counts and reading.measure else ""
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
    shown = ", ".join(map(_name, reading.shown)) or "*"
    if reading.rank and reading.measure:
        measure, label = _name(reading.measure.name), _name(reading.shown[0])
        if reading.limit:
            order = f"{measure} {reading.rank} NULLS LAST, {label}"
            return f"SELECT {shown} FROM {table}{where} ORDER BY {order} LIMIT {reading.limit}"
        extreme = "MAX" if reading.rank == "DESC" else "MIN"
        best = Condition("", f"{measure} = (SELECT {extreme}({measure}) FROM {table}{where})")
        return f"SELECT {shown} FROM {table}{_where((*reading.conditions, best))} ORDER BY {label}"
    order = _name(reading.order) if reading.order else shown if reading.distinct else ""
    distinct = "DISTINCT " if reading.distinct and not reading.order else ""
    return f"SELECT {distinct}{shown} FROM {table}{where}{f' ORDER BY {order}' if order else ''}"


def _value(reading: Reading) -> tuple[str, str]:
    """What is worked out, and its name, which is how the answer will call it."""
    said = re.sub(r"\W+", "_", reading.said.lower())
    if reading.op == "count":
        counted = f"DISTINCT {_name(reading.measure.name)}" if reading.measure else "*"
        return f"COUNT({counted})", f"number_of_{said}"
    assert reading.measure is not None
    function = {"sum": "SUM", "avg": "AVG", "min": "MIN", "max": "MAX"}[reading.op]
    called = {"sum": "total", "avg": "average", "min": "lowest", "max": "highest"}[reading.op]
    if reading.measure.kind == "date":
        called = {"min": "earliest", "max": "latest"}[reading.op]
    alias = re.sub(r"\W+", "_", _CAMEL.sub("_", reading.measure.name).lower()).strip("_")
    return f"{function}({_name(reading.measure.name)})", f"{called}_{alias}"


def _where(conditions: Sequence[Condition]) -> str:
    return f" WHERE {' AND '.join(each.sql for each in conditions)}" if conditions else ""


def _name(name: str) -> str:
    """A name as SQL, in quotes: they are taken off where the database can do without."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
