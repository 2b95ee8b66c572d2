"""Finds the documents behind a list of paths, glob patterns and URLs."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from turnwise.documents.bibliography import BIBLIOGRAPHIES, Entry, attached_files, read_bibliography
from turnwise.documents.parse import is_supported
from turnwise.errors import DocumentError, UnreadableDocument
from turnwise.types import Reference

IGNORED_FOLDERS = ("node_modules", "__pycache__")  # they contain code, not documents
LIBRARY, LIBRARY_FILES = "library.db", re.compile(r"(?:library|limits)\.db(?:-\w+)?|library\.index")
_OTHER_ADDRESS = re.compile(r"(?!https?:)[a-z][a-z\d+.-]*://", re.I)
_INVALID_IN_PATH = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")  # the other surrogates represent undecodable bytes


@dataclass(frozen=True, slots=True)
class Item:
    """A document to read: where it comes from, and what a bibliography says about it.

    It is at `path`, else in `data`, else at the URL in `name`. The extension of `name` decides its kind.
    """

    source: str
    name: str
    path: Path | None = None
    data: bytes | None = None
    title: str = ""
    date: str = ""
    reference: Reference | None = None


@dataclass
class FoundDocuments:
    """Documents to read, each once; unsupported files in folders (`skipped`); and sources that failed.

    `bibliographies` are files that were read entry by entry.
    """

    items: list[Item] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)
    failed: list[tuple[str, DocumentError]] = field(default_factory=list)
    bibliographies: list[Path] = field(default_factory=list)

    def fail(self, source: Path | str, message: str, hint: str) -> None:
        self.failed.append((str(source), UnreadableDocument(message, hint)))


def real_path(path: Path | str) -> Path:
    """The absolute path with links resolved; works for any text, even an invalid path."""
    return Path(os.path.realpath(_INVALID_IN_PATH.sub("\ufffd", str(path))))


def source_of(path: Path | str) -> str:
    """The source name under which an index stores the document at a path."""
    return storable_name(str(real_path(path)))


def storable_name(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()  # file names may contain undecodable bytes


def is_address(source: str) -> bool:
    return source.lower().startswith(("http://", "https://"))


def without_secrets(address: str) -> str:
    """The URL without user name, password and fragment, so that it can be stored and shown."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address  # not a valid URL
    return urlunsplit((parts.scheme.lower(), parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))


def find(sources: Sequence[Path | str]) -> FoundDocuments:
    """Find the documents in some sources: files, folders (recursively, sorted, without hidden names), glob patterns and
    URLs. A bibliography adds the files of its entries, and entries without a file as short documents."""
    found = FoundDocuments()
    files: dict[Path, None] = {}
    seen: set[Path] = set()
    for source in sources:
        if is_address(str(source)):
            address = without_secrets(str(source))
            found.items.append(Item(address, str(source)))
            continue
        for path in _expand(source, found):
            _add_path(path, found, files, seen)
    entries = [each for path in list(files) if path.suffix.lower() in BIBLIOGRAPHIES for each in _entries(path, found)]
    known: dict[Path, Entry] = {}
    for _, entry, paths in entries:
        for path in paths:
            known.setdefault(path, entry)
    for path in dict.fromkeys([*files, *known]):
        if path not in found.bibliographies:
            found.items.append(_with_metadata(Item(source_of(path), path.name, path), known.get(path)))
    found.items += _entry_items(entries)
    return found


def files_below(sources: Sequence[Path | str]) -> list[Path]:
    """The supported files in some sources; bibliographies count as files."""
    found, files = FoundDocuments(), dict[Path, None]()
    for source in sources:
        if not is_address(str(source)) and os.path.exists(real_path(source)):
            _add_path(real_path(source), found, files, set())
    return list(files)


def _expand(source: Path | str, found: FoundDocuments) -> list[Path]:
    """The path itself, or the matches of a glob pattern. Addresses that cannot be read are reported."""
    real = real_path(source)
    if _OTHER_ADDRESS.match(str(source)) and not os.path.exists(real):
        address = without_secrets(str(source))
        found.fail(
            address,
            f"{address} has an address of a kind that cannot be read.",
            "Give an address with http:// or https://, a file or a folder (on the command line also - for stdin).",
        )
        return []
    if os.path.exists(real) or not glob.has_magic(str(source)):
        return [Path(source)]
    matches = sorted(glob.glob(str(source), recursive=True))
    if not matches:
        found.fail(source, f"Nothing matches {source}.", "Check the pattern.")
    return [Path(match) for match in matches]


