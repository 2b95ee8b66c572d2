"""The database tool: answers questions about attached tables with a single read-only query.

The query is written by a language model if there is one, else by rules; the same guard checks both, and the user sees
the query that ran.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import math
import re
import threading
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise.errors import DataError, TurnwiseError
from turnwise.text import clean, escape_citations, one_line
from turnwise.tools.questions import RECENT_MESSAGES, mentions, read_question
from turnwise.tools.sources import QUERY_TIMEOUT_SECONDS, DataSource, Files, Row, Server, SQLite, Table, kind_of
from turnwise.tools.sql_guard import MAX_QUERY_CHARS, check, sqlglot, to_sql, with_limit
from turnwise.types import Hit, Message, Passage, Rewriter, StepResult

if TYPE_CHECKING:
    from sqlglot import exp

MAX_ROWS = 200  # fetched by a query
SHOWN_ROWS = 20  # in an answer
MAX_SENTENCE_COLUMNS = 4  # a single row with more columns is shown as a table
SMALL_NUMBER = 0.01  # smaller numbers are shown with significant digits
ROUNDING_TOLERANCE = 1e-9  # relative
MAX_CELL_CHARS = 100
MAX_ABOUT_CHARS = 600
SAMPLE_VALUES = 8  # of a column, shown to a language model
GRACE_SECONDS = 2.0  # beyond the query timeout, for a database that does not stop by itself
_DIALECTS_WITH_MEDIAN = ("duckdb", "postgres")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Attached:
    """A data source, and its tables at the time of `stamp`."""

    source: DataSource
    stamp: object
    tables: tuple[Table, ...]

    def check(self, sql: str) -> exp.Query:
        return check(sql, self.source.dialect, [table.name for table in self.tables], self.source.schema)


class DatabaseTool:
    """Answers questions about attached tables: CSV, TSV, Parquet and SQLite files, and database servers.

        database = DatabaseTool()
        database.attach("sales.csv")
        result = await database.run(await database.read("total revenue by region", ()))

    Access is read-only. The next question sees changed files. One instance can serve many conversations.
    """

    name = "database"
    reads_history = True  # it gets a follow-up first as the user wrote it
    of_library = True

    def __init__(self, rewriter: Rewriter | None = None, timeout: float = 15.0) -> None:
        self._rewriter = rewriter
        self._timeout = timeout
        self._lock = threading.RLock()
        self._attached: list[_Attached] = []
        self._missing: tuple[Table, ...] = ()  # tables of attached files that no longer exist
        self._set_attached([])

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that can be queried."""
        return tuple(table for each in self._attached for table in each.tables)

    def attach(self, place: str | Path) -> tuple[Table, ...]:
        """Attach the tables of a file or a database server. Returns the new tables."""
        sqlglot()
        with self._lock:
            source = _open_source(str(place), [each.source for each in self._attached])
            others = [
                each for each in self._attached if not (isinstance(source, Files) and isinstance(each.source, Files))
            ]
            before = self.tables
            self._set_attached([*others, self._load(source, others)])
            return tuple(table for table in self.tables if table not in before)

    def refresh(self) -> None:
        """Reload the sources that have changed."""
        with self._lock:
            kept: list[_Attached] = []
            for each in self._attached:
                stamp = each.source.stamp()
                try:
                    kept.append(each if stamp == each.stamp else self._load(each.source, kept))
                except DataError as error:
                    log.warning("%s is ignored until it can be read: %s", each.source.name, error)
                    kept.append(_Attached(each.source, stamp, ()))
            self._set_attached(kept)

    def _set_attached(self, attached: list[_Attached]) -> None:
        known = (*self.tables, *self._missing)
        self._attached = attached
        self._missing = tuple(each for each in known if each not in self.tables and _file_is_missing(each))
        listed = "; ".join(f"{each.name} ({', '.join(column.name for column in each.columns)})" for each in self.tables)
        self.about = one_line(
            f"Counts, sums, averages, rankings and lists from the attached tables: {listed}", MAX_ABOUT_CHARS
        )

    def _load(self, source: DataSource, others: Sequence[_Attached]) -> _Attached:
        """Load a source with its current tables, except those whose name is already taken."""
        stamp, taken = source.stamp(), {table.name.lower() for each in others for table in each.tables}
        tables = source.tables()
        free = tuple(table for table in tables if table.name.lower() not in taken)
        if not free:
            reason = "their names are already taken" if tables else "it has none"
            raise DataError(f"{source.name} adds no tables: {reason}.", "Rename it, or attach something else.")
        for table in tables:
            if table not in free:
                log.warning("%s of %s is ignored: another table has that name", table.name, source.name)
        return _Attached(source, stamp, free)

    # --- the tool

    async def read(self, question: str, history: Sequence[Message]) -> str:
        """Return the query that answers a question, or "" if these tables cannot answer it."""
        try:
            await asyncio.to_thread(self.refresh)
            asked = [each.content for each in history if each.role == "user"][-RECENT_MESSAGES:]
            sql = await self._write_query(question, asked) if self.tables else ""
            return sql or await asyncio.to_thread(read_question, question, self._missing, asked)
        except DataError as error:
            log.warning("the attached data could not be queried: %s", error)
            return ""

    async def _write_query(self, question: str, asked: Sequence[str]) -> str:
        if self._rewriter is not None and await asyncio.to_thread(mentions, question, self.tables):
            sql = await self._query_by_model(self._rewriter, question, asked)
            if sql is not None:
                return sql
        return await asyncio.to_thread(self._query_by_rules, question, asked)

    async def run(self, given: str) -> StepResult:
        """Run a query and return its result as text and as a passage to cite. Only a single harmless SELECT is run."""
        details = {"sql": clean(given)[:MAX_QUERY_CHARS]}
        try:
            async with asyncio.timeout(QUERY_TIMEOUT_SECONDS + GRACE_SECONDS):
                return await asyncio.to_thread(self._run_query, given)
        except TurnwiseError as error:
            return StepResult(error=str(error), details=details)
        except TimeoutError:
            return StepResult(error=f"The query took longer than {QUERY_TIMEOUT_SECONDS} seconds.", details=details)
        except Exception as error:
            log.exception("a query failed")
            return StepResult(error=f"The query failed: {type(error).__name__}.", details=details)

    def _run_query(self, query: str) -> StepResult:
        self.refresh()
        if table := self._missing_table_in(query):
            message = f"{table.title} is gone: the file was attached but no longer exists."
            return StepResult(message, error=message, details={"sql": clean(query)[:MAX_QUERY_CHARS]})
        attached, tree = self._check(query)
        sql = to_sql(tree, attached.source.dialect)
        columns, rows = attached.source.rows(to_sql(with_limit(tree, MAX_ROWS + 1), attached.source.dialect))
        cut, rows = len(rows) > MAX_ROWS, rows[:MAX_ROWS]
        tables = _tables_of(tree, attached.tables)
        sentence = _as_sentence(columns, rows, tables, _conditions_text(tree, attached.source.dialect))
        text = sentence or _as_markdown_table(columns, rows, cut)
        passage = _passage(sql, sentence or _as_lines(columns, rows, cut), tables, repr(rows))
        details = {"sql": sql, "columns": columns, "rows": len(rows), "cut": cut}
        return StepResult(text, (Hit(passage, 1.0),), details=details)

    def _missing_table_in(self, sql: str) -> Table | None:
        """The table in a query whose file no longer exists, or None."""
        known = {table.name for table in self.tables}
        named = (table for table in self._missing if table.name not in known)
        return next((table for table in named if re.search(rf"\bFROM \"?{re.escape(table.name)}\b", sql)), None)

    def _check(self, sql: str) -> tuple[_Attached, exp.Query]:
        """Return the source whose tables a query names, and the checked query for it."""
        if not self._attached:
            raise DataError("No data is attached.", "Attach a file: engine.attach(…), or --data FILE.")
        lowered = sql.lower()
        likeliest, *others = sorted(
            self._attached, key=lambda each: any(table.name.lower() in lowered for table in each.tables), reverse=True
        )
        for each in others:
            with suppress(DataError):
                return each, each.check(sql)
        return likeliest, likeliest.check(sql)

    # --- writing the query

    def _query_by_rules(self, question: str, asked: Sequence[str]) -> str:
        sql = read_question(question, self.tables, asked)
        if not sql:
            return ""
        from sqlglot import Dialect, exp, parse_one

        (name,) = {table.name for table in parse_one(sql).find_all(exp.Table)}
        dialect = next(each.source.dialect for each in self._attached if name in {table.name for table in each.tables})
        quotes = Dialect.get_or_raise(dialect).tokenizer_class.IDENTIFIERS
        tree = parse_one(sql, read=dialect if '"' in quotes else "duckdb")
        if dialect not in _DIALECTS_WITH_MEDIAN and tree.find(exp.Median):
            return ""
        for identifier in tree.find_all(exp.Identifier):
            identifier.set("quoted", not _is_plain(identifier.name))
        return tree.sql(dialect)

    async def _query_by_model(self, rewriter: Rewriter, question: str, before: Sequence[str]) -> str | None:
        """Ask the language model for a query. Returns "" if it says there is none, and None if it failed.

        It gets one chance to correct a query that cannot be run."""
        tables = await asyncio.to_thread(self._describe_tables)
        earlier = "".join(f"Asked before: {one_line(each, 300)}\n" for each in before)
        messages = [Message("system", _instructions()), Message("user", f"{tables}\n\n{earlier}Question: {question}")]
        ends = asyncio.get_running_loop().time() + self._timeout
        for _ in range(2):
            try:
                async with asyncio.timeout_at(ends):  # covers both attempts, so that there is time left for the rules
                    reply = await rewriter.rewrite(messages, MAX_QUERY_CHARS)
            except (TimeoutError, TurnwiseError):
                return None
            except Exception:
                log.exception("%s failed while writing SQL", rewriter.name)
                return None
            sql = _sql_in_reply(reply)
            if re.fullmatch(r"none\W*", sql, re.I):
                return ""
            try:
                return await asyncio.to_thread(self._try_query, sql)
            except DataError as error:
                wrong = f"That cannot be run. {error} Write it again, or reply NONE."
                messages += [Message("assistant", reply), Message("user", wrong)]
        return None

    def _try_query(self, sql: str) -> str:
        """Return the query as it will be run. Raises DataError if the guard or the database rejects it."""
        attached, tree = self._check(sql)
        attached.source.rows(to_sql(with_limit(tree, 0), attached.source.dialect))
        return to_sql(tree, attached.source.dialect)

    def _describe_tables(self) -> str:
        """Describe the tables for a language model."""
        lines = []
        for each in self._attached:
            dialect = each.source.dialect
            lines.append(f"A database of the dialect {dialect}:")
            for table in each.tables:
                columns = [
                    f"{_spelled(column.name, dialect)} ({column.kind}"
                    + (f", such as {', '.join(column.values[:SAMPLE_VALUES])})" if column.values else ")")
                    for column in table.columns
                ]
                lines.append(f"- {_spelled(table.name, dialect)}: {', '.join(columns)}")
        return "\n".join(lines)


