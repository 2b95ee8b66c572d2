"""Keys, requests that are sent again, and what is remembered of users: the same in both databases."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.store.conftest import Open
from tests.store.test_every_store import end, run_python
from turnwise import postgres
from turnwise.errors import BadRequest, KeyReused, RequestInFlight
from turnwise.types import ConversationStore, Key

# --- keys ---------------------------------------------------------------------------------------------------------


def test_a_key_is_found_by_its_secret_until_it_is_revoked(store: ConversationStore, open_store: Open) -> None:
    start = time.time()
    key, secret = store.keys.create("  Ann’s\nlaptop ", "acme", ["papers", "notes"], "edit", start + 60)
    assert (key.name, key.tenant, key.collections, key.may) == ("Ann’s laptop", "acme", ("papers", "notes"), "edit")
    assert secret.startswith("tw_")
    assert len(secret) == 46
    assert key.hint == secret[:7]
    other = open_store().keys
    assert other.find(secret) == store.keys.find(secret) == other.key(key.id) == key
    assert key.is_valid(start + 59)
    assert not key.is_valid(start + 60)
    assert other.revoke(key.id)
    found = store.keys.find(secret)
    assert found is not None
    assert not found.is_valid(start)
    assert found.revoked_at is not None
    assert store.keys.revoke(key.id), "it stays revoked"
    assert store.keys.key(key.id) == found
    assert not store.keys.revoke("unknown")
    assert store.keys.key("unknown") is None


def test_all_keys_are_listed_in_the_order_they_were_made(store: ConversationStore) -> None:
    assert store.keys.all() == []
    made = [store.keys.create(f"key {number}")[0] for number in range(5)]
    assert store.keys.all() == sorted(made, key=lambda key: (key.created_at, key.id))
    assert all(isinstance(key, Key) and (key.tenant, key.collections, key.may) == ("", (), "ask") for key in made)
    assert len({key.id for key in made}) == 5


@pytest.mark.parametrize("given", [("",), (" ",), ("a\ud83d",), ("a", "b c"), ("a", "", (), "own")])
def test_a_key_that_means_nothing_is_not_made(store: ConversationStore, given: tuple[Any, ...]) -> None:
    with pytest.raises(BadRequest):
        store.keys.create(*given)
    assert store.keys.all() == []


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(guess=st.text())
def test_no_other_text_is_a_key(store: ConversationStore, guess: str) -> None:
    key, secret = store.keys.create("laptop")
    for other in (guess, secret + guess if guess else secret[:-1], key.id, key.hint, secret.upper(), "\ud83d", ""):
        assert store.keys.find(other) is None


def test_no_file_holds_the_secret_of_a_key(store: ConversationStore, place: str) -> None:
    _, secret = store.keys.create("laptop", "acme")
    store.keys.find(secret)
    if place.startswith("postgres:"):
        with closing(postgres.Database(place)) as database:
            rows = database.rows("SELECT k::text AS text FROM api_keys k")
        kept = "".join(row["text"] for row in rows).encode()
    else:
        kept = b"".join(path.read_bytes() for path in Path(place).parent.iterdir())
    assert b"laptop" in kept
    assert secret.encode() not in kept
    assert secret[3:23].encode() not in kept
    assert secret[-20:].encode() not in kept


def test_the_use_of_a_key_is_noted_once_a_minute(store: ConversationStore, monkeypatch: pytest.MonkeyPatch) -> None:
    key, _ = store.keys.create("laptop")
    now = 2_000_000_000.0
    for moment, noted in ((now, now), (now + 59, now), (now + 61, now + 61)):
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        store.keys.used(key.id)
        found = store.keys.key(key.id)
        assert found is not None
        assert found.last_used_at == noted
    store.keys.used("unknown")


# --- requests -----------------------------------------------------------------------------------------------------


def test_a_request_is_answered_once_and_its_answer_given_again(store: ConversationStore, open_store: Open) -> None:
    answer = {"text": "Oil \x00 \ud83d “floats”", "sources": [1, 2.5, None]}
    assert store.requests.claim("acme", "k", "digest") is None
    for log in (store.requests, open_store().requests):
        with pytest.raises(RequestInFlight):
            log.claim("acme", "k", "digest")
        with pytest.raises(KeyReused):
            log.claim("acme", "k", "another")
    assert store.requests.claim("", "k", "another") is None, "keys are a tenant's own"
    store.requests.complete("acme", "k", answer)
    for log in (store.requests, open_store().requests):
        assert log.claim("acme", "k", "digest") == answer
        with pytest.raises(KeyReused):
            log.claim("acme", "k", "another")
    store.requests.complete("acme", "k", {"text": "Too late"})
    store.requests.release("acme", "k")
    assert store.requests.claim("acme", "k", "digest") == answer


def test_a_request_that_came_to_nothing_can_be_sent_again(store: ConversationStore) -> None:
    store.requests.release("acme", "k")
    assert store.requests.claim("acme", "k", "digest") is None
    store.requests.release("acme", "k")
    assert store.requests.claim("acme", "k", "another") is None
    assert store.requests.claim("acme", "x" * 100_000 + "\ud83d", "digest") is None


def test_of_many_same_requests_at_once_one_is_answered(open_store: Open) -> None:
    stores = [open_store() for _ in range(4)]
    for key in map(str, range(5)):
        together = threading.Barrier(8)
        outcomes: list[str] = []

        def send(store: ConversationStore, key: str, together: threading.Barrier, outcomes: list[str]) -> None:
            together.wait()
            try:
                outcomes.append("mine" if store.requests.claim("", key, "d") is None else "answered")
            except RequestInFlight:
                outcomes.append("in flight")

        threads = [threading.Thread(target=send, args=(store, key, together, outcomes)) for store in (*stores, *stores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["in flight"] * 7 + ["mine"]


def test_the_request_of_a_process_that_died_is_free(place: str, store: ConversationStore) -> None:
    code = "store.requests.claim('', 'k', 'd'); print('claimed', flush=True); sys.stdin.read()"
    process = run_python(code, place)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        with pytest.raises(RequestInFlight):
            store.requests.claim("", "k", "d")
        store.requests.complete("", "k", {"not": "mine"})
        store.requests.release("", "k")
        with pytest.raises(RequestInFlight):
            store.requests.claim("", "k", "d")
    finally:
        end(process)
    assert store.requests.claim("", "k", "d") is None
    store.requests.complete("", "k", {"n": 1})
    assert store.requests.claim("", "k", "d") == {"n": 1}


def test_requests_are_kept_for_a_day_and_their_claims_for_less(
    store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    store.requests.claim("", "answered", "d")
    store.requests.complete("", "answered", {"n": 1})
    store.requests.claim("", "forgotten", "d")
    monkeypatch.setattr(time, "time", lambda: now + 3600)
    assert store.requests.claim("", "answered", "d") == {"n": 1}
    assert store.requests.claim("", "forgotten", "d") is None, "no answer takes an hour"
    monkeypatch.setattr(time, "time", lambda: now + 86_500)
    assert store.requests.claim("", "answered", "another") is None


# --- profiles -----------------------------------------------------------------------------------------------------


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(user=st.text(), text=st.text())
def test_what_is_remembered_of_a_user_is_theirs_alone(store: ConversationStore, user: str, text: str) -> None:
    assert store.profiles.profile("acme", user) is None
    store.profiles.put("acme", user, {"preferences": [text]})
    store.profiles.put("acme", user, {"preferences": [text], "n": 2})
    assert store.of("acme").profiles.profile("acme", user) == {"preferences": [text], "n": 2}
    for tenant, name in (("", user), ("acm", f"e{user}"), ("acme", f"{user}x"), ("", f"acme\x1f{user}")):
        assert store.profiles.profile(tenant, name) is None
        assert not store.profiles.delete(tenant, name)
    assert store.profiles.delete("acme", user)
    assert store.profiles.profile("acme", user) is None


def test_a_user_may_have_a_long_name(store: ConversationStore) -> None:
    store.profiles.put("", "x" * 100_000, {"n": 1})
    assert store.profiles.profile("", "x" * 100_000) == {"n": 1}
