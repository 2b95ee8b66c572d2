"""Writes documents to the tables of a library in SQLite, and with them the log of changes and the counters."""

from __future__ import annotations

import json
import sqlite3
import time

from turnwise.index.schema import of_reference
from turnwise.index.shared import of_hidden
from turnwise.text import storable
from turnwise.types import Chunk, Document, Outcome


def put_document(tx: sqlite3.Connection, document: Document) -> Outcome:
    known = tx.execute("SELECT id, hash, title FROM documents WHERE source = ?", (document.source,)).fetchone()
    if known is not None and known["hash"] == document.digest:
        return "unchanged"
    same = known is not None and known["title"] == document.title and chunks_of(tx, known["id"]) == document.chunks
    if known is not None:
        count(tx, known["id"], -1)
    if same:  # only its description is new: its words are written again, and no vector is lost
        log_change(tx, "remove", known["id"], (0, -1))
    elif known is not None:
        clear(tx, known["id"])
    (document_id,) = tx.execute(
        "INSERT INTO documents"
        " (source, title, hash, added_at, passages, collection, tags, date, reference, hidden, content, tenant,"
        " attached) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source) DO UPDATE SET"
        " title = excluded.title, hash = excluded.hash, added_at = excluded.added_at, passages = excluded.passages,"
        " collection = excluded.collection, tags = excluded.tags, date = excluded.date, reference = excluded.reference,"
        " hidden = excluded.hidden, content = excluded.content, tenant = excluded.tenant, attached = excluded.attached"
        " RETURNING id",
        (
            document.source,
            document.title,
            document.digest,
            time.time(),
            len(document.chunks),
            document.collection,
            json.dumps(document.tags, ensure_ascii=False),
            document.date,
            of_reference(document.reference),
            of_hidden(document.hidden),
            document.content,
            storable(document.tenant),
            storable(document.attached),
        ),
    ).fetchone()
    if same:
        flags = ((str(each.flag), document_id, at) for at, each in enumerate(document.chunks) if each.flag)
        tx.executemany("UPDATE passages SET flag = ? WHERE document_id = ? AND position = ?", flags)
    else:
        _write_passages(tx, document_id, document)
    log_change(tx, "add", document_id, span_of(tx, document_id))
    count(tx, document_id)
    return "added" if known is None else "updated"


def chunks_of(tx: sqlite3.Connection, document_id: int) -> tuple[Chunk, ...]:
    """The chunks that the passages of a document were made from."""
    rows = tx.execute(
        'SELECT text, heading, page, start, "end" FROM passages WHERE document_id = ? ORDER BY position', (document_id,)
    )
    return tuple(Chunk(*row) for row in rows)


def _write_passages(tx: sqlite3.Connection, document_id: int, document: Document) -> None:
    tx.executemany(
        'INSERT INTO passages (document_id, position, title, heading, page, start, "end", text, flag)'
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                document_id,
                position,
                document.title,
                piece.heading,
                piece.page,
                piece.start,
                piece.end,
                piece.text,
                piece.flag and str(piece.flag),
            )
            for position, piece in enumerate(document.chunks)
        ),
    )
    tx.execute("INSERT INTO pending SELECT id FROM passages WHERE document_id = ?", (document_id,))


def clear(tx: sqlite3.Connection, document_id: int) -> None:
    """Delete a document's passages and their vectors."""
    log_change(tx, "remove", document_id, span_of(tx, document_id))
    of_document = "(SELECT id FROM passages WHERE document_id = ?)"
    tx.execute(f"DELETE FROM vectors WHERE passage_id IN {of_document}", (document_id,))
    tx.execute("DELETE FROM passages WHERE document_id = ?", (document_id,))
    tx.execute("UPDATE documents SET vectors = 0 WHERE id = ?", (document_id,))


def log_change(tx: sqlite3.Connection, op: str, document_id: int, span: tuple[int, int]) -> None:
    tx.execute("INSERT INTO changes (op, document_id, first, last) VALUES (?, ?, ?, ?)", (op, document_id, *span))


def span_of(tx: sqlite3.Connection, document_id: int) -> tuple[int, int]:
    """The first and the last passage of a document, or an empty span if it has none."""
    first, last = tx.execute(
        "SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM passages WHERE document_id = ?", (document_id,)
    ).fetchone()
    return first, last


def count(tx: sqlite3.Connection, document_id: int, sign: int = 1) -> None:
    """Add a document and its contents to the counters, or subtract them (-1) before it changes."""
    row = tx.execute(
        "SELECT tenant, collection, attached, passages, vectors FROM documents WHERE id = ?", (document_id,)
    ).fetchone()
    more = {"documents": sign, "passages": sign * row["passages"], "vectors": sign * row["vectors"]}
    tx.executemany(
        "UPDATE index_meta SET value = value + ? WHERE name = ?", ((number, name) for name, number in more.items())
    )
    if not row["attached"]:
        tx.execute(
            "INSERT INTO collections VALUES (?, ?, ?, ?, ?) ON CONFLICT (tenant, collection) DO UPDATE SET"
            " documents = documents + excluded.documents, passages = passages + excluded.passages,"
            " vectors = vectors + excluded.vectors",
            (row["tenant"], row["collection"], *more.values()),
        )


def count_vectors(tx: sqlite3.Connection, document_id: int, more: int) -> None:
    """Record that a document has so many more vectors."""
    count(tx, document_id, -1)
    tx.execute("UPDATE documents SET vectors = vectors + ? WHERE id = ?", (more, document_id))
    count(tx, document_id)
