from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.services import PostgresServer
from turnwise import postgres as connections
from turnwise.documents.ingest import embed_pending
from turnwise.errors import LibraryError
from turnwise.index import postgres as module
from turnwise.index import postgres_schema
from turnwise.index.postgres import PostgresIndex
from turnwise.index.postgres_schema import pattern
from turnwise.index.postings import ENTRY, LENGTHS, Scores, State, bm25, due_segments
from turnwise.index.words import indexed_words
from turnwise.postgres import Database
from turnwise.types import Chunk, Counts, Document, Filter, Reference, SearchQuery, Term


@pytest.fixture
def index(postgres_url: str, word_embedder) -> Iterator[PostgresIndex]:
    index = PostgresIndex(Database(postgres_url), word_embedder)
    yield index
    index.close()


def one(source: str, text: str, **about: object) -> Document:
    """A document of one passage."""
    return Document(source, "", f"{text} {about}", (Chunk(text, end=len(text)),), **about)  # type: ignore[arg-type]


def segments(index: PostgresIndex) -> list[tuple[int, int]]:
    """Of every segment the passages and the words."""
    rows = index._database.rows("SELECT passages, words FROM segments ORDER BY passages DESC, words DESC")
    return [(row["passages"], row["words"]) for row in rows]


def lexical(index: PostgresIndex, query: SearchQuery) -> list[str]:
    """The sources of the passages that have the words, the best first."""
    found = [hit for hit in index.search(query, 200) if hit.lexical_rank]
    return [hit.passage.source for hit in sorted(found, key=lambda hit: hit.lexical_rank or 0)]


# --- BM25 ---------------------------------------------------------------------------------------------------------


def by_formula(texts: dict[str, str], weights: dict[str, float]) -> list[str]:
    """The ranking of BM25 written down: texts that have a word, the best first."""
    said = {name: Counter(indexed_words(text)) for name, text in texts.items()}
    average = sum(sum(words.values()) for words in said.values()) / len(said)
    scores = dict.fromkeys(said, 0.0)
    for word, weight in weights.items():
        having = [name for name in said if word in said[name]]
        rarity = log(1 + (len(said) - len(having) + 0.5) / (len(having) + 0.5))
        for name in having:
            times = said[name][word]
            norm = 1.2 * (1 - 0.75 + 0.75 * sum(said[name].values()) / average)
            scores[name] += weight * rarity * times * 2.2 / (times + norm)
    return [name for name in sorted(scores, key=lambda name: -round(scores[name], 9)) if scores[name]]


TEXTS = {f"{n:02}": "red " * (n % 5) + "green " * (n % 3) + "blue " * (n % 7) + "x" for n in range(60)}


def test_the_ranking_is_that_of_the_formula_however_the_passages_came_in(index: PostgresIndex) -> None:
    query = SearchQuery("red", (Term("green", 0.5), Term("blue", 0.25)))
    weights = {"red": 1.0, "green": 0.5, "blue": 0.25}
    for source, text in TEXTS.items():
        index.put([one(source, text)])
    assert lexical(index, query) == by_formula(TEXTS, weights)
    assert len(segments(index)) < 16
    assert sum(passages for passages, _ in segments(index)) == 60

    left = {source: text for source, text in TEXTS.items() if int(source) % 2}
    for source in TEXTS.keys() - left.keys():
        index.remove(source)
    assert set(lexical(index, query)) == set(by_formula(left, weights))
    for source in sorted(left)[:6]:
        index.put([one(source, left[source] + " anew")])
        left[source] += " anew"
    index.put([one("more", "red and more")])
    index.remove("more")
    assert sum(passages for passages, _ in segments(index)) <= 30 * 1.25


def test_removed_passages_leave_the_segments(index: PostgresIndex) -> None:
    index.put(one(source, text) for source, text in TEXTS.items())
    before = segments(index)
    for source in sorted(TEXTS)[:12]:
        index.remove(source)
    assert segments(index) == before, "little was removed"
    assert len(lexical(index, SearchQuery("red green blue"))) == len(
        by_formula(dict(list(TEXTS.items())[12:]), dict.fromkeys(("red", "green", "blue"), 1.0))
    )
    index.remove("12")
    left = dict(list(TEXTS.items())[13:])
    assert segments(index) == [(47, sum(len(text.split()) for text in left.values()))]
    assert index._database.rows("SELECT * FROM removed") == []
    weights = dict.fromkeys(("red", "green", "blue"), 1.0)
    assert lexical(index, SearchQuery("red green blue")) == by_formula(left, weights)
    for source in left:
        index.remove(source)
    assert segments(index) == []
    assert index._database.rows("SELECT * FROM postings") == []
    assert index.search(SearchQuery("red"), 5) == []


