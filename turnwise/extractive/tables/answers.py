"""The rows that answer a question, as a text with citations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from turnwise.extractive.tables.model import Row, Table
from turnwise.extractive.writing import quote

MAX_ROWS = 30
MAX_TABLES = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a table that answer a question, and what to say before them."""

    table: Table
    rows: Sequence[Row]
    lead: str = ""  # "Cheapest of the 3 found"
    detail: str = ""  # after the lead and the name of the table: ", by price"

    def text(self, heading: str) -> str:
        """The rows, with the heading if there is one."""
        if not self.lead:
            return list_rows(self.rows, heading)
        place = f" under {heading}" if heading else ""
        return list_rows(self.rows, f"{self.lead}{place}{self.detail}")


def write(answers: Sequence[Answer]) -> str:
    """The answers of several tables. Those of documents that the conversation is about are preferred."""
    answers = [answer for answer in answers if answer.rows]
    said = {answer.table.document for answer in answers if any(row.candidate.said for row in answer.table.rows)}
    answers = [answer for answer in answers if answer.table.document in said] or answers
    headings = _headings([answer.table for answer in answers])
    parts = [answer.text(heading) for answer, heading in zip(answers, headings, strict=True)][:MAX_TABLES]
    if len(answers) > MAX_TABLES:
        parts.append("There are more tables like these.")
    return "\n\n".join(parts)


def _headings(tables: Sequence[Table]) -> list[str]:
    """A heading for each table that tells it from the others; empty if there is only one."""
    if len(tables) == 1:
        return [""]
    headings = [table.heading for table in tables]
    return [
        f"{table.title} – {table.heading}" if headings.count(table.heading) > 1 else table.heading for table in tables
    ]


def the_only(found: Sequence[str]) -> str:
    """What was found, if it is one; empty if it is nothing or several."""
    return found[0] if len(found) == 1 else ""


def list_rows(rows: Sequence[Row], opening: str = "", column: str = "") -> str:
    """The rows as a list under the opening, whole or just what they have in a column. A single row without an opening
    is a sentence."""
    quotes = [quote(row.candidate, column) for row in rows[:MAX_ROWS]]
    if len(quotes) == 1 and not opening:
        return quotes[0]
    parts = [f"{opening}:"] if opening else []
    parts.append("\n".join(f"- {each}" for each in quotes))
    if len(rows) > MAX_ROWS:
        parts.append("There are more rows.")
    return "\n\n".join(parts)
