"""The row with the lowest or highest amount: "what is the cheapest bread?", "which trip is the longest?"."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from turnwise.extractive.cells import column_label
from turnwise.extractive.kinds import PRICE_WORDS
from turnwise.extractive.statements import Candidate, asked_stems, stems_of
from turnwise.extractive.tables.amounts import Amount, amount_in
from turnwise.extractive.tables.answers import Answer, write
from turnwise.extractive.tables.model import Row, Table, comparable_amounts
from turnwise.extractive.tables.vocabulary import ANY_ROW_STEMS, ASKS_WHY_OR_HOW, column_stems
from turnwise.extractive.writing import quote
from turnwise.text import stem, words

# The stems of columns that are compared, unless the question names another one.
LENGTHS = stems_of("day days night hour minute duration length time week weeks months years distance km miles")
SIZES = stems_of("size area capacity seats people guests persons places")
WEIGHTS = stems_of("weight kg")
HEIGHTS = stems_of("height")
DATES = stems_of("date day year when")
SPEEDS = stems_of("speed mph")
_RATINGS = stems_of("rating rated score mark stars grade")
_QUANTITIES = stems_of("quantity qty stock count pieces")
_ANY_COLUMN: frozenset[str] = frozenset()  # the question must name it, unless one has quantities

# Not "at most", and not "the 2 cheapest".
_SUPERLATIVES: tuple[tuple[re.Pattern[str], bool, Set[str]], ...] = tuple(
    (re.compile(rf"(?<!\bat )(?<!\d )\b(?:the )?({pattern})\b", re.I), is_highest, columns)
    for pattern, is_highest, columns in (
        ("cheapest|least expensive|lowest[- ]priced?", False, PRICE_WORDS),
        ("most expensive|dearest|priciest|costliest|highest[- ]priced?", True, PRICE_WORDS),
        ("longest", True, LENGTHS),
        ("shortest", False, LENGTHS),
        ("largest|biggest", True, SIZES),
        ("smallest", False, SIZES),
        ("heaviest", True, WEIGHTS),
        ("lightest", False, WEIGHTS),
        ("tallest", True, HEIGHTS),
        ("fastest|quickest", True, SPEEDS),
        ("best|top", True, _RATINGS),
        ("worst", False, _RATINGS),
        ("earliest|soonest", False, DATES),
        ("latest", True, DATES),
        ("highest|most", True, _ANY_COLUMN),
        ("lowest|fewest|least", False, _ANY_COLUMN),
    )
)
_OF_ALL = re.compile(r"\b(?:overall|in general)\W*$", re.I)
_YES_OR_NO = re.compile(r"(?:(?:and|so|but),? )?(?:is|are|was|were)\b", re.I)
_ASKS_COST = re.compile(r"\b(?:how much (?:is|does|do|are|would)|what does|costs?)\b", re.I)


@dataclass(frozen=True, slots=True)
class _Request:
    """What a question compares."""

    word: str  # "cheapest"
    is_highest: bool
    columns: Set[str]  # stems of columns that it may mean
    rest: str  # the question without the word

    @property
    def subject(self) -> str:
        """The words that may say which rows are compared."""
        return _ASKS_COST.sub(" ", self.rest) if self.columns == PRICE_WORDS else self.rest


def superlative_rows(question: str, typed: Set[str], tables: Sequence[Table], pool: Sequence[Candidate]) -> str:
    """The best rows of each table that has what is compared; empty if a sentence may tell.

    Words of the question that are not `typed` come from the conversation. They may name the rows to compare, but not a
    single one of them.
    """
    if ASKS_WHY_OR_HOW.match(question) or _YES_OR_NO.match(question):
        return ""
    request = _request_in(question, typed)
    if request is None or _in_a_sentence(request, pool):
        return ""
    fitting = _tables_meant(asked_stems(_ASKS_COST.sub(" ", request.rest)), typed, tables)
    answer = write([_answer(request, typed, table) for table in fitting if not table.is_cut])
    return answer or next(filter(None, (_cell_of_row(request, table) for table in fitting)), "")


def _cell_of_row(request: _Request, table: Table) -> str:
    """The best cell of the row that is meant, where the columns are compared: "what is the lowest excess?" in a table
    with a row "Excess" and a column for each policy."""
    asked = asked_stems(request.rest)
    wanted = asked | (request.columns if request.columns == PRICE_WORDS else set())
    named = [row for row in table.rows if (own := stems_of(row.name)) & wanted and asked <= own | table.place_stems]
    named = named or ([] if wanted else table.just_said)
    return best_cell(named[0], request.is_highest) if len(named) == 1 else ""


def best_cell(row: Row, is_highest: bool) -> str:
    """The highest or lowest cell of a row; empty unless all its cells are amounts of the same kind."""
    amounts = {column: amount for column, cell in row.cells.items() if (amount := amount_in(cell)) is not None}
    if not 1 < len(amounts) == len(row.cells) or len({amount.unit for amount in amounts.values()}) > 1:
        return ""
    pick = max if is_highest else min
    return quote(row.candidate, pick(amounts, key=lambda column: amounts[column].value))


def _tables_meant(asked: Set[str], typed: Set[str], tables: Sequence[Table]) -> Sequence[Table]:
    """The tables to look in. "And the cheapest?" means one that was just quoted, or else one that the words from the
    conversation name; "the cheapest item" one with items, if there is one."""
    if asked.isdisjoint(typed):
        said = [table for table in tables if table.just_said]
        return said or [table for table in tables if asked & table.naming_stems or any(map(table.has_kind, asked))]
    return [table for table in tables if asked & ANY_ROW_STEMS & table.subject_stems] or tables


def _request_in(question: str, typed: Set[str]) -> _Request | None:
    """What a question with one superlative compares. If the conversation added another, the `typed` one counts."""
    rest, found = _OF_ALL.sub("", question), []
    for pattern, is_highest, columns in _SUPERLATIVES:
        if match := pattern.search(rest):
            found.append((match[1].lower(), is_highest, columns))
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"
    if len(found) > 1:
        found = [each for each in found if (asked_stems(each[0]) or {stem(each[0])}) <= typed]
    return _Request(*found[0], rest) if len(found) == 1 else None


def _in_a_sentence(request: _Request, pool: Sequence[Candidate]) -> bool:
    """Whether a sentence has the superlative, and so may answer the question. Much is the best in some way: such a
    sentence has the other words of the question, too."""
    keys = asked_stems(request.word) or {stem(request.word)}
    keys |= asked_stems(request.rest) if request.columns == _RATINGS else set()
    return any(keys <= stems_of(each.text) for each in pool if not each.statement.is_row)


def _answer(request: _Request, typed: Set[str], table: Table) -> Answer:
    named = [word for word in words(request.subject) if _may_name_rows(word, typed, table)]
    rows = _rows_named(named, table)
    if len(rows) == 1:  # "the cheapest one?" after a row was told does not mean just that row
        rows = _rows_named([word for word in named if asked_stems(word) <= typed], table)
    asked = asked_stems(request.rest)
    if request.columns == PRICE_WORDS:  # the cheapest is not the lightest, even if the weight is spoken of
        asked &= frozenset().union(*map(column_stems, table.price_columns))
    column = column_to_compare(table, asked, request.columns)
    amounts = [] if column is None else comparable_amounts(rows, column)
    if not amounts:
        return Answer(table, [])
    best = best_rows(amounts, request.is_highest)
    if len(amounts) == 1:
        return Answer(table, best)
    of = f"these {len(amounts)}" if table.is_told else f"the {len(amounts)} found"
    return Answer(table, best, f"{request.word.capitalize()} of {of}", by_column(column))


def best_rows(amounts: Sequence[tuple[Row, Amount]], is_highest: bool) -> list[Row]:
    """The rows with the highest or lowest of these amounts."""
    pick = max if is_highest else min
    best = pick(amount.value for _, amount in amounts)
    return [row for row, amount in amounts if amount.value == best]


def by_column(column: str | None) -> str:
    """What is said of the column that was compared: ", by price"."""
    return f", by {column_label(column).lower()}" if column else ""


def _rows_named(named: Sequence[str], table: Table) -> Sequence[Row]:
    """The rows of this subject: all of them if it is empty."""
    subject = " ".join(named)
    select = table.select_subject if asked_stems(subject).isdisjoint(ANY_ROW_STEMS) else table.select
    return select(subject) if asked_stems(subject) else table.rows


def _may_name_rows(word: str, typed: Set[str], table: Table) -> bool:
    keys = asked_stems(word)
    return keys <= typed | table.naming_stems or any(map(table.has_kind, keys))


def column_to_compare(table: Table, asked: Set[str], fitting: Set[str]) -> str | None:
    """The column with the amounts: the one that the question names, else the first with prices if they are meant, else
    the only one that fits."""
    numeric = [column for column in table.columns if comparable_amounts(table.rows, column)]
    shared = {column: len(column_stems(column) & asked) for column in numeric}
    most = max(shared.values(), default=0)
    if most:
        best, *others = [column for column in numeric if shared[column] == most]
        return best if not others or best in table.price_columns else None
    if fitting == PRICE_WORDS or (not fitting and asked & PRICE_WORDS):
        priced = [column for column in numeric if column in table.price_columns]
        return next((column for column in priced if column_stems(column) & PRICE_WORDS), next(iter(priced), None))
    columns = _columns_that_fit(table, numeric, fitting or _QUANTITIES)
    return columns[0] if len(columns) == 1 else None


def _columns_that_fit(table: Table, numeric: Sequence[str], fitting: Set[str]) -> list[str]:
    """The columns for a kind of amount: by their names, or by their units if these are times or dates."""
    units = {column: {amount.unit for _, amount in comparable_amounts(table.rows, column)} for column in numeric}
    by_name = [column for column in numeric if column_stems(column) & fitting]
    if fitting == DATES:
        return [column for column in numeric if any("day" in unit for unit in units[column])] or by_name
    if fitting == LENGTHS:
        return by_name or [column for column in numeric if "time" in units[column]]
    return by_name