def test_the_ranking_is_found_among_many_removed_ones(index: PostgresIndex) -> None:
    index.put([one(f"old {n}", "zebra zebra zebra") for n in range(300)])
    index.put([one(f"new {n}", "zebra and gnu") for n in range(2500)])
    for n in range(300):
        index.remove(f"old {n}")
    found = lexical(index, SearchQuery("zebra"))
    assert len(found) == 100
    assert all(source.startswith("new") for source in found)


@given(st.integers(0, 2**31 - 1))
def test_a_length_is_rounded_down_by_little(length: int) -> None:
    kept = max(each for each in LENGTHS if each <= length)
    assert kept == length if length <= 40 else kept > 0.87 * length
    assert len(LENGTHS) == len(set(LENGTHS)) == 256


entries = st.lists(st.tuples(st.integers(0, 9_000_000), st.integers(1, 255), st.integers(0, 255)), max_size=30)


@given(st.dictionaries(st.sampled_from("abc"), entries), st.integers(1, 40))
def test_scores_add_up_whatever_the_ids(words: dict[str, list[tuple[int, int, int]]], count: int) -> None:
    packed = {word: np.array(each, dtype=ENTRY) for word, each in words.items()}
    scores = bm25(dict.fromkeys(words, 1.0), packed, State(100, 5000))
    expected: dict[int, float] = {}
    for of_word in words.values():
        rarity = log(1 + (100 - len(of_word) + 0.5) / (len(of_word) + 0.5))
        for passage, times, length in of_word:
            norm = 1.2 * (0.25 + 0.75 * LENGTHS[length] / 50)
            expected[passage] = expected.get(passage, 0) + rarity * 2.2 * times / (times + norm)
    assert dict(zip(scores.passages.tolist(), scores.scores.tolist(), strict=True)) == pytest.approx(expected)
    exact = dict(zip(scores.passages.tolist(), scores.scores.tolist(), strict=True))
    order = sorted(exact, key=lambda passage: (-exact[passage], passage))[:count]
    assert list(scores.best(count).items()) == [(passage, exact[passage]) for passage in order]


def test_of_equal_scores_the_earlier_passages_are_the_best() -> None:
    scores = Scores(np.array([5, 3, 9, 1], np.int32), np.array([1.0, 1.0, 2.0, 1.0]))
    assert list(scores.best(3)) == [9, 1, 3]


def test_segments_of_one_size_are_made_one() -> None:
    assert due_segments(dict.fromkeys(range(7), 1), 0) == []
    assert due_segments({**dict.fromkeys(range(8), 1), 9: 1000}, 0) == list(range(8))
    assert due_segments({1: 1000, 2: 5}, 202) == [1, 2]
    assert due_segments({}, 0) == []


# --- filters ------------------------------------------------------------------------------------------------------

LIBRARY = (
    one("/data/papers/a.pdf", "zebras run", collection="papers", tags=("africa", "new"), date="2021-05-03"),
    one("/data/papers/old/b.pdf", "zebras run", collection="papers", tags=("africa",), date="2019"),
    one("/data/notes/c_1.md", "zebras run", collection="notes", tags=("new",), date="2021"),
    one("https://zebras.example/d?x=[1]", "zebras run", date=""),
)


@pytest.mark.parametrize("few", [module.FEW_PASSAGES, 0])
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(), "abcd"),
        (Filter(collections=("papers",)), "ab"),
        (Filter(collections=("papers", "notes")), "abc"),
        (Filter(collections=("none",)), ""),
        (Filter(tags=("africa",)), "ab"),
        (Filter(tags=("africa", "new")), "a"),
        (Filter(source="*/papers/*"), "ab"),
        (Filter(source="*c_?.md"), "c"),
        (Filter(source="*cx1.md"), ""),
        (Filter(source="https://*?x=[[]1]"), "d"),
        (Filter(source="*[a-c].p[^x]f"), "ab"),
        (Filter(source="*[z-a].pdf"), ""),
        (Filter(source="*["), ""),
        (Filter(source="papers"), ""),
        (Filter(since="2021"), "ac"),
        (Filter(since="2021-05"), "a"),
        (Filter(until="2021"), "abc"),
        (Filter(until="2020"), "b"),
        (Filter(since="2019", until="2021-05"), "abc"),
        (Filter(collections=("papers",), since="2020"), "a"),
    ],
)
def test_a_filter_holds_for_words_and_for_meaning(
    index: PostgresIndex, monkeypatch: pytest.MonkeyPatch, few: int, where: Filter, expected: str
) -> None:
    monkeypatch.setattr(module, "FEW_PASSAGES", few)
    index.put(LIBRARY)
    embed_pending(index)
    hits = index.search(SearchQuery("zebras", where=where), 10)
    letters = {document.source: letter for document, letter in zip(LIBRARY, "abcd", strict=True)}
    assert sorted(letters[hit.passage.source] for hit in hits) == list(expected)
    assert all(hit.lexical_rank and hit.dense_rank for hit in hits)


