"""A library kept up to date with folders, by looking at them again and again: that works on every disk and system."""

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

EVERY = 2.0  # seconds between two looks
LEISURE = 10  # times as long as a look takes: large folders are looked at less often

Stamp = tuple[int, int, int]  # when it was changed, how long it is, and which file it is


@dataclass(frozen=True, slots=True)
class Change:
    """What was found at one look: the files that were read again, what became of them, and those taken out."""

    read: tuple[str, ...]
    report: AddReport
    removed: tuple[str, ...]


class Watched:
    """The files of some folders. Each look gives what has changed since it was last given."""

    def __init__(self, sources: Sequence[Path | str]) -> None:
        self._sources = [real_path(source) for source in sources]
        self._folders = [source for source in self._sources if os.path.isdir(source)]
        self._were = self._identities()
        self._given = self._before = self._stamps()

    def look(self) -> tuple[list[Path], list[Path]]:
        """The files that are new or have changed, and those that have gone. A file that is being written counts when
        two looks found it the same; one that is being replaced has not gone."""
        now = self._stamps()
        settled = [path for path, stamp in now.items() if self._before.get(path) == stamp]
        changed = [path for path in settled if self._given.get(path) != now[path]]
        gone = [path for path in self._given if path not in now and path not in self._before]
        if self._identities() != self._were:  # a folder has been moved, or its disk taken away
            gone = []
        self._given = {path: stamp for path, stamp in self._given.items() if path not in gone}
        self._given |= {path: now[path] for path in changed}
        self._before = now
        return changed, gone

    def bibliographies(self) -> list[Path]:
        return [path for path in self._given if path.suffix.lower() in BIBLIOGRAPHIES]

    def _stamps(self) -> dict[Path, Stamp]:
        stamps = {}
        for path in files_below(self._sources):
            try:
                found = path.stat()
            except OSError:
                continue  # it has gone since
            stamps[path] = (found.st_mtime_ns, found.st_size, found.st_ino)
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
    """Bring the index up to date with what is watched, until `stop` is set. Gives each change once it is in."""
    stop = stop or threading.Event()
    looking = 0.0
    while not stop.wait(max(every, LEISURE * looking)):
        begun = time.monotonic()
        changed, gone = watched.look()
        looking = time.monotonic() - begun
        if not changed and not gone:
            continue
        # What a bibliography says of a file belongs to it.
        report = add(index, [*changed, *watched.bibliographies()] if changed else [], shelf=shelf, inspector=inspector)
        removed = [source_of(path) for path in gone if remove(index, source_of(path))]
        yield Change(tuple(source_of(path) for path in changed), report, tuple(removed))


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino
