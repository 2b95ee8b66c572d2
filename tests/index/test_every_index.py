"""What holds for a library wherever it is kept: the same tests on SQLite and on PostgreSQL."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnwise.documents.ingest import embed_pending, pending
from turnwise.errors import LibraryError
from turnwise.index.embedded import EmbeddedIndex
from turnwise.index.postgres import PostgresIndex
from turnwise.postgres import Database as Postgres
from turnwise.sqlite import Database as Sqlite
from turnwise.turn.retrieve import find
from turnwise.types import LIBRARY, Chunk, Counts, Document, Embedder, Filter, Index, Reference, SearchQuery, Term

Open = Callable[..., Index]


@pytest.fixture(params=["embedded", "postgres"])
def kept_at(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """A library's place: a file, or the address of a database."""
    if request.param == "embedded":
        return tmp_path / "library.db"
    address: str = request.getfixturevalue("postgres_url")
    return address


def opened(place: Path | str, embedder: Embedder) -> Index:
    if isinstance(place, Path):
        return EmbeddedIndex(Sqlite(place), embedder)
    return PostgresIndex(Postgres(place), embedder)


@pytest.fixture
def open_index(kept_at: Path | str, new_word_embedder: type) -> Iterator[Open]:
    """Opens the test's library, each time with connections of its own, as another process would."""
    indexes: list[Index] = []

    def open_index(embedder: Embedder | None = None) -> Index:
        indexes.append(opened(kept_at, embedder or new_word_embedder()))
        return indexes[-1]

    yield open_index
    for index in indexes:
        index.close()


def one(source: str, title: str, text: str) -> Document:
    """A document of one passage."""
    return Document(source, title, f"{title}\n{text}", (Chunk(text, end=len(text)),))


def ready(count: int) -> Iterator[Document]:
    return (one(f"row {n}", f"Title {n}", f"common words and number{n}") for n in range(count))


def found(index: Index, query: str, *added: Term, k: int = 5) -> list[str]:
    return [hit.passage.title for hit in index.search(SearchQuery(query, added), k)]


# --- documents in and out -----------------------------------------------------------------------------------------


def test_documents_go_in_and_are_replaced_and_removed(open_index: Open) -> None:
    index = open_index()
    assert index.put([one("a", "A", "Zebras."), one("b", "B", "Lions.")]) == ["added", "added"]
    embed_pending(index)
    ids = {document.source: document.id for document in index.documents()}
    assert index.put([one("a", "A", "Zebras."), one("b", "B", "Gnus.")]) == ["unchanged", "updated"]
    assert index.counts() == Counts(2, 2, 1)
    assert {document.source: document.id for document in index.documents()} == ids
    assert index.digest("b") == "B\nGnus."
    assert index.digest("c") is None
    assert found(index, "gnus")[:1] == ["B"]
    assert index.search(SearchQuery("gnus"), 1)[0].similarity is None
    assert index.remove("b")
    assert not index.remove("b")
    assert index.counts() == Counts(1, 1, 1)
    assert found(index, "gnus zebras") == ["A"]


def test_a_source_twice_in_one_call_counts_as_its_last(open_index: Open) -> None:
    index = open_index()
    documents = [one("a", "A", "First."), one("b", "B", "Other."), one("a", "A", "Second."), one("a", "A", "Second.")]
    assert index.put(documents) == ["added", "added", "updated", "unchanged"]
    assert found(index, "second") == ["A"]
    assert found(index, "first") == []


def test_many_go_in_and_a_few_are_replaced(open_index: Open) -> None:
    index = open_index()
    assert index.put(ready(2500)) == ["added"] * 2500
    assert index.put(ready(2500)) == ["unchanged"] * 2500
    assert index.put([one("row 7", "Title 7", "zebras"), one("new", "", "lions")]) == ["updated", "added"]
    assert index.counts() == Counts(2501, 2501, 0)
    (hit,) = index.search(SearchQuery("zebras"), 5)
    assert (hit.passage.source, hit.passage.text) == ("row 7", "zebras")


def test_passages_have_their_place_and_their_neighbours(open_index: Open) -> None:
    index = open_index()
    chunks = tuple(Chunk(f"Part {n} of it", f"Chapter {n}", n, 10 * n, 10 * n + 9) for n in range(5))
    index.put([Document("a", "A", "1", chunks), one("b", "B", "Part 2 of another")])
    middle = index.search(SearchQuery("part 3"), 1)[0].passage
    assert (middle.text, middle.heading, middle.page, middle.start, middle.end, middle.position) == (
        "Part 3 of it",
        "Chapter 3",
        3,
        30,
        39,
        3,
    )
    assert index.passage(middle.id) == middle
    assert index.passage(999_999) is None
    assert [each.position for each in index.around(middle)] == [2, 3, 4]
    assert [each.position for each in index.around(middle, 9)] == [0, 1, 2, 3, 4]
    assert index.around(middle, 0) == [middle]
    assert index.around(middle, each_side=1) == index.around(middle)


def test_an_id_is_never_given_again(open_index: Open) -> None:
    index = open_index()
    index.put([one("a", "A", "zebras")])
    before = index.search(SearchQuery("zebras"), 1)[0].passage.id
    index.remove("a")
    index.put([one("a", "A", "zebras")])
    assert index.search(SearchQuery("zebras"), 1)[0].passage.id > before
    assert index.passage(before) is None


def test_titles_and_headings_are_the_terms_until_the_library_changes(open_index: Open) -> None:
    index, other = open_index(), open_index()
    assert index.terms() == ((), ())
    index.put([Document("a", "A", "1", (Chunk("x", "H"), Chunk("y", "H"), Chunk("z", ""), Chunk("z", "G")))])
    first = other.terms()
    assert first == (("A",), ("H", "G"))
    assert other.terms() is first
    index.remove("a")
    assert other.terms() == ((), ())


# --- the same document, described otherwise ------------------------------------------------------------------------

HERONS = Document("h", "Herons", "1", (Chunk("They wade.", "Life", 1, 0, 10), Chunk("They fish.", "Food", 2, 11, 21)))


def test_other_tags_leave_the_passages_and_their_vectors(open_index: Open) -> None:
    index, other = open_index(), open_index()
    index.put([dataclasses.replace(HERONS, tags=("old",), date="2019"), one("g", "Gnus", "They wade.")])
    embed_pending(index)
    before = [(hit.passage.id, hit.similarity) for hit in index.search(SearchQuery("they wade"), 5)]
    old, new = Filter(tags=("old",)), Filter(("birds",), ("new", "wet"), since="2020")
    assert [len(other.search(SearchQuery("wade", where=where), 5)) for where in (old, new)] == [2, 0]
    said = dataclasses.replace(HERONS, digest="2", collection="birds", tags=("new", "wet"), date="2020-05")
    assert index.put([said, one("g", "Gnus", "They wade.")]) == ["updated", "unchanged"]
    assert index.counts() == Counts(2, 3, 3)
    for each in (index, other):
        hits = each.search(SearchQuery("they wade"), 5)
        assert [(hit.passage.id, hit.similarity) for hit in hits] == before
        assert {hit.passage.date for hit in hits if hit.passage.source == "h"} == {"2020-05"}
    assert [len(other.search(SearchQuery("wade", where=where), 5)) for where in (old, new)] == [0, 2]
    (info,) = [each for each in other.documents() if each.source == "h"]
    assert (info.collection, info.tags, info.date, info.passages) == ("birds", ("new", "wet"), "2020-05", 2)
    assert other.digest("h") == "2"


