"""Adds documents to a library: finds and reads them, splits them into passages, stores them, then makes vectors."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
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
from turnwise.documents.files import (
    FoundDocuments,
    Item,
    find,
    is_address,
    real_path,
    source_of,
    storable_name,
    without_secrets,
)
from turnwise.documents.parse import VERSION, read_file, require_supported
from turnwise.documents.uploads import UPLOAD, is_upload, upload_name, upload_source
from turnwise.documents.workers import ReadDocument, Workers
from turnwise.errors import DocumentError, LibraryError
from turnwise.text import with_heading
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

WRITE_BATCH_PASSAGES = 1000  # writing a few takes as long as writing many
WRITE_AFTER_SECONDS = 2.0  # so that documents can be found soon after they are read
MAX_READ_AHEAD_DOCUMENTS = 64
MAX_READ_AHEAD_BYTES = 64 * 1024 * 1024
MAX_CHECKED_PASSAGES = 60  # by one call before they are stored; more are checked later, after their vectors
EMBED_BATCH_PASSAGES = 16  # small, so that chats can write in between and progress is visible
INSPECT_BATCH_PASSAGES = 64  # for the same reason
LOOKUP_BATCH_PASSAGES = 32 * EMBED_BATCH_PASSAGES
IN_TITLE, IN_AUTHORS = "its title", "its authors"
_ESCAPED = re.compile(r"\\udc[89a-f][0-9a-f]")  # a byte of a file name that is no character: `storable_name`
OUTCOMES: tuple[Outcome, ...] = ("added", "updated", "unchanged")


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where documents are filed: a collection and tags, and whether only one tenant, or one of its conversations
    (`attached`), may see them. With None for the collection or the tags, a document that is added again keeps its own.
    """

    collection: str | None = None
    tags: tuple[str, ...] | None = None
    tenant: str = ""
    attached: str = ""
    apart: bool = False  # whether an uploaded document replaces none of its name in another collection

    @classmethod
    def of(
        cls,
        collection: str | None,
        tags: Iterable[str] | None,
        tenant: str = "",
        attached: str = "",
        apart: bool = False,
    ) -> Shelf:
        """A shelf from user input: names made storable, duplicate and empty tags dropped. A string is one tag."""
        if collection is not None:
            collection = storable_name(collection).strip()
        if tags is not None:
            named = (tags,) if isinstance(tags, str) else tags
            kept = (storable_name(tag).strip() for tag in named)
            tags = tuple(dict.fromkeys(tag for tag in kept if tag))
        return cls(collection, tags, storable_name(tenant), storable_name(attached), apart)

    def after(self, before: DocumentInfo | None) -> Shelf:
        """This shelf for a document that may have been on one before: what is not named here stays as it was."""
        collection, tags = (before.collection, before.tags) if before else ("", ())
        return replace(
            self,
            collection=collection if self.collection is None else self.collection,
            tags=tags if self.tags is None else self.tags,
        )


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
    """Read files, folders, glob patterns, URLs and bibliographies into the index, and `contents` by their names.

    A document that cannot be read is reported, and the rest are still added. `inspector` looks for instructions to the
    assistant; if there is too much to check right away, the report names the rest, for `inspect_pending`.
    Contents that were `uploaded`, or belong to a tenant or a conversation, get a source name of their own."""
    found, shelf = find(sources), shelf or Shelf()
    found.items += [_content_item(name, data, shelf, uploaded) for name, data in (contents or {}).items()]
    return _add(index, found, shelf, progress, workers, inspector)


