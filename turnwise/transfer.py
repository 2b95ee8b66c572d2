"""A library in a folder copied to PostgreSQL: documents, passages, vectors and conversations, under the same ids.

What is there already is passed over, so a copy that was broken off goes on where it stopped. At the end both sides are
read again and compared. The folder is only read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, LiteralString, TypeVar

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
from turnwise.postgres import Database as Postgres
from turnwise.postgres import storable
from turnwise.sqlite import Database as Sqlite
from turnwise.sqlite import reported
from turnwise.store.postgres import PostgresStore, load_conversation, load_keys, load_profiles
from turnwise.types import Chunk, Document, DocumentInfo, Flag, Progress

DOCUMENTS_AT_ONCE = 200
VECTORS_AT_ONCE = 2000

PASSAGE = 'id, document_id, position, heading, page, start, "end", text'
TURN = "prompt, response, status, created_at, answered_at, sources, error, record, shown"
BESIDE = "copied, feedback, facts, turn_facts.metadata"  # of a turn
CONVERSATION = "id, title, created_at, last_activity, tenant, user_id, ancestors, metadata, collections"
KEY = "id, digest, name, tenant, collections, may, created_at, expires_at, hint"

T = TypeVar("T")
Row = tuple[Any, ...]
Side = tuple[str, Iterable[Row], Iterable[Row]]  # what is compared, here and there: the same values in the same order
Listed = list[tuple[DocumentInfo, str]]  # documents with their digests


@dataclass(frozen=True, slots=True)
class Copied:
    """What the copy holds."""

    documents: int
    passages: int
    vectors: int
    conversations: int
    turns: int
    keys: int = 0
    profiles: int = 0


def copy(settings: Settings, to: str, progress: Progress | None = None) -> Copied:
    """Copy the library in the folder of the settings to a database. Raises LibraryError where another one is there."""
    settings = dataclasses.replace(settings, model="", base_url="", database="")
    with build(settings) as origin:
        documents = [(each, origin.index.digest(each.source) or "") for each in origin.index.documents(None)]
    source = Sqlite(library_folder(settings) / DATABASE)
    target = Postgres(to)
    try:
        index = PostgresIndex(target, embedder_of(settings))
        PostgresStore(target)
        given = {row["name"]: row["seq"] for row in _rows(source, "SELECT name, seq FROM sqlite_sequence")}
        reserve_ids(target, given.get("documents", 0), given.get("passages", 0))
        load_trusted(target, [row["content"] for row in _rows(source, "SELECT content FROM trusted")])
        _copy_documents(source, target, documents, progress)
        _copy_vectors(source, target, progress)
        _copy_conversations(source, target, progress)
        load_keys(target, map(dict, _rows(source, "SELECT * FROM api_keys")))
        load_profiles(target, map(dict, _rows(source, "SELECT * FROM profiles")))
        digests = {row["id"]: row["hash"] for row in target.rows("SELECT id, hash FROM documents")}
        there = [(each, digests[each.id]) for each in index.documents(None)]
        return _compared([("documents", _described(documents), _described(there)), *_sides(source, target)], progress)
    finally:
        target.close()
        source.close()


def _copy_documents(source: Sqlite, target: Postgres, documents: Listed, progress: Progress | None) -> None:
    there = {row["id"]: row for row in target.rows("SELECT id, source, hash FROM documents")}
    names = {document.id: storable(document.source) for document, _ in documents}
    if any(names.get(number) != row["source"] for number, row in there.items()):
        raise LibraryError(f"{target.name} holds documents that are not of this library.", "Copy to an empty database.")
    missing = [
        (document, digest)
        for document, digest in documents
        if document.id not in there or there[document.id]["hash"] != storable(digest)
    ]
    done = len(documents) - len(missing)
    for batch in _batches(missing, DOCUMENTS_AT_ONCE):
        load_documents(target, [_kept(source, document, digest) for document, digest in batch])
        done += len(batch)
        if progress:
            progress("copying documents", done, len(documents))


def _kept(source: Sqlite, document: DocumentInfo, digest: str) -> Kept:
    rows = list(
        _rows(source, f"SELECT {PASSAGE}, flag FROM passages WHERE document_id = ? ORDER BY position", document.id)
    )
    chunks = tuple(
        Chunk(row["text"], row["heading"], row["page"], row["start"], row["end"], Flag.read(row["flag"]))
        for row in rows
    )
    whole = Document(
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
    return Kept(document.id, document.added_at, whole, tuple((row["id"], row["position"]) for row in rows))


def _copy_vectors(source: Sqlite, target: Postgres, progress: Progress | None) -> None:
    (total,) = next(_rows(source, "SELECT count(*) FROM vectors"))
    if not total:
        return
    (embedder,) = next(_rows(source, "SELECT value FROM index_meta WHERE name = 'embedder'"))
    there = {row["passage_id"] for row in target.rows("SELECT passage_id FROM vectors")}
    waiting = (
        row
        for row in _rows(source, "SELECT passage_id, vector FROM vectors ORDER BY passage_id")
        if row["passage_id"] not in there
    )
    done, begun = len(there), False
    for batch in _batches(waiting, VECTORS_AT_ONCE):
        if not begun:
            begin_vectors(target, embedder, len(batch[0]["vector"]) // 2)
            begun = True
        done += load_vectors(target, [(row["passage_id"], row["vector"]) for row in batch])
        if progress:
            progress("copying vectors", done, total)
    finish_vectors(target)


def _copy_conversations(source: Sqlite, target: Postgres, progress: Progress | None) -> None:
    """All conversations, in the order in which they began. What is there already stays."""
    conversations = list(_rows(source, "SELECT * FROM conversations ORDER BY rowid"))
    for done, row in enumerate(conversations, 1):
        turns = _rows(
            source,
            f"SELECT number, {TURN}, {BESIDE} FROM turns LEFT JOIN turn_facts USING (conversation_id, number)"
            " WHERE conversation_id = ? ORDER BY number",
            row["id"],
        )
        load_conversation(target, dict(row), map(dict, turns))
        if progress:
            progress("copying conversations", done, len(conversations))


# --- comparing ----------------------------------------------------------------------------------------------------


def _compared(sides: Sequence[Side], progress: Progress | None) -> Copied:
    """How much was copied. Raises LibraryDamaged where the two sides differ."""
    counts: dict[str, int] = {}
    for done, (what, here, there) in enumerate(sides, 1):
        (counts[what], digest), (count, other) = _digest(here), _digest(there)
        if (counts[what], digest) != (count, other):
            raise LibraryDamaged(
                f"The copy differs: of {what} {counts[what]:,} are in the folder and {count:,} in the database"
                f"{', with other contents' if count == counts[what] else ''}.",
                "Copy again while nothing is added. If that does not help, copy to an empty database.",
            )
        if progress:
            progress("comparing", done, len(sides))
    return Copied(**counts)


def _sides(source: Sqlite, target: Postgres) -> list[Side]:
    both: tuple[tuple[str, LiteralString, LiteralString], ...] = (
        (
            "passages",
            f"SELECT {PASSAGE} FROM passages ORDER BY id",
            f"SELECT {PASSAGE} FROM passages ORDER BY id",
        ),
        (
            "vectors",
            "SELECT passage_id, vector FROM vectors ORDER BY passage_id",
            "SELECT passage_id, vector FROM vectors ORDER BY passage_id",
        ),
        (
            "conversations",
            f"SELECT {CONVERSATION} FROM conversations ORDER BY rowid",
            f"SELECT {CONVERSATION} FROM conversations ORDER BY place",
        ),
        (
            "turns",
            f"SELECT conversation_id, number, prompt, response, turns.created_at, sources, record, shown, {BESIDE}"
            " FROM turns JOIN conversations ON id = conversation_id"
            " LEFT JOIN turn_facts USING (conversation_id, number) ORDER BY conversations.rowid, number",
            f"SELECT id, number, prompt, response, turns.created_at, sources, record, shown, {BESIDE}"
            " FROM turns JOIN conversations ON key = conversation"
            " LEFT JOIN turn_facts USING (conversation, number) ORDER BY place, number",
        ),
        (
            "keys",
            f"SELECT {KEY} FROM api_keys ORDER BY created_at, id",
            f"SELECT {KEY} FROM api_keys ORDER BY created_at, id",
        ),
        (
            "profiles",
            "SELECT name, tenant, user_id FROM profiles ORDER BY name",
            'SELECT name, tenant, user_id FROM profiles ORDER BY name COLLATE "C"',
        ),
    )
    return [(what, map(tuple, _rows(source, here)), _stream(target, there)) for what, here, there in both]


def _described(documents: Listed) -> Iterator[Row]:
    ordered = sorted(documents, key=lambda each: each[0].id)
    return ((*dataclasses.astuple(document), digest) for document, digest in ordered)


def _stream(target: Postgres, statement: LiteralString) -> Iterator[Row]:
    """The rows of a query, however many: a part at a time."""
    with target.write() as tx, tx.cursor("streamed", binary=True) as cursor:
        cursor.execute(statement)
        for row in cursor:
            yield tuple(received(value) if name == "vector" else value for name, value in row.items())


def _digest(rows: Iterable[Row]) -> tuple[int, str]:
    """How many rows, and a hash of them all."""
    count, digest = 0, hashlib.sha256()
    for row in rows:
        count += 1
        digest.update(repr(_stored(row)).encode())
    return count, digest.hexdigest()


def _stored(value: Any) -> Any:
    """A value with its texts as the database keeps them."""
    if isinstance(value, tuple):
        return tuple(map(_stored, value))
    return storable(value) if isinstance(value, str) else value


def _rows(source: Sqlite, statement: str, *values: Any) -> Iterator[sqlite3.Row]:
    with reported(source.path):
        yield from source.connection().execute(statement, values)


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch
