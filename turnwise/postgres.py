"""One PostgreSQL database, shared by threads, processes and machines: connections, transactions and migrations.

The driver comes with `pip install "turnwise[postgres]"` and is imported when a database is opened.
"""

from __future__ import annotations

import re
import select
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, LiteralString
from urllib.parse import urlsplit

from turnwise.errors import ConfigError, LibraryError, LibraryUnavailable, first_line

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[dict[str, Any]]
    Migration = Callable[[Connection], None]

SCHEMA = "turnwise"  # all our tables are in it, separate from those of others
MOST_CONNECTIONS = 10  # per process
CONNECT_SECONDS = 5  # to reach the server; six times as long for a free connection
LOCK_CLASS = 0x7477  # the class of our advisory locks


class Database:
    """A PostgreSQL database. Connections are opened when needed, and kept; a dead one is replaced."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = name_of(url)
        self.closed = threading.Event()
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._driver = _driver()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection for this block, which sees every committed write. Database errors are raised as our own."""
        if not self._room.acquire(timeout=6 * CONNECT_SECONDS):
            raise LibraryUnavailable(
                f"All {MOST_CONNECTIONS} connections to {self.name} are in use.", "Try again in a moment."
            )
        try:
            with self._translate_errors():
                connection = self._take()
                try:
                    yield connection
                finally:
                    self._give_back(connection)
        finally:
            self._room.release()

    @contextmanager
    def write(self, lock: str = "") -> Iterator[Connection]:
        """A transaction. Transactions with the same `lock` run one at a time, across machines."""
        with self.connection() as connection, connection.transaction():
            if lock:
                connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (LOCK_CLASS, lock))
            yield connection

    def rows(self, statement: LiteralString, *values: Any) -> list[dict[str, Any]]:
        with self.connection() as connection:
            return connection.execute(statement, values).fetchall()

    def has_tables(self) -> bool:
        """Whether there is a library in this database."""
        with self.connection() as connection:
            return _has_library(connection)

    def migrate(self, part: str, migrations: Sequence[Migration]) -> None:
        """Run the migrations of one part that this database has not seen, in order, once across machines."""
        with self.write(lock="migrations") as tx:
            if not _has_library(tx):  # a role that can only read and write can use an existing library
                tx.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                tx.execute("CREATE TABLE migrations (part text, name text, PRIMARY KEY (part, name))")
            done = {row["name"] for row in tx.execute("SELECT name FROM migrations WHERE part = %s", (part,))}
            for migration in migrations:
                if migration.__name__ not in done:
                    migration(tx)
                    tx.execute("INSERT INTO migrations VALUES (%s, %s)", (part, migration.__name__))

    def close(self) -> None:
        self.closed.set()
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> Connection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect()
            if _is_usable(connection):
                return connection
            connection.close()

    def _give_back(self, connection: Connection) -> None:
        idle = self._driver.pq.TransactionStatus.IDLE
        if connection.closed or connection.info.transaction_status != idle or self.closed.is_set():
            connection.close()
            return
        with self._lock:
            self._idle.append(connection)

    def _connect(self) -> Connection:
        try:
            given = self._driver.conninfo.conninfo_to_dict(self.url)
        except self._driver.ProgrammingError as error:
            raise _not_an_address(self.name) from error
        options = f"{given.get('options') or ''} -c search_path={SCHEMA},public -c client_min_messages=warning"
        defaults = {"connect_timeout": CONNECT_SECONDS, "keepalives_idle": 30, "tcp_user_timeout": 30_000}
        parameters: dict[str, Any] = {"application_name": "turnwise", **defaults, **given, "options": options}
        made: Connection = self._driver.connect(**parameters, autocommit=True, row_factory=self._driver.rows.dict_row)
        return made

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise the errors of PostgreSQL as our own, with the name of the database and a hint."""
        try:
            yield
        except (self._driver.OperationalError, self._driver.InterfaceError) as error:
            text = " ".join(str(error).split()) or type(error).__name__
            raise LibraryUnavailable(f"{self.name} cannot be used: {text}", _hint(text)) from error
        except self._driver.errors.InsufficientPrivilege as error:
            raise LibraryError(
                f"{self.name} does not permit it: {first_line(error)}",
                "Use the owner of the database, or let them grant CREATE on the database to this user.",
            ) from error
        except self._driver.Error as error:
            raise LibraryError(
                f"{self.name} refused: {first_line(error)}",
                "Check that no other program writes to the schema `turnwise`.",
            ) from error


def _driver() -> Any:
    try:
        import psycopg
        import psycopg.conninfo
        import psycopg.rows
    except ImportError as error:
        raise LibraryError(
            "A library in PostgreSQL needs its driver, which is not installed.", 'pip install "turnwise[postgres]"'
        ) from error
    return psycopg


def _has_library(connection: Connection) -> bool:
    row = connection.execute("SELECT to_regclass(%s) IS NOT NULL AS begun", (f"{SCHEMA}.migrations",)).fetchone()
    return bool(row and row["begun"])


def _is_usable(connection: Connection) -> bool:
    """Whether nothing arrived while it was idle: the only thing a server sends unasked is that it is shutting down."""
    if connection.closed:
        return False
    arrivals = select.poll()
    arrivals.register(connection.fileno(), select.POLLIN)
    return not arrivals.poll(0)


def name_of(url: str) -> str:
    """The address without the password, for messages."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError as error:
        raise _not_an_address("That") from error
    if parts.scheme not in ("postgres", "postgresql"):
        raise _not_an_address(f"{parts.scheme}:…" if parts.scheme else "That")
    return f"PostgreSQL at {host or 'this machine'}{parts.path}"


def _not_an_address(what: str) -> ConfigError:
    return ConfigError(
        f"{what} is not the address of a PostgreSQL database.",
        "Write it (--to, --database or TURNWISE_DATABASE) as postgres://USER:PASSWORD@HOST/DATABASE, such as"
        " postgres://ann:secret@localhost/turnwise.",
    )


_HINTS = (
    (r"password|authentication|role \".*\" does not exist", "Check the user and the password in `database`."),
    (r"database \".*\" does not exist", "Create it: createdb -h HOST -U USER DATABASE"),
    (r"too many|remaining connection slots", "Raise max_connections of the server, or run fewer processes."),
    (r"administrator command|closed the connection|terminating|is lost", "The server was restarted. Try again."),
    (r"deadlock|serialize|(statement|lock) timeout", "Try again."),
    (r"starting up|recovery", "The server is starting. Try again in a moment."),
    (r"No space left|disk full", "Free some room on the disk of the server."),
    (r"", "Start the server, or check the address in `database`."),
)  # fmt: skip


def _hint(text: str) -> str:
    return next(hint for pattern, hint in _HINTS if re.search(pattern, text, re.I))
