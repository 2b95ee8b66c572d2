"""Questions about a table as a whole: all rows of a kind, the cheapest or longest one, two rows side by side, the price
for several.

Every word of a question must be part of its form, or name a column, a heading, a cell or a group of people. With any
other word, the question is left to the judge, who compares it with each row.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache

from turnwise.english import MONTHS, NUMBER_WORDS
from turnwise.extractive.kinds import PRICE_WORDS
from turnwise.extractive.sides import side_stems
from turnwise.extractive.statements import ITEM, Candidate, asked_stems, section_of, stems_of
from turnwise.extractive.writing import quote
from turnwise.text import stem, words
from turnwise.types import Prompt

MAX_QUESTION_CHARS = 200
MAX_LISTED_ROWS = 30
MAX_TABLES = 3  # answered from, if a question fits several

_FORM_STEMS = frozenset(
    map(
        stem,
        """list show give print name see tell need buy sell sold stock serve offer available choose order come kind type
        sort different various every full complete whole entire menu table currently contain include option
        choice total altogether together""".split(),
    )
)
_PEOPLE = {
    group: re.compile(rf"\b(?:{pattern})\b", re.I)
    for group, pattern in (
        ("child", r"kids?|child(?:ren)?|juniors?|youths?|infants?|toddlers?|under[- ]?\d+s?"),
        ("student", r"students?|pupils?"),
        ("senior", r"seniors?|pensioners?|oaps?|concessions?|retired people|retirees|over[- ]?[56]\ds?|[56]\d(?=\+)"),
        ("adult", r"adults?|grown[- ]?ups?"),
    )
}
_NEGATED = re.compile(r"\b(?:not|no|without|except|besides|other than|apart from|neither|nor)\b|n['’]t\b|-free\b", re.I)
_OTHER_ANSWER = re.compile(r"(?:(?:and|so|but),? )?(?:why|how (?!much\b))", re.I)


# --- tables -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Row:
    candidate: Candidate
    name: str  # its first cell
    cells: dict[str, str]  # the others, by column

    @cached_property
    def cell_stems(self) -> list[frozenset[str]]:
        """The stems of each cell, the name first."""
        return [stems_of(cell) for cell in (self.name, *self.cells.values())]

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset().union(*self.cell_stems)

    @cached_property
    def kinds(self) -> list[frozenset[str]]:
        """The stems of each cell besides the name, and of each part of a cell that is a list."""
        parts = (part for cell in self.cells.values() if ", " in cell for part in cell.split(", "))
        return [*self.cell_stems[1:], *map(stems_of, parts)]


@dataclass(frozen=True, eq=False)
class _Table:
    rows: list[_Row]
    heading: str
    place: frozenset[str]  # the stems of its headings and of the title of its document
    document: int

    @cached_property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for row in self.rows for column in row.cells))

    @cached_property
    def prices(self) -> list[str]:
        """The columns with amounts of money."""
        return [each for each in self.columns if any(_is_price(each, row.cells.get(each, "")) for row in self.rows)]

    @cached_property
    def named(self) -> frozenset[str]:
        """The stems that name the table or a column of it."""
        return self.place | self.subjects

    @cached_property
    def subjects(self) -> frozenset[str]:
        """The stems that say what its rows are, or what they tell: its columns, and the last word of its heading."""
        first = self.rows[0].candidate.statement
        section = words(first.above or section_of(self.rows[0].candidate.evidence.passage))[-1:]
        heads = (*section, *(column for column, _ in first.cells), *self.columns)
        return stems_of(" ".join(heads).replace("_", " ")) | (PRICE_WORDS if self.prices else frozenset())

    def rows_asked_for(self, question: str) -> list[_Row]:
        """The rows that a question means. All of them only if it says what they are: the title alone does not."""
        rows = self.select(question)
        return rows if len(rows) < len(self.rows) or asked_stems(question) & self.subjects else []

    @property
    def just_said(self) -> list[_Row]:
        return [row for row in self.rows if row.candidate.just_said]

    @property
    def is_cut(self) -> bool:
        """Whether passages with other rows were evidently not found."""
        passages = [row.candidate.evidence.passage for row in self.rows]
        first, last = passages[0].position, passages[-1].position
        is_file = passages[0].source.lower().endswith((".csv", ".tsv"))  # then it begins with the first passage
        return len({each.position for each in passages}) <= last - first or (is_file and first > 0)

    def select(self, question: str) -> list[_Row]:
        """The rows that a question means: all of them if it only names the table, none if it has another word."""
        question, groups = self._groups_in(question)
        rows = [row for row in self.rows if all(_PEOPLE[group].search(row.name) for group in groups)]
        for run in _runs(question):
            keys = run - _FORM_STEMS - {each for each in run if each in self.named and not self.is_kind(each)}
            if not keys:
                continue
            matching = [row for row in rows if any(keys <= cell for cell in row.cell_stems)]
            if not matching:
                return []
            rows = matching
        return rows

    def _groups_in(self, question: str) -> tuple[str, list[str]]:
        """The groups of people in a question that rows name by other words, and the question without them."""
        groups: list[str] = []
        for group, pattern in _PEOPLE.items():
            found = pattern.search(question)
            if found and not any(stems_of(found[0]) & row.stems for row in self.rows):
                question, groups = pattern.sub(" ", question), [*groups, group]
        return question, groups

    def is_kind(self, key: str) -> bool:
        return any(kind == {key} for row in self.rows for kind in row.kinds)


def _runs(question: str) -> list[frozenset[str]]:
    """The stems of a question one by one, but a number together with the word before it: "Year 5" is one thing."""
    runs: list[frozenset[str]] = []
    for word in words(question):
        keys = frozenset(asked_stems(word))
        if runs and word.isdigit() and runs[-1]:
            runs[-1] |= keys
        else:
            runs.append(keys)
    return [run for run in runs if run]


def _tables_in(pool: Sequence[Candidate]) -> list[_Table]:
    """The tables of at least two rows, the best-ranked first. One that was split over passages is put together."""
    rows: dict[tuple[object, ...], list[_Row]] = {}
    for each in pool:
        (head, name), *others = each.statement.cells or _item_cells(each) or (("", ""),)
        if others:
            passage = each.evidence.passage
            key = (passage.document_id, passage.heading, each.statement.above, head, each.is_item)
            rows.setdefault(key, []).append(_Row(each, name, dict(others)))
    return [_table(group) for group in rows.values() if len(group) > 1]


def _table(rows: list[_Row]) -> _Table:
    rows = sorted(rows, key=lambda row: (row.candidate.evidence.passage.position, row.candidate.position))
    first, passage = rows[0].candidate, rows[0].candidate.evidence.passage
    place = stems_of(f"{first.statement.above} {passage.called} {passage.heading}")
    return _Table(
        rows, (first.statement.above or section_of(passage) or passage.title).rstrip(": "), place, passage.document_id
    )


def _item_cells(candidate: Candidate) -> tuple[tuple[str, str], ...]:
    """The name and the price of a list item: "- Adult: £12"."""
    name, colon, value = ITEM.sub("", candidate.text).partition(": ") if candidate.is_item else ("", "", "")
    return (("", name), ("", value)) if colon and _Amount.of(value.rstrip(".")) else ()


# --- amounts ------------------------------------------------------------------------------------------------------

_AMOUNT = re.compile(
    r"(?P<sign>[$€£¥₹])? ?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?) ?(?P<unit>[^\d\s,;.()/]{1,12})?"
    r"(?: ?(?:/ ?|(?:per|an?|each) )\w+)?\.?",
    re.I,
)
_CURRENCIES = ("$", "€", "£", "¥", "₹", "euro", "euros", "dollar", "dollars", "pound", "pounds", "eur", "usd", "gbp")
_MINUTES = {"minut": 1, "min": 1, "hour": 60, "hr": 60, "h": 60, "day": 1440, "night": 1440, "week": 10080}
_MISSING = re.compile(r"|[-–—?]|n/?a|tbc|tba", re.I)
_DAY = re.compile(rf"(?:(\d{{4}})-(\d\d)-(\d\d)|(\d{{1,2}}) ({'|'.join(MONTHS)})(?: (\d{{4}}))?)", re.I)


@dataclass(frozen=True, slots=True)
class _Amount:
    """An amount as it is written in a cell. Times are in minutes, and days are counted from the year 1."""

    value: Decimal
    unit: str = ""
    written: str = ""  # the number
    prefixed: bool = False  # a currency sign before the number

    @classmethod
    @lru_cache(maxsize=4096)
    def of(cls, cell: str) -> _Amount | None:
        if cell.lower() in ("free", "none", "nothing"):
            return cls(Decimal(0), written=cell)
        found = _AMOUNT.fullmatch(cell)
        if found is None:
            return _day(cell)
        number, unit = found["number"], found["sign"] or (found["unit"] or "").lower()
        value = Decimal(number.replace(",", ""))
        if minutes := _MINUTES.get(stem(unit)):
            return cls(value * minutes, "time", number)
        return cls(value, unit, number, bool(found["sign"]))

    @property
    def is_money(self) -> bool:
        return self.unit in _CURRENCIES

    def with_unit(self, number: str) -> str:
        return f"{self.unit}{number}" if self.prefixed else f"{number} {self.unit}".rstrip()


def _day(cell: str) -> _Amount | None:
    found = _DAY.fullmatch(cell)
    if found is None:
        return None
    month = int(found[2]) if found[2] else MONTHS.index(found[5].lower()) + 1
    try:
        day = datetime.date(int(found[1] or found[6] or 1), month, int(found[3] or found[4]))
    except ValueError:
        return None
    return _Amount(Decimal(day.toordinal()), "day" if found[1] or found[6] else "day of the year")


def _is_price(column: str, cell: str) -> bool:
    amount = _Amount.of(cell)
    return amount is not None and (amount.is_money or bool(stems_of(column.replace("_", " ")) & PRICE_WORDS))


def _amounts(rows: Sequence[_Row], column: str) -> list[tuple[_Row, _Amount]]:
    """The amounts in a column, without empty cells; [] if they cannot be compared."""
    cells = [(row, row.cells.get(column, "")) for row in rows]
    amounts = [(row, _Amount.of(cell)) for row, cell in cells if not _MISSING.fullmatch(cell)]
    comparable = [(row, amount) for row, amount in amounts if amount is not None]
    units = {amount.unit for _, amount in comparable if amount.value}
    return comparable if len(comparable) == len(amounts) and len(units) <= 1 else []


# --- the answers --------------------------------------------------------------------------------------------------


def answer_from_tables(question: str, pool: Sequence[Candidate], prompt: Prompt) -> str:
    """The answer that the tables among the sentences give to a question about them; empty if there is none."""
    tables = _tables_in(pool) if prompt.language == "en" and len(question) <= MAX_QUESTION_CHARS else []
    if not tables or _NEGATED.search(question):
        return ""
    if prompt.sides:
        return _compared(question, prompt.sides, tables, pool)
    typed = [prompt.question] if len(prompt.asked) == 1 and len(prompt.question) <= MAX_QUESTION_CHARS else []
    for text in dict.fromkeys((question, *typed)):
        for answer in (
            _total(text, tables, pool),
            _extreme(text, asked_stems(prompt.question), tables, pool),
            _listed(text, tables),
        ):
            if answer:
                return answer
    return _for_group(typed[0] if typed else question, tables, pool)


def _list(rows: Sequence[_Row], opening: str = "") -> str:
    """The rows as a list, or as a sentence if there is one. An opening says which they are."""
    quotes = [quote(row.candidate) for row in rows[:MAX_LISTED_ROWS]]
    more = "\n\nThere are more rows." if len(rows) > MAX_LISTED_ROWS else ""
    if len(quotes) == 1 and not opening:
        return quotes[0]
    return (f"{opening}:\n\n" if opening else "") + "\n".join(f"- {each}" for each in quotes) + more


def _from_each(tables: Iterable[_Table], answer: Callable[[_Table, bool], str]) -> str:
    """The answers of the tables that have one. `answer` is told whether to name the table. Tables of documents that
    the conversation is about are preferred."""
    fitting = [table for table in tables if answer(table, False)]
    said = {table.document for table in fitting if any(row.candidate.said for row in table.rows)}
    fitting = [table for table in fitting if table.document in said] or fitting
    more = ["There are more tables like these."] if len(fitting) > MAX_TABLES else []
    return "\n\n".join([*(answer(table, len(fitting) > 1) for table in fitting[:MAX_TABLES]), *more])


# --- all of a kind ------------------------------------------------------------------------------------------------

_KIND = r"(?:(?:kinds?|types?|sorts?) of )?(?P<what>.+?)"
_PROVIDE = r"(?:have|sell|offer|do|stock|serve|make|bake|get|buy|order|choose(?: from)?|got|hire|rent|book|run)"
_LISTS = tuple(
    re.compile(rf"(?:(?:and|so|ok|okay|hi|hello|please),? |(?:can|could|would) you (?:please )?)*{pattern}\W*", re.I)
    for pattern in (
        r"(?:list|show|give|print|name|tell)(?: me| us)? (?:a list of )?(?:all(?: of)? )?(?:the |your |our )?"
        r"(?P<what>.+?)(?: (?:you (?:have|sell|offer)|there (?:is|are)))?(?:,? please)?",
        rf"(?:what|which) {_KIND} (?:is|are) (?:there|available|on offer|offered|sold|served|on the menu|listed)",
        rf"(?:what|which) {_KIND} (?:do|does|can|could|have|has) (?:you|they|we|i|one|the \w+|it) {_PROVIDE}",
        rf"(?:do|does) (?:you|they|we|the \w+|it) {_PROVIDE} any {_KIND}",
        rf"(?:are there|have you got) any {_KIND}",
        rf"(?P<count>how many) {_KIND} (?:are there|(?:do|does|can) (?:you|they|we|i|the \w+|it) {_PROVIDE})",
        r"what (?:is|are) (?:all )?(?:the|your) "
        r"(?P<what>(?:\w+ )?(?:prices|fees|costs|charges|fares|rates|price list))",
        r"what(?:['’]s| is) on the (?P<what>menu)",
        r"how much (?:is|does) (?P<what>everything)(?: cost)?",
    )
)
_WHICH = re.compile(r"(?:(?:and|so),? )?which (?P<what>.+? (?:contains?|includes?|ha(?:ve|s)|are|is|for) .+?)\W*", re.I)
_WHICH_OF_ALL = re.compile(r"(?:(?:and|so),? )?(?:which|what|list|show)\b(?P<what>.+)", re.I)
_LIMIT = re.compile(
    r"(?:costs?|are|is|for|at|costing|priced)? ?\b(?:"
    r"(?P<less>under|below|less than|cheaper than)|(?P<more>over|above|more than)|(?P<most>up to|at most)|"
    r"(?P<least>at least)) "
    r"(?:[$€£](?P<before>\d+(?:\.\d+)?)|(?P<after>\d+(?:\.\d+)?) (?:euros?|pounds?|dollars?)\b)",
    re.I,
)
_COUNTED = re.compile(rf"(?:lasts?|takes?|are|is|for) (\d+|{'|'.join(NUMBER_WORDS)}) ([a-z]+)(?= long\b|\W*$)", re.I)
_PRICE_LIST = re.compile(r"(?:full |whole |entire )?(?:price list|menu)", re.I)
_RELATED = re.compile(  # words that relate what is asked for to something else, and that no cell would show
    r"\b(?:than|before|after|between|until|others?|above|below|over|under(?![- ]?\d)|(?-i:May))\b", re.I
)


def _listed(question: str, tables: Sequence[_Table]) -> str:
    """All rows of a kind: "what pastries are there?", "which breads cost less than £4?", "list all prices"."""
    limit, counted = _LIMIT.search(question), _COUNTED.search(question)
    condition = limit or counted
    plain = " ".join(question.replace(condition[0], " ").split()) if condition else question
    patterns = (*_LISTS, _WHICH_OF_ALL) if condition else (*_LISTS, _WHICH)
    found = next((found for pattern in patterns if (found := pattern.fullmatch(plain))), None)
    what = found["what"] if found else ""
    priced = bool(_PRICE_LIST.fullmatch(what)) or (found is not None and found.re is _LISTS[-1])
    if not (priced or asked_stems(what) - _FORM_STEMS) or _RELATED.search(plain):
        return ""
    if priced:
        tables = [each for each in tables if each.prices and asked_stems(what) & each.place] or tables

    def rows_of(table: _Table, named: bool) -> str:
        rows = table.rows if priced and table.prices else table.rows_asked_for(what)
        if limit:
            rows = _within(rows, table, limit)
        elif counted:
            rows = _with_count(rows, counted[1].lower(), counted[2])
        if not rows or (len(rows) == len(table.rows) and found and found.re is _WHICH):
            return ""
        if found and found.groupdict().get("count"):
            counted_as_rows = all(map(table.is_kind, asked_stems(what)))
            return _list(rows, f"{len(rows)} row{'s' * (len(rows) > 1)} found") if counted_as_rows else ""
        return _list(rows, table.heading if named else "")

    return _from_each(tables, rows_of)


def _within(rows: Sequence[_Row], table: _Table, limit: re.Match[str]) -> list[_Row]:
    """The rows with a price on the right side of a limit: "under £4"; [] if it is not clear which price counts."""
    amounts = _amounts(rows, table.prices[0]) if len(table.prices) == 1 else []
    number = Decimal(limit["before"] or limit["after"])
    return [
        row
        for row, amount in amounts
        if (limit["less"] and amount.value < number)
        or (limit["most"] and amount.value <= number)
        or (limit["more"] and amount.value > number)
        or (limit["least"] and amount.value >= number)
    ]


def _with_count(rows: Sequence[_Row], number: str, noun: str) -> list[_Row]:
    """The rows with this number of something: "2 days" is a 2 in the column "days", or a cell "2 days"."""
    wanted = str(NUMBER_WORDS.index(number) + 1) if number in NUMBER_WORDS else number
    key = stem(noun.lower())
    return [
        row
        for row in rows
        for column, cell in row.cells.items()
        if key in stems_of(f"{column.replace('_', ' ')} {cell}")
        and (amount := _Amount.of(cell)) is not None
        and amount.written == wanted
    ]


# --- the cheapest, the longest ------------------------------------------------------------------------------------

_LENGTHS = stems_of("day days night hour minute duration length time week weeks months years distance km miles")
_SIZES = stems_of("size area capacity seats people guests persons places")
_DATES = stems_of("date day year when")
_SUPERLATIVES: tuple[tuple[re.Pattern[str], bool, Set[str]], ...] = tuple(
    (re.compile(rf"\b(?:the )?({pattern})\b", re.I), largest, kind)
    for pattern, largest, kind in (
        ("cheapest|least expensive|lowest[- ]priced?", False, PRICE_WORDS),
        ("most expensive|dearest|priciest|costliest|highest[- ]priced?", True, PRICE_WORDS),
        ("longest", True, _LENGTHS),
        ("shortest", False, _LENGTHS),
        ("largest|biggest", True, _SIZES),
        ("smallest", False, _SIZES),
        ("heaviest", True, stems_of("weight kg")),
        ("lightest", False, stems_of("weight kg")),
        ("tallest", True, stems_of("height")),
        ("earliest|soonest", False, _DATES),
        ("latest", True, _DATES),
        ("highest|most", True, frozenset()),
        ("lowest|fewest|least", False, frozenset()),
    )
)
_COSTS = re.compile(r"\b(?:how much (?:is|does|do|are|would)|what does|costs?)\b", re.I)


def _extreme(question: str, typed: Set[str], tables: Sequence[_Table], pool: Sequence[Candidate]) -> str:
    """The row with the lowest or highest amount: "what is the cheapest bread?", "which trip is the longest?".

    Words that only the conversation added, not `typed`, may name the rows to compare but not a single one of them."""
    matches = ((pattern.search(question), largest, kind) for pattern, largest, kind in _SUPERLATIVES)
    phrase, largest, kind = next((each for each in matches if each[0]), (None, False, frozenset[str]()))
    if phrase is None or _OTHER_ANSWER.match(question):
        return ""
    rest = question[: phrase.start()] + " " + question[phrase.end() :]
    if any(pattern.search(rest) for pattern, *_ in _SUPERLATIVES):
        return ""
    word = phrase[1].lower()
    keys = asked_stems(word) or {stem(word)}
    if any(keys <= stems_of(each.text) for each in pool if not each.statement.is_row):
        return ""  # a sentence may say it
    if not asked_stems(_COSTS.sub(" ", rest)):  # "and the cheapest?"
        tables = [table for table in tables if table.just_said]

    def best_of(table: _Table, named: bool) -> str:
        subject = " ".join(
            word
            for word in words(_COSTS.sub(" ", rest) if kind is PRICE_WORDS else rest)
            if (keys := asked_stems(word)) <= typed | table.named or any(map(table.is_kind, keys))
        )
        rows = table.rows_asked_for(subject) if asked_stems(subject) else table.rows
        column = _column_to_compare(table, asked_stems(rest), kind)
        amounts = _amounts(rows, column) if column is not None else []
        if not amounts or table.is_cut:
            return ""
        values = [amount.value for _, amount in amounts]
        best = [row for row, amount in amounts if amount.value == (max(values) if largest else min(values))]
        by = f", by {column.replace('_', ' ').lower()}" if column else ""
        place = f" under {table.heading}" if named else ""
        opening = f"{word.capitalize()} of the {len(amounts)} rows found{place}{by}"
        return _list(best, opening if len(amounts) > 1 else "")

    return _from_each(tables, best_of)


def _column_to_compare(table: _Table, asked: Set[str], kind: Set[str]) -> str | None:
    """The column with the amounts: one that the question names, else the first with prices, else the only one of the
    kind. A question without a kind, such as "the most", must name it."""
    numeric = [each for each in table.columns if _amounts(table.rows, each)]
    names = {each: stems_of(each.replace("_", " ")) for each in numeric}
    most = max((len(names[each] & asked) for each in numeric), default=0)
    if most:
        asked_for = [each for each in numeric if len(names[each] & asked) == most]
        return asked_for[0] if len(asked_for) == 1 or asked_for[0] in table.prices else None
    if kind is PRICE_WORDS or (not kind and asked & PRICE_WORDS):
        return next((each for each in numeric if each in table.prices), None)
    fitting = [each for each in numeric if names[each] & kind]
    if kind is _LENGTHS and not fitting:
        fitting = [each for each in numeric if any(amount.unit == "time" for _, amount in _amounts(table.rows, each))]
    if kind is _DATES:
        fitting = [each for each in numeric if "day" in _amounts(table.rows, each)[0][1].unit] or fitting
    return fitting[0] if len(fitting) == 1 else None


# --- side by side -------------------------------------------------------------------------------------------------


def _compared(question: str, sides: Sequence[str], tables: Sequence[_Table], pool: Sequence[Candidate]) -> str:
    """The rows that the sides of a comparison name: "compare the adult and student fees". Unless it asks for prices, a
    sentence about a side wins: "residential and nursing care" may differ in more than a table shows."""
    own = side_stems(sides)
    prose = [stems_of(each.text) for each in pool if not each.statement.is_row and not _item_cells(each)]
    if not asked_stems(question) & PRICE_WORDS and any(stems <= said for stems in own for said in prose):
        return ""
    tables = [table for table in tables if asked_stems(question) & table.subjects]

    def both(table: _Table, named: bool) -> str:
        chosen: list[_Row] = []
        for stems in own:
            keys = stems - table.named - _FORM_STEMS
            rows = [row for row in table.rows if keys and keys <= row.cell_stems[0]]
            if not rows or any(row in chosen for row in rows):
                return ""
            chosen += rows
        return _list(chosen, table.heading if named else "")

    return _from_each(tables, both)


# --- groups of people ---------------------------------------------------------------------------------------------

_ASKS_PRICE = re.compile(
    r"\b(?:how much|costs?|prices?|fees?|pay|charged?|fares?|rates?|tickets?|memberships?)\b", re.I
)


def _for_group(question: str, tables: Sequence[_Table], pool: Sequence[Candidate]) -> str:
    """The rows for a group of people that the documents call by another name: "and for kids?" is the junior row."""
    groups = [found[0] for pattern in _PEOPLE.values() if (found := pattern.search(question))]
    known = any(stems_of(group) & stems_of(each.text) for group in groups for each in pool)
    if len(groups) != 1 or known:
        return ""
    asks_price = _ASKS_PRICE.search(question)
    after = not asks_price and not asked_stems(question) - asked_stems(groups[0])
    if not after and not asks_price:
        return ""

    def rows_for(table: _Table, named: bool) -> str:
        if not table.prices or (after and not table.just_said):
            return ""
        rows = table.select(question)
        return _list(rows, table.heading if named else "") if rows else ""

    return _from_each(tables, rows_for)


# --- the price for several ----------------------------------------------------------------------------------------

_COUNT = re.compile(rf"\d{{1,3}}|{'|'.join(NUMBER_WORDS)}|an?", re.I)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|,")
_SEPARATORS = frozenset(
    "and plus for of at in on to would will cost costs is are be with , come buy hire get per the my our".split()
)
_RATE = re.compile(r"(?:\b(?:per|an?|each|every) |/ ?)(minute|hour|day|night|week|month|year|session|lesson)\b", re.I)
_RATE_WORDS = {"hourly": "hour", "daily": "day", "nightly": "night", "weekly": "week", "monthly": "month"}
_RATE_WORDS |= {"yearly": "year", "annual": "year"}
_TIMES = frozenset("minute hour day night week month year session lesson".split())
_BY_AGE = re.compile(r"(?:under|over)\b", re.I)  # of "Child" and "Under 3", a child is the first
_SEVERAL_IN_ONE = re.compile(r"\b(?:famil(?:y|ies)|groups?|party|pack|bundle|dozen|set|pair|up to|visits)\b", re.I)
_PRICE_DEPENDS = re.compile(
    r"\bdiscount|\breduc(?:ed|tion)|% (?:off|less)|per cent off|\bhalf price\b|\bgroups? of\b|\bdeals?\b"
    r"|\b(?:second|third|next|additional|extra|further) (?:hour|day|night|week|child|person|guest)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class _Term:
    count: int
    noun: str

    @property
    def time(self) -> str:
        last = self.noun.lower().rpartition(" ")[2]
        return last.removesuffix("s") if last.removesuffix("s") in _TIMES else ""


def _terms(question: str) -> tuple[list[_Term], str]:
    """The counted things in a question, "3 adults and a child", and its other words."""
    terms: list[_Term] = []
    rest: list[str] = []
    noun: list[str] | None = None
    count = 0
    for word in [*_WORD.findall(question), ","]:
        is_count = bool(_COUNT.fullmatch(word))
        if noun is not None and (is_count or word.lower() in _SEPARATORS):
            terms.append(_Term(count, " ".join(noun)))
            noun = None
        if is_count:
            number = NUMBER_WORDS.index(word.lower()) + 1 if word.lower() in NUMBER_WORDS else 0
            noun, count = [], int(word) if word.isdigit() else number or 1
        elif noun is not None:
            noun.append(word)
        else:
            rest.append(word)
    return terms, " ".join(rest)


def _total(question: str, tables: Sequence[_Table], pool: Sequence[Candidate]) -> str:
    """The price for several, with the working: "how much for 3 adults and 2 children?", "what would 2 hours cost?"."""
    terms, rest = _terms(question)
    if not any(term.count > 1 for term in terms) or _OTHER_ANSWER.match(question):
        return ""
    also = re.match(r"(?:(?:and|so|what about|how about),? )?(?:for )?(?:\d|[a-z]+ \w+\W*$)", question, re.I)
    asks_price = re.search(r"\b(?:how much|costs?|prices?|pay|charged?|total)\b", question, re.I)
    timed = [term for term in terms if term.time]
    several = [term for term in terms if not term.time and (term.count > 1 or not timed)]
    if not (asks_price or also) or len(timed) > 1 or (timed and several):
        return ""
    named = " ".join((rest, *(term.noun for term in terms if timed and not term.time)))

    def total(table: _Table) -> str:
        priced = [_row_for(term, named, table) for term in timed or several]
        amounts = [_unit_price(row, table, term) for row, term in zip(priced, timed or several, strict=True)]
        if any(amount is None for amount in amounts):
            return ""
        rows = [row for row in priced if row is not None]
        known = [amount for amount in amounts if amount is not None]
        near = (each.text for each in pool if each.evidence.passage.document_id == table.document)
        if any(map(_PRICE_DEPENDS.search, near)):
            return ""
        if len({amount.unit for amount in known if amount.value}) != 1 or len(set(map(id, rows))) < len(rows):
            return ""
        working = _working([term.count for term in timed or several], known)
        return f"{_list(rows)}\n\n{working}"

    answers = [answer for table in tables if (answer := total(table))]
    return answers[0] if len(answers) == 1 else ""


def _row_for(term: _Term, named: str, table: _Table) -> _Row | None:
    """The only row that a term means: by its noun, by the words around it, or because it was just quoted."""
    if not term.time and asked_stems(named) - table.named - _FORM_STEMS:
        return None
    naming = named if term.time else term.noun
    keys = asked_stems(naming) - PRICE_WORDS - _FORM_STEMS
    rows = [row for row in table.rows if keys and keys <= row.stems] or table.select(naming)
    rows = rows if keys - table.named or len(rows) < len(table.rows) else table.just_said
    rows = [row for row in rows if not _SEVERAL_IN_ONE.search(row.name)]
    rows = [row for row in rows if not _BY_AGE.match(row.name)] or rows
    if term.time:
        rows = [row for row in rows if any(_rate(row, column) == term.time for column in table.prices)]
    return rows[0] if len(rows) == 1 else None


def _rate(row: _Row, column: str) -> str:
    """The time that a price is for: "hour" in "Court hire per hour", "month" in "Monthly fee"; empty if none."""
    for text in (row.cells.get(column, ""), column.replace("_", " "), row.name):
        if found := _RATE.search(text):
            return found[1].lower()
        for word in words(text.lower()):
            if word in _RATE_WORDS:
                return _RATE_WORDS[word]
    return ""


def _unit_price(row: _Row | None, table: _Table, term: _Term) -> _Amount | None:
    """The price of one in a row; None if it has several, or if it is for a time that was not asked for."""
    if row is None:
        return None
    columns = [each for each in table.prices if each in row.cells and _rate(row, each) == term.time]
    others = [each for each in table.prices if each in row.cells and each not in columns]
    amount = _Amount.of(row.cells[columns[0]].rstrip(".")) if len(columns) == 1 else None
    if amount is None or (others and not term.time) or not (amount.is_money or amount.value == 0):
        return None
    return amount


def _working(counts: Sequence[int], amounts: Sequence[_Amount]) -> str:
    """A sum and its result: "3 × £14.50 + 2 × £9.00 is £61.50."."""
    whole = sum((count * amount.value for count, amount in zip(counts, amounts, strict=True)), Decimal(0))
    cents = any("." in amount.written for amount in amounts)
    of_money = next((amount for amount in amounts if amount.unit), amounts[0])
    parts = [
        (f"{count} × " if count > 1 else "") + (amount.with_unit(amount.written) if amount.unit else amount.written)
        for count, amount in zip(counts, amounts, strict=True)
    ]
    return f"{' + '.join(parts)} is {of_money.with_unit(f'{whole:,.2f}' if cents else f'{whole:,}')}."
