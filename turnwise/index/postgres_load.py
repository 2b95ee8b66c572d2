"""Bulk loading of a library into PostgreSQL, with the ids that its rows have elsewhere."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from turnwise.index.postgres_schema import VECTOR_INDEX
from turnwise.index.postgres_write import (
    changed,
    claim,
    clear,
    count,
    count_vectors,
    searched_words,
    storable_document,
    with_same_passages,
    write_passages,
    write_rows,
)
from turnwise.index.postings import forget, tidy, write_segment
from turnwise.types import Document

if TYPE_CHECKING:
    from turnwise.postgres import Database

INDEX_BUILD_MEMORY = "512MB"  # building the index of vectors is much faster if it fits


@dataclass(frozen=True, slots=True)
class Kept:
    """A document of a library with its id, and the ids and positions of its passages, a pair per chunk."""

    id: int
    added_at: float
    document: Document
    passages: tuple[tuple[int, int], ...]


def reserve_ids(database: Database, documents: int, passages: int) -> None:
    """Make new documents and passages get ids above these, which are in use elsewhere."""
    with database.write(lock="library") as tx:
        for table, highest in (("documents_id_seq", documents), ("passages_id_seq", passages)):
            tx.execute("SELECT setval(%s, greatest(nextval(%s), %s))", (table, table, highest))


def load_trusted(database: Database, contents: Sequence[str]) -> None:
    """Trust documents with these contents, and no others."""
    with database.write(lock="library") as tx:
        tx.execute("DELETE FROM trusted WHERE content <> ALL(%s)", (list(contents),))
        tx.cursor().executemany(
            "INSERT INTO trusted VALUES (%s) ON CONFLICT DO NOTHING", [(each,) for each in contents]
        )


def load_documents(database: Database, documents: Sequence[Kept]) -> None:
    """Write documents under their own ids, replacing those with the same ids. If the passages of one are already there,
    only its description is written."""
    documents = [Kept(each.id, each.added_at, storable_document(each.document), each.passages) for each in documents]
    with database.write(lock="library") as tx:
        there = with_same_passages(tx, {each.id: each.document for each in documents})
        new = [each for each in documents if there.get(each.id) != ([passage for passage, _ in each.passages], True)]
        pieces = [
            (passage, each, position, piece)
            for each in new
            for (passage, position), piece in zip(each.passages, each.document.chunks, strict=True)
        ]
        count(tx, [each.id for each in documents], -1)
        clear(tx, [each.id for each in new])
        tx.execute("DELETE FROM documents WHERE id = ANY(%s)", ([each.id for each in new],))
        forget(tx, [passage for passage, *_ in pieces])
        write_rows(tx, ((each.id, each.added_at, each.document) for each in documents))
        write_passages(tx, ((passage, each.id, position, piece) for passage, each, position, piece in pieces))
        write_segment(tx, ((passage, searched_words(each.document, piece)) for passage, each, _, piece in pieces))
        count(tx, [each.id for each in documents])
        changed(tx)
    tidy(database)


def begin_vectors(database: Database, embedder: str, dimension: int) -> None:
    """Prepare the table for the vectors of that embedder. Their index is dropped until `finish_vectors`."""
    with database.write(lock="library") as tx:
        claim(tx, embedder, dimension)
        tx.execute("DROP INDEX IF EXISTS vectors_by_nearness")


def load_vectors(database: Database, vectors: Sequence[tuple[int, bytes]]) -> int:
    """Store vectors, given in half precision, of passages that exist and have none. Returns how many were stored."""
    with database.write(lock="library") as tx:
        rows = tx.execute(
            "SELECT id, document_id FROM passages WHERE id = ANY(%s)"
            " AND NOT EXISTS (SELECT FROM vectors WHERE passage_id = passages.id)",
            ([passage for passage, _ in vectors],),
        )
        waiting = {row["id"]: row["document_id"] for row in rows}
        with tx.cursor().copy("COPY vectors (passage_id, vector) FROM STDIN WITH (FORMAT BINARY)") as copy:
            copy.set_types(["int4", "bytea"])
            for passage, vector in vectors:
                if passage in waiting:
                    copy.write_row((passage, _to_pgvector(vector)))
        count_vectors(tx, Counter(waiting.values()))
    return len(waiting)


def finish_vectors(database: Database) -> None:
    """Build the index of the vectors if it is missing."""
    with database.write(lock="library") as tx:
        tx.execute(f"SET LOCAL maintenance_work_mem = '{INDEX_BUILD_MEMORY}'")
        tx.execute(VECTOR_INDEX)
        tx.execute("ANALYZE vectors, passages, documents, postings, segments")


def _to_pgvector(vector: bytes) -> bytes:
    """Values in half precision in the binary format of pgvector: their number, then each value in big-endian order."""
    values = np.frombuffer(vector, dtype=np.float16)
    return struct.pack(">hh", len(values), 0) + values.astype(">f2").tobytes()


def received(vector: bytes) -> bytes:
    """The inverse: values in half precision from the binary format of pgvector."""
    return np.frombuffer(vector[4:], dtype=">f2").astype(np.float16).tobytes()
