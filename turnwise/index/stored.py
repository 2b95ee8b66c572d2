"""Vectors in files beside the database: codes mapped into memory and, for many vectors, a graph of near ones."""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.index.codes import Rows, coded, from_blobs
from turnwise.index.files import fresh_folder, publish
from turnwise.sqlite import Database

if TYPE_CHECKING:
    import sqlite3

    from usearch.index import Index as Graph

VERSION = 1
MIN_GRAPH_VECTORS = 50_000  # fewer are scanned just as fast
GRAPH_CANDIDATES = 128  # that a search of the graph keeps at hand
LARGE_GRAPH_VECTORS = (
    300_000  # with more, it keeps three times as many candidates: it misses half as many, for a tenth of the time
)
VECTORS_AT_ONCE = 2000  # read, or added to the graph, between checks whether to stop
GRAPH_FILE = "graph.usearch"
_NEVER = threading.Event()
FILE_TYPES: dict[str, Any] = {"seqs": np.int64, "passages": np.int64, "codes": np.int8, "scales": np.float32}


@dataclass(frozen=True, slots=True)
class About:
    """What the files contain: the vectors of a library up to the number `upto`, without those removed by the log up to
    the line `changes`; and the checksum of each file."""

    library: str
    upto: int
    changes: int
    count: int
    dimension: int
    sums: dict[str, int]


@dataclass(frozen=True, slots=True)
class Stored:
    """The files, mapped into memory."""

    folder: Path
    about: About
    rows: Rows

    @property
    def has_graph(self) -> bool:
        return GRAPH_FILE in self.about.sums

    def is_whole(self, stop: threading.Event) -> bool:
        """Whether every file contains what was written."""
        try:
            return all(_checksum(self.folder / name, stop) == value for name, value in self.about.sums.items())
        except OSError:
            return False

    def graph(self) -> Graph:
        """The graph, mapped into memory. A damaged one would crash the process: call `is_whole` first."""
        graph = _graph(
            self.about.dimension, GRAPH_CANDIDATES if self.about.count < LARGE_GRAPH_VECTORS else 3 * GRAPH_CANDIDATES
        )
        graph.view(str(self.folder / GRAPH_FILE))
        return graph


def open_stored(folder: Path) -> Stored:
    """The files in a folder. Raises OSError, ValueError or TypeError if they are missing, truncated or something else.
    The large ones are left for `is_whole` to check."""
    about = About(**json.loads((folder / "about.json").read_text()))
    rows = Rows(**{name: _map_file(folder / name, kind, about) for name, kind in FILE_TYPES.items()})
    for name in ("seqs", "passages", "scales"):
        if _checksum(folder / name, _NEVER) != about.sums[name]:
            raise ValueError(f"{name} is damaged")
    return Stored(folder, about, rows)


def build(
    database: Database, folder: Path, previous: Stored | None, stop: threading.Event, threads: int
) -> Stored | None:
    """Write the vectors of the database to files: those of `previous` plus newer ones, or all. Returns None if it was
    told to stop."""
    temporary = fresh_folder(folder.with_name("vectors.new"))
    with database.read() as tx:
        about = About(*library_state(tx), 0, 0, {})
    if previous is not None:  # what was removed since stays in the files, and every reader removes it again
        about = About(about.library, about.upto, previous.about.changes, 0, 0, {})
    if not _write_rows(database, temporary, previous, about.upto, stop):
        return None
    count = (temporary / "seqs").stat().st_size // 8
    dimension = (temporary / "codes").stat().st_size // max(count, 1)
    about = About(about.library, about.upto, about.changes, count, dimension, {})
    if count >= MIN_GRAPH_VECTORS and not _write_graph(temporary, previous, about, stop, threads):
        return None
    sums = {file.name: _checksum(file, stop) for file in temporary.iterdir()}
    about = About(about.library, about.upto, about.changes, count, dimension, sums)
    (temporary / "about.json").write_text(json.dumps(asdict(about)))
    if stop.is_set():
        return None
    with database.write(durable=True) as tx:  # after a power cut, the files must not be ahead of the database
        tx.execute("INSERT OR REPLACE INTO index_meta VALUES ('stored', ?)", (about.upto,))
    publish(temporary, folder)
    return open_stored(folder)


