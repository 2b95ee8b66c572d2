"""Turns that outlive their connection: coming back, stopping, waiting for one's place, asking once."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.scripted import (
    Client,
    Following,
    answers,
    fails_midway,
    read_event,
    refuses,
    reply_to,
    serving,
)
from turnwise.config import Settings
from turnwise.server import live, sse
from turnwise.server.access import Caller
from turnwise.server.hub import Hub
from turnwise.types import Accepted, Answered, Delta, Ending, Failed, StageDone, StageTrace, TurnEvent, TurnRequest

ASK = {"message": "What is BERT?"}


class Gated:
    """A turn that says a few words, waits until it may go on, and says the rest."""

    def __init__(self, before: int = 2, after: int = 2) -> None:
        self.before, self.after = before, after
        self.gate, self.begun, self.closed = threading.Event(), threading.Event(), threading.Event()

    async def __call__(self, request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        try:
            yield Accepted(request.conversation_id, 1)
            self.begun.set()
            for number in range(self.before):
                yield Delta(f"{number} ")
            while not self.gate.is_set():
                await asyncio.sleep(0.005)
            for number in range(self.after):
                yield Delta(f"{self.before + number} ")
            yield Answered(reply_to(request))
        finally:
            self.closed.set()


def eventually(true: Callable[[], Any]) -> Any:
    """What it gives as soon as that is something."""
    deadline = time.monotonic() + 60
    while not (found := true()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)
    return found


def stream_of(raw: bytes) -> str:
    """The stream that an event belongs to."""
    found = re.match(rb"id: (.+)-\d+\n", raw)
    assert found
    return found[1].decode()


# --- coming back -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("live")) as client:
        yield client


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), max_size=12),
    cuts=st.lists(st.integers(0, 14), max_size=4),
    pause=st.sampled_from([0.0, 0.0, 0.002]),
)
def test_whoever_comes_back_gets_just_what_they_missed(
    client: Client, pieces: list[str], cuts: list[int], pause: float
) -> None:
    async def script(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        yield Accepted(request.conversation_id, 1)
        for piece in pieces:
            yield Delta(piece)
            await asyncio.sleep(pause)
        yield Answered(reply_to(request, "".join(pieces)))

    client.engine.script = script
    got: list[bytes] = []
    following = Following(client, "POST", "/api/chat", ASK)
    got.append(following.raw())
    stream = stream_of(got[0])
    for cut in cuts:
        got += filter(None, (following.raw() for _ in range(cut)))
        following.leave()
        following = Following(client, "GET", f"/api/streams/{stream}", last_event_id=f"{stream}-{len(got)}")
    got += following.rest()
    following.leave()

    names, data = zip(*map(read_event, got), strict=True)
    assert names == ("accepted", *["text"] * len(pieces), "answer")
    assert [each["text"] for each in data[1:-1]] == pieces
    with Following(client, "GET", f"/api/streams/{stream}") as whole:
        assert whole.rest() == got


def test_a_turn_goes_on_while_nobody_reads_it(tmp_path: Path) -> None:
    script = Gated()
    with serving(tmp_path, script) as client:
        with Following(client, "POST", "/api/chat", ASK) as first:
            stream = first.next()[1]["stream"]
        script.gate.set()
        assert script.closed.wait(60)
        with Following(client, "GET", f"/api/streams/{stream}?after=3") as back:
            assert [read_event(raw)[0] for raw in back.rest()] == ["text", "text", "answer"]


def test_two_readers_see_the_same(tmp_path: Path) -> None:
    script = Gated()
    with serving(tmp_path, script) as client, Following(client, "POST", "/api/chat", ASK) as first:
        seen = [first.raw()]
        with Following(client, "GET", f"/api/streams/{stream_of(seen[0])}") as second:
            also = [second.raw(), second.raw()]
            script.gate.set()
            assert seen + first.rest() == also + second.rest()


def test_without_a_reader_a_turn_ends_after_a_while(tmp_path: Path) -> None:
    script = Gated()
    with serving(tmp_path, script, Settings(resume_seconds=0.2)) as client:
        with Following(client, "POST", "/api/chat", ASK) as first:
            stream = first.next()[1]["stream"]
        assert script.closed.wait(60)
        assert eventually(lambda: client.get(f"/api/streams/{stream}").status == 404)


def test_one_reader_is_enough_to_go_on(tmp_path: Path) -> None:
    script = Gated()
    with serving(tmp_path, script, Settings(resume_seconds=0.1)) as client:
        first = Following(client, "POST", "/api/chat", ASK)
        stream = first.next()[1]["stream"]
        with Following(client, "GET", f"/api/streams/{stream}") as second:
            second.next()
            first.leave()
            assert not script.closed.wait(0.5)
            script.gate.set()
            assert read_event(second.rest()[-1])[0] == "answer"


def test_what_is_over_is_kept_for_a_while_and_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_KEPT_STREAMS", 2)
    with serving(tmp_path) as client:
        streams = [client.post("/api/chat", ASK).events[0][1]["stream"] for _ in range(3)]
        eventually(lambda: client.get(f"/api/streams/{streams[0]}").status == 404)
        assert [client.get(f"/api/streams/{each}").status for each in streams] == [404, 200, 200]
        monkeypatch.setattr(live, "MAX_KEPT_BYTES", 10)
        client.post("/api/chat", ASK)
        eventually(lambda: {client.get(f"/api/streams/{each}").status for each in streams} == {404})


def test_who_has_read_all_is_told_not_to_come_back(client: Client) -> None:
    client.engine.script = answers
    stream = client.post("/api/chat", ASK).events[0][1]["stream"]
    eventually(lambda: client.get(f"/api/streams/{stream}?after=5").status == 204)
    assert client.get(f"/api/streams/{stream}?after=99").status == 204
    assert len(client.get(f"/api/streams/{stream}?after=4").body.split(b"\n\n")) == 2


@pytest.mark.parametrize("seen", ["x", "other-1", "{}-", "{}--1", "{}-²", "{}-99999999999999999999"])
def test_an_event_of_another_stream_is_refused(client: Client, seen: str) -> None:
    client.engine.script = answers
    stream = client.post("/api/chat", ASK).events[0][1]["stream"]
    answer = client.get(f"/api/streams/{stream}", last_event_id=seen.format(stream).encode().decode("latin-1"))
    assert (answer.status, answer.json["code"]) == (400, "BadRequest")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_unknown_stream_is_a_clear_404(client: Client, method: str) -> None:
    answer = client.send(method, "/api/streams/nobody")
    assert (answer.status, answer.json["code"]) == (404, "NotFound")
    assert answer.json["hint"]


def test_a_reader_who_takes_nothing_does_not_hold_up_the_turn(tmp_path: Path) -> None:
    async def long(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        yield Accepted(request.conversation_id, 1)
        for _ in range(60):
            yield Delta("word " * 10_000)
        yield Answered(reply_to(request))

    with serving(tmp_path, long) as client, Following(client, "POST", "/api/chat", ASK) as stalled:
        stream = stalled.next()[1]["stream"]
        with Following(client, "GET", f"/api/streams/{stream}") as quick:
            assert len(quick.rest()) == 62
        assert len(stalled.rest()) == 61  # it is all there for whoever takes it in the end


def test_what_is_too_long_to_be_kept_is_not_given_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_STREAM_BYTES", 2000)
    script = Gated(before=0, after=50)
    with serving(tmp_path, script) as client, Following(client, "POST", "/api/chat", ASK) as first:
        stream = first.next()[1]["stream"]
        script.gate.set()
        assert script.closed.wait(60)
        answer = client.get(f"/api/streams/{stream}")
        assert (answer.status, answer.json["code"]) == (404, "NotFound")
        last = client.get(f"/api/streams/{stream}?after=51").events
        assert [name for name, _ in last] == ["answer"]


# --- stopping ----------------------------------------------------------------------------------------------------


def test_a_turn_is_stopped_at_once(tmp_path: Path) -> None:
    script = Gated()
    with serving(tmp_path, script) as client, Following(client, "POST", "/api/chat", ASK) as reader:
        stream = reader.next()[1]["stream"]
        assert client.send("DELETE", f"/api/streams/{stream}").status == 204
        assert script.closed.is_set()
        event, problem = read_event(reader.rest()[-1])
        assert (event, problem["code"]) == ("error", "Interrupted")
        assert client.send("DELETE", f"/api/streams/{stream}").status == 204


def test_a_turn_that_is_stopped_while_it_ends_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    releasing, go_on = threading.Event(), threading.Event()
    with serving(tmp_path, fails_midway) as client, ThreadPoolExecutor() as pool:
        requests = client.engine.store.requests
        release = requests.release

        def slow_release(tenant: str, key: str) -> None:
            releasing.set()
            assert go_on.wait(60)
            release(tenant, key)

        monkeypatch.setattr(requests, "release", slow_release)
        try:
            with Following(client, "POST", "/api/chat", ASK, idempotency_key="k") as reader:
                stream = reader.next()[1]["stream"]
                assert releasing.wait(60)
                stopped = pool.submit(client.send, "DELETE", f"/api/streams/{stream}")
                rest = pool.submit(reader.rest)
                assert stopped.result(60).status == 204
                assert [read_event(each)[0] for each in rest.result(60)] == ["text", "error"]
            assert "turnwise_live_streams 0.0" in client.get("/metrics").body.decode()
        finally:
            go_on.set()


def test_streams_are_a_tenants_own(tmp_path: Path) -> None:
    script = Gated()
    with serving(tmp_path, script, Settings(access="keys")) as client:
        keys = client.engine.store.keys
        (_, own), (_, colleague), (_, other) = (keys.create("k", tenant) for tenant in ("a", "a", "b"))
        with Following(client, "POST", "/api/chat", ASK, authorization=f"Bearer {own}") as reader:
            stream = reader.next()[1]["stream"]
            for method in ("GET", "DELETE"):
                foreign = client.send(method, f"/api/streams/{stream}", authorization=f"Bearer {other}")
                unknown = client.send(method, "/api/streams/nobody", authorization=f"Bearer {other}")
                assert (foreign.status, foreign.json) == (404, unknown.json)
                assert client.send(method, f"/api/streams/{stream}").status == 401
            script.gate.set()
            with Following(client, "GET", f"/api/streams/{stream}", authorization=f"Bearer {colleague}") as second:
                assert second.next()[0] == "accepted"


def test_a_key_that_is_revoked_ends_its_turns(tmp_path: Path) -> None:
    script = Gated()
    with serving(tmp_path, script, Settings(access="keys")) as client:
        key, secret = client.engine.store.keys.create("k", "a")
        with Following(client, "POST", "/api/chat", ASK, authorization=f"Bearer {secret}") as reader:
            assert script.begun.wait(60)
            client.engine.store.keys.revoke(key.id)
            event, problem = read_event(reader.rest()[-1])
        assert (event, problem["status"], problem["code"]) == ("error", 401, "NotAllowed")
        assert script.closed.is_set()


def test_a_key_that_is_revoked_ends_its_reading_only_of_anothers_turn(tmp_path: Path) -> None:
    script = Gated()
    with serving(tmp_path, script, Settings(access="keys")) as client:
        (_, own), (key, guest) = (client.engine.store.keys.create("k", "a") for _ in range(2))
        with Following(client, "POST", "/api/chat", ASK, authorization=f"Bearer {own}") as reader:
            stream = reader.next()[1]["stream"]
            with Following(client, "GET", f"/api/streams/{stream}", authorization=f"Bearer {guest}") as second:
                second.next()
                client.engine.store.keys.revoke(key.id)
                event, problem = read_event(second.rest()[-1])
            assert (event, problem["status"]) == ("error", 401)
            script.gate.set()
            assert read_event(reader.rest()[-1])[0] == "answer"


def test_a_revoked_key_ends_a_request_for_one_object_too(tmp_path: Path) -> None:
    script = Gated()
    with serving(tmp_path, script, Settings(access="keys")) as client, ThreadPoolExecutor() as pool:
        key, secret = client.engine.store.keys.create("k")
        body = {**ASK, "stream": False}
        asked = pool.submit(client.post, "/api/chat", body, authorization=f"Bearer {secret}")
        assert script.begun.wait(60)
        client.engine.store.keys.revoke(key.id)
        assert (asked.result().status, asked.result().json["code"]) == (401, "NotAllowed")


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
def test_a_server_that_stops_tells_its_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr("turnwise.server.run.GRACE_SECONDS", 0.2)
    script = Gated()
    body = ASK if path == "/api/chat" else {"messages": [{"role": "user", "content": "go"}], "stream": True}
    with serving(tmp_path, script) as client:
        reader = Following(client, "POST", path, body)
        reader.raw()
    last = reader.rest()[-1]
    reader.leave()
    assert script.closed.is_set()
    if path == "/api/chat":
        assert read_event(last)[1]["code"] == "ShuttingDown"
    else:
        assert last == b"data: [DONE]\n\n"


def test_a_server_that_stops_lets_turns_end(tmp_path: Path) -> None:
    script = Gated()
    with serving(tmp_path, script) as client:
        reader = Following(client, "POST", "/api/chat", ASK)
        reader.raw()
        threading.Timer(0.5, script.gate.set).start()
    assert read_event(reader.rest()[-1])[0] == "answer"
    reader.leave()


# --- waiting for one's place -------------------------------------------------------------------------------------


class Counted:
    """Turns that say how many of them were worked on at once, in which order, and which were closed."""

    def __init__(self, stage: str = "condense") -> None:
        self.stage = stage
        self.at_work = self.most = 0
        self.order: list[str] = []
        self.closed: list[str] = []
        self.gate = threading.Event()

    async def __call__(self, request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        try:
            yield Accepted(request.conversation_id, 1)
            self.order.append(request.message)
            self.at_work += 1
            self.most = max(self.most, self.at_work)
            yield StageDone(StageTrace(self.stage, "done", "", 0.1))
            while not self.gate.is_set():
                await asyncio.sleep(0.005)
            self.at_work -= 1
            yield Answered(reply_to(request))
        finally:
            self.closed.append(request.message)


def test_everyone_is_accepted_at_once_and_few_are_worked_on(tmp_path: Path) -> None:
    script = Counted()
    with serving(tmp_path, script, Settings(turns_at_once=2)) as client, ExitStack() as open_:
        readers = []
        for number in range(12):
            reader = open_.enter_context(Following(client, "POST", "/api/chat", {"message": str(number)}))
            assert reader.next()[0] == "accepted"
            readers.append(reader)
        assert script.order == ["0", "1"]
        readers[5].leave()
        script.gate.set()
        for number, reader in enumerate(readers):
            if number != 5:
                assert reader.until("answer")["condensed_query"] == str(number)
    assert script.most == 2
    assert script.order == [str(number) for number in range(12)]


def test_who_leaves_the_queue_frees_it(tmp_path: Path) -> None:
    script = Counted()
    with serving(tmp_path, script, Settings(turns_at_once=1, resume_seconds=0.0)) as client:
        first, second, third = (Following(client, "POST", "/api/chat", {"message": str(each)}) for each in range(3))
        for reader in (first, second, third):
            reader.next()
        second.leave()
        eventually(lambda: script.closed == ["1"])
        first.leave()
        assert third.until("stage")
        assert script.order == ["0", "2"]
        third.leave()


@pytest.mark.parametrize(("base_url", "most"), [("http://127.0.0.1:9/v1", 5), ("", 1)])
def test_who_waits_for_a_model_elsewhere_leaves_their_place_to_others(tmp_path: Path, base_url: str, most: int) -> None:
    script = Counted("compose")
    with serving(tmp_path, script, Settings(turns_at_once=1, base_url=base_url)) as client, ExitStack() as open_:
        readers = [open_.enter_context(Following(client, "POST", "/api/chat", ASK)) for _ in range(5)]
        for reader in readers if base_url else readers[:1]:
            assert reader.until("stage")
        script.gate.set()
        for reader in readers:
            reader.until("answer")
    assert script.most == most


@pytest.mark.parametrize("stream", [True, False])
def test_a_queue_that_is_too_long_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    monkeypatch.setattr(live, "MAX_WAITING_TURNS", 2)
    script = Counted()
    with serving(tmp_path, script, Settings(turns_at_once=1)) as client, ExitStack() as open_:
        readers = []
        for _ in range(3):
            readers.append(open_.enter_context(Following(client, "POST", "/api/chat", ASK)))
            readers[-1].next()
        body = {**ASK, "stream": stream}
        refused = client.post("/api/chat", body, idempotency_key="k")
        assert (refused.status, refused.json["code"], refused.headers["retry-after"]) == (503, "Overloaded", "5")
        script.gate.set()
        for reader in readers:
            reader.until("answer")
        assert client.post("/api/chat", body, idempotency_key="k").status == 200


# --- asking once -------------------------------------------------------------------------------------------------

COMPLETION = {"messages": [{"role": "user", "content": "What is BERT?"}]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/chat", {**ASK, "stream": False}),
        ("/v1/chat/completions", COMPLETION),
    ],
)
def test_a_request_sent_again_gets_the_same_object(tmp_path: Path, path: str, body: dict[str, Any]) -> None:
    with serving(tmp_path) as client:
        first, second = (client.post(path, body, idempotency_key="a b") for _ in range(2))
        assert (first.status, second.status, first.json) == (200, 200, second.json)
        assert "idempotent-replayed" not in first.headers
        assert second.headers["idempotent-replayed"] == "true"
        assert len(client.engine.requests) == 1
        assert client.post(path, body, idempotency_key="other").status == 200
        assert len(client.engine.requests) == 2


def test_a_stream_asked_for_again_is_accepted_and_answered_the_same(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        first, second = (client.post("/api/chat", ASK, idempotency_key="k") for _ in range(2))
    assert [name for name, _ in second.events] == ["accepted", "answer"]
    assert second.events[-1] == first.events[-1]
    assert second.events[0][1] == {**first.events[0][1], "stream": None}
    assert second.headers["idempotent-replayed"] == "true"


def test_a_completion_streamed_again_says_the_same(tmp_path: Path) -> None:
    body = {**COMPLETION, "stream": True, "stream_options": {"include_usage": True}}

    def chunks(client: Client) -> list[Any]:
        raw = client.post("/v1/chat/completions", body, idempotency_key="k").body.decode()
        assert raw.endswith("data: [DONE]\n\n")
        return [json.loads(line.removeprefix("data: ")) for line in raw.split("\n\n")[:-2]]

    with serving(tmp_path) as client:
        first, second = chunks(client), chunks(client)
        assert len(client.engine.requests) == 1
    text = ["".join(c["choices"][0]["delta"].get("content", "") for c in each[:-1]) for each in (first, second)]
    assert text[0] == text[1] == "BERT hides words [1]."
    assert first[-2:] == second[-2:]


def test_a_key_is_for_one_body_and_one_path(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        assert client.post("/v1/chat/completions", COMPLETION, idempotency_key="k").status == 200
        other = client.post("/v1/chat/completions", {**COMPLETION, "model": "x"}, idempotency_key="k")
        assert (other.status, other.json["error"]["code"]) == (422, "KeyReused")
        elsewhere = client.post("/api/chat", COMPLETION, idempotency_key="k")
        assert (elsewhere.status, elsewhere.json["code"]) == (422, "KeyReused")


@pytest.mark.parametrize("stream", [True, False])
def test_a_request_in_flight_is_not_answered_twice(tmp_path: Path, stream: bool) -> None:
    script, body = Gated(), {**ASK, "stream": stream}
    with serving(tmp_path, script) as client, ThreadPoolExecutor() as pool:
        asked = pool.submit(client.post, "/api/chat", body, idempotency_key="k")
        assert script.begun.wait(60)
        again = client.post("/api/chat", body, idempotency_key="k")
        assert (again.status, again.json["code"]) == (409, "RequestInFlight")
        assert again.headers["retry-after"] == "2"
        script.gate.set()
        assert asked.result().status == 200
        assert client.post("/api/chat", body, idempotency_key="k").headers["idempotent-replayed"] == "true"


def test_who_was_cut_off_gets_the_answer_by_asking_again(tmp_path: Path) -> None:
    script, body = Gated(), {**ASK, "stream": False}
    with serving(tmp_path, script) as client:
        connection = client.connection()
        headers = {"content-type": "application/json", "idempotency-key": "k"}
        connection.request("POST", "/api/chat", json.dumps(body), headers)
        assert script.begun.wait(60)
        connection.close()
        script.gate.set()
        answer = eventually(lambda: (a := client.post("/api/chat", body, idempotency_key="k")).status == 200 and a)
        assert answer.headers["idempotent-replayed"] == "true"
        assert len(client.engine.requests) == 1


@pytest.mark.parametrize("script", [refuses, fails_midway])
@pytest.mark.parametrize("stream", [True, False])
def test_what_failed_can_be_asked_again(tmp_path: Path, script: Any, stream: bool) -> None:
    body = {**ASK, "stream": stream}
    with serving(tmp_path, script) as client:
        client.post("/api/chat", body, idempotency_key="k")
        client.engine.script = answers
        again = eventually(lambda: (a := client.post("/api/chat", body, idempotency_key="k")).status == 200 and a)
        assert "idempotent-replayed" not in again.headers


async def blocked_at_once(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:  # noqa: ARG001
    yield Failed(
        {"code": "MessageBlocked", "message": "Not answered: it attacks.", "hint": "Ask differently."}, 403, ()
    )


async def blocked(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
    yield Accepted(request.conversation_id, 1)
    async for event in blocked_at_once(request):
        yield event


@pytest.mark.parametrize("script", [blocked_at_once, blocked])
@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
@pytest.mark.parametrize("stream", [True, False])
def test_what_the_guard_refused_is_not_judged_again(tmp_path: Path, script: Any, path: str, stream: bool) -> None:
    body = {**(ASK if path == "/api/chat" else COMPLETION), "stream": stream}
    with serving(tmp_path, script) as client:
        first, second = (client.post(path, body, idempotency_key="k") for _ in range(2))
        assert len(client.engine.requests) == 1
    assert second.headers["idempotent-replayed"] == "true"
    assert b"Not answered: it attacks." in first.body
    assert b"Not answered: it attacks." in second.body
    if not stream:
        assert (first.status, first.json) == (second.status, second.json)
        assert first.status == 403


def test_the_key_of_one_is_not_that_of_another(tmp_path: Path) -> None:
    with serving(tmp_path, settings=Settings(access="keys")) as client:
        create = client.engine.store.keys.create
        secrets = [create("k", "a")[1], create("k", "a", ["papers"])[1], create("k", "b")[1]]
        body = {**ASK, "stream": False}
        for secret in secrets:
            answer = client.post("/api/chat", body, idempotency_key="k", authorization=f"Bearer {secret}")
            assert "idempotent-replayed" not in answer.headers
        assert [request.reach.tenant for request in client.engine.requests] == ["a", "a", "b"]
        assert client.engine.requests[1].reach.collections == ("papers",)


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb"])
def test_a_key_has_a_form(client: Client, key: str) -> None:
    client.engine.script = answers
    answer = client.post("/api/chat", ASK, idempotency_key=key)
    assert (answer.status, answer.json["code"]) == (400, "BadRequest")


# --- pages that are open elsewhere -------------------------------------------------------------------------------


def test_another_page_hears_of_a_turn_and_can_follow_it(tmp_path: Path) -> None:
    script = Gated()
    with serving(tmp_path, script) as client:
        client.engine.store.finish(
            "c", client.engine.store.accept("c", "before").turns[-1].number, Ending("answered", "Yes.")
        )
        with Following(client, "GET", "/api/conversations/c/events") as page:
            assert page.status == 200

            async def second(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
                async for event in script(request):
                    yield Accepted("c", 2) if isinstance(event, Accepted) else event

            client.engine.script = second
            with Following(client, "POST", "/api/chat", {**ASK, "conversation_id": "c"}):
                began = page.until("turn")
                assert (began["number"], began["status"]) == (2, "pending")
                with Following(client, "GET", f"/api/streams/{began['stream']}") as following:
                    script.gate.set()
                    assert following.until("answer")
            assert page.until("turn") == {"number": 2, "status": "answered", "stream": None}


def test_what_another_process_does_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.server.hub.POLL_SECONDS", 0.1)
    with serving(tmp_path) as client:
        store = client.engine.store  # beneath the server, as another process would
        number = store.accept("c", "one").turns[-1].number
        with Following(client, "GET", "/api/conversations/c/events") as page:
            assert page.until("turn") == {"number": number, "status": "pending", "stream": None}
            store.finish("c", number, Ending("answered", "Yes."))
            assert page.until("turn") == {"number": number, "status": "answered", "stream": None}
            store.rename("c", "Renamed elsewhere")
            assert page.next() == ("renamed", {"title": "Renamed elsewhere"})
            assert client.send("PATCH", "/api/conversations/c", {"title": "Renamed here"}).status == 200
            assert page.next() == ("renamed", {"title": "Renamed here"})
            store.delete("c")
            assert page.next() == ("deleted", {})
            assert page.raw() == b""


def test_one_look_at_the_store_is_for_all_tenants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.server.hub.POLL_SECONDS", 0.1)
    looked: list[set[tuple[str, str]]] = []
    with serving(tmp_path, settings=Settings(access="keys")) as client, ExitStack() as pages:
        store = client.engine.store
        look = store.standings
        monkeypatch.setattr(store, "standings", lambda places: look(looked.append(set(places)) or looked[-1]))
        opened = []
        for tenant in ("a", "b", "c"):
            store.of(tenant).accept("c", "one")
            secret = store.keys.create("k", tenant)[1]
            page = Following(client, "GET", "/api/conversations/c/events", authorization=f"Bearer {secret}")
            opened.append(pages.enter_context(page))
        store.of("b").rename("c", "Renamed")
        assert opened[1].until("renamed") == {"title": "Renamed"}
        assert {("a", "c"), ("b", "c"), ("c", "c")} in looked


def test_a_page_that_was_away_is_told_what_it_missed(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        store = client.engine.store
        number = store.accept("c", "one").turns[-1].number
        with Following(client, "GET", "/api/conversations/c/events") as page:
            raw = page.raw()
            assert raw.startswith(b"id: 1-pending\n")
        store.finish("c", number, Ending("answered", "Yes."))
        with Following(client, "GET", "/api/conversations/c/events", last_event_id="1-pending") as page:
            assert page.raw().startswith(b"id: 1-answered\n")


def test_a_conversation_that_there_is_not_cannot_be_watched(tmp_path: Path) -> None:
    with serving(tmp_path, settings=Settings(access="keys")) as client:
        client.engine.store.of("a").accept("c", "one")
        (_, own), (_, other) = (client.engine.store.keys.create("k", tenant) for tenant in ("a", "b"))
        answer = client.get("/api/conversations/c/events", authorization=f"Bearer {other}")
        assert (answer.status, answer.json["code"]) == (404, "ConversationNotFound")
        with Following(client, "GET", "/api/conversations/c/events", authorization=f"Bearer {own}") as page:
            assert page.next()[0] == "turn"


def test_a_page_whose_key_is_revoked_is_sent_away(tmp_path: Path) -> None:
    with serving(tmp_path, settings=Settings(access="keys")) as client:
        client.engine.store.accept("c", "one")
        key, secret = client.engine.store.keys.create("k")
        with Following(client, "GET", "/api/conversations/c/events", authorization=f"Bearer {secret}") as page:
            page.next()
            client.engine.store.keys.revoke(key.id)
            assert page.until("error")["status"] == 401
            assert page.raw() == b""


def test_a_page_that_takes_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.server.hub.POLL_SECONDS", 0.05)
    monkeypatch.setattr("turnwise.server.hub.STILL_HERE", b": " + b"x" * 500_000 + b"\n\n")
    monkeypatch.setattr("turnwise.server.hub.HEARTBEAT_SECONDS", 0.0)
    monkeypatch.setattr("turnwise.server.hub.MAX_PENDING_FRAMES", 3)
    monkeypatch.setattr(live, "TICK_SECONDS", 0.02)
    hubs: list[Hub] = []
    monkeypatch.setattr(live, "Hub", lambda *given: hubs.append(Hub(*given)) or hubs[-1])
    with serving(tmp_path) as client:
        client.engine.store.accept("c", "one")
        with Following(client, "GET", "/api/conversations/c/events"):
            eventually(lambda: len(hubs[0]) == 1)
            eventually(lambda: len(hubs[0]) == 0)


def test_pages_that_only_watch_are_closed_in_good_order(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.engine.store.accept("c", "one")
        parts = urlsplit(client.address)
        page = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60)
        page.sendall(b"GET /api/conversations/c/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert page.recv(1000).startswith(b"HTTP/1.1 200")
    with page, page.makefile("rb") as rest:
        assert rest.read().endswith(b"0\r\n\r\n")  # the end of a whole response, not a cut


def test_nothing_is_kept_of_a_page_that_left_before_it_was_answered(tmp_path: Path) -> None:
    async def left(_: object) -> None:
        raise OSError("the connection is closed")

    async def watch_and_leave(hub: Hub) -> None:
        watching = await hub.watch("c", Caller(), "", lambda _: None)
        with pytest.raises(OSError, match="closed"):
            await watching({}, cast(Any, None), left)

    with serving(tmp_path) as client:
        client.engine.store.accept("c", "one")
        hub = Hub(client.engine.store, lambda: None)
        asyncio.run(watch_and_leave(hub))
    assert not hub._titles


def test_turns_that_nobody_reads_get_to_end_too(tmp_path: Path) -> None:
    script = Gated()
    ended: list[bool] = []

    async def noted(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        async with aclosing(script(request)) as events:
            async for event in events:
                yield event
                ended.append(isinstance(event, Answered))

    with serving(tmp_path, noted) as client:
        with Following(client, "POST", "/api/chat", ASK) as reader:
            reader.next()
        threading.Timer(0.5, script.gate.set).start()
    assert ended[-1]


# --- pictures ----------------------------------------------------------------------------------------------------

PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="


def test_pictures_go_with_the_question(client: Client) -> None:
    client.engine.script = answers
    assert client.post("/api/chat", {**ASK, "images": [{"name": "a.png", "data": PNG}]}).status == 200
    content = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": PNG}}]
    said = [{"role": "user", "content": content}, {"role": "assistant", "content": "A chart."}]
    body = {"messages": [*said, {"role": "user", "content": content}]}
    assert client.post("/v1/chat/completions", body).status == 200
    first, second = (request.images for request in client.engine.requests[-2:])
    assert [(each.name, each.media_type) for each in first + second] == [("a.png", "image/png"), ("", "image/png")]
    assert all(each.data.startswith(b"\x89PNG") for each in first + second)
    assert client.engine.requests[-1].message == "What is this?"


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ("https://example.org/a.png", "fetches nothing"),
        ("file:///etc/passwd", "fetches nothing"),
        ("data:image/svg+xml;base64,PHN2Zz4=", "data: URL"),
        ("data:image/png;base64,not base64!", "not base64"),
        ("data:image/png;base64,PHN2Zz4=", "none of PNG"),
        ("data:image/bmp;base64,Qk0=", "none of PNG"),
    ],
)
def test_what_is_no_picture_is_refused(client: Client, data: str, word: str) -> None:
    answer = client.post("/api/chat", {**ASK, "images": [{"name": "x", "data": data}]})
    assert (answer.status, answer.json["code"]) == (400, "BadRequest")
    assert word in answer.json["detail"]
    part = {"type": "image_url", "image_url": {"url": data}}
    sent = {"messages": [{"role": "user", "content": [{"type": "text", "text": "?"}, part]}]}
    answer = client.post("/v1/chat/completions", sent)
    assert answer.status == 400
    assert word in answer.json["error"]["message"]


def test_pictures_are_few(client: Client) -> None:
    answer = client.post("/api/chat", {**ASK, "images": [{"data": PNG}] * 5})
    assert (answer.status, answer.json["detail"]) == (400, "A message takes at most 4 images, not 5.")


def test_heartbeats_are_no_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.02)
    script = Gated()
    with serving(tmp_path, script) as client:
        connection = client.connection()
        connection.request("POST", "/api/chat", json.dumps(ASK), {"content-type": "application/json"})
        answer, lines = connection.getresponse(), []
        while line := answer.readline():
            lines.append(line)
            if lines.count(b": still here\n") > 3:
                script.gate.set()
        connection.close()
    numbers = [int(found) for found in re.findall(rb"^id: \w+-(\d+)$", b"".join(lines), re.M)]
    assert numbers == list(range(1, 7))