def test_other_authors_are_found_and_the_vectors_stay(open_index: Open) -> None:
    index, other = open_index(), open_index()
    index.put([dataclasses.replace(HERONS, reference=Reference("a19", ("Adams, Eve",), 2019)), one("g", "Gnus", "Go.")])
    embed_pending(index)
    assert {hit.lexical_rank for hit in other.search(SearchQuery("Adams 2019"), 2)} == {1, 2}
    reference = Reference("b20", ("Brown, Bob",), 2020, "https://example.org")
    index.put([dataclasses.replace(HERONS, digest="2", reference=reference)])
    assert index.counts() == Counts(2, 3, 3)
    assert index.unembedded(5) == []
    for each in (index, other):
        assert {hit.lexical_rank for hit in each.search(SearchQuery("Adams 2019"), 5)} == {None}
        found_now = each.search(SearchQuery("Brown 2020"), 2)
        assert {(hit.lexical_rank, hit.passage.reference) for hit in found_now} == {(1, reference), (2, reference)}
        assert all(hit.similarity is not None for hit in found_now)
    assert index.remove("h")
    assert index.counts() == Counts(1, 1, 1)
    assert found(other, "Brown wade") == ["Gnus"]


@pytest.mark.parametrize(
    "changed",
    [
        dataclasses.replace(HERONS, digest="2", title="Egrets"),
        dataclasses.replace(HERONS, digest="2", chunks=HERONS.chunks[:1]),
        dataclasses.replace(HERONS, digest="2", chunks=HERONS.chunks[::-1]),
        *(
            dataclasses.replace(
                HERONS, digest="2", chunks=(dataclasses.replace(HERONS.chunks[0], **{name: value}),) * 2
            )
            for name, value in (("text", "x"), ("heading", "x"), ("page", None), ("start", 1), ("end", 11))
        ),
        dataclasses.replace(HERONS, digest="2", chunks=()),
    ],
)
def test_a_document_whose_passages_changed_is_read_anew(open_index: Open, changed: Document) -> None:
    index = open_index()
    index.put([HERONS])
    embed_pending(index)
    assert index.put([changed]) == ["updated"]
    assert index.counts() == Counts(1, len(changed.chunks), 0)
    assert len(index.unembedded(5)) == len(changed.chunks)


described = st.builds(
    Document,
    st.sampled_from("ab"),
    st.sampled_from(["Herons", "Gnus"]),
    st.uuids().map(str),
    st.sampled_from([(), (Chunk("They wade."),), HERONS.chunks]),
    st.sampled_from(["", "papers"]),
    tags=st.sampled_from([(), ("x",)]),
    reference=st.sampled_from([None, Reference("k", ("Adams, Eve",), 2019), Reference("k", ("Brown, Bob",), 2020)]),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(described, st.booleans()), min_size=1, max_size=6))
def test_a_library_is_what_was_put_in_last(open_index: Open, puts: list[tuple[Document, bool]]) -> None:
    index, other = open_index(), open_index()
    for each in index.documents():
        index.remove(each.source)
    for document, embedded in puts:
        index.put([document])
        if embedded:
            embed_pending(index)
        other.search(SearchQuery("they"), 5)
    embed_pending(index)
    last = {document.source: document for document, _ in puts}
    for where in (Filter(), Filter(tags=("x",))):
        for query in ("they wade", "adams 2019", "brown", "gnus"):
            hits = other.search(SearchQuery(query, where=where), 10)
            by_words = {hit.passage.source for hit in hits if hit.lexical_rank is not None}
            allowed = [each for each in last.values() if not where.tags or each.tags]
            assert len(hits) == sum(len(each.chunks) for each in allowed)
            assert by_words == {each.source for each in allowed if _has_words(each, query)}
    held = {name: [len(each.chunks) for each in last.values() if each.collection == name] for name in ("", "papers")}
    counted = {name: Counts(len(each), sum(each), sum(each)) for name, each in held.items() if each}
    assert other.collections() == counted
    assert other.counts() == other.counts(LIBRARY)
    assert [each.pending for each in other.documents()] == [0] * len(last)
    assert not isinstance(index, EmbeddedIndex) or index.check() == []
    index.close()
    other.close()


def _has_words(document: Document, query: str) -> bool:
    authors = document.reference.authors if document.reference else ()
    said = " ".join([document.title, *authors, *(each.text for each in document.chunks)]).lower()
    return bool(document.chunks) and any(word in said for word in query.split() if word.isalpha() and word != "they")