def library_state(connection: sqlite3.Connection) -> tuple[str, int, int]:
    """The id of the library, and the numbers of its last vector and its last change."""
    row = connection.execute(
        "SELECT (SELECT value FROM index_meta WHERE name = 'library'), (SELECT coalesce(max(seq), 0) FROM vectors),"
        " (SELECT coalesce(max(seq), 0) FROM changes)"
    ).fetchone()
    return str(row[0]), int(row[1]), int(row[2])


def _write_rows(database: Database, temporary: Path, previous: Stored | None, upto: int, stop: threading.Event) -> bool:
    files = {name: (temporary / name).open("wb") for name in FILE_TYPES}
    try:
        if previous is not None:
            for name, values in previous.rows._asdict().items():
                values.tofile(files[name])
        for rows in _read_all_rows(database, previous.about.upto if previous else 0, upto):
            for name, values in rows._asdict().items():
                values.tofile(files[name])
            if stop.is_set():
                return False
    finally:
        for file in files.values():
            file.close()
    return True


def _read_all_rows(database: Database, since: int, upto: int) -> Iterator[Rows]:
    """The vectors in that range, in order and in batches: a long transaction would delay other writers."""
    while rows := read_rows(database.connection(), since, upto, VECTORS_AT_ONCE):
        yield rows
        since = int(rows.seqs[-1])


def read_rows(connection: sqlite3.Connection, since: int, upto: int, most: int) -> Rows | None:
    """The next vectors after a number as codes, or None if there are no more."""
    found = connection.execute(
        "SELECT seq, passage_id, vector FROM vectors WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (since, upto, most),
    ).fetchall()
    if not found:
        return None
    codes, scales = coded(from_blobs([row[2] for row in found]))
    numbers = np.array([(row[0], row[1]) for row in found], dtype=np.int64)
    return Rows(numbers[:, 0].copy(), numbers[:, 1].copy(), codes, scales)


def _write_graph(temporary: Path, previous: Stored | None, about: About, stop: threading.Event, threads: int) -> bool:
    graph = _graph(about.dimension)
    done = 0
    if previous is not None and previous.has_graph:
        graph.load(str(previous.folder / GRAPH_FILE))
        done = len(graph)
    codes = _map_file(temporary / "codes", np.int8, about)
    for start in range(done, about.count, VECTORS_AT_ONCE):
        if stop.is_set():
            return False
        end = min(start + VECTORS_AT_ONCE, about.count)
        graph.add(np.arange(start, end), np.asarray(codes[start:end]), threads=threads)
    graph.save(str(temporary / GRAPH_FILE))
    return True


def _graph(dimension: int, reach: int = GRAPH_CANDIDATES) -> Graph:
    import onnxruntime  # noqa: F401  the embedder could load it after usearch, which would crash the process
    from usearch.index import Index

    return Index(ndim=dimension, metric="cos", dtype="i8", connectivity=16, expansion_add=64, expansion_search=reach)


def _map_file(file: Path, kind: Any, about: About) -> Any:
    shape = (about.count, about.dimension) if kind is np.int8 else (about.count,)
    if file.stat().st_size != int(np.prod(shape)) * np.dtype(kind).itemsize:
        raise ValueError(f"{file} is cut off")
    return np.memmap(file, dtype=kind, mode="r", shape=shape) if about.count else np.empty(shape, dtype=kind)


def _checksum(file: Path, stop: threading.Event) -> int:
    total = 0
    with file.open("rb") as opened:
        while (piece := opened.read(1 << 20)) and not stop.is_set():
            total = zlib.crc32(piece, total)
    return total


def builders() -> int:
    """Threads for building the graph: half of the cores, which leaves the rest to searches."""
    return max(1, (os.cpu_count() or 1) // 2)
