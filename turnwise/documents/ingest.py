"""Documents into a library: found, read, cut into passages and put in; then the vectors that are missing."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

import turnwise.errors
from turnwise.byline import byline
from turnwise.documents.bibliography import BIBLIOGRAPHIES
from turnwise.documents.files import Found, Item, find, is_address, source_of, storable, without_secrets
from turnwise.documents.parse import VERSION, read, require_supported
from turnwise.documents.uploads import UPLOAD, is_upload, upload_name, upload_source
from turnwise.documents.workers import Read, Workers
from turnwise.errors import DocumentError, LibraryError
from turnwise.text import headed
from turnwise.types import (
    AddReport,
    Document,
    DocumentInfo,
    Failure,
    Hidden,
    Index,
    IndexDocuments,
    IndexFlags,
    Inspector,
    Outcome,
    Progress,
    Reach,
    Suspect,
)

PUT_AT_ONCE = 1000  # passages: to put a few takes as long as to put many
PUT_AFTER = 2.0  # seconds: what is read should soon be found
READ_AHEAD = 64  # documents that are being read
BYTES_AHEAD = 64 * 1024 * 1024
CHECKED_AT_ONCE = 60  # passages of one call that are checked before they are put in; of more, after their vectors
EMBEDDED_AT_ONCE = 16  # passages, so that chats can write in between and progress is seen
INSPECTED_AT_ONCE = 64  # passages, for the same reason
LOOKED_UP_AT_ONCE = 32 * EMBEDDED_AT_ONCE
TITLE, AUTHORS = "its title", "its authors"
OUTCOMES: tuple[Outcome, ...] = ("added", "updated", "unchanged")


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where documents go in a library, what they are marked with, and who alone may see them: a tenant, and of theirs
    a conversation."""

    collection: str = ""
    tags: tuple[str, ...] = ()
    tenant: str = ""
    attached: str = ""

    @classmethod
    def of(cls, collection: str, tags: Iterable[str], tenant: str = "", attached: str = "") -> Shelf:
        """The shelf that people name, in words that can be kept; a tag that is given twice counts once."""
        kept = (storable(tag).strip() for tag in tags)
        tags = tuple(dict.fromkeys(tag for tag in kept if tag))
        return cls(storable(collection).strip(), tags, storable(tenant), storable(attached))


def add(
    index: Index,
    sources: Sequence[Path | str],
    progress: Progress | None = None,
    shelf: Shelf | None = None,
    contents: Mapping[str, bytes] | None = None,
    workers: Workers | None = None,
    inspector: Inspector | None = None,
    uploaded: bool = False,
) -> AddReport:
    """Read files, folders, patterns, addresses and bibliographies into the index, and `contents` by their names. What
    cannot be read is reported, and the rest goes on. `inspector` looks for instructions to the assistant in them; where
    that would take long, what is left is named in the report, and `inspect_pending` looks at it.
    Contents that were `uploaded`, or are for a tenant or a conversation, get a source of their own."""
    found, shelf = find(sources), shelf or Shelf()
    found.items += [_given(name, data, shelf, uploaded) for name, data in (contents or {}).items()]
    return _add(index, found, shelf, progress, workers, inspector)


def read_again(index: Index, document: DocumentInfo, inspector: Inspector | None = None) -> bool:
    """Read a document of the index again where its file is still there, and let its vectors be made again where it is
    as it was. An address is not asked again: only `add` does that. Gives whether it was read. Raises DocumentError
    where it can no more be read."""
    source, path = document.source, Path(document.source)
    if is_address(source) or is_upload(source) or not (path.is_absolute() and path.is_file()):
        index.forget_vectors(document.id)
        return False
    item = Item(source, path.name, path)
    if document.reference and document.reference.key:  # a bibliography said more of it than it says itself
        item = replace(item, title=document.title, date=document.date, reference=document.reference)
    shelf = Shelf(document.collection, document.tags, document.tenant, document.attached)
    report = _add(index, Found([item]), shelf, inspector=inspector)
    if report.failed:
        raise as_error(report.failed[0])
    if report.unchanged:
        index.forget_vectors(document.id)
    return True


def as_error(failure: Failure) -> DocumentError:
    """The error that a failure was."""
    kind = getattr(turnwise.errors, failure.code, DocumentError)
    error: DocumentError = kind(failure.message, failure.hint)
    return error


def _given(name: str, data: bytes, shelf: Shelf, uploaded: bool) -> Item:
    if not (uploaded or shelf.tenant or shelf.attached):
        return Item(storable(name), name, data=data)
    return Item(upload_source(name, shelf.tenant, shelf.attached), upload_name(name), data=data)


