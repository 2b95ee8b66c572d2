from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.errors import LibraryDamaged, LibraryUnavailable
from turnwise.sqlite import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A database with one table, and one line in it."""
    database = Database(tmp_path / "some.db")
    database.migrate("lines", [create_lines])
    yield database
    database.close()


def create_lines(tx: sqlite3.Connection) -> None:
    tx.execute("CREATE TABLE lines (text TEXT UNIQUE)")
    tx.execute("INSERT INTO lines VALUES ('first')")


def lines(database: Database) -> list[str]:
    return [row["text"] for row in database.connection().execute("SELECT text FROM lines ORDER BY rowid")]


def test_a_write_is_seen_by_others_once_it_is_whole(database: Database) -> None:
    seen: list[list[str]] = []

    def look() -> None:
        seen.append(lines(database))

    def from_elsewhere() -> None:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    with database.write() as tx:
        tx.execute("INSERT INTO lines VALUES ('second')")
        from_elsewhere()
    from_elsewhere()
    assert seen == [["first"], ["first", "second"]]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
def test_a_write_that_breaks_leaves_nothing_behind(database: Database, fault: type[BaseException]) -> None:
    def break_off() -> None:
        with database.write() as tx:
            tx.execute("INSERT INTO lines VALUES ('second')")
            raise fault

    with pytest.raises(fault):
        break_off()
    assert lines(database) == ["first"]
    with database.write() as tx:  # and the lock is free
        tx.execute("INSERT INTO lines VALUES ('third')")
    assert lines(database) == ["first", "third"]


def test_a_broken_rule_of_the_schema_is_the_callers_to_handle(database: Database) -> None:
    with pytest.raises(sqlite3.IntegrityError), database.write() as tx:
        tx.execute("INSERT INTO lines VALUES ('first')")


def test_two_writers_never_lose_a_line(database: Database) -> None:
    def write(name: str) -> None:
        for number in range(50):
            with database.write() as tx:
                (count,) = tx.execute("SELECT count(*) FROM lines").fetchone()
                tx.execute("INSERT INTO lines VALUES (?)", (f"{name} {number} after {count}",))

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [int(line.rpartition(" ")[2]) for line in lines(database)[1:]] == list(range(1, 101))


def test_a_migration_runs_once_whoever_opens_the_file(database: Database) -> None:
    other = Database(database.path)
    other.migrate("lines", [create_lines])
    other.close()
    assert lines(database) == ["first"]


def test_a_later_migration_runs_after_those_before_it(database: Database) -> None:
    def add_second(tx: sqlite3.Connection) -> None:
        tx.execute("INSERT INTO lines VALUES ('second')")

    database.migrate("lines", [create_lines, add_second])
    database.migrate("lines", [create_lines, add_second])
    assert lines(database) == ["first", "second"]


def test_a_migration_that_fails_leaves_the_file_as_it_was(database: Database) -> None:
    def half(tx: sqlite3.Connection) -> None:
        tx.execute("INSERT INTO lines VALUES ('half')")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        database.migrate("lines", [create_lines, half])
    assert lines(database) == ["first"]


def test_processes_that_start_together_migrate_once(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from tests.test_sqlite import create_lines, lines
from turnwise.sqlite import Database
input()
database = Database(Path({str(tmp_path / "shared.db")!r}))
database.migrate("lines", [create_lines])
print(lines(database))
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )
        for _ in range(3)
    ]
    assert [process.communicate("go\n", timeout=120)[0] for process in processes] == ["['first']\n"] * 3


def test_opening_waits_for_a_process_that_is_just_creating_the_file(tmp_path: Path) -> None:
    creating = sqlite3.connect(tmp_path / "some.db", isolation_level=None, check_same_thread=False)
    creating.execute("BEGIN IMMEDIATE")
    creating.execute("CREATE TABLE lines (text TEXT)")
    created = threading.Timer(0.2, creating.execute, ("COMMIT",))
    created.start()
    database = Database(tmp_path / "some.db")
    assert lines(database) == []
    database.close()
    created.join()
    creating.close()


def test_opening_a_file_that_is_never_created_gives_up(tmp_path: Path) -> None:
    creating = sqlite3.connect(tmp_path / "some.db", isolation_level=None)
    creating.execute("BEGIN IMMEDIATE")
    creating.execute("CREATE TABLE lines (text TEXT)")
    with pytest.raises(LibraryDamaged, match="locked"):
        Database(tmp_path / "some.db", patience=0.05).connection()
    creating.close()


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "some.db").write_bytes(b"this is not a database, and long enough to be looked at" * 100)
    with pytest.raises(LibraryDamaged, match=r"some\.db is damaged") as raised:
        Database(tmp_path / "some.db").migrate("lines", [create_lines])
    assert "originals are untouched" in raised.value.hint


def test_a_file_that_cannot_be_opened_says_what_to_check(tmp_path: Path) -> None:
    with pytest.raises(LibraryDamaged, match="cannot be used") as raised:
        Database(tmp_path / "no folder" / "some.db").connection()
    assert "disk has room" in raised.value.hint


def test_a_file_that_may_only_be_read_is_not_called_damaged(database: Database) -> None:
    database.connection().execute("PRAGMA query_only = 1")
    with pytest.raises(LibraryUnavailable, match="cannot be written to") as raised, database.write() as tx:
        tx.execute("INSERT INTO lines VALUES ('second')")
    assert "you may write" in raised.value.hint


def test_a_full_disk_is_reported_and_what_was_there_stays(database: Database) -> None:
    (pages,) = database.connection().execute("PRAGMA page_count").fetchone()
    database.connection().execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LibraryDamaged, match="full") as raised, database.write() as tx:
        tx.execute("INSERT INTO lines VALUES (?)", ("long " * 10_000,))
    assert "disk has room" in raised.value.hint
    assert lines(database) == ["first"]


def test_a_lock_that_is_held_too_long_says_so(database: Database) -> None:
    other = Database(database.path)
    other.connection().execute("PRAGMA busy_timeout = 10")
    with (
        database.write(),
        pytest.raises(LibraryDamaged, match="locked") as raised,
        other.write(),
    ):
        pass
    assert raised.value.hint.startswith("Another process is writing.")
    other.close()


@pytest.mark.parametrize(("durable", "synchronous"), [(False, 1), (True, 2)])
def test_a_durable_database_waits_for_the_disk(tmp_path: Path, durable: bool, synchronous: int) -> None:
    database = Database(tmp_path / "some.db", durable)
    assert database.connection().execute("PRAGMA synchronous").fetchone()[0] == synchronous
    assert database.connection().execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    database.close()


def test_a_durable_write_waits_for_the_disk_and_the_next_one_does_not(database: Database) -> None:
    def synchronous() -> int:
        return int(database.connection().execute("PRAGMA synchronous").fetchone()[0])

    with database.write(durable=True) as tx:
        tx.execute("INSERT INTO lines VALUES ('second')")
        assert synchronous() == 2
    assert synchronous() == 1
    with pytest.raises(sqlite3.IntegrityError), database.write(durable=True) as tx:
        tx.execute("INSERT INTO lines VALUES ('second')")
    assert synchronous() == 1
    assert lines(database) == ["first", "second"]


def test_what_is_read_together_is_of_one_moment(database: Database) -> None:
    other = Database(database.path)
    with database.read():
        assert lines(database) == ["first"]
        with other.write() as tx:
            tx.execute("INSERT INTO lines VALUES ('second')")
        assert lines(database) == ["first"]
    assert lines(database) == ["first", "second"]
    other.close()


def test_the_connection_of_a_thread_that_has_ended_is_closed(database: Database) -> None:
    kept = database.connection()
    ended: list[sqlite3.Connection] = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: ended.append(database.connection()))
        thread.start()
        thread.join()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        ended[0].execute("SELECT 1")
    assert database.connection() is kept
    assert kept.execute("SELECT 1").fetchone()[0] == 1


@pytest.mark.parametrize("transaction", ["read", "write"])
def test_a_file_that_is_closed_meanwhile_is_not_called_damaged(database: Database, transaction: str) -> None:
    with (
        pytest.raises(LibraryUnavailable, match=r"some\.db was closed while it was in use") as caught,
        getattr(database, transaction)(),
    ):
        database.close()
    assert caught.value.hint
