"""Copies a library from a folder to PostgreSQL: documents, passages, vectors and conversations, under the same ids.

What has been copied already is skipped, so an interrupted copy continues where it stopped. At the end both sides are
read again and compared. The folder is only read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from turnwise.app import DATABASE, build, embedder_of, library_folder
from turnwise.config import Settings
from turnwise.errors import LibraryDamaged, LibraryError
from turnwise.index.postgres import PostgresIndex
from turnwise.index.postgres_load import (
    Kept,
    begin_vectors,
    finish_vectors,
    load_documents,
    load_trusted,
    load_vectors,
    received,
    reserve_ids,
)
from turnwise.index.shared import batches
from turnwise.postgres import Database as Postgres
from turnwise.sqlite import Database as Sqlite
from turnwise.sqlite import reported
from turnwise.store.postgres import PostgresStore, load_conversation, load_keys, load_profiles
from turnwise.text import storable
from turnwise.types import Chunk, Document, DocumentInfo, Flag, Progress

DOCUMENT_BATCH = 200
VECTOR_BATCH = 2000

PASSAGE_COLUMNS = 'id, document_id, position, heading, page, start, "end", text'
TURN_COLUMNS = "prompt, response, status, created_at, answered_at, sources, error, record, shown"
TURN_FACT_COLUMNS = "copied, feedback, facts, turn_facts.metadata"
CONVERSATION_COLUMNS = "id, title, created_at, last_activity, tenant, user_id, ancestors, metadata, collections"
KEY_COLUMNS = "id, digest, name, tenant, collections, may, created_at, expires_at, hint"
Row = tuple[Any, ...]
Comparison = tuple[str, Iterable[Row], Iterable[Row]]  # name, rows in the folder, rows in the database; same order
Documents = list[tuple[DocumentInfo, str]]  # with their digests


@dataclass(frozen=True, slots=True)
class Copied:
    """What the copy contains."""

    documents: int
    passages: int
    vectors: int
    conversations: int
    turns: int
    keys: int = 0
    profiles: int = 0


def copy(settings: Settings, to: str, progress: Progress | None = None) -> Copied:
    """Copy the library in the folder of the settings to a database. Raises LibraryError if that has another library."""
    target = Postgres(to)  # first, since it checks the address
    settings = dataclasses.replace(settings, model="", base_url="", database="")
    with build(settings) as origin:
        documents = [(each, origin.index.digest(each.source) or "") for each in origin.index.documents(None)]
    source = Sqlite(library_folder(settings) / DATABASE)
    try:
        index = PostgresIndex(target, embedder_of(settings))
        PostgresStore(target)
        last_ids = {row["name"]: row["seq"] for row in _rows(source, "SELECT name, seq FROM sqlite_sequence")}
        reserve_ids(target, last_ids.get("documents", 0), last_ids.get("passages", 0))
        load_trusted(target, [row["content"] for row in _rows(source, "SELECT content FROM trusted")])
        _copy_documents(source, target, documents, progress)
        _copy_vectors(source, target, progress)
        _copy_conversations(source, target, progress)
        load_keys(target, map(dict, _rows(source, "SELECT * FROM api_keys")))
        load_profiles(target, map(dict, _rows(source, "SELECT * FROM profiles")))
        digests = {row["id"]: row["hash"] for row in target.rows("SELECT id, hash FROM documents")}
        copied = [(each, digests[each.id]) for each in index.documents(None)]
        documents_compared = ("documents", _document_rows(documents), _document_rows(copied))
        return _compare([documents_compared, *_comparisons(source, target)], progress)
    finally:
        target.close()
        source.close()


def _copy_documents(source: Sqlite, target: Postgres, documents: Documents, progress: Progress | None) -> None:
    existing = {row["id"]: row for row in target.rows("SELECT id, source, hash FROM documents")}
    names = {document.id: storable(document.source) for document, _ in documents}
    if any(names.get(number) != row["source"] for number, row in existing.items()):
        raise LibraryError(f"{target.name} has documents of another library.", "Copy to an empty database.")
    missing = [
        (document, digest)
        for document, digest in documents
        if document.id not in existing or existing[document.id]["hash"] != storable(digest)
    ]
    done = len(documents) - len(missing)
    for batch in batches(missing, DOCUMENT_BATCH):
        load_documents(target, [_read_document(source, document, digest) for document, digest in batch])
        done += len(batch)
        if progress:
            progress("copying documents", done, len(documents))


def _read_document(source: Sqlite, document: DocumentInfo, digest: str) -> Kept:
    rows = list(
        _rows(
            source, f"SELECT {PASSAGE_COLUMNS}, flag FROM passages WHERE document_id = ? ORDER BY position", document.id
        )
    )
    chunks = tuple(
        Chunk(row["text"], row["heading"], row["page"], row["start"], row["end"], Flag.read(row["flag"]))
        for row in rows
    )
    content = Document(
        document.source,
        document.title,
        digest,
        chunks,
        document.collection,
        document.tags,
        document.date,
        document.reference,
        document.hidden,
        document.tenant,
        document.attached,
    )
    return Kept(document.id, document.added_at, content, tuple((row["id"], row["position"]) for row in rows))


def _copy_vectors(source: Sqlite, target: Postgres, progress: Progress | None) -> None:
    (total,) = next(_rows(source, "SELECT count(*) FROM vectors"))
    if not total:
        return
    (embedder,) = next(_rows(source, "SELECT value FROM index_meta WHERE name = 'embedder'"))
    existing = {row["passage_id"] for row in target.rows("SELECT passage_id FROM vectors")}
    missing = (
        row
        for row in _rows(source, "SELECT passage_id, vector FROM vectors ORDER BY passage_id")
        if row["passage_id"] not in existing
    )
    done, begun = len(existing), False
    for batch in batches(missing, VECTOR_BATCH):
        if not begun:
            begin_vectors(target, embedder, len(batch[0]["vector"]) // 2)
            begun = True
        done += load_vectors(target, [(row["passage_id"], row["vector"]) for row in batch])
        if progress:
            progress("copying vectors", done, total)
    finish_vectors(target)


def _copy_conversations(source: Sqlite, target: Postgres, progress: Progress | None) -> None:
    """Copy all conversations, in the order in which they began. Those that exist already are not changed."""
    conversations = list(_rows(source, "SELECT * FROM conversations ORDER BY rowid"))
    for done, row in enumerate(conversations, 1):
        turns = _rows(
            source,
            f"SELECT number, {TURN_COLUMNS}, {TURN_FACT_COLUMNS}"
            " FROM turns LEFT JOIN turn_facts USING (conversation_id, number)"
            " WHERE conversation_id = ? ORDER BY number",
            row["id"],
        )
        load_conversation(target, dict(row), map(dict, turns))
        if progress:
            progress("copying conversations", done, len(conversations))


# --- comparing ----------------------------------------------------------------------------------------------------


def _compare(comparisons: Sequence[Comparison], progress: Progress | None) -> Copied:
    """How much was copied. Raises LibraryDamaged if the two sides differ."""
    counts: dict[str, int] = {}
    for done, (name, in_folder, in_database) in enumerate(comparisons, 1):
        (counts[name], digest), (count, other) = _digest(in_folder), _digest(in_database)
        if (counts[name], digest) != (count, other):
            raise LibraryDamaged(
                f"The copy differs: of {name} {counts[name]:,} are in the folder and {count:,} in the database"
                f"{', with different contents' if count == counts[name] else ''}.",
                "Copy again while nothing is added. If that does not help, copy to an empty database.",
            )
        if progress:
            progress("comparing", done, len(comparisons))
    return Copied(**counts)


def _comparisons(source: Sqlite, target: Postgres) -> list[Comparison]:
    queries: tuple[tuple[str, LiteralString, LiteralString], ...] = (
        (
            "passages",
            f"SELECT {PASSAGE_COLUMNS} FROM passages ORDER BY id",
            f"SELECT {PASSAGE_COLUMNS} FROM passages ORDER BY id",
        ),
        (
            "vectors",
            "SELECT passage_id, vector FROM vectors ORDER BY passage_id",
            "SELECT passage_id, vector FROM vectors ORDER BY passage_id",
        ),
        (
            "conversations",
            f"SELECT {CONVERSATION_COLUMNS} FROM conversations ORDER BY rowid",
            f"SELECT {CONVERSATION_COLUMNS} FROM conversations ORDER BY place",
        ),
        (
            "turns",
            "SELECT conversation_id, number, prompt, response, turns.created_at, sources, record, shown,"
            f" {TURN_FACT_COLUMNS}"
            " FROM turns JOIN conversations ON id = conversation_id"
            " LEFT JOIN turn_facts USING (conversation_id, number) ORDER BY conversations.rowid, number",
            f"SELECT id, number, prompt, response, turns.created_at, sources, record, shown, {TURN_FACT_COLUMNS}"
            " FROM turns JOIN conversations ON key = conversation"
            " LEFT JOIN turn_facts USING (conversation, number) ORDER BY place, number",
        ),
        (
            "keys",
            f"SELECT {KEY_COLUMNS} FROM api_keys ORDER BY created_at, id",
            f"SELECT {KEY_COLUMNS} FROM api_keys ORDER BY created_at, id",
        ),
        (
            "profiles",
            "SELECT name, tenant, user_id FROM profiles ORDER BY name",
            'SELECT name, tenant, user_id FROM profiles ORDER BY name COLLATE "C"',
        ),
    )
    return [(name, map(tuple, _rows(source, sqlite)), _stream(target, postgres)) for name, sqlite, postgres in queries]


def _document_rows(documents: Documents) -> Iterator[Row]:
    ordered = sorted(documents, key=lambda each: each[0].id)
    return ((*dataclasses.astuple(document), digest) for document, digest in ordered)


def _stream(target: Postgres, statement: LiteralString) -> Iterator[Row]:
    """The rows of a query, fetched in parts."""
    with target.write() as tx, tx.cursor("streamed", binary=True) as cursor:
        cursor.execute(statement)
        for row in cursor:
            yield tuple(received(value) if name == "vector" else value for name, value in row.items())


def _digest(rows: Iterable[Row]) -> tuple[int, str]:
    """The number of rows, and a hash of them all."""
    count, digest = 0, hashlib.sha256()
    for row in rows:
        count += 1
        digest.update(repr(_as_stored(row)).encode())
    return count, digest.hexdigest()


def _as_stored(value: Any) -> Any:
    """A value with its texts as the database stores them."""
    if isinstance(value, tuple):
        return tuple(map(_as_stored, value))
    return storable(value) if isinstance(value, str) else value


def _rows(source: Sqlite, statement: str, *values: Any) -> Iterator[sqlite3.Row]:
    with reported(source.path):
        yield from source.connection().execute(statement, values)