# --- vectors ------------------------------------------------------------------------------------------------------


def test_vectors_are_asked_for_longest_first_and_kept_once(open_index: Open, new_word_embedder: type) -> None:
    index = open_index()
    index.put(
        [one("a", "A", "short"), one("b", "", "a longer text"), Document("c", "C", "1", (Chunk("mid text", "H"),))]
    )
    waiting = index.unembedded(10)
    assert [text for _, text in waiting] == ["a longer text", "C — H\nmid text", "A\nshort"]
    assert len(index.unembedded(2)) == 2
    vectors = new_word_embedder().embed_passages([text for _, text in waiting])
    by_id = {passage: vector for (passage, _), vector in zip(waiting, vectors, strict=True)}
    assert index.put_vectors({**by_id, 999_999: vectors[0]}) == 3
    assert index.put_vectors(by_id) == 0
    assert index.put_vectors({}) == 0
    assert index.unembedded(10) == []
    (best,) = index.search(SearchQuery("a longer text"), 1)
    assert best.similarity == pytest.approx(1, abs=2e-3)


def test_several_may_embed_at_once(open_index: Open) -> None:
    indexes = [open_index() for _ in range(3)]
    indexes[0].put(ready(150))
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda index: embed_pending(index), indexes))
    assert sum(made) == 150
    assert pending(indexes[1]) == 0


@pytest.mark.parametrize("dimension", [32, 64])
def test_another_embedder_is_refused_until_the_vectors_are_gone(
    open_index: Open, new_word_embedder: type, dimension: int
) -> None:
    index = open_index()
    index.put(ready(2))
    embed_pending(index)
    other = new_word_embedder("other")
    other.dimension = dimension
    other = open_index(other)
    for use in (lambda: other.search(SearchQuery("common"), 3), lambda: embed_pending(other)):
        with pytest.raises(LibraryError, match="built with the embedder words, and the one set is other") as caught:
            use()
        assert "embedder" in caught.value.hint
    index.remove("row 0")
    index.remove("row 1")
    other.put(ready(2))
    assert embed_pending(other) == 2
    with pytest.raises(LibraryError, match="built with the embedder other"):
        index.search(SearchQuery("common"), 3)


# --- searching ----------------------------------------------------------------------------------------------------


def test_an_empty_library_finds_nothing(open_index: Open) -> None:
    index = open_index()
    assert index.search(SearchQuery("anything"), 5) == []
    assert index.locate("Anything.") is None
    assert index.documents() == []
    assert embed_pending(index) == 0
    index.put(ready(2))
    embed_pending(index)
    assert index.search(SearchQuery("?! …"), 5) == []
    assert index.search(SearchQuery("number1"), 0) == []


def test_added_words_count_by_their_weight(open_index: Open) -> None:
    index = open_index()
    index.put(
        one(name, name, text)
        for name, text in {
            "both": "zebras and lions in one text",
            "literal": "zebras and some other beasts",
            "added": "lions and some other beasts",
            "neither": "gnus and some other beasts",
        }.items()
    )
    assert found(index, "zebras", Term("the lions", 0.5)) == ["both", "literal", "added"]
    assert found(index, "zebras", Term("lions", 0.0)) == ["literal", "both"]
    assert found(index, "what about those?", Term("lions", 0.3)) == ["added", "both"]
    assert found(index, "zebras", Term("zebra", 0.9)) == ["literal", "both"]


def test_what_was_asked_before_counts_by_its_weight(open_index: Open) -> None:
    index = open_index()
    index.put([one("a", "A", "zebras run"), one("b", "B", "lions run")])
    assert [hit.passage.title for hit in index.search(SearchQuery("run", talk="lions", talk_weight=0.8), 2)] == [
        "B",
        "A",
    ]


