"""A span for each turn and one for each of its stages, sent by OpenTelemetry if an endpoint for it is set."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from turnwise import logs
from turnwise.errors import ConfigError
from turnwise.types import Accepted, Answered, Delta, Failed, StageDone, StageTrace, TurnEvent, TurnRequest

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider

ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
INSTALL = "pip install 'turnwise[telemetry]'"

Events = AsyncGenerator[TurnEvent, None]


def endpoint_of(environment: Mapping[str, str]) -> str:
    """Where traces are sent, according to OpenTelemetry's standard variables; empty if nowhere."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return ""
    return next((value for name in ENDPOINT_VARIABLES if (value := environment.get(name, "").strip())), "")


def installed() -> bool:
    """Whether the packages that send traces are installed."""
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None and bool(find_spec("opentelemetry.sdk"))
    except ModuleNotFoundError:
        return False


def telemetry_of(with_text: bool) -> Telemetry | None:
    """What sends traces; None if no endpoint is set. Raises ConfigError if the packages for it are missing."""
    if not endpoint_of(os.environ):
        return None
    if not installed():
        raise ConfigError("An endpoint for traces is set, but OpenTelemetry is not installed.", INSTALL)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource({SERVICE_NAME: "turnwise"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Telemetry(provider, with_text)


class Telemetry:
    """Makes spans of turns. With `with_text`, they include the message, the reasons for decisions, and the answer."""

    def __init__(self, provider: TracerProvider, with_text: bool = False) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("turnwise")
        self._with_text = with_text

    async def of_turn(self, request: TurnRequest, events: Events) -> Events:
        """The same events. Each stage becomes a span, inside one for the turn, which continues the trace that the
        request came with."""
        from opentelemetry.trace import Status, StatusCode, set_span_in_context

        known = {"turnwise.conversation_id": request.conversation_id, **self._text("message", request.message)}
        span = self._tracer.start_span("turn", _parent_context(), attributes=_without_none(known))
        inside, seen, ended = set_span_in_context(span), 0, False
        try:
            async with aclosing(events):
                async for event in events:
                    match event:
                        case Accepted(conversation_id, turn):
                            span.set_attributes(
                                _without_none({"turnwise.conversation_id": conversation_id, "turnwise.turn": turn})
                            )
                        case StageDone(stage):
                            seen += 1
                            self._stage(stage, inside)
                        case Delta():
                            pass
                        case Answered(reply):
                            ended = True
                            for stage in reply.trace[seen:]:
                                self._stage(stage, inside)
                            span.set_attributes(_without_none(self._text("answer", reply.text)))
                            span.set_attribute("turnwise.outcome", "answered")
                        case Failed(error, _, trace):
                            ended = True
                            for stage in trace[seen:]:
                                self._stage(stage, inside)
                            span.set_attribute("turnwise.outcome", error["code"])
                            span.set_status(Status(StatusCode.ERROR, error["code"]))
                    yield event
        finally:
            if not ended:
                span.set_attribute("turnwise.outcome", "interrupted")
            span.end()

    def _stage(self, stage: StageTrace, inside: Context) -> None:
        """The span of a stage that has just ended."""
        now = time.time_ns()
        known = {"turnwise.decision": stage.decision, **self._text("reason", stage.reason)}
        span = self._tracer.start_span(
            stage.stage, inside, attributes=_without_none(known), start_time=now - int(stage.ms * 1e6)
        )
        span.end(now)

    def _text(self, name: str, text: str) -> dict[str, str]:
        return {f"turnwise.{name}": text} if self._with_text else {}

    def close(self) -> None:
        """Send what is still unsent, then no more."""
        self._provider.shutdown()


def _parent_context() -> Context:
    """The trace that the request says it belongs to; a new one if it names none."""
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    asked = logs.request()
    return TraceContextTextMapPropagator().extract(asked.headers if asked else {}, Context())


def _without_none(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
