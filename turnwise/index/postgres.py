"""The library in PostgreSQL: documents, their passages, postings of their words and vectors, searched together."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple

import numpy as np

from turnwise.errors import LibraryError
from turnwise.index.fusion import DEPTH, Found, best, fused, hits, unplaced
from turnwise.index.postgres_schema import (
    COLLECTED,
    COLLECTIONS,
    DOCUMENTS,
    IN_ORDER,
    MIGRATIONS,
    OWNED,
    PASSAGES,
    SCOPED,
    START,
    VECTOR_INDEX,
    attached,
    base,
    key_of,
    label,
    of_hidden,
    to_hidden,
    to_info,
    to_passage,
    to_reference,
    within,
)
from turnwise.index.postings import State, bm25, fetch, rarest, tidy, write_removed, write_segment
from turnwise.index.terms import MOST_HEADINGS, MOST_TITLES, RememberedTerms, Terms, and_those
from turnwise.index.words import cited, embedded_text, holds, indexed_words, searched_text, weighted_words
from turnwise.postgres import Database, storable
from turnwise.text import with_heading, words
from turnwise.types import (
    LIBRARY,
    Chunk,
    Counts,
    Document,
    DocumentInfo,
    Embedder,
    Filter,
    Flag,
    Hidden,
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

PUT_AT_ONCE = 1000  # passages a transaction, about
FEW = 5000  # passages that a filter leaves up to which their vectors are all compared; and not more than a 20th of all
REMEMBERED = 32  # filters and reaches: a conversation asks with the same ones again
BREADTH = 200  # candidates that the search for near vectors keeps in hand (hnsw.ef_search)
FARTHEST = 200_000  # vectors that it looks at before it gives up on a filter (hnsw.max_scan_tuples)
NONE = Counts(0, 0, 0)
TELLING = 8  # rare words of a sentence by which the passages that may hold it are found
LOCATED_AMONG, LOCATED_AT_ONCE = 1000, 50  # passages

SEARCHED: LiteralString = """
    SELECT coalesce(sum(passages), 0)::integer AS passages, coalesce(sum(words), 0)::bigint AS words,
        EXISTS (SELECT FROM removed) AS removed,
        (SELECT value FROM index_meta WHERE name = 'embedder') AS embedder,
        (SELECT value FROM index_meta WHERE name = 'changes') AS changes,
        EXISTS (SELECT FROM vectors) AS embedded
    FROM segments
