"""How much a database does for a call, counted and not timed."""

from __future__ import annotations

from collections.abc import Callable

from turnwise.postgres import Database as Postgres
from turnwise.sqlite import Database as Sqlite

STEPS_A_ROW = 30  # of SQLite, about


def read_by(database: Sqlite | Postgres, work: Callable[[], object]) -> int:
    """The rows that PostgreSQL reads for some work, or SQLite, whose steps are counted, may have read."""
    if isinstance(database, Postgres):
        before = _read(database)
        work()
        return _read(database) - before
    counted: list[None] = []
    connection = database.connection()
    connection.set_progress_handler(lambda: counted.append(None) or 0, STEPS_A_ROW)
    work()
    connection.set_progress_handler(None, 0)
    return len(counted)


def settled(database: Sqlite | Postgres) -> None:
    """Let PostgreSQL know how large its tables are, as it finds out by itself in a while."""
    if isinstance(database, Postgres):
        with database.connection() as connection:
            connection.execute("VACUUM ANALYZE")


def _read(database: Postgres) -> int:
    """The entries of tables and indexes read until now."""
    with database.connection() as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        connection.execute("SELECT pg_stat_clear_snapshot()")
        row = connection.execute(
            "SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)"
            " + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes) AS read"
        ).fetchone()
    assert row is not None
    return int(row["read"])
