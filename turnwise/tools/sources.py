"""Where attached data comes from: table files, SQLite files and database servers. All access is read-only.

Table files are copied into an in-memory database that cannot reach any other file; SQLite files and servers are opened
read-only for each query, with a timeout.
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

from turnwise.errors import DataError, first_line
from turnwise.tools.sql_guard import missing_extra, sqlglot

QUERY_TIMEOUT_SECONDS = 5
DUCKDB_MEMORY_LIMIT = "1GB"  # for table files and queries on them
MAX_CELL_BYTES = 10_000_000  # of a value that SQLite may produce
MAX_SAMPLED_ROWS = 100_000  # searched for the distinct values of a column
MAX_COLUMN_VALUES = 1000  # a column with more distinct values keeps none of them
MAX_VALUE_CHARS = 60  # longer values are not kept
MAX_ERROR_CHARS = 300  # of what a database says
CONNECT_TIMEOUT_SECONDS = 5
SERVER_RELOAD_SECONDS = 300.0  # how often the tables of a server are listed again

log = logging.getLogger(__name__)

Kind = Literal["number", "text", "date", "other"]
Row = tuple[Any, ...]

_KINDS: tuple[tuple[str, Kind], ...] = (
    (r"DATE|TIMESTAMP", "date"),
    (r"(U?(BIG|SMALL|TINY|MEDIUM|HUGE)?INT(EGER|\d)?|REAL|FLOAT|DOUBLE|NUM|DEC|MONEY|.*SERIAL)\b", "number"),
    (r"NUMERIC|DECIMAL|NUMBER", "number"),
    (r".*(CHAR|TEXT|STRING|CLOB|ENUM|UUID)|$", "text"),
)
_VERSION_COLUMN = re.compile(r"(?:.*[\W_])?version", re.I)  # of software, where 4.10 is not 4.1
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.]+([+-][\d:]+|Z)?)?$")


@dataclass(frozen=True, slots=True)
class Column:
    """A column and, if there are only a few, its distinct text values."""

    name: str
    kind: Kind
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be queried. `source` says where it comes from, without secrets."""

    name: str
    columns: tuple[Column, ...]
    title: str
    source: str
    view: bool = False


class DataSource(Protocol):
    """A database of attached tables."""

    name: str  # without secrets
    dialect: str  # sqlglot's name for it
    schema: str  # of its tables

    def stamp(self) -> object:
        """Return a value that differs whenever the data may have changed."""
        ...

    def tables(self) -> list[Table]:
        """Return the tables as they are now."""
        ...

    def rows(self, sql: str) -> tuple[list[str], list[Row]]:
        """Return the column names and the rows. Raises DataError if the query fails or takes too long."""
        ...


# --- table files --------------------------------------------------------------------------------------------------


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
        """Read the files into a new database, which is then cut off from the file system."""
        duckdb = _duckdb()
        options = {
            "memory_limit": DUCKDB_MEMORY_LIMIT,
            "threads": 2,
            "temp_directory": "",
            "python_enable_replacements": False,
        }
        connection = duckdb.connect(":memory:", config={**options, "autoload_known_extensions": False})
        titles: dict[str, Path] = {}
        for path in self.paths:
            name = _free_name(path, titles)
            try:
                _load(connection, path, name)
            except DataError as error:
                if self._connection is None and path == self.paths[-1]:  # the file being attached
                    raise
                log.warning("%s is ignored until it can be read: %s", path, error)
            else:
                titles[name] = path
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        self._connection = connection
        return [self._table(name, path) for name, path in titles.items()]

    def _table(self, name: str, path: Path) -> Table:
        described = self._connection.cursor().execute(f"DESCRIBE {quoted_name(name)}").fetchall()
        columns = _columns(name, [(row[0], row[1]) for row in described], lambda sql: self.rows(sql)[1])
        return Table(name, columns, path.name, str(path))

    def rows(self, sql: str) -> tuple[list[str], list[Row]]:
        cursor = self._connection.cursor()
        stop = threading.Timer(QUERY_TIMEOUT_SECONDS, cursor.interrupt)
        stop.start()
        try:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            found = cursor.execute(sql)
            return [each[0] for each in found.description], found.fetchall()
        except _duckdb().InterruptException as error:
            raise _timeout_error() from error
        except _duckdb().Error as error:
            raise _query_error(error) from error
        finally:
            stop.cancel()
            cursor.close()


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise missing_extra("Reading CSV and Parquet as tables needs DuckDB") from error
    return duckdb