def _open_source(place: str, known: Sequence[DataSource]) -> DataSource:
    """Open a file or an address. A table file joins the ones already attached."""
    if found := re.match(r"sqlite(?:\+\w+)?:/{2,3}(.*)", place):
        place = found[1]
    elif re.match(r"[\w+]+://", place):
        return Server(place)
    path = Path(place).expanduser().resolve()
    if kind_of(path) == "sqlite":
        return SQLite(path)
    paths = next((each.paths for each in known if isinstance(each, Files)), ())
    return Files(tuple(dict.fromkeys((*paths, path))))


def _file_is_missing(table: Table) -> bool:
    """Whether a table came from a file that no longer exists."""
    return "://" not in table.source and not Path(table.source).exists()


def _spelled(name: str, dialect: str) -> str:
    """A name as a dialect writes it, in quotes only if it needs them."""
    from sqlglot import exp

    return exp.to_identifier(name, quoted=not _is_plain(name)).sql(dialect)


def _is_plain(name: str) -> bool:
    """Whether a name needs no quotes in any dialect."""
    from sqlglot.tokens import Tokenizer

    return bool(re.fullmatch("[a-z_][a-z0-9_]*", name)) and name.upper() not in Tokenizer.KEYWORDS


def _sql_in_reply(reply: str) -> str:
    """The SQL in a model's reply, without code fence and semicolon."""
    fenced = re.search(r"```(?:sql)?\s*(.*?)```", reply, re.S | re.I)
    return (fenced[1] if fenced else reply).strip().rstrip(";").strip()


