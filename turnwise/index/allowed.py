"""What a filter and a reach let through, in the form that both searches need."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from turnwise.index.schema import FIRST, LAST, SCOPED, attached, base, condition
from turnwise.sqlite import Database, reported
from turnwise.types import EVERYTHING, LIBRARY, Filter, Reach

if TYPE_CHECKING:
    import numpy.typing as npt

    Ranges = npt.NDArray[np.int64]  # a row per document: its id, and its first and last passage

REMEMBERED_FILTERS = 32  # with their reaches: a conversation searches with the same ones again
FEW_SCOPED_SHARE = (
    0.1  # share of documents that are not the library's own, up to which they are left out instead of the rest let in
)


class Allowed(NamedTuple):
    """The passages that are let through as booleans by id, how many there are, and their documents. If `others` is
    true, `documents` are those that are not let through."""

    documents: list[int]
    passages: npt.NDArray[np.bool_]
    total: int
    others: bool = False

    def has(self, passages: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of these passages are let through. One that was added later is not known, and not let through."""
        known = passages < len(self.passages)
        return known & self.passages[np.where(known, passages, 0)]

    def and_these(self, more: Ranges) -> Allowed:
        """The same plus the passages of more documents, which were not let through before."""
        passages = np.zeros(max(len(self.passages), int(more[:, 2].max(initial=0)) + 1), dtype=bool)
        passages[: len(self.passages)] = self.passages
        for _, first, last in more.tolist():
            passages[first : last + 1] = True
        added = set(more[:, 0].tolist())
        documents = [each for each in self.documents if each not in added] if self.others else [*self.documents, *added]
        return Allowed(documents, passages, self.total + _size(more), self.others)


class Filters:
    """Resolves filters and reaches to sets of passages, and remembers these until the library changes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[Filter, Reach], tuple[int, Allowed | None]] = OrderedDict()

    def allowed(self, where: Filter, reach: Reach, seq: int) -> Allowed | None:
        """What is let through after the change number `seq`, or None if that is everything. Attachments to the
        conversations of the reach are looked up each time, and pass every filter."""
        found = self._base(where, dataclasses.replace(reach, conversations=()), seq)
        if found is None or not reach.conversations:
            return found
        more = self._ranges(*attached(reach))
        return found.and_these(more) if len(more) else found

    def _base(self, where: Filter, reach: Reach, seq: int) -> Allowed | None:
        key = where, reach
        with self._lock:
            known = self._found.get(key)
            if known is None or known[0] != seq:
                known = self._found[key] = seq, self._resolve(where, reach)
            self._found.move_to_end(key)
            while len(self._found) > REMEMBERED_FILTERS:
                self._found.popitem(last=False)
            return known[1]

    def _resolve(self, where: Filter, reach: Reach) -> Allowed | None:
        if (where, reach) == (EVERYTHING, LIBRARY):
            scoped = self._ranges(f"documents.id IN ({SCOPED})", ())
            if not len(scoped):
                return None
            if len(scoped) <= FEW_SCOPED_SHARE * self._number("SELECT value FROM index_meta WHERE name = 'documents'"):
                return self._without(scoped)
        (fits, values), (own, whose) = condition(where), base(reach)
        return _from_ranges(self._ranges(f"{fits} AND {own}", [*values, *whose]))

    def _without(self, scoped: Ranges) -> Allowed:
        """All passages except those of these documents."""
        passages = np.ones(self._number("SELECT coalesce(max(id), 0) FROM passages") + 1, dtype=bool)
        for _, first, last in scoped.tolist():
            passages[first : last + 1] = False
        total = self._number("SELECT value FROM index_meta WHERE name = 'passages'") - _size(scoped)
        return Allowed(scoped[:, 0].tolist(), passages, max(total, 0), others=True)

    def _ranges(self, clause: str, values: Sequence[str]) -> Ranges:
        with reported(self._database.path):
            rows = (
                self._database.connection()
                .execute(
                    f"SELECT id, {FIRST}, {LAST} FROM documents WHERE documents.passages > 0 AND {clause}",
                    values,
                )
                .fetchall()
            )
        return np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, 3)

    def _number(self, statement: str) -> int:
        with reported(self._database.path):
            return int(self._database.connection().execute(statement).fetchone()[0])


def _from_ranges(ranges: Ranges) -> Allowed:
    # +1 where a document's passages begin, -1 after their end: the running sum is 1 inside.
    steps = np.zeros(int(ranges[:, 2].max(initial=0)) + 2, dtype=np.int8)
    steps[ranges[:, 1]] += 1
    steps[ranges[:, 2] + 1] -= 1
    passages = np.cumsum(steps, dtype=np.int8).astype(bool)
    return Allowed(ranges[:, 0].tolist(), passages, int(np.count_nonzero(passages)))


def _size(ranges: Ranges) -> int:
    return int((ranges[:, 2] - ranges[:, 1] + 1).sum())
