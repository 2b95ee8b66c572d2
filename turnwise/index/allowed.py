"""What a filter lets through, as both searches want it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from turnwise.index.schema import condition
from turnwise.sqlite import Database, reported
from turnwise.types import Filter

if TYPE_CHECKING:
    import numpy.typing as npt

REMEMBERED = 8  # filters: a conversation asks with the same one again


class Allowed(NamedTuple):
    """The documents that a filter lets through, their passages as truth values by id, and how many these are."""

    documents: list[int]
    passages: npt.NDArray[np.bool_]
    total: int

    def has(self, passages: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of these passages are let through; one that came later is not known, and not let through."""
        known = passages < len(self.passages)
        return known & self.passages[np.where(known, passages, 0)]


class Filters:
    """Filters made into sets of passages, and remembered until the library changes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._found: OrderedDict[Filter, tuple[int, Allowed]] = OrderedDict()

    def allowed(self, where: Filter, seq: int) -> Allowed:
        """What the filter lets through when the log has come to `seq`."""
        with self._lock:
            known = self._found.get(where)
            if known is None or known[0] != seq:
                known = self._found[where] = seq, self._resolve(where)
            self._found.move_to_end(where)
            while len(self._found) > REMEMBERED:
                self._found.popitem(last=False)
            return known[1]

    def _resolve(self, where: Filter) -> Allowed:
        clause, values = condition(where)
        with reported(self._database.path):
            rows = (
                self._database.connection()
                .execute(
                    "SELECT documents.id, min(passages.id), max(passages.id) FROM documents"
                    f" JOIN passages ON document_id = documents.id WHERE {clause} GROUP BY documents.id",
                    values,
                )
                .fetchall()
            )
        ranges = np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, 3)
        # +1 where a document's passages begin, -1 after their end: the running sum is 1 inside.
        steps = np.zeros(int(ranges[:, 2].max(initial=0)) + 2, dtype=np.int8)
        steps[ranges[:, 1]] += 1
        steps[ranges[:, 2] + 1] -= 1
        passages = np.cumsum(steps, dtype=np.int8).astype(bool)
        return Allowed(ranges[:, 0].tolist(), passages, int(np.count_nonzero(passages)))
