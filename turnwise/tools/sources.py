"""Where attached data comes from: files of tables, SQLite files, and databases behind an address. All are only read.

Files are copied into a database in memory that can reach no other file; SQLite files and servers are opened for each
query, read only, and asked with a limit of time.
"""

from __future__ import annotations

import logging
import re
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from turnwise.errors import DataError
from turnwise.tools.sql_guard import missing, sqlglot

SECONDS = 5  # that a query may take
MEMORY = "1GB"  # that files and the queries of them may take
LONGEST_CELL = 10_000_000  # bytes of a value that SQLite may make
LOOKED_AT = 100_000  # rows that are looked at for the values of a column
MOST_VALUES, LONGEST_VALUE = 1000, 60  # values of a column that are remembered, and characters of each
PATIENCE = 5  # seconds to reach a server
OLD = 300.0  # seconds after which the tables of a server are looked at again

log = logging.getLogger(__name__)

Kind = Literal["number", "text", "date", "other"]
Row = tuple[Any, ...]

_KINDS: tuple[tuple[str, Kind], ...] = (
    (r"DATE|TIMESTAMP", "date"),
    (r"(U?(BIG|SMALL|TINY|MEDIUM|HUGE)?INT(EGER|\d)?|REAL|FLOAT|DOUBLE|NUM|DEC|MONEY|.*SERIAL)\b", "number"),
    (r"NUMERIC|DECIMAL|NUMBER", "number"),
    (r".*(CHAR|TEXT|STRING|CLOB|ENUM|UUID)|$", "text"),
)
_VERSION = re.compile(r"(?:.*[\W_])?version", re.I)  # of software: 4.10 is not 4.1
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.]+([+-][\d:]+|Z)?)?$")


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and the texts that stand in it where they are few."""

    name: str
    kind: Kind
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be asked. `source` is where it comes from, as it may be shown."""

    name: str
    columns: tuple[Column, ...]
    title: str
    source: str
    view: bool = False  # a query of other tables, kept by its database


class Source(Protocol):
    """A database of attached tables."""

    name: str  # as it may be shown
    dialect: str  # as the parser calls it
    schema: str  # in which its tables stand

    def stamp(self) -> object:
        """Something else as soon as the data may have changed."""
        ...

    def tables(self) -> list[Table]:
        """What can be asked, as it is now."""
        ...

    def rows(self, sql: str) -> tuple[list[str], list[Row]]:
        """The names of the columns and the rows. Raises DataError where it fails or takes too long."""
        ...


# --- files of tables ----------------------------------------------------------------------------------------------


class Files:
    """CSV, TSV and Parquet files, as the tables of one database in memory."""

    dialect, schema = "duckdb", "main"

    def __init__(self, paths: tuple[Path, ...]) -> None:
        self.paths = paths
        self.name = paths[-1].name
        self._connection: Any = None

    def stamp(self) -> object:
        return [_stamp(path) for path in self.paths]

    def tables(self) -> list[Table]:
        """The files, read again into a new database, which then can read no more files."""
        duckdb = _duckdb()
        options = {"memory_limit": MEMORY, "threads": 2, "temp_directory": "", "python_enable_replacements": False}
        connection = duckdb.connect(":memory:", config={**options, "autoload_known_extensions": False})
        titles: dict[str, Path] = {}
        for path in self.paths:
            name = _free_name(path, titles)
            try:
                _load(connection, path, name)
            except DataError as error:
                if self._connection is None and path == self.paths[-1]:  # the one that is being attached
                    raise
                log.warning("%s is left out until it can be read: %s", path, error)
            else:
                titles[name] = path
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        self._connection = connection
        return [self._table(name, path) for name, path in titles.items()]

    def _table(self, name: str, path: Path) -> Table:
        described = self._connection.cursor().execute(f"DESCRIBE {_quoted(name)}").fetchall()
        columns = _columns(name, [(row[0], row[1]) for row in described], lambda sql: self.rows(sql)[1])
        return Table(name, columns, path.name, str(path))

    def rows(self, sql: str) -> tuple[list[str], list[Row]]:
        cursor = self._connection.cursor()
        stop = threading.Timer(SECONDS, cursor.interrupt)
        stop.start()
        try:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            found = cursor.execute(sql)
            return [each[0] for each in found.description], found.fetchall()
        except _duckdb().InterruptException as error:
            raise _too_long() from error
        except _duckdb().Error as error:
            raise _failed(error) from error
        finally:
            stop.cancel()
            cursor.close()


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise missing("Reading CSV and Parquet as tables needs DuckDB") from error
    return duckdb