"""


class Bounds(NamedTuple):
    """What a search looks at: the passages where they are few, else a condition on documents; neither where it looks at
    all there is."""

    only: npt.NDArray[np.int32] | None = None
    fits: LiteralString = ""
    values: Mapping[str, Any] = {}


class PostgresIndex:
    """A library in a database. Its methods may be called from several threads, processes and machines."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self.embedder = embedder
        self._filters: dict[tuple[Filter, Reach, str], tuple[npt.NDArray[np.int32] | None]] = {}
        self._terms = RememberedTerms()
        self._scoped = ("", False)  # whether any document is not simply the library's own, and at which change
        self._lock = threading.Lock()
        database.migrate("index", MIGRATIONS)

    def close(self) -> None:
        self._database.close()

    # --- putting in and taking out --------------------------------------------------------------------------------

    def put(self, documents: Iterable[Document]) -> list[Outcome]:
        """Put documents in, each in place of the one of its source unless the digest is the same."""
        outcomes: list[Outcome] = []
        for batch in _batches(map(storable_document, documents)):
            with self._database.write(lock="library") as tx:
                outcomes += _put(tx, batch)
            tidy(self._database)
        return outcomes

    def digest(self, source: str) -> str | None:
        rows = self._database.rows("SELECT hash FROM documents WHERE key = %s", key_of(storable(source)))
        return str(rows[0]["hash"]) if rows else None

    def remove(self, source: str) -> bool:
        """Take a document out, everywhere. False where there is none of that source."""
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
        """Keep what a check found in passages, by their ids."""
        with self._database.write() as tx:
            tx.execute(
                "UPDATE passages SET flag = found.flag FROM unnest(%s::integer[], %s::text[]) AS found (id, flag)"
                " WHERE passages.id = found.id",
                (list(flags), [storable(str(flag)) for flag in flags.values()]),
            )

    def unchecked(self, by: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Passages that this check, or where it has no name none, has looked at, in order of their ids, from the one
        after."""
        select: LiteralString = "SELECT id, heading, text FROM passages WHERE id > %s AND {} ORDER BY id LIMIT %s"
        if by:
            rest = select.format("split_part(coalesce(flag, ''), '|', 1) <> %s")
            rows = self._database.rows(rest, after, by, limit)
        else:
            rows = self._database.rows(select.format("flag IS NULL"), after, limit)
        return [(row["id"], with_heading(row["heading"], row["text"])) for row in rows]

    def unchecked_in(self, sources: Iterable[str] | None = None) -> dict[str, int]:
        """How many passages no check has looked at, by the sources of their documents: all, or these."""
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
        """What a check found in the passages of documents, by the ids of those and the positions of these."""
        return self._flags("document_id = ANY(%s)", list(document_ids))

    def _flags(self, clause: str, *values: list[int]) -> dict[int, list[tuple[int, Flag]]]:
        found: dict[int, list[tuple[int, Flag]]] = {}
        for row in self._database.rows(
            "SELECT document_id, position, flag FROM passages"
            f" WHERE position('|' IN flag) > 0 AND {clause} ORDER BY id",
            *values,
        ):
            found.setdefault(row["document_id"], []).append((row["position"], Flag.read(row["flag"]) or Flag("")))
        return found

    def suspects(self) -> list[Suspect]:
        """The documents in which a check found something, those that are trusted too, in order of source."""
        found = self._flags("true")
        documents = self._database.rows(
            f"{DOCUMENTS} WHERE hidden <> '[]' OR id = ANY(%s) ORDER BY source", list(found)
        )
        return [
            Suspect(each.source, each.title, tuple(found.get(each.id, ())), each.hidden, each.trusted)
            for each in map(to_info, documents)
        ]

    def trust(self, source: str, trusted: bool = True) -> bool:
        """Say that a document is fine as it is, or no more. False where there is none of that source."""
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
        """Keep the vectors of passages that are still there and have none. Gives how many."""
        with self._database.write(lock="library") as tx:
            self._require_same_embedder(tx)
            claim(tx, self.embedder.name, self.embedder.dimension)
            _keep_vector_index(tx)
            made = tx.execute(
                "WITH made AS (INSERT INTO vectors SELECT id, vector::halfvec FROM passages"
                " JOIN unnest(%s::integer[], %s::text[]) AS given (passage, vector) ON id = passage"
                " ON CONFLICT DO NOTHING RETURNING passage_id)"
                " SELECT document_id, count(*) AS number FROM made JOIN passages ON id = passage_id GROUP BY 1",
                (list(vectors), [_vector_text(vector) for vector in vectors.values()]),
            ).fetchall()
            count_vectors(tx, {row["document_id"]: row["number"] for row in made})
            return sum(row["number"] for row in made)

    def _require_same_embedder(self, connection: Connection) -> None:
        row = connection.execute(SEARCHED).fetchone()
        assert row is not None
        self._check_embedder(row)

    def _check_embedder(self, state: Mapping[str, Any]) -> None:
        """Vectors of two embedders cannot be compared; an empty table may change hands."""
        if state["embedded"] and state["embedder"] != self.embedder.name:
            raise LibraryError(
                f"This library was built with the embedder {state['embedder']}, and the one set is"
                f" {self.embedder.name}.",
                "Set `embedder` back to that one, or add your documents to a new library.",
            )

    # --- looking --------------------------------------------------------------------------------------------------

    def search(self, query: SearchQuery, k: int) -> list[Hit]:
        """The best k passages by words and by meaning together. Passages without a vector are found by their words."""
        with self._database.connection() as connection:
            state = connection.execute(SEARCHED).fetchone()
            assert state is not None
            bounds = self._bounds(connection, query.where, query.reach, state)
            found = self._found(connection, query, state, bounds)
            talk = None
            if query.talk and query.talk_weight > 0:
                talk = self._found(connection, SearchQuery(query.talk), state, bounds)
            scores = fused(found, talk, query.talk_weight)
            chosen = best(scores, found.words, k)
            rows = _passages(connection, chosen, query.reach)
        return hits(chosen, scores, found, {row["id"]: to_passage(row) for row in rows})

    def _found(
        self,
        connection: Connection,
        query: SearchQuery,
        state: Mapping[str, Any],
        bounds: Bounds,
    ) -> Found:
        by_words, question = _lexical(connection, query, state, bounds), self._question(query, state)
        if question is None:
            return Found(by_words, {})
        near = _near(connection, question, bounds)
        others = unplaced(by_words, near)
        looked_up = _cosines(connection, others, question)
        return Found(by_words, near | looked_up, frozenset(others) - looked_up.keys())

    def _bounds(self, connection: Connection, where: Filter, reach: Reach, state: Mapping[str, Any]) -> Bounds:
        """What a filter and a reach leave. What was found of the documents that are not attached to a conversation is
        remembered until the library changes."""
        scoped = self._has_scoped(connection, state["changes"])
        if not where and not scoped and not reach.tenant and not reach.collections:
            return Bounds()
        most = min(FEW, max(500, state["passages"] // 20))
        own = dataclasses.replace(reach, conversations=())
        key = where, own, state["changes"]
        known = self._filters.get(key)
        if known is None:
            known = (_fitting(connection, *within(own, where), most),)
            with self._lock:
                self._filters = dict([*self._filters.items(), (key, known)][-REMEMBERED:])
        few = known[0]
        if few is not None and reach.conversations and scoped:
            more = _fitting(connection, *attached(reach), most)
            few = np.concatenate([few, more]) if more is not None else None
        return Bounds(few) if few is not None else Bounds(None, *within(reach, where))

    def _question(self, query: SearchQuery, state: Mapping[str, Any]) -> str | None:
        """The vector to look near; None where there is nothing to compare or to ask."""
        if not state["embedded"] or not words(query.question):
            return None
        self._check_embedder(state)
        return _vector_text(self.embedder.embed_query(query.question))

    def locate(self, sentence: str, reach: Reach = LIBRARY) -> Passage | None:
        """The passage that holds this sentence word for word, else the one that holds all its words; the earliest."""
        wanted, said = " ".join(sentence.split()), indexed_words(sentence)
        holding: Passage | None = None
        for passage in self._with_words(said, reach) if said else ():
            if wanted in " ".join(passage.text.split()):
                return passage
            if holding is None and set(said) <= set(indexed_words(passage.text)):
                holding = passage
        return holding

    def held(self, words: Sequence[str], reach: Reach = LIBRARY) -> dict[str, int]:
        """Of these words those that a passage within reach has in some form, and in how many passages it stands."""
        forms = {word: form[0] for word in words if len(form := indexed_words(word)) == 1}
        with self._database.connection() as connection:
            counts = {form: len(entries) for form, entries in fetch(connection, forms.values()).items()}
        reached = {form for form in counts if next(self._with_words([form], reach), None)}
        return {word: counts[form] for word, form in forms.items() if form in reached}

    def _with_words(self, said: Sequence[str], reach: Reach) -> Iterator[Passage]:
        """Passages that have the most telling of the words, the earliest first."""
        with self._database.connection() as connection:
            entries = fetch(connection, rarest(connection, said, TELLING)).values()
        common: npt.NDArray[np.int32] = np.empty(0, np.int32)
        for place, of_word in enumerate(sorted(entries, key=len)):
            common = np.intersect1d(common, of_word["passage"]) if place else np.unique(of_word["passage"])
        ids = self._reached(common.tolist(), reach)[:LOCATED_AMONG]
        for start in range(0, len(ids), LOCATED_AT_ONCE):
            yield from self._passages(ids[start : start + LOCATED_AT_ONCE], reach)

    def _reached(self, ids: list[int], reach: Reach) -> list[int]:
        """Those of the passages that are within reach, in order, where many may be in the way that are not."""
        if len(ids) <= LOCATED_AMONG or (reach == LIBRARY and not self._is_scoped()):
            return ids
        fits, values = within(reach)
        rows = self._named(
            "SELECT passages.id FROM passages JOIN documents ON documents.id = document_id"
            f" WHERE passages.id = ANY(%(ids)s) AND {fits} ORDER BY passages.id LIMIT {LOCATED_AMONG}",
            {**values, "ids": ids},
        )
        return [row["id"] for row in rows]

    def passage(self, passage_id: int, reach: Reach = LIBRARY) -> Passage | None:
        return next(iter(self._passages([passage_id], reach)), None)

    def around(self, passage: Passage, reach: int = 1) -> list[Passage]:
        """The passage with its neighbours in the document, as many on each side, in order."""
        rows = self._database.rows(
            f"{PASSAGES} WHERE document_id = %s AND position BETWEEN %s AND %s ORDER BY position",
            passage.document_id,
            passage.position - reach,
            passage.position + reach,
        )
        return [to_passage(row) for row in rows]

    def documents(self, reach: Reach | None = LIBRARY) -> list[DocumentInfo]:
        """The documents within reach, in order of source; every document there is where the reach is None."""
        return self._documents(*within(reach))

    def document(self, document_id: int | str, reach: Reach = LIBRARY) -> DocumentInfo | None:
        """The document of that id or of that source, None where there is none within reach."""
        fits, values = within(reach)
        if isinstance(document_id, str):
            found = self._documents(f"key = %(key)s AND {fits}", {**values, "key": key_of(storable(document_id))})
        else:
            found = self._documents(f"id = %(id)s AND {fits}", {**values, "id": document_id})
        return found[0] if found else None

    def attachments(self, reach: Reach) -> list[DocumentInfo]:
        """The documents that are attached to the conversations of the reach, in order of source."""
        return self._documents(*attached(reach))

    def find_documents(
        self, search: str = "", collection: str | None = None, after: str = "", limit: int = 100, reach: Reach = LIBRARY
    ) -> list[DocumentInfo]:
        """Documents within reach whose title or source holds the words, in order of source, from the one after."""
        if collection is None and reach.collections and not reach.conversations:  # each has an index in that order
            pages = (
                self.find_documents(search, each, after, limit, reach) for each in set(map(label, reach.collections))
            )
            return sorted(chain.from_iterable(pages), key=lambda each: each.source)[:limit]
        fits, values = within(reach)
        if not reach.conversations:
            fits += f" AND {OWNED} = hashtextextended('/' || %(tenant)s, 0)"
        fits += f" AND {START} >= left(%(after)s, 500) AND source > %(after)s"
        values["after"] = storable(after)
        if collection is not None:
            fits += f" AND {COLLECTED} = hashtextextended(%(collection)s, 0) AND collection = %(collection)s"
            values["collection"] = label(collection)
        if not search.split():
            return self._documents(fits, values, limit)
        with self._database.write() as tx, tx.cursor("found") as rows:
            rows.execute(f"SELECT id, title, source FROM documents WHERE {fits} {IN_ORDER}", values)
            found = list(islice((row["id"] for row in rows if holds(search, row["title"], row["source"])), limit))
        return self._documents("id = ANY(%(found)s)", {"found": found})

    def _documents(self, fits: LiteralString, values: dict[str, Any], limit: int | None = None) -> list[DocumentInfo]:
        statement: LiteralString = f"{DOCUMENTS} WHERE {fits} {IN_ORDER} LIMIT %(limit)s"
        return [to_info(row) for row in self._named(statement, {**values, "limit": limit})]

    def terms(self, reach: Reach = LIBRARY) -> Terms:
        """The titles of the documents and the headings in them, as far as a library has few; the same value again
        until the library changes."""
        fits, values = attached(reach)
        (state,) = self._named(
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
        titles = self._named(f"SELECT title FROM documents WHERE {fits} ORDER BY id LIMIT {MOST_TITLES}", values)
        headings = self._named(
            "SELECT heading FROM passages JOIN documents ON documents.id = document_id"
            f" WHERE {fits} ORDER BY passages.id LIMIT {MOST_HEADINGS}",
            values,
        )
        return (
            tuple(each["title"] for each in titles),
            tuple(dict.fromkeys(each["heading"] for each in headings if each["heading"])),
        )

    def collections(self, reach: Reach = LIBRARY) -> dict[str, Counts]:
        """The collections within reach, "" among them where documents are in none, and what each holds."""
        (own, values), (besides, more) = base(reach), attached(reach)
        rows = self._named(
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
        """What there is within reach; all of it where the reach is None."""
        if reach is not None:
            held = self.collections(reach).values()
            return Counts(*(sum(each) for each in zip(*map(dataclasses.astuple, held), strict=True))) if held else NONE
        rows = self._database.rows(
            "SELECT name, value FROM index_meta WHERE name IN ('documents', 'passages', 'vectors')"
        )
        return Counts(**{row["name"]: int(row["value"]) for row in rows})

    def forget_vectors(self, document_id: int) -> None:
        """Let the vectors of a document be made again."""
        with self._database.write(lock="library") as tx:
            forgotten = tx.execute(
                "DELETE FROM vectors WHERE passage_id IN (SELECT id FROM passages WHERE document_id = %s)",
                (document_id,),
            ).rowcount
            count_vectors(tx, {document_id: -forgotten})

    def _passages(self, ids: Sequence[int], reach: Reach) -> list[Passage]:
        with self._database.connection() as connection:
            return [to_passage(row) for row in _passages(connection, ids, reach)]

    def _is_scoped(self) -> bool:
        with self._database.connection() as connection:
            row = connection.execute("SELECT value FROM index_meta WHERE name = 'changes'").fetchone()
            return self._has_scoped(connection, row["value"] if row else "")

    def _has_scoped(self, connection: Connection, changes: str) -> bool:
        """Whether there is a document that is not simply the library's own; looked up once a change."""
        known = self._scoped
        if known[0] != changes:
            row = connection.execute(f"SELECT {SCOPED} AS scoped").fetchone()
            known = self._scoped = changes, bool(row and row["scoped"])
        return known[1]

    def _named(self, statement: LiteralString, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of a statement whose values have names."""
        with self._database.connection() as connection:
            return connection.execute(statement, values).fetchall()


# --- writing ------------------------------------------------------------------------------------------------------


def _put(tx: Connection, documents: Sequence[Document]) -> list[Outcome]:
    """Documents of different sources, in one go."""
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
        same = _described_anew(tx, replaced)
        clear(tx, [each for each in replaced if each not in same])
        ids = write_rows(tx, ((None, time.time(), document) for document in new.values()))
        _write_new(tx, [each for each in zip(ids, new.values(), strict=True) if each[0] not in same])
        count(tx, ids)
        changed(tx)
    return ["unchanged" if key not in new else "updated" if key in known else "added" for key in keys]


def _write_new(tx: Connection, documents: Sequence[tuple[int, Document]]) -> None:
    """The passages of documents by their ids, and the words of these."""
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


def _described_anew(tx: Connection, documents: Mapping[int, Document]) -> Collection[int]:
    """Those of the documents of which only what is said of them is new. Their passages stay, with their vectors: under
    other ids where they are found by other words, for a segment is never changed."""
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
        moved = _moved(tx, [passage for passage, _ in reworded])
        write_segment(tx, ((moved[passage], said) for passage, said in reworded))
    return same.keys()


def _write_flags(tx: Connection, flags: Iterable[tuple[int, Flag | None]]) -> None:
    found = [(storable(str(flag)), passage) for passage, flag in flags if flag]
    if found:
        tx.cursor().executemany("UPDATE passages SET flag = %s WHERE id = %s", found)


def with_same_passages(tx: Connection, documents: Mapping[int, Document]) -> dict[int, tuple[list[int], bool]]:
    """Those of the documents whose title and passages are there as they are, by their ids: the ids of the passages, and
    whether these are also found by the same words."""
    there: dict[int, list[dict[str, Any]]] = {}
    for row in tx.execute(
        'SELECT document_id, passages.id, title, reference, text, heading, page, start, "end" FROM passages'
        " JOIN documents ON documents.id = document_id WHERE document_id = ANY(%s) ORDER BY document_id, position",
        (list(documents),),
    ):
        there.setdefault(row["document_id"], []).append(row)
    same = {}
    for number, rows in there.items():
        document = documents[number]
        chunks = tuple(Chunk(row["text"], row["heading"], row["page"], row["start"], row["end"]) for row in rows)
        if (rows[0]["title"], chunks) == (document.title, document.chunks):
            known = to_reference(rows[0]["reference"])
            same[number] = [row["id"] for row in rows], cited(known) == cited(document.reference)
    return same


def _moved(tx: Connection, passages: Sequence[int]) -> dict[int, int]:
    """Give passages new ids, and their vectors with them."""
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
    """The rows of documents: their ids, None for the one it has or a new one, when they were added, and the rest.
    Gives the ids."""
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
    """Rows of passages: the id, the document's, the position in it, and the rest."""
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
    """Count documents in, or before they change out (-1), with what they hold."""
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
    """Note that documents have so many vectors more."""
    count(tx, more, -1)
    tx.cursor().executemany(
        "UPDATE documents SET vectors = vectors + %s WHERE id = %s", [(number, id_) for id_, number in more.items()]
    )
    count(tx, more)


def changed(tx: Connection) -> None:
    tx.execute("UPDATE index_meta SET value = (value::bigint + 1)::text WHERE name = 'changes'")


def claim(tx: Connection, embedder: str, dimension: int) -> None:
    """Make the table of vectors that embedder's; it is empty, or already so."""
    row = tx.execute("SELECT value FROM index_meta WHERE name = 'embedder'").fetchone()
    if row is not None and row["value"] == embedder:
        return
    tx.execute("DROP INDEX IF EXISTS vectors_by_nearness")
    tx.execute(f"ALTER TABLE vectors ALTER vector TYPE halfvec({int(dimension)})")
    tx.execute(
        "INSERT INTO index_meta VALUES ('embedder', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (embedder,),
    )


def _keep_vector_index(tx: Connection) -> None:
    """Make the index of vectors where there is none: at first, and after a copy that was broken off."""
    row = tx.execute("SELECT to_regclass('vectors_by_nearness') IS NULL AS missing").fetchone()
    if row and row["missing"]:  # who may only write is not asked to make it again
        tx.execute(VECTOR_INDEX)


# --- searching ----------------------------------------------------------------------------------------------------


def _fitting(
    connection: Connection, fits: LiteralString, values: Mapping[str, Any], most: int
) -> npt.NDArray[np.int32] | None:
    """The passages of the documents that fit a condition; None where they are more."""
    row = connection.execute(
        "SELECT coalesce(array_agg(id), '{}') AS ids FROM ("
        f"SELECT passages.id FROM documents JOIN passages ON document_id = documents.id WHERE {fits}"
        " LIMIT %(limit)s) AS fitting",
        {**values, "limit": most + 1},
    ).fetchone()
    assert row is not None
    return np.array(row["ids"], dtype=np.int32) if len(row["ids"]) <= most else None


def _lexical(connection: Connection, query: SearchQuery, state: Mapping[str, Any], bounds: Bounds) -> dict[int, float]:
    """Passages by BM25 with their scores, the best first."""
    weights = weighted_words(query)
    if not weights:
        return {}
    scores = bm25(weights, fetch(connection, weights), State(state["passages"], state["words"]), bounds.only)
    if bounds.only is not None or not (bounds.fits or state["removed"]):
        return scores.best(DEPTH)
    many = 2 * DEPTH
    while True:
        candidates = scores.best(many)
        rows = connection.execute(
            "SELECT passages.id FROM passages JOIN documents ON documents.id = document_id"
            f" WHERE passages.id = ANY(%(ids)s) AND {bounds.fits or 'true'}",
            {**bounds.values, "ids": list(candidates)},
        )
        there = {row["id"] for row in rows}
        if len(there) >= DEPTH or len(candidates) < many:
            break
        many *= 8
    return dict(islice(((passage, score) for passage, score in candidates.items() if passage in there), DEPTH))


def _near(connection: Connection, question: str, bounds: Bounds) -> dict[int, float]:
    """The passages nearest to a question with their cosines, the nearest first."""
    if bounds.only is not None:
        return _nearest(
            connection,
            "SELECT passage_id, vector <=> %(question)s::halfvec AS distance FROM vectors"
            " WHERE passage_id = ANY(%(only)s) ORDER BY (vector <=> %(question)s::halfvec) + 0",
            {"question": question, "only": bounds.only.tolist()},
        )
    among: LiteralString = "JOIN passages ON passages.id = passage_id JOIN documents ON documents.id = document_id"
    return _nearest(
        connection,
        f"SELECT passage_id, vector <=> %(question)s::halfvec AS distance FROM vectors {among if bounds.fits else ''}"
        f" WHERE {bounds.fits or 'true'} ORDER BY distance",
        {**bounds.values, "question": question},
    )


def _nearest(connection: Connection, statement: LiteralString, values: Mapping[str, Any]) -> dict[int, float]:
    with connection.transaction():
        with connection.pipeline():
            connection.execute(f"SET LOCAL hnsw.ef_search = {BREADTH}")
            connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
            connection.execute(f"SET LOCAL hnsw.max_scan_tuples = {FARTHEST}")
            found = connection.execute(f"{statement} LIMIT {DEPTH}", values)
        rows = found.fetchall()
    rows.sort(key=lambda row: (row["distance"], row["passage_id"]))
    return {row["passage_id"]: 1 - row["distance"] for row in rows}


def _passages(connection: Connection, ids: Sequence[int], reach: Reach) -> list[dict[str, Any]]:
    """The rows of those passages that are within reach, in order of their ids."""
    fits, values = within(reach)
    statement: LiteralString = f"{PASSAGES} WHERE passages.id = ANY(%(ids)s) AND {fits} ORDER BY passages.id"
    return connection.execute(statement, {**values, "ids": list(ids)}).fetchall()


def _cosines(connection: Connection, ids: Sequence[int], question: str) -> dict[int, float]:
    """How near those of the passages are that have a vector."""
    if not ids:
        return {}
    near = connection.execute(
        "SELECT passage_id, 1 - (vector <=> %s::halfvec) AS cosine FROM vectors WHERE passage_id = ANY(%s)",
        (question, list(ids)),
    )
    return {row["passage_id"]: row["cosine"] for row in near}


# --- values -------------------------------------------------------------------------------------------------------


def storable_document(document: Document) -> Document:
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


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents that can go in together: of different sources, and not too many passages."""
    batch: dict[str, Document] = {}
    size = 0
    for document in documents:
        if document.source in batch or size >= PUT_AT_ONCE:
            yield list(batch.values())
            batch, size = {}, 0
        batch[document.source] = document
        size += max(len(document.chunks), 1)
    if batch:
        yield list(batch.values())


def _vector_text(vector: Vectors) -> str:
    return "[" + ",".join(f"{value:.7g}" for value in vector.tolist()) + "]"
