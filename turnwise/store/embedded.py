"""Conversations in the SQLite file of the library. Safe for several threads and processes."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from typing import Any

from turnwise.errors import NotText
from turnwise.sqlite import Database
from turnwise.store import chores, keys, profiles, requests
from turnwise.store.answering import Answering
from turnwise.store.owner import at_work, this_process
from turnwise.store.rows import full_id
from turnwise.store.sql import Do, OverSqlite


class EmbeddedStore(Answering):
    """A store in a SQLite file. What was acknowledged is on disk."""

    _key, _of, _order = "id", "conversation_id", "rowid"
    _within = (
        "conversations.collections IS NOT NULL AND NOT EXISTS (SELECT 1 FROM json_each(conversations.collections)"
        " WHERE value NOT IN (SELECT value FROM json_each(?)))"
    )
    _short = "{}"
    _last = "SELECT number, status, owner FROM turns WHERE conversation_id = ? ORDER BY number DESC LIMIT 1"

    def __init__(self, database: Database) -> None:
        super().__init__(OverSqlite(database))
        database.migrate("store", MIGRATIONS)

    def _place(self, conversation_id: str) -> str:
        return full_id(self._tenant, conversation_id)

    def _is_held(self, turn: Mapping[str, Any]) -> bool:
        return at_work(turn["owner"])

    def _take(self, do: Do, place: Any, number: int, prompt: str, now: float) -> None:
        do(
            "INSERT INTO turns (conversation_id, number, prompt, status, created_at, owner)"
            " VALUES (?, ?, ?, 'pending', ?, ?)",
            *(place, number, prompt, now, self._owner()),
        )

    def _owner(self) -> str:
        return this_process()

    def _storable_answer(self, text: str) -> str:
        self._check_text(text)
        return text

    def _holds(self, column: str, word: str) -> tuple[str, tuple[str, ...]]:
        """LIKE folds the case of ASCII letters only. For other words it finds candidates, which `holds` then checks."""
        escaped = re.sub("([!%_])", r"!\1", word)
        like = f"{column} LIKE ? ESCAPE '!'"
        if word.isascii():
            return like, (f"%{escaped}%",)
        return f"({like} AND holds({column}, ?))", (f"%{re.sub('[^ -~]+', '%', escaped)}%", word)

    def _check_text(self, *texts: str) -> None:
        try:
            "".join(texts).encode()
        except UnicodeEncodeError as error:
            raise NotText(
                "The text holds half of a character (a lone surrogate).", "Send it as valid Unicode."
            ) from error


def create_conversations(tx: sqlite3.Connection) -> None:
    tx.execute("CREATE TABLE conversations (id TEXT PRIMARY KEY, title TEXT, created_at REAL, last_activity REAL)")
    tx.execute("CREATE INDEX conversations_by_activity ON conversations (last_activity)")
    # The record comes last, so that SQLite reads the other columns without walking through its pages.
    tx.execute(
        "CREATE TABLE turns ("
        " conversation_id TEXT REFERENCES conversations (id), number INTEGER, prompt TEXT, response TEXT, status TEXT,"
        " created_at REAL, answered_at REAL, owner TEXT, sources TEXT, error TEXT, record TEXT,"
        " PRIMARY KEY (conversation_id, number))"
    )


def keep_what_was_shown(tx: sqlite3.Connection) -> None:
    tx.execute("ALTER TABLE turns ADD COLUMN shown TEXT")


def serve_many(tx: sqlite3.Connection) -> None:
    """Conversations of tenants and users, with branches; feedback and facts of turns in a table of their own."""
    for column in (
        "tenant TEXT NOT NULL DEFAULT ''",
        "user_id TEXT NOT NULL DEFAULT ''",
        "ancestors TEXT",
        "metadata TEXT",
    ):
        tx.execute(f"ALTER TABLE conversations ADD COLUMN {column}")
    tx.execute("DROP INDEX conversations_by_activity")
    tx.execute("CREATE INDEX conversations_by_activity ON conversations (tenant, last_activity)")
    tx.execute("CREATE INDEX turns_by_time ON turns (created_at, conversation_id, number)")
    tx.execute(
        "CREATE TABLE turn_facts (conversation_id TEXT, number INTEGER, copied INTEGER NOT NULL DEFAULT 0,"
        " feedback TEXT, metadata TEXT, facts TEXT, PRIMARY KEY (conversation_id, number),"
        " FOREIGN KEY (conversation_id, number) REFERENCES turns ON DELETE CASCADE) WITHOUT ROWID"
    )
    for statement in (keys.TABLE, requests.TABLE, requests.BY_TIME, profiles.TABLE):
        tx.execute(statement)


def note_collections(tx: sqlite3.Connection) -> None:
    """Which collections the turns of a conversation could draw on. NULL means all, as for existing conversations."""
    tx.execute("ALTER TABLE conversations ADD COLUMN collections TEXT")


def mark_each(tx: sqlite3.Connection) -> None:
    """A mark that tells a conversation from an earlier one with the same id."""
    tx.execute("ALTER TABLE conversations ADD COLUMN mark TEXT")


def share_chores(tx: sqlite3.Connection) -> None:
    tx.execute(chores.TABLE)


def list_parts(tx: sqlite3.Connection) -> None:
    """List the conversations of a user, and those that draw on some collections, without reading the others."""
    tx.execute("CREATE INDEX conversations_of_user ON conversations (tenant, user_id, last_activity)")
    tx.execute(
        "CREATE INDEX conversations_by_collections ON conversations (tenant, collections, last_activity)"
        " WHERE collections IS NOT NULL"
    )


MIGRATIONS = (
    create_conversations,
    keep_what_was_shown,
    serve_many,
    note_collections,
    mark_each,
    share_chores,
    list_parts,
)
