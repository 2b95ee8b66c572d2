"""All rows of a kind: "what pastries are there?", "which breads cost less than £4?", "list all prices"."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from turnwise.english import NUMBER_WORD, number_of
from turnwise.extractive.statements import asked_stems, stems_of
from turnwise.extractive.tables.amounts import amount_in, includes_number, is_range
from turnwise.extractive.tables.answers import Answer, write
from turnwise.extractive.tables.model import Row, Table, comparable_amounts
from turnwise.extractive.tables.vocabulary import ANY_ROW_STEMS, FORM_STEMS, LAST_SIGNS, PEOPLE
from turnwise.text import stem, words

MAX_KIND_WORDS = 2  # in a cell that says what a row is
_KIND = r"(?:(?:kinds?|types?|sorts?) of )?(?P<what>.+?)"
_PROVIDE = r"(?:have|sell|offer|do|stock|serve|make|bake|get|buy|order|choose(?: from)?|got|hire|rent|book|run)"
_BEING_IN_CHARGE = (
    "run|lead|teach|give|make|do|take|organi[sz]e|host|coach|manage|own|write|direct|supply|sell|offer|present|play"
)
_OPENING = re.compile(r"(?:(?:and|so|ok|okay|hi|hello|please),? |(?:can|could|would) you )*", re.I)
_LISTS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"(?:list|show|give|print|name|tell)(?: me| us)? (?:a list of )?(?:all(?: of)? )?(?:the |your |our )?"
        r"(?P<what>(?!(?:(?:me|us) )?about\b).+?)(?: (?:you (?:have|sell|offer)|there (?:is|are)))?(?:,? please)?",
        rf"(?:what|which) {_KIND} (?:is|are) (?:there|available|on offer|offered|sold|served|on the menu|listed)",
        rf"(?:what|which) {_KIND} (?:do|does|can|could|have|has) (?:you|they|we|i|one|the \w+|it) {_PROVIDE}",
        rf"(?:do|does) (?:you|they|we|the \w+|it) {_PROVIDE} (?:any )?{_KIND}",
        rf"(?:are there|have you got) any {_KIND}",
        r"(?:is|are) there (?:anything|something) (?P<what>.+?)",
        r"what (?:is|are) (?:all )?(?:the|your) "
        r"(?P<what>(?:\w+ )?(?:prices|fees|costs|charges|fares|rates|price list))",
        r"what(?:['’]s| is) on the (?P<what>menu)",
    )
)
_HOW_MANY = re.compile(rf"how many {_KIND} (?:are there|(?:do|does|can) (?:you|they|we|i|the \w+|it) {_PROVIDE})", re.I)
_HOW_MUCH_IS_EVERYTHING = re.compile(r"how much (?:is|does) (?P<what>everything)(?: cost)?", re.I)
_WHICH = re.compile(
    r"(?:which|what(?! (?:is|are|was|were|do|does|can|would)\b)) "
    r"(?P<what>.+? (?:contains?|includes?|ha(?:ve|s)|are|is|for) .+)",
    re.I,
)
# "Which courses does Dr Hall teach?" and "which courses are taught by Dr Hall?": rows with just this in a cell.
_BY_WHOM = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"(?:what|which) (?P<what>[^,?]{{1,40}}?) (?:do|does|did) (?P<who>[^,?]{{1,40}}?) (?:{_BEING_IN_CHARGE})",
        r"(?:what|which) (?P<what>[^,?]{1,40}?) (?:is|are|was|were) "
        r"(?:run|led|taught|given|made|organi[sz]ed|hosted|coached|managed|owned|written|directed|supplied) by "
        r"(?P<who>[^,?]{1,40}?)",
    )
)
# "My son is in year 8, what can he do on Monday?": the number must be in a range of the table.
_WHAT_CAN = re.compile(
    r"(?P<before>[^,?]{1,60}, )?(?:(?:so|and) )?(?:what|which)(?P<kind> [^,?]{1,40}?)? (?:can|could) "
    rf"(?P<who>[^,?]{{1,40}}?) (?:{_PROVIDE}|join|take|play|visit|try|attend|go to|use)\b(?P<after>[^?]*)",
    re.I,
)
_WHO = re.compile(
    r"\b(?:my|our|an?) (?:\w+ )?"
    r"(?:kids?|child(?:ren)?|sons?|daughters?|boys?|girls?|friends?|students?|pupils?|group)\b"
    r"|\ban? (?=\d|year\b)",
    re.I,
)
# Without its condition, "which breads cost less than £4?" is "which breads?".
_WHICH_OF_ALL = re.compile(r"(?:which|what|list|show)\b(?P<what>.+)", re.I)
_BARE = re.compile(r"(?:any |some )?(?P<what>[^,?]{1,40})", re.I)
_PRICE_LIST = re.compile(r"(?:full |whole |entire )?(?:price list|menu)", re.I)
_COMPARISONS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    **dict.fromkeys(("under", "below", "less than", "cheaper than"), operator.lt),
    **dict.fromkeys(("over", "above", "more than"), operator.gt),
    **dict.fromkeys(("up to", "at most"), operator.le),
    "at least": operator.ge,
}
_DECIMAL = r"\d+(?:,\d{3})*(?:\.\d+)?"
_PRICE_LIMIT = re.compile(
    rf"(?:costs?|are|is|for|at|costing|priced)? ?\b(?P<comparison>{'|'.join(_COMPARISONS)}) "
    rf"(?P<amount>[$€£]{_DECIMAL}|{_DECIMAL} (?:euros?|pounds?|dollars?))(?![.,]?\w)",
    re.I,
)
# "Hot food under 6", of a table whose only numbers are prices. "For under 5s" and "kids under 5" are people.
_BARE_LIMIT = re.compile(
    rf"(?<!\bfor )\b(?P<comparison>under|below|less than|cheaper than|up to|at most) (?P<amount>{_DECIMAL})\W*$", re.I
)
_AGES = re.compile(r"\b(?:age[sd]?|people|persons?)\b", re.I)
_COUNTED = re.compile(
    rf"(?:lasts?|takes?|are|is|for) (?P<number>\d+|{NUMBER_WORD}) (?P<noun>[a-z]+)(?= long\b|\W*$)", re.I
)
_NUMBER = re.compile(r"\d")
_RELATION = re.compile(  # to something that no cell shows
    r"\b(?:than|before|after|between|until|others?|above|below|over|under(?![- ]?\d)|(?-i:May))\b", re.I
)


@dataclass(frozen=True, slots=True)
class _Request:
    """What a question asks to list."""

    what: str  # the words that say which rows
    pattern: re.Pattern[str]  # of the question
    limit: re.Match[str] | None
    counted: re.Match[str] | None

    @property
    def wants_all_prices(self) -> bool:
        return self.pattern is _HOW_MUCH_IS_EVERYTHING or bool(_PRICE_LIST.fullmatch(self.what))


def listed_rows(question: str, tables: Sequence[Table]) -> str:
    """The rows that a question wants listed; empty if it does not want a list, or no table has it."""
    request = _request_in(question)
    if request is None:
        return ""
    if request.wants_all_prices:
        asked = asked_stems(request.what)
        tables = [table for table in tables if table.price_columns and asked & table.place_stems] or tables
    return write([_answer(request, table) for table in tables])


def rows_by_whom(question: str, tables: Sequence[Table]) -> str:
    """The rows with a name in a cell, all of them, whatever was told before; empty if the question wants others."""
    plain = LAST_SIGNS.sub("", _OPENING.sub("", question, count=1))
    found = next(filter(None, (pattern.fullmatch(plain) for pattern in _BY_WHOM)), None)
    return write([Answer(table, _rows_by(found["what"], found["who"], table)) for table in tables]) if found else ""


def _rows_by(what: str, who: str, table: Table) -> list[Row]:
    """The rows of a kind that have just this name in the same column. A part of it is enough, "Hall" for "Dr Hall", if
    it means only one."""
    keys = stems_of(who)
    rows = table.select_subject(what)
    named = [(column, row) for row in rows for column, cell in row.cells.items() if keys and keys <= stems_of(cell)]
    if len({column for column, _ in named}) != 1:
        return []
    exact = [row for column, row in named if stems_of(row.cells[column]) == keys]
    means_one = len({row.cells[column] for column, row in named}) == 1
    return exact or ([row for _, row in named] if means_one else [])


def rows_within_limit(question: str, tables: Sequence[Table]) -> str:
    """The same for a question with a limit or a number: "which cost less than £3?", "which last two days?"."""
    has_limit = _PRICE_LIMIT.search(question) or _COUNTED.search(question)
    return listed_rows(question, tables) if has_limit else ""


def _request_in(question: str) -> _Request | None:
    limit, counted = _PRICE_LIMIT.search(question), _COUNTED.search(question)
    if limit is None and (bare := _BARE_LIMIT.search(question)):
        about_people = any(each.search(question[: bare.start()]) for each in (_AGES, *PEOPLE.values()))
        limit = None if about_people else bare
    condition = limit or counted
    plain = " ".join(question.replace(condition[0], " ").split()) if condition else question
    if _RELATION.search(plain):
        return None
    plain = LAST_SIGNS.sub("", _OPENING.sub("", plain, count=1))
    if not condition and (found := _WHAT_CAN.fullmatch(plain)):
        return _Request(_WHO.sub(" ", " ".join(filter(None, found.groups()))), _WHAT_CAN, None, None)
    last = (_WHICH_OF_ALL, *([_BARE] if limit else [])) if condition else (_WHICH,)
    for pattern in (*_LISTS, _HOW_MANY, _HOW_MUCH_IS_EVERYTHING, *last):
        if found := pattern.fullmatch(plain):
            request = _Request(found["what"], pattern, limit, None if limit else counted)
            names_rows = bool(asked_stems(request.what) - FORM_STEMS)
            return request if names_rows or request.wants_all_prices else None
    return None


def _answer(request: _Request, table: Table) -> Answer:
    whole = request.wants_all_prices and table.price_columns
    rows = table.rows if whole else table.select_subject(request.what)
    kinds = asked_stems(request.what) - FORM_STEMS
    if request.pattern in _LISTS and not whole and kinds and not any(_may_be(key, rows, table) for key in kinds):
        rows = []
    if request.limit:
        rows = _within_limit(rows, table, request.limit)
    elif request.counted:
        rows = _with_count(rows, number_of(request.counted["number"]), request.counted["noun"])
    if request.pattern is _WHICH and len(rows) == len(table.rows):
        rows = []  # the question wants some of the rows
    if request.pattern is _WHAT_CAN:
        rows = table.select(request.what) if table.numbers_in(request.what)[1] else []
    if request.pattern is not _HOW_MANY:
        return Answer(table, rows)
    if not all(map(table.has_kind, asked_stems(request.what))):
        rows = []  # a row may not be one of what is counted
    return Answer(table, rows, f"{len(rows)} row{'s' * (len(rows) > 1)} found")


def _may_be(key: str, rows: Sequence[Row], table: Table) -> bool:
    """Whether rows may be what a word means, and do not only speak of it: "the store cannot be reached" is no store."""
    short = (cell for row in rows for cell in row.cells.values() if len(words(cell)) <= MAX_KIND_WORDS)
    told = (*(row.name for row in rows), *short)
    return key in table.naming_stems | ANY_ROW_STEMS or any(key in stems_of(each) for each in told)


def _within_limit(rows: Sequence[Row], table: Table, limit: re.Match[str]) -> list[Row]:
    """The rows with a price on the right side of a limit: "under £4"; [] if it is not clear which price counts."""
    bound = amount_in(limit["amount"])
    if bound is None or len(table.price_columns) != 1:
        return []
    amounts = comparable_amounts(rows, table.price_columns[0])
    if limit.re is _BARE_LIMIT:
        others = [cell for row in table.rows for column, cell in row.cells.items() if column != table.price_columns[0]]
        if any(_NUMBER.search(cell) for cell in (*others, *(row.name for row in table.rows))):
            return []  # the limit may be one of something else
    elif any(amount.unit not in ("", bound.unit) for _, amount in amounts):
        return []  # another currency
    fits = _COMPARISONS[limit["comparison"].lower()]
    return [row for row, amount in amounts if fits(amount.value, bound.value)]


def _with_count(rows: Sequence[Row], number: int, noun: str) -> list[Row]:
    """The rows with this number of something."""
    key = stem(noun.lower())
    return [row for row in rows if any(_counts(column, cell, number, key) for column, cell in row.cells.items())]


def _counts(column: str, cell: str, number: int, key: str) -> bool:
    """Whether a cell is this number of something: "2 days", or "2" or "1-3" in the column "days"."""
    amount = amount_in(cell)
    is_number = amount is not None and amount.number == str(number)
    is_clock = key in ("hour", "minut", "time")  # "10-12" in the column "hours" is no number of hours
    is_number = is_number or (not is_clock and is_range(cell) and includes_number(cell, number))
    return is_number and key in stems_of(f"{column} {cell}".replace("_", " "))
