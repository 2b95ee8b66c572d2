"""Conversations in PostgreSQL, safe for several threads, processes and machines at once.

Who takes a turn holds it on a lease, renewed while the turn is being answered. A turn whose lease has run out, or whose
process is seen to be dead from the same machine, was interrupted, and the conversation goes on.
"""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from turnwise.conversation import Conversation, TurnStatus
from turnwise.errors import (
    ConversationBusy,
    ConversationError,
    ConversationNotFound,
    LibraryError,
    NotText,
    TurnwiseError,
)
from turnwise.postgres import Database, storable
from turnwise.store.owner import at_work, this_machine, this_process
from turnwise.store.rows import dump, dump_shown, title, to_turn
from turnwise.types import Source

if TYPE_CHECKING:
    from turnwise.postgres import Connection

LEASE = 30.0  # seconds after which the turn of a machine that is gone is free

_INTERRUPTED = dump(ConversationError("The program stopped before this message was answered.", "Ask again.").to_dict())

log = logging.getLogger("turnwise.store")


class PostgresStore:
    """Keeps each conversation as numbered turns. What it acknowledged is in the database and is never overwritten."""

    def __init__(self, database: Database, lease: float = LEASE) -> None:
        self._database = database
        self._lease = lease
        self._answering: set[tuple[str, int]] = set()  # turns whose lease is renewed
        self._given_up: set[tuple[str, int]] = set()  # turns whose end could not be written
        self._lock = threading.Lock()
        self._renewing: threading.Thread | None = None
        database.migrate("store", [create_conversations, keep_what_was_shown])

    def accept(self, conversation_id: str, prompt: str) -> Conversation:
        """Append the prompt as a pending turn, the last of the conversation that comes back (without records).

        Raises ConversationBusy while another message of the conversation is being answered.
        """
        _check_text(conversation_id, prompt)
        key = key_of(conversation_id)
        with self._database.write(lock=f"conversation {key.hex()}") as tx:
            now = time.time()
            last = _last_turn(tx, key)
            if last is None:
                tx.execute(
                    "INSERT INTO conversations (key, id, title, created_at, last_activity) VALUES (%s, %s, %s, %s, %s)",
                    (key, conversation_id, title(prompt), now, now),
                )
            elif last["status"] == "pending":
                if self._is_held(last) and (conversation_id, last["number"]) not in self._given_up:
                    raise ConversationBusy(
                        "Another message of this conversation is being answered.",
                        "Wait for its answer, then ask again.",
                    )
                _interrupt(tx, key, last["number"])
            number = last["number"] + 1 if last else 1
            tx.execute(
                "INSERT INTO turns (conversation, number, prompt, status, created_at, owner, held_until)"
                " VALUES (%s, %s, %s, 'pending', %s, %s, clock_timestamp() + make_interval(secs => %s))",
                (key, number, prompt, now, _owner(), self._lease),
            )
            _touch(tx, key, now)
        self._hold(conversation_id, number)
        try:
            # Read outside the transaction: until this turn ends, nobody else can add to the conversation.
            return self._load(conversation_id, with_records=False)
        except LibraryError:
            self._give_up(conversation_id, number)
            raise

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
        key = key_of(conversation_id)
        cited = [dataclasses.asdict(source) for source in sources]
        try:
            with self._database.write() as tx:
                now = time.time()
                ended = tx.execute(
                    "UPDATE turns SET status = %s, response = %s, answered_at = %s, sources = %s, record = %s,"
                    " error = %s, shown = %s WHERE conversation = %s AND number = %s AND status = 'pending'",
                    (
                        status,
                        None if response is None else storable(response),
                        now,
                        dump(cited),
                        dump(record),
                        dump(error),
                        dump_shown(shown, note),
                        key,
                        number,
                    ),
                )
                _touch(tx, key, now)
        except LibraryError:
            self._give_up(conversation_id, number)
            raise
        with self._lock:
            self._answering.discard((conversation_id, number))
            self._given_up.discard((conversation_id, number))
        if ended.rowcount == 0:
            raise ConversationError(
                f"Turn {number} of conversation {conversation_id!r} is not waiting for an answer.",
                "It was finished before, or given up as interrupted; read the conversation to see which.",
            )

    def conversation(self, conversation_id: str) -> Conversation:
        """The conversation with the records of its turns; a turn whose process died is there as interrupted."""
        _check_text(conversation_id)
        key = key_of(conversation_id)
        with self._database.connection() as connection:
            last = _last_turn(connection, key)
        if last is None:
            raise ConversationNotFound(
                f"There is no conversation {conversation_id!r}.", "Check its id, or start a new one."
            )
        if last["status"] == "pending" and not self._is_held(last):
            with self._database.write(lock=f"conversation {key.hex()}") as tx:
                found = _last_turn(tx, key)
                if found and found["number"] == last["number"] and not self._is_held(found):
                    _interrupt(tx, key, last["number"])
        return self._load(conversation_id, with_records=True)

    def conversations(self, limit: int = 100) -> list[dict[str, Any]]:
        """The id, title, number of turns, created_at and last_activity of each, the most recently active first."""
        return self._database.rows(
            "SELECT id, title, created_at, last_activity,"
            " (SELECT count(*) FROM turns WHERE conversation = key) AS turns"
            " FROM conversations ORDER BY last_activity DESC, place DESC LIMIT %s",
            limit,
        )

    def _load(self, conversation_id: str, with_records: bool) -> Conversation:
        key = key_of(conversation_id)
        with self._database.connection() as connection:
            found = connection.execute(
                "SELECT created_at, last_activity FROM conversations WHERE key = %s", (key,)
            ).fetchone()
            rows = connection.execute(
                "SELECT number, prompt, response, status, created_at, sources, error, shown,"
                f" {'record' if with_records else 'NULL AS record'}"
                " FROM turns WHERE conversation = %s ORDER BY number",
                (key,),
            ).fetchall()
        assert found is not None
        turns = map(to_turn, rows)
        return Conversation(
            conversation_id, turns=turns, created_at=found["created_at"], last_activity=found["last_activity"]
        )

    # --- holding turns --------------------------------------------------------------------------------------------

    def _is_held(self, turn: Mapping[str, Any]) -> bool:
        """Whether somebody is at work on a pending turn."""
        machine, _, process = turn["owner"].partition("/")
        if machine == this_machine() and not at_work(process):
            return False
        return bool(turn["held"])

    def _hold(self, conversation_id: str, number: int) -> None:
        with self._lock:
            self._answering.add((conversation_id, number))
            if self._renewing is None:
                self._renewing = threading.Thread(target=self._renew, name="leases", daemon=True)
                self._renewing.start()

    def _give_up(self, conversation_id: str, number: int) -> None:
        """Let go of a turn whose end cannot be written: here at once, elsewhere when its lease has run out."""
        with self._lock:
            self._answering.discard((conversation_id, number))
            self._given_up.add((conversation_id, number))

    def _renew(self) -> None:
        """Renew the leases of the turns being answered, until the database is closed."""
        while not self._database.closed.wait(self._lease / 3):
            with self._lock:
                held = [(key_of(conversation), number) for conversation, number in self._answering]
            if not held:
                continue
            try:
                with self._database.connection() as connection:
                    connection.cursor().executemany(
                        "UPDATE turns SET held_until = clock_timestamp() + make_interval(secs => %s)"
                        " WHERE conversation = %s AND number = %s AND status = 'pending' AND owner = %s",
                        [(self._lease, key, number, _owner()) for key, number in held],
                    )
            except TurnwiseError as error:
                log.warning("The leases of %d turns could not be renewed: %s", len(held), error)


