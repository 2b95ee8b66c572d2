"""Conversations that an earlier version kept: they are there as they were, and go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from turnwise import postgres, sqlite
from turnwise.store import embedded
from turnwise.store import postgres as in_postgres
from turnwise.types import ConversationStore, Ending

TURNS = (  # a conversation's id, the number, and the rest
    ("c", 1, "Why?", "So.", "answered", 10.0, 11.0, "1:2", "[]", None, '{"trace": []}', None),
    ("c", 2, "How?", None, "failed", 12.0, 13.0, "1:2", None, '{"code": "ModelTimeout"}', None, None),
    ("d", 1, "Öl?", "Yes.", "answered", 20.0, 21.0, "1:2", None, None, None, None),
)
COLUMNS = "number, prompt, response, status, created_at, answered_at, owner, sources, error, record, shown"


@pytest.fixture(params=["embedded", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ConversationStore]:
    """A store over a database that was made by the code of an earlier version."""
    if request.param == "embedded":
        with closing(sqlite.Database(tmp_path / "library.db")) as database:
            database.migrate("store", [embedded.create_conversations, embedded.keep_what_was_shown])
            with database.write() as tx:
                tx.execute("INSERT INTO conversations VALUES ('c', 'Old', 10.0, 13.0), ('d', 'Older', 20.0, 21.0)")
                for turn in TURNS:
                    tx.execute(f"INSERT INTO turns (conversation_id, {COLUMNS}) VALUES ({', '.join('?' * 12)})", turn)
            yield embedded.EmbeddedStore(database)
        return
    with closing(postgres.Database(request.getfixturevalue("postgres_url"))) as server:
        server.migrate("store", [in_postgres.create_conversations, in_postgres.keep_what_was_shown])
        with server.write() as connection:
            for name, title, begun, last in (("c", "Old", 10.0, 13.0), ("d", "Older", 20.0, 21.0)):
                connection.execute(
                    "INSERT INTO conversations (key, id, title, created_at, last_activity) VALUES (%s, %s, %s, %s, %s)",
                    (in_postgres.key_of(name), name, title, begun, last),
                )
            for name, *turn in TURNS:
                connection.execute(
                    f"INSERT INTO turns (conversation, {COLUMNS}) VALUES ({', '.join(['%s'] * 12)})".encode(),
                    (in_postgres.key_of(str(name)), *turn),
                )
        yield in_postgres.PostgresStore(server)


def test_old_conversations_are_there_and_go_on(old: ConversationStore) -> None:
    listed = old.conversations()
    assert listed == [
        {"id": "d", "title": "Older", "user": "", "turns": 1, "created_at": 20.0, "last_activity": 21.0},
        {"id": "c", "title": "Old", "user": "", "turns": 2, "created_at": 10.0, "last_activity": 13.0},
    ]
    assert old.of("acme").conversations() == []
    assert [entry["id"] for entry in old.conversations(search="öl")] == ["d"]
    found = old.conversation("d")
    assert (found.user_id, found.metadata) == (None, {"title": "Older", "ancestors": []})
    assert [turn.metadata for turn in found.turns] == [{}]
    counted = [(each["conversation_id"], each["number"], each["status"], each["feedback"]) for each in old.facts()]
    assert counted == [("c", 1, "answered", None), ("c", 2, "failed", None), ("d", 1, "answered", None)]
    old.rate("d", 1, {"rating": "up"})
    assert old.turn("d", 1).metadata == {"feedback": {"rating": "up"}}
    assert old.accept("d", "And now?").turns[-1].number == 2
    old.finish("d", 2, Ending("answered", "Now.", facts={"n": 1}))
    assert [each.get("n") for each in old.facts(since=30)] == [1]
    old.branch("d", 2, "e")
    old.delete("d")
    assert [entry["id"] for entry in old.conversations()] == ["e", "c"]
    assert old.keys.all() == []
