"""Tables, put together from the rows among the candidates, and which of their rows a question means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from turnwise.english import WEEKDAYS
from turnwise.extractive.cells import is_table_file
from turnwise.extractive.kinds import PRICE_WORDS
from turnwise.extractive.periods import days_in
from turnwise.extractive.statements import Candidate, asked_stems, section_of, stems_of
from turnwise.extractive.tables.amounts import Amount, amount_in, in_one_unit, includes_number, is_price, is_range
from turnwise.extractive.tables.vocabulary import ANY_ROW_STEMS, FORM_STEMS, PEOPLE, column_stems
from turnwise.text import ITEM, stem, words
from turnwise.types import Passage

_ANY_KIND = frozenset(map(stem, "model name product item type brand make title".split()))
_MISSING = re.compile(r"|[-–—?]|n/?a|tbc|tba", re.I)
YES, NO = frozenset({"yes", "y", "true", "✓", "✔"}), frozenset({"no", "n", "false", "✗", "✘"})
# In the name of a column that says the opposite of its noun: "nut_free", "non_refundable", "closed".
_NEGATED = re.compile(
    r"\b(?:\w+free|free(?=.)|(?<=.)free|non\w*|not|no|never|without|lacks?|excludes?|excluding|except|exceptions?|closed)\b",
    re.I,
)
# A number with a word before or after it: "year 7", "5 players". "7 years old" is an age.
_NUMBERED = re.compile(
    r"\b(?:(?P<before>[a-z]+) )?(?P<number>\d{1,4})\b(?:[ -](?P<after>[a-z]+)(?P<old>[ -]olds?\b)?)?", re.I
)


@dataclass(frozen=True, eq=False)
class Row:
    candidate: Candidate
    name: str  # its first cell
    cells: dict[str, str]  # the others, by column

    @property
    def passage(self) -> Passage:
        return self.candidate.evidence.passage

    @property
    def is_narrowed(self) -> bool:
        """Whether it has just those of its cells that a question means."""
        return len(self.cells) < len(self.candidate.statement.cells) - 1

    @cached_property
    def cell_stems(self) -> list[frozenset[str]]:
        """The stems of each cell, the name first; "Monday to Friday" has those of all its days."""
        return [stems_of(cell).union(map(stem, days_in(cell))) for cell in (self.name, *self.cells.values())]

    def cell_stems_besides(self, columns: Sequence[str]) -> list[frozenset[str]]:
        """The same, without the cells in these columns."""
        return [
            stems for column, stems in zip(("", *self.cells), self.cell_stems, strict=True) if column not in columns
        ]

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its name and of the cells that are not amounts."""
        others = [cell for cell in self.cells.values() if amount_in(cell) is None]
        return frozenset().union(*map(stems_of, (self.name, *others)))

    @cached_property
    def kinds(self) -> list[frozenset[str]]:
        """The stems of each cell besides the name, and of each part of a cell that is a list."""
        parts = [part for cell in self.cells.values() if ", " in cell for part in cell.split(", ")]
        return [stems_of(cell) for cell in (*self.cells.values(), *parts)]