def _load(connection: Any, path: Path, name: str) -> None:
    pattern = "".join(f"[{each}]" if each in "*?[" else each for each in str(path))  # of this very file
    if _magic(path).startswith(b"PAR1"):
        readings = ["read_parquet(?)"]
    else:
        readings = [  # its types judged by the first rows, else by all
            "read_csv(?)",
            "read_csv(?, sample_size = -1)",
            "read_csv(?, sample_size = -1, encoding = 'latin-1')",
            "read_csv(?, all_varchar = true, strict_mode = false, null_padding = true)",
        ]
    for reading in readings:
        try:
            _read_into(connection, name, reading, pattern)
            return
        except _duckdb().Error as error:
            wrong = _first_line(error)
    raise DataError(f"{path} cannot be read as a table: {wrong}", "Check the file.")


def _read_into(connection: Any, name: str, reading: str, pattern: str) -> None:
    """Make a table of a file. The versions of something are kept as they are written."""
    create = f"CREATE OR REPLACE TABLE {_quoted(name)} AS SELECT * FROM "
    connection.execute(create + reading, [pattern])
    described = connection.execute(f"DESCRIBE {_quoted(name)}").fetchall()
    versions = [row[0].replace("'", "''") for row in described if _VERSION.fullmatch(row[0]) and row[1] == "DOUBLE"]
    if versions and reading.startswith("read_csv"):
        types = ", ".join(f"'{each}': 'VARCHAR'" for each in versions)
        connection.execute(f"{create}{reading[:-1]}, types = {{{types}}})", [pattern])


def _free_name(path: Path, taken: dict[str, Path]) -> str:
    """What a file is called as a table: "Sales 2023.csv" is sales_2023."""
    stem = re.sub(r"\W+", "_", path.name.partition(".")[0].lower()).strip("_") or "data"
    name = f"t_{stem}" if stem[0].isdigit() else stem
    number = 2
    while name in taken:
        name, number = f"{stem}_{number}", number + 1
    return name


# --- SQLite -------------------------------------------------------------------------------------------------------


class SQLite:
    """An SQLite file. It is opened for each query, so that what others write to it is seen."""

    dialect, schema = "sqlite", "main"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name

    def stamp(self) -> object:
        return _stamp(self.path), _stamp(Path(f"{self.path}-wal"))

    def tables(self) -> list[Table]:
        try:
            with closing(self._open()) as connection:
                listed = connection.execute(
                    "SELECT name, type = 'view' FROM sqlite_master WHERE type IN ('table', 'view')"
                    " AND substr(name, 1, 7) <> 'sqlite_' ORDER BY rowid"
                ).fetchall()
                typed = [
                    (name, view, connection.execute("SELECT name, type FROM pragma_table_info(?)", (name,)).fetchall())
                    for name, view in listed
                ]
        except sqlite3.Error as error:
            raise _failed(error) from error

        def ask(sql: str) -> list[Row]:
            return self.rows(sql)[1]

        return [
            Table(name, _columns(name, columns, ask, dates=False), f"{self.name}: {name}", str(self.path), bool(view))
            for name, view, columns in typed
        ]

    def rows(self, sql: str) -> tuple[list[str], list[Row]]:
        try:
            with closing(self._open()) as connection:
                connection.set_authorizer(_authorize)
                ends = time.monotonic() + SECONDS
                connection.set_progress_handler(lambda: time.monotonic() > ends, 10_000)
                found = connection.execute(sql)
                return [each[0] for each in found.description], found.fetchall()
        except sqlite3.OperationalError as error:
            raise _too_long() if "interrupted" in str(error) else _failed(error) from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _failed(error) from error

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True, timeout=1, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_CELL)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    """What SQLite asks before it does anything: reading tables is all that is allowed."""
    if action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ and not (first or "").lower().startswith("sqlite_"):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() != "load_extension":
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


