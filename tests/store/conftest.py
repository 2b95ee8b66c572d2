"""The stores that the tests of this folder run on: a SQLite file, and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from turnwise.postgres import Database as Postgres
from turnwise.sqlite import Database as Sqlite
from turnwise.store.embedded import EmbeddedStore
from turnwise.store.postgres import PostgresStore
from turnwise.types import ConversationStore

Open = Callable[[], ConversationStore]


@pytest.fixture(params=["embedded", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the conversations are kept: a file, or the address of a database."""
    if request.param == "embedded":
        return str(tmp_path / "library.db")
    address: str = request.getfixturevalue("postgres_url")
    return address


@pytest.fixture
def open_store(place: str) -> Iterator[Open]:
    """Opens the test's store, each time with connections of its own."""
    databases: list[Sqlite | Postgres] = []

    def open_store() -> ConversationStore:
        if place.startswith("postgres:"):
            databases.append(Postgres(place))
            return PostgresStore(databases[-1])
        databases.append(Sqlite(Path(place)))
        return EmbeddedStore(databases[-1])

    yield open_store
    for database in databases:
        database.close()


@pytest.fixture
def store(open_store: Open) -> ConversationStore:
    return open_store()
