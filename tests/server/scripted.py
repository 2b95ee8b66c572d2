"""An engine whose turns are written by the test, and a client that can also misbehave."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.server.run import running
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore
from turnwise.turn.parts import Parts
from turnwise.types import (
    Accepted,
    Answered,
    ConversationState,
    Counts,
    Delta,
    DocumentInfo,
    Failed,
    FollowUp,
    Planned,
    Progress,
    QueryPlan,
    Reach,
    Reply,
    Source,
    StageDone,
    StageTrace,
    Step,
    StepDone,
    StepResult,
    TurnEvent,
    TurnRequest,
)

Script = Callable[[TurnRequest], AsyncGenerator[TurnEvent, None]]

BERT = Source(
    1, 7, "BERT", "bert.md", "BERT > Training", None, "BERT hides words. It guesses them.", "BERT hides words."
)
STAGE = StageTrace("condense", "unchanged", "the question stands alone", 0.4)
TIMEOUT = {"code": "ModelTimeout", "message": "The model said nothing.", "hint": "Ask again."}
EMPTY = {"code": "EmptyMessage", "message": "The message is empty.", "hint": "Write a question."}


class ScriptedIndex:
    """Two documents of five passages, of which some still wait for their vectors."""

    def __init__(self) -> None:
        self.waiting = 0

    def counts(self, reach: Reach | None = None) -> Counts:  # noqa: ARG002
        return Counts(2, 10, 10 - self.waiting)

    def collections(self, reach: Reach) -> dict[str, Counts]:  # noqa: ARG002
        return {"": self.counts()}

    def attachments(self, reach: Reach) -> list[DocumentInfo]:  # noqa: ARG002
        return []

    def documents(self, reach: Reach | None = None) -> list[DocumentInfo]:  # noqa: ARG002
        return [DocumentInfo(1, "gpt.md", "GPT", 5, 0.0), DocumentInfo(2, "bert.md", "BERT", 5, 0.0)]


class ScriptedEngine(Engine):
    """Runs a script in place of a turn, over a real store; keeps the requests it was given."""

    def __init__(self, folder: Path, script: Script, settings: Settings | None = None) -> None:
        self.database = Database(folder / "scripted.db")
        index, none = cast(Any, ScriptedIndex()), cast(Any, None)
        super().__init__(Parts(settings or Settings(), index, EmbeddedStore(self.database), none, ()), none)
        self.script = script
        self.requests: list[TurnRequest] = []
        self.stop: threading.Event | None = None

    @property
    def settings(self) -> Settings:
        return self._parts.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._parts = replace(self._parts, settings=settings)

    def prepare(self) -> None:
        pass

    def embed(self, progress: Progress | None = None, stop: threading.Event | None = None) -> int:  # noqa: ARG002
        self.stop = stop
        return 0

    @property
    def checks_documents(self) -> bool:
        return False

    @property
    def model_name(self) -> str:
        return "scripted"

    def stream(self, request: TurnRequest) -> AsyncIterator[TurnEvent]:
        self.requests.append(request)
        return self.script(request)


def reply_to(request: TurnRequest, text: str = "BERT hides words [1].") -> Reply:
    follow_up = FollowUp(False, "none", 0.9, "", (), "the first message")
    state = ConversationState(1, ("BERT",), "BERT", "exploring")
    return Reply(request.conversation_id, 1, text, (BERT,), request.message, follow_up, state, (STAGE,))


async def answers(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
    yield Accepted(request.conversation_id, 1)
    yield StageDone(STAGE)
    yield Delta("BERT hides ")
    yield Delta("words [1].")
    yield Answered(reply_to(request))


PLAN = QueryPlan(
    "q1",
    "What is BERT, and what is 15% of 80?",
    (Step("rag", "What is BERT?"), Step("calculator", "15% of 80"), Step("answer", after=(0, 1))),
    "it asks 2 things",
)


async def plans(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
    """A turn of several steps, of which one fails."""
    results = StepResult(ms=2.0), StepResult(error="it broke", ms=0.5, details={"sum": "15% of 80"})
    plan = PLAN.with_result(0, results[0]).with_result(1, results[1])
    yield Accepted(request.conversation_id, 1)
    yield Planned(PLAN)
    for place, result in enumerate(results):
        yield StepDone(place, PLAN.steps[place], result)
    yield Delta("BERT hides words [1].")
    trace = (StageTrace("plan", "rag + calculator + answer", plan.reason, 0.1), STAGE)
    yield Answered(replace(reply_to(request), plan=plan, trace=trace))


async def refuses(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:  # noqa: ARG001
    yield Failed(EMPTY, 422, ())


async def fails_midway(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
    yield Accepted(request.conversation_id, 1)
    yield Delta("BERT ")
    yield Failed(TIMEOUT, 504, ())


async def breaks_midway(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
    yield Accepted(request.conversation_id, 1)
    yield Delta("BERT ")
    raise RuntimeError("secret detail")


async def breaks(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
    raise RuntimeError("secret detail")
    yield Accepted(request.conversation_id, 1)


class Client:
    """Plain HTTP to one server."""

    def __init__(self, address: str, engine: ScriptedEngine) -> None:
        self.address = address
        self.engine = engine

    def connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.address)
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a body as it is where it is bytes or an iterator of them, as JSON otherwise."""
        if isinstance(body, dict | list):
            body = json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            named = {"content-type": "application/json", **named}
        connection = self.connection()
        try:
            connection.request(method, path, body, named)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.send("POST", path, body, **headers)


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """The (event, data) pairs of an event stream, comments left out."""
        frames = [dict(line.split(": ", 1) for line in f.splitlines()) for f in self.body.decode().split("\n\n") if f]
        return [(frame["event"], json.loads(frame["data"])) for frame in frames if "data" in frame]


class Following:
    """An event stream that is read event by event, and can be left at any time."""

    def __init__(self, client: Client, method: str, path: str, body: Any = None, **headers: str) -> None:
        self._connection = client.connection()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            named = {"content-type": "application/json", **named}
        self._connection.request(method, path, None if body is None else json.dumps(body).encode(), named)
        self._response = self._connection.getresponse()
        self.status = self._response.status

    def __enter__(self) -> Following:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        self._response.close()
        self._connection.close()

    def raw(self) -> bytes:
        """The next event as it came, empty at the end; comments are left out."""
        lines: list[bytes] = []
        while line := self._response.readline():
            if line == b"\n" and lines:
                return b"".join(lines) + line
            if line != b"\n" and not line.startswith(b":"):
                lines.append(line)
        return b""

    def rest(self) -> list[bytes]:
        return list(iter(self.raw, b""))

    def next(self) -> tuple[str, Any]:
        return read_event(self.raw())

    def until(self, event: str) -> Any:
        """The data of the next event of that name."""
        while True:
            name, data = self.next()
            if name == event:
                return data
            assert name, f"the stream ended before {event}"


def read_event(raw: bytes) -> tuple[str, Any]:
    fields = dict(line.split(": ", 1) for line in raw.decode().split("\n") if line)
    return fields.get("event", ""), json.loads(fields.get("data", "null"))


@contextmanager
def serving(folder: Path, script: Script = answers, settings: Settings | None = None) -> Iterator[Client]:
    engine = ScriptedEngine(folder, script, settings)
    try:
        with running(engine) as address:
            yield Client(address, engine)
    finally:
        engine.database.close()
