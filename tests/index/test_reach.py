"""What of a library somebody may see: tenants, the collections of a key, and what is attached to conversations."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import turnwise
from tests.index.test_every_index import opened
from turnwise.documents.ingest import embed_pending
from turnwise.index import allowed
from turnwise.index.embedded import EmbeddedIndex
from turnwise.index.schema import MIGRATIONS
from turnwise.index.vectors import VectorIndex
from turnwise.postgres import Database as Postgres
from turnwise.sqlite import Database as Sqlite
from turnwise.types import LIBRARY, Chunk, Counts, Document, DocumentInfo, Embedder, Filter, Index, Reach, SearchQuery

Open = Callable[..., Index]

TENANTS = ["", "", "", "acme", "a/b", "Ünï"]
CONVERSATIONS = ["", "", "talk", "other", "a/b"]
COLLECTIONS = ["", "papers", "notes"]


@pytest.fixture(params=["embedded", "postgres"])
def kept_at(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    if request.param == "embedded":
        return tmp_path / "library.db"
    address: str = request.getfixturevalue("postgres_url")
    return address


@pytest.fixture
def open_index(kept_at: Path | str, new_word_embedder: Callable[[], Embedder]) -> Iterator[Open]:
    indexes: list[Index] = []

    def open_index() -> Index:
        indexes.append(opened(kept_at, new_word_embedder()))
        return indexes[-1]

    yield open_index
    for index in indexes:
        index.close()


def document(
    name: str, collection: str = "", tenant: str = "", attached: str = "", parts: int = 1, tag: str = ""
) -> Document:
    chunks = tuple(Chunk(f"Zebras graze, part {n} of {name}.", f"Heading {name} {n}") for n in range(parts))
    tags = (tag,) if tag else ()
    return Document(name, f"Title {name}", name, chunks, collection, tags, tenant=tenant, attached=attached)


def is_within(each: Document | DocumentInfo, reach: Reach, where: Filter | None = None) -> bool:
    """The rule, in the words of the contract."""
    if each.tenant != reach.tenant:
        return False
    if each.attached:
        return each.attached in reach.conversations
    if reach.collections and each.collection not in reach.collections:
        return False
    return where is None or (
        (not where.collections or each.collection in where.collections) and set(where.tags) <= set(each.tags)
    )


documents = st.lists(
    st.builds(
        lambda *values: values,
        st.sampled_from(COLLECTIONS),
        st.sampled_from(TENANTS),
        st.sampled_from(CONVERSATIONS),
        st.integers(0, 3),
        st.sampled_from(["", "x"]),
    ),
    max_size=12,
)
reaches = st.builds(
    Reach,
    st.sampled_from(TENANTS),
    st.frozensets(st.sampled_from(COLLECTIONS), max_size=2).map(tuple),
    st.frozensets(st.sampled_from([*CONVERSATIONS[2:], "nobody's"]), max_size=2).map(tuple),
)
wheres = st.builds(
    Filter,
    st.frozensets(st.sampled_from(COLLECTIONS), max_size=1).map(tuple),
    st.sampled_from([(), ("x",)]),
)


def check(index: Index, held: Sequence[Document], reach: Reach, where: Filter, ids: dict[str, list[int]]) -> None:
    """All that an index tells of a reach is what the rule says."""
    within = sorted((each for each in held if is_within(each, reach)), key=lambda each: each.source)
    names = [each.source for each in within]
    assert [each.source for each in index.documents(reach)] == names
    assert all((each.tenant, each.attached) == (reach.tenant, each.attached) for each in index.documents(reach))
    assert [each.source for each in index.attachments(reach)] == [each.source for each in within if each.attached]
    assert [each.source for each in index.find_documents(reach=reach)] == names
    assert [each.source for each in index.find_documents("TITLE d1", reach=reach)] == [
        name for name in names if "d1" in name
    ]
    named = {each.source for each in within if each.chunks}
    assert index.held([each.source for each in held], reach).keys() == named
    for collection in COLLECTIONS:
        listed = index.find_documents(collection=collection, reach=reach, limit=2, after="d03")
        own = [each.source for each in within if each.collection == collection and each.source > "d03"]
        assert [each.source for each in listed] == own[:2]
    holding = {each.collection for each in within}
    assert {name: (each.documents, each.passages) for name, each in index.collections(reach).items()} == {
        name: (
            sum(each.collection == name for each in within),
            sum(len(each.chunks) for each in within if each.collection == name),
        )
        for name in holding
    }
    counts = index.counts(reach)
    assert (counts.documents, counts.passages) == (len(within), sum(len(each.chunks) for each in within))
    titles, headings = index.terms(reach)
    assert sorted(titles) == sorted(each.title for each in within)
    assert set(headings) == {piece.heading for each in within for piece in each.chunks}
    assert index.terms(reach) is index.terms(reach)

    fitting = {each.source for each in held if is_within(each, reach, where) and each.chunks}
    embedded = index.counts().vectors == index.counts().passages
    for asked in ("zebras", "nothing like it") if embedded else ("zebras",):  # by words, and by meaning alone
        hits = index.search(SearchQuery(asked, dense="zebras graze", where=where, reach=reach), 60)
        assert {hit.passage.source for hit in hits} == fitting
    for each in held:
        reached = is_within(each, reach)
        for piece, passage in zip(each.chunks, ids[each.source], strict=True):
            found = index.passage(passage, reach)
            assert (found.source if found else None) == (each.source if reached else None)
            located = index.locate(piece.text, reach)
            assert (located.id if located else None) == (passage if reached else None)
    for info in index.documents(None):
        reached = is_within(info, reach)
        assert (index.document(info.id, reach) is not None) == reached
        assert (index.document(info.source, reach) is not None) == reached


def ids_of(index: Index, held: Sequence[Document]) -> dict[str, list[int]]:
    """The passages of each document, as somebody who may see all would know them."""
    found: dict[str, list[int]] = {}
    for each in held:
        everything = Reach(each.tenant, (), (each.attached,) if each.attached else ())
        located = [index.locate(piece.text, everything) for piece in each.chunks]
        found[each.source] = [passage.id for passage in located if passage]
        assert len(found[each.source]) == len(each.chunks)
    return found


@pytest.mark.parametrize("few", [0.0, 0.1, 1.0])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=documents, asked=st.lists(st.tuples(reaches, wheres), min_size=1, max_size=4), embed=st.booleans())
def test_whatever_is_asked_only_what_is_within_reach_is_seen(
    open_index: Open,
    monkeypatch: pytest.MonkeyPatch,
    few: float,
    made: list[tuple[str, str, str, int, str]],
    asked: list[tuple[Reach, Filter]],
    embed: bool,
) -> None:
    monkeypatch.setattr(allowed, "FEW_SCOPED_SHARE", few)
    index = open_index()
    for old in index.documents(None):
        index.remove(old.source)
    held = [document(f"d{n:02}", *values[:3], values[3], values[4]) for n, values in zip(count(), made, strict=False)]
    index.put(held)
    if embed:
        embed_pending(index)
    ids = ids_of(index, held)
    everyone = [(LIBRARY, Filter()), *asked]
    for reach, where in everyone:
        check(index, held, reach, where, ids)
    for each in held[::2]:
        assert index.remove(each.source)
    for reach, where in everyone:
        check(index, held[1::2], reach, where, ids)
    for gone in held[::2]:
        for reach, _ in everyone:
            assert all(index.passage(passage, reach) is None for passage in ids[gone.source])


@pytest.mark.parametrize("few", [0, 5000])
def test_many_passages_of_others_are_never_in_the_way(
    open_index: Open, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr("turnwise.index.postgres.FEW_PASSAGES", few)
    index = open_index()
    index.put(
        Document(
            f"{n}", f"{n}", "1", tuple(Chunk(f"zebras graze in row {n} and {m}") for m in range(60)), tenant="acme"
        )
        for n in range(25)
    )
    index.put([document("own"), document("theirs", attached="talk"), document("small", tenant="small")])
    embed_pending(index)
    for reach, name in ((LIBRARY, "own"), (Reach("small"), "small"), (Reach("", ("none",), ("talk",)), "theirs")):
        for query in (SearchQuery("zebras graze", reach=reach), SearchQuery("x", dense="zebras graze", reach=reach)):
            assert [hit.passage.source for hit in index.search(query, 10)] == [name]
        located = index.locate("zebras", reach)
        assert located
        assert located.source == name
    assert index.counts(Reach("acme")) == Counts(25, 1500, 1500)


def test_what_is_attached_passes_every_filter(open_index: Open) -> None:
    index = open_index()
    index.put([document("a", "papers"), document("b", "notes"), document("c", attached="talk")])
    where, reach = Filter(collections=("papers",), since="2020"), Reach(conversations=("talk",))
    assert [hit.passage.source for hit in index.search(SearchQuery("zebras", where=where, reach=reach), 9)] == ["c"]
    assert index.search(SearchQuery("zebras", where=where), 9) == []


def test_a_document_moves_to_another_tenant_and_back(open_index: Open) -> None:
    index, other = open_index(), open_index()
    for place, tenant in enumerate(("", "acme", "")):
        whole = Document("a", "A", str(place), (Chunk("Zebras."),), tenant=tenant)
        index.put([whole, document("b")])
        embed_pending(index)
        for each in (index, other):
            seen = [hit.passage.source for hit in each.search(SearchQuery("zebras"), 5)]
            assert sorted(seen) == (["b"] if tenant else ["a", "b"])
            assert bool(each.search(SearchQuery("zebras", reach=Reach("acme")), 5)) == bool(tenant)
            assert each.counts(LIBRARY).documents == (1 if tenant else 2)


def test_a_library_that_nobody_shares_is_ranked_as_it_was(open_index: Open) -> None:
    """Another tenant's passages change nothing but the rarity of words."""
    index = open_index()
    index.put(document(f"d{n}", parts=3) for n in range(10))
    embed_pending(index)
    query = SearchQuery("zebras part 2 of d7", talk="d3", talk_weight=0.4)
    before = index.search(query, 30)
    assert (
        index.search(SearchQuery(query.literal, talk="d3", talk_weight=0.4, reach=Reach("", (), ("t",))), 30) == before
    )
    index.put([document("x", tenant="acme"), document("y", attached="t")])
    index.remove("x")
    index.remove("y")
    assert [hit.passage.id for hit in index.search(query, 30)] == [hit.passage.id for hit in before]