def test_a_filter_is_asked_again_when_the_library_has_changed(index: PostgresIndex) -> None:
    query = SearchQuery("zebras", where=Filter(collections=("papers",)))
    for count, document in enumerate(LIBRARY[:2]):
        assert len(index.search(query, 5)) == count
        index.put([document])
        assert len(index.search(query, 5)) == count + 1
    index.remove(LIBRARY[0].source)
    assert [hit.passage.source for hit in index.search(query, 5)] == [LIBRARY[1].source]
    for n in range(20):
        assert index.search(SearchQuery("zebras", where=Filter(collections=(f"c{n}",))), 5) == []
    assert len(index._filters) <= module.REMEMBERED_FILTERS


def test_a_filter_that_few_fit_finds_them_among_many(index: PostgresIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW_PASSAGES", 0)
    index.put(one(f"{n}", f"zebra number{n}", collection="rare" if n % 100 == 0 else "") for n in range(1500))
    embed_pending(index)
    hits = index.search(SearchQuery("zebra", where=Filter(collections=("rare",))), 50)
    assert {hit.passage.source for hit in hits} == {f"{n}" for n in range(0, 1500, 100)}
    assert all(hit.lexical_rank and hit.dense_rank for hit in hits)


globs = st.text(st.sampled_from("ab*?[]^-\\\\.$()|{}+/é \n\t界"), max_size=8)


def test_a_pattern_means_the_same_as_in_the_embedded_library(index: PostgresIndex) -> None:
    sqlite = sqlite3.connect(":memory:")

    @given(globs, st.text(st.sampled_from("ab]^-\\\\.$é \n"), max_size=4))
    def check(glob: str, source: str) -> None:
        (row,) = index._database.rows("SELECT %s ~ %s AS fits", source, pattern(glob))
        assert (row["fits"],) == sqlite.execute("SELECT ? GLOB ?", (source, glob)).fetchone()

    check()


# --- what is kept -------------------------------------------------------------------------------------------------


def test_what_is_known_of_a_document_comes_back(index: PostgresIndex) -> None:
    reference = Reference("smith2020", ("Ann Smith", "Bo Öl"), 2020, "https://example.org")
    index.put([one("a", "zebras run", collection="papers", tags=("x", "y"), date="2020-01", reference=reference)])
    (document,) = index.documents()
    assert (document.collection, document.tags, document.date, document.reference) == (
        "papers",
        ("x", "y"),
        "2020-01",
        reference,
    )
    (hit,) = index.search(SearchQuery("smith 2020"), 1)
    assert hit.passage.reference == reference
    assert index.search(SearchQuery("smith2020"), 1) == [], "the key is no word of the text"


def test_odd_texts_are_kept_as_far_as_they_can_be(index: PostgresIndex) -> None:
    noise = "".join(map(chr, random.Random(1).sample(range(0x4E00, 0x9FFF), 5000)))  # nothing to compress
    odd = noise + " zebra \x00 \ud800 \\N \t\\. 'x' \u2028 " + "界" * 5 + " " + "verylong" * 2000
    assert index.put([one(odd * 3, odd, tags=(odd,), collection=odd, date=odd)]) == ["added"]
    assert index.put([one(odd * 3, odd, tags=(odd,), collection=odd, date=odd)]) == ["unchanged"]
    (hit,) = index.search(SearchQuery("zebra " + "verylong" * 2000), 1)
    assert hit.passage.text == odd.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert index.search(SearchQuery("zebra", where=Filter((odd,), (odd,), "*", odd, odd)), 1)
    assert index.search(SearchQuery("zebra", where=Filter(source="*\x00*\ud800*")), 1)
    assert index.search(SearchQuery("zebra", where=Filter(tags=("\x00",))), 1) == []
    assert index.locate("zebra") == hit.passage
    assert index.remove(odd * 3)
    assert index.counts() == Counts(0, 0, 0)


def test_one_adds_pgvector_another_makes_the_tables_a_third_uses_them(
    postgres_server: PostgresServer, word_embedder
) -> None:
    import psycopg

    url = postgres_server.create("bare")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE owner LOGIN PASSWORD 'owner'")
        connection.execute("GRANT CREATE ON DATABASE bare TO owner")
    database = Database(postgres_server.url("bare", "owner").replace("//postgres:", "//owner:"))
    with pytest.raises(LibraryError, match="no pgvector") as raised:
        PostgresIndex(database, word_embedder)
    assert raised.value.hint.endswith("CREATE EXTENSION vector")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    index = PostgresIndex(database, word_embedder)
    index.put([one("a", "zebras run")])
    embed_pending(index)
    database.close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE writer LOGIN PASSWORD 'writer'")
        connection.execute("GRANT USAGE ON SCHEMA turnwise TO writer")
        connection.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA turnwise TO writer")
        connection.execute("GRANT USAGE ON ALL SEQUENCES IN SCHEMA turnwise TO writer")
    database = Database(postgres_server.url("bare", "writer").replace("//postgres:", "//writer:"))
    index = PostgresIndex(database, word_embedder)
    index.put([one("b", "zebras eat")])
    assert embed_pending(index) == 1
    assert len(index.search(SearchQuery("zebras"), 5)) == 2
    assert index.remove("a")
    database.close()


def test_a_pgvector_that_is_too_old_is_refused(
    postgres_url: str, word_embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_schema, "MIN_PGVECTOR_VERSION", (99, 0))
    database = Database(postgres_url)
    with pytest.raises(LibraryError, match="or later is needed") as raised:
        PostgresIndex(database, word_embedder)
    assert "ALTER EXTENSION vector UPDATE" in raised.value.hint
    database.close()


def test_no_connection_is_held_while_the_question_is_embedded(
    postgres_url: str, word_embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 1)
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 0.001)
    index = PostgresIndex(Database(postgres_url), word_embedder)
    index.put([one("a", "zebras run"), one("b", "herons fish")])
    embed_pending(index)
    embedded: list[str] = []

    def embed(question: str) -> object:
        embedded.append(question)
        index._database.rows("SELECT 1")  # on the only connection
        return type(word_embedder).embed_query(word_embedder, question)

    monkeypatch.setattr(word_embedder, "embed_query", embed)
    hits = index.search(SearchQuery("zebras", talk="herons", talk_weight=0.5), 5)
    assert embedded == ["zebras", "herons"]
    assert [hit.passage.source for hit in hits] == ["a", "b"]
    assert all(hit.dense_rank for hit in hits)
    index.close()


