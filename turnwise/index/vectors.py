"""The library's vectors in memory, kept in step with the database."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from turnwise.sqlite import Database, reported

if TYPE_CHECKING:
    import numpy.typing as npt

    from turnwise.types import Vectors

    Integers = npt.NDArray[np.int64]

_STATE = """
    SELECT (SELECT value FROM index_meta WHERE name = 'removals') AS removals,
           (SELECT coalesce(max(seq), 0) FROM vectors) AS latest
"""


def to_blob(vector: Vectors) -> bytes:
    """A vector as it is stored: in half precision, which moves a cosine by less than 0.001."""
    return vector.astype(np.float16).tobytes()


class Nearness(NamedTuple):
    """How near the passages are to a question."""

    passages: Integers
    cosines: Vectors

    def ranks(self, depth: int) -> dict[int, int]:
        """The nearest passages, at most `depth`, with their ranks from 1."""
        nearest = np.argpartition(-self.cosines, depth)[:depth] if len(self.cosines) > depth else slice(None)
        passages, cosines = self.passages[nearest], self.cosines[nearest]
        ranked = passages[np.lexsort((passages, -cosines))]
        return {int(passage): rank for rank, passage in enumerate(ranked, 1)}

    def cosines_of(self, passages: Sequence[int]) -> dict[int, float]:
        """The cosines of those passages that have one."""
        rows = np.flatnonzero(np.isin(self.passages, passages))
        return {int(self.passages[row]): float(self.cosines[row]) for row in rows}


NOTHING_NEAR = Nearness(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))


class Snapshot(NamedTuple):
    """The vectors at one moment, a row each, and the passages they belong to."""

    passages: Integers
    vectors: Vectors

    def nearness(self, question: Vectors) -> Nearness:
        return Nearness(self.passages, self.vectors @ question)


class VectorTable:
    """The vectors of a database. A look costs one small query while nothing changed, else what changed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._removals = self._latest = self._count = 0
        self._keys: Integers = np.empty((0, 2), dtype=np.int64)  # seq, passage id
        self._vectors: Vectors = np.empty((0, 0), dtype=np.float32)

    def snapshot(self) -> Snapshot:
        """The vectors as they now stand in the database, whoever wrote them."""
        with self._lock, reported(self._database.path):
            # The state is read first: what changes while we read the rest is seen again at the next look.
            state = self._database.connection().execute(_STATE).fetchone()
            if int(state["removals"]) != self._removals:
                self._drop_removed()
                self._removals = int(state["removals"])
            if state["latest"] > self._latest:
                self._append_new()
            return Snapshot(self._keys[: self._count, 1], self._vectors[: self._count])

    def _drop_removed(self) -> None:
        alive = np.array([row["seq"] for row in self._database.connection().execute("SELECT seq FROM vectors")])
        kept = np.isin(self._keys[: self._count, 0], alive)
        self._keys, self._vectors = self._keys[: self._count][kept], self._vectors[: self._count][kept]
        self._count = len(self._keys)

    def _append_new(self) -> None:
        query = "SELECT seq, passage_id, vector FROM vectors WHERE seq > ? ORDER BY seq"
        rows = self._database.connection().execute(query, (self._latest,)).fetchall()
        if not rows:
            return
        keys = np.array([(row["seq"], row["passage_id"]) for row in rows], dtype=np.int64)
        vectors = np.frombuffer(b"".join(row["vector"] for row in rows), dtype=np.float16).reshape(len(rows), -1)
        self._reserve(self._count + len(rows), vectors.shape[1])
        self._keys[self._count : self._count + len(rows)] = keys
        self._vectors[self._count : self._count + len(rows)] = vectors
        self._count += len(rows)
        self._latest = int(keys[-1, 0])

    def _reserve(self, rows: int, dimension: int) -> None:
        """Room for that many rows. Earlier snapshots keep the arrays they have, and never see rows past their own."""
        if rows <= len(self._keys):
            return
        room = max(rows, len(self._keys) * 3 // 2)
        keys, vectors = np.empty((room, 2), dtype=np.int64), np.empty((room, dimension), dtype=np.float32)
        keys[: self._count] = self._keys[: self._count]
        vectors[: self._count] = self._vectors[: self._count].reshape(self._count, dimension)
        self._keys, self._vectors = keys, vectors