def read_again(index: Index, document: DocumentInfo, inspector: Inspector | None) -> bool:
    """Read a document of the index again if its file still exists; if it is unchanged, only drop its vectors.

    URLs are not fetched again: only `add` does that. Returns whether the file was read. Raises DocumentError if it can
    no longer be read."""
    source, path = document.source, Path(document.source)
    if is_address(source) or is_upload(source) or not (path.is_absolute() and path.is_file()):
        index.forget_vectors(document.id)
        return False
    item = Item(source, path.name, path)
    if document.reference and document.reference.key:  # keep what a bibliography said about it
        item = replace(item, title=document.title, date=document.date, reference=document.reference)
    shelf = Shelf(document.collection, document.tags, document.tenant, document.attached)
    report = _add(index, FoundDocuments([item]), shelf, inspector=inspector)
    if report.failed:
        raise as_error(report.failed[0])
    if report.unchanged:
        index.forget_vectors(document.id)
    return True


def as_error(failure: Failure) -> DocumentError:
    """Turn a reported failure back into an exception."""
    kind = getattr(turnwise.errors, failure.code, DocumentError)
    error: DocumentError = kind(failure.message, failure.hint)
    return error


def _content_item(name: str, data: bytes, shelf: Shelf, uploaded: bool) -> Item:
    if not (uploaded or shelf.tenant or shelf.attached):
        return Item(storable_name(name), name, data=data)
    collection = (shelf.collection or "") if shelf.apart else ""
    return Item(upload_source(name, shelf.tenant, shelf.attached, collection), upload_name(name), data=data)


def _add(
    index: Index,
    found: FoundDocuments,
    shelf: Shelf,
    progress: Progress | None = None,
    workers: Workers | None = None,
    inspector: Inspector | None = None,
) -> AddReport:
    failed = [_failure(source, error) for source, error in found.failed]
    adding = _AddRun(index, shelf, failed, inspector)
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
    _remove_stale_entries(index, found)
    return adding.report(found)


@dataclass(slots=True)
class _Loaded:
    """A document whose bytes are loaded. `digest` is empty if it is unchanged or failed, and so needs no reading."""

    item: Item
    shelf: Shelf
    name: str = ""
    data: bytes = b""
    digest: str = ""
    date: str = ""
    error: DocumentError | None = None
    result: Future[ReadDocument] | None = None
    size: int = 0  # bytes being read


