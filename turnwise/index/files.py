"""Files beside the database that can be rebuilt from it: writing, swapping and locking them."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[bool]:
    """Hold the lock file at that path, against threads and processes alike. Yields whether it is held: without `wait`,
    it may not be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True  # closing the file releases the lock, and so does the end of the process


def fresh_folder(path: Path) -> Path:
    """Create an empty folder at that path, replacing whatever was there."""
    clear(path)
    path.mkdir(parents=True)
    return path


def publish(temporary: Path, place: Path) -> None:
    """Move a finished folder to its place: completely, or not at all if the power fails."""
    for file in temporary.iterdir():
        _sync(file)
    _sync(temporary)
    old = place.with_name(f"{place.name}.old")
    clear(old)
    if place.exists():
        place.rename(old)
    temporary.rename(place)
    _sync(place.parent)
    clear(old)


def clear(path: Path) -> None:
    """Remove a file or a folder with its contents, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
