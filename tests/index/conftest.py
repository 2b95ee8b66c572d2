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


def make_pdf(pages: Sequence[Sequence[str]], title: str = "", encrypted: bool = False) -> bytes:
    """A small PDF with these lines on its pages; `encrypted` gives it a password that nobody knows."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        shown = " ".join(f"({line}) Tj T*" for line in lines)
        content = f"BT /F1 11 Tf 13 TL 60 760 Td {shown} ET".encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    trailer = b"/Root 1 0 R"
    if title:
        objects.append(b"<< /Title (%s) >>" % title.encode("latin-1"))
        trailer += b" /Info %d 0 R" % len(objects)
    if encrypted:
        objects.append(b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (b"11" * 32, b"22" * 32))
        trailer += b" /Encrypt %d 0 R /ID [<00> <00>]" % len(objects)
    return _assembled(objects, trailer)


def _assembled(objects: list[bytes], trailer: bytes) -> bytes:
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(b"%010d 00000 n \n" % len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, b"".join(offsets))
    return out + table + b"trailer << /Size %d %s >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, trailer, len(out))


@pytest.fixture(name="make_pdf")
def make_pdf_fixture() -> Callable[..., bytes]:
    return make_pdf
