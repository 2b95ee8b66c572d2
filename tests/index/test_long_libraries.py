"""What a page of documents and the counters read does not grow with the library, wherever it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.reading import read_by, settled
from turnwise.index.embedded import EmbeddedIndex
from turnwise.index.postgres import PostgresIndex
from turnwise.postgres import Database as Postgres
from turnwise.sqlite import Database as Sqlite
from turnwise.types import LIBRARY, Chunk, Counts, Document, Embedder, Index, Reach

MANY, PAGE = 1000, 5


@pytest.fixture(params=["embedded", "postgres"])
def index(request: pytest.FixtureRequest, tmp_path: Path, new_word_embedder: Callable[[], Embedder]) -> Iterator[Index]:
    if request.param == "embedded":
        index: Index = EmbeddedIndex(Sqlite(tmp_path / "library.db"), new_word_embedder())
    else:
        index = PostgresIndex(Postgres(request.getfixturevalue("postgres_url")), new_word_embedder())
    yield index
    index.close()


def document(source: str, collection: str = "", tenant: str = "", attached: str = "", parts: int = 1) -> Document:
    chunks = tuple(Chunk(f"{source}, part {n}") for n in range(parts))
    return Document(source, "", "1", chunks, collection, tenant=tenant, attached=attached)


def embed(index: Index, number: int) -> None:
    while number and (missing := index.unembedded(min(number, 200))):
        number -= index.put_vectors({passage: index.embedder.embed_query(text) for passage, text in missing})


def read(index: Index, work: Callable[[], object]) -> int:
    return read_by(index._database, work)  # type: ignore[attr-defined]


@pytest.fixture
def long(index: Index) -> Index:
    """A library of several: few documents of birds come after the many of others."""
    index.put(document(f"a {n:04}", "fish") for n in range(MANY))
    index.put(document(f"b {n:04}", "fish", tenant="acme") for n in range(MANY))
    index.put(document(f"c {n:03}", ("birds", "trees")[n % 2], parts=2) for n in range(4 * PAGE))
    index.put([document("d", "birds", attached="talk")])
    embed(index, 2 * MANY)
    settled(index._database)  # type: ignore[attr-defined]
    return index


BIRDS = [f"c {n:03}" for n in range(0, 2 * PAGE, 2)]
PAGES: dict[str, tuple[Callable[[Index], object], list[str]]] = {
    "all": (lambda index: index.find_documents(limit=PAGE, after="a 0100"), [f"a {n:04}" for n in range(101, 106)]),
    "of a tenant": (lambda index: index.find_documents(limit=2, reach=Reach("acme")), ["b 0000", "b 0001"]),
    "of a collection": (lambda index: index.find_documents(collection="birds", limit=PAGE), BIRDS),
    "of a collection, further on": (
        lambda index: index.find_documents(collection="fish", after="a 0500", limit=1),
        ["a 0501"],
    ),
    "of one that is not there": (lambda index: index.find_documents(collection="x", limit=PAGE), []),
    "of words": (lambda index: index.find_documents("C", collection="birds", limit=PAGE), BIRDS),
    "of a limited reach": (lambda index: index.find_documents(limit=PAGE, reach=Reach(collections=("birds",))), BIRDS),
    "of several": (
        lambda index: index.find_documents(limit=PAGE, reach=Reach(collections=("trees", "birds"))),
        [f"c {n:03}" for n in range(PAGE)],
    ),
}


def test_a_page_reads_what_it_shows(long: Index) -> None:
    for name, (page, expected) in PAGES.items():
        found: list[str] = []
        number = read(long, lambda: found.extend(each.source for each in page(long)))  # type: ignore[attr-defined]  # noqa: B023
        assert found == expected, name
        assert number < 20 * PAGE, (name, number)


def test_what_there_is_is_not_counted_when_it_is_asked_for(long: Index) -> None:
    pending = 4 * 2 * PAGE + 1
    held = {"birds": Counts(10, 20, 0), "fish": Counts(MANY, MANY, MANY), "trees": Counts(10, 20, 0)}
    assert long.collections() == held
    assert long.collections(Reach(conversations=("talk",))) == {**held, "birds": Counts(11, 21, 0)}
    assert long.collections(Reach(collections=("trees",))) == {"trees": held["trees"]}
    assert long.counts() == Counts(2 * MANY + 21, 2 * MANY + pending, 2 * MANY)
    asked: tuple[Callable[[], object], ...] = (
        long.counts,
        lambda: long.counts(LIBRARY),
        lambda: long.counts(Reach("acme")),
        lambda: long.collections(Reach(conversations=("talk",), collections=("birds",))),
        lambda: long.documents(Reach(conversations=("talk",), collections=("x",))),
    )
    assert [read(long, work) < 50 for work in asked] == [True] * len(asked)


def test_passages_without_a_vector_are_found_without_reading_the_others(long: Index) -> None:
    assert read(long, lambda: long.unembedded(PAGE)) < 20 * PAGE
    assert len(long.unembedded(MANY)) == 4 * 2 * PAGE + 1
    embed(long, MANY)
    settled(long._database)  # type: ignore[attr-defined]
    assert read(long, lambda: long.unembedded(PAGE)) < 20 * PAGE
    assert long.unembedded(PAGE) == []


def test_while_vectors_are_made_they_are_not_counted_again(index: Index) -> None:
    index.put([document("book", "books", parts=MANY), *(document(f"d {n}") for n in range(MANY))])
    settled(index._database)  # type: ignore[attr-defined]
    for made in (0, MANY // 2, MANY + 10):
        embed(index, made - index.counts().vectors)
        assert index.counts() == index.counts(LIBRARY) == Counts(MANY + 1, 2 * MANY, made)
        assert [each.pending for each in index.find_documents(collection="books")] == [max(0, MANY - made)]
        assert read(index, index.collections) < 50
        assert read(index, lambda: index.find_documents(collection="books")) < 50
