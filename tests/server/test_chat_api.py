from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.scripted import (
    BERT,
    STAGE,
    Answer,
    Client,
    Script,
    answers,
    breaks,
    breaks_midway,
    fails_midway,
    plans,
    refuses,
    reply_to,
    serving,
)
from turnwise.config import Settings
from turnwise.server import sse
from turnwise.types import Accepted, Answered, Delta, Ending, Filter, Message, TurnEvent, TurnRequest


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("chat")) as client:
        yield client


def test_a_turn_streams_as_typed_events_and_ends_in_the_answer(client: Client) -> None:
    answer = client.post("/api/chat", {"message": "What is BERT?"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [event for event, _ in answer.events] == ["accepted", "stage", "text", "text", "answer"]
    accepted, stage, *texts, final = [data for _, data in answer.events]
    assert stage == dataclasses.asdict(STAGE)
    assert "".join(piece["text"] for piece in texts) == final["text"]
    assert final["conversation_id"] == accepted["conversation_id"]
    assert 'data-number="1"' in final["html"]


def test_a_plan_streams_as_it_runs(client: Client) -> None:
    client.engine.script = plans
    try:
        answer = client.post("/api/chat", {"message": "What is BERT, and what is 15% of 80?", "query_id": "q1"})
    finally:
        client.engine.script = answers
    assert client.engine.requests[-1].query_id == "q1"
    assert [event for event, _ in answer.events] == ["accepted", "plan", "step", "step", "text", "answer"]
    _, plan, search, sum_, _, final = [data for _, data in answer.events]
    assert [(step["tool"], step["input"], step["after"]) for step in plan["steps"]] == [
        ("rag", "What is BERT?", []),
        ("calculator", "15% of 80", []),
        ("answer", "", [0, 1]),
    ]
    assert (search["place"], search["tool"], search["found"], search["error"]) == (0, "rag", 0, "")
    assert (sum_["place"], sum_["error"], sum_["details"]) == (1, "it broke", {"sum": "15% of 80"})
    assert final["plan"]["query_id"] == "q1"
    assert final["plan"]["steps"][1]["result"]["error"] == "it broke"


def test_without_streaming_the_answer_is_one_object(client: Client) -> None:
    answer = client.post("/api/chat", {"message": "What is BERT?", "conversation_id": "c1", "stream": False})
    assert answer.status == 200
    assert answer.json == json.loads(json.dumps(reply_to(TurnRequest("What is BERT?", conversation_id="c1")).to_dict()))


def test_a_message_without_a_conversation_starts_one(client: Client) -> None:
    ids = {client.post("/api/chat", {"message": "hello", "stream": False}).json["conversation_id"] for _ in range(2)}
    assert len(ids) == 2
    assert all(len(made) == 32 for made in ids)


def test_messages_become_the_history_and_keep_nothing_here(client: Client) -> None:
    source = dataclasses.asdict(BERT)
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is BERT?"},
        {
            "role": "assistant",
            "content": "It hides words [1].",
            "sources": [source, {**source, "number": 10**6}, {"number": "x"}, 3],
        },
        {"role": "user", "content": "And GPT?"},
    ]
    answer = client.post("/api/chat", {"messages": messages, "condensed_query": "What is GPT?", "stream": False})
    assert answer.json["conversation_id"] is None
    assert client.engine.requests[-1] == TurnRequest(
        "And GPT?",
        (
            Message("system", "Be brief."),
            Message("user", "What is BERT?"),
            Message("assistant", "It hides words [1].", (BERT,)),
        ),
        condensed_query="What is GPT?",
        address="127.0.0.1",
    )


@pytest.mark.parametrize(
    ("sent", "read"), [({"scaffolding": "hint"}, {"scaffolding": "hint"}), ("hint", {}), (None, {})]
)
def test_what_was_noted_about_an_answer_comes_with_it(client: Client, sent: Any, read: dict[str, str]) -> None:
    messages = [{"role": "assistant", "content": "Hm.", "metadata": sent}, {"role": "user", "content": "And?"}]
    assert client.post("/api/chat", {"messages": messages, "stream": False}).status == 200
    assert client.engine.requests[-1].history == (Message("assistant", "Hm.", metadata=read),)


def test_sources_that_are_no_list_are_ignored(client: Client) -> None:
    messages = [{"role": "assistant", "content": "Hm.", "sources": {"a": 1}}, {"role": "user", "content": "And?"}]
    assert client.post("/api/chat", {"messages": messages, "stream": False}).status == 200
    assert client.engine.requests[-1].history == (Message("assistant", "Hm."),)


@pytest.mark.parametrize("stream", [True, False])
def test_a_turn_refused_at_the_door_has_its_own_status(tmp_path: Path, stream: bool) -> None:
    with serving(tmp_path, refuses) as client:
        answer = client.post("/api/chat", {"message": " ", "stream": stream})
    assert answer.status == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json == {
        "type": "urn:turnwise:error:EmptyMessage",
        "title": "Empty message",
        "status": 422,
        "detail": "The message is empty.",
        "code": "EmptyMessage",
        "hint": "Write a question.",
    }


def test_a_turn_that_fails_midway_ends_in_an_error_event(tmp_path: Path) -> None:
    with serving(tmp_path, fails_midway) as client:
        streamed = client.post("/api/chat", {"message": "What is BERT?"})
        whole = client.post("/api/chat", {"message": "What is BERT?", "stream": False})
    event, problem = streamed.events[-1]
    assert event == "error"
    assert (problem["status"], problem["code"]) == (504, "ModelTimeout")
    assert whole.status == 504
    assert whole.json == problem


def test_a_fault_of_ours_shows_no_detail_and_leaves_a_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(tmp_path, breaks_midway) as client:
        streamed = client.post("/api/chat", {"message": "What is BERT?"})
        client.engine.script = breaks
        whole = client.post("/api/chat", {"message": "What is BERT?"})
    assert streamed.events[-1][0] == "error"
    assert streamed.events[-1][1]["code"] == "Unexpected"
    assert whole.status == 500
    assert whole.json["code"] == "Unexpected"
    assert b"secret" not in streamed.body + whole.body
    assert [record.message for record in caplog.records] == ["A turn broke", "POST '/api/chat' failed"]


class Endless:
    """A turn that never ends, and says when it was closed."""

    def __init__(self, piece: str = "word ", pause: float = 0.01) -> None:
        self.piece = piece
        self.pause = pause
        self.begun = threading.Event()
        self.closed = threading.Event()

    async def __call__(self, request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        try:
            yield Accepted(request.conversation_id, 1)
            self.begun.set()
            while True:
                yield Delta(self.piece)
                await asyncio.sleep(self.pause)
        finally:
            self.closed.set()


@pytest.mark.parametrize("pause", [0.01, 60.0])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/chat", {"message": "go"}),
        ("/api/chat", {"message": "go", "stream": False}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "go"}], "stream": True}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "go"}]}),
    ],
)
def test_a_client_that_leaves_closes_the_turn(tmp_path: Path, path: str, body: dict[str, Any], pause: float) -> None:
    script = Endless(pause=pause)
    with serving(tmp_path, script, Settings(resume_seconds=0.1)) as client:
        connection = client.connection()
        connection.request("POST", path, json.dumps(body).encode(), {"content-type": "application/json"})
        assert script.begun.wait(60)
        connection.close()
        assert script.closed.wait(60)