def load_conversation(database: Database, conversation: Mapping[str, Any], turns: Iterable[Mapping[str, Any]]) -> None:
    """Write the turns of a conversation of another store that are not here. What is being answered there is here as
    interrupted."""
    key = key_of(conversation["id"])
    with database.write(lock=f"conversation {key.hex()}") as tx:
        tx.execute(
            "INSERT INTO conversations (key, id, title, created_at, last_activity) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (key) DO UPDATE"
            " SET last_activity = greatest(conversations.last_activity, excluded.last_activity)",
            (
                key,
                storable(conversation["id"]),
                storable(conversation["title"]),
                conversation["created_at"],
                conversation["last_activity"],
            ),
        )
        tx.cursor().executemany(
            "INSERT INTO turns"
            " (conversation, number, prompt, response, status, created_at, answered_at, owner, sources, error, record,"
            " shown) VALUES (%s, %s, %s, %s, %s, %s, %s, '', %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [
                (
                    key,
                    turn["number"],
                    storable(turn["prompt"]),
                    None if turn["response"] is None else storable(turn["response"]),
                    "interrupted" if turn["status"] == "pending" else turn["status"],
                    turn["created_at"],
                    turn["answered_at"],
                    turn["sources"],
                    _INTERRUPTED if turn["status"] == "pending" else turn["error"],
                    turn["record"],
                    turn["shown"],
                )
                for turn in turns
            ],
        )


def create_conversations(tx: Connection) -> None:
    # `key` is a hash of the id, for ids may be longer than an index takes.
    tx.execute(
        "CREATE TABLE conversations (key bytea PRIMARY KEY, place bigint GENERATED ALWAYS AS IDENTITY, id text,"
        " title text, created_at double precision, last_activity double precision)"
    )
    tx.execute("CREATE INDEX conversations_by_activity ON conversations (last_activity)")
    tx.execute(
        "CREATE TABLE turns (conversation bytea REFERENCES conversations (key), number integer, prompt text,"
        " response text, status text, created_at double precision, answered_at double precision, owner text,"
        " held_until timestamptz, sources text, error text, record text, PRIMARY KEY (conversation, number))"
    )


def keep_what_was_shown(tx: Connection) -> None:
    tx.execute("ALTER TABLE turns ADD COLUMN shown text")


def key_of(conversation_id: str) -> bytes:
    """The key under which a conversation is found."""
    return hashlib.sha256(conversation_id.encode("utf-8", "surrogatepass")).digest()


def _owner() -> str:
    return f"{this_machine()}/{this_process()}"


def _last_turn(connection: Connection, key: bytes) -> dict[str, Any] | None:
    return connection.execute(
        "SELECT number, status, owner, held_until > clock_timestamp() AS held FROM turns WHERE conversation = %s"
        " ORDER BY number DESC LIMIT 1",
        (key,),
    ).fetchone()


def _interrupt(tx: Connection, key: bytes, number: int) -> None:
    tx.execute(
        "UPDATE turns SET status = 'interrupted', error = %s"
        " WHERE conversation = %s AND number = %s AND status = 'pending'",
        (_INTERRUPTED, key, number),
    )


def _touch(tx: Connection, key: bytes, now: float) -> None:
    tx.execute("UPDATE conversations SET last_activity = %s WHERE key = %s", (now, key))


def _check_text(*texts: str) -> None:
    joined = "".join(texts)
    if storable(joined) != joined:
        raise NotText(
            "The text holds a NUL or half of a character (a lone surrogate).", "Send it as valid Unicode without NULs."
        )