# --- servers ------------------------------------------------------------------------------------------------------

_DIALECTS = {"postgresql": "postgres", "mariadb": "mysql", "mssql": "tsql"}
_PRELUDES = {  # before a query
    "postgresql": ["SET TRANSACTION READ ONLY", "SET LOCAL statement_timeout = '{seconds}s'"],
    "mysql": ["SET SESSION TRANSACTION READ ONLY", "SET SESSION max_execution_time = {seconds}000"],
    "mariadb": ["SET SESSION TRANSACTION READ ONLY", "SET SESSION max_statement_time = {seconds}"],
}


class Server:
    """A database behind an address, such as postgres://USER:PASSWORD@HOST/NAME; the tables of its own schema."""

    def __init__(self, url: str) -> None:
        alchemy = _sqlalchemy()
        try:
            address = alchemy.make_url(re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", url))
            self._secrets = [secret for secret in (url, address.password, address.query.get("password")) if secret]
            self._engine = alchemy.create_engine(
                address, poolclass=alchemy.pool.NullPool, connect_args=_connecting(address)
            )
        except alchemy.exc.NoSuchModuleError as error:
            raise DataError(
                "Databases of that kind are not known.", "Write it as mysql+pymysql://… , for one."
            ) from error
        except ImportError as error:
            hint = 'pip install "turnwise[postgres]"' if url.startswith("postgres") else f"pip install {error.name}"
            raise DataError("The driver of that database is not installed.", hint) from error
        except (alchemy.exc.ArgumentError, ValueError) as error:
            raise DataError(
                "That is not the address of a database.", "Write postgres://USER:PASSWORD@HOST/NAME"
            ) from error
        backend = self._engine.dialect.name
        self.dialect = _DIALECTS.get(backend, backend)
        if backend not in _PRELUDES or sqlglot().Dialect.get(self.dialect) is None:
            raise DataError(
                f"Queries to {backend} cannot be kept read only and within a time.",
                "Export its tables to CSV or Parquet, or attach PostgreSQL, MySQL, MariaDB or an SQLite file.",
            )
        self.name = f"{backend}://{address.host or ''}/{address.database or ''}"
        self.schema = ""

    def stamp(self) -> object:
        return time.monotonic() // OLD

    def tables(self) -> list[Table]:
        alchemy = _sqlalchemy()
        try:
            with self._engine.connect() as connection, warnings.catch_warnings():
                warnings.simplefilter("ignore", alchemy.exc.SAWarning)  # of types that are not known
                looked = alchemy.inspect(connection)
                self.schema = looked.default_schema_name or ""
                views = looked.get_view_names()
                typed = {
                    name: [(each["name"], str(each["type"])) for each in looked.get_columns(name)]
                    for name in [*looked.get_table_names(), *views]
                }
        except alchemy.exc.SQLAlchemyError as error:
            raise self._failed(error) from error

        def ask(sql: str) -> list[Row]:
            return self.rows(sqlglot().transpile(sql, write=self.dialect)[0])[1]

        title = self.name.rpartition("/")[2] or self.name
        return [
            Table(name, _columns(name, columns, ask), f"{title}: {name}", self.name, name in views)
            for name, columns in typed.items()
        ]

    def rows(self, sql: str) -> tuple[list[str], list[Row]]:
        alchemy = _sqlalchemy()
        try:
            with self._engine.connect() as connection:  # which rolls back at the end
                for prelude in _PRELUDES.get(self._engine.dialect.name, ()):
                    connection.exec_driver_sql(prelude.format(seconds=SECONDS))
                found = connection.execution_options(no_parameters=True).exec_driver_sql(sql)
                return list(found.keys()), [tuple(row) for row in found.fetchall()]
        except alchemy.exc.SQLAlchemyError as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> DataError:
        text = _first_line(getattr(error, "orig", None) or error)
        for secret in self._secrets:
            text = text.replace(secret, "…")
        if re.search(r"timeout|max_execution_time|max_statement_time", text) and "connection" not in text:
            return _too_long()
        return DataError(f"{self.name}: {text}", "Check the query, the address, and that the server is there.")


def _connecting(address: Any) -> dict[str, Any]:
    """How the driver connects: not for long, and with PostgreSQL read only, one statement at a time."""
    backend = address.get_backend_name()
    waiting: dict[str, Any] = {"connect_timeout": PATIENCE} if backend in _PRELUDES else {}
    if address.drivername == "postgresql+psycopg":
        waiting["options"] = f"{address.query.get('options', '')} -c default_transaction_read_only=on"
        waiting["prepare_threshold"] = 0  # what is prepared cannot be several statements
    return waiting


def _sqlalchemy() -> Any:
    try:
        import sqlalchemy
    except ImportError as error:
        raise missing("Asking a database needs SQLAlchemy") from error
    return sqlalchemy


# --- what all share -----------------------------------------------------------------------------------------------


def kind_of(path: Path) -> Literal["table", "sqlite"]:
    """What kind of data a file holds. Raises DataError where it is none."""
    if path.is_dir():
        raise DataError(f"{path} is a folder.", "Give each file by itself: CSV, TSV, Parquet or SQLite.")
    if not path.is_file():
        raise DataError(f"There is no file {path}.", "Give a CSV, TSV, Parquet or SQLite file, or postgres://…")
    beginning = _magic(path)
    if not beginning:
        raise DataError(f"{path} is empty.", "Give a file with a row of names and rows of values.")
    if beginning.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if beginning.startswith(b"PAR1") or re.search(r"\.(csv|tsv|tab)(\.gz)?$", path.name, re.I):
        return "table"
    raise DataError(f"{path} is not of a kind that can be asked.", "Give a CSV, TSV, Parquet or SQLite file.")


def _magic(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(16)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}", "Check the file.") from error


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _columns(
    table: str, typed: Sequence[tuple[str, str]], ask: Callable[[str], list[Row]], dates: bool = True
) -> tuple[Column, ...]:
    """The columns with their kinds and values. Without `dates` the type says nothing of what a date is written like."""
    columns = []
    for name, type_name in typed:
        kind: Kind = next((kind for pattern, kind in _KINDS if re.match(pattern, type_name.upper())), "other")
        if kind == "date" and not dates:
            kind = "text"
        columns.append(_with_values(table, name, ask) if kind == "text" else Column(name, kind))
    return tuple(columns)


def _with_values(table: str, name: str, ask: Callable[[str], list[Row]]) -> Column:
    column, rows = _quoted(name), f"(SELECT {_quoted(name)} FROM {_quoted(table)} LIMIT {LOOKED_AT}) AS looked_at"
    try:
        found = ask(f"SELECT DISTINCT {column} FROM {rows} WHERE {column} IS NOT NULL LIMIT {MOST_VALUES + 1}")
    except DataError:  # a table too large or too odd to look at can still be asked
        return Column(name, "text")
    values = [value for (value,) in found if isinstance(value, str) and value.strip()]
    if values and len(values) == len(found) and all(map(_ISO_DATE.match, values)):
        return Column(name, "date")
    few = len(found) <= MOST_VALUES
    return Column(name, "text", tuple(sorted(each for each in values if few and len(each) <= LONGEST_VALUE)))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _too_long() -> DataError:
    return DataError(f"The query took longer than {SECONDS} seconds and was stopped.", "Ask for less.")


def _failed(error: BaseException) -> DataError:
    return DataError(f"The query failed: {_first_line(error)}", "Check the names of tables and columns.")


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
