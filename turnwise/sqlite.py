"""One SQLite file, opened the same way everywhere: WAL, a connection per thread, writes that take the lock at once."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from turnwise.errors import LibraryDamaged, LibraryUnavailable

Migration = Callable[[sqlite3.Connection], None]


class Database:
    """A SQLite file shared by threads and processes."""

    def __init__(self, path: Path, durable: bool = False, patience: float = 30.0) -> None:
        self.path = path
        self._patience = patience  # seconds to wait for a lock
        self._durable = durable
        self._local = threading.local()
        self._opened: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._opening = threading.Lock()

    def connection(self) -> sqlite3.Connection:
        """This thread's connection; reads on it see every committed write."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            with reported(self.path):
                found = sqlite3.connect(
                    self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
                )
                found.row_factory = sqlite3.Row
                self._use_wal(found)
                found.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
                found.execute("PRAGMA foreign_keys = ON")
                found.create_function("holds", 2, _holds, deterministic=True)
            self._local.connection = found
            self._keep(found)
        return found

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch the file to WAL. While another process creates it, SQLite refuses that at once instead of waiting."""
        given_up = time.monotonic() + self._patience
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > given_up:
                    raise
            time.sleep(0.01)

    def _keep(self, connection: sqlite3.Connection) -> None:
        """Remember the connection of this thread to close it later, and close those of threads that have ended: a
        server that starts new threads for years would run out of files."""
        with self._opening:
            ended = [each for each in self._opened if not each[0].is_alive()]
            self._opened = [each for each in self._opened if each not in ended]
            self._opened.append((threading.current_thread(), connection))
        for _, each in ended:
            each.close()

    @contextmanager
    def write(self, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its first statement, so that nothing read in it can go stale. If
        `durable`, it and everything written before it are on disk at its end, even if the power fails."""
        connection = self.connection()
        with reported(self.path):
            if durable:
                connection.execute("PRAGMA synchronous = FULL")
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:  # a full disk makes SQLite roll back by itself
                        connection.execute("ROLLBACK")
                    raise
            finally:
                if durable and not self._durable:
                    connection.execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A transaction in which all reads see the same state, whatever others write meanwhile."""
        connection = self.connection()
        with reported(self.path):
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:  # a broken disk makes SQLite roll back by itself
                    connection.execute("COMMIT")

    def migrate(self, part: str, migrations: Sequence[Migration]) -> None:
        """Run the migrations of one part that this file has not seen, in order, once across processes."""
        with reported(self.path):
            self.connection().execute(
                "CREATE TABLE IF NOT EXISTS migrations (part TEXT, name TEXT, PRIMARY KEY (part, name))"
            )
        with self.write() as tx:
            done = {row["name"] for row in tx.execute("SELECT name FROM migrations WHERE part = ?", (part,))}
            for migration in migrations:
                if migration.__name__ not in done:
                    migration(tx)
                    tx.execute("INSERT INTO migrations VALUES (?, ?)", (part, migration.__name__))

    def close(self) -> None:
        with self._opening:
            opened, self._opened = self._opened, []
        for _, connection in opened:
            connection.close()
        self._local = threading.local()


def _holds(text: str | None, word: str) -> bool:
    """Whether a text contains a lower-case word, in any script. SQLite itself only folds the case of ASCII letters."""
    return text is not None and word in text.lower()


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Raise the errors of SQLite as our own, with the name of the file and a hint."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.ProgrammingError as error:
        if "closed" not in str(error):
            raise
        raise LibraryUnavailable(f"{path} was closed while it was in use.", "Open it and try again.") from error
    except sqlite3.OperationalError as error:
        text = str(error)
        hint = "Check that the file exists, that you may write to it, and that the disk has room."
        if "locked" in text:
            hint = "Another process is writing. Wait for it, or stop it, and try again."
        if "readonly" in text or ("unable to open" in text and path.exists() and not os.access(path.parent, os.W_OK)):
            raise LibraryUnavailable(
                f"{path} cannot be written to, which reading it needs too.",
                "Check that you may write to the file and to its folder, or use a copy of the folder.",
            ) from error
        raise LibraryDamaged(f"{path} cannot be used: {text}", hint) from error
    except sqlite3.DatabaseError as error:
        raise LibraryDamaged(
            f"{path} is damaged: {error}", "Move it away and add your documents again; the originals are untouched."
        ) from error
