"""Conversations in PostgreSQL. Safe for several threads, processes and machines.

A process holds the turn it is answering on a lease, which it renews. If the lease has expired, or the process was on
this machine and has ended, the turn was interrupted, and the conversation can go on.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from turnwise.errors import NotText, TurnwiseError
from turnwise.postgres import Database
from turnwise.store import chores, keys, profiles, requests
from turnwise.store.answering import Answering, Work
from turnwise.store.kept import INTERRUPTED
from turnwise.store.owner import here, is_gone
from turnwise.store.rows import full_id
from turnwise.store.sql import Do, OverPostgres
from turnwise.text import storable

if TYPE_CHECKING:
    from turnwise.postgres import Connection

LEASE_SECONDS = 30.0  # after which the turn of a machine that is gone counts as interrupted
UNICODE_COLLATIONS = ("pg_c_utf8", "und-x-icu")  # that know the lower case of every script

log = logging.getLogger("turnwise.store")


class PostgresStore(Answering):
    """A store in a database. What was acknowledged is committed."""

    _key, _of, _order = "key", "conversation", "place"
    _within = "conversations.collections::jsonb <@ ?::jsonb"
    _short = "hashtextextended({}, 0)"
    _last = (
        "SELECT number, status, owner, held_until > clock_timestamp() AS held FROM turns WHERE conversation = ?"
        " ORDER BY number DESC LIMIT 1"
    )

    def __init__(self, database: Database, lease: float = LEASE_SECONDS) -> None:
        super().__init__(OverPostgres(database))
        self._database = database
        self._lease = lease
        self._leases = Leases(database, lease, self._work)
        database.migrate("store", MIGRATIONS)
        found = {row["collname"] for row in database.rows("SELECT collname FROM pg_collation")}
        self._letters = next((f' COLLATE "{name}"' for name in UNICODE_COLLATIONS if name in found), "")

    def _place(self, conversation_id: str) -> bytes:
        return key_of(full_id(self._tenant, conversation_id))

    def _lock(self, place: Any) -> str:
        return f"conversation {place.hex()}"

    def _is_held(self, turn: Mapping[str, Any]) -> bool:
        return bool(turn["held"]) and not is_gone(turn["owner"])

    def _take(self, do: Do, place: Any, number: int, prompt: str, now: float) -> None:
        do(
            "INSERT INTO turns (conversation, number, prompt, status, created_at, owner, held_until)"
            " VALUES (?, ?, ?, 'pending', ?, ?, clock_timestamp() + make_interval(secs => ?))",
            *(place, number, prompt, now, self._owner(), self._lease),
        )
        self._leases.start()

    def _owner(self) -> str:
        return here()

    def _storable_answer(self, text: str) -> str:
        return storable(text)

    def _holds(self, column: str, word: str) -> tuple[str, tuple[str, ...]]:
        letters = ' COLLATE "C"' if word.isascii() else self._letters
        return f"strpos(lower({column}{letters}), ?) > 0", (word,)

    def _check_text(self, *texts: str) -> None:
        joined = "".join(texts)
        if storable(joined) != joined:
            raise NotText(
                "The text holds a NUL or half of a character (a lone surrogate).",
                "Send it as valid Unicode without NULs.",
            )


class Leases:
    """Renews the leases of the turns being answered, until the database is closed."""

    def __init__(self, database: Database, seconds: float, work: Work) -> None:
        self._database = database
        self._seconds = seconds
        self._work = work
        self._renewing: threading.Thread | None = None

    def start(self) -> None:
        with self._work.lock:
            if self._renewing is None:
                self._renewing = threading.Thread(target=self._renew, name="leases", daemon=True)
                self._renewing.start()

    def _renew(self) -> None:
        while not self._database.closed.wait(self._seconds / 3):
            with self._work.lock:
                held = list(self._work.answering)
            if not held:
                continue
            try:
                with self._database.connection() as connection:
                    connection.cursor().executemany(
                        "UPDATE turns SET held_until = clock_timestamp() + make_interval(secs => %s)"
                        " WHERE conversation = %s AND number = %s AND status = 'pending' AND owner = %s",
                        [(self._seconds, key, number, here()) for key, number in held],
                    )
            except TurnwiseError as error:
                log.warning("The leases of %d turns could not be renewed: %s", len(held), error)


def load_conversation(database: Database, conversation: Mapping[str, Any], turns: Iterable[Mapping[str, Any]]) -> None:
    """Write the turns of a conversation of another store that are missing here, with their feedback and facts. Turns
    that are pending there are interrupted here."""
    key = key_of(conversation["id"])
    with database.write(lock=f"conversation {key.hex()}") as tx:
        tx.execute(
            "INSERT INTO conversations"
            " (key, id, title, created_at, last_activity, tenant, user_id, ancestors, metadata, collections, mark)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
            " ON CONFLICT (key) DO UPDATE SET title = excluded.title,"
            " collections = CASE WHEN conversations.collections::jsonb <@ excluded.collections::jsonb"
            " THEN excluded.collections WHEN excluded.collections::jsonb <@ conversations.collections::jsonb"
            " THEN conversations.collections END,"
            " last_activity = greatest(conversations.last_activity, excluded.last_activity)",
            (
                key,
                storable(conversation["id"]),
                storable(conversation["title"]),
                conversation["created_at"],
                conversation["last_activity"],
                conversation["tenant"],
                storable(conversation["user_id"]),
                conversation["ancestors"],
                conversation["metadata"],
                conversation["collections"],
                secrets.token_hex(8),
            ),
        )
        kept = list(turns)
        _load_turns(tx, key, kept)
        _load_facts(tx, key, [turn for turn in kept if turn["copied"] is not None])


def _load_turns(tx: Connection, key: bytes, turns: Iterable[Mapping[str, Any]]) -> None:
    tx.cursor().executemany(
        "INSERT INTO turns"
        " (conversation, number, prompt, response, status, created_at, answered_at, owner, sources, error, record,"
        " shown) VALUES (%s, %s, %s, %s, %s, %s, %s, '', %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        [
            (
                key,
                turn["number"],
                None if turn["prompt"] is None else storable(turn["prompt"]),
                None if turn["response"] is None else storable(turn["response"]),
                "interrupted" if turn["status"] == "pending" else turn["status"],
                turn["created_at"],
                turn["answered_at"],
                turn["sources"],
                INTERRUPTED if turn["status"] == "pending" else turn["error"],
                turn["record"],
                turn["shown"],
            )
            for turn in turns
        ],
    )


def _load_facts(tx: Connection, key: bytes, turns: Iterable[Mapping[str, Any]]) -> None:
    tx.cursor().executemany(
        "INSERT INTO turn_facts (conversation, number, copied, feedback, metadata, facts)"
        " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (conversation, number) DO UPDATE"
        " SET feedback = excluded.feedback, facts = excluded.facts",
        [(key, turn["number"], turn["copied"], turn["feedback"], turn["metadata"], turn["facts"]) for turn in turns],
    )


def load_keys(database: Database, kept: Iterable[Mapping[str, Any]]) -> None:
    """Write the keys of another store. A key revoked there or here is revoked."""
    columns = "id, digest, name, tenant, collections, may, created_at, expires_at, revoked_at, last_used_at, hint"
    with database.write() as tx:
        tx.cursor().executemany(
            f"INSERT INTO api_keys ({columns}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
            " ON CONFLICT (id) DO UPDATE SET revoked_at = coalesce(api_keys.revoked_at, excluded.revoked_at)",
            [tuple(row[name] for name in columns.split(", ")) for row in kept],
        )


def load_profiles(database: Database, kept: Iterable[Mapping[str, Any]]) -> None:
    """Write what another store remembers about users, unless there is something newer here."""
    with database.write() as tx:
        tx.cursor().executemany(
            "INSERT INTO profiles (name, tenant, user_id, profile, changed_at) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (name) DO UPDATE SET profile = excluded.profile, changed_at = excluded.changed_at"
            " WHERE profiles.changed_at < excluded.changed_at",
            [(row["name"], row["tenant"], storable(row["user_id"]), row["profile"], row["changed_at"]) for row in kept],
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


def serve_many(tx: Connection) -> None:
    """Conversations of tenants and users, which branch; what is said and counted of a turn, beside it."""
    tx.execute(
        "ALTER TABLE conversations ADD COLUMN tenant text NOT NULL DEFAULT '',"
        " ADD COLUMN user_id text NOT NULL DEFAULT '', ADD COLUMN ancestors text, ADD COLUMN metadata text"
    )
    tx.execute("DROP INDEX conversations_by_activity")
    tx.execute("CREATE INDEX conversations_by_activity ON conversations (tenant, last_activity)")
    tx.execute("CREATE INDEX turns_by_time ON turns (created_at, conversation, number)")
    tx.execute(
        "CREATE TABLE turn_facts (conversation bytea, number integer, copied integer NOT NULL DEFAULT 0,"
        " feedback text, metadata text, facts text, PRIMARY KEY (conversation, number),"
        " FOREIGN KEY (conversation, number) REFERENCES turns ON DELETE CASCADE)"
    )
    for statement in (keys.TABLE, requests.TABLE, requests.BY_TIME, profiles.TABLE):
        tx.execute(statement)


def note_collections(tx: Connection) -> None:
    """Which collections the turns of a conversation could draw on. NULL means all, as for existing conversations."""
    tx.execute("ALTER TABLE conversations ADD COLUMN collections text")


def mark_each(tx: Connection) -> None:
    """A mark that tells a conversation from an earlier one with the same id."""
    tx.execute("ALTER TABLE conversations ADD COLUMN mark text")


def share_chores(tx: Connection) -> None:
    tx.execute(chores.TABLE)


def list_parts(tx: Connection) -> None:
    """List the conversations of a user, and those that draw on some collections, without reading the others."""
    tx.execute(
        "CREATE INDEX conversations_of_user ON conversations"
        " (tenant, hashtextextended(user_id, 0), last_activity, place)"
    )
    tx.execute(
        "CREATE INDEX conversations_by_collections ON conversations"
        " (tenant, hashtextextended(collections, 0), last_activity, place)"
    )
    tx.execute("ANALYZE conversations")  # so that the planner knows how many there are of each


MIGRATIONS = (
    create_conversations,
    keep_what_was_shown,
    serve_many,
    note_collections,
    mark_each,
    share_chores,
    list_parts,
)


def key_of(conversation_id: str) -> bytes:
    """The key of a conversation."""
    return hashlib.sha256(conversation_id.encode("utf-8", "surrogatepass")).digest()