def _add(
    index: Index,
    found: Found,
    shelf: Shelf,
    progress: Progress | None = None,
    workers: Workers | None = None,
    inspector: Inspector | None = None,
) -> AddReport:
    failed = [_failure(source, error) for source, error in found.failed]
    adding = _Adding(index, shelf, failed, inspector)
    with workers or Workers() as pool:
        try:
            for number, loaded in enumerate(_in_order(adding.load(found.items), pool), 1):
                adding.take(loaded)
                if progress:
                    progress("reading", number, len(found.items))
        except KeyboardInterrupt:
            adding.flush()
            raise
        adding.flush()
    _forget_entries(index, found)
    return adding.report(found)


@dataclass(slots=True)
class _Loaded:
    """A document whose bytes are here. Nothing is left to read where it is unchanged or has failed."""

    item: Item
    name: str = ""
    data: bytes = b""
    digest: str = ""
    date: str = ""
    error: DocumentError | None = None
    result: Future[Read] | None = None
    size: int = 0  # of what is being read


@dataclass(slots=True)
class _Adding:
    """One call of `add`: what has become of the documents so far, and those that are still to be put in."""

    index: Index
    shelf: Shelf
    failed: list[Failure]
    inspector: Inspector | None = None
    suspect: list[Suspect] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    checked: int = 0  # passages
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    passages: int = 0
    ready: list[Document] = field(default_factory=list)
    put_at: float = field(default_factory=time.monotonic)

    def load(self, items: Iterable[Item]) -> Iterator[_Loaded]:
        for item in items:
            try:
                name, data, date = _bytes(item)
                digest = _digest(item, data, self.shelf)
                known = self.index.digest(item.source)
                if known not in (None, digest):
                    self.require_own(item)
            except DocumentError as error:
                yield _Loaded(item, error=error)
                continue
            unchanged = known == digest
            yield _Loaded(item, name, b"" if unchanged else data, "" if unchanged else digest, date)

    def require_own(self, item: Item) -> None:
        """Raise DocumentError where a document that is there is another tenant's: it would be theirs no more."""
        own = Reach(self.shelf.tenant, (), (self.shelf.attached,) if self.shelf.attached else ())
        if self.index.document(item.source, own) is None:
            raise DocumentError(
                f"{item.name} is in the library for another tenant.",
                "Take it out first with `turnwise remove`, or add a copy of the file.",
            )

    def take(self, loaded: _Loaded) -> None:
        if loaded.error is not None:
            self.fail(loaded, loaded.error)
        elif loaded.result is None:
            self.outcomes["unchanged"] += 1
        else:
            try:
                self.ready.append(_document(loaded, loaded.result.result(), self.shelf))
            except DocumentError as error:
                self.fail(loaded, error)
        if self.ready and (
            sum(len(each.chunks) for each in self.ready) >= PUT_AT_ONCE or time.monotonic() > self.put_at + PUT_AFTER
        ):
            self.flush()

    def fail(self, loaded: _Loaded, error: DocumentError) -> None:
        """Note a failure. A reader knows only the name of a file; people need to know where it is."""
        source, name = loaded.item.source, loaded.name or loaded.item.name
        failure = _failure(source, error)
        if failure.message.startswith(name) and not is_upload(source):
            failure = replace(failure, message=source + failure.message.removeprefix(name))
        self.failed.append(failure)

    def flush(self) -> None:
        """Put in what is ready. Where the library cannot take it, say what it has taken."""
        ready, self.ready = self.ready, []
        ready = inspected(ready, self.inspector, CHECKED_AT_ONCE - self.checked)
        self.checked += sum(each.flag is not None for document in ready for each in document.chunks)
        try:
            outcomes = self.index.put(ready) if ready else []
        except LibraryError as error:
            kept = self.outcomes["added"] + self.outcomes["updated"]
            told = f"{str(error).rstrip('.')}. Put in before that, and safe: {kept:,} documents."
            raise type(error)(told, error.hint) from error
        self.outcomes.update(outcomes)
        self.passages += sum(
            len(each.chunks) for each, outcome in zip(ready, outcomes, strict=True) if outcome != "unchanged"
        )
        self.suspect += [
            found for each in ready if (found := self.found_in(each)) and not self.index.trusts(each.content)
        ]
        self.unchecked += [each.source for each in ready if any(piece.flag is None for piece in each.chunks)]
        self.put_at = time.monotonic()

    def found_in(self, document: Document) -> Suspect | None:
        flagged = enumerate(each.flag for each in document.chunks)
        least = self.inspector.threshold if self.inspector else 1.0
        passages = tuple((place, flag) for place, flag in flagged if flag and flag.words and flag.score >= least)
        if not passages and not document.hidden:
            return None
        return Suspect(document.source, document.title, passages, document.hidden)

    def left(self, found: Found) -> list[str]:
        """The sources of what is still to be checked, also where it is here since a call that was stopped."""
        if not self.inspector:
            return []
        left = {*self.unchecked, *self.index.unchecked_in(each.source for each in found.items)}
        return [each.source for each in found.items if each.source in left]

    def report(self, found: Found) -> AddReport:
        skipped = tuple(source_of(path) for path in found.skipped)
        added, updated, unchanged = (self.outcomes[each] for each in OUTCOMES)
        suspect, unchecked = tuple(self.suspect), tuple(self.left(found))
        return AddReport(added, updated, unchanged, self.passages, skipped, tuple(self.failed), suspect, unchecked)


