"""The database beneath: connections, transactions, migrations, and what is said when the server is not well."""

from __future__ import annotations

import builtins
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.services import PASSWORD, PostgresServer
from turnwise import postgres
from turnwise.errors import ConfigError, LibraryError, LibraryUnavailable
from turnwise.postgres import MOST_CONNECTIONS, Database, name_of

if TYPE_CHECKING:
    from turnwise.postgres import Connection


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    """A database with one table, and one line in it."""
    database = Database(postgres_url)
    database.migrate("lines", [create_lines])
    yield database
    database.close()


def create_lines(tx: Connection) -> None:
    tx.execute("CREATE TABLE lines (text text UNIQUE)")
    tx.execute("INSERT INTO lines VALUES ('first')")


def lines(database: Database) -> list[str]:
    return [row["text"] for row in database.rows("SELECT text FROM lines ORDER BY text")]


# --- writing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
def test_a_write_that_breaks_leaves_nothing_behind(database: Database, fault: type[BaseException]) -> None:
    def break_off() -> None:
        with database.write(lock="lines") as tx:
            tx.execute("INSERT INTO lines VALUES ('second')")
            assert lines(database) == ["first"], "others see it once it is whole"
            raise fault

    with pytest.raises(fault):
        break_off()
    assert lines(database) == ["first"]
    with database.write(lock="lines") as tx:  # and the lock is free
        tx.execute("INSERT INTO lines VALUES ('third')")
    assert lines(database) == ["first", "third"]


def test_writers_with_a_lock_take_turns(database: Database, postgres_url: str) -> None:
    other = Database(postgres_url)

    def write(of: Database) -> None:
        for _ in range(20):
            with of.write(lock="lines") as tx:
                row = tx.execute("SELECT count(*) AS count FROM lines").fetchone()
                assert row is not None
                tx.execute("INSERT INTO lines VALUES (%s)", (f"after {row['count']:02}",))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, (database, other)))
    other.close()
    assert lines(database) == [*(f"after {count:02}" for count in range(1, 41)), "first"]


def test_more_threads_than_connections_wait_for_one(database: Database) -> None:
    together = threading.Barrier(MOST_CONNECTIONS)

    def use(number: int) -> None:
        with database.connection() as connection:
            if number < MOST_CONNECTIONS:
                together.wait(30)  # all are in use at once
            connection.execute("SELECT 1")

    with ThreadPoolExecutor(3 * MOST_CONNECTIONS) as pool:
        list(pool.map(use, range(3 * MOST_CONNECTIONS)))


def test_a_broken_rule_is_reported(database: Database) -> None:
    with pytest.raises(LibraryError, match="refused: duplicate key"), database.write() as tx:
        tx.execute("INSERT INTO lines VALUES ('first')")
    assert lines(database) == ["first"]


# --- migrations ---------------------------------------------------------------------------------------------------


def test_a_later_migration_runs_once_after_those_before_it(database: Database) -> None:
    def add_second(tx: Connection) -> None:
        tx.execute("INSERT INTO lines VALUES ('second')")

    database.migrate("lines", [create_lines, add_second])
    database.migrate("lines", [create_lines, add_second])
    assert lines(database) == ["first", "second"]


def test_a_migration_that_fails_leaves_the_database_as_it_was(database: Database) -> None:
    def half(tx: Connection) -> None:
        tx.execute("INSERT INTO lines VALUES ('half')")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        database.migrate("lines", [create_lines, half])
    assert lines(database) == ["first"]


def test_processes_that_start_together_migrate_once(postgres_url: str) -> None:
    code = f"""
from tests.test_postgres import create_lines, lines
from turnwise.postgres import Database
input()
database = Database({postgres_url!r})
database.migrate("lines", [create_lines])
print(lines(database))
"""
    command = [sys.executable, "-c", code]
    root = Path(__file__).parents[1]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(3)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate(timeout=60)[0] for process in processes] == ["['first']\n"] * 3


# --- a server that is not well ------------------------------------------------------------------------------------


def test_after_a_restart_of_the_server_the_next_call_works(database: Database, postgres_server: PostgresServer) -> None:
    def cut_off() -> None:
        with database.write() as tx:
            tx.execute("INSERT INTO lines VALUES ('second')")
            postgres_server.stop()
            tx.execute("INSERT INTO lines VALUES ('third')")

    with database.connection():  # two are at hand
        lines(database)
    try:
        with pytest.raises(LibraryUnavailable, match="cannot be used"):
            cut_off()
        with pytest.raises(LibraryUnavailable, match="refused") as raised:
            lines(database)
        assert raised.value.hint == "Start the server, or check the address in `database`."
        assert raised.value.status == 503
    finally:
        postgres_server.start()
    assert lines(database) == ["first"]
    postgres_server.stop()
    postgres_server.start()
    assert lines(database) == ["first"], "no connection was in use: nobody notices"


@pytest.mark.parametrize(
    ("change", "said", "hint"),
    [
        ((PASSWORD.replace(" ", "%20"), "wrong"), "password authentication failed", "the password in `database`"),
        (("//postgres:", "//nobody:"), "nobody", "Check the user"),
        (("/tests", "/nowhere"), 'database "nowhere" does not exist', "createdb"),
    ],
)
def test_what_is_wrong_is_said_without_the_password(
    postgres_url: str, change: tuple[str, str], said: str, hint: str
) -> None:
    database = Database(postgres_url.replace(*change))
    with pytest.raises(LibraryUnavailable) as raised:
        database.rows("SELECT 1")
    assert said in str(raised.value)
    assert hint in raised.value.hint
    assert PASSWORD not in str(raised.value)
    database.close()


@pytest.mark.parametrize("address", ["mysql://x/y", "library", "postgres://[::1", "postgres://h/d?nonsense=1"])
def test_what_is_no_address_is_a_setting_to_change(address: str) -> None:
    with pytest.raises(ConfigError, match="not the address of a PostgreSQL database") as raised:
        Database(address).rows("SELECT 1")
    assert "postgres://USER:PASSWORD@HOST/DATABASE" in raised.value.hint


def test_the_name_of_a_database_has_no_password() -> None:
    assert name_of("postgres://me:secret@db.example:5433/books") == "PostgreSQL at db.example:5433/books"
    assert name_of("postgresql:///books") == "PostgreSQL at this machine/books"


def test_without_the_driver_we_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("psycopg"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(LibraryError, match="driver") as raised:
        postgres.Database("postgres://localhost/x")
    assert raised.value.hint == 'pip install "turnwise[postgres]"'


def test_a_user_who_may_not_make_tables_is_told_so(postgres_server: PostgresServer, postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    database = Database(postgres_server.url("tests", "guest").replace("//postgres:", "//guest:"))
    with pytest.raises(LibraryError, match="does not permit it") as raised:
        database.migrate("lines", [create_lines])
    assert "grant CREATE" in raised.value.hint
    owner = Database(postgres_url)
    owner.migrate("lines", [create_lines])
    with owner.write() as tx:
        tx.execute("GRANT USAGE ON SCHEMA turnwise TO guest")
        tx.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA turnwise TO guest")
    owner.close()
    database.migrate("lines", [create_lines])
    assert lines(database) == ["first"], "who may read and write can use what is there"
    database.close()
