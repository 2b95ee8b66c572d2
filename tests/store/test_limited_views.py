"""A view limited to collections: of a tenant's conversations it sees those that drew on nothing beyond them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnwise.conversation import Conversation, Turn
from turnwise.errors import ConversationError, ConversationNotFound
from turnwise.types import ConversationStore, Ending

COLLECTIONS = ("birds", "fish", "öl")
LIMITS = st.sets(st.sampled_from(COLLECTIONS)).map(lambda chosen: tuple(sorted(chosen)))  # none of them: all


def exchange(store: ConversationStore, conversation_id: str, prompt: str) -> int:
    number = store.accept(conversation_id, prompt).turns[-1].number
    store.finish(conversation_id, number, Ending("answered", f"{prompt} Yes.", facts={"query": prompt}))
    return number


def within(limits: tuple[str, ...], drawn_on: set[str] | None) -> bool:
    return not limits or (drawn_on is not None and drawn_on <= set(limits))


OPERATIONS = st.lists(
    st.tuples(
        LIMITS,
        st.sampled_from(["ask", "ask", "delete", "branch", "rename", "put", "rate"]),
        st.sampled_from(["c", "d"]),
    ),
    max_size=12,
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS, tenant=st.sampled_from(["", "acme"]))
def test_a_view_sees_exactly_what_drew_on_no_more_than_its_collections(
    store: ConversationStore, operations: list[tuple[tuple[str, ...], str, str]], tenant: str
) -> None:
    whole = store.of(tenant)
    for each in whole.conversations():
        whole.delete(each["id"])
    drawn_on: dict[str, set[str] | None] = {}  # None: on all
    for count, (limits, operation, name) in enumerate(operations):
        view, seen = store.of(tenant, limits), name in drawn_on and within(limits, drawn_on[name])
        try:
            match operation:
                case "ask":
                    exchange(view, name, f"{name} {count}")
                    assert seen or name not in drawn_on
                    before = drawn_on.get(name, set())
                    drawn_on[name] = None if before is None or not limits else before | set(limits)
                case "put":
                    view.put(Conversation(name, turns=[Turn("Elsewhere?", "Yes.")]))
                    drawn_on[name] = set(limits) or None
                case "branch":
                    view.branch(name, 2, f"{name} {count}")
                    assert seen
                    drawn_on[f"{name} {count}"] = drawn_on[name]
                case "delete":
                    view.delete(name)
                    assert seen
                    del drawn_on[name]
                case "rename":
                    view.rename(name, "Named")
                    assert seen
                case "rate":
                    view.rate(name, 1, {"rating": "up"})
                    assert seen
        except ConversationNotFound:
            assert not seen
        except ConversationError:
            assert operation == "put"
            assert name in drawn_on
    for limits in ((), ("birds",), ("birds", "fish"), ("öl",), COLLECTIONS):
        view, expected = store.of(tenant, limits), {name for name, on in drawn_on.items() if within(limits, on)}
        assert {each["id"] for each in view.conversations()} == expected
        assert {name for name in drawn_on if not view.hides(name)} == expected
        assert {each["conversation_id"] for each in view.facts()} <= expected
        found = {each["id"] for each in view.conversations(search="yes")}
        assert found == {name for name in expected if whole.conversation(name).turns}
        for name in drawn_on:
            if name in expected:
                assert view.conversation(name).turns == whole.conversation(name).turns
            else:
                with pytest.raises(ConversationNotFound):
                    view.conversation(name)
                with pytest.raises(ConversationNotFound):
                    view.turn(name, 1)


def test_what_is_hidden_is_told_like_what_is_not_there(store: ConversationStore) -> None:
    exchange(store, "c", "What do fish eat?")
    limited = store.of("", ("birds",))
    calls: list[Any] = [
        lambda name: limited.conversation(name),
        lambda name: limited.rename(name, "Named"),
        lambda name: limited.delete(name),
        lambda name: limited.branch(name, 2, "new"),
    ]
    for call in calls:
        told = []
        for name in ("c", "n"):
            with pytest.raises(ConversationNotFound) as caught:
                call(name)
            told.append(str(caught.value).replace(repr(name), "ID"))
        assert told[0] == told[1]
    assert [turn.prompt for turn in store.conversation("c").turns] == ["What do fish eat?"]


def test_a_conversation_that_goes_on_beyond_a_view_is_no_longer_in_it(store: ConversationStore) -> None:
    birds, both = store.of("", ("birds",)), store.of("", ("fish", "birds"))
    exchange(birds, "c", "What do birds eat?")
    exchange(both, "c", "And fish?")
    assert both.conversation("c").get_turn_count() == 2
    with pytest.raises(ConversationNotFound):
        birds.conversation("c")
    with pytest.raises(ConversationNotFound):
        birds.accept("c", "And now?")
    exchange(store, "c", "And men?")
    assert [each["id"] for each in both.conversations()] == []
    assert store.conversation("c").get_turn_count() == 3


def test_of_the_conversations_that_one_branched_from_a_view_has_those_that_it_sees(store: ConversationStore) -> None:
    birds = store.of("", ("birds",))
    exchange(birds, "a", "What do birds eat?")
    birds.branch("a", 2, "b")
    birds.branch("b", 2, "c")
    assert birds.conversation("c").metadata["ancestors"] == ["b", "a"]
    exchange(store, "a", "And fish?")
    assert birds.conversation("c").metadata["ancestors"] == ["b"]
    assert birds.accept("c", "And now?").metadata["ancestors"] == ["b"]
    assert store.conversation("c").metadata["ancestors"] == ["b", "a"]
    store.rename("b", "Named")
    exchange(store, "b", "And fish?")
    assert [(each["id"], each.get("branch_of")) for each in birds.conversations()] == [("c", None)]


def test_what_was_kept_before_collections_were_noted_is_in_no_limited_view(store: ConversationStore) -> None:
    exchange(store, "c", "What is it?")
    assert store.of("", COLLECTIONS).conversations() == []