def _in_order(documents: Iterable[_Loaded], workers: Workers) -> Iterator[_Loaded]:
    """The documents in their order, each when it is read; several are being read meanwhile."""
    waiting: deque[_Loaded] = deque()
    for loaded in documents:
        if loaded.digest:
            loaded.result = workers.read(loaded.name, loaded.data)
            loaded.size, loaded.data = len(loaded.data), b""
        waiting.append(loaded)
        while waiting and (
            _is_read(waiting[0])
            or len(waiting) > READ_AHEAD
            or sum(each.size for each in waiting if not _is_read(each)) > BYTES_AHEAD
        ):
            yield waiting.popleft()
    while waiting:
        yield waiting.popleft()


def _is_read(loaded: _Loaded) -> bool:
    return loaded.result is None or loaded.result.done()


def _bytes(item: Item) -> tuple[str, bytes, str]:
    """The name, the bytes and the date of a document that is still only named."""
    if item.data is not None:
        require_supported(item.name)
        return item.name, item.data, item.date
    if item.path is None:
        from turnwise.documents.fetch import fetch

        fetched = fetch(item.name)
        return fetched.name, fetched.data, item.date or fetched.date
    require_supported(item.name)
    data = read(item.path)
    return item.name, data, item.date


def _digest(item: Item, data: bytes, shelf: Shelf) -> str:
    """What tells whether a document has changed: its bytes, how they are read, where it goes and what is known of it.
    So a document that is added again with other tags is put in again."""
    reference = asdict(item.reference) if item.reference else None
    whose = [shelf.tenant, shelf.attached] if shelf.tenant or shelf.attached else []
    known = json.dumps([VERSION, shelf.collection, shelf.tags, item.title, item.date, reference, *whose])
    return hashlib.sha256(hashlib.sha256(data).digest() + known.encode()).hexdigest()


def _document(loaded: _Loaded, read: Read, shelf: Shelf) -> Document:
    item = loaded.item
    reference = item.reference or (byline(read.chunks[0].text) if read.chunks else None)
    written = str(reference.year) if reference and reference.year else ""
    return Document(
        item.source,
        item.title or read.title,
        loaded.digest,
        read.chunks,
        shelf.collection,
        shelf.tags,
        item.date or read.date or written or loaded.date or _changed(item.path),
        reference,
        read.hidden,
        shelf.tenant,
        shelf.attached,
    )


def inspected(documents: Sequence[Document], inspector: Inspector | None, most: int) -> list[Document]:
    """The documents with what a check finds in their passages, as far as these are no more than `most`. Of what is
    hidden only instructions to the assistant are kept; where their title or an author is one, it goes the same way, for
    all passages are shown with it."""
    if inspector is None:
        return [replace(each, hidden=()) for each in documents]
    sizes = itertools.accumulate(len(each.chunks) for each in documents)
    looked_at = [each for each, size in zip(documents, sizes, strict=True) if size <= most]
    flags = iter(inspector.inspect([headed(piece.heading, piece.text) for each in looked_at for piece in each.chunks]))
    checked = [
        replace(each, chunks=tuple(replace(piece, flag=next(flags)) for piece in each.chunks)) for each in looked_at
    ]
    checked += documents[len(looked_at) :]
    beside = [_beside(each) for each in checked]
    found = iter(inspector.inspect([told.text for each in beside for told in each]))
    least = inspector.threshold
    return [
        _without(each, [Hidden(told.where, flag.words) for told in around if (flag := next(found)).score >= least])
        for each, around in zip(checked, beside, strict=True)
    ]