def _load(connection: Any, path: Path, name: str) -> None:
    pattern = "".join(f"[{each}]" if each in "*?[" else each for each in str(path))  # matches only this file
    if _first_bytes(path).startswith(b"PAR1"):
        readings = ["read_parquet(?)"]
    else:
        readings = [  # column types guessed from the first rows, or else from all
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
            wrong = first_line(error)[:MAX_ERROR_CHARS]
    raise DataError(f"{path} cannot be read as a table: {wrong}", "Check the file.")


def _read_into(connection: Any, name: str, reading: str, pattern: str) -> None:
    """Load a file as a table. Version columns stay text, as written."""
    create = f"CREATE OR REPLACE TABLE {quoted_name(name)} AS SELECT * FROM "
    connection.execute(create + reading, [pattern])
    described = connection.execute(f"DESCRIBE {quoted_name(name)}").fetchall()
    versions = [
        row[0].replace("'", "''") for row in described if _VERSION_COLUMN.fullmatch(row[0]) and row[1] == "DOUBLE"
    ]
    if versions and reading.startswith("read_csv"):
        types = ", ".join(f"'{each}': 'VARCHAR'" for each in versions)
        connection.execute(f"{create}{reading[:-1]}, types = {{{types}}})", [pattern])


def _free_name(path: Path, taken: dict[str, Path]) -> str:
    """The table name for a file, not yet taken: "Sales 2023.csv" is sales_2023."""
    stem = re.sub(r"\W+", "_", path.name.partition(".")[0].lower()).strip("_") or "data"
    name = f"t_{stem}" if stem[0].isdigit() else stem
    number = 2
    while name in taken:
        name, number = f"{stem}_{number}", number + 1
    return name


# --- SQLite -------------------------------------------------------------------------------------------------------


class SQLite:
    """An SQLite file, opened for each query so that changes by others are seen."""

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
            raise _query_error(error) from error

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
                ends = time.monotonic() + QUERY_TIMEOUT_SECONDS
                connection.set_progress_handler(lambda: time.monotonic() > ends, 10_000)
                found = connection.execute(sql)
                return [each[0] for each in found.description], found.fetchall()
        except sqlite3.OperationalError as error:
            raise _timeout_error() if "interrupted" in str(error) else _query_error(error) from error
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _query_error(error) from error

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True, timeout=1, isolation_level=None)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    """SQLite's authorizer callback: only reading tables is allowed."""
    if action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ and not (first or "").lower().startswith("sqlite_"):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() != "load_extension":
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


# --- servers ------------------------------------------------------------------------------------------------------

_DIALECTS = {"postgresql": "postgres", "mariadb": "mysql", "mssql": "tsql"}
_PRELUDES = {  # statements to run before each query
    "postgresql": ["SET TRANSACTION READ ONLY", "SET LOCAL statement_timeout = '{seconds}s'"],
    "mysql": ["SET SESSION TRANSACTION READ ONLY", "SET SESSION max_execution_time = {seconds}000"],
    "mariadb": ["SET SESSION TRANSACTION READ ONLY", "SET SESSION max_statement_time = {seconds}"],
}