def test_the_vectors_of_a_document_are_made_again(open_index: Open) -> None:
    index, other = open_index(), open_index()
    index.put([document("a", parts=3), document("b", tenant="acme")])
    embed_pending(index)
    assert other.search(SearchQuery("x", dense="zebras graze"), 5)
    first = index.documents()[0]
    index.forget_vectors(first.id)
    assert [each.pending for each in index.documents(None)] == [3, 0]
    assert index.collections() == {"": Counts(1, 3, 0)}
    assert index.counts() == Counts(2, 4, 1)
    assert [hit.similarity for hit in other.search(SearchQuery("zebras"), 5)] == [None] * 3
    assert embed_pending(index) == 3
    for each in (index, other):
        found = each.search(SearchQuery("x", dense="zebras graze"), 5)
        assert len(found) == 3
        assert all(hit.dense_rank for hit in found)
        assert each.documents() == [first]
        assert not isinstance(each, EmbeddedIndex) or each.check() == []
    index.forget_vectors(999)
    assert index.counts() == Counts(2, 4, 4)


def test_vectors_made_again_are_in_the_files_too(tmp_path: Path, new_word_embedder: Callable[[], Embedder]) -> None:
    """Files keep what the log has removed until they are made from the start, and the passage has the same id."""
    index = EmbeddedIndex(Sqlite(tmp_path / "library.db"), new_word_embedder())
    index.put(document(f"d{n}", parts=3) for n in range(10))
    embed_pending(index)
    vectors: VectorIndex = index._vectors
    for looks_between in (True, False):
        vectors.table()
        vectors._make(1)
        assert index.check() == []
        for info in index.documents()[:2]:
            index.forget_vectors(info.id)
        if looks_between:
            assert index.check() == []
        embed_pending(index)
        assert index.check() == []
        vectors._make(1)
        assert index.check() == []
    index.close()
    again = EmbeddedIndex(Sqlite(tmp_path / "library.db"), new_word_embedder())
    assert again.check() == []
    assert len(again.search(SearchQuery("x", dense="zebras"), 50)) == 30
    again.close()


