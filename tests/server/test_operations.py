"""What those who run a server see of it: log lines, request ids, counts, readiness, traces, and the page of its API."""

from __future__ import annotations

import asyncio
import http.server
import io
import json
import logging
import re
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from tests.patience import until
from tests.server.scripted import (
    Client,
    answers,
    breaks,
    breaks_midway,
    fails_midway,
    refuses,
    serving,
)
from turnwise import logs
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.errors import LibraryUnavailable
from turnwise.server import problems
from turnwise.server.app import create_app
from turnwise.server.metrics import template_of
from turnwise.server.telemetry import Telemetry
from turnwise.server.watch import shown
from turnwise.types import Accepted, Failed, StageDone, StageTrace, TurnEvent, TurnRequest

SECRET = "tw_hunter2hunter2"


@contextmanager
def lines(form: str = "json") -> Iterator[io.StringIO]:
    """What is logged meanwhile, as a server writes it."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.addFilter(logs.TurnFilter())
    handler.setFormatter(logs.JsonLines() if form == "json" else logs.TextLines())
    ours = logging.getLogger("turnwise")
    before = ours.level
    ours.addHandler(handler)
    ours.setLevel(logging.DEBUG)
    try:
        yield written
    finally:
        ours.removeHandler(handler)
        ours.setLevel(before)


def objects(written: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def access_lines(written: io.StringIO) -> list[dict[str, Any]]:
    return [each for each in objects(written) if each["logger"] == "turnwise.access"]


# --- log lines -------------------------------------------------------------------------------------------------------


async def logs_a_line(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
    label = logs.Label(request.conversation_id, request.user)

    async def turn() -> AsyncGenerator[TurnEvent, None]:
        label.turn = 1
        await asyncio.to_thread(problems.log.warning, "from a thread")
        async for event in answers(request):
            yield event

    async for event in logs.of_turn(label, turn()):
        yield event


def test_every_line_of_a_turn_says_whose_it_is_also_that_of_its_request(tmp_path: Path) -> None:
    with lines() as written, serving(tmp_path, logs_a_line) as client:
        answer = client.post("/api/chat", {"message": "hi", "conversation_id": "c1", "user": "ann"})
        assert answer.status == 200
    inner = next(each for each in objects(written) if each["message"] == "from a thread")
    (outer,) = access_lines(written)
    whose = {"conversation_id": "c1", "user_id": "ann", "turn": 1, "request_id": answer.headers["x-request-id"]}
    assert whose.items() <= inner.items()
    assert {**whose, "method": "POST", "path": "/api/chat", "status": 200, "level": "INFO"}.items() <= outer.items()
    assert outer["ms"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", outer["time"])


def test_a_line_in_text(tmp_path: Path) -> None:
    with lines("text") as written, serving(tmp_path, logs_a_line) as client:
        client.post("/api/chat", {"message": "hi", "conversation_id": "c1", "user": "ann"})
    (line,) = (line for line in written.getvalue().splitlines() if "/api/chat" in line)
    assert re.fullmatch(r"\S+Z INFO POST /api/chat 200 in [\d.]+ ms \[conversation=c1 user=ann turn=1\]", line)


def test_a_request_about_a_conversation_is_one_of_it(tmp_path: Path) -> None:
    with lines() as written, serving(tmp_path) as client:
        client.get("/api/conversations/c7?limit=5")
    (line,) = access_lines(written)
    assert (line["conversation_id"], line["path"], line["status"]) == ("c7", "/api/conversations/c7", 404)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("a.b-1", True), ("x" * 128, True), ("x" * 129, False), ("a b", False), ("ü", False), ("", False)],
)
def test_a_request_id_is_given_back_or_made(tmp_path: Path, sent: str, kept: bool) -> None:
    with serving(tmp_path) as client:
        answer = client.send("GET", "/healthz", x_request_id=sent.encode().decode("latin-1"))
    given = answer.headers["x-request-id"]
    assert (given == sent) is kept
    assert re.fullmatch(r"[\w.:/+=@-]{1,128}", given, re.ASCII)


def test_what_machines_ask_every_few_seconds_is_no_line(tmp_path: Path) -> None:
    with lines() as written, serving(tmp_path) as client:
        client.get("/healthz")
        client.get("/nothing")
    assert [(each["level"], each["path"]) for each in access_lines(written)] == [
        ("DEBUG", "/healthz"),
        ("INFO", "/nothing"),
    ]


def test_a_path_cannot_forge_a_line(tmp_path: Path) -> None:
    with lines("text") as written, serving(tmp_path) as client:
        client.get("/a%0AINFO%20forged")
    assert len(written.getvalue().splitlines()) == 1
    assert len(shown("/" + "x" * 5000)) == 200


@pytest.mark.parametrize("script", [answers, refuses, fails_midway, breaks_midway, breaks])
@pytest.mark.parametrize("form", ["json", "text"])
def test_no_secret_and_nothing_that_was_written_gets_into_the_log(tmp_path: Path, script: Any, form: str) -> None:
    async def quotes(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        async for event in script(request):
            yield event
        raise ValueError(f"cannot read {request.message}")

    bearer = {"authorization": f"Bearer {SECRET}"}
    with lines(form) as written, serving(tmp_path, quotes, Settings(max_body=2000)) as client:
        for path in ("/api/chat", "/v1/chat/completions", "/api/guard/input", "/api/analyze"):
            for body in (
                {"message": SECRET},
                {"message": SECRET, "stream": False},
                {"messages": [{"role": "user", "content": SECRET}]},
                {"content": SECRET},
                {"message": SECRET, SECRET: 1},
                SECRET.encode(),
                SECRET.encode() * 1000,
                {"message": "hi", "style": SECRET},
            ):
                client.post(path, body, **bearer)
        client.get(f"/api/conversations?search={SECRET}", **bearer)
        client.get(f"/nothing?key={SECRET}", **bearer)
        client.post("/api/chat", {"message": SECRET}, host="evil.example", **bearer)
        client.post("/api/chat", {"message": "hi"}, idempotency_key=SECRET * 20)
    assert "/api/chat" in written.getvalue()
    assert SECRET not in written.getvalue()
    assert "secret detail" not in written.getvalue()


def test_an_error_is_told_by_its_kind_and_place_and_in_whole_only_where_that_is_wanted() -> None:
    try:
        raise ValueError("what somebody wrote")
    except ValueError as error:
        record = logging.LogRecord(
            "turnwise", 40, "x.py", 1, "it broke", None, (type(error), error, error.__traceback__)
        )
    logs.TurnFilter().filter(record)
    told = json.loads(logs.JsonLines().format(record))
    assert told["error"][-1] == "ValueError"
    assert "test_operations.py" in told["error"][0]
    assert "what somebody wrote" not in logs.TextLines().format(record)
    assert "what somebody wrote" in logs.JsonLines(whole_errors=True).format(record)
    record.exc_text = None
    assert "what somebody wrote" in logs.TextLines(whole_errors=True).format(record)


# --- counts ----------------------------------------------------------------------------------------------------------


def counted(client: Client) -> dict[str, float]:
    """Every sample, by its name and labels."""
    answer = client.get("/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        f"{each.name}{json.dumps(each.labels, sort_keys=True)}": each.value
        for family in text_string_to_metric_families(answer.body.decode())
        for each in family.samples
    }


async def blocked(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
    rails = {"injection": {"action": "block"}, "pii": {"action": "allow"}}
    guard = StageTrace("guard in", "block", "it looks like an attack", 12.0, {"rails": rails})
    yield Accepted(request.conversation_id, 1)
    yield StageDone(guard)
    yield Failed({"code": "MessageBlocked", "message": "No.", "hint": ""}, 403, (guard,))


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (answers, "answered"),
        (blocked, "blocked"),
        (refuses, "refused"),
        (fails_midway, "failed"),
        (breaks, "interrupted"),
    ],
)
def test_turns_are_counted_by_what_became_of_them(tmp_path: Path, script: Any, outcome: str) -> None:
    with serving(tmp_path, script) as client:
        client.post("/api/chat", {"message": "hi"})
        found = counted(client)
    assert found[f'turnwise_turns_total{{"outcome": "{outcome}"}}'] == 1
    assert sum(value for name, value in found.items() if name.startswith("turnwise_turns_total")) == 1
    assert found["turnwise_turn_duration_seconds_count{}"] == 1
    if script is blocked:
        assert found['turnwise_guard_blocks_total{"rail": "injection"}'] == 1
        assert not any("pii" in name for name in found)
        assert found['turnwise_stage_duration_seconds_sum{"stage": "guard in"}'] == 0.012
    if script is answers:
        assert found['turnwise_stage_duration_seconds_count{"stage": "condense"}'] == 1
        assert found["turnwise_turn_first_text_seconds_count{}"] == 1


def test_requests_are_counted_by_route_and_no_label_grows_with_what_is_asked(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        for number in range(5):
            client.get(f"/api/conversations/{number}")
            client.get(f"/nothing/{number}")
            client.send(f"ODD{number}", "/healthz")
        client.get("/web/style.css")
        # A file is counted when it is closed again, which its reader may come before.
        page = 'turnwise_http_requests_total{"method": "GET", "route": "/web", "status": "200"}'
        until(lambda: page in counted(client))
        found = counted(client)
    routes = {name for name in found if name.startswith("turnwise_http_requests_total")}
    # What asked for the counts until then is among them or not.
    assert {name for name in routes if '"/metrics"' not in name} == {
        f'turnwise_http_requests_total{{"method": "{method}", "route": "{route}", "status": "{status}"}}'
        for method, route, status in [
            ("GET", "/api/conversations/{conversation_id}", 404),
            ("GET", "none", 404),
            ("GET", "/web", 200),
            ("other", "/healthz", 405),
        ]
    }
    assert found["turnwise_documents{}"] == 2
    assert found["turnwise_passages{}"] == 10
    assert found["turnwise_sse_connections{}"] == 0


def test_two_servers_count_apart(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with serving(tmp_path / "a") as one, serving(tmp_path / "b") as other:
        one.post("/api/chat", {"message": "hi"})
        assert "turnwise_turns_total" in str(counted(one))
        assert "turnwise_turns_total" not in str(counted(other))


def test_a_route_that_is_not_there_has_no_template() -> None:
    assert template_of({"path": "/x"}) == "none"


# --- readiness -------------------------------------------------------------------------------------------------------


def unreachable(*_: object) -> None:
    raise LibraryUnavailable("The database has gone.")


def test_it_is_ready_when_models_are_loaded_and_the_library_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = threading.Event()
    monkeypatch.setattr("tests.server.scripted.ScriptedEngine.prepare", lambda _: loaded.wait(30))
    with serving(tmp_path) as client:
        waiting = client.get("/readyz")
        assert (waiting.status, waiting.json["missing"]) == (503, ["models are being loaded"])
        assert client.get("/healthz").status == 200
        loaded.set()
        while (ready := client.get("/readyz")).status == 503:
            pass
        assert ready.json == {"status": "ready", "missing": []}
        monkeypatch.setattr("tests.server.scripted.ScriptedIndex.counts", unreachable)
        gone = client.get("/readyz")
        assert (gone.status, gone.json["missing"]) == (503, ["the library does not answer"])


# --- traces ----------------------------------------------------------------------------------------------------------

TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize("with_text", [False, True])
def test_a_turn_is_a_span_with_one_for_each_stage(sample_engine: Engine, with_text: bool) -> None:
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    telemetry = Telemetry(provider, with_text)
    request = TurnRequest("What is BERT?", conversation_id=f"traced-{with_text}")

    async def turn() -> None:
        async for _ in telemetry.of_turn(request, sample_engine.stream(request)):
            pass

    with logs.requested(logs.Request("r", "POST", "/", headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})):
        asyncio.run(turn())
    *stages, whole = kept.get_finished_spans()
    assert whole.name == "turn"
    assert f"{whole.context.trace_id:032x}" == TRACE
    assert whole.parent is not None
    assert f"{whole.parent.span_id:016x}" == "b7ad6b7169203331"
    assert whole.attributes is not None
    assert whole.attributes["turnwise.conversation_id"] == f"traced-{with_text}"
    assert (whole.attributes["turnwise.turn"], whole.attributes["turnwise.outcome"]) == (1, "answered")
    assert [stage.name for stage in stages][:2] == ["guard in", "understand"]
    assert all(stage.parent and stage.parent.span_id == whole.context.span_id for stage in stages)
    assert all(stage.attributes and stage.attributes["turnwise.decision"] for stage in stages)
    assert ("BERT" in "".join(span.to_json() for span in kept.get_finished_spans())) is with_text


@pytest.mark.parametrize("script", [fails_midway, breaks])
def test_a_turn_that_fails_is_a_span_too(script: Any) -> None:
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    request = TurnRequest("hi")

    async def turn() -> None:
        async for _ in Telemetry(provider).of_turn(request, script(request)):
            pass

    if script is breaks:
        with pytest.raises(RuntimeError):
            asyncio.run(turn())
    else:
        asyncio.run(turn())
    (span,) = kept.get_finished_spans()
    assert span.attributes is not None
    assert span.attributes["turnwise.outcome"] == ("interrupted" if script is breaks else "ModelTimeout")


def test_spans_are_sent_where_an_endpoint_is_set_and_go_on_with_the_callers_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[bytes] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, args=(0.01,)).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        with serving(tmp_path) as client:
            sent = {"message": "a private question", "conversation_id": "c1"}
            client.post("/api/chat", sent, traceparent=f"00-{TRACE}-b7ad6b7169203331-01")
        collector.shutdown()
    spans = [
        span
        for each in received
        for resource in ExportTraceServiceRequest.FromString(each).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert {span.name for span in spans} == {"turn", "condense"}
    assert {span.trace_id.hex() for span in spans} == {TRACE}
    assert b"private" not in b"".join(received)


# --- the page of the API ---------------------------------------------------------------------------------------------


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        assert not any(name.startswith("on") or name == "style" for name in given)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        self.targets += [str(given[name]) for name in ("href", "src") if given.get(name)]


def test_the_api_is_a_page_of_its_own(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        answer = client.get("/docs")
        described = client.get("/openapi.json").json
        assert answer.headers["content-type"].startswith("text/html")
        links = Links()
        links.feed(answer.body.decode())
        assert "script" not in links.tags
        assert len(set(links.ids)) == len(links.ids)
        for target in set(links.targets):
            assert target[1:] in links.ids if target.startswith("#") else client.get(target).status == 200, target
        text = answer.body.decode()
        for path, operations in described["paths"].items():
            for method, operation in operations.items():
                assert f"<b>{method.upper()}</b> {path}" in text
                assert operation["summary"].split("’")[0].split("'")[0] in text, "every route says what it is for"
    assert "-d &#x27;{&quot;message&quot;: &quot;What is BERT?&quot;}&#x27;" in text
    assert "<code>conversation_id</code>" in text


def test_the_description_is_whole_without_a_running_server(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        app = create_app(client.engine)
        assert {"/healthz", "/readyz", "/metrics"} <= set(app.openapi()["paths"])