def test_a_client_that_stops_reading_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "STALLED_SECONDS", 0.2)
    script = Endless("word " * 50_000, pause=0)
    with serving(tmp_path, script, Settings(resume_seconds=0.1)) as client:
        connection = client.connection()
        connection.request("POST", "/api/chat", b'{"message": "go"}', {"content-type": "application/json"})
        assert script.closed.wait(60)
        connection.close()


def test_a_silent_stream_has_a_heartbeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.05)

    async def slow(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        yield Accepted(request.conversation_id, 1)
        await asyncio.sleep(1)
        yield Answered(reply_to(request))

    with serving(tmp_path, slow) as client:
        answer = client.post("/api/chat", {"message": "go"})
    assert answer.body.count(b": still here\n\n") >= 2


class Queued:
    """A turn whose first event waits until it may come."""

    def __init__(self, then: Script) -> None:
        self.then = then
        self.gate = threading.Event()

    async def __call__(self, request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        while not self.gate.is_set():
            await asyncio.sleep(0.005)
        async for event in self.then(request):
            yield event


@pytest.mark.parametrize(("then", "last"), [(answers, "answer"), (refuses, "EmptyMessage"), (breaks, "Unexpected")])
def test_a_stream_whose_first_event_is_late_begins_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, then: Script, last: str
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.02)
    monkeypatch.setattr(sse, "START_SECONDS", 0.05)
    script = Queued(then)
    with serving(tmp_path, script) as client:
        connection = client.connection()
        connection.request("POST", "/api/chat", b'{"message": "go"}', {"content-type": "application/json"})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        beats = [answer.readline() for _ in range(6)]
        assert beats == [b": still here\n", b"\n"] * 3
        script.gate.set()
        event, data = Answer(200, {}, answer.read()).events[-1]
        connection.close()
    assert last in (event, data.get("code"))
    assert [record.message for record in caplog.records] == (["A turn broke"] if then is breaks else [])


@pytest.mark.parametrize(("then", "status"), [(refuses, 422), (breaks, 500)])
def test_an_error_that_comes_soon_keeps_its_status(tmp_path: Path, then: Script, status: int) -> None:
    with serving(tmp_path, then) as client:
        assert client.post("/api/chat", {"message": "go"}).status == status


def test_a_late_error_is_one_of_openais_under_v1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "START_SECONDS", 0.05)
    script = Queued(refuses)
    with serving(tmp_path, script) as client:
        connection = client.connection()
        body = {"messages": [{"role": "user", "content": "go"}], "stream": True}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        answer = connection.getresponse()
        script.gate.set()
        frames = answer.read().decode().split("\n\n")
        connection.close()
    assert answer.status == 200
    assert json.loads(frames[-3].removeprefix("data: "))["error"]["code"] == "EmptyMessage"
    assert frames[-2:] == ["data: [DONE]", ""]


