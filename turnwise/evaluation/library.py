"""Benchmark collections as libraries of the product. They are cached, because embedding one can take an hour."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
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

_PARAGRAPH = re.compile(r"\S.*?(?=\s*(?:\n[ \t]*\n|\Z))", re.S)


class Libraries:
    """Opens collections as indexes, ready to search. The cache is keyed by content and embedder, so a second run is
    fast, and an interrupted one continues where it stopped."""

    def __init__(self, cache: Path, embedder: Embedder, progress: Progress) -> None:
        self._cache = cache
        self._embedder = embedder
        self._progress = progress

    @contextmanager
    def of_passages(self, name: str, entries: Sequence[Entry]) -> Iterator[EmbeddedIndex]:
        """An index in which each entry is one passage; a passage's source is its id."""
        rows = [_as_passage(entry) for entry in entries]
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


def _as_passage(entry: Entry) -> Document:
    title, text = clean(entry.title), clean(_body(entry))
    return Document(entry.id, title, _digest([title, text]), (Chunk(text, end=len(text)),))


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
