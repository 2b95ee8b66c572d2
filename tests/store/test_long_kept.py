"""Long conversations: a turn reads what was added since, a page reads its turns, and neither is ever out of date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.store.conftest import Open
from turnwise.conversation import Conversation, Turn
from turnwise.errors import ConversationError, ConversationNotFound
from turnwise.store import kept, recent
from turnwise.types import ConversationStore, Ending, Source

SOURCE = Source(1, 17, "On oil", "oil.pdf", "Methods", 4, "Oil floats.", "Oil floats.")


def exchange(store: ConversationStore, conversation_id: str, prompt: str) -> Conversation:
    accepted = store.accept(conversation_id, prompt)
    store.finish(
        conversation_id, accepted.turns[-1].number, Ending("answered", "Yes.", (SOURCE,), {"n": 1}, shown=(SOURCE,))
    )
    return accepted


def long_one(turns: int) -> Conversation:
    return Conversation("c", turns=[Turn(f"Q{n}", f"A{n}", 1000.0 + n, record={"n": n}) for n in range(1, turns + 1)])


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many turns were read since this was last asked."""
    count, plain = 0, kept.to_turn

    def counted(*given: Any) -> Turn:
        nonlocal count
        count += 1
        return plain(*given)

    def since() -> int:
        nonlocal count
        before, count = count, 0
        return before

    monkeypatch.setattr(kept, "to_turn", counted)
    return since


def test_a_turn_reads_only_what_was_added_since_the_last(
    store: ConversationStore, open_store: Open, read: Callable[[], int]
) -> None:
    store.put(long_one(300))
    assert [turn.prompt for turn in exchange(store, "c", "Next?").turns][-2:] == ["Q300", "Next?"]
    assert read() == 301
    assert len(exchange(store, "c", "And then?").turns) == 302
    assert read() == 2, "the one before, which was being answered then, and this one"
    exchange(open_store(), "c", "Elsewhere?")
    read()
    assert [turn.prompt for turn in exchange(store.of(""), "c", "Back?").turns][-3:] == [
        "And then?",
        "Elsewhere?",
        "Back?",
    ]
    assert read() == 3


def test_a_page_reads_its_turns_alone(store: ConversationStore, read: Callable[[], int]) -> None:
    store.put(long_one(300))
    store.rate("c", 250, {"rating": "up"})
    whole = store.conversation("c")
    read()
    latest, count = store.page("c", limit=20)
    assert (latest.turns, count, read()) == (whole.turns[-20:], 300, 20)
    earlier, _ = store.page("c", 281, 40)
    assert earlier.turns == whole.turns[240:280]
    assert earlier.turns[9].metadata == {"feedback": {"rating": "up"}}
    assert store.page("c", 3, 10)[0].turns == whole.turns[:2]
    nothing, count = store.page("c", limit=0)
    assert (nothing.turns, count, nothing.metadata) == ([], 300, whole.metadata)
    with pytest.raises(ConversationNotFound):
        store.page("nobody")


def test_only_so_much_is_kept_at_hand(
    store: ConversationStore, read: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "MOST_TURNS", 5)
    for name in ("a", "b", "c"):
        for number in range(3):
            exchange(store, name, f"{number}?")
    read()
    assert len(exchange(store, "a", "Again?").turns) == 4
    assert read() == 4, "it was let go, and is read as a whole"
    assert [len(exchange(store, "d", f"{number}?").turns) for number in range(9)] == list(range(1, 10))


@pytest.fixture
def three(open_store: Open) -> list[ConversationStore]:
    """A store as three processes have it."""
    return [open_store() for _ in range(3)]


OPERATIONS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["ask", "ask", "ask", "left", "delete", "put", "branch"]),
        st.sampled_from(["c", "d"]),
    ),
    max_size=20,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(operations=OPERATIONS)
def test_what_a_turn_reads_is_what_is_kept_whoever_wrote_it(
    three: list[ConversationStore], operations: list[tuple[int, str, str]]
) -> None:
    *stores, plain = three
    for each in plain.conversations():
        plain.delete(each["id"])
    for count, (who, operation, name) in enumerate(operations):
        store = stores[who]
        try:
            match operation:
                case "ask":
                    accepted = exchange(store, name, f"{count}?")
                    told = [(turn.number, turn.prompt, turn.response) for turn in accepted.turns[:-1]]
                    expected = [(turn.number, turn.prompt, turn.response) for turn in plain.conversation(name).turns]
                    assert told == expected[:-1]
                    evidence = [turn.evidence for turn in plain.conversation(name).turns[:-1]]
                    assert [turn.evidence for turn in accepted.turns[:-1]] == evidence
                case "left":
                    number = store.accept(name, f"{count}?").turns[-1].number
                    store.finish(name, number, Ending("interrupted", error={"code": "Interrupted"}))
                case "delete":
                    store.delete(name)
                case "put":
                    store.put(Conversation(name, turns=[Turn(f"{count}?", "So.", 5.0)], created_at=1.0))
                case "branch":
                    store.delete("e")
                    store.branch(name, 2, "e")
                    exchange(store, "e", f"{count}?")
        except ConversationNotFound:
            assert operation in ("delete", "branch")
        except ConversationError:
            assert operation == "put"
