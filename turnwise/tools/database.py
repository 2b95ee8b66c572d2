"""The database tool: questions about attached tables, answered by one query that can only read.

The query is written by rules, or by a language model where there is one; the same guard checks both, and what is run
is shown.
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
from turnwise.text import clean, one_line, uncited
from turnwise.tools.questions import RECENT, read_question, touches
from turnwise.tools.sources import SECONDS, Files, Row, Server, Source, SQLite, Table, kind_of
from turnwise.tools.sql_guard import LONGEST, check, limited, sqlglot, written
from turnwise.types import Hit, Message, Passage, Rewriter, StepResult

if TYPE_CHECKING:
    from sqlglot import exp

MOST_ROWS = 200  # that a query gives
SHOWN = 20  # rows that an answer shows
MOST_SAID = 4  # columns of a single row that is said as a sentence
SMALL = 0.01  # below which a number is shown by its first figures
EXACT = 1e-9  # of a number, that its places may differ from it
LONGEST_CELL = 100  # characters of a value that are shown
ABOUT = 600  # characters of what the tool says of itself
SAMPLES = 8  # values of a column that a language model is shown
GRACE = 2.0  # seconds more than a query may take, for a database that does not stop by itself
_WITH_MEDIAN = ("duckdb", "postgres")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Attached:
    """A source with its tables as they were when it had that stamp."""

    source: Source
    stamp: object
    tables: tuple[Table, ...]

    def check(self, sql: str) -> exp.Query:
        return check(sql, self.source.dialect, [table.name for table in self.tables], self.source.schema)


class Database:
    """Answers questions about attached tables: CSV, TSV, Parquet and SQLite files, and databases behind an address.

        database = Database()
        database.attach("sales.csv")
        result = await database.run(await database.read("total revenue by region", ()))

    All is only read. Files that change are seen by the next question. It may be shared by many conversations.
    """

    name = "database"
    reads_history = True  # so it is given a follow-up as it was written first
    of_library = True

    def __init__(self, rewriter: Rewriter | None = None, timeout: float = 15.0) -> None:
        self._rewriter = rewriter
        self._timeout = timeout
        self._lock = threading.RLock()
        self._attached: list[_Attached] = []
        self._gone: tuple[Table, ...] = ()  # of files that were attached and are there no more
        self._keep([])

    @property
    def tables(self) -> tuple[Table, ...]:
        """What can be asked."""
        return tuple(table for each in self._attached for table in each.tables)

    def attach(self, place: str | Path) -> tuple[Table, ...]:
        """Make the tables of a file, or of a database behind an address, known. Gives them, by the names they have."""
        sqlglot()
        with self._lock:
            source = _source(str(place), [each.source for each in self._attached])
            others = [
                each for each in self._attached if not (isinstance(source, Files) and isinstance(each.source, Files))
            ]
            before = self.tables
            self._keep([*others, self._looked_at(source, others)])
            return tuple(table for table in self.tables if table not in before)

    def refresh(self) -> None:
        """Look again at what has changed since it was attached."""
        with self._lock:
            kept: list[_Attached] = []
            for each in self._attached:
                stamp = each.source.stamp()
                try:
                    kept.append(each if stamp == each.stamp else self._looked_at(each.source, kept))
                except DataError as error:
                    log.warning("%s is left out until it can be read: %s", each.source.name, error)
                    kept.append(_Attached(each.source, stamp, ()))
            self._keep(kept)

    def _keep(self, attached: list[_Attached]) -> None:
        known = (*self.tables, *self._gone)
        self._attached = attached
        self._gone = tuple(each for each in known if each not in self.tables and _is_gone(each))
        listed = "; ".join(f"{each.name} ({', '.join(column.name for column in each.columns)})" for each in self.tables)
        self.about = one_line(f"Counts, sums, averages, rankings and lists from the attached tables: {listed}", ABOUT)

    def _looked_at(self, source: Source, others: Sequence[_Attached]) -> _Attached:
        """A source with its tables as they are now, but for those whose name another has."""
        stamp, taken = source.stamp(), {table.name.lower() for each in others for table in each.tables}
        tables = source.tables()
        free = tuple(table for table in tables if table.name.lower() not in taken)
        if not free:
            clash = "its names are taken by what is attached already" if tables else "it has none"
            raise DataError(f"{source.name} adds no tables: {clash}.", "Rename it, or attach something else.")
        for table in tables:
            if table not in free:
                log.warning("%s of %s is left out: another table has that name", table.name, source.name)
        return _Attached(source, stamp, free)

    # --- the tool

    async def read(self, question: str, history: Sequence[Message]) -> str:
        """The query that answers a question, empty where these tables cannot."""
        try:
            await asyncio.to_thread(self.refresh)
            asked = [each.content for each in history if each.role == "user"][-RECENT:]
            found = await self._written(question, asked) if self.tables else ""
            return found or await asyncio.to_thread(read_question, question, self._gone, asked)
        except DataError as error:
            log.warning("the attached data was not asked: %s", error)
            return ""

    async def _written(self, question: str, asked: Sequence[str]) -> str:
        if self._rewriter is not None and await asyncio.to_thread(touches, question, self.tables):
            told = await self._asked(self._rewriter, question, asked)
            if told is not None:
                return told
        return await asyncio.to_thread(self._ruled, question, asked)

    async def run(self, given: str) -> StepResult:
        """What a query gives, in words and as a passage to cite. What is not one harmless SELECT is refused."""
        details = {"sql": clean(given)[:LONGEST]}
        try:
            async with asyncio.timeout(SECONDS + GRACE):
                return await asyncio.to_thread(self._run, given)
        except TurnwiseError as error:
            return StepResult(error=str(error), details=details)
        except TimeoutError:
            return StepResult(error=f"The query took longer than {SECONDS} seconds.", details=details)
        except Exception as error:
            log.exception("a query broke")
            return StepResult(error=f"The query failed: {type(error).__name__}.", details=details)

    def _run(self, given: str) -> StepResult:
        self.refresh()
        if gone := self._named_gone(given):
            said = f"{gone.title} is gone: the file was attached, and is there no more."
            return StepResult(said, error=said, details={"sql": clean(given)[:LONGEST]})
        attached, tree = self._checked(given)
        sql = written(tree, attached.source.dialect)
        columns, rows = attached.source.rows(written(limited(tree, MOST_ROWS + 1), attached.source.dialect))
        cut, rows = len(rows) > MOST_ROWS, rows[:MOST_ROWS]
        tables = _tables_of(tree, attached.tables)
        sentence = _sentence(columns, rows, tables, _where(tree, attached.source.dialect))
        text = sentence or _table(columns, rows, cut)
        passage = _passage(sql, sentence or _lines(columns, rows, cut), tables, repr(rows))
        details = {"sql": sql, "columns": columns, "rows": len(rows), "cut": cut}
        return StepResult(text, (Hit(passage, 1.0),), details=details)

    def _named_gone(self, sql: str) -> Table | None:
        """The table of a file that is gone that a query names."""
        known = {table.name for table in self.tables}
        named = (table for table in self._gone if table.name not in known)
        return next((table for table in named if re.search(rf"\bFROM \"?{re.escape(table.name)}\b", sql)), None)

    def _checked(self, sql: str) -> tuple[_Attached, exp.Query]:
        """The source whose tables a query names, and the query as it may be run there."""
        if not self._attached:
            raise DataError("No data is attached.", "Attach a file: engine.attach(…), or --data FILE.")
        said = sql.lower()
        meant, *others = sorted(
            self._attached, key=lambda each: any(table.name.lower() in said for table in each.tables), reverse=True
        )
        for each in others:
            with suppress(DataError):
                return each, each.check(sql)
        return meant, meant.check(sql)

    # --- who writes the query

    def _ruled(self, question: str, asked: Sequence[str]) -> str:
        sql = read_question(question, self.tables, asked)
        if not sql:
            return ""
        from sqlglot import Dialect, exp, parse_one

        (name,) = {table.name for table in parse_one(sql).find_all(exp.Table)}
        dialect = next(each.source.dialect for each in self._attached if name in {table.name for table in each.tables})
        quotes = Dialect.get_or_raise(dialect).tokenizer_class.IDENTIFIERS
        tree = parse_one(sql, read=dialect if '"' in quotes else "duckdb")
        if dialect not in _WITH_MEDIAN and tree.find(exp.Median):
            return ""
        for identifier in tree.find_all(exp.Identifier):
            identifier.set("quoted", not _is_plain(identifier.name))
        return tree.sql(dialect)

    async def _asked(self, rewriter: Rewriter, question: str, before: Sequence[str]) -> str | None:
        """The language model's query, empty where it says that there is none; None where it gave none that can be run.
        What was wrong with its first is told to it once."""
        tables = await asyncio.to_thread(self._described)
        earlier = "".join(f"Asked before: {one_line(each, 300)}\n" for each in before)
        messages = [Message("system", _instructions()), Message("user", f"{tables}\n\n{earlier}Question: {question}")]
        ends = asyncio.get_running_loop().time() + self._timeout
        for _ in range(2):
            try:
                async with asyncio.timeout_at(ends):  # for both, or who waits for the tool gives up before the rules
                    reply = await rewriter.rewrite(messages, LONGEST)
            except (TimeoutError, TurnwiseError):
                return None
            except Exception:
                log.exception("%s broke while writing SQL", rewriter.name)
                return None
            sql = _unwrapped(reply)
            if re.fullmatch(r"none\W*", sql, re.I):
                return ""
            try:
                return await asyncio.to_thread(self._tried, sql)
            except DataError as error:
                wrong = f"That cannot be run. {error} Write it again, or reply NONE."
                messages += [Message("assistant", reply), Message("user", wrong)]
        return None

    def _tried(self, sql: str) -> str:
        """The query as it will be run. Raises DataError where the guard or the database does not take it."""
        attached, tree = self._checked(sql)
        attached.source.rows(written(limited(tree, 0), attached.source.dialect))
        return written(tree, attached.source.dialect)

    def _described(self) -> str:
        """The tables as a language model is told of them."""
        from sqlglot import exp

        lines = []
        for each in self._attached:
            dialect = each.source.dialect
            lines.append(f"A database of the dialect {dialect}:")

            def spelled(name: str, dialect: str = dialect) -> str:
                return exp.to_identifier(name, quoted=not _is_plain(name)).sql(dialect)

            for table in each.tables:
                columns = [
                    f"{spelled(column.name)} ({column.kind}"
                    + (f", such as {', '.join(column.values[:SAMPLES])})" if column.values else ")")
                    for column in table.columns
                ]
                lines.append(f"- {spelled(table.name)}: {', '.join(columns)}")
        return "\n".join(lines)


def _source(place: str, known: Sequence[Source]) -> Source:
    """Where the data is. A file of a table joins those that are known."""
    if found := re.match(r"sqlite(?:\+\w+)?:/{2,3}(.*)", place):
        place = found[1]
    elif re.match(r"[\w+]+://", place):
        return Server(place)
    path = Path(place).expanduser().resolve()
    if kind_of(path) == "sqlite":
        return SQLite(path)
    paths = next((each.paths for each in known if isinstance(each, Files)), ())
    return Files(tuple(dict.fromkeys((*paths, path))))


def _is_gone(table: Table) -> bool:
    """Whether a table was one of a file, and that is there no more."""
    return "://" not in table.source and not Path(table.source).exists()


def _is_plain(name: str) -> bool:
    """Whether a name needs no quotes anywhere."""
    from sqlglot.tokens import Tokenizer

    return bool(re.fullmatch("[a-z_][a-z0-9_]*", name)) and name.upper() not in Tokenizer.KEYWORDS


def _unwrapped(reply: str) -> str:
    """The SQL of a reply, without the fence around it and the semicolon after it."""
    fenced = re.search(r"```(?:sql)?\s*(.*?)```", reply, re.S | re.I)
    return (fenced[1] if fenced else reply).strip().rstrip(";").strip()


@lru_cache(maxsize=1)
def _instructions() -> str:
    return (Path(__file__).parent / "write_sql.txt").read_text(encoding="utf-8").strip()


# --- what came of it, in words ------------------------------------------------------------------------------------


def _sentence(columns: Sequence[str], rows: Sequence[Row], tables: Sequence[Table], where: str) -> str:
    """A single row in words, or that there is none; empty where a table says it better."""
    of = f" of {' and '.join(table.name for table in tables)}" if tables else ""
    where = uncited(where)
    fitting = f" (where {where})" if where else ""
    if not rows:
        return f"No rows{of} fit{fitting}."
    if len(rows) > 1 or len(columns) > MOST_SAID:
        return ""
    row, names = list(rows[0]), [_cell(_spoken(name)) for name in columns]
    if row[0] is None:
        return f"There is no {names[0]}: no values{of} fit{fitting}."
    if names[-1] == "row count" and len(row) > 1:
        count = row.pop()
        counted = f"over {count} row{'' if count == 1 else 's'}{of}"
        fitting = f" ({counted}, where {where})" if where else f" ({counted})"
    said = "; the ".join(f"{name} is {_cell(value)}" for name, value in zip(names, row, strict=False))
    return f"The {said}{fitting}."


def _table(columns: Sequence[str], rows: Sequence[Row], cut: bool) -> str:
    """The first rows as a Markdown table."""
    head, *lines = _lines(columns, rows[:SHOWN], False).splitlines()
    table = "\n".join(f"| {line} |" for line in (head, " | ".join(["---"] * len(columns)), *lines))
    return f"{table}{_rest(rows, cut)}"


def _lines(columns: Sequence[str], rows: Sequence[Row], cut: bool) -> str:
    """The first rows as the tables of documents are kept."""
    lines = [[_cell(_spoken(name)) for name in columns], *([_cell(value) for value in row] for row in rows[:SHOWN])]
    return "\n".join(" | ".join(line) for line in lines) + _rest(rows, cut)


def _rest(rows: Sequence[Row], cut: bool) -> str:
    count = f"more than {MOST_ROWS}" if cut else len(rows)
    return f"\n\nThese are the first {SHOWN} of {count} rows." if len(rows) > SHOWN else ""


def _spoken(name: str) -> str:
    """A column's name in words; one that a database made of an expression too: "count_star()", "sum(revenue)"."""
    name = re.sub(r"^count(?:_star)?\s*\(\s*\*?\s*\)$", "count", name, flags=re.I)
    name = re.sub(r"^(\w+)\s*\(\"?([\w ]+)\"?\)$", r"\1 of \2", name)
    return " ".join(name.replace("_", " ").split()) or "value"