@lru_cache(maxsize=1)
def _instructions() -> str:
    return (Path(__file__).parent / "write_sql.txt").read_text(encoding="utf-8").strip()


# --- results as text ----------------------------------------------------------------------------------------------


def _as_sentence(columns: Sequence[str], rows: Sequence[Row], tables: Sequence[Table], where: str) -> str:
    """A sentence for a single row or no rows, or "" if a table is clearer."""
    of = f" of {' and '.join(table.name for table in tables)}" if tables else ""
    where = escape_citations(where)
    fitting = f" (where {where})" if where else ""
    if not rows:
        return f"No rows{of} fit{fitting}."
    if len(rows) > 1 or len(columns) > MAX_SENTENCE_COLUMNS:
        return ""
    row, names = list(rows[0]), [_cell(_column_label(name)) for name in columns]
    if row[0] is None:
        return f"There is no {names[0]}: no values{of} fit{fitting}."
    if names[-1] == "row count" and len(row) > 1:
        count = row.pop()
        counted = f"over {count} row{'' if count == 1 else 's'}{of}"
        fitting = f" ({counted}, where {where})" if where else f" ({counted})"
    values = "; the ".join(f"{name} is {_cell(value)}" for name, value in zip(names, row, strict=False))
    return f"The {values}{fitting}."


