"""The vectors of a library as searches use them: those in the files beside the database, and newer ones."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from turnwise.index.allowed import Allowed
from turnwise.index.codes import Rows, coded, cosines, from_blobs, made_room, no_rows
from turnwise.index.files import clear, locked
from turnwise.index.stored import VERSION, Stored, build, builders, library_state, open_stored, read_rows
from turnwise.sqlite import Database, reported

if TYPE_CHECKING:
    from usearch.index import Index as Graph

    from turnwise.index.codes import Floats, Integers, Truths
    from turnwise.types import Vectors

MAX_TAIL_VECTORS = 20_000  # outside the files; with more, the files are made again
MAX_REMOVED_SHARE = 0.25  # of the vectors in the files; with more, the files are made from scratch
COMPARED_VECTORS = 32  # the nearest by their codes are compared exactly; further down, the order of the codes will do
MAX_GRAPH_CANDIDATES = 2000  # asked of the graph; if a filter needs more, a scan is as fast
BUILD_DELAY_SECONDS = 3.0  # before files are made, so that a short command does not start to

UNREADABLE_FILE_ERRORS = (OSError, ValueError, TypeError, LookupError)

log = logging.getLogger(__name__)


Candidate = tuple[float, int, int]  # approximate cosine, number of the vector, its passage


class Table(NamedTuple):
    """The vectors at one moment. `alive` says which of the stored ones are not removed, and `graph` covers the stored
    ones."""

    stored: Stored | None
    alive: Truths
    graph: Graph | None
    tail: Rows

    @property
    def removed(self) -> int:
        return len(self.alive) - int(np.count_nonzero(self.alive))

    def passages(self) -> Integers:
        inside = self.stored.rows.passages[self.alive] if self.stored else np.empty(0, dtype=np.int64)
        return np.concatenate([inside, self.tail.passages])


EMPTY_TABLE = Table(None, np.empty(0, dtype=bool), None, no_rows())


class VectorIndex:
    """The vectors of a database. Each search first follows the database: one small query if nothing has changed, else
    the changes are read. Files are built in the background; until they are done, all vectors are scanned."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder / f"vectors-{VERSION}"
        self._building = folder / "vectors.lock"
        self._lock = threading.Lock()
        self._searching = threading.Lock()  # only one thread at a time may search the graph
        self._table = EMPTY_TABLE
        self._room = no_rows()  # the tail is the first part of it
        self._library = ""
        self._latest = self._changes = 0
        self._checked = False  # whether the files were checked and found whole
        self._gave_up = -1
        self._stop = threading.Event()
        self._work: threading.Thread | None = None

    def near(self, question: Vectors, depth: int, allowed: Allowed | None = None) -> dict[int, float]:
        """The nearest `depth` passages with their cosines, the nearest first. Only the first cosines are exact."""
        if allowed is not None and not allowed.total:
            return {}
        table = self.table()
        found = [*self._near_stored(table, question, depth, allowed), *_scan(table.tail, question, depth, allowed)]
        found.sort(reverse=True)
        first, rest = found[:COMPARED_VECTORS], found[COMPARED_VECTORS:depth]
        exact = self._exact_cosines("seq", question, [seq for _, seq, _ in first])
        ranked = sorted(exact.items(), key=lambda each: (-each[1], each[0]))
        return dict([*ranked, *((passage, near) for near, _, passage in rest)])

    def cosines(self, question: Vectors, passages: Sequence[int]) -> dict[int, float]:
        """The cosines of the passages that have a vector."""
        return self._exact_cosines("passage_id", question, passages)

    def close(self) -> None:
        self._stop.set()
        self.settle()

    def settle(self) -> None:
        """Wait until the background work is done."""
        if (work := self._work) is not None:
            work.join()

    # --- searching ------------------------------------------------------------------------------------------------

    def _near_stored(self, table: Table, question: Vectors, wanted: int, allowed: Allowed | None) -> list[Candidate]:
        if table.stored is None:
            return []
        rows, alive = table.stored.rows, len(table.alive) - table.removed
        left = min(alive, allowed.total) if allowed else alive
        ask = int(wanted * len(rows.seqs) / max(left, 1) * (1.5 if left < len(rows.seqs) else 1))
        if table.graph is not None and ask <= MAX_GRAPH_CANDIDATES:
            with self._searching:
                found = table.graph.search(coded(question[None])[0][0], ask, threads=1)
            keys = found.keys.astype(np.int64)
            fits = table.alive[keys] & (allowed.has(rows.passages[keys]) if allowed else True)
            if np.count_nonzero(fits) >= min(wanted, left):
                keys, near = keys[fits], 1 - found.distances[fits]
                return list(zip(near.tolist(), rows.seqs[keys].tolist(), rows.passages[keys].tolist(), strict=True))
        return _scan(rows, question, wanted, allowed, table.alive)

    def _exact_cosines(self, column: str, question: Vectors, values: Sequence[int]) -> dict[int, float]:
        if not values:
            return {}
        statement = f"SELECT passage_id, vector FROM vectors WHERE {column} IN (SELECT value FROM json_each(?))"
        with reported(self._database.path):
            found = self._database.connection().execute(statement, (json.dumps(list(values)),)).fetchall()
        if not found:
            return {}
        near = from_blobs([row[1] for row in found]) @ question
        return {int(row[0]): cosine for row, cosine in zip(found, near.tolist(), strict=True)}

    # --- following the database -----------------------------------------------------------------------------------

    def table(self) -> Table:
        """The vectors as they are in the database now, whichever process wrote them."""
        with self._lock, reported(self._database.path):
            if library_state(self._database.connection()) != (self._library, self._latest, self._changes):
                with self._database.read() as tx:
                    self._follow(tx)
            self._tend()
            return self._table

    def _follow(self, tx: sqlite3.Connection) -> None:
        library, latest, changes = library_state(tx)
        if library != self._library:
            self._library = library
            self._open(tx)
        if changes != self._changes:
            self._remove(tx, changes)
        if latest > self._latest:
            self._append(tx, latest)
        self._latest = latest

    def _open(self, tx: sqlite3.Connection) -> None:
        """Start with the files, or with nothing if they are missing, damaged, or of another library."""
        self._table, self._room, self._latest, self._changes, self._checked = EMPTY_TABLE, no_rows(), 0, 0, True
        if not self._folder.exists():
            return
        try:
            stored = open_stored(self._folder)
        except UNREADABLE_FILE_ERRORS as error:
            self._discard(f"cannot be read ({error})")
            return
        made = tx.execute("SELECT seq FROM sqlite_sequence WHERE name = 'vectors'").fetchone()
        _, _, changes = library_state(tx)
        if stored.about.library != self._library:
            self._discard("are of another library")
        elif stored.about.changes > changes or made is None or stored.about.upto > made[0]:
            self._discard("are ahead of it")
        else:
            self._begin_with(stored, None)
            self._checked = False

    def _discard(self, why: str) -> None:
        log.warning("the vectors beside %s %s, and are made again", self._database.path, why)
        with locked(self._building, wait=False) as held:
            if held:  # else another process is about to replace them
                clear(self._folder)

    def _begin_with(self, stored: Stored, graph: Graph | None) -> None:
        self._table = Table(stored, np.ones(stored.about.count, dtype=bool), graph, no_rows(stored.about.dimension))
        self._room = self._table.tail
        self._latest, self._changes = stored.about.upto, stored.about.changes

    def _remove(self, tx: sqlite3.Connection, changes: int) -> None:
        """Remove the vectors of passages that were removed according to the log."""
        found = tx.execute(
            "SELECT first, last FROM changes WHERE seq > ? AND op = 'remove' ORDER BY first", (self._changes,)
        ).fetchall()
        since, self._changes = self._changes, changes
        table = self._table
        if not found or (table.stored is None and not len(table.tail.seqs)):
            return
        ranges = np.array([tuple(row) for row in found], dtype=np.int64)
        again = _remade_vectors(tx, since)
        alive = table.alive & _still_there(table.stored.rows, ranges, again) if table.stored else table.alive
        kept = table.tail.at(_still_there(table.tail, ranges, again))
        if not alive.any() and not len(kept.seqs):
            self._table, self._room = EMPTY_TABLE, no_rows()  # the next vectors may be of another embedder
        elif len(kept.seqs) < len(table.tail.seqs):
            self._table, self._room = table._replace(alive=alive, tail=kept), kept
        else:
            self._table = table._replace(alive=alive)

    def _append(self, tx: sqlite3.Connection, upto: int) -> None:
        count = len(self._table.tail.seqs)
        since = self._latest
        while rows := read_rows(tx, since, upto, 5000):
            since, end = int(rows.seqs[-1]), count + len(rows.seqs)
            if end > len(self._room.seqs):  # older tables share the room, and never read rows past their own
                room = made_room(max(end, len(self._room.seqs) * 3 // 2), rows.codes.shape[1])
                if count:
                    _copy(self._room.at(slice(0, count)), room, 0, count)
                self._room = room
            _copy(rows, self._room, count, end)
            count = end
        self._table = self._table._replace(tail=self._room.at(slice(0, count)))

    # --- work in the background -----------------------------------------------------------------------------------

    def _tend(self) -> None:
        """Start a thread that checks the files, or makes them again if much has changed, if that is needed."""
        idle = self._work is None or not self._work.is_alive()
        wanted = not self._checked or (self._is_stale() and self._gave_up != self._latest)
        if idle and wanted and not self._stop.is_set():
            self._work = threading.Thread(target=self._tend_files, name="turnwise-vectors", daemon=True)
            self._work.start()

    def _is_stale(self) -> bool:
        table = self._table
        return len(table.tail.seqs) > MAX_TAIL_VECTORS or table.removed > max(
            MAX_TAIL_VECTORS, MAX_REMOVED_SHARE * len(table.alive)
        )

    def _tend_files(self) -> None:
        try:
            if not self._checked:
                self._check()
            if not self._is_stale() or self._stop.wait(BUILD_DELAY_SECONDS):
                return
            with locked(self._building, wait=False) as held:
                if held:
                    self._make()
        except Exception:  # searches go on without them
            log.warning("the vectors beside %s cannot be made", self._database.path, exc_info=True)
            self._gave_up = self._latest

    def _check(self) -> None:
        stored = self._table.stored
        whole = stored is None or stored.is_whole(self._stop)
        if self._stop.is_set():
            return
        graph = stored.graph() if whole and stored is not None and stored.has_graph else None
        with self._lock:
            self._checked = True
            if stored is not self._table.stored:
                return
            if whole:
                self._table = self._table._replace(graph=graph)
                return
            self._discard("are damaged")
            self._library = ""  # the next search starts afresh

    def _make(self, threads: int = 0) -> None:
        """Make the files, unless another process already has. The lock must be held."""
        with self._lock:
            table, changed = self._table, self._newer_on_disk()
        if not changed:
            previous = table.stored if table.removed <= MAX_REMOVED_SHARE * len(table.alive) else None
            built = build(self._database, self._folder, previous, self._stop, threads or builders())
            if built is None:
                return
        stored = open_stored(self._folder)
        graph = stored.graph() if stored.has_graph and (not changed or stored.is_whole(self._stop)) else None
        with self._lock, self._database.read() as tx:
            if stored.about.library == self._library:
                self._begin_with(stored, graph)
                self._follow(tx)

    def _newer_on_disk(self) -> bool:
        try:
            about = open_stored(self._folder).about
        except UNREADABLE_FILE_ERRORS:
            return False
        mine = self._table.stored.about.upto if self._table.stored else 0
        return about.library == self._library and about.upto > mine


def _scan(
    rows: Rows, question: Vectors, wanted: int, allowed: Allowed | None, alive: Truths | None = None
) -> list[Candidate]:
    """The nearest rows."""
    fits = alive
    if allowed is not None:
        fits = allowed.has(rows.passages) if fits is None else allowed.has(rows.passages) & fits
    if fits is not None and np.count_nonzero(fits) < len(fits) // 4:
        rows, fits = rows.at(np.flatnonzero(fits)), None
    near: Floats = cosines(rows, question)
    if fits is not None:
        near[~fits] = -np.inf
    best = np.argpartition(-near, wanted)[:wanted] if len(near) > wanted else np.arange(len(near))
    best = best[np.isfinite(near[best])]
    return list(zip(near[best].tolist(), rows.seqs[best].tolist(), rows.passages[best].tolist(), strict=True))


def _copy(rows: Rows, room: Rows, start: int, end: int) -> None:
    for values, place in zip(rows._asdict().values(), room._asdict().values(), strict=True):
        place[start:end] = values


def _remade_vectors(tx: sqlite3.Connection, since: int) -> Integers:
    """The vectors of passages that have one although the log says they were removed: only their earlier vectors were.
    The files may contain both."""
    rows = tx.execute(
        "SELECT vectors.seq FROM changes CROSS JOIN vectors ON passage_id BETWEEN first AND last"
        " WHERE changes.seq > ? AND op = 'remove'",
        (since,),
    )
    return np.array([row[0] for row in rows], dtype=np.int64)


def _still_there(rows: Rows, ranges: Integers, again: Integers) -> Truths:
    """Which of the rows remain when the passages in the ranges are removed, except for vectors made again."""
    gone = _in_ranges(rows.passages, ranges)
    return ~gone | np.isin(rows.seqs, again) if len(again) else ~gone


def _in_ranges(passages: Integers, ranges: Integers) -> Truths:
    """Which passages are in one of the ranges (first, last). The ranges must be sorted."""
    at = np.searchsorted(ranges[:, 0], passages, side="right") - 1
    inside: Truths = (at >= 0) & (passages <= ranges[np.maximum(at, 0), 1])
    return inside
