"""What a search finds and reads is the same in a large library as in a small one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from turnwise.index import lexical
from turnwise.index.embedded import EmbeddedIndex
from turnwise.types import Chunk, Document, Filter, Flag, Reach, SearchQuery

Open = Callable[..., EmbeddedIndex]
WORDS = [f"w{number}x" for number in range(40)]


def spread(count: int, seed: int) -> Iterator[Document]:
    """Documents of one passage: of their words the first stands in all, the second in half, the third in a third."""
    chance = random.Random(seed)
    for number in range(count):
        said = [word for place, word in enumerate(WORDS, 1) if chance.random() < 1 / place]
        text = " ".join(word for word in said for _ in range(chance.randint(1, 4)))
        yield Document(f"row {number}", "T", text, (Chunk(text, end=len(text)),))


@contextmanager
def counting(index: EmbeddedIndex) -> Iterator[list[None]]:
    """A list that gets an entry for every ten steps of SQLite."""
    counted: list[None] = []
    connection = index._database.connection()
    connection.set_progress_handler(lambda: counted.append(None) or 0, 10)
    yield counted
    connection.set_progress_handler(None, 0)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_unread_would_not_have_been_found(
    open_index: Open, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, chance = open_index(), random.Random(seed)
    index.put(spread(600, seed))
    monkeypatch.setattr(lexical, "LOOKUP_COST", 0)
    whole = lexical._any_of
    asked: list[int] = []
    monkeypatch.setattr(lexical, "_any_of", lambda weights: (asked.append(len(weights)), whole(weights))[1])
    pruned = 0
    for _ in range(60):
        weights = {word: chance.choice((1.0, 0.4)) for word in chance.sample(WORDS, chance.randint(2, 6))}
        depth = chance.choice((1, 5, 20))
        monkeypatch.setattr(lexical, "FEW_OCCURRENCES", 10**9)
        expected = index._lexical.scores(weights, depth)
        asked.clear()
        monkeypatch.setattr(lexical, "FEW_OCCURRENCES", 0)
        assert index._lexical.scores(weights, depth) == pytest.approx(expected, rel=1e-5)
        pruned += asked[-1] < len(weights)
        if chance.random() < 0.1:  # words of removed passages count for a while
            for number in chance.sample(range(600), 30):
                index.remove(f"row {number}")
    assert pruned > 10


@pytest.mark.parametrize(
    "reach", [Reach(), Reach(conversations=("talk",)), Reach("acme")], ids=["library", "with attachments", "a tenant"]
)
def test_what_sqlite_reads_for_a_turn_does_not_grow_with_the_library(open_index: Open, reach: Reach) -> None:
    index = open_index()
    text = "Herons fish."
    for source, more in (("note", {"attached": "talk"}), ("theirs", {"tenant": "acme"})):
        index.put([Document(source, "Note", text, (Chunk(text, end=len(text)),), **more)])

    def steps() -> int:
        index.search(SearchQuery("herons w3x", reach=reach), 6)  # what is kept until the library changes
        index.terms(reach)
        with counting(index) as counted:
            (first, *_) = index.search(SearchQuery("herons w3x", reach=reach), 6)
            index.terms(reach)
            index.attachments(reach)
            assert index.passage(first.passage.id, reach) == first.passage
            assert index.document(first.passage.document_id, reach) is not None
        return len(counted)

    index.put(spread(20, 1))
    few = steps()
    index.put(spread(1000, 1))
    assert steps() < 1.5 * few


def test_what_sqlite_reads_after_a_change_does_not_grow_with_the_passages(open_index: Open) -> None:
    index = open_index()

    def steps(number: int) -> int:
        text = "Herons fish."
        index.put([Document(f"new {number}", "New", text, (Chunk(text, end=len(text)),), attached="talk")])
        index.put_flags(
            {index.search(SearchQuery("herons", reach=Reach(conversations=("talk",))), 1)[0].passage.id: Flag("x")}
        )
        with counting(index) as counted:
            index.search(SearchQuery("herons"), 6)
            index.search(SearchQuery("herons", where=Filter(source="book*")), 6)
            index.suspects()
        return len(counted)

    def book(number: int, pages: int) -> Document:
        return Document(f"book {number}", "Book", "", tuple(Chunk(f"Page {n}.", end=9) for n in range(pages)))

    index.put([book(1, 20)])
    few = steps(1)
    index.put([book(2, 3000)])
    assert steps(2) < 2 * few