def test_what_is_removed_while_the_question_is_embedded_is_not_found(
    index: PostgresIndex, word_embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.put([one("a", "zebras run")])
    embed_pending(index)

    def embed(question: str) -> object:
        index.remove("a")
        return type(word_embedder).embed_query(word_embedder, question)

    monkeypatch.setattr(word_embedder, "embed_query", embed)
    assert index.search(SearchQuery("zebras"), 5) == []


# --- several processes --------------------------------------------------------------------------------------------

WORK = """
import sys
sys.path.insert(0, sys.argv[3])
from conftest import WordEmbedder
from tests.services import PostgresServer
from turnwise.documents.ingest import embed_pending
from turnwise.index.postgres import PostgresIndex
from turnwise.postgres import Database
from turnwise.types import Chunk, Document, SearchQuery
name = sys.argv[2]
input()
index = PostgresIndex(Database(sys.argv[1]), WordEmbedder())
for n in range(20):
    text = f"common words of {name} number{n}"
    index.put([Document(f"{name} {n}", "", text, (Chunk(text),)), Document("shared", "", text, (Chunk(text),))])
    assert len(index.search(SearchQuery("common"), 5)) > 0
    if n % 4 == 0:
        index.remove(f"{name} {n}")
embed_pending(index)
index.close()
"""


def test_processes_that_start_together_share_one_library(postgres_url: str, word_embedder) -> None:
    here = Path(__file__).parent
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORK, postgres_url, name, str(here)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=here.parents[1],
        )
        for name in ("a", "b")
    ]
    with ThreadPoolExecutor() as pool:
        ended = list(pool.map(lambda process: process.communicate("go\n", timeout=60)[1], processes))
    assert ended == ["", ""]
    index = PostgresIndex(Database(postgres_url), word_embedder)
    embed_pending(index)
    assert index.counts() == Counts(31, 31, 31)
    assert {hit.passage.source[0] for hit in index.search(SearchQuery("common"), 31)} == {"a", "b", "s"}
    index.close()