@dataclass(slots=True)
class _AddRun:
    """One call of `add`: the outcomes so far, and the documents still to be stored."""

    index: Index
    shelf: Shelf
    failed: list[Failure]
    inspector: Inspector | None = None
    suspect: list[Suspect] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    checked: int = 0  # passages checked
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    passages: int = 0
    ready: list[Document] = field(default_factory=list)
    written_at: float = field(default_factory=time.monotonic)

    def load(self, items: Iterable[Item]) -> Iterator[_Loaded]:
        for item in items:
            try:
                name, data, date = _bytes_of(item)
                known = self.index.digest(item.source)
                shelf = self.shelf.after(self.own(item) if known is not None else None)
                digest = _digest(item, data, shelf)
            except DocumentError as error:
                yield _Loaded(item, self.shelf, error=error)
                continue
            unchanged = known == digest
            yield _Loaded(item, shelf, name, b"" if unchanged else data, "" if unchanged else digest, date)

    def own(self, item: Item) -> DocumentInfo:
        """The stored document. Raises DocumentError if it belongs to another tenant, who would lose it."""
        own = Reach(self.shelf.tenant, (), (self.shelf.attached,) if self.shelf.attached else ())
        found = self.index.document(item.source, own)
        if found is None:
            raise DocumentError(
                f"{item.name} is in the library for another tenant.",
                "Take it out first with `turnwise remove`, or add a copy of the file.",
            )
        return found

    def take(self, loaded: _Loaded) -> None:
        if loaded.error is not None:
            self.fail(loaded, loaded.error)
        elif loaded.result is None:
            self.outcomes["unchanged"] += 1
        else:
            try:
                self.ready.append(_document(loaded, loaded.result.result()))
            except DocumentError as error:
                self.fail(loaded, error)
        if self.ready and (
            sum(len(each.chunks) for each in self.ready) >= WRITE_BATCH_PASSAGES
            or time.monotonic() > self.written_at + WRITE_AFTER_SECONDS
        ):
            self.flush()

    def fail(self, loaded: _Loaded, error: DocumentError) -> None:
        """Record a failure, with the full path in place of the file name."""
        source, name = loaded.item.source, loaded.name or loaded.item.name
        failure = _failure(source, error)
        if failure.message.startswith(name) and not is_upload(source):
            failure = replace(failure, message=source + failure.message.removeprefix(name))
        self.failed.append(failure)

    def flush(self) -> None:
        """Store the documents that are ready. If the library fails, the error says how much was stored before."""
        ready, self.ready = self.ready, []
        ready = inspect_documents(ready, self.inspector, MAX_CHECKED_PASSAGES - self.checked)
        self.checked += sum(each.flag is not None for document in ready for each in document.chunks)
        try:
            outcomes = self.index.put(ready) if ready else []
        except LibraryError as error:
            kept = self.outcomes["added"] + self.outcomes["updated"]
            message = f"{str(error).rstrip('.')}. Stored safely before that: {kept:,} documents."
            raise type(error)(message, error.hint) from error
        self.outcomes.update(outcomes)
        self.passages += sum(
            len(each.chunks) for each, outcome in zip(ready, outcomes, strict=True) if outcome != "unchanged"
        )
        self.suspect += [
            found for each in ready if (found := self.suspect_in(each)) and not self.index.trusts(each.content)
        ]
        self.unchecked += [each.source for each in ready if any(piece.flag is None for piece in each.chunks)]
        self.written_at = time.monotonic()

    def suspect_in(self, document: Document) -> Suspect | None:
        flagged = enumerate(each.flag for each in document.chunks)
        least = self.inspector.threshold if self.inspector else 1.0
        passages = tuple((place, flag) for place, flag in flagged if flag and flag.words and flag.score >= least)
        if not passages and not document.hidden:
            return None
        return Suspect(document.source, document.title, passages, document.hidden)

    def sources_to_check(self, found: FoundDocuments) -> list[str]:
        """Sources with unchecked passages, including those left over from an interrupted call."""
        if not self.inspector:
            return []
        unchecked = {*self.unchecked, *self.index.unchecked_in(each.source for each in found.items)}
        return [each.source for each in found.items if each.source in unchecked]

    def report(self, found: FoundDocuments) -> AddReport:
        skipped = tuple(source_of(path) for path in found.skipped)
        added, updated, unchanged = (self.outcomes[each] for each in OUTCOMES)
        suspect, unchecked = tuple(self.suspect), tuple(self.sources_to_check(found))
        return AddReport(added, updated, unchanged, self.passages, skipped, tuple(self.failed), suspect, unchecked)


def _in_order(documents: Iterable[_Loaded], workers: Workers) -> Iterator[_Loaded]:
    """Yield the documents in order, each once it is read, while others are being read ahead."""
    waiting: deque[_Loaded] = deque()
    for loaded in documents:
        if loaded.digest:
            loaded.result = workers.read(loaded.name, loaded.data)
            loaded.size, loaded.data = len(loaded.data), b""
        waiting.append(loaded)
        while waiting and (
            _is_read(waiting[0])
            or len(waiting) > MAX_READ_AHEAD_DOCUMENTS
            or sum(each.size for each in waiting if not _is_read(each)) > MAX_READ_AHEAD_BYTES
        ):
            yield waiting.popleft()
    while waiting:
        yield waiting.popleft()


def _is_read(loaded: _Loaded) -> bool:
    return loaded.result is None or loaded.result.done()


def _bytes_of(item: Item) -> tuple[str, bytes, str]:
    """Load a document. Returns its name, bytes and date."""
    if item.data is not None:
        require_supported(item.name)
        return item.name, item.data, item.date
    if item.path is None:
        from turnwise.documents.fetch import fetch

        fetched = fetch(item.name)
        return fetched.name, fetched.data, item.date or fetched.date
    require_supported(item.name)
    return item.name, read_file(item.path), item.date


