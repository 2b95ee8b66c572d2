"""Writing to a library in PostgreSQL: documents, their passages, counters and vectors."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from turnwise.index.postgres_schema import COLLECTIONS, VECTOR_INDEX, key_of, label
from turnwise.index.postings import write_removed, write_segment
from turnwise.index.shared import of_hidden, to_reference
from turnwise.index.words import cited, indexed_words, searched_text
from turnwise.text import storable
from turnwise.types import Chunk, Document, Flag, Hidden, Outcome

if TYPE_CHECKING:
    from turnwise.postgres import Connection

PASSAGES_PER_TRANSACTION = 1000  # about


def storable_document(document: Document) -> Document:
    """The document with its texts as PostgreSQL can store them."""
    reference = document.reference
    return dataclasses.replace(
        document,
        source=storable(document.source),
        title=storable(document.title),
        digest=storable(document.digest),
        collection=label(document.collection),
        tags=tuple(map(label, document.tags)),
        date=storable(document.date),
        reference=reference
        and dataclasses.replace(
            reference,
            authors=tuple(map(storable, reference.authors)),
            csl={name: storable(value) for name, value in reference.csl.items()},
        ),
        hidden=tuple(Hidden(each.where, storable(each.text)) for each in document.hidden),
        tenant=storable(document.tenant),
        attached=storable(document.attached),
        chunks=tuple(
            dataclasses.replace(piece, text=storable(piece.text), heading=storable(piece.heading))
            for piece in document.chunks
        ),
    )


def in_batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents that can be written together: with different sources, and not too many passages."""
    batch: dict[str, Document] = {}
    size = 0
    for document in documents:
        if document.source in batch or size >= PASSAGES_PER_TRANSACTION:
            yield list(batch.values())
            batch, size = {}, 0
        batch[document.source] = document
        size += max(len(document.chunks), 1)
    if batch:
        yield list(batch.values())


def put_documents(tx: Connection, documents: Sequence[Document]) -> list[Outcome]:
    """Write documents with different sources at once."""
    keys = [key_of(document.source) for document in documents]
    rows = tx.execute("SELECT key, id, hash FROM documents WHERE key = ANY(%s)", (keys,)).fetchall()
    known = {bytes(row["key"]): row for row in rows}
    new = {
        key: document
        for key, document in zip(keys, documents, strict=True)
        if key not in known or known[key]["hash"] != document.digest
    }
    if new:
        replaced = {known[key]["id"]: document for key, document in new.items() if key in known}
        count(tx, replaced, -1)
        same = _update_descriptions(tx, replaced)
        clear(tx, [each for each in replaced if each not in same])
        ids = write_rows(tx, ((None, time.time(), document) for document in new.values()))
        _write_new(tx, [each for each in zip(ids, new.values(), strict=True) if each[0] not in same])
        count(tx, ids)
        changed(tx)
    return ["unchanged" if key not in new else "updated" if key in known else "added" for key in keys]


def _write_new(tx: Connection, documents: Sequence[tuple[int, Document]]) -> None:
    """Write the passages of documents, given with their ids, and the words of the passages."""
    pieces = [
        (document_id, document, position, piece)
        for document_id, document in documents
        for position, piece in enumerate(document.chunks)
    ]
    passages = _new_ids(tx, len(pieces))
    write_passages(
        tx, ((passage, id_, at, piece) for passage, (id_, _, at, piece) in zip(passages, pieces, strict=True))
    )
    write_segment(
        tx,
        (
            (passage, searched_words(document, piece))
            for passage, (_, document, _, piece) in zip(passages, pieces, strict=True)
        ),
    )


def _update_descriptions(tx: Connection, documents: Mapping[int, Document]) -> Collection[int]:
    """The ids of the documents whose title and passages are unchanged. Their passages are kept with their vectors,
    under new ids if they are found by other words now, because a segment is never changed."""
    same = with_same_passages(tx, documents)
    _write_flags(
        tx,
        [
            (passage, piece.flag)
            for number, (passages, _) in same.items()
            for passage, piece in zip(passages, documents[number].chunks, strict=True)
        ],
    )
    reworded = [
        (passage, searched_words(documents[number], piece))
        for number, (passages, words_too) in same.items()
        if not words_too
        for passage, piece in zip(passages, documents[number].chunks, strict=True)
    ]
    if reworded:
        moved = _move(tx, [passage for passage, _ in reworded])
        write_segment(tx, ((moved[passage], said) for passage, said in reworded))
    return same.keys()


