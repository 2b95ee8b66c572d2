"""The library in PostgreSQL: documents, their passages, postings of their words and vectors, searched together."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, LiteralString

import numpy as np

from turnwise.index.fusion import Found, best, fused, hits, unplaced
from turnwise.index.postgres_schema import (
    BY_SOURCE,
    COLLECTION_HASH,
    DOCUMENTS,
    HAS_SCOPED,
    MIGRATIONS,
    OWNER_HASH,
    PASSAGES,
    SOURCE_START,
    attached,
    base,
    key_of,
    label,
    to_info,
    to_passage,
    within,
)
from turnwise.index.postgres_search import (
    SEARCH_STATE,
    Bounds,
    by_meaning,
    by_words,
    cosines,
    passage_rows,
    passages_fitting,
    vector_text,
)
from turnwise.index.postgres_write import (
    changed,
    claim,
    clear,
    count,
    count_vectors,
    ensure_vector_index,
    in_batches,
    put_documents,
    storable_document,
)
from turnwise.index.postings import fetch, rarest, tidy
from turnwise.index.shared import (
    LOCATE_BATCH,
    LOCATE_CANDIDATES,
    first_with,
    flags_by_document,
    query_vector,
    require_embedder,
    to_hidden,
    to_suspects,
    total,
)
from turnwise.index.terms import MOST_HEADINGS, MOST_TITLES, RememberedTerms, Terms, and_those
from turnwise.index.words import embedded_text, holds, indexed_words
from turnwise.postgres import Database
from turnwise.text import storable, with_heading, words
from turnwise.types import (
    LIBRARY,
    Chunk,
    Counts,
    Document,
    DocumentInfo,
    Embedder,
    Filter,
    Flag,
    Hit,
    Outcome,
    Passage,
    Reach,
    SearchQuery,
    Suspect,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from turnwise.postgres import Connection
    from turnwise.types import Vectors

# Up to this many passages, and at most a twentieth of all, the vectors of what a filter lets through are all compared.
FEW_PASSAGES = 5000
REMEMBERED_FILTERS = 32  # with their reaches: a conversation searches with the same ones again
TELLING_WORDS = 8  # the rarest words of a sentence, by which the passages that may contain it are found


class PostgresIndex:
    """A library in a database. Safe for several threads, processes and machines."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self.embedder = embedder
        self._filters: dict[tuple[Filter, Reach, str], tuple[npt.NDArray[np.int32] | None]] = {}
        self._terms = RememberedTerms()
        self._scoped = ("", False)  # the last change seen, and whether any document is not simply the library's own
        self._lock = threading.Lock()
        database.migrate("index", MIGRATIONS)

    def close(self) -> None:
        self._database.close()

    # --- adding and removing --------------------------------------------------------------------------------------

    def put(self, documents: Iterable[Document]) -> list[Outcome]:
        """Add documents. Each replaces the one with the same source unless the digest is the same."""
        outcomes: list[Outcome] = []
        for batch in in_batches(map(storable_document, documents)):
            with self._database.write(lock="library") as tx:
                outcomes += put_documents(tx, batch)
            tidy(self._database)
        return outcomes

    def digest(self, source: str) -> str | None:
        rows = self._database.rows("SELECT hash FROM documents WHERE key = %s", key_of(storable(source)))
        return str(rows[0]["hash"]) if rows else None

    def remove(self, source: str) -> bool:
        """Remove a document and everything made from it. Returns False if no document has that source."""
        with self._database.write(lock="library") as tx:
            row = tx.execute("SELECT id FROM documents WHERE key = %s", (key_of(storable(source)),)).fetchone()
            if row is None:
                return False
            count(tx, [row["id"]], -1)
            clear(tx, [row["id"]])
            tx.execute("DELETE FROM documents WHERE id = %s", (row["id"],))
            changed(tx)
        tidy(self._database)
        return True

    # --- what a check found ---------------------------------------------------------------------------------------

    def put_flags(self, flags: Mapping[int, Flag]) -> None:
        """Store what a check found in passages, by passage id."""
        with self._database.write() as tx:
            tx.execute(
                "UPDATE passages SET flag = found.flag FROM unnest(%s::integer[], %s::text[]) AS found (id, flag)"
                " WHERE passages.id = found.id",
                (list(flags), [storable(str(flag)) for flag in flags.values()]),
            )

    def unchecked(self, by: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Passages that this check has not read, or that none has read if it has no name, ordered by id, starting after
        the id `after`."""
        select: LiteralString = "SELECT id, heading, text FROM passages WHERE id > %s AND {} ORDER BY id LIMIT %s"
        if by:
            rest = select.format("split_part(coalesce(flag, ''), '|', 1) <> %s")
            rows = self._database.rows(rest, after, by, limit)
        else:
            rows = self._database.rows(select.format("flag IS NULL"), after, limit)
        return [(row["id"], with_heading(row["heading"], row["text"])) for row in rows]

    def unchecked_in(self, sources: Iterable[str] | None = None) -> dict[str, int]:
        """The number of passages that no check has read, by the source of their document: all documents, or these."""
        select: LiteralString = (
            "SELECT source, count(*) AS number FROM passages JOIN documents ON documents.id = document_id"
            " WHERE flag IS NULL AND {} GROUP BY documents.id"
        )
        if sources is None:
            rows = self._database.rows(select.format("true"))
        else:
            rows = self._database.rows(select.format("key = ANY(%s)"), [key_of(storable(each)) for each in sources])
        return {row["source"]: row["number"] for row in rows}

    def flags(self, document_ids: Iterable[int]) -> dict[int, list[tuple[int, Flag]]]:
        """What a check found in the passages of documents: by document id, pairs of passage position and flag."""
        return self._flags("document_id = ANY(%s)", list(document_ids))

    def _flags(self, clause: LiteralString, *values: list[int]) -> dict[int, list[tuple[int, Flag]]]:
        rows = self._database.rows(
            "SELECT document_id, position, flag FROM passages"
            f" WHERE position('|' IN flag) > 0 AND {clause} ORDER BY id",
            *values,
        )
        return flags_by_document(rows)

    def suspects(self) -> list[Suspect]:
        """The documents in which a check found something, trusted ones included, ordered by source."""
        found = self._flags("true")
        documents = self._database.rows(
            f"{DOCUMENTS} WHERE hidden <> '[]' OR id = ANY(%s) ORDER BY source", list(found)
        )
        return to_suspects(map(to_info, documents), found)

    def trust(self, source: str, trusted: bool = True) -> bool:
        """Mark a document as trusted, or no longer. Returns False if no document has that source."""
        with self._database.write(lock="library") as tx:
            row = tx.execute(
                "SELECT id, title, hidden FROM documents WHERE key = %s", (key_of(storable(source)),)
            ).fetchone()
            if row is None:
                return False
            pieces = tx.execute(
                "SELECT text, heading FROM passages WHERE document_id = %s ORDER BY position", (row["id"],)
            )
            chunks = tuple(Chunk(each["text"], each["heading"]) for each in pieces)
            content = Document(source, row["title"], "", chunks, hidden=to_hidden(row["hidden"])).content
            tx.execute("UPDATE documents SET content = %s WHERE id = %s", (content, row["id"]))
            if trusted:
                tx.execute("INSERT INTO trusted VALUES (%s) ON CONFLICT DO NOTHING", (content,))
            else:
                tx.execute("DELETE FROM trusted WHERE content = %s", (content,))
        return True

    def trusts(self, content: str) -> bool:
        return bool(self._database.rows("SELECT content FROM trusted WHERE content = %s", content))

    # --- making vectors -------------------------------------------------------------------------------------------

    def unembedded(self, limit: int) -> list[tuple[int, str]]:
        """The next passages that have no vector yet, longest first: their ids, and the text to embed."""
        with self._database.connection() as connection:
            self._require_same_embedder(connection)
            rows = connection.execute(
                "SELECT missing.id, title, heading, text FROM documents, LATERAL ("
                " SELECT id, heading, text FROM passages WHERE document_id = documents.id"
                " AND NOT EXISTS (SELECT FROM vectors WHERE passage_id = passages.id) ORDER BY position"
                ") AS missing WHERE vectors < passages ORDER BY documents.id LIMIT %s",
                (limit,),
            ).fetchall()
        rows.sort(key=lambda row: -len(row["text"]))
        return [(row["id"], embedded_text(row["title"], row["heading"], row["text"])) for row in rows]

    def put_vectors(self, vectors: Mapping[int, Vectors]) -> int:
        """Store the vectors of passages that still exist and have none. Returns how many were stored."""
        with self._database.write(lock="library") as tx:
            self._require_same_embedder(tx)
            claim(tx, self.embedder.name, self.embedder.dimension)
            ensure_vector_index(tx)
            made = tx.execute(
                "WITH made AS (INSERT INTO vectors SELECT id, vector::halfvec FROM passages"
                " JOIN unnest(%s::integer[], %s::text[]) AS given (passage, vector) ON id = passage"
                " ON CONFLICT DO NOTHING RETURNING passage_id)"
                " SELECT document_id, count(*) AS number FROM made JOIN passages ON id = passage_id GROUP BY 1",
                (list(vectors), [vector_text(vector) for vector in vectors.values()]),
            ).fetchall()
            count_vectors(tx, {row["document_id"]: row["number"] for row in made})
            return sum(row["number"] for row in made)

    def _require_same_embedder(self, connection: Connection) -> None:
        self._check_embedder(_search_state(connection))

    def _check_embedder(self, state: Mapping[str, Any]) -> None:
        if state["embedded"]:  # a table without vectors can be taken over
            require_embedder(state["embedder"], self.embedder.name)

    # --- searching ------------------------------------------------------------------------------------------------

    def search(self, query: SearchQuery, k: int) -> list[Hit]:
        """The best k passages by words and by meaning together. Passages without a vector are found by their words."""
        talk = SearchQuery(query.talk if query.talk_weight > 0 else "")
        vector, talk_vector = self._query_vectors(query, talk)
        with self._database.connection() as connection:
            state = _search_state(connection)
            if vector or talk_vector:
                self._check_embedder(state)
            bounds = self._bounds(connection, query.where, query.reach, state)
            found = _find(connection, query, vector, state, bounds)
            of_talk = _find(connection, talk, talk_vector, state, bounds) if talk.literal else None
            scores = fused(found, of_talk, query.talk_weight)
            chosen = best(scores, found.words, k)
            rows = passage_rows(connection, chosen, query.reach)
        return hits(chosen, scores, found, {row["id"]: to_passage(row) for row in rows})

    def _query_vectors(self, *queries: SearchQuery) -> list[str | None]:
        """The vectors to search near. None for a query without words, and for all while the library has no vectors. No
        connection is held while the network runs."""
        questions = [each.question if words(each.question) else "" for each in queries]
        if any(questions):
            with self._database.connection() as connection:
                state = _search_state(connection)
            self._check_embedder(state)
            if state["embedded"]:
                vectors = (query_vector(self.embedder, each) if each else None for each in questions)
                return [None if each is None else vector_text(each) for each in vectors]
        return [None for _ in questions]

    def _bounds(self, connection: Connection, where: Filter, reach: Reach, state: Mapping[str, Any]) -> Bounds:
        """What a filter and a reach let through. The passages of documents that are not attached to a conversation are
        remembered until the library changes."""
        scoped = self._has_scoped(connection, state["changes"])
        if not where and not scoped and not reach.tenant and not reach.collections:
            return Bounds()
        most = min(FEW_PASSAGES, max(500, state["passages"] // 20))
        own = dataclasses.replace(reach, conversations=())
        key = where, own, state["changes"]
        known = self._filters.get(key)
        if known is None:
            known = (passages_fitting(connection, *within(own, where), most),)
            with self._lock:
                self._filters = dict([*self._filters.items(), (key, known)][-REMEMBERED_FILTERS:])
        few = known[0]
        if few is not None and reach.conversations and scoped:
            more = passages_fitting(connection, *attached(reach), most)
            few = np.concatenate([few, more]) if more is not None else None
        return Bounds(few) if few is not None else Bounds(None, *within(reach, where))

    def locate(self, sentence: str, reach: Reach = LIBRARY) -> Passage | None:
        """The earliest passage that contains this sentence word for word, or else all its words."""
        needed = indexed_words(sentence)
        return first_with(sentence, self._with_words(needed, reach)) if needed else None

    def held(self, words: Sequence[str], reach: Reach = LIBRARY) -> dict[str, int]:
        """The words that occur in some form in a passage within reach, each with its number of passages."""
        forms = {word: form[0] for word in words if len(form := indexed_words(word)) == 1}
        with self._database.connection() as connection:
            counts = {form: len(entries) for form, entries in fetch(connection, forms.values()).items()}
        reached = {form for form in counts if next(self._with_words([form], reach), None)}
        return {word: counts[form] for word, form in forms.items() if form in reached}

    def _with_words(self, needed: Sequence[str], reach: Reach) -> Iterator[Passage]:
        """Passages that contain the rarest of the words, the earliest first."""
        with self._database.connection() as connection:
            entries = fetch(connection, rarest(connection, needed, TELLING_WORDS)).values()
        common: npt.NDArray[np.int32] = np.empty(0, np.int32)
        for place, of_word in enumerate(sorted(entries, key=len)):
            common = np.intersect1d(common, of_word["passage"]) if place else np.unique(of_word["passage"])
        ids = self._ids_within(reach, common.tolist())[:LOCATE_CANDIDATES]
        for start in range(0, len(ids), LOCATE_BATCH):
            yield from self._passages(ids[start : start + LOCATE_BATCH], reach)

    def _ids_within(self, reach: Reach, ids: list[int]) -> list[int]:
        """The passages that are within reach, in order. A list that is short anyway is not filtered here."""
        if len(ids) <= LOCATE_CANDIDATES or (reach == LIBRARY and not self._is_scoped()):
            return ids
        fits, values = within(reach)
        rows = self._rows(
            "SELECT passages.id FROM passages JOIN documents ON documents.id = document_id"
            f" WHERE passages.id = ANY(%(ids)s) AND {fits} ORDER BY passages.id LIMIT {LOCATE_CANDIDATES}",
            {**values, "ids": ids},
        )
        return [row["id"] for row in rows]

    def passage(self, passage_id: int, reach: Reach = LIBRARY) -> Passage | None:
        return next(iter(self._passages([passage_id], reach)), None)

    def around(self, passage: Passage, each_side: int = 1) -> list[Passage]:
        """The passage with up to `each_side` neighbours before and after it in the document, in order."""
        rows = self._database.rows(
            f"{PASSAGES} WHERE document_id = %s AND position BETWEEN %s AND %s ORDER BY position",
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
        fits, values = within(reach)
        if isinstance(document_id, str):
            found = self._documents(f"key = %(key)s AND {fits}", {**values, "key": key_of(storable(document_id))})
        else:
            found = self._documents(f"id = %(id)s AND {fits}", {**values, "id": document_id})
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
            pages = (
                self.find_documents(search, each, after, limit, reach) for each in set(map(label, reach.collections))
            )
            return sorted(chain.from_iterable(pages), key=lambda each: each.source)[:limit]
        fits, values = within(reach)
        if not reach.conversations:
            fits += f" AND {OWNER_HASH} = hashtextextended('/' || %(tenant)s, 0)"
        fits += f" AND {SOURCE_START} >= left(%(after)s, 500) AND source > %(after)s"
        values["after"] = storable(after)
        if collection is not None:
            fits += f" AND {COLLECTION_HASH} = hashtextextended(%(collection)s, 0) AND collection = %(collection)s"
            values["collection"] = label(collection)
        if not search.split():
            return self._documents(fits, values, limit)
        with self._database.write() as tx, tx.cursor("found") as rows:
            rows.execute(f"SELECT id, title, source FROM documents WHERE {fits} {BY_SOURCE}", values)
            found = list(islice((row["id"] for row in rows if holds(search, row["title"], row["source"])), limit))
        return self._documents("id = ANY(%(found)s)", {"found": found})

    def _documents(self, fits: LiteralString, values: dict[str, Any], limit: int | None = None) -> list[DocumentInfo]:
        statement: LiteralString = f"{DOCUMENTS} WHERE {fits} {BY_SOURCE} LIMIT %(limit)s"
        return [to_info(row) for row in self._rows(statement, {**values, "limit": limit})]

    def terms(self, reach: Reach = LIBRARY) -> Terms:
        """The titles of the documents and the headings in them, up to a limit. Returns the same object until the
        library changes."""
        fits, values = attached(reach)
        (state,) = self._rows(
            "SELECT value AS changes, EXISTS (SELECT FROM documents"
            f" WHERE {fits}) AS more FROM index_meta WHERE name = 'changes'",
            values,
        )
        own = dataclasses.replace(reach, conversations=())
        known = self._terms.get(own, state["changes"], lambda: self._terms_of(*base(own)))
        if not state["more"]:
            return known
        return self._terms.get(reach, state["changes"], lambda: and_those(known, self._terms_of(fits, values)))

    def _terms_of(self, fits: LiteralString, values: dict[str, Any]) -> Terms:
        titles = self._rows(f"SELECT title FROM documents WHERE {fits} ORDER BY id LIMIT {MOST_TITLES}", values)
        headings = self._rows(
            "SELECT heading FROM passages JOIN documents ON documents.id = document_id"
            f" WHERE {fits} ORDER BY passages.id LIMIT {MOST_HEADINGS}",
            values,
        )
        return (
            tuple(each["title"] for each in titles),
            tuple(dict.fromkeys(each["heading"] for each in headings if each["heading"])),
        )

    def collections(self, reach: Reach = LIBRARY) -> dict[str, Counts]:
        """The collections within reach and what each contains; "" stands for the documents in no collection."""
        (own, values), (besides, more) = base(reach), attached(reach)
        rows = self._rows(
            "SELECT collection, sum(documents)::integer AS documents, sum(passages)::integer AS passages,"
            " sum(vectors)::integer AS vectors FROM ("
            "SELECT collection, documents, passages, vectors FROM (SELECT *, '' AS attached FROM collections) AS kept"
            f" WHERE documents > 0 AND {own}"
            f" UNION ALL SELECT collection, 1, passages, vectors FROM documents WHERE {besides}"
            ') AS held GROUP BY collection ORDER BY collection COLLATE "C"',
            {**values, **more},
        )
        return {row["collection"]: Counts(row["documents"], row["passages"], row["vectors"]) for row in rows}

    def counts(self, reach: Reach | None = None) -> Counts:
        """The totals within reach, or of the whole index if the reach is None."""
        if reach is not None:
            return total(self.collections(reach).values())
        rows = self._database.rows(
            "SELECT name, value FROM index_meta WHERE name IN ('documents', 'passages', 'vectors')"
        )
        return Counts(**{row["name"]: int(row["value"]) for row in rows})

    def forget_vectors(self, document_id: int) -> None:
        """Delete the vectors of a document, so that they are made again."""
        with self._database.write(lock="library") as tx:
            forgotten = tx.execute(
                "DELETE FROM vectors WHERE passage_id IN (SELECT id FROM passages WHERE document_id = %s)",
                (document_id,),
            ).rowcount
            count_vectors(tx, {document_id: -forgotten})

    def _passages(self, ids: Sequence[int], reach: Reach) -> list[Passage]:
        with self._database.connection() as connection:
            return [to_passage(row) for row in passage_rows(connection, ids, reach)]

    def _is_scoped(self) -> bool:
        with self._database.connection() as connection:
            row = connection.execute("SELECT value FROM index_meta WHERE name = 'changes'").fetchone()
            return self._has_scoped(connection, row["value"] if row else "")

    def _has_scoped(self, connection: Connection, changes: str) -> bool:
        """Whether any document is not simply the library's own. Looked up once per change of the library."""
        known = self._scoped
        if known[0] != changes:
            row = connection.execute(f"SELECT {HAS_SCOPED} AS scoped").fetchone()
            known = self._scoped = changes, bool(row and row["scoped"])
        return known[1]

    def _rows(self, statement: LiteralString, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of a statement with named values."""
        with self._database.connection() as connection:
            return connection.execute(statement, values).fetchall()


def _search_state(connection: Connection) -> dict[str, Any]:
    state = connection.execute(SEARCH_STATE).fetchone()
    assert state is not None
    return state


def _find(
    connection: Connection, query: SearchQuery, vector: str | None, state: Mapping[str, Any], bounds: Bounds
) -> Found:
    found = by_words(connection, query, state, bounds)
    if vector is None:
        return Found(found, {})
    near = by_meaning(connection, vector, bounds)
    others = unplaced(found, near)
    looked_up = cosines(connection, others, vector)
    return Found(found, near | looked_up, frozenset(others) - looked_up.keys())