@dataclass(frozen=True, eq=False)
class Table:
    rows: list[Row]  # in their order, at least two
    is_told: bool = False  # just the rows of an answer; no others are meant

    def only(self, rows: Sequence[Row]) -> Table:
        """The table with just these rows, which were told before."""
        return Table(list(rows), is_told=True)

    @property
    def document(self) -> int:
        return self.rows[0].passage.document_id

    @property
    def title(self) -> str:
        return self.rows[0].passage.title

    @property
    def heading(self) -> str:
        return (self._line_above or section_of(self.rows[0].passage) or self.title).rstrip(": ")

    @property
    def _line_above(self) -> str:
        return self.rows[0].candidate.statement.above

    @cached_property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for row in self.rows for column in row.cells))

    @cached_property
    def price_columns(self) -> list[str]:
        priced = {column for row in self.rows for column, cell in row.cells.items() if is_price(column, cell)}
        return [column for column in self.columns if column in priced]

    @cached_property
    def flags(self) -> dict[str, str]:
        """The columns with only "yes" and "no", by the stems of their names: "nut" is "contains_nuts", but never
        "nut_free"."""
        flags: dict[str, str] = {}
        for column in self.columns:
            if self._is_yes_or_no(column) and not is_negated(column):
                flags |= dict.fromkeys(column_stems(column) - FORM_STEMS, column)
        return flags

    def _is_yes_or_no(self, column: str) -> bool:
        cells = [row.cells.get(column, "").lower() for row in self.rows]
        return any(cell in YES | NO for cell in cells) and all(cell in YES | NO or is_missing(cell) for cell in cells)

    @cached_property
    def place_stems(self) -> frozenset[str]:
        """The stems of its headings and of the title of its document."""
        passage = self.rows[0].passage
        return stems_of(f"{self._line_above} {passage.called} {passage.heading}")

    @cached_property
    def subject_stems(self) -> frozenset[str]:
        """The stems that say what its rows are or tell: the last word of its heading, and its columns; of a document on
        "Garden chairs compared" also the chairs, in a table whose rows are called "Model" or "Chair"."""
        passage = self.rows[0].passage
        name = passage.title if is_table_file(passage.source) and passage.title.endswith("s") else ""  # "books.csv"
        heading = words(self._line_above or section_of(passage) or name)
        stems = frozenset().union(*map(column_stems, (*heading[-1:], self.first_column, *self.columns)))
        named, rows = frozenset(map(stem, words(passage.title.lower()))), column_stems(self.first_column)
        several = frozenset(stem(word) for word in words(passage.title.lower()) if word.endswith("s"))
        stems |= (
            several
            if rows and rows <= _ANY_KIND
            else {each for each in named if each.endswith(tuple(key for key in rows if len(key) > 3))}
        )
        return stems | PRICE_WORDS if self.price_columns else stems

    @cached_property
    def naming_stems(self) -> frozenset[str]:
        """The stems that name the table or a column, rather than a row."""
        return self.place_stems | self.subject_stems

    @property
    def first_column(self) -> str:
        return next((column for column, _ in self.rows[0].candidate.statement.cells[:1]), "")

    @property
    def just_said(self) -> list[Row]:
        return [row for row in self.rows if row.candidate.just_said]

    @property
    def is_cut(self) -> bool:
        """Whether passages with other rows are evidently missing."""
        first, last = self.rows[0].passage, self.rows[-1].passage
        has_gap = len({row.passage.position for row in self.rows}) <= last.position - first.position
        has_rows_before = is_table_file(first.source) and first.position > 0
        return not self.is_told and (has_gap or has_rows_before)

    def has_kind(self, key: str) -> bool:
        """Whether a stem is a whole cell, or a whole part of one, besides the names of rows."""
        return any(kind == {key} for row in self.rows for kind in row.kinds)

    def cell_stems_of(self, column: str) -> frozenset[str]:
        """The stems of all cells in a column; those of all days if it has any."""
        cells = [row.cells.get(column, "") for row in self.rows]
        days = frozenset(map(stem, WEEKDAYS)) if any(map(days_in, cells)) else frozenset()
        return days.union(*map(stems_of, cells))

    def select(self, question: str) -> list[Row]:
        """The rows that a question means: all of them if it only names the table, none if it has another word."""
        rest, numbers = self.numbers_in(question)
        rest, groups = self._groups_in(rest)
        rows = [row for row in self.rows if all(PEOPLE[group].search(row.name) for group in groups)]
        for column, number in numbers:
            rows = [row for row in rows if includes_number(row.cells.get(column, ""), number)]
        negated = [column for column in self.columns if is_negated(column)]
        unsaid = [column for column in negated if not _says(question, column)]
        for column in filter(self._is_yes_or_no, negated):
            if column not in unsaid:  # "nut free"
                rows = [row for row in rows if row.cells.get(column, "").lower() in YES]
                rest = _name_pattern(column).sub(" ", rest)
            elif any(key not in self.flags and not self.has_kind(key) for key in self._own_stems(column, question)):
                return []  # "nuts" alone is the opposite of "nut_free"
        for stems in _stems_by_word(rest):
            flagged = {self.flags[key] for key in stems if key in self.flags}
            rows = [row for row in rows if all(row.cells.get(column, "").lower() in YES for column in flagged)]
            keys = {key for key in stems - FORM_STEMS if key not in self.naming_stems or self.has_kind(key)}
            keys -= ANY_ROW_STEMS
            rows = [row for row in rows if not keys or any(keys <= cell for cell in row.cell_stems_besides(unsaid))]
        return rows

    def numbers_in(self, question: str) -> tuple[str, list[tuple[str, int]]]:
        """The question without the numbers that it names a column of ranges with, and these columns and numbers:
        "year 8" is in the row with "7-11" in the column "Years"."""
        numbers: list[tuple[str, int]] = []
        ranged = [column for column in self.columns if any(is_range(row.cells.get(column, "")) for row in self.rows)]
        for found in _NUMBERED.finditer(question) if ranged else ():
            before, after = found["before"] or "", found["after"] or ""
            named = stems_of(f"{before} {'age' if found['old'] else after}")
            columns = [column for column in ranged if column_stems(column) & named]
            if len(columns) == 1:
                numbers.append((columns[0], int(found["number"])))
                others = "" if found["old"] else after
                kept = [word for word in (before, others) if not stems_of(word) & column_stems(columns[0])]
                question = question.replace(found[0], f" {' '.join(kept)} ", 1)
        return question, numbers

    def _own_stems(self, column: str, question: str) -> frozenset[str]:
        """The stems of a question that only this column is named by."""
        others = frozenset().union(
            *(column_stems(each) for each in (self.first_column, *self.columns) if each != column)
        )
        return (column_stems(column) & asked_stems(question)) - others - FORM_STEMS

    def select_subject(self, question: str) -> list[Row]:
        """The same, but all rows only if the question says what they are: the title of the document does not."""
        rows = self.select(question)
        is_all = len(rows) == len(self.rows)
        return [] if is_all and self.subject_stems.isdisjoint(asked_stems(question)) else rows

    def _groups_in(self, question: str) -> tuple[str, list[str]]:
        """The question without the groups of people that rows name by other words, and these groups."""
        groups = []
        for group, pattern in PEOPLE.items():
            found = pattern.search(question)
            if found and not any(stems_of(found[0]) & row.stems for row in self.rows):
                question = pattern.sub(" ", question)
                groups.append(group)
        return question, groups