def test_words_that_the_library_holds_in_some_form(open_index: Open) -> None:
    index = open_index()
    index.put([one("a", "Herons", "A heron waits."), one("b", "B", "The herons' nests, and one Überraschung.")])
    assert index.held(["heron", "HERONS", "nesting", "uberraschung", "otter", "well-known", ""]) == {
        "heron": 2,
        "HERONS": 2,
        "nesting": 1,
        "uberraschung": 1,
    }
    index.remove("b")
    assert index.held(["heron", "nest"]).keys() == {"heron"}


def test_a_sentence_is_located_whatever_its_spacing(open_index: Open) -> None:
    index = open_index()
    sentence = 'They said "it\'s done", i.e. the well-known café_test (v1.2) was over by 10 % or so, at last.'
    index.put(
        [
            one("b", "B", "They said it is done, i.e. the well-known cafe test."),
            one("a", "A", "Before it. " + sentence.replace(" was ", " was\n   ") + " After."),
            one("c", "C", sentence),
        ]
    )
    located = index.locate(sentence)
    assert located is not None
    assert located.title == "A"
    assert index.locate(f"  {sentence.replace(' ', '  ')} ") == located
    assert index.locate(sentence.replace("at last", "at length")) is None
    assert index.locate("…") is None
    assert index.locate('" OR text : "') is None


hostile = st.text(max_size=80) | st.text(st.sampled_from("\"'*^:()-+{}ANDORNEAR \\\0\ud800é界٣_%"), max_size=60)


@pytest.fixture
def twenty(open_index: Open) -> Index:
    """A library of twenty passages with their vectors."""
    index = open_index()
    index.put(ready(20))
    embed_pending(index)
    return index


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hostile, st.lists(st.tuples(hostile, st.floats(allow_nan=True)), max_size=3), hostile)
def test_any_text_can_be_searched(twenty: Index, literal: str, added: list[tuple[str, float]], dense: str) -> None:
    assert len(twenty.search(SearchQuery(literal, tuple(Term(*term) for term in added), dense), 5)) <= 5
    twenty.locate(literal)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hostile)
def test_any_text_can_be_a_filter(twenty: Index, text: str) -> None:
    for where in (Filter((text,)), Filter(tags=(text,)), Filter(source=text), Filter(since=text), Filter(until=text)):
        assert len(twenty.search(SearchQuery("common", where=where), 20)) in (0, 20)
    assert twenty.search(SearchQuery("common", where=Filter(source=f"row 1\0{text}")), 5) == []


def test_several_write_and_search_at_once(open_index: Open) -> None:
    indexes = [open_index() for _ in range(3)]
    indexes[0].put([one("steady", "S", "common words")])

    def work(number: int) -> None:
        index = indexes[number]
        for n in range(15):
            index.put(
                [one(f"{number} {n}", f"T{n}", f"common words of {number}"), one("shared", "S", f"common {number} {n}")]
            )
            if n % 3 == 0:
                index.remove(f"{number} {n}")
            assert index.search(SearchQuery("common"), 5)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert indexes[0].counts() == Counts(32, 32, 0)
    assert [index.locate("common") for index in indexes].count(None) == 0


def test_a_document_that_a_question_names_is_searched_on_its_own(open_index: Open, real_embedder: Embedder) -> None:
    """Also if the words alone would not find it among many others."""
    lund, berg = Reference("", ("Lund, Ada", "Dam, P."), 2021), Reference("", ("Berg, Mia",), 2019)
    texts = ["The birds were counted at noon.", "Herons sleep on one leg.", "The city paid."]
    others = [f"In {n} we counted many birds, and in the next year we counted more birds." for n in range(1980, 2020)]
    index = open_index(real_embedder)
    index.put(
        [
            Document("[1] herons*.md", "Herons", "a", tuple(Chunk(text) for text in texts), reference=lund),
            Document("storks.md", "Storks", "b", tuple(Chunk(text) for text in others), reference=berg),
        ]
    )
    embed_pending(index)
    query = SearchQuery("how many birds in how many years were counted by Lund")
    assert "Herons" not in {hit.passage.title for hit in index.search(query, 20)}
    assert find(query, 4, index.search)[0].passage.text == texts[0]
