"""The files that a list of paths stands for."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from turnwise.documents.parse import SUPPORTED
from turnwise.errors import DocumentError, UnreadableDocument

_IN_NO_PATH = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")  # the other surrogates stand for bytes that are no text


@dataclass
class Found:
    """Files to read, those of other kinds met in folders, and what could not be looked at. Each real file once."""

    files: list[Path] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)
    failed: list[tuple[Path, DocumentError]] = field(default_factory=list)


def real_path(path: Path | str) -> Path:
    """The absolute path, links followed; of any text, even one that can be no path."""
    return Path(os.path.realpath(_IN_NO_PATH.sub("\ufffd", str(path))))


def find(paths: Sequence[Path]) -> Found:
    """What the paths hold: files as they are, folders with all below them but hidden names, in order of name."""
    found = Found()
    seen: set[Path] = set()
    for path in paths:
        real = real_path(path)
        if os.path.isdir(real):
            _walk(real, found, seen)
        elif not os.path.exists(real):
            found.failed.append((path, UnreadableDocument(f"{path} does not exist.", "Check the path.")))
        elif not os.path.isfile(real):
            found.failed.append((path, UnreadableDocument(f"{path} is not a file.", "Give a file or a folder.")))
        elif real not in seen:
            seen.add(real)
            found.files.append(real)
    return found


def _walk(folder: Path, found: Found, seen: set[Path]) -> None:
    """Take in a folder. `seen` holds real files and folders, so that links in a circle come to an end."""
    if folder in seen:
        return
    seen.add(folder)
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        hint = "Check that you may read it."
        found.failed.append((folder, UnreadableDocument(f"{folder} cannot be read: {error.strerror}.", hint)))
        return
    for real in (real_path(folder / name) for name in names):
        if os.path.isdir(real):
            _walk(real, found, seen)
        elif os.path.isfile(real) and real not in seen:
            seen.add(real)
            (found.files if real.suffix.lower() in SUPPORTED else found.skipped).append(real)
