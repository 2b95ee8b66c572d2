"""Documents into a library: found, read, cut into passages and put in; then the vectors that are missing."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from turnwise.documents.chunk import chunk
from turnwise.documents.files import find, real_path
from turnwise.documents.parse import parse_bytes, read
from turnwise.errors import DocumentError
from turnwise.types import AddReport, Document, Failure, Index, Outcome, Progress

EMBEDDED_AT_ONCE = 16  # passages, so that chats can write in between and progress is seen
LOOKED_UP_AT_ONCE = 32 * EMBEDDED_AT_ONCE


def add(index: Index, paths: Sequence[Path], progress: Progress | None = None) -> AddReport:
    """Read files and folders into the index. What cannot be read is reported, and the rest goes on."""
    found = find(paths)
    failed = [_failure(path, error) for path, error in found.failed]
    outcomes: Counter[Outcome] = Counter()
    passages = 0
    for done, path in enumerate(found.files, 1):
        try:
            outcome, count = _add_file(index, path)
            outcomes[outcome] += 1
            passages += count
        except DocumentError as error:
            failed.append(_failure(path, error))
        if progress:
            progress("reading", done, len(found.files))
    skipped = tuple(source_of(path) for path in found.skipped)
    return AddReport(outcomes["added"], outcomes["updated"], outcomes["unchanged"], passages, skipped, tuple(failed))


def remove(index: Index, name: str) -> bool:
    """Take a document out, named as in `documents()` or by a path. False where there is none of that name."""
    return any(index.remove(source) for source in dict.fromkeys((storable(name), source_of(name))))


def embed_pending(index: Index, progress: Progress | None = None, stop: threading.Event | None = None) -> int:
    """Make the vectors that are missing, longest passages first, until none is or `stop` is set. Gives how many."""
    made = 0
    if progress and (waiting := pending(index)):
        progress("embedding", 0, waiting)
    while waiting_for := index.unembedded(LOOKED_UP_AT_ONCE):
        for start in range(0, len(waiting_for), EMBEDDED_AT_ONCE):
            if stop is not None and stop.is_set():
                return made
            batch = waiting_for[start : start + EMBEDDED_AT_ONCE]
            vectors = index.embedder.embed_passages([text for _, text in batch])
            made += index.put_vectors({passage: vector for (passage, _), vector in zip(batch, vectors, strict=True)})
            if progress:
                progress("embedding", made, made + pending(index))
    return made


def pending(index: Index) -> int:
    """How many passages have no vector yet."""
    counts = index.counts()
    return counts.passages - counts.vectors


def source_of(path: Path | str) -> str:
    """The name under which an index keeps the document at a path."""
    return storable(str(real_path(path)))


def storable(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()  # names of files may hold bytes that are no text


def _add_file(index: Index, path: Path) -> tuple[Outcome, int]:
    data = read(path)
    source, digest = source_of(path), hashlib.sha256(data).hexdigest()
    if index.digest(source) == digest:
        return "unchanged", 0
    parsed = parse_bytes(path.name, data)
    chunks = tuple(chunk(parsed))
    (outcome,) = index.put([Document(source, parsed.title, digest, chunks)])
    return outcome, len(chunks)


def _failure(path: Path, error: DocumentError) -> Failure:
    return Failure(storable(str(path)), error.code, storable(str(error)), error.hint)
