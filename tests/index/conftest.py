from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from turnwise.index.embedded import EmbeddedIndex
from turnwise.models.embedder import OnnxEmbedder
from turnwise.sqlite import Database
from turnwise.text import words


class WordEmbedder:
    """Vectors that count hashed words: quick, and near for texts that share words."""

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.dimension = 64

    def embed_query(self, text: str) -> np.ndarray:
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        vectors = np.full((len(texts), self.dimension), 0.01, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in words(text.lower()):
                vectors[row, zlib.crc32(word.encode()) % self.dimension] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="session")
def real_embedder() -> OnnxEmbedder:
    return OnnxEmbedder(threads=1)


@pytest.fixture(scope="session")
def new_word_embedder() -> type[WordEmbedder]:
    return WordEmbedder


@pytest.fixture
def word_embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def open_index(tmp_path: Path) -> Iterator[Callable[..., EmbeddedIndex]]:
    """Opens the test's library, each time with a connection of its own, as another process would."""
    opened: list[EmbeddedIndex] = []

    def open_index(embedder: object = None) -> EmbeddedIndex:
        opened.append(EmbeddedIndex(Database(tmp_path / "library.db"), embedder or WordEmbedder()))  # type: ignore[arg-type]
        return opened[-1]

    yield open_index
    for index in opened:
        index.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for documents, beside the library."""
    (tmp_path / "documents").mkdir()
    return tmp_path / "documents"