def _write_flags(tx: Connection, flags: Iterable[tuple[int, Flag | None]]) -> None:
    found = [(storable(str(flag)), passage) for passage, flag in flags if flag]
    if found:
        tx.cursor().executemany("UPDATE passages SET flag = %s WHERE id = %s", found)


def with_same_passages(tx: Connection, documents: Mapping[int, Document]) -> dict[int, tuple[list[int], bool]]:
    """The documents whose title and passages are stored unchanged, by id: the ids of the passages, and whether these
    are also found by the same words."""
    stored: dict[int, list[dict[str, Any]]] = {}
    for row in tx.execute(
        'SELECT document_id, passages.id, title, reference, text, heading, page, start, "end" FROM passages'
        " JOIN documents ON documents.id = document_id WHERE document_id = ANY(%s) ORDER BY document_id, position",
        (list(documents),),
    ):
        stored.setdefault(row["document_id"], []).append(row)
    same = {}
    for number, rows in stored.items():
        document = documents[number]
        chunks = tuple(Chunk(row["text"], row["heading"], row["page"], row["start"], row["end"]) for row in rows)
        if (rows[0]["title"], chunks) == (document.title, document.chunks):
            known = to_reference(rows[0]["reference"])
            same[number] = [row["id"] for row in rows], cited(known) == cited(document.reference)
    return same


def _move(tx: Connection, passages: Sequence[int]) -> dict[int, int]:
    """Give passages new ids, together with their vectors. Returns the new ids by the old ones."""
    ids = _new_ids(tx, len(passages))
    pairs = (list(passages), ids)
    tx.execute(
        'INSERT INTO passages SELECT new, document_id, position, heading, page, start, "end", text, flag'
        " FROM passages JOIN unnest(%s::integer[], %s::integer[]) AS pairs (old, new) ON id = old",
        pairs,
    )
    tx.execute(
        "INSERT INTO vectors SELECT new, vector"
        " FROM vectors JOIN unnest(%s::integer[], %s::integer[]) AS pairs (old, new) ON passage_id = old",
        pairs,
    )
    tx.execute("DELETE FROM passages WHERE id = ANY(%s)", (list(passages),))
    write_removed(tx, passages)
    return dict(zip(passages, ids, strict=True))


def write_rows(tx: Connection, documents: Iterable[tuple[int | None, float, Document]]) -> list[int]:
    """Write the rows of documents, given with their ids (None: the one it has, or a new one) and the time they were
    added. Returns the ids."""
    cursor = tx.cursor()
    cursor.executemany(
        "INSERT INTO documents"
        " (id, key, source, title, hash, added_at, passages, collection, tags, date, reference, hidden, content,"
        " tenant, attached)"
        " VALUES (coalesce(%s, nextval(pg_get_serial_sequence('documents', 'id'))::integer),"
        " %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (key) DO UPDATE SET"
        " (title, hash, added_at, passages, collection, tags, date, reference, hidden, content, tenant, attached) ="
        " (excluded.title, excluded.hash, excluded.added_at, excluded.passages, excluded.collection, excluded.tags,"
        " excluded.date, excluded.reference, excluded.hidden, excluded.content, excluded.tenant, excluded.attached)"
        " RETURNING id",
        [
            (
                number,
                key_of(document.source),
                document.source,
                document.title,
                document.digest,
                added_at,
                len(document.chunks),
                document.collection,
                list(document.tags),
                document.date,
                json.dumps(dataclasses.asdict(document.reference)) if document.reference else None,
                of_hidden(document.hidden),
                document.content,
                document.tenant,
                document.attached,
            )
            for number, added_at, document in documents
        ],
        returning=True,
    )
    ids: list[int] = []
    while True:
        ids += [row["id"] for row in cursor.fetchall()]
        if not cursor.nextset():
            return ids