def is_negated(column: str) -> bool:
    """Whether the name of a column says the opposite of its noun, as "nut_free" and "closed" do."""
    return bool(_NEGATED.search(column.replace("_", " ").strip()))


def _name_pattern(column: str) -> re.Pattern[str]:
    return re.compile(r"\b" + r"[\s-]+".join(map(re.escape, re.split(r"[\s_-]+", column.strip(" _-")))) + r"\b", re.I)


def _says(question: str, column: str) -> bool:
    """Whether a question has the whole name of a column."""
    return bool(_name_pattern(column).search(question))


def _stems_by_word(question: str) -> list[frozenset[str]]:
    """The stems of each word, but a number counts with the word before it: "Year 5" is one thing."""
    stems: list[frozenset[str]] = []
    for word in words(question):
        keys = frozenset(asked_stems(word))
        if word.isdigit() and stems and stems[-1]:
            stems[-1] |= keys
        else:
            stems.append(keys)
    return stems


def tables_in(pool: Sequence[Candidate]) -> list[Table]:
    """The tables of at least two rows, the best-ranked first. One that was split over passages is put together."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for candidate in pool:
        cells = candidate.statement.cells or price_item_cells(candidate)
        (first_column, name), *others = cells or (("", ""),)
        row = Row(candidate, name, dict(others))
        if others and len(row.cells) == len(others):  # two columns of one name cannot be told apart
            above = candidate.statement.above
            key = (row.passage.document_id, row.passage.heading, above, first_column, candidate.is_item)
            groups.setdefault(key, []).append(row)
    return [Table(sorted(rows, key=_position)) for rows in groups.values() if len(rows) > 1]


def _position(row: Row) -> tuple[int, int]:
    return row.passage.position, row.candidate.position


def price_item_cells(candidate: Candidate) -> tuple[tuple[str, str], ...]:
    """The name and the price of a list item such as "- Adult: £12"; empty for any other candidate."""
    if not candidate.is_item:
        return ()
    name, _, value = ITEM.sub("", candidate.text).partition(": ")
    return (("", name), ("", value)) if amount_in(value) else ()


def is_missing(cell: str) -> bool:
    return bool(_MISSING.fullmatch(cell))


def comparable_amounts(rows: Sequence[Row], column: str) -> list[tuple[Row, Amount]]:
    """The amounts in a column, without empty cells; [] if a cell is no amount or the units are of different kinds."""
    filled = [row for row in rows if not is_missing(row.cells.get(column, ""))]
    found = [amount for row in filled if (amount := amount_in(row.cells.get(column, ""))) is not None]
    amounts = in_one_unit(found) if len(found) == len(filled) else []
    units = {amount.unit for amount in amounts if amount.value}
    return list(zip(filled, amounts, strict=True)) if amounts and len(units) <= 1 else []
