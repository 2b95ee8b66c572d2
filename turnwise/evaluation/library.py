"""Benchmark collections as libraries of the product. They are cached, because embedding one can take an hour."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from turnwise.documents.blocks import Block, Parsed
from turnwise.documents.chunk import chunk
from turnwise.documents.ingest import embed_pending
from turnwise.evaluation.data import Entry
from turnwise.evaluation.suites import Progress
from turnwise.index.embedded import EmbeddedIndex
from turnwise.models.embedder import QuickEmbedder
from turnwise.sqlite import Database
from turnwise.text import clean
from turnwise.types import Chunk, Document, Embedder

ByDocument = Mapping[str, Sequence[Entry]]  # the passages of a document in their order, by its source

_PART = re.compile(r"(?P<document>.+?)[-_](?P<start>\d+)-\d+(?:-\d+-\d+)?")
_PARAGRAPH = re.compile(r"\S.*?(?=\s*(?:\n[ \t]*\n|\Z))", re.S)


class Libraries:
    """Opens collections as indexes, ready to search. The cache is keyed by content and embedder, so a second run is
    fast, and an interrupted one continues where it stopped."""

    def __init__(self, cache: Path, embedder: Embedder, progress: Progress) -> None:
        self._cache = cache
        self._embedder = embedder
        self._progress = progress

    @contextmanager
    def of_passages(self, name: str, documents: ByDocument) -> Iterator[EmbeddedIndex]:
        """An index in which each entry is one passage, at its place in the document that it is a part of."""
        rows = [_as_passages(source, entries) for source, entries in documents.items()]
        with self._open(name, _digest_of(rows)) as index:
            if index.counts().documents < len(rows):
                index.put(rows)
            self._embed(name, index)
            yield index

    @contextmanager
    def of_documents(self, name: str, entries: Sequence[Entry]) -> Iterator[EmbeddedIndex]:
        """An index of entries that are cut into passages; these have their offsets in the entry's text."""
        documents = [_as_chunks(entry) for entry in entries]
        with self._open(name, _digest_of(documents)) as index:
            index.put(documents)
            self._embed(name, index)
            yield index

    @contextmanager
    def _open(self, name: str, digest: str) -> Iterator[EmbeddedIndex]:
        # The two passage embedders share a name, because a library may hold vectors from both; here they are kept
        # apart, to compare them.
        way = "-quick" if isinstance(self._embedder, QuickEmbedder) else ""
        folder = self._cache / f"{name.replace('/', '-')}-{digest}-{self._embedder.name}{way}"
        folder.mkdir(parents=True, exist_ok=True)
        index = EmbeddedIndex(Database(folder / "library.db"), self._embedder)
        try:
            yield index
        finally:
            index.close()

    def _embed(self, name: str, index: EmbeddedIndex) -> None:
        embed_pending(index, lambda _, done, total: self._progress(f"{name} embedding", done, total))


def plain_text_document(title: str, text: str) -> Parsed:
    """A plain text as input for the chunker. Offsets stay as they are, because gold spans refer to them."""
    return Parsed(title, text, tuple(Block(*paragraph.span()) for paragraph in _PARAGRAPH.finditer(text)))


def _title(entry: Entry) -> str:
    """The title; in Doc2Dial, which has none, ids begin with it."""
    return entry.title.strip() or entry.id.split("#")[0]


def _body(entry: Entry) -> str:
    """The text without the title that some corpora repeat at its start; the index stores the title separately."""
    title = entry.title.strip()
    return entry.text.strip().removeprefix(title).strip() or entry.text


def by_document(entries: Sequence[Entry]) -> ByDocument:
    """Passages as parts of documents: an id is the document's with offsets in it, "822086267_7384-8758-0-1374"
    or "ibmcld_00029-7-2023". Parts with another title are another document."""
    titles: dict[str, set[str]] = {}
    for entry in entries:
        titles.setdefault(_document(entry), set()).add(entry.title.strip())
    documents: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        document, title = _document(entry), entry.title.strip()
        if len(named := titles[document] - {""}) == 1:
            (title,) = named  # also of the parts without one
        documents.setdefault((document, title), []).append(entry)
    several = Counter(document for document, _ in documents)
    return {
        f"{document} {title}".strip() if several[document] > 1 else document: sorted(parts, key=_offset)
        for (document, title), parts in documents.items()
    }


def _document(entry: Entry) -> str:
    part = _PART.fullmatch(entry.id)
    return part["document"] if part else entry.id


def _offset(entry: Entry) -> int:
    part = _PART.fullmatch(entry.id)
    return int(part["start"]) if part else 0


def _as_passages(source: str, entries: Sequence[Entry]) -> Document:
    title = clean(next((entry.title for entry in entries if entry.title.strip()), ""))
    texts = [clean(_body(entry)) for entry in entries]
    chunks = tuple(Chunk(text, end=len(text)) for text in texts)
    return Document(source, title, _digest([title, *texts]), chunks)


def _as_chunks(entry: Entry) -> Document:
    chunks = tuple(chunk(plain_text_document(_title(entry), entry.text)))
    return Document(entry.id, _title(entry), _digest([(each.text, each.start) for each in chunks]), chunks)


def _digest_of(documents: Sequence[Document]) -> str:
    return _digest([(each.source, each.content) for each in documents])


def _digest(values: Sequence[object]) -> str:
    digest = hashlib.sha256()
    for value in values:
        digest.update(repr(value).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]