def _add_path(path: Path, found: FoundDocuments, files: dict[Path, None], seen: set[Path]) -> None:
    real = real_path(path)
    if os.path.isdir(real):
        _walk(real, found, files, seen)
    elif not os.path.exists(real):
        found.fail(path, f"{path} does not exist.", "Check the path.")
    elif not os.path.isfile(real):
        found.fail(path, f"{path} is not a file.", "Give a file or a folder.")
    elif real not in seen:
        seen.add(real)
        files[real] = None


def _walk(folder: Path, found: FoundDocuments, files: dict[Path, None], seen: set[Path]) -> None:
    """Add the files of a folder, recursively. `seen` holds real paths, so that circular links end."""
    waiting = [folder]
    while waiting:
        folder = waiting.pop()
        if folder in seen:
            continue
        seen.add(folder)
        try:
            names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
        except OSError as error:
            found.fail(
                folder, f"{folder} cannot be read: {error.strerror}.", "Check that you have permission to read it."
            )
            continue
        if LIBRARY in names:
            names = [name for name in names if not LIBRARY_FILES.fullmatch(name)]
        inner = []
        for real in (real_path(folder / name) for name in names):
            if os.path.isdir(real):
                inner += [real] if real.name not in IGNORED_FOLDERS else []
            elif os.path.isfile(real) and real not in seen:
                seen.add(real)
                if is_supported(real.name) or real.suffix.lower() in BIBLIOGRAPHIES:
                    files[real] = None
                else:
                    found.skipped.append(real)
        waiting += reversed(inner)


# --- bibliographies --------------------------------------------------------------------------------------------------

EntryFiles = tuple[Path, Entry, list[Path]]  # the bibliography, an entry, and the entry's files


def _entries(path: Path, found: FoundDocuments) -> Iterator[EntryFiles]:
    """The entries of a bibliography with their existing files; missing files are reported once."""
    try:
        entries = read_bibliography(path)
    except DocumentError as error:
        found.failed.append((str(path), error))
        found.bibliographies.append(path)
        return
    if entries is None:
        return
    found.bibliographies.append(path)
    missing: list[str] = []
    for entry in entries:
        existing, absent = attached_files(entry, path.parent)
        missing += absent
        yield path, entry, [real_path(each) for each in existing if is_supported(each.name)]
    if cut := [f"“{entry.key}”" for entry in entries if entry.cut]:
        names = ", ".join(cut[:3]) + (", …" if len(cut) > 3 else "")
        what = "an entry that is" if len(cut) == 1 else f"{len(cut):,} entries that are"
        hint = "What could be read of it was added. Check its braces and quotes, and add it again."
        found.fail(path, f"{path} has {what} not closed: {names}", hint)
    if missing:
        names = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        what = "a file that does" if len(missing) == 1 else f"{len(missing):,} files that do"
        hint = "The entries were added without them. Export it with files, or copy them there, and add it again."
        found.fail(path, f"{path} names {what} not exist: {names}", hint)


def _with_metadata(item: Item, entry: Entry | None) -> Item:
    if entry is None:
        return item
    return replace(item, title=entry.title, date=entry.date, reference=entry.reference)


def _entry_items(entries: Sequence[EntryFiles]) -> Iterator[Item]:
    """Entries without a file, each as a short document with its metadata."""
    taken: Counter[str] = Counter()
    for path, entry, files in entries:
        if files:
            continue
        source = named = storable_name(f"{real_path(path)}#{entry.key}")
        while source in taken:  # entries with the same key: x, x', x'2
            source = f"{named}'{taken[named] if taken[named] > 1 else ''}"
            taken[named] += 1
        taken[source] += 1
        yield _with_metadata(Item(source, f"{entry.key}.txt", data=entry.text.encode("utf-8", "replace")), entry)