def test_a_library_made_before_there_were_tenants_is_the_librarys_own(
    kept_at: Path | str, new_word_embedder: Callable[[], Embedder]
) -> None:
    index = opened(kept_at, new_word_embedder())
    index.put([document("a", "papers", parts=2), document("b")])
    embed_pending(index)
    before, hits = index.documents(None), index.search(SearchQuery("zebras"), 9)
    held = index.collections()
    index.close()
    _as_it_was(kept_at)
    again = opened(kept_at, new_word_embedder())
    assert again.documents() == again.documents(None) == before
    assert again.collections() == held == {"": Counts(1, 1, 1), "papers": Counts(1, 2, 2)}
    assert again.counts() == again.counts(LIBRARY) == Counts(2, 3, 3)
    assert again.search(SearchQuery("zebras"), 9) == hits
    assert again.documents(Reach("acme")) == []
    assert again.put([document("c", tenant="acme")]) == ["added"]
    assert [each.source for each in again.documents()] == ["a", "b"]
    again.close()


def _as_it_was(kept_at: Path | str) -> None:
    """Take back what the migration did, and what came after it and builds on it."""
    columns = [f"ALTER TABLE documents DROP COLUMN {name}" for name in ("tenant", "attached", "vectors")]
    indexes = "DROP INDEX documents_of_tenant", "DROP INDEX documents_attached", "DROP INDEX documents_of_collection"
    forget = "DELETE FROM migrations WHERE part = 'index' AND name IN ('reach', 'counted')"
    counters = ("DROP TABLE collections",)
    if isinstance(kept_at, Path):
        assert "reach" in [migration.__name__ for migration in MIGRATIONS]
        with sqlite3.connect(kept_at) as connection:
            for statement in (*indexes, *columns, *counters, forget):
                connection.execute(statement)
        connection.close()
        return
    database = Postgres(kept_at)
    with database.write() as tx:
        counted = "DELETE FROM index_meta WHERE name IN ('documents', 'passages', 'vectors')"
        for statement in ("DROP INDEX documents_scoped", *indexes, *columns, *counters, counted, forget):
            tx.execute(statement.encode())
    database.close()


