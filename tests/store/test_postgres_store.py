from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.patience import ended_within
from tests.services import PostgresServer
from turnwise.errors import ConversationBusy, ConversationError, LibraryUnavailable, NotText
from turnwise.postgres import Database
from turnwise.store.owner import this_machine, this_process
from turnwise.store.postgres import PostgresStore
from turnwise.types import Ending


@contextmanager
def opened(url: str, lease: float = 30.0) -> Iterator[PostgresStore]:
    """A store with connections of its own, as on another machine."""
    database = Database(url)
    yield PostgresStore(database, lease)
    database.close()


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    with opened(postgres_url) as store:
        yield store


def change(store: PostgresStore, owner: str, held_for: float) -> None:
    """Make the last turn one that somebody else took, whose lease lasts for so many seconds yet."""
    with store._database.write() as tx:
        tx.execute("UPDATE turns SET owner = %s, held_until = now() + make_interval(secs => %s)", (owner, held_for))
    store._work.answering.clear()


def test_the_turn_of_another_machine_is_free_when_its_lease_has_run_out(store: PostgresStore) -> None:
    store.accept("c", "Asked there")
    change(store, "elsewhere/1:2", 30)
    assert store.conversation("c").turns[-1].status == "pending"
    with pytest.raises(ConversationBusy):
        store.accept("c", "Asked here")
    change(store, "elsewhere/1:2", -1)
    assert store.conversation("c").turns[-1].status == "interrupted"
    assert [turn.status for turn in store.accept("c", "Asked here").turns] == ["interrupted", "pending"]


def test_the_turn_of_a_dead_process_of_this_machine_is_free_at_once(store: PostgresStore) -> None:
    store.accept("c", "Asked before the restart")
    change(store, f"{this_machine()}/{this_process().partition(':')[0]}:before", 30)
    assert [turn.status for turn in store.accept("c", "Asked here").turns] == ["interrupted", "pending"]


def test_a_lease_is_renewed_while_the_turn_is_being_answered(postgres_url: str) -> None:
    def held() -> bool:
        (row,) = store._database.rows("SELECT held_until > clock_timestamp() AS held FROM turns")
        return bool(row["held"])

    with opened(postgres_url, lease=0.3) as store:
        store.accept("c", "Asked")
        for _ in range(3):
            with store._database.write() as tx:
                tx.execute("UPDATE turns SET held_until = now() - interval '1 hour'")
            with ended_within(60):
                while not held():
                    time.sleep(0.02)
        store.finish("c", 1, Ending("answered", "Yes."))
        assert store._work.answering == set()


def test_two_machines_answer_one_conversation_in_turns(postgres_url: str, store: PostgresStore) -> None:
    with opened(postgres_url) as other:
        store.accept("c", "First")
        with pytest.raises(ConversationBusy):
            other.accept("c", "Second")
        store.finish("c", 1, Ending("answered", "One."))
        assert [turn.number for turn in other.accept("c", "Second").turns] == [1, 2]
        with pytest.raises(ConversationBusy):
            store.accept("c", "Third")
        other.finish("c", 2, Ending("answered", "Two."))
        assert [turn.response for turn in store.conversation("c").turns] == ["One.", "Two."]


def test_a_nul_in_a_message_is_refused_and_in_an_answer_marked(store: PostgresStore) -> None:
    for conversation_id, prompt in (("c\x00", "Hi"), ("c", "Hi\x00")):
        with pytest.raises(NotText, match="NUL"):
            store.accept(conversation_id, prompt)
    store.accept("c", "Hi")
    store.finish("c", 1, Ending("answered", "A\x00B\ud83d"))
    assert store.conversation("c").turns[0].response == "A\ufffdB\ufffd"


def test_a_server_that_went_during_a_turn_costs_that_turn_only(
    store: PostgresStore, postgres_server: PostgresServer
) -> None:
    store.accept("c", "First")
    postgres_server.stop()
    try:
        with pytest.raises(LibraryUnavailable):
            store.finish("c", 1, Ending("answered", "Lost."))
        with pytest.raises(LibraryUnavailable):
            store.accept("d", "Not taken")
    finally:
        postgres_server.start()
    assert [turn.status for turn in store.accept("c", "Second").turns] == ["interrupted", "pending"]
    store.finish("c", 2, Ending("answered", "Two."))
    with pytest.raises(ConversationError):
        store.finish("c", 1, Ending("answered", "Too late."))
    assert [entry["id"] for entry in store.conversations()] == ["c"]
