"""The price for several, with the working: "how much for 3 adults and 2 children?", "what would 2 hours cost?"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from turnwise.english import NUMBER_WORD, number_of
from turnwise.extractive.kinds import PRICE_WORDS, has_money
from turnwise.extractive.statements import Candidate, asked_stems, stems_of
from turnwise.extractive.tables.amounts import Amount, names_sum, price_in
from turnwise.extractive.tables.answers import list_rows, the_only
from turnwise.extractive.tables.model import Row, Table
from turnwise.extractive.tables.vocabulary import (
    ASKS_WHY_OR_HOW,
    FORM_STEMS,
    PEOPLE,
    column_stems,
    without_people,
)
from turnwise.extractive.writing import quote
from turnwise.text import stem, words

MAX_CHOICES = 5  # rows that a number of something may mean

_COUNT = re.compile(rf"[1-9]\d{{0,2}}|{NUMBER_WORD}|an?", re.I)
_WORD = re.compile(r"\d+(?:[.,:/]\d+)+|[^\W_]+(?:['’-][^\W_]+)*|,")  # 1.5 and 1/2 are one word
# Words that end the name of what is counted.
_SEPARATORS = frozenset(
    "and plus for of at in on to would will cost costs is are be with , come buy hire get per the my our".split()
)
_TIMES = "minute hour day night week month year session lesson".split()
_OLD = re.compile(r"\bolds?\b", re.I)
_MEASURE = re.compile(r"(?:mm|cm|m|km|g|kg|mg|ml|cl|l|litres?|liters?|inch(?:es)?|watts?|gb|mb|tb)\b", re.I)
_RATE = re.compile(rf"(?:\b(?:per|an?|each|every) |/ ?)({'|'.join(_TIMES)})\b", re.I)
_RATE_WORDS = {
    "hourly": "hour",
    "daily": "day",
    "nightly": "night",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
    "annual": "year",
}
_ASKS_PRICE = re.compile(r"\b(?:how much|costs?|prices?|pay|charged?|total)\b", re.I)
_ONE = frozenset("each apiece pp person head adult child item piece one ticket unit".split())
_ASKS_SUM = re.compile(r"\b(?:total|sum|altogether|together|in all)\b", re.I)
_THE = re.compile(r" the (?!(?:total|sum|price|cost)\b)", re.I)  # one of what it names
_OF_THE = re.compile(r"(?<=\d) of (?:the|those|these|your)\b")  # "3 of the scarves" are 3 scarves
_ASKS_AGAIN = re.compile(r"(?:(?:and|so|what about|how about),? )?(?:for )?(?:\d|[a-z]+ \w+\W*$)", re.I)  # "and 5?"
_COMPARES = re.compile(r"\b(?:or|than|more|less|cheaper|difference)\b", re.I)
_BY_AGE = re.compile(r"(?:under|over)\b", re.I)
MAX_CONDITIONS = 2  # sentences about discounts
_SEVERAL_IN_ONE = re.compile(r"\b(?:famil(?:y|ies)|groups?|party|pack|bundle|dozen|set|pair|up to|visits)\b", re.I)
_PART_OF_PRICE = re.compile(
    r"\b(?:deposit|hire|rent(?:al)?|joining|booking|tax|vat|extras?|surcharge|supplement|tip|service|delivery|shipping"
    r"|per|hour|day|night|week|month|year|daily|weekly|monthly|yearly|annual|total|from|to|min|max)s?\b",
    re.I,
)
_NEXT = r"\b(?:second|third|next|additional|extra|further)"
_PRICE_DEPENDS = re.compile(
    r"\bdiscount|\breduc(?:ed|tion)|% (?:off|less)|per cent off|\bhalf price\b|\bgroups? of\b|\bdeals?\b"
    rf"|{_NEXT} (?:child|person|guest)",
    re.I,
)
_PRICE_DEPENDS_ON_TIME = re.compile(rf"{_PRICE_DEPENDS.pattern}|{_NEXT} (?:hour|day|night|week)", re.I)


@dataclass(frozen=True, slots=True)
class _Term:
    """A number of something, such as "3 adults"."""

    count: int
    noun: str

    @property
    def time(self) -> str:
        """The unit of a number of hours or the like, which may stand first: "2 days kayak hire"; otherwise empty, as in
        "10 years old"."""
        words_in = [] if _OLD.search(self.noun) else self.noun.lower().split()
        return next(
            (unit for word in (*words_in[-1:], *words_in[:1]) if (unit := word.removesuffix("s")) in _TIMES), ""
        )


def total_price(question: str, tables: Sequence[Table], pool: Sequence[Candidate]) -> str:
    """The rows with the prices, and the sum; empty unless exactly one table has them."""
    asks = _ASKS_PRICE.search(question) or _ASKS_AGAIN.match(question)
    if not asks or ASKS_WHY_OR_HOW.match(question) or _COMPARES.search(question):
        return ""
    question = _OF_THE.sub("", question)
    terms, rest = _terms_in(_THE.sub(" a ", question) if _ASKS_SUM.search(question) else question)
    if all(term.count == 1 for term in terms) and not (len(terms) > 1 and _ASKS_SUM.search(question)):
        return ""
    if len(terms) > 1 and not all(term.noun for term in terms):  # "1 to 2 hours"
        return ""
    if any(_MEASURE.match(term.noun) for term in terms):  # "the 10 m rope"
        return ""
    times = [term for term in terms if term.time]
    if times:  # "a court for 3 hours": what else is counted only names the row
        things = [term for term in terms if not term.time]
        if len(times) > 1 or any(term.count > 1 for term in things):
            return ""
        terms, rest = times, " ".join((rest, *(term.noun for term in things)))
    depends = _PRICE_DEPENDS_ON_TIME if times else _PRICE_DEPENDS
    fitting = [table for table in tables if not price_depends(table.document, pool, depends)]
    if _ASKS_SUM.search(question):  # "the sum insured" is not worked out
        fitting = [table for table in fitting if not any(map(names_sum, table.columns))]
    across = partial(_sum_across, pool=pool)
    for answer_from in (_sum, across, _sums_by_column, _choices):
        answers = [answer for table in fitting if (answer := answer_from(terms, rest, table))]
        if answers:
            return the_only(answers)
    conditional = [table for table in tables if table not in fitting and not times]
    if answers := [answer for table in conditional if (answer := _conditions(terms, rest, table, pool))]:
        return the_only(answers)
    return the_only([answer for table in fitting if (answer := _lacking(terms, rest, table))])


def _conditions(terms: Sequence[_Term], rest: str, table: Table, pool: Sequence[Candidate]) -> str:
    """The rows with the prices, and what the document says of discounts, without a sum; empty if a price is missing."""
    meant = [_rows_for(term, rest, table) for term in terms]
    rows = [
        mine[0] for term, mine in zip(terms, meant, strict=True) if len(mine) == 1 and _unit_price(mine[0], table, term)
    ]
    told = [each for each in pool if each.evidence.passage.document_id == table.document and not each.statement.is_row]
    conditions = [quote(each) for each in told if _PRICE_DEPENDS.search(each.text)][:MAX_CONDITIONS]
    return "\n\n".join((list_rows(rows), " ".join(conditions))) if conditions and len(rows) == len(terms) else ""


def _terms_in(question: str) -> tuple[list[_Term], str]:
    """The counted things in a question, "3 adults and a child", and its other words."""
    terms: list[_Term] = []
    rest: list[str] = []
    noun: list[str] | None = None
    count = 0
    for word in [*_WORD.findall(question), ","]:
        is_count = bool(_COUNT.fullmatch(word))
        of_it = word.lower() == "of" and noun and not _Term(count, noun[-1]).time  # "2 boxes of nails" are one noun
        if noun is not None and (is_count or (word.lower() in _SEPARATORS and not of_it)):
            terms.append(_Term(count, " ".join(noun)))
            noun = None
        if is_count:
            noun, count = [], 1 if word.lower() in ("a", "an") else number_of(word)
        elif noun is not None:
            noun.append(word)
        else:
            rest.append(word)
    return terms, " ".join(rest)


def price_depends(document: int, pool: Sequence[Candidate], depends: re.Pattern[str] = _PRICE_DEPENDS) -> bool:
    """Whether a document says that the price depends on the number."""
    return any(depends.search(each.text) for each in pool if each.evidence.passage.document_id == document)


def _sum(terms: Sequence[_Term], rest: str, table: Table) -> str:
    """The rows with the prices and the working; empty if a price is missing or two are in different currencies."""
    rows: list[Row] = []
    prices: list[Amount] = []
    for term in terms:
        meant = _rows_for(term, rest, table)
        price = _unit_price(meant[0], table, term) if len(meant) == 1 else None
        if price is None or meant[0] in rows:
            return ""
        rows += meant
        prices.append(price)
    if not _in_one_currency(prices):
        return ""
    shown = [*rows, *_bundles(terms, table)]
    return f"{list_rows(shown)}\n\n{working([term.count for term in terms], prices)}"


def _sum_across(terms: Sequence[_Term], rest: str, table: Table, pool: Sequence[Candidate]) -> str:
    """The same if groups of people are columns: "2 adults and 3 kids to climb" of a row for climbing."""
    columns = [_column_for(term, table) for term in terms]
    row = _row_named(" ".join((rest, *(without_people(term.noun) for term in terms))), table)
    if row is None or not all(columns) or len(set(columns)) < len(columns):
        return ""
    prices = _prices_of_one(terms, [(row, column) for column in columns])
    if not prices:
        return ""
    cheaper = [quote(each) for each in pool if _may_cost_less(each, row, table)]
    return "\n\n".join([list_rows([row]), *cheaper, working([term.count for term in terms], prices)])


def _sums_by_column(terms: Sequence[_Term], rest: str, table: Table) -> str:
    """The sum in each column with prices, if these are for different things and groups of people are rows: the pool,
    the sauna, and both. If the question names some of the columns, just these."""
    columns = table.price_columns
    are_people = all(any(pattern.search(term.noun) for pattern in PEOPLE.values()) for term in terms)
    if len(columns) < 2 or not are_people or any(map(_is_part_of_price, columns)):
        return ""
    meant = [_rows_for(term, rest, table) for term in terms]
    rows = [mine[0] for mine in meant if len(mine) == 1]
    if len(set(rows)) < len(terms):
        return ""
    named = [column for column in columns if column_stems(column) & asked_stems(rest)]
    sums = []
    for column in named or columns:
        prices = _prices_of_one(terms, [(row, column) for row in rows])
        if not prices or any(price.is_ambiguous for price in prices):
            return ""
        sums.append(f"{column}: {working([term.count for term in terms], prices)}")
    return "\n\n".join([list_rows([*rows, *_bundles(terms, table)]), *sums])


def _is_part_of_price(column: str) -> bool:
    """Whether the price in a column may be due beside that in another, or is for a time: "Deposit", "Monthly fee"."""
    return bool(_PART_OF_PRICE.search(column)) or not column_stems(column).isdisjoint(PRICE_WORDS)


def _column_for(term: _Term, table: Table) -> str:
    """The only column with prices for the people of a term; empty if there is none."""
    groups = [pattern for pattern in PEOPLE.values() if pattern.search(term.noun)]
    columns = [each for each in table.price_columns if any(pattern.search(each) for pattern in groups)]
    return columns[0] if len(groups) == len(columns) == 1 else ""


def _row_named(text: str, table: Table) -> Row | None:
    """The only row that a text names, or the one just quoted if it names none."""
    keys = asked_stems(text) - PRICE_WORDS - FORM_STEMS
    rows = [row for row in table.rows if keys & row.cell_stems[0] and keys <= row.cell_stems[0] | table.naming_stems]
    if not keys - table.naming_stems:
        rows = rows or table.just_said
    return rows[0] if len(rows) == 1 else None


def _may_cost_less(candidate: Candidate, row: Row, table: Table) -> bool:
    """Whether a sentence has a price for several together, such as a family ticket for what the row is about."""
    same_document = candidate.evidence.passage.document_id == table.document
    about = bool(stems_of(candidate.text) & row.cell_stems[0])
    in_prose = same_document and not candidate.statement.is_row
    return in_prose and about and has_money(candidate) and bool(_SEVERAL_IN_ONE.search(candidate.text))


def _choices(terms: Sequence[_Term], rest: str, table: Table) -> str:
    """The rows that the terms may mean, and which term is not clear: "3 croissants", of two kinds."""
    chosen: list[Row] = []
    unclear: list[str] = []
    for term in terms:
        rows = _rows_for(term, rest, table)
        keys = asked_stems(term.noun)
        named = bool(keys) and all(keys <= row.cell_stems[0] and _unit_price(row, table, term) for row in rows)
        if not named or not rows or len(rows) > MAX_CHOICES or any(row in chosen for row in rows):
            return ""
        chosen += rows
        unclear += [term.noun] if len(rows) > 1 else []
    return f"{list_rows(chosen)}\n\nThe sum depends on which {' and '.join(unclear)} you mean." if unclear else ""


def _lacking(terms: Sequence[_Term], rest: str, table: Table) -> str:
    """The rows for some of the terms, and which others have no price in the table."""
    rows = [_rows_for(term, rest, table) if asked_stems(term.noun) else [] for term in terms]
    priced = [[row for row in mine if _unit_price(row, table, term)] for term, mine in zip(terms, rows, strict=True)]
    found = list(dict.fromkeys(row for mine in priced for row in mine))
    missing = [term.noun for term, mine in zip(terms, priced, strict=True) if not mine]
    if not found or not missing or len(found) > MAX_CHOICES or not all(missing) or any(term.time for term in terms):
        return ""
    return f"{list_rows(found)}\n\nI found no price for {' and '.join(missing)} there, so I cannot give the sum."


def _rows_for(term: _Term, rest: str, table: Table) -> list[Row]:
    """The rows that a term may mean: by its noun, for a time by the other words, or because they were just quoted."""
    if not term.time and asked_stems(rest) - table.naming_stems - FORM_STEMS:
        return []
    name = rest if term.time else term.noun
    keys = asked_stems(name) - PRICE_WORDS - FORM_STEMS
    rows = [row for row in table.rows if keys and keys <= row.stems] or table.select(name)
    if keys <= table.naming_stems and len(rows) == len(table.rows):
        rows = table.just_said
    rows = [row for row in rows if not _SEVERAL_IN_ONE.search(row.name)]
    if not _BY_AGE.match(name):  # of "Child" and "Under 3", a child is the first
        rows = [row for row in rows if not _BY_AGE.match(row.name)] or rows
    if term.time:
        rows = [row for row in rows if any(_rate(row, column) == term.time for column in table.price_columns)]
    return rows


def _bundles(terms: Sequence[_Term], table: Table) -> list[Row]:
    """The rows that are for several of these together, such as a family ticket, and may cost less than the sum."""
    keys = {key for term in terms for key in asked_stems(term.noun)}
    return [row for row in table.rows if _SEVERAL_IN_ONE.search(row.name) and keys & row.stems]


def _rate(row: Row, column: str) -> str:
    """The time that a price is for: "hour" in "Court hire per hour", "month" in "Monthly fee"; empty if none."""
    for text in (row.cells.get(column, ""), column.replace("_", " "), row.name):
        if found := _RATE.search(text):
            return found[1].lower()
        for word in words(text.lower()):
            if word in _RATE_WORDS:
                return _RATE_WORDS[word]
    return ""


def _unit_price(row: Row, table: Table, term: _Term) -> Amount | None:
    """The price of one; None if the row has several, or if it is for a time that was not asked for."""
    columns = [column for column in table.price_columns if column in row.cells]
    matching = [column for column in columns if _rate(row, column) == term.time]
    if len(matching) != 1 or (not term.time and len(columns) > 1):
        return None
    price = price_in(matching[0], row.cells[matching[0]])
    return price if price is not None and (term.time or _is_for_one(price, term)) and not price.is_ambiguous else None


def _prices_of_one(terms: Sequence[_Term], places: Sequence[tuple[Row, str]]) -> list[Amount]:
    """The price of one of what each term counts, from a row and column for each; [] if one is missing, or is for
    something else, or two are in different currencies."""
    prices = [price for row, column in places if (price := price_in(column, row.cells.get(column, "")))]
    whole = len(prices) == len(terms) and all(map(_is_for_one, prices, terms))
    return prices if whole and _in_one_currency(prices) else []


def _in_one_currency(prices: Sequence[Amount]) -> bool:
    return len({price.unit for price in prices if price.value}) == 1


def _is_for_one(price: Amount, term: _Term) -> bool:
    """Whether a price is for one of what is counted, and not for a kilogram of it."""
    return not price.per or price.per in _ONE or stem(price.per) in stems_of(term.noun)


def working(counts: Sequence[int], prices: Sequence[Amount]) -> str:
    """A sum and its result: "3 × £14.50 + 2 × £9.00 is £61.50."."""
    terms = list(zip(counts, prices, strict=True))
    total = sum((count * price.value for count, price in terms), Decimal(0))
    parts = [(f"{count} × " if count > 1 else "") + price.write(price.number) for count, price in terms]
    highest = max(prices, key=lambda price: price.value)  # it has a unit, unlike "free"
    return f"{' + '.join(parts)} is {highest.write(write_exactly(total, prices))}."


def write_exactly(value: Decimal, amounts: Sequence[Amount]) -> str:
    """A number without zeros at its end; with two decimals if these amounts are money, or written like it."""
    exact = value.normalize()
    like_money = any(amount.is_money or (not amount.unit and amount.decimals == 2) for amount in amounts)
    has_decimals = bool(value % 1) or any(amount.decimals for amount in amounts)
    in_cents = exact == round(exact, 2)
    return f"{exact:,.2f}" if like_money and has_decimals and in_cents else f"{exact:,f}"
