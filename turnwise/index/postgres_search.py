"""Searching a library in PostgreSQL: by words, by vectors, and within a filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple

import numpy as np

from turnwise.index.fusion import DEPTH
from turnwise.index.postgres_schema import PASSAGES, within
from turnwise.index.postings import State, bm25, fetch
from turnwise.index.words import weighted_words
from turnwise.types import Reach, SearchQuery

if TYPE_CHECKING:
    import numpy.typing as npt

    from turnwise.postgres import Connection
    from turnwise.types import Vectors

SEARCH_CANDIDATES = 200  # that the search for near vectors keeps at hand (hnsw.ef_search)
MAX_SCANNED_VECTORS = 200_000  # before that search gives up on a filter (hnsw.max_scan_tuples)

SEARCH_STATE: LiteralString = """
    SELECT coalesce(sum(passages), 0)::integer AS passages, coalesce(sum(words), 0)::bigint AS words,
        EXISTS (SELECT FROM removed) AS removed,
        (SELECT value FROM index_meta WHERE name = 'embedder') AS embedder,
        (SELECT value FROM index_meta WHERE name = 'changes') AS changes,
        EXISTS (SELECT FROM vectors) AS embedded
    FROM segments
"""


class Bounds(NamedTuple):
    """What a search is limited to: passages if there are few, else a condition on documents; neither if it searches
    everything."""

    only: npt.NDArray[np.int32] | None = None
    fits: LiteralString = ""
    values: Mapping[str, Any] = {}


def passages_fitting(
    connection: Connection, fits: LiteralString, values: Mapping[str, Any], most: int
) -> npt.NDArray[np.int32] | None:
    """The passages of the documents that meet a condition, or None if there are more than `most`."""
    row = connection.execute(
        "SELECT coalesce(array_agg(id), '{}') AS ids FROM ("
        f"SELECT passages.id FROM documents JOIN passages ON document_id = documents.id WHERE {fits}"
        " LIMIT %(limit)s) AS fitting",
        {**values, "limit": most + 1},
    ).fetchone()
    assert row is not None
    return np.array(row["ids"], dtype=np.int32) if len(row["ids"]) <= most else None


def by_words(connection: Connection, query: SearchQuery, state: Mapping[str, Any], bounds: Bounds) -> dict[int, float]:
    """The best passages by BM25 with their scores, the best first."""
    weights = weighted_words(query)
    if not weights:
        return {}
    scores = bm25(weights, fetch(connection, weights), State(state["passages"], state["words"]), bounds.only)
    if bounds.only is not None or not (bounds.fits or state["removed"]):
        return scores.best(DEPTH)
    wanted = 2 * DEPTH
    while True:
        candidates = scores.best(wanted)
        rows = connection.execute(
            "SELECT passages.id FROM passages JOIN documents ON documents.id = document_id"
            f" WHERE passages.id = ANY(%(ids)s) AND {bounds.fits or 'true'}",
            {**bounds.values, "ids": list(candidates)},
        )
        there = {row["id"] for row in rows}
        if len(there) >= DEPTH or len(candidates) < wanted:
            break
        wanted *= 8
    return dict(islice(((passage, score) for passage, score in candidates.items() if passage in there), DEPTH))


def by_meaning(connection: Connection, vector: str, bounds: Bounds) -> dict[int, float]:
    """The passages nearest to a vector with their cosines, the nearest first."""
    if bounds.only is not None:
        return _nearest(
            connection,
            "SELECT passage_id, vector <=> %(vector)s::halfvec AS distance FROM vectors"
            " WHERE passage_id = ANY(%(only)s) ORDER BY (vector <=> %(vector)s::halfvec) + 0",
            {"vector": vector, "only": bounds.only.tolist()},
        )
    among: LiteralString = "JOIN passages ON passages.id = passage_id JOIN documents ON documents.id = document_id"
    return _nearest(
        connection,
        f"SELECT passage_id, vector <=> %(vector)s::halfvec AS distance FROM vectors {among if bounds.fits else ''}"
        f" WHERE {bounds.fits or 'true'} ORDER BY distance",
        {**bounds.values, "vector": vector},
    )


def _nearest(connection: Connection, statement: LiteralString, values: Mapping[str, Any]) -> dict[int, float]:
    with connection.transaction():
        with connection.pipeline():
            connection.execute(f"SET LOCAL hnsw.ef_search = {SEARCH_CANDIDATES}")
            connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
            connection.execute(f"SET LOCAL hnsw.max_scan_tuples = {MAX_SCANNED_VECTORS}")
            found = connection.execute(f"{statement} LIMIT {DEPTH}", values)
        rows = found.fetchall()
    rows.sort(key=lambda row: (row["distance"], row["passage_id"]))
    return {row["passage_id"]: 1 - row["distance"] for row in rows}


def passage_rows(connection: Connection, ids: Sequence[int], reach: Reach) -> list[dict[str, Any]]:
    """The rows of the passages that are within reach, ordered by id."""
    fits, values = within(reach)
    statement: LiteralString = f"{PASSAGES} WHERE passages.id = ANY(%(ids)s) AND {fits} ORDER BY passages.id"
    return connection.execute(statement, {**values, "ids": list(ids)}).fetchall()


def cosines(connection: Connection, ids: Sequence[int], vector: str) -> dict[int, float]:
    """The cosines of the passages that have a vector."""
    if not ids:
        return {}
    near = connection.execute(
        "SELECT passage_id, 1 - (vector <=> %s::halfvec) AS cosine FROM vectors WHERE passage_id = ANY(%s)",
        (vector, list(ids)),
    )
    return {row["passage_id"]: row["cosine"] for row in near}


def vector_text(vector: Vectors) -> str:
    return "[" + ",".join(f"{value:.7g}" for value in vector.tolist()) + "]"
