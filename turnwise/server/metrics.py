"""What a server counts, for Prometheus. No label has more values than the server has routes, stages or rails."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from importlib.metadata import version
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import Scope

from turnwise.engine import Engine
from turnwise.errors import TurnwiseError
from turnwise.server.gate import is_upload
from turnwise.server.live import BLOCKED_CODES, Live
from turnwise.types import Accepted, Answered, Delta, Failed, StageDone, StageTrace, TurnEvent

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
SHORT_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # seconds
LONG_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)
MAX_RAIL_LABELS = 50  # rails beyond this are counted together

Events = AsyncGenerator[TurnEvent, None]


class Metrics:
    """The counts of one server, in a registry of its own."""

    def __init__(self, engine: Engine, live: Callable[[], Live]) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"namespace": "turnwise", "registry": self.registry}
        labels = ["route", "method", "status"]
        self.requests = Counter("http_requests", "Requests that were answered.", labels, **own)
        self.latency = Histogram(
            "http_request_duration_seconds",
            "Until the answer to a request began.",
            labels[:2],
            buckets=SHORT_BUCKETS,
            **own,
        )
        self.connections = Gauge("sse_connections", "Event streams that are open.", **own)
        self.turns = Counter(
            "turns", "Turns that ended: answered, blocked, failed, refused or interrupted.", ["outcome"], **own
        )
        self.stages = Histogram(
            "stage_duration_seconds", "What a stage of a turn took.", ["stage"], buckets=SHORT_BUCKETS, **own
        )
        self.duration = Histogram("turn_duration_seconds", "What a turn took.", buckets=LONG_BUCKETS, **own)
        self.first_event = Histogram(
            "turn_first_event_seconds", "Until a turn was taken in.", buckets=SHORT_BUCKETS, **own
        )
        self.first_text = Histogram(
            "turn_first_text_seconds", "Until the first words of an answer.", buckets=LONG_BUCKETS, **own
        )
        self.tokens = Counter("tokens", "Tokens of prompts and answers, as estimated.", ["kind"], **own)
        self.blocks = Counter("guard_blocks", "Messages and answers that a rail stopped.", ["rail"], **own)
        self.uploads = Counter("uploads", "Files that were sent.", ["outcome"], **own)
        self.upload_bytes = Counter("upload_bytes", "Bytes of the files that were taken.", **own)
        Info("build", "What runs.", **own).info({"version": version("turnwise")})
        self.registry.register(_Now(engine, live))
        self._rails: set[str] = set()

    def render(self) -> bytes:
        """All metrics in Prometheus's format. Queries the library: keep it off the event loop."""
        return generate_latest(self.registry)

    def count_request(self, scope: Scope, status: int, seconds: float, length: str) -> None:
        """Count a request that was answered."""
        route, method = template_of(scope), scope["method"] if scope["method"] in METHODS else "other"
        self.requests.labels(route, method, str(status)).inc()
        self.latency.labels(route, method).observe(seconds)
        if is_upload(scope["method"], scope["path"]):
            taken = status < 300
            self.uploads.labels("taken" if taken else "refused").inc()
            if taken and length.isdecimal():
                self.upload_bytes.inc(int(length))

    async def of_turn(self, events: Events) -> Events:
        """The same events, counted."""
        begun, seen, outcome, accepted, spoken = time.perf_counter(), 0, "interrupted", False, False
        try:
            async with aclosing(events):
                async for event in events:
                    match event:
                        case Accepted():
                            accepted = True
                            self.first_event.observe(time.perf_counter() - begun)
                        case StageDone(stage):
                            seen += 1
                            self._count([stage])
                        case Delta() if not spoken:
                            spoken = True
                            self.first_text.observe(time.perf_counter() - begun)
                        case Answered(reply):
                            outcome = "answered"
                            self._count(reply.trace[seen:])
                            self.tokens.labels("answer").inc(len(reply.text) // 4 + 1)
                        case Failed(error, _, trace):
                            blocked = error["code"] in BLOCKED_CODES
                            outcome = "blocked" if blocked else "failed" if accepted else "refused"
                            self._count(trace[seen:])
                            if blocked:
                                self._block(trace)
                    yield event
        finally:
            self.turns.labels(outcome).inc()
            self.duration.observe(time.perf_counter() - begun)

    def _count(self, trace: Iterable[StageTrace]) -> None:
        for stage in trace:
            self.stages.labels(stage.stage).observe(stage.ms / 1000)
            if stage.stage == "compose" and isinstance(tokens := stage.details.get("tokens"), int):
                self.tokens.labels("prompt").inc(tokens)

    def _block(self, trace: Iterable[StageTrace]) -> None:
        for stage in trace:
            for name, found in (stage.details.get("rails") or {}).items():
                if isinstance(found, dict) and found.get("action") == "block":
                    if len(self._rails) < MAX_RAIL_LABELS:
                        self._rails.add(name)
                    self.blocks.labels(name if name in self._rails else "other").inc()


def template_of(scope: Scope) -> str:
    """The path of the route that a request was for, with its parameters' names; "none" if there is none."""
    if scope["path"].startswith("/web/"):
        return "/web"
    return str(getattr(scope.get("route"), "path", "") or "none")


class _Now(Collector):
    """Values that are read when the metrics are asked for."""

    def __init__(self, engine: Engine, live: Callable[[], Live]) -> None:
        self._engine = engine
        self._live = live

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        live = self._live()
        yield _gauge("live_streams", "Turns that are being answered.", live.running)
        yield _gauge("waiting_turns", "Turns that wait to be worked on.", live.waiting)
        try:
            counts = self._engine.index.counts()
        except TurnwiseError:
            return
        yield _gauge("documents", "Documents of the library.", counts.documents)
        yield _gauge("passages", "Passages of the library.", counts.passages)
        yield _gauge("embedding_backlog", "Passages that have no vector yet.", counts.passages - counts.vectors)


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(f"turnwise_{name}", about, value=value)