def _as_markdown_table(columns: Sequence[str], rows: Sequence[Row], cut: bool) -> str:
    """The first rows as a Markdown table."""
    head, *lines = _as_lines(columns, rows[:SHOWN_ROWS], False).splitlines()
    table = "\n".join(f"| {line} |" for line in (head, " | ".join(["---"] * len(columns)), *lines))
    return f"{table}{_row_limit_note(rows, cut)}"


def _as_lines(columns: Sequence[str], rows: Sequence[Row], cut: bool) -> str:
    """The first rows in the format of tables in documents."""
    lines = [
        [_cell(_column_label(name)) for name in columns],
        *([_cell(value) for value in row] for row in rows[:SHOWN_ROWS]),
    ]
    return "\n".join(" | ".join(line) for line in lines) + _row_limit_note(rows, cut)


def _row_limit_note(rows: Sequence[Row], cut: bool) -> str:
    count = f"more than {MAX_ROWS}" if cut else len(rows)
    return f"\n\nThese are the first {SHOWN_ROWS} of {count} rows." if len(rows) > SHOWN_ROWS else ""


def _column_label(name: str) -> str:
    """A column name in words, also one generated from an expression: "count_star()", "sum(revenue)"."""
    name = re.sub(r"^count(?:_star)?\s*\(\s*\*?\s*\)$", "count", name, flags=re.I)
    name = re.sub(r"^(\w+)\s*\(\"?([\w ]+)\"?\)$", r"\1 of \2", name)
    return " ".join(name.replace("_", " ").split()) or "value"


def _cell(value: Any) -> str:
    """A value on one line, escaped for a Markdown table and without anything that looks like a citation."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float() | Decimal():
            return _decimal(value)
        case datetime.datetime() | datetime.date():
            return value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()
        case bytes() | memoryview():
            return f"({len(value)} bytes)"
    text = one_line(clean(str(value)[: 2 * MAX_CELL_CHARS]), MAX_CELL_CHARS)
    return escape_citations(text.replace("|", "\\|"))


def _decimal(value: float | Decimal) -> str:
    """A number with two to four decimal places, or none if it is whole.

    One with more places was computed: it is rounded to two places, or to three significant digits below 1."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value):
        return str(int(value))
    if abs(float(value)) < SMALL_NUMBER:
        return f"{value:.3g}"
    size, text = abs(float(value)), f"{value:.4f}"
    if abs(size - abs(float(text))) > ROUNDING_TOLERANCE * size:
        text = f"{value:.2f}" if size >= 1 else f"{value:.3g}"
    whole, _, places = text.partition(".")
    return f"{whole}.{places.rstrip('0'):0<2}"


def _conditions_text(tree: exp.Query, dialect: str) -> str:
    """The conditions of a query without subqueries, with names unquoted."""
    from sqlglot import exp

    table = tree.find(exp.Table)
    where = table.parent_select.args.get("where") if table and table.parent_select else None
    if where is None:
        return ""
    plain = where.this.copy()
    for identifier in plain.find_all(exp.Identifier):
        identifier.set("quoted", False)
    conditions = plain.flatten() if isinstance(plain, exp.And) else [plain]
    return " AND ".join(each.sql(dialect) for each in conditions if not each.find(exp.Query))


def _passage(sql: str, text: str, tables: Sequence[Table], rows: str) -> Passage:
    """A passage to cite: the query and its result. The same query on the same data gets the same id."""
    titles = ", ".join(dict.fromkeys(table.title for table in tables)) or "database"
    sources = ", ".join(dict.fromkeys(table.source for table in tables))
    document, passage = (-1 - zlib.crc32(part.encode()) for part in (sources, f"{sources}\n{sql}\n{rows}"))
    return Passage(passage, document, titles, sources, f"{sql}\n\n{text}", heading="SQL")


def _tables_of(tree: exp.Query, attached: Sequence[Table]) -> list[Table]:
    from sqlglot import exp

    named = {table.name for table in tree.find_all(exp.Table)}
    return [table for table in attached if table.name in named]
