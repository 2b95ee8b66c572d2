"""Vectors in files beside the database: codes that are mapped into memory, and over many a graph of what is near."""

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
GRAPH_FROM = 50_000  # vectors; fewer are scanned as fast
REACH = 128  # candidates that a search of the graph keeps in hand
LARGE = 300_000  # vectors, from which it keeps three times as many: it misses half as many for a tenth of the time
AT_ONCE = 2000  # vectors read, or put into the graph, before we look whether to stop
GRAPH = "graph.usearch"
_NEVER = threading.Event()
KINDS: dict[str, Any] = {"seqs": np.int64, "passages": np.int64, "codes": np.int8, "scales": np.float32}


@dataclass(frozen=True, slots=True)
class About:
    """What the files hold: the vectors of a library up to the number `upto`, but for those that the log had removed at
    the line `changes`; and the checksum of each file."""

    library: str
    upto: int
    changes: int
    count: int
    dimension: int
    sums: dict[str, int]


@dataclass(frozen=True, slots=True)
class Stored:
    """The files, mapped."""

    folder: Path
    about: About
    rows: Rows

    @property
    def has_graph(self) -> bool:
        return GRAPH in self.about.sums

    def is_whole(self, stop: threading.Event) -> bool:
        """Whether every file holds what was written."""
        try:
            return all(_sum(self.folder / name, stop) == value for name, value in self.about.sums.items())
        except OSError:
            return False

    def graph(self) -> Graph:
        """The graph, mapped: a damaged one would end the process, so look first whether all is whole."""
        graph = _graph(self.about.dimension, REACH if self.about.count < LARGE else 3 * REACH)
        graph.view(str(self.folder / GRAPH))
        return graph


def open_stored(folder: Path) -> Stored:
    """The files in a folder. OSError, ValueError or TypeError where they are missing, cut off or not such files. The
    large ones are left for `is_whole` to look through."""
    about = About(**json.loads((folder / "about.json").read_text()))
    rows = Rows(**{name: _mapped(folder / name, kind, about) for name, kind in KINDS.items()})
    for name in ("seqs", "passages", "scales"):
        if _sum(folder / name, _NEVER) != about.sums[name]:
            raise ValueError(f"{name} is damaged")
    return Stored(folder, about, rows)


def build(
    database: Database, folder: Path, previous: Stored | None, stop: threading.Event, threads: int
) -> Stored | None:
    """Write the vectors of the database to files: those of `previous` again and what came since, or all. None where it
    was told to stop."""
    temporary = fresh_folder(folder.with_name("vectors.new"))
    with database.read() as tx:
        about = _about(tx)
    if previous is not None:  # what the log has removed since stays in, and is removed again by whoever reads it
        about = About(about.library, about.upto, previous.about.changes, 0, 0, {})
    if not _write_rows(database, temporary, previous, about.upto, stop):
        return None
    count = (temporary / "seqs").stat().st_size // 8
    dimension = (temporary / "codes").stat().st_size // max(count, 1)
    about = About(about.library, about.upto, about.changes, count, dimension, {})
    if count >= GRAPH_FROM and not _write_graph(temporary, previous, about, stop, threads):
        return None
    sums = {file.name: _sum(file, stop) for file in temporary.iterdir()}
    about = About(about.library, about.upto, about.changes, count, dimension, sums)
    (temporary / "about.json").write_text(json.dumps(asdict(about)))
    if stop.is_set():
        return None
    with database.write(durable=True) as tx:  # a power cut must not lose vectors that the files are ahead with then
        tx.execute("INSERT OR REPLACE INTO index_meta VALUES ('stored', ?)", (about.upto,))
    publish(temporary, folder)
    return open_stored(folder)


def _about(tx: sqlite3.Connection) -> About:
    row = tx.execute(
        "SELECT (SELECT value FROM index_meta WHERE name = 'library'), (SELECT coalesce(max(seq), 0) FROM vectors),"
        " (SELECT coalesce(max(seq), 0) FROM changes)"
    ).fetchone()
    return About(str(row[0]), int(row[1]), int(row[2]), 0, 0, {})


def _write_rows(database: Database, temporary: Path, previous: Stored | None, upto: int, stop: threading.Event) -> bool:
    files = {name: (temporary / name).open("wb") for name in KINDS}
    try:
        if previous is not None:
            for name, values in previous.rows._asdict().items():
                values.tofile(files[name])
        for rows in _read(database, previous.about.upto if previous else 0, upto):
            for name, values in rows._asdict().items():
                values.tofile(files[name])
            if stop.is_set():
                return False
    finally:
        for file in files.values():
            file.close()
    return True


def _read(database: Database, since: int, upto: int) -> Iterator[Rows]:
    """The vectors of those numbers, in order, some at a time: a long transaction would keep others' changes waiting."""
    while rows := read_rows(database.connection(), since, upto, AT_ONCE):
        yield rows
        since = int(rows.seqs[-1])


def read_rows(connection: sqlite3.Connection, since: int, upto: int, most: int) -> Rows | None:
    """The next vectors after a number, as codes; None where there are none."""
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
        graph.load(str(previous.folder / GRAPH))
        done = len(graph)
    codes = _mapped(temporary / "codes", np.int8, about)
    for start in range(done, about.count, AT_ONCE):
        if stop.is_set():
            return False
        end = min(start + AT_ONCE, about.count)
        graph.add(np.arange(start, end), np.asarray(codes[start:end]), threads=threads)
    graph.save(str(temporary / GRAPH))
    return True


def _graph(dimension: int, reach: int = REACH) -> Graph:
    import onnxruntime  # noqa: F401  loaded after usearch, which the embedder could do, it ends the process
    from usearch.index import Index

    return Index(ndim=dimension, metric="cos", dtype="i8", connectivity=16, expansion_add=64, expansion_search=reach)


def _mapped(file: Path, kind: Any, about: About) -> Any:
    shape = (about.count, about.dimension) if kind is np.int8 else (about.count,)
    if file.stat().st_size != int(np.prod(shape)) * np.dtype(kind).itemsize:
        raise ValueError(f"{file} is cut off")
    return np.memmap(file, dtype=kind, mode="r", shape=shape) if about.count else np.empty(shape, dtype=kind)


def _sum(file: Path, stop: threading.Event) -> int:
    total = 0
    with file.open("rb") as opened:
        while (piece := opened.read(1 << 20)) and not stop.is_set():
            total = zlib.crc32(piece, total)
    return total


def builders() -> int:
    """Threads for the graph: half of the cores, so that searches have the rest."""
    return max(1, (os.cpu_count() or 1) // 2)
