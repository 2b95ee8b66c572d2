"""Keeps a library up to date with folders by polling, which works on every file system."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from turnwise.documents.bibliography import BIBLIOGRAPHIES
from turnwise.documents.files import files_below, real_path, source_of
from turnwise.documents.ingest import Shelf, add, remove
from turnwise.types import AddReport, Index, Inspector

EVERY = 2.0  # seconds between two scans
MIN_INTERVAL_FACTOR = 10  # wait at least this many times the duration of a scan: large folders are scanned less often

Stamp = tuple[int, int, int]  # modification time, size and inode


@dataclass(frozen=True, slots=True)
class Change:
    """The result of one scan: the files read again with a report, and the documents removed."""

    read: tuple[str, ...]
    report: AddReport
    removed: tuple[str, ...]


class Watched:
    """The files of some folders. Each `look` returns the changes since the last one."""

    def __init__(self, sources: Sequence[Path | str]) -> None:
        self._sources = [real_path(source) for source in sources]
        self._folders = [source for source in self._sources if os.path.isdir(source)]
        self._identities_before = self._identities()
        self._reported = self._before = self._stamps()

    def look(self) -> tuple[list[Path], list[Path]]:
        """Return the new or changed files, and the deleted ones.

        In case a file is being written or replaced, two looks in a row must find the same state, or miss the file."""
        now = self._stamps()
        settled = [path for path, stamp in now.items() if self._before.get(path) == stamp]
        changed = [path for path in settled if self._reported.get(path) != now[path]]
        gone = [path for path in self._reported if path not in now and path not in self._before]
        if self._identities() != self._identities_before:  # a folder was moved, or its disk was unmounted
            gone = []
        self._reported = {path: stamp for path, stamp in self._reported.items() if path not in gone}
        self._reported |= {path: now[path] for path in changed}
        self._before = now
        return changed, gone

    def bibliographies(self) -> list[Path]:
        return [path for path in self._reported if path.suffix.lower() in BIBLIOGRAPHIES]

    def _stamps(self) -> dict[Path, Stamp]:
        stamps = {}
        for path in files_below(self._sources):
            try:
                status = path.stat()
            except OSError:
                continue  # deleted meanwhile
            stamps[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
        return stamps

    def _identities(self) -> list[tuple[int, int] | None]:
        return [_identity(folder) for folder in self._folders]


def watch(
    index: Index,
    watched: Watched,
    shelf: Shelf,
    every: float = EVERY,
    stop: threading.Event | None = None,
    inspector: Inspector | None = None,
) -> Iterator[Change]:
    """Keep the index up to date with the watched files until `stop` is set. Yields each change once it is stored."""
    stop = stop or threading.Event()
    duration = 0.0
    while not stop.wait(max(every, MIN_INTERVAL_FACTOR * duration)):
        begun = time.monotonic()
        changed, gone = watched.look()
        duration = time.monotonic() - begun
        if not changed and not gone:
            continue
        # Bibliographies are added again too, because their metadata belongs to the changed files.
        report = add(index, [*changed, *watched.bibliographies()] if changed else [], shelf=shelf, inspector=inspector)
        removed = [source_of(path) for path in gone if remove(index, source_of(path))]
        yield Change(tuple(source_of(path) for path in changed), report, tuple(removed))


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino
