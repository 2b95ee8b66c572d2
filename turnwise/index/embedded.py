"""The library in one SQLite file: documents, their passages, a full-text table and vectors, searched together."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from turnwise.errors import LibraryError
from turnwise.index import fusion
from turnwise.index.fusion import DEPTH
from turnwise.index.lexical import all_words_match, phrase_match, weighted_matches
from turnwise.index.schema import MIGRATIONS, PASSAGES, to_passage
from turnwise.index.vectors import NOTHING_NEAR, Nearness, VectorTable, to_blob
from turnwise.sqlite import Database, reported
from turnwise.text import words
from turnwise.types import Counts, Document, DocumentInfo, Embedder, Hit, Outcome, Passage, SearchQuery

if TYPE_CHECKING:
    from turnwise.types import Vectors

PUT_AT_ONCE = 1000  # documents a transaction
MOST_TITLES = 1000  # documents whose titles name topics
MOST_HEADINGS = 2000  # passages whose headings do

T = TypeVar("T")


class EmbeddedIndex:
    """A library in a database file. Its methods may be called from several threads, and by several processes."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self.embedder = embedder
        self._vectors = VectorTable(database)
        self._terms: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._terms_of: tuple[int, ...] = ()
        self._terms_lock = threading.Lock()
        database.migrate("index", MIGRATIONS)

    def close(self) -> None:
        self._database.close()

    # --- putting in and taking out --------------------------------------------------------------------------------

    def put(self, documents: Iterable[Document]) -> list[Outcome]:
        """Put documents in, each in place of the one of its source unless the digest is the same."""
        outcomes: list[Outcome] = []
        for batch in _batches(documents, PUT_AT_ONCE):
            with self._database.write() as tx:
                outcomes += [_put(tx, document) for document in batch]
        return outcomes

    def digest(self, source: str) -> str | None:
        rows = self._rows("SELECT hash FROM documents WHERE source = ?", source)
        return str(rows[0]["hash"]) if rows else None

    def remove(self, source: str) -> bool:
        """Take a document out, everywhere. False where there is none of that source."""
        with self._database.write() as tx:
            row = tx.execute("SELECT id FROM documents WHERE source = ?", (source,)).fetchone()
            if row is None:
                return False
            _clear(tx, row["id"])
            tx.execute("DELETE FROM documents WHERE id = ?", (row["id"],))
        return True

    # --- making vectors -------------------------------------------------------------------------------------------

    def unembedded(self, limit: int) -> list[tuple[int, str]]:
        """Passages that have no vector yet, longest first: their ids, and the text to embed."""
        self._require_same_embedder(self._database.connection())
        rows = self._rows(
            "SELECT id, title, heading, text FROM passages WHERE id NOT IN (SELECT passage_id FROM vectors)"
            " ORDER BY length(text) DESC, id LIMIT ?",
            limit,
        )
        return [(row["id"], _embedded_text(row)) for row in rows]

    def put_vectors(self, vectors: Mapping[int, Vectors]) -> int:
        """Keep the vectors of passages that are still there and have none. Gives how many."""
        with self._database.write() as tx:
            self._require_same_embedder(tx)
            tx.execute("INSERT OR REPLACE INTO index_meta VALUES ('embedder', ?)", (self.embedder.name,))
            return sum(
                tx.execute(
                    "INSERT OR IGNORE INTO vectors (passage_id, vector) SELECT id, ? FROM passages WHERE id = ?",
                    (to_blob(vector), passage),
                ).rowcount
                for passage, vector in vectors.items()
            )

    def _require_same_embedder(self, connection: sqlite3.Connection) -> None:
        """Vectors of two embedders cannot be compared; an empty table may change hands."""
        with reported(self._database.path):
            row = connection.execute(
                "SELECT value FROM index_meta WHERE name = 'embedder' AND EXISTS (SELECT 1 FROM vectors)"
            ).fetchone()
        if row is not None and row["value"] != self.embedder.name:
            raise LibraryError(
                f"This library was built with the embedder {row['value']}, and the one set is {self.embedder.name}.",
                "Set `embedder` back to that one, or add your documents to a new library.",
            )

    # --- looking --------------------------------------------------------------------------------------------------

    def search(self, query: SearchQuery, k: int) -> list[Hit]:
        """The best k passages by words and by meaning together. Passages without a vector are found by their words."""
        nearness = self._nearness(query)
        lexical, dense = self._lexical(query), nearness.ranks(DEPTH)
        rankings = [(lexical, 1.0), (dense, 1.0)]
        if query.talk and query.talk_weight > 0:
            talk = SearchQuery(query.talk)
            rankings += [(each, query.talk_weight) for each in (self._lexical(talk), self._nearness(talk).ranks(DEPTH))]
        scores = fusion.fused(rankings)
        best = fusion.best(scores, lexical, k)
        return fusion.hits(best, scores, lexical, dense, nearness.cosines_of(best), self._passages(best))

    def locate(self, sentence: str) -> Passage | None:
        """The passage that holds this sentence word for word, else the one that holds all its words; the earliest."""
        wanted = " ".join(sentence.split())
        exact = self._matching(phrase_match(sentence))
        found = next((each for each in exact if wanted in " ".join(each.text.split())), None)
        return found or next(iter(self._matching(all_words_match(sentence))), None)

    def _matching(self, expression: str) -> list[Passage]:
        rows = self._rows(
            f"{PASSAGES} WHERE passages.id IN (SELECT rowid FROM passage_words WHERE passage_words MATCH ?)"
            " ORDER BY passages.id LIMIT 100",
            expression,
        )
        return [to_passage(row) for row in rows]

    def passage(self, passage_id: int) -> Passage | None:
        return self._passages([passage_id]).get(passage_id)

    def around(self, passage: Passage, reach: int = 1) -> list[Passage]:
        """The passage with its neighbours in the document, as many on each side, in order."""
        rows = self._rows(
            f"{PASSAGES} WHERE document_id = ? AND position BETWEEN ? AND ? ORDER BY position",
            passage.document_id,
            passage.position - reach,
            passage.position + reach,
        )
        return [to_passage(row) for row in rows]

    def documents(self) -> list[DocumentInfo]:
        """Every document, in order of source."""
        rows = self._rows("SELECT id, source, title, passages, added_at FROM documents ORDER BY source")
        return [DocumentInfo(*row) for row in rows]

    def terms(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The titles of the documents and the headings in them, as far as a library has few; the same value again
        until the library changes."""
        (row,) = self._rows(
            "SELECT (SELECT value FROM index_meta WHERE name = 'removals'), (SELECT coalesce(max(id), 0) FROM passages)"
        )
        with self._terms_lock:
            if self._terms_of != tuple(row):
                titles = self._rows("SELECT title FROM documents ORDER BY id LIMIT ?", MOST_TITLES)
                headings = self._rows(
                    "SELECT DISTINCT heading FROM (SELECT heading FROM passages ORDER BY id LIMIT ?)", MOST_HEADINGS
                )
                self._terms = tuple(each[0] for each in titles), tuple(each[0] for each in headings if each[0])
                self._terms_of = tuple(row)
            return self._terms

    def counts(self) -> Counts:
        tables = ("documents", "passages", "vectors")
        (row,) = self._rows("SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in tables))
        return Counts(*row)

    def _lexical(self, query: SearchQuery) -> dict[int, int]:
        """Passages by BM25, with their ranks from 1."""
        matches = weighted_matches(query)
        if not matches:
            return {}
        # BM25 is a sum over words, so the scores of one search a weight add up to exactly the weighted score. Repeating
        # a word in the query would weigh it too, but only in whole steps, and was no faster.
        arms = " UNION ALL ".join(
            ["SELECT rowid AS id, rank * ? AS score FROM passage_words WHERE passage_words MATCH ?"] * len(matches)
        )
        rows = self._rows(
            f"SELECT id, sum(score) AS score FROM ({arms}) GROUP BY id ORDER BY score, id LIMIT {DEPTH}",
            *(value for match in matches for value in match),
        )
        return {row["id"]: rank for rank, row in enumerate(rows, 1)}

    def _nearness(self, query: SearchQuery) -> Nearness:
        snapshot = self._vectors.snapshot()
        if not len(snapshot.passages) or not words(query.question):
            return NOTHING_NEAR
        self._require_same_embedder(self._database.connection())
        return snapshot.nearness(self.embedder.embed_query(query.question))

    def _passages(self, ids: Sequence[int]) -> dict[int, Passage]:
        rows = self._rows(f"{PASSAGES} WHERE passages.id IN ({_marks(ids)})", *ids)
        return {row["id"]: to_passage(row) for row in rows}

    def _rows(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        with reported(self._database.path):
            return self._database.connection().execute(statement, values).fetchall()


def _put(tx: sqlite3.Connection, document: Document) -> Outcome:
    known = tx.execute("SELECT id, hash FROM documents WHERE source = ?", (document.source,)).fetchone()
    if known is not None and known["hash"] == document.digest:
        return "unchanged"
    if known is not None:
        _clear(tx, known["id"])
    document_id = tx.execute(
        "INSERT OR REPLACE INTO documents (id, source, title, hash, added_at, passages) VALUES (?, ?, ?, ?, ?, ?)",
        (
            known and known["id"],
            document.source,
            document.title,
            document.digest,
            time.time(),
            len(document.chunks),
        ),
    ).lastrowid
    tx.executemany(
        'INSERT INTO passages (document_id, position, title, heading, page, start, "end", text)'
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (document_id, position, document.title, piece.heading, piece.page, piece.start, piece.end, piece.text)
            for position, piece in enumerate(document.chunks)
        ),
    )
    return "added" if known is None else "updated"


def _clear(tx: sqlite3.Connection, document_id: int) -> None:
    """Delete a document's passages and, by cascade, their vectors; the counter tells other searchers."""
    tx.execute("DELETE FROM passages WHERE document_id = ?", (document_id,))
    tx.execute("UPDATE index_meta SET value = value + 1 WHERE name = 'removals'")


def _embedded_text(row: sqlite3.Row) -> str:
    place = " — ".join(part for part in (row["title"], row["heading"]) if part)
    return f"{place}\n{row['text']}" if place else str(row["text"])


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch
