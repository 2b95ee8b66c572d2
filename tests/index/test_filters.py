from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.documents.ingest import embed_pending
from turnwise.index import lexical
from turnwise.index.embedded import EmbeddedIndex
from turnwise.sqlite import Database
from turnwise.types import Chunk, Document, Filter, Reference, SearchQuery

Open = Callable[..., EmbeddedIndex]

PAPERS = (
    Document("/papers/a.md", "A", "1", (Chunk("zebras graze"),), "biology", ("africa", "mammals"), "2019-05-02"),
    Document("/papers/b.md", "B", "1", (Chunk("zebras sleep"),), "biology", ("mammals",), "2020"),
    Document("/notes/c.md", "C", "1", (Chunk("zebras run"), Chunk("zebras swim")), "", ("africa",), "2021-12-31"),
    Document("https://x.org/d", "D", "1", (Chunk("zebras fly"),), "jokes"),
)


def titles(index: EmbeddedIndex, where: Filter, query: str = "zebras", k: int = 10) -> set[str]:
    return {hit.passage.title for hit in index.search(SearchQuery(query, where=where), k)}


@pytest.mark.parametrize("embedded", [False, True])
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(), "ABCD"),
        (Filter(collections=("biology",)), "AB"),
        (Filter(collections=("biology", "jokes")), "ABD"),
        (Filter(collections=("none",)), ""),
        (Filter(tags=("mammals",)), "AB"),
        (Filter(tags=("mammals", "africa")), "A"),
        (Filter(tags=("mammals", "africa") * 1000), "A"),
        (Filter(tags=tuple(map(str, range(2000)))), ""),
        (Filter(source="/papers/*"), "AB"),
        (Filter(source="*/c.md"), "C"),
        (Filter(since="2020"), "BC"),
        (Filter(until="2019"), "A"),
        (Filter(until="2020"), "AB"),
        (Filter(since="2019-05-02", until="2021-12"), "ABC"),
        (Filter(since="2019-05-03", until="2021-12-30"), "B"),
        (Filter(("biology",), ("africa",), "/papers/*", "2019", "2019"), "A"),
    ],
)
def test_a_search_keeps_to_its_filter(open_index: Open, where: Filter, expected: str, embedded: bool) -> None:
    index = open_index()
    index.put(PAPERS)
    if embedded:
        embed_pending(index)
    assert titles(index, where) == set(expected)
    by_meaning = index.search(SearchQuery("unheard", dense="zebras", where=where), 10)
    assert {hit.passage.title for hit in by_meaning} == (set(expected) if embedded else set())


@pytest.mark.parametrize("broad", [0.0, 0.05, 1.0])
def test_a_filter_leaves_as_many_as_there_are(open_index: Open, monkeypatch: pytest.MonkeyPatch, broad: float) -> None:
    monkeypatch.setattr(lexical, "BROAD_FILTER_SHARE", broad)
    index = open_index()
    index.put(
        Document(f"{n}", "", "1", (Chunk(f"common words {'often ' * (n % 7)} number{n}"),), tags=(f"of {n % 50}",))
        for n in range(1500)
    )
    embed_pending(index)
    for tag, query in (("of 3", "common"), ("of 14", "common number3 often"), ("of 49", "often")):
        hits = index.search(SearchQuery(query, dense="common words", where=Filter(tags=(tag,))), 40)
        assert len(hits) == 30
        assert {int(hit.passage.source) % 50 for hit in hits} == {int(tag.split()[1])}


def test_a_filter_sees_what_was_added_and_removed_since(open_index: Open) -> None:
    here, there = open_index(), open_index()
    there.put(PAPERS)
    where = Filter(tags=("africa",))
    assert titles(here, where) == {"A", "C"}
    there.remove("/papers/a.md")
    there.put([dataclasses.replace(PAPERS[1], digest="2", tags=("africa",))])
    assert titles(here, where) == {"B", "C"}


pieces = st.sampled_from(["", "a", "b", "c"])
dates = st.sampled_from(["", "2019", "2019-05", "2019-05-07", "2020-01-01"])


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory, new_word_embedder) -> Iterator[EmbeddedIndex]:
    """A library with a document of every kind that the filters below tell apart."""
    index = EmbeddedIndex(Database(tmp_path_factory.mktemp("filters") / "library.db"), new_word_embedder())
    kinds = product(("", "a", "b"), ((), ("x",), ("x", "y"), ("z",)), ("a", "b"), ("", "2019", "2019-05-07", "2020-01"))
    index.put(
        Document(f"{n}-{part}-s", str(n), "1", (Chunk("zebras"),), collection, tags, date)
        for n, (collection, tags, part, date) in enumerate(kinds)
    )
    yield index
    index.close()


@settings(max_examples=150, deadline=None)
@given(
    st.builds(
        Filter,
        st.frozensets(pieces, max_size=2).map(tuple),
        st.frozensets(st.sampled_from("xyz"), max_size=2).map(tuple),
        st.sampled_from(["", "*", "?-a-*", "*-b-*", "[0-2]*"]),
        dates,
        dates,
    )
)
def test_any_filter_means_what_it_says(every_kind: EmbeddedIndex, where: Filter) -> None:
    expected = {
        document.title
        for document in every_kind.documents()
        if (not where.collections or document.collection in where.collections)
        and set(where.tags) <= set(document.tags)
        and (not where.source or fnmatchcase(document.source, where.source))
        and (not where.since or document.date >= where.since)
        and (not where.until or (document.date and document.date[: len(where.until)] <= where.until))
    }
    assert titles(every_kind, where, k=100) == expected


# --- what a document carries --------------------------------------------------------------------------------------


def test_what_a_document_says_of_itself_is_kept_and_cited(open_index: Open) -> None:
    reference = Reference("smith20", ("Smith, Ada", "Léon, Bob"), 2020, "https://doi.org/10.1/x")
    index = open_index()
    index.put([Document("s", "On zebras", "1", (Chunk("They graze."),), "papers", ("x", "ÿ"), "2020-02", reference)])
    (document,) = index.documents()
    assert (document.collection, document.tags, document.date) == ("papers", ("x", "ÿ"), "2020-02")
    assert document.reference == reference
    for query in ("Leon", "smith 2020"):
        (hit,) = index.search(SearchQuery(query), 3)
        assert hit.passage.reference == reference
    located = index.locate("They graze.")
    assert located is not None
    assert located.reference == reference
    assert index.locate("Smith 2020") is None  # words of the text alone count


# --- a library of the first schema --------------------------------------------------------------------------------

FIRST_SCHEMA = """
    CREATE TABLE migrations (part TEXT, name TEXT, PRIMARY KEY (part, name));
    INSERT INTO migrations VALUES ('index', 'tables');
    CREATE TABLE documents (id INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
        hash TEXT NOT NULL, added_at REAL NOT NULL, passages INTEGER NOT NULL);
    CREATE TABLE passages (id INTEGER PRIMARY KEY AUTOINCREMENT,
        document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE, position INTEGER NOT NULL,
        title TEXT NOT NULL, heading TEXT NOT NULL, page INTEGER, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
        text TEXT NOT NULL);
    CREATE INDEX passages_of_document ON passages (document_id);
    CREATE VIRTUAL TABLE passage_words USING fts5 (
        title, heading, text, content = 'passages', content_rowid = 'id', tokenize = 'porter unicode61');
    CREATE TRIGGER passage_added AFTER INSERT ON passages BEGIN
        INSERT INTO passage_words (rowid, title, heading, text) VALUES (new.id, new.title, new.heading, new.text);
    END;
    CREATE TRIGGER passage_removed AFTER DELETE ON passages BEGIN
        INSERT INTO passage_words (passage_words, rowid, title, heading, text)
        VALUES ('delete', old.id, old.title, old.heading, old.text);
    END;
    CREATE TABLE vectors (seq INTEGER PRIMARY KEY AUTOINCREMENT,
        passage_id INTEGER NOT NULL UNIQUE REFERENCES passages ON DELETE CASCADE, vector BLOB NOT NULL);
    CREATE TABLE index_meta (name TEXT PRIMARY KEY, value);
    INSERT INTO index_meta VALUES ('removals', 3), ('embedder', 'words');
    INSERT INTO documents VALUES (2, '/a.md', 'Animals', 'h', 1.5, 2), (5, '/b.md', 'Plants', 'h', 2.5, 1);
    INSERT INTO passages VALUES (3, 2, 0, 'Animals', 'Zebras', NULL, 0, 13, 'Zebras graze.'),
        (4, 2, 1, 'Animals', 'Lions', 7, 14, 26, 'Lions sleep.'), (9, 5, 0, 'Plants', '', NULL, 0, 11, 'Oaks grow.');
"""


def test_a_library_of_the_first_schema_is_taken_over(tmp_path: Path, word_embedder) -> None:
    with sqlite3.connect(tmp_path / "library.db") as old:
        old.executescript(FIRST_SCHEMA)
        vector = word_embedder.embed_query("Animals — Zebras\nZebras graze.").astype(np.float16).tobytes()
        old.execute("INSERT INTO vectors VALUES (4, 3, ?)", (vector,))
    old.close()
    for _ in range(2):  # and opened again as it is then
        index = EmbeddedIndex(Database(tmp_path / "library.db"), word_embedder)
        assert [(each.id, each.source, each.title, each.passages, each.tags) for each in index.documents()] == [
            (2, "/a.md", "Animals", 2, ()),
            (5, "/b.md", "Plants", 1, ()),
        ]
        hit = index.search(SearchQuery("zebra grazing"), 1)[0]
        assert (hit.passage.id, hit.passage.heading, hit.lexical_rank, hit.dense_rank) == (3, "Zebras", 1, 1)
        assert [passage.id for passage in index.around(hit.passage)] == [3, 4]
        assert index.check() == []
        index.close()
    index = EmbeddedIndex(Database(tmp_path / "library.db"), word_embedder)
    assert index.counts().vectors == 1
    assert embed_pending(index) == 2
    assert index.remove("/a.md")
    assert index.check() == []
    assert (index.counts().passages, index.counts().vectors) == (1, 1)
    index.close()