def _cell(value: Any) -> str:
    """A value on one line that breaks no table and looks like no citation."""
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
    text = one_line(clean(str(value)[: 2 * LONGEST_CELL]), LONGEST_CELL)
    return uncited(text.replace("|", "\\|"))


def _decimal(value: float | Decimal) -> str:
    """A number with two to four places as it stands, none where it is whole; what has more was worked out, and is
    rounded to three digits at least and two places."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value):
        return str(int(value))
    if abs(float(value)) < SMALL:
        return f"{value:.3g}"
    size, text = abs(float(value)), f"{value:.4f}"
    if abs(size - abs(float(text))) > EXACT * size:
        text = f"{value:.2f}" if size >= 1 else f"{value:.3g}"
    whole, _, places = text.partition(".")
    return f"{whole}.{places.rstrip('0'):0<2}"


def _where(tree: exp.Query, dialect: str) -> str:
    """The plain conditions on the rows that a query reads, without quotes around names."""
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
    """What was read, to be cited: the query and its result. The same query of the same data has the same id."""
    titles = ", ".join(dict.fromkeys(table.title for table in tables)) or "database"
    sources = ", ".join(dict.fromkeys(table.source for table in tables))
    document, passage = (-1 - zlib.crc32(part.encode()) for part in (sources, f"{sources}\n{sql}\n{rows}"))
    return Passage(passage, document, titles, sources, f"{sql}\n\n{text}", heading="SQL")


def _tables_of(tree: exp.Query, attached: Sequence[Table]) -> list[Table]:
    from sqlglot import exp

    named = {table.name for table in tree.find_all(exp.Table)}
    return [table for table in attached if table.name in named]
