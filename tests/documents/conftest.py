from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from turnwise.types import Counts, Document, DocumentInfo, Outcome


class NoEmbedder:
    name = "none"
    dimension = 2

    def embed_query(self, _: str) -> np.ndarray:
        return np.ones(2, dtype=np.float32)

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        return np.ones((len(texts), 2), dtype=np.float32)


class Shelves:
    """An index that only keeps what is put in, to be looked at: by source, and call by call."""

    def __init__(self) -> None:
        self.embedder = NoEmbedder()
        self.kept: dict[str, Document] = {}
        self.calls: list[list[str]] = []

    def put(self, documents: Iterable[Document]) -> list[Outcome]:
        documents = list(documents)
        self.calls.append([document.source for document in documents])
        return [self._put(document) for document in documents]

    def _put(self, document: Document) -> Outcome:
        before = self.kept.get(document.source)
        self.kept[document.source] = document
        if before is None:
            return "added"
        return "unchanged" if before.digest == document.digest else "updated"

    def digest(self, source: str) -> str | None:
        return self.kept[source].digest if source in self.kept else None

    def remove(self, source: str) -> bool:
        return self.kept.pop(source, None) is not None

    def documents(self, *_: object) -> list[DocumentInfo]:
        return [
            DocumentInfo(number, each.source, each.title, len(each.chunks), 0.0, each.collection, each.tags)
            for number, each in enumerate(sorted(self.kept.values(), key=lambda each: each.source))
        ]

    def document(self, source: str, *_: object) -> DocumentInfo | None:
        return next((each for each in self.documents() if each.source == source), None)

    def counts(self) -> Counts:
        return Counts(len(self.kept), sum(len(each.chunks) for each in self.kept.values()), 0)

    def named(self, name: str) -> Document:
        """The one document whose source ends so."""
        (found,) = (each for source, each in self.kept.items() if source.endswith(name))
        return found


@pytest.fixture
def shelves() -> Shelves:
    return Shelves()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for documents."""
    (tmp_path / "documents").mkdir()
    return tmp_path / "documents"
