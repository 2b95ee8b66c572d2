"""One interface to both databases, so that statements are written once. The placeholder for values is "?"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from turnwise import sqlite

if TYPE_CHECKING:
    from turnwise import postgres

Row = dict[str, Any]
Do = Callable[..., "Done"]  # a statement and its values, in a transaction


class Done(Protocol):
    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...


class Sql(Protocol):
    """A database with the tables of a store."""

    def rows(self, statement: str, *values: Any) -> list[Row]: ...

    def write(self, lock: str = "") -> AbstractContextManager[Do]:
        """A transaction. Those with the same lock run one at a time."""
        ...


class OverSqlite:
    def __init__(self, database: sqlite.Database) -> None:
        self._database = database

    def rows(self, statement: str, *values: Any) -> list[Row]:
        with sqlite.reported(self._database.path):
            return [dict(row) for row in self._database.connection().execute(statement, values)]

    @contextmanager
    def write(self, lock: str = "") -> Iterator[Do]:  # noqa: ARG002  (write transactions run one at a time anyway)
        with self._database.write() as tx:
            yield lambda statement, *values: tx.execute(statement, values)


class OverPostgres:
    def __init__(self, database: postgres.Database) -> None:
        self._database = database

    def rows(self, statement: str, *values: Any) -> list[Row]:
        with self._database.connection() as connection:
            return connection.execute(_for_psycopg(statement), values).fetchall()

    @contextmanager
    def write(self, lock: str = "") -> Iterator[Do]:
        with self._database.write(lock) as tx:
            yield lambda statement, *values: tx.execute(_for_psycopg(statement), values)


def _for_psycopg(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()