def test_an_open_stream_does_not_hold_up_the_end_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.server.run.GRACE_SECONDS", 0)
    script = Endless()
    with serving(tmp_path, script) as client:
        connection = client.connection()
        connection.request("POST", "/api/chat", b'{"message": "go"}', {"content-type": "application/json"})
        connection.getresponse().read1(10)
        began = time.monotonic()
    connection.close()
    assert script.closed.is_set()
    assert time.monotonic() - began < 9


def test_stored_conversations_come_back_with_html_and_what_became_of_each_turn(client: Client) -> None:
    store = client.engine.store
    record = reply_to(TurnRequest("q")).to_dict()
    number = store.accept("kept", "one").turns[-1].number
    store.finish(
        "kept", number, Ending("answered", "Yes [1].", (BERT,), record, shown=(BERT,), note="a note to a model")
    )
    store.finish(
        "kept", store.accept("kept", "two").turns[-1].number, Ending("failed", error={"message": "no", "hint": ""})
    )
    listed = client.get("/api/conversations").json["conversations"]
    assert (listed[0]["id"], listed[0]["turns"]) == ("kept", 2)

    found = client.get("/api/conversations/kept").json
    first, second = found["turns"]
    assert (first["prompt"], first["response"], first["status"]) == ("one", "Yes [1].", "answered")
    assert 'data-number="1"' in first["html"]
    assert first["sources"][0]["title"] == "BERT"
    assert first["record"]["condensed_query"] == "q"
    assert {"evidence", "note", "shown"}.isdisjoint({*first, *first["record"]})
    assert (second["status"], second["html"], second["error"]["message"]) == ("failed", "", "no")


def test_a_long_conversation_is_read_in_parts(client: Client) -> None:
    store = client.engine.store
    for _ in range(5):
        store.finish("long", store.accept("long", "again").turns[-1].number, Ending("answered", "Yes."))
    latest = client.get("/api/conversations/long?limit=2").json
    assert latest["turn_count"] == 5
    assert [turn["number"] for turn in latest["turns"]] == [4, 5]
    before = client.get("/api/conversations/long?limit=2&before=4").json
    assert [turn["number"] for turn in before["turns"]] == [2, 3]


@pytest.mark.parametrize("name", ["nobody", "..%2f..%2fetc", "a%00b", "%ff", "';DROP TABLE turns--", "x" * 5000])
def test_an_unknown_conversation_is_a_clear_404(client: Client, name: str) -> None:
    answer = client.get(f"/api/conversations/{name.replace(' ', '%20')}")
    assert answer.status == 404
    assert answer.json["hint"]


def test_health_page_and_description(client: Client) -> None:
    assert client.get("/healthz").json["status"] == "ok"
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for name in ("app.js", "style.css"):
        assert f"/web/{name}".encode() in page.body
        assert client.get(f"/web/{name}").status == 200
    assert "/api/chat" in client.get("/openapi.json").json["paths"]
    assert client.get("/docs").status == 200


def test_two_turns_at_once_do_not_mix(tmp_path: Path) -> None:
    with serving(tmp_path, answers) as client:
        found: list[str] = []

        def ask(name: str) -> None:
            found.append(
                client.post("/api/chat", {"message": name, "conversation_id": name}).events[-1][1]["condensed_query"]
            )

        threads = [threading.Thread(target=ask, args=(f"q{i}",)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == [f"q{i}" for i in range(8)]


def test_a_filter_goes_with_the_question(tmp_path: Path) -> None:
    body = {"message": "What is the fee?", "filter": {"tags": ["2024"], "since": "2024"}, "stream": False}
    with serving(tmp_path) as client:
        assert client.post("/api/chat", body).status == 200
        assert client.post("/api/chat", {**body, "filter": {"tag": "2024"}}).status == 422
        messages = [{"role": "user", "content": "What is the fee?"}]
        assert client.post("/v1/chat/completions", {"messages": messages, "filter": {"tags": ["2024"]}}).status == 200
        assert [request.where for request in client.engine.requests] == [
            Filter(tags=("2024",), since="2024"),
            Filter(tags=("2024",)),
        ]


@pytest.mark.parametrize("stream", [True, False])
def test_a_citation_style_adds_a_bibliography(client: Client, stream: bool) -> None:
    pytest.importorskip("citeproc")
    answer = client.post("/api/chat", {"message": "What is BERT?", "style": "apa", "stream": stream})
    reply = answer.events[-1][1] if stream else answer.json
    assert reply["bibliography"] == [{"numbers": [1], "text": "BERT. (n.d.). bert.md"}]


@pytest.mark.parametrize("style", ["aap", "/etc/passwd", "../apa", "x.csl"])
def test_a_style_that_is_none_is_refused_before_the_turn(client: Client, style: str) -> None:
    pytest.importorskip("citeproc")
    asked = len(client.engine.requests)
    answer = client.post("/api/chat", {"message": "What is BERT?", "style": style})
    assert answer.status == 400
    assert "There is no citation style" in answer.json["detail"]
    assert len(client.engine.requests) == asked