def _digest(item: Item, data: bytes, shelf: Shelf) -> str:
    """A hash that tells whether a document changed: its bytes, the reader version, its shelf and its metadata.

    So a document that is added again with other tags is stored again."""
    reference = asdict(item.reference) if item.reference else None
    owner = [shelf.tenant, shelf.attached] if shelf.tenant or shelf.attached else []
    known = json.dumps([VERSION, shelf.collection or "", shelf.tags or (), item.title, item.date, reference, *owner])
    return hashlib.sha256(hashlib.sha256(data).digest() + known.encode()).hexdigest()


def _document(loaded: _Loaded, read: ReadDocument) -> Document:
    item, shelf = loaded.item, loaded.shelf
    reference = item.reference or (byline(read.chunks[0].text) if read.chunks else None)
    year = str(reference.year) if reference and reference.year else ""
    return Document(
        item.source,
        item.title or read.title,
        loaded.digest,
        read.chunks,
        shelf.collection or "",
        shelf.tags or (),
        item.date or read.date or year or loaded.date or _modified_date(item.path),
        reference,
        read.hidden,
        shelf.tenant,
        shelf.attached,
    )


def inspect_documents(documents: Sequence[Document], inspector: Inspector | None, limit: int) -> list[Document]:
    """Return the documents with the flags of a check on their passages, up to `limit` passages.

    Hidden text is kept only if it contains instructions to the assistant. A title or author that does is moved there
    too, because it is shown with every passage."""
    if inspector is None:
        return [replace(each, hidden=()) for each in documents]
    sizes = itertools.accumulate(len(each.chunks) for each in documents)
    to_check = [each for each, size in zip(documents, sizes, strict=True) if size <= limit]
    flags = iter(
        inspector.inspect([with_heading(piece.heading, piece.text) for each in to_check for piece in each.chunks])
    )
    checked = [
        replace(each, chunks=tuple(replace(piece, flag=next(flags)) for piece in each.chunks)) for each in to_check
    ]
    checked += documents[len(to_check) :]
    others = [_texts_besides_passages(each) for each in checked]
    found = iter(inspector.inspect([text.text for texts in others for text in texts]))
    least = inspector.threshold
    return [
        _without_instructions(
            each, [Hidden(text.where, flag.words) for text in texts if (flag := next(found)).score >= least]
        )
        for each, texts in zip(checked, others, strict=True)
    ]


def _texts_besides_passages(document: Document) -> list[Hidden]:
    """The texts of a document outside its passages: hidden text, title, file name, authors."""
    name = re.split(r"[/\\#]", unquote(document.source.removeprefix(UPLOAD)))[-1]
    texts = [
        *document.hidden,
        Hidden(IN_TITLE, _words_of_name(document.title)),
        Hidden("its name", _words_of_name(name)),
    ]
    if document.reference and document.reference.authors:
        texts.append(Hidden(IN_AUTHORS, "\n".join(document.reference.authors)))
    return texts


def _words_of_name(name: str) -> str:
    """A name with spaces in place of the signs that join its words."""
    return re.sub(r"[-_+.]+", " ", name)


def _without_instructions(document: Document, hidden: Sequence[Hidden]) -> Document:
    where = {each.where for each in hidden}
    name = re.split(r"[/\\]", document.source.removeprefix(UPLOAD))[-1]
    title = document.title if IN_TITLE not in where else "Untitled" if "its name" in where else name
    reference = document.reference
    if reference and IN_AUTHORS in where:
        reference = replace(reference, authors=())
    return replace(document, title=title, reference=reference, hidden=tuple(dict.fromkeys(hidden)))


def _modified_date(path: Path | None) -> str:
    """The day a file was last modified, or today if there is no file."""
    try:
        moment = path.stat().st_mtime if path is not None else time.time()
    except OSError:  # deleted meanwhile
        moment = time.time()
    return time.strftime("%Y-%m-%d", time.localtime(moment))


