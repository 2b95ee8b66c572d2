"""What operators ask of a server: whether it is up and ready, what it counts, and what its API is."""

from __future__ import annotations

import threading
from typing import Any, Literal

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from turnwise.engine import Engine
from turnwise.errors import ConfigError, NotAllowed, TurnwiseError
from turnwise.server.access import ManageCaller
from turnwise.server.describe import page
from turnwise.server.live import Events, Live
from turnwise.server.metrics import Metrics
from turnwise.server.problems import PROBLEM_RESPONSES, Json, log
from turnwise.server.telemetry import Telemetry, telemetry_of
from turnwise.server.watch import Watch
from turnwise.types import TurnRequest


class Health(BaseModel):
    status: Literal["ok"]
    version: str


class Readiness(BaseModel):
    status: Literal["ready", "waiting"]
    missing: list[str]  # what it waits for


class Operations:
    """Looks after one server, from `start` to `stop`."""

    live: Live  # set once there is one

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._preparing: threading.Thread | None = None
        self._missing = "models are being loaded"
        self._telemetry = _telemetry(engine.settings.trace_text)
        self._api_page = ""
        self.metrics = Metrics(engine, lambda: self.live)

    def middleware(self) -> Middleware:
        return Middleware(Watch, metrics=self.metrics)

    def observed(self, request: TurnRequest, events: Events) -> Events:
        """The events of a turn, counted and traced on their way."""
        counted = self.metrics.of_turn(events)
        return self._telemetry.of_turn(request, counted) if self._telemetry else counted

    def start(self) -> None:
        """Load the models in the background, for the first question."""
        self._preparing = threading.Thread(target=self._prepare, name="preparing")
        self._preparing.start()

    def stop(self) -> None:
        if self._preparing is not None:
            self._preparing.join()
        if self._telemetry:
            self._telemetry.close()

    def _prepare(self) -> None:
        try:
            self._engine.prepare()
        except TurnwiseError as error:
            log.warning("%s %s", error, error.hint)  # then answers are sentences of the documents
        except Exception:
            log.exception("The models could not be made ready")
        self._missing = ""

    def missing(self) -> list[str]:
        """What keeps the server from answering now. Queries the library: keep it off the event loop."""
        missing = [self._missing] if self._missing else []
        if self.live.closing:
            missing.append("the server is being stopped")
        try:
            self._engine.index.counts()
            self._engine.store.conversations(1)
        except TurnwiseError as error:
            log.warning("Not ready: %s %s", error, error.hint)
            missing.append("the library does not answer")
        return missing

    def router(self) -> APIRouter:
        router = APIRouter(responses=PROBLEM_RESPONSES)

        # Monitors ask with HEAD, for the status alone.
        @router.head("/healthz", include_in_schema=False)
        @router.get("/healthz", summary="Whether the server is up", responses={200: {"model": Health}})
        async def healthz(request: Request) -> Response:
            return Json({"status": "ok", "version": request.app.version})

        @router.head("/readyz", include_in_schema=False)
        @router.get(
            "/readyz",
            summary="Whether it can answer: the models are loaded and the library answers",
            responses={
                200: {"model": Readiness},
                503: {"model": Readiness, "description": "Not yet, or no more: `missing` says why"},
            },
        )
        def readyz() -> Response:
            missing = self.missing()
            told: dict[str, Any] = {"status": "waiting" if missing else "ready", "missing": missing}
            return Json(told, 503 if missing else 200)

        @router.get("/metrics", summary="What the server counts, for Prometheus", response_class=PlainTextResponse)
        def metrics(caller: ManageCaller) -> Response:
            if caller.tenant or caller.collections:
                raise NotAllowed(
                    "The metrics are of the whole server, and this key is for a part of it.",
                    "Ask who runs the server.",
                    known=True,
                )
            return Response(self.metrics.render(), media_type=CONTENT_TYPE_LATEST)

        @router.head("/docs", include_in_schema=False)
        @router.get("/docs", include_in_schema=False)
        def docs(request: Request) -> Response:
            self._api_page = self._api_page or page(request.app.openapi())
            return HTMLResponse(self._api_page)

        return router


def _telemetry(with_text: bool) -> Telemetry | None:
    try:
        return telemetry_of(with_text=with_text)
    except ConfigError as error:
        log.warning("%s No traces are sent. %s", error, error.hint)
        return None