class Server:
    """A database server, such as postgres://USER:PASSWORD@HOST/NAME, with the tables of the default schema."""

    def __init__(self, url: str) -> None:
        alchemy = _sqlalchemy()
        try:
            address = alchemy.make_url(re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", url))
            self._secrets = [secret for secret in (url, address.password, address.query.get("password")) if secret]
            self._engine = alchemy.create_engine(
                address, poolclass=alchemy.pool.NullPool, connect_args=_connect_args(address)
            )
        except alchemy.exc.NoSuchModuleError as error:
            raise DataError("That kind of database is not known.", "Write, for example, mysql+pymysql://…") from error
        except ImportError as error:
            hint = 'pip install "turnwise[postgres]"' if url.startswith("postgres") else f"pip install {error.name}"
            raise DataError("The driver for that database is not installed.", hint) from error
        except (alchemy.exc.ArgumentError, ValueError) as error:
            raise DataError(
                "That is not the address of a database.", "Write postgres://USER:PASSWORD@HOST/NAME"
            ) from error
        backend = self._engine.dialect.name
        self.dialect = _DIALECTS.get(backend, backend)
        if backend not in _PRELUDES or sqlglot().Dialect.get(self.dialect) is None:
            raise DataError(
                f"Queries to {backend} cannot be limited to reading and to a maximum time.",
                "Export its tables to CSV or Parquet, or attach PostgreSQL, MySQL, MariaDB or an SQLite file.",
            )
        self.name = f"{backend}://{address.host or ''}/{address.database or ''}"
        self.schema = ""

    def stamp(self) -> object:
        return time.monotonic() // SERVER_RELOAD_SECONDS

    def tables(self) -> list[Table]:
        alchemy = _sqlalchemy()
        try:
            with self._engine.connect() as connection, warnings.catch_warnings():
                warnings.simplefilter("ignore", alchemy.exc.SAWarning)  # about unknown column types
                inspector = alchemy.inspect(connection)
                self.schema = inspector.default_schema_name or ""
                views = inspector.get_view_names()
                typed = {
                    name: [(each["name"], str(each["type"])) for each in inspector.get_columns(name)]
                    for name in [*inspector.get_table_names(), *views]
                }
        except alchemy.exc.SQLAlchemyError as error:
            raise self._error(error) from error

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
            with self._engine.connect() as connection:  # rolled back on exit
                for prelude in _PRELUDES.get(self._engine.dialect.name, ()):
                    connection.exec_driver_sql(prelude.format(seconds=QUERY_TIMEOUT_SECONDS))
                found = connection.execution_options(no_parameters=True).exec_driver_sql(sql)
                return list(found.keys()), [tuple(row) for row in found.fetchall()]
        except alchemy.exc.SQLAlchemyError as error:
            raise self._error(error) from error

    def _error(self, error: Exception) -> DataError:
        text = first_line(getattr(error, "orig", None) or error)[:MAX_ERROR_CHARS]
        for secret in self._secrets:
            text = text.replace(secret, "…")
        if re.search(r"timeout|max_execution_time|max_statement_time", text) and "connection" not in text:
            return _timeout_error()
        return DataError(f"{self.name}: {text}", "Check the query, the address, and that the server is running.")


def _connect_args(address: Any) -> dict[str, Any]:
    """Driver arguments: a connect timeout; for PostgreSQL also read-only and one statement at a time."""
    backend = address.get_backend_name()
    arguments: dict[str, Any] = {"connect_timeout": CONNECT_TIMEOUT_SECONDS} if backend in _PRELUDES else {}
    if address.drivername == "postgresql+psycopg":
        arguments["options"] = f"{address.query.get('options', '')} -c default_transaction_read_only=on"
        arguments["prepare_threshold"] = 0  # a prepared statement cannot be several statements
    return arguments


def _sqlalchemy() -> Any:
    try:
        import sqlalchemy
    except ImportError as error:
        raise missing_extra("Querying a database server needs SQLAlchemy") from error
    return sqlalchemy


# --- shared -------------------------------------------------------------------------------------------------------


def kind_of(path: Path) -> Literal["table", "sqlite"]:
    """The kind of data in a file. Raises DataError if it is not supported."""
    if path.is_dir():
        raise DataError(f"{path} is a folder.", "Give single files: CSV, TSV, Parquet or SQLite.")
    if not path.is_file():
        raise DataError(f"There is no file {path}.", "Give a CSV, TSV, Parquet or SQLite file, or postgres://…")
    beginning = _first_bytes(path)
    if not beginning:
        raise DataError(f"{path} is empty.", "Give a file with a header row and rows of values.")
    if beginning.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if beginning.startswith(b"PAR1") or re.search(r"\.(csv|tsv|tab)(\.gz)?$", path.name, re.I):
        return "table"
    raise DataError(f"{path} is not a kind of file that can be queried.", "Give a CSV, TSV, Parquet or SQLite file.")


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(16)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}", "Check the file.") from error


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _columns(
    table: str, typed: Sequence[tuple[str, str]], ask: Callable[[str], list[Row]], dates: bool = True
) -> tuple[Column, ...]:
    """The columns with their kinds and values. `dates`: whether a column of a date type is sure to hold ISO dates."""
    columns = []
    for name, type_name in typed:
        kind: Kind = next((kind for pattern, kind in _KINDS if re.match(pattern, type_name.upper())), "other")
        if kind == "date" and not dates:
            kind = "text"
        columns.append(_text_column(table, name, ask) if kind == "text" else Column(name, kind))
    return tuple(columns)


def _text_column(table: str, name: str, ask: Callable[[str], list[Row]]) -> Column:
    column, rows = (
        quoted_name(name),
        f"(SELECT {quoted_name(name)} FROM {quoted_name(table)} LIMIT {MAX_SAMPLED_ROWS}) AS sampled",
    )
    try:
        found = ask(f"SELECT DISTINCT {column} FROM {rows} WHERE {column} IS NOT NULL LIMIT {MAX_COLUMN_VALUES + 1}")
    except DataError:  # a table that is too large to sample can still be queried
        return Column(name, "text")
    values = [value for (value,) in found if isinstance(value, str) and value.strip()]
    if values and len(values) == len(found) and all(map(_ISO_DATE.match, values)):
        return Column(name, "date")
    few = len(found) <= MAX_COLUMN_VALUES
    return Column(name, "text", tuple(sorted(each for each in values if few and len(each) <= MAX_VALUE_CHARS)))


def quoted_name(name: str) -> str:
    """A name in SQL quotes."""
    return '"' + name.replace('"', '""') + '"'


def _timeout_error() -> DataError:
    return DataError(f"The query took longer than {QUERY_TIMEOUT_SECONDS} seconds and was stopped.", "Ask for less.")


def _query_error(error: BaseException) -> DataError:
    wrong = first_line(error)[:MAX_ERROR_CHARS]
    return DataError(f"The query failed: {wrong}", "Check the names of tables and columns.")