def _remove_stale_entries(index: IndexDocuments, found: FoundDocuments) -> None:
    """Remove entries that a bibliography no longer contains."""
    if not found.bibliographies:
        return
    kept = {item.source for item in found.items}
    beginnings = tuple(f"{source_of(path)}#" for path in found.bibliographies)
    for document in index.documents(None):
        if document.source.startswith(beginnings) and document.source not in kept:
            index.remove(document.source)


def gone(index: IndexDocuments, folders: Iterable[Path | str]) -> list[str]:
    """The sources of documents below these folders whose files are no longer there. What is no folder is left out, as
    one on a disk that was taken out is."""
    beginnings = tuple(os.path.join(source_of(folder), "") for folder in folders if real_path(folder).is_dir())
    below = (each.source for each in index.documents(None) if each.source.startswith(beginnings)) if beginnings else ()
    return [source for source in below if not (_ESCAPED.search(source) or _is_there(source))]


def _is_there(source: str) -> bool:
    """Whether the file of a source exists; for an entry of a bibliography, that of the bibliography."""
    return os.path.exists(source) or os.path.exists(source.rpartition("#")[0])


def remove(index: IndexDocuments, name: str) -> bool:
    """Remove a document, named as in `documents()`, by a path or by a URL. For a bibliography, remove its entries
    without a file. Returns False if there is no such document."""
    if Path(name).suffix.lower() in BIBLIOGRAPHIES:
        beginning = f"{source_of(name)}#"
        entries = [each.source for each in index.documents(None) if each.source.startswith(beginning)]
        if [entry for entry in entries if index.remove(entry)]:
            return True
    return any(index.remove(source) for source in _possible_sources(name))


def trust(index: IndexFlags, name: str, trusted: bool = True) -> bool:
    """Mark a document, named as for `remove`, as trusted or not. Returns False if there is no such document."""
    return any(index.trust(source, trusted) for source in _possible_sources(name))


def has(index: IndexDocuments, name: str) -> bool:
    """Whether there is a document that is named so, as for `remove`."""
    return any(index.digest(source) is not None for source in _possible_sources(name))


def _possible_sources(name: str) -> list[str]:
    """The sources that a name may refer to."""
    known = without_secrets(name) if is_address(name) else source_of(name)
    return list(dict.fromkeys((storable_name(name), known)))


def inspect_pending(
    index: Index,
    inspector: Inspector,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    new: bool = False,
) -> int:
    """Check the passages this inspector has not checked, or only `new` ones that no inspector has, until none is left
    or `stop` is set. Returns how many were checked."""
    done, after, total = 0, 0, 0
    if progress:
        total = sum(index.unchecked_in().values()) if new else index.counts().passages
    while waiting := index.unchecked("" if new else inspector.by, after, INSPECT_BATCH_PASSAGES):
        if stop is not None and stop.is_set():
            return done
        flags = inspector.inspect([text for _, text in waiting])
        index.put_flags({passage: flag for (passage, _), flag in zip(waiting, flags, strict=True)})
        done, after = done + len(waiting), waiting[-1][0]
        if progress:
            progress("checking", done, max(done, total))
    return done


def embed_pending(index: Index, progress: Progress | None = None, stop: threading.Event | None = None) -> int:
    """Make missing vectors, longest passages first, until none is missing or `stop` is set. Returns how many."""
    made = 0
    while missing := index.unembedded(LOOKUP_BATCH_PASSAGES):
        total = made + pending(index) if progress else 0  # not for every batch, because counting takes time
        if progress:
            progress("embedding", made, total)
        for start in range(0, len(missing), EMBED_BATCH_PASSAGES):
            if stop is not None and stop.is_set():
                return made
            batch = missing[start : start + EMBED_BATCH_PASSAGES]
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
    return Failure(storable_name(source), error.code, storable_name(str(error)), error.hint)
