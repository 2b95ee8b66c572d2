"""A page of a list reads about as many conversations as it shows, however many there are of others."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Any

import pytest

from tests.reading import read_by, settled
from turnwise.conversation import Conversation, Turn
from turnwise.types import ConversationStore

List = Callable[[ConversationStore], list[dict[str, Any]]]
MANY, PAGE = 600, 5


def put(store: ConversationStore, name: str, user: str = "") -> None:
    store.put(Conversation(name, user_id=user, turns=[Turn("Why?", "So.")]))


@pytest.fixture
def long(store: ConversationStore) -> ConversationStore:
    """A store in which those who have few conversations had them before the many of others."""
    for count in range(2 * PAGE):
        put(store, f"ann's {count}", "ann")
        put(store.of("", ("birds",)), f"of birds {count}")
        put(store.of("", ("birds", "fish")), f"of both {count}")
    for count in range(MANY):
        put(store, f"ben's {count}", "ben")
        put(store.of("", ("fish",)), f"of fish {count}")
        put(store.of("acme"), f"theirs {count}", "ann")
    settled(store._sql._database)  # type: ignore[attr-defined]
    return store


LISTS: dict[str, tuple[List, list[str]]] = {
    "all": (lambda store: store.conversations(PAGE), ["of fish", "ben's"]),
    "of a user": (lambda store: store.conversations(PAGE, user="ann"), ["ann's"]),
    "of a user, further on": (lambda store: store.conversations(PAGE, user="ben", before=2e9), ["ben's"]),
    "of nobody": (lambda store: store.conversations(PAGE, user="nobody"), []),
    "of a collection": (lambda store: store.of("", ("birds",)).conversations(PAGE), ["of birds"]),
    "of collections": (
        lambda store: store.of("", ("birds", "fish", "trees")).conversations(PAGE),
        ["of fish"],
    ),
    "of another collection": (lambda store: store.of("", ("trees",)).conversations(PAGE), []),
}


def test_a_page_reads_what_it_shows(long: ConversationStore) -> None:
    for name, (listed, expected) in LISTS.items():
        found: list[dict[str, Any]] = []
        read = read_by(long._sql._database, lambda: found.extend(listed(long)))  # type: ignore[attr-defined]  # noqa: B023
        assert read < 20 * PAGE, (name, read)
        assert {each["id"].rpartition(" ")[0] for each in found} == set(expected), name
        assert len(found) == (PAGE if expected else 0)
        assert found == sorted(found, key=lambda each: -each["last_activity"])


def test_pages_of_several_sets_of_collections_are_one_list(store: ConversationStore) -> None:
    sets = [("birds",), ("fish",), ("birds", "fish"), ("öl",), ("trees", "birds")]
    for count in range(30):
        put(store.of("", sets[count % 5]), f"c {count}")
    both, names, before = store.of("", ("fish", "birds")), [], None
    while page := both.conversations(4, before=before):
        names += [each["id"] for each in page]
        before = page[-1]["last_activity"]
    assert names == [f"c {count}" for count in reversed(range(30)) if count % 5 < 3]


def test_users_and_collections_have_names_of_any_length(store: ConversationStore) -> None:
    chance = random.Random(1)
    long = "".join(chance.choices(string.ascii_letters, k=9000))  # more than an index takes
    put(store, "c", long)
    put(store, "d", long[:-1])
    assert [each["id"] for each in store.conversations(user=long)] == ["c"]
    view = store.of("", (long, "fish"))
    put(view, "e")
    assert [each["id"] for each in view.conversations()] == ["e"]
    assert store.of("", (long,)).conversations() == []
