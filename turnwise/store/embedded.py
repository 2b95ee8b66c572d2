"""Conversations in the library's own SQLite file, safe for several threads and processes at once."""

from __future__ import annotations

import dataclasses
import sqlite3
import time
from collections.abc import Iterable
from typing import Any

from turnwise.conversation import Conversation, TurnStatus
from turnwise.errors import ConversationBusy, ConversationError, ConversationNotFound, LibraryError, NotText
from turnwise.sqlite import Database, reported
from turnwise.store.owner import at_work, this_process
from turnwise.store.rows import dump, dump_shown, title, to_turn
from turnwise.types import Source


class EmbeddedStore:
    """Keeps each conversation as numbered turns. What it acknowledged is on disk and is never overwritten."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._given_up: set[tuple[str, int]] = set()  # turns whose end could not be written, as on a full disk
        database.migrate("store", [create_conversations, keep_what_was_shown])

    def accept(self, conversation_id: str, prompt: str) -> Conversation:
        """Append the prompt as a pending turn, the last of the conversation that comes back (without records).

        Raises ConversationBusy while another message of the conversation is being answered.
        """
        _check_text(conversation_id, prompt)
        with self._database.write() as tx:
            now = time.time()
            last = _last_turn(tx, conversation_id)
            if last is None:
                tx.execute(
                    "INSERT INTO conversations (id, title, created_at, last_activity) VALUES (?, ?, ?, ?)",
                    (conversation_id, title(prompt), now, now),
                )
            elif last["status"] == "pending":
                if at_work(last["owner"]) and (conversation_id, last["number"]) not in self._given_up:
                    raise ConversationBusy(
                        "Another message of this conversation is being answered.",
                        "Wait for its answer, then ask again.",
                    )
                _interrupt(tx, conversation_id, last["owner"])
            tx.execute(
                "INSERT INTO turns (conversation_id, number, prompt, status, created_at, owner)"
                " VALUES (?, ?, ?, 'pending', ?, ?)",
                (conversation_id, last["number"] + 1 if last else 1, prompt, now, this_process()),
            )
            _touch(tx, conversation_id, now)
        # Read outside the lock: until this turn ends, nobody else can add to the conversation.
        return self._load(conversation_id, with_records=False)

    def finish(
        self,
        conversation_id: str,
        number: int,
        status: TurnStatus,
        response: str | None = None,
        sources: Iterable[Source] = (),
        record: dict[str, Any] | None = None,
        error: dict[str, Any] | None = None,
        shown: Iterable[Source] = (),
        note: str = "",
    ) -> None:
        """End a pending turn. Raises ConversationError where it is not, or no longer, pending."""
        _check_text(response or "")
        cited = [dataclasses.asdict(source) for source in sources]
        try:
            with self._database.write() as tx:
                now = time.time()
                ended = tx.execute(
                    "UPDATE turns SET status = ?, response = ?, answered_at = ?, sources = ?, record = ?, error = ?,"
                    " shown = ? WHERE conversation_id = ? AND number = ? AND status = 'pending'",
                    (
                        *(status, response, now, dump(cited), dump(record), dump(error), dump_shown(shown, note)),
                        *(conversation_id, number),
                    ),
                )
                _touch(tx, conversation_id, now)
        except LibraryError:
            self._given_up.add((conversation_id, number))
            raise
        self._given_up.discard((conversation_id, number))
        if ended.rowcount == 0:
            raise ConversationError(
                f"Turn {number} of conversation {conversation_id!r} is not waiting for an answer.",
                "It was finished before, or given up as interrupted; read the conversation to see which.",
            )

    def conversation(self, conversation_id: str) -> Conversation:
        """The conversation with the records of its turns; a turn whose process died is there as interrupted."""
        _check_text(conversation_id)
        with reported(self._database.path):
            last = _last_turn(self._database.connection(), conversation_id)
        if last is None:
            raise ConversationNotFound(
                f"There is no conversation {conversation_id!r}.", "Check its id, or start a new one."
            )
        if last["status"] == "pending" and not at_work(last["owner"]):
            with self._database.write() as tx:
                _interrupt(tx, conversation_id, last["owner"])
        return self._load(conversation_id, with_records=True)

    def conversations(self, limit: int = 100) -> list[dict[str, Any]]:
        """The id, title, number of turns, created_at and last_activity of each, the most recently active first."""
        with reported(self._database.path):
            rows = self._database.connection().execute(
                "SELECT id, title, created_at, last_activity,"
                " (SELECT count(*) FROM turns WHERE conversation_id = id) AS turns"
                " FROM conversations ORDER BY last_activity DESC, rowid DESC LIMIT ?",
                (limit,),
            )
            return [dict(row) for row in rows]

    def _load(self, conversation_id: str, with_records: bool) -> Conversation:
        with reported(self._database.path):
            connection = self._database.connection()
            found = connection.execute("SELECT * FROM conversations WHERE id = ?", (conversation_id,)).fetchone()
            rows = connection.execute(
                "SELECT number, prompt, response, status, created_at, sources, error, shown,"
                f" {'record' if with_records else 'NULL AS record'}"
                " FROM turns WHERE conversation_id = ? ORDER BY number",
                (conversation_id,),
            )
            turns = map(to_turn, rows)
            return Conversation(
                conversation_id, turns=turns, created_at=found["created_at"], last_activity=found["last_activity"]
            )


def create_conversations(tx: sqlite3.Connection) -> None:
    tx.execute("CREATE TABLE conversations (id TEXT PRIMARY KEY, title TEXT, created_at REAL, last_activity REAL)")
    tx.execute("CREATE INDEX conversations_by_activity ON conversations (last_activity)")
    # The record stands last: SQLite then reads the other columns without walking through its pages.
    tx.execute(
        "CREATE TABLE turns ("
        " conversation_id TEXT REFERENCES conversations (id), number INTEGER, prompt TEXT, response TEXT, status TEXT,"
        " created_at REAL, answered_at REAL, owner TEXT, sources TEXT, error TEXT, record TEXT,"
        " PRIMARY KEY (conversation_id, number))"
    )


def keep_what_was_shown(tx: sqlite3.Connection) -> None:
    tx.execute("ALTER TABLE turns ADD COLUMN shown TEXT")


def _last_turn(connection: sqlite3.Connection, conversation_id: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = connection.execute(
        "SELECT number, status, owner FROM turns WHERE conversation_id = ? ORDER BY number DESC LIMIT 1",
        (conversation_id,),
    ).fetchone()
    return row


def _interrupt(tx: sqlite3.Connection, conversation_id: str, owner: str) -> None:
    error = ConversationError("The program stopped before this message was answered.", "Ask again.")
    tx.execute(
        "UPDATE turns SET status = 'interrupted', error = ?"
        " WHERE conversation_id = ? AND owner = ? AND status = 'pending'",
        (dump(error.to_dict()), conversation_id, owner),
    )


def _touch(tx: sqlite3.Connection, conversation_id: str, now: float) -> None:
    tx.execute("UPDATE conversations SET last_activity = ? WHERE id = ?", (now, conversation_id))


def _check_text(*texts: str) -> None:
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise NotText("The text holds half of a character (a lone surrogate).", "Send it as valid Unicode.") from error