def write_passages(tx: Connection, passages: Iterable[tuple[int, int, int, Chunk]]) -> None:
    """Write passages: id, document id, position in the document, and the chunk."""
    columns = '(id, document_id, position, heading, page, start, "end", text, flag)'
    with tx.cursor().copy(f"COPY passages {columns} FROM STDIN") as copy:
        for passage, document, position, piece in passages:
            place = (piece.heading, piece.page, piece.start, piece.end)
            flag = storable(str(piece.flag)) if piece.flag else None
            copy.write_row((passage, document, position, *place, piece.text, flag))


def searched_words(document: Document, piece: Chunk) -> list[str]:
    """The words by which a passage is found."""
    return indexed_words(searched_text(document.title, piece.heading, piece.text, document.reference))


def _new_ids(tx: Connection, count: int) -> list[int]:
    rows = tx.execute(
        "SELECT nextval(pg_get_serial_sequence('passages', 'id'))::integer AS id FROM generate_series(1, %s)", (count,)
    )
    return [row["id"] for row in rows]


def clear(tx: Connection, documents: Sequence[int]) -> None:
    """Delete the passages of documents and, by cascade, their vectors."""
    rows = tx.execute("DELETE FROM passages WHERE document_id = ANY(%s) RETURNING id", (list(documents),)).fetchall()
    write_removed(tx, [row["id"] for row in rows])
    tx.execute("UPDATE documents SET vectors = 0 WHERE id = ANY(%s) AND vectors > 0", (list(documents),))


def count(tx: Connection, documents: Iterable[int], sign: int = 1) -> None:
    """Add documents and their contents to the counters, or subtract them (-1) before they change."""
    ids = list(documents)
    tx.execute(
        "INSERT INTO collections SELECT key, tenant, collection,"
        " %(sign)s * documents, %(sign)s * passages, %(sign)s * vectors"
        f" FROM ({COLLECTIONS.format('id = ANY(%(ids)s)')}) AS held ON CONFLICT (key) DO UPDATE SET"
        " documents = collections.documents + excluded.documents,"
        " passages = collections.passages + excluded.passages, vectors = collections.vectors + excluded.vectors",
        {"ids": ids, "sign": sign},
    )
    tx.execute(
        "UPDATE index_meta SET value = (value::bigint + %(sign)s * number)::text FROM ("
        " SELECT count(*) AS documents, coalesce(sum(passages), 0) AS passages, coalesce(sum(vectors), 0) AS vectors"
        " FROM documents WHERE id = ANY(%(ids)s)) AS held, LATERAL ("
        " VALUES ('documents', documents), ('passages', passages), ('vectors', vectors)) AS more (which, number)"
        " WHERE name = which",
        {"ids": ids, "sign": sign},
    )


def count_vectors(tx: Connection, more: Mapping[int, int]) -> None:
    """Record that documents have so many more vectors."""
    count(tx, more, -1)
    tx.cursor().executemany(
        "UPDATE documents SET vectors = vectors + %s WHERE id = %s", [(number, id_) for id_, number in more.items()]
    )
    count(tx, more)


def changed(tx: Connection) -> None:
    """Record that the library has changed."""
    tx.execute("UPDATE index_meta SET value = (value::bigint + 1)::text WHERE name = 'changes'")


def claim(tx: Connection, embedder: str, dimension: int) -> None:
    """Assign the table of vectors to that embedder. It must be empty, or already belong to it."""
    row = tx.execute("SELECT value FROM index_meta WHERE name = 'embedder'").fetchone()
    if row is not None and row["value"] == embedder:
        return
    tx.execute("DROP INDEX IF EXISTS vectors_by_nearness")
    tx.execute(f"ALTER TABLE vectors ALTER vector TYPE halfvec({int(dimension)})")
    tx.execute(
        "INSERT INTO index_meta VALUES ('embedder', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (embedder,),
    )


def ensure_vector_index(tx: Connection) -> None:
    """Create the index of vectors if it is missing: at first, and after a copy that was interrupted."""
    row = tx.execute("SELECT to_regclass('vectors_by_nearness') IS NULL AS missing").fetchone()
    if row and row["missing"]:  # a role that can only write could not create it again
        tx.execute(VECTOR_INDEX)
