"""The library in one SQLite file, the source of truth, with files beside it that make searching fast."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.index import fusion
from turnwise.index.allowed import Allowed, Filters
from turnwise.index.codes import to_blob
from turnwise.index.embedded_write import chunks_of, clear, count, count_vectors, log_change, put_document, span_of
from turnwise.index.fusion import DEPTH, Found
from turnwise.index.lexical import LexicalIndex
from turnwise.index.schema import (
    COLLECTIONS,
    DOCUMENTS,
    MIGRATIONS,
    PASSAGES,
    attached,
    base,
    to_document,
    to_passage,
    within,
)
from turnwise.index.shared import (
    LOCATE_BATCH,
    LOCATE_CANDIDATES,
    batches,
    first_with,
    flags_by_document,
    query_vector,
    require_embedder,
    to_hidden,
    to_suspects,
    total,
)
from turnwise.index.terms import MOST_HEADINGS, MOST_TITLES, RememberedTerms, Terms, and_those
from turnwise.index.vectors import VectorIndex
from turnwise.index.words import embedded_text, holds, indexed_words, weighted_words
from turnwise.sqlite import Database, reported
from turnwise.text import storable, with_heading, words
from turnwise.types import (
    EVERYTHING,
    LIBRARY,
    Counts,
    Document,
    DocumentInfo,
    Embedder,
    Flag,
    Hit,
    Outcome,
    Passage,
    Reach,
    SearchQuery,
    Suspect,
)

if TYPE_CHECKING:
    from turnwise.types import Vectors

DOCUMENTS_PER_TRANSACTION = 1000


class EmbeddedIndex:
    """A library in a database file. Safe for several threads and processes."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self.embedder = embedder
        files = database.path.with_suffix(".index")
        self._lexical = LexicalIndex(database, files)
        self._vectors = VectorIndex(database, files)
        self._filters = Filters(database)
        self._terms = RememberedTerms()
        database.migrate("index", MIGRATIONS)

    def close(self) -> None:
        self._vectors.close()
        self._database.close()

    # --- adding and removing --------------------------------------------------------------------------------------

    def put(self, documents: Iterable[Document]) -> list[Outcome]:
        """Add documents. Each replaces the one with the same source unless the digest is the same. When this returns,
        they are on disk and searchable by their words in every process."""
        outcomes: list[Outcome] = []
        for batch in batches(documents, DOCUMENTS_PER_TRANSACTION):
            with self._database.write(durable=True) as tx:
                outcomes += [put_document(tx, document) for document in batch]
        self._lexical.follow()
        return outcomes

    def digest(self, source: str) -> str | None:
        rows = self._rows("SELECT hash FROM documents WHERE source = ?", source)
        return str(rows[0]["hash"]) if rows else None

    def remove(self, source: str) -> bool:
        """Remove a document and everything made from it. Returns False if no document has that source. Searches do not
        find it from now on; the next search removes its words from the files, so that removing many documents one by
        one is fast."""
        with self._database.write(durable=True) as tx:
            row = tx.execute("SELECT id FROM documents WHERE source = ?", (source,)).fetchone()
            if row is None:
                return False
            count(tx, row["id"], -1)
            clear(tx, row["id"])
            tx.execute("DELETE FROM documents WHERE id = ?", (row["id"],))
        return True

    # --- what a check found ---------------------------------------------------------------------------------------

    def put_flags(self, flags: Mapping[int, Flag]) -> None:
        """Store what a check found in passages, by passage id."""
        with self._database.write() as tx:
            tx.executemany(
                "UPDATE passages SET flag = ? WHERE id = ?", ((str(flag), id_) for id_, flag in flags.items())
            )

    def unchecked(self, by: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Passages that this check has not read, or that none has read if it has no name, ordered by id, starting after
        the id `after`."""
        others, values = ("OR (flag != ? AND flag NOT GLOB ?)", (by, f"{by}|*")) if by else ("", ())
        rows = self._rows(
            f"SELECT id, heading, text FROM passages WHERE id > ? AND (flag IS NULL {others}) ORDER BY id LIMIT ?",
            after,
            *values,
            limit,
        )
        return [(row["id"], with_heading(row["heading"], row["text"])) for row in rows]

    def unchecked_in(self, sources: Iterable[str] | None = None) -> dict[str, int]:
        """The number of passages that no check has read, by the source of their document: all documents, or these."""
        clause = "true" if sources is None else "source IN (SELECT value FROM json_each(?))"
        rows = self._rows(
            "SELECT source, count(*) AS number FROM passages JOIN documents ON documents.id = document_id"
            f" WHERE flag IS NULL AND {clause} GROUP BY +document_id",
            *(() if sources is None else (json.dumps(list(sources)),)),
        )
        return {row["source"]: row["number"] for row in rows}

    def flags(self, document_ids: Iterable[int]) -> dict[int, list[tuple[int, Flag]]]:
        """What a check found in the passages of documents: by document id, pairs of passage position and flag."""
        return self._flags("document_id IN (SELECT value FROM json_each(?))", json.dumps(list(document_ids)))

    def _flags(self, clause: str, *values: str) -> dict[int, list[tuple[int, Flag]]]:
        rows = self._rows(
            f"SELECT document_id, position, flag FROM passages WHERE instr(flag, '|') > 0 AND {clause}"
            " ORDER BY document_id, id",
            *values,
        )
        return flags_by_document(rows)

    def suspects(self) -> list[Suspect]:
        """The documents in which a check found something, trusted ones included, ordered by source."""
        found = self._flags("true")
        documents = self._rows(
            f"{DOCUMENTS} WHERE hidden != '[]' OR id IN (SELECT value FROM json_each(?)) ORDER BY source",
            json.dumps(list(found)),
        )
        return to_suspects(map(to_document, documents), found)

    def trust(self, source: str, trusted: bool = True) -> bool:
        """Mark a document as trusted, or no longer. Returns False if no document has that source."""
        with self._database.write(durable=True) as tx:
            row = tx.execute("SELECT id, title, hidden FROM documents WHERE source = ?", (source,)).fetchone()
            if row is None:
                return False
            document = Document(source, row["title"], "", chunks_of(tx, row["id"]), hidden=to_hidden(row["hidden"]))
            tx.execute("UPDATE documents SET content = ? WHERE id = ?", (document.content, row["id"]))
            if trusted:
                tx.execute("INSERT OR IGNORE INTO trusted VALUES (?)", (document.content,))
            else:
                tx.execute("DELETE FROM trusted WHERE content = ?", (document.content,))
        return True

    def trusts(self, content: str) -> bool:
        return bool(self._rows("SELECT 1 FROM trusted WHERE content = ?", content))

    # --- making vectors -------------------------------------------------------------------------------------------

    def unembedded(self, limit: int) -> list[tuple[int, str]]:
        """The next passages that have no vector yet, longest first: their ids, and the text to embed."""
        self._require_same_embedder(self._database.connection())
        rows = self._rows(
            "SELECT id, title, heading, text FROM pending JOIN passages ON id = passage_id ORDER BY passage_id LIMIT ?",
            limit,
        )
        rows.sort(key=lambda row: -len(row["text"]))
        return [(row["id"], embedded_text(row["title"], row["heading"], row["text"])) for row in rows]

    def put_vectors(self, vectors: Mapping[int, Vectors]) -> int:
        """Store the vectors of passages that still exist and have none. Returns how many were stored. A power cut may
        lose the last of them, which are then made again."""
        with self._database.write() as tx:
            self._require_same_embedder(tx)
            tx.execute("INSERT OR REPLACE INTO index_meta VALUES ('embedder', ?)", (self.embedder.name,))
            kept = tx.execute(
                "SELECT document_id, count(*) FROM pending JOIN passages ON id = passage_id"
                " WHERE passage_id IN (SELECT value FROM json_each(?)) GROUP BY document_id",
                (json.dumps(list(vectors)),),
            ).fetchall()
            tx.executemany(
                "INSERT INTO vectors (passage_id, vector) SELECT passage_id, ? FROM pending WHERE passage_id = ?",
                ((to_blob(vector), passage) for passage, vector in vectors.items()),
            )
            tx.executemany("DELETE FROM pending WHERE passage_id = ?", ((passage,) for passage in vectors))
            for document_id, number in kept:
                count_vectors(tx, document_id, number)
        return sum(number for _, number in kept)

    def forget_vectors(self, document_id: int) -> None:
        """Delete the vectors of a document, so that they are made again."""
        with self._database.write() as tx:
            span = span_of(tx, document_id)
            of_document = "FROM vectors WHERE passage_id BETWEEN ? AND ?"
            tx.execute(f"INSERT INTO pending SELECT passage_id {of_document}", span)
            forgotten = tx.execute(f"DELETE {of_document}", span).rowcount
            if forgotten:
                log_change(tx, "remove", document_id, span)
                log_change(tx, "add", document_id, span)
                count_vectors(tx, document_id, -forgotten)
        self._lexical.follow()

    def _require_same_embedder(self, connection: sqlite3.Connection) -> bool:
        """Raise LibraryError if another embedder made the vectors. Returns whether there are any."""
        with reported(self._database.path):
            row = connection.execute(
                "SELECT value FROM index_meta WHERE name = 'embedder' AND EXISTS (SELECT 1 FROM vectors)"
            ).fetchone()
        if row is not None:  # a table without vectors can be taken over
            require_embedder(row["value"], self.embedder.name)
        return row is not None

    # --- searching ------------------------------------------------------------------------------------------------

    def search(self, query: SearchQuery, k: int) -> list[Hit]:
        """The best k passages by words and by meaning together. Passages without a vector are found by their words."""
        allowed = self._filters.allowed(query.where, query.reach, self._seq())
        found = self._find(query, allowed)
        talk = self._find(SearchQuery(query.talk), allowed) if query.talk and query.talk_weight > 0 else None
        scores = fusion.fused(found, talk, query.talk_weight)
        best = fusion.best(scores, found.words, k)
        return fusion.hits(best, scores, found, self._passages(best, query.reach))

    def _find(self, query: SearchQuery, allowed: Allowed | None) -> Found:
        by_words = self._lexical.scores(weighted_words(query), DEPTH, allowed)
        question = self._query_vector(query.question)
        if question is None:
            return Found(by_words, {})
        near = self._vectors.near(question, DEPTH, allowed)
        others = fusion.unplaced(by_words, near)
        looked_up = self._vectors.cosines(question, others)
        return Found(by_words, near | looked_up, frozenset(others) - looked_up.keys())

    def locate(self, sentence: str, reach: Reach = LIBRARY) -> Passage | None:
        """The earliest passage that contains this sentence word for word, or else all its words."""
        return first_with(sentence, self._with_words(indexed_words(sentence), reach))

    def _with_words(self, needed: Sequence[str], reach: Reach) -> Iterator[Passage]:
        """Passages that contain all the words, the earliest first."""
        allowed = self._filters.allowed(EVERYTHING, reach, self._seq())
        for ids in batches(self._lexical.holding(needed, LOCATE_CANDIDATES, allowed), LOCATE_BATCH):
            found = self._passages(ids, reach)
            yield from (found[each] for each in ids if each in found)

    def held(self, words: Sequence[str], reach: Reach = LIBRARY) -> dict[str, int]:
        """The words that occur in some form in a passage within reach, each with its number of passages."""
        allowed = self._filters.allowed(EVERYTHING, reach, self._seq())
        forms = {word: form[0] for word in words if len(form := indexed_words(word)) == 1}
        counts = self._lexical.counts([*forms.values()], allowed)
        return {word: counts[form] for word, form in forms.items() if form in counts}

    def passage(self, passage_id: int, reach: Reach = LIBRARY) -> Passage | None:
        return self._passages([passage_id], reach).get(passage_id)

    def around(self, passage: Passage, each_side: int = 1) -> list[Passage]:
        """The passage with up to `each_side` neighbours before and after it in the document, in order."""
        rows = self._rows(
            f"{PASSAGES} WHERE document_id = ? AND position BETWEEN ? AND ? ORDER BY position",
            passage.document_id,
            passage.position - each_side,
            passage.position + each_side,
        )
        return [to_passage(row) for row in rows]

    def documents(self, reach: Reach | None = LIBRARY) -> list[DocumentInfo]:
        """The documents within reach, ordered by source; all of them if the reach is None."""
        return self._documents(*within(reach))

    def document(self, document_id: int | str, reach: Reach = LIBRARY) -> DocumentInfo | None:
        """The document with that id or that source, or None if there is none within reach."""
        clause, values = within(reach)
        column = "source" if isinstance(document_id, str) else "id"
        wanted = json.dumps([storable(document_id) if isinstance(document_id, str) else document_id])
        found = self._documents(f"{column} = (SELECT value FROM json_each(?)) AND {clause}", [wanted, *values])
        return found[0] if found else None

    def attachments(self, reach: Reach) -> list[DocumentInfo]:
        """The documents attached to the conversations of the reach, ordered by source."""
        return self._documents(*attached(reach))

    def find_documents(
        self, search: str = "", collection: str | None = None, after: str = "", limit: int = 100, reach: Reach = LIBRARY
    ) -> list[DocumentInfo]:
        """Documents within reach whose title or source contains the words, ordered by source, starting after the
        source `after`."""
        if collection is None and reach.collections and not reach.conversations:  # each has an index in that order
            names = {storable(each) for each in reach.collections}
            pages = (self.find_documents(search, each, after, limit, reach) for each in names)
            return sorted(chain.from_iterable(pages), key=lambda each: each.source)[:limit]
        clause, values = within(reach)
        parts, given = [clause, "source > ?"], [*values, storable(after)]
        if collection is not None:
            parts.append("collection = ?")
            given.append(storable(collection))
        fits = " AND ".join(parts)
        if not search.split():
            return self._documents(fits, given, limit)
        with reported(self._database.path):
            rows = self._database.connection().execute(
                f"SELECT id, title, source FROM documents WHERE {fits} ORDER BY source", given
            )
            found = list(islice((row["id"] for row in rows if holds(search, row["title"], row["source"])), limit))
        return self._documents("id IN (SELECT value FROM json_each(?))", [json.dumps(found)])

    def _documents(self, clause: str, values: Iterable[Any], limit: int = -1) -> list[DocumentInfo]:
        rows = self._rows(f"{DOCUMENTS} WHERE {clause} ORDER BY source LIMIT ?", *values, limit)
        return [to_document(row) for row in rows]

    def terms(self, reach: Reach = LIBRARY) -> Terms:
        """The titles of the documents and the headings in them, up to a limit. Returns the same object until the
        library changes."""
        seq, own = self._seq(), dataclasses.replace(reach, conversations=())
        known = self._terms.get(own, seq, lambda: self._own_terms(own))
        clause, values = attached(reach)
        if not reach.conversations or not self._rows(f"SELECT 1 FROM documents WHERE {clause} LIMIT 1", *values):
            return known
        return self._terms.get(reach, seq, lambda: and_those(known, self._terms_of(clause, values)))

    def _own_terms(self, reach: Reach) -> Terms:
        """The terms without attachments. The library's own are read in table order: through an index, SQLite would have
        to sort all its documents again."""
        clause, values = base(reach)
        return self._terms_of(clause, values, "" if reach.tenant else "NOT INDEXED")

    def _terms_of(self, clause: str, values: Sequence[str], how: str = "") -> Terms:
        titles = self._rows(
            f"SELECT title FROM documents {how} WHERE {clause} ORDER BY id LIMIT ?", *values, MOST_TITLES
        )
        tables = f"passages {how} CROSS JOIN documents {how}" if how else "passages JOIN documents"
        headings = self._rows(
            f"SELECT DISTINCT heading FROM (SELECT heading FROM {tables} ON documents.id = document_id WHERE {clause}"
            " ORDER BY passages.id LIMIT ?)",
            *values,
            MOST_HEADINGS,
        )
        return tuple(each[0] for each in titles), tuple(each[0] for each in headings if each[0])

    def collections(self, reach: Reach = LIBRARY) -> dict[str, Counts]:
        """The collections within reach and what each contains; "" stands for the documents in no collection."""
        (own, values), (besides, more) = base(reach), attached(reach)
        rows = self._rows(
            "SELECT collection, sum(documents), sum(passages), sum(vectors) FROM ("
            " SELECT collection, documents, passages, vectors FROM (SELECT *, '' AS attached FROM collections)"
            f" WHERE documents > 0 AND {own}"
            f" UNION ALL SELECT collection, 1, passages, vectors FROM documents WHERE {besides}"
            ") GROUP BY collection ORDER BY collection",
            *(*values, *more),
        )
        return {row[0]: Counts(*row[1:]) for row in rows}

    def counts(self, reach: Reach | None = None) -> Counts:
        """The totals within reach, or of the whole index if the reach is None."""
        if reach is not None:
            return total(self.collections(reach).values())
        rows = self._rows("SELECT name, value FROM index_meta WHERE name IN ('documents', 'passages', 'vectors')")
        return Counts(**{row["name"]: row["value"] for row in rows})

    # --- maintenance ----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Wait until the background work on the files is done."""
        self._vectors.settle()

    def check(self) -> list[str]:
        """How the files beside the database, and its counters, differ from its tables, a line per difference. Reads all
        of them."""
        for _ in range(5):  # what is written during the check is not a difference
            before = self._moment()
            differences = self._differences()
            if not differences or self._moment() == before:
                break
        return differences

    def _differences(self) -> list[str]:
        by_words, by_meaning = self._lexical.all_ids(), np.sort(self._vectors.table().passages()).tolist()
        with self._database.read() as tx:
            passages = [row[0] for row in tx.execute("SELECT id FROM passages ORDER BY id")]
            vectors = [row[0] for row in tx.execute("SELECT passage_id FROM vectors ORDER BY passage_id")]
            pending = [row[0] for row in tx.execute("SELECT passage_id FROM pending ORDER BY passage_id")]
            (documents,) = tx.execute("SELECT count(*) FROM documents").fetchone()
            counted = self.counts()
            made, noted, held, collected = (
                set(map(tuple, tx.execute(statement)))
                for statement in (
                    "SELECT document_id, count(*) FROM passages JOIN vectors ON passage_id = passages.id GROUP BY 1",
                    "SELECT id, vectors FROM documents WHERE vectors != 0",
                    COLLECTIONS,
                    "SELECT * FROM collections WHERE documents != 0",
                )
            )
        checks = {
            f"the words hold {len(by_words)} passages, not those {len(passages)}": by_words == passages,
            f"the vectors hold {len(by_meaning)} passages, not those {len(vectors)}": by_meaning == vectors,
            "passages that wait for a vector are not those without one": sorted(vectors + pending) == passages,
            f"the counters say {counted}": counted == Counts(documents, len(passages), len(vectors)),
            "the vectors of documents are not as many as is noted": made == noted,
            "collections do not hold what is noted": held == collected,
        }
        damaged = [f"the file {name} is damaged" for name in self._lexical.damaged_files()]
        return [line for line, passed in checks.items() if not passed] + damaged

    # --- helpers --------------------------------------------------------------------------------------------------

    def _seq(self) -> int:
        """The number of the last change."""
        (row,) = self._rows("SELECT coalesce(max(seq), 0) FROM changes")
        return int(row[0])

    def _moment(self) -> tuple[Any, ...]:
        (row,) = self._rows("SELECT (SELECT max(seq) FROM changes), (SELECT max(seq) FROM vectors)")
        return tuple(row)

    def _query_vector(self, question: str) -> Vectors | None:
        """The vector of the question, or None if it has no words or the library has no vectors."""
        if not words(question) or not self._require_same_embedder(self._database.connection()):
            return None
        return query_vector(self.embedder, question)

    def _passages(self, ids: Sequence[int], reach: Reach) -> dict[int, Passage]:
        clause, values = within(reach)
        rows = self._rows(
            f"{PASSAGES} WHERE passages.id IN (SELECT value FROM json_each(?)) AND {clause}",
            json.dumps(list(ids)),
            *values,
        )
        return {row["id"]: to_passage(row) for row in rows}

    def _rows(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        with reported(self._database.path):
            return self._database.connection().execute(statement, values).fetchall()