def _beside(document: Document) -> list[Hidden]:
    """What there is of a document besides its passages."""
    name = re.split(r"[/\\#]", unquote(document.source.removeprefix(UPLOAD)))[-1]
    beside = [*document.hidden, Hidden(TITLE, _apart(document.title)), Hidden("its name", _apart(name))]
    if document.reference and document.reference.authors:
        beside.append(Hidden(AUTHORS, "\n".join(document.reference.authors)))
    return beside


def _apart(name: str) -> str:
    """The words of a name, which may be joined by signs."""
    return re.sub(r"[-_+.]+", " ", name)


def _without(document: Document, hidden: Sequence[Hidden]) -> Document:
    where = {each.where for each in hidden}
    name = re.split(r"[/\\]", document.source.removeprefix(UPLOAD))[-1]
    title = document.title if TITLE not in where else "Untitled" if "its name" in where else name
    reference = document.reference
    if reference and AUTHORS in where:
        reference = replace(reference, authors=())
    return replace(document, title=title, reference=reference, hidden=tuple(dict.fromkeys(hidden)))


def _changed(path: Path | None) -> str:
    """The day on which a file was last changed; of what is no file, today."""
    try:
        moment = path.stat().st_mtime if path is not None else time.time()
    except OSError:  # it has gone since
        moment = time.time()
    return time.strftime("%Y-%m-%d", time.localtime(moment))


def _forget_entries(index: IndexDocuments, found: Found) -> None:
    """Take out the entries that a bibliography had when it was added before, and has no more."""
    if not found.bibliographies:
        return
    kept = {item.source for item in found.items}
    beginnings = tuple(f"{source_of(path)}#" for path in found.bibliographies)
    for document in index.documents(None):
        if document.source.startswith(beginnings) and document.source not in kept:
            index.remove(document.source)


def remove(index: IndexDocuments, name: str) -> bool:
    """Take a document out, named as in `documents()`, by a path or an address; of a bibliography the entries that have
    no file. False where there is none of that name."""
    if Path(name).suffix.lower() in BIBLIOGRAPHIES:
        beginning = f"{source_of(name)}#"
        entries = [each.source for each in index.documents(None) if each.source.startswith(beginning)]
        if [entry for entry in entries if index.remove(entry)]:
            return True
    return any(index.remove(source) for source in _sources(name))


def trust(index: IndexFlags, name: str, trusted: bool = True) -> bool:
    """Say that a document, named as in `remove`, is fine as it is, or no more. False where there is none."""
    return any(index.trust(source, trusted) for source in _sources(name))


def _sources(name: str) -> list[str]:
    """The sources that a name may stand for."""
    known = without_secrets(name) if is_address(name) else source_of(name)
    return list(dict.fromkeys((storable(name), known)))


def inspect_pending(
    index: Index,
    inspector: Inspector,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    new: bool = False,
) -> int:
    """Look at the passages that the check has not looked at, or only at the `new` ones, which no check has looked at,
    until none is left or `stop` is set. Gives how many there were."""
    done, after, total = 0, 0, 0
    if progress:
        total = sum(index.unchecked_in().values()) if new else index.counts().passages
    while waiting := index.unchecked("" if new else inspector.by, after, INSPECTED_AT_ONCE):
        if stop is not None and stop.is_set():
            return done
        flags = inspector.inspect([text for _, text in waiting])
        index.put_flags({passage: flag for (passage, _), flag in zip(waiting, flags, strict=True)})
        done, after = done + len(waiting), waiting[-1][0]
        if progress:
            progress("checking", done, max(done, total))
    return done


def embed_pending(index: Index, progress: Progress | None = None, stop: threading.Event | None = None) -> int:
    """Make the vectors that are missing, longest passages first, until none is or `stop` is set. Gives how many."""
    made = 0
    while waiting_for := index.unembedded(LOOKED_UP_AT_ONCE):
        total = made + pending(index) if progress else 0  # looked up now and then: a database has to count them
        if progress:
            progress("embedding", made, total)
        for start in range(0, len(waiting_for), EMBEDDED_AT_ONCE):
            if stop is not None and stop.is_set():
                return made
            batch = waiting_for[start : start + EMBEDDED_AT_ONCE]
            vectors = index.embedder.embed_passages([text for _, text in batch])
            made += index.put_vectors({passage: vector for (passage, _), vector in zip(batch, vectors, strict=True)})
            if progress:
                progress("embedding", made, max(made, total))
    return made


def pending(index: IndexDocuments) -> int:
    """How many passages have no vector yet."""
    counts = index.counts()
    return counts.passages - counts.vectors


def _failure(source: str, error: DocumentError) -> Failure:
    return Failure(storable(source), error.code, storable(str(error)), error.hint)