def test_an_id_of_any_length_keeps_its_documents_apart(open_index: Open) -> None:
    index = open_index()
    long = "c" * 5000
    index.put([document("a", attached=long + "1"), document("b", attached=long + "2"), document("c", tenant=long)])
    for end, name in (("1", "a"), ("2", "b")):
        reach = Reach(conversations=(long + end,))
        assert [each.source for each in index.attachments(reach)] == [name]
        assert [hit.passage.source for hit in index.search(SearchQuery("zebras", reach=reach), 5)] == [name]
    assert [each.source for each in index.documents(Reach(long))] == ["c"]
    odd = Reach("\x00\ud800", ("\x00",), ("\ud800", "'\"[]"))
    assert index.documents(odd) == index.search(SearchQuery("zebras", reach=odd), 5) == []
    assert index.terms(odd) == ((), ())


def test_documents_are_found_by_parts_of_their_names(open_index: Open) -> None:
    index = open_index()
    index.put(
        [
            Document("/papers/Übersicht.md", "Die Größe der Herde", "1", ()),
            Document("/papers/100%.md", "Growth_rates", "1", ()),
            Document("/notes/x.md", "Notes", "1", ()),
        ]
    )

    def found(search: str) -> list[str]:
        return [each.title for each in index.find_documents(search)]

    assert found("ÜBERSICHT größe") == ["Die Größe der Herde"]
    assert found("100%") == found("th_ra") == ["Growth_rates"]
    assert found("papers notes") == found("' OR 1") == []
    assert len(found("md")) == len(found("")) == len(found("  ")) == 3
    assert [each.title for each in index.find_documents("md", limit=1, after="/notes/x.md")] == ["Growth_rates"]


def test_the_few_of_others_are_left_out_without_reading_all(
    tmp_path: Path, new_word_embedder: Callable[[], Embedder]
) -> None:
    database = Sqlite(tmp_path / "library.db")
    index = EmbeddedIndex(database, new_word_embedder())
    index.put(document(f"d{n:03}") for n in range(300))
    assert index._filters.allowed(Filter(), LIBRARY, index._seq()) is None
    index.put([document("x", tenant="acme"), document("y", attached="talk", parts=2)])
    own = index._filters.allowed(Filter(), LIBRARY, index._seq())
    assert own is not None
    assert (own.others, len(own.documents), own.total) == (True, 2, 300)
    theirs = index._filters.allowed(Filter(), Reach(conversations=("talk",)), index._seq())
    assert theirs is not None
    assert (theirs.others, len(theirs.documents), theirs.total) == (True, 1, 302)
    plans = [
        " ".join(row["detail"] for row in database.connection().execute(f"EXPLAIN QUERY PLAN {statement}"))
        for statement in (
            "SELECT id FROM documents WHERE tenant > ''",
            "SELECT id FROM documents WHERE attached > '' AND tenant = ''",
            "SELECT id FROM documents WHERE tenant = '' AND attached = '' AND source > 'd' ORDER BY source LIMIT 9",
        )
    ]
    assert all("SEARCH documents USING" in plan and "TEMP B-TREE" not in plan for plan in plans), plans
    index.close()


def test_a_file_of_one_tenant_is_not_taken_from_it_by_adding_it_for_another(tmp_path: Path) -> None:
    (tmp_path / "heron.md").write_text("# Heron\n\nHerons fish.")
    with turnwise.open(tmp_path / "library") as engine:
        engine.add(tmp_path / "heron.md", tenant="acme")
        for other in ("", "beta"):
            report = engine.add(tmp_path / "heron.md", tenant=other)
            (failure,) = report.failed
            assert "another tenant" in failure.message
            assert "remove" in failure.hint
            assert not engine.index.documents(Reach(other))
        (tmp_path / "heron.md").write_text("# Heron\n\nHerons wade.")
        assert engine.add(tmp_path / "heron.md", tenant="acme", tags=["new"]).updated == 1
        assert len(engine.index.documents(Reach("acme"))) == 1
