"""What is recorded about every request: an id, a line in the log, and metrics."""

from __future__ import annotations

import logging
import re
import time
import uuid
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.logs import Label, Request, requested

if TYPE_CHECKING:
    from turnwise.server.metrics import Metrics

QUIET_PATHS = ("/healthz", "/readyz", "/metrics")  # polled every few seconds: logged only if they fail
PAGE_PREFIX = "/web/"  # a page loads many of these at a time: likewise
MAX_PATH_LENGTH = 200  # characters in a line of the log
CLIENT_LEFT_STATUS = 499  # of a request whose client left before it was answered

_OWN_ID = re.compile(r"[\w.:/+=@-]{1,128}", re.ASCII)

log = logging.getLogger("turnwise.access")


class Watch:
    """ASGI middleware, outside all others: gives a request its id (X-Request-ID, the caller's own if that is valid),
    and when it is over logs a line and counts it. Neither includes a header, a query or a body."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, begun = Headers(scope=scope), time.perf_counter()
        own = headers.get("x-request-id", "")
        trace = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
        request = Request(
            own if _OWN_ID.fullmatch(own) else uuid.uuid4().hex, scope["method"], shown(scope["path"]), headers=trace
        )
        status, started, streams = CLIENT_LEFT_STATUS, 0.0, False

        async def send_watched(message: Message) -> None:
            nonlocal status, started, streams
            if message["type"] == "http.response.start":
                status, started = message["status"], time.perf_counter()
                answered = MutableHeaders(scope=message)
                answered["X-Request-ID"] = request.id
                if answered.get("content-type", "").startswith("text/event-stream"):
                    streams = True
                    self.metrics.connections.inc()
            await send(message)

        with requested(request):
            try:
                await self.app(scope, receive, send_watched)
            finally:
                now = time.perf_counter()
                if streams:
                    self.metrics.connections.dec()
                _label(request, scope)
                self.metrics.count_request(scope, status, (started or now) - begun, headers.get("content-length", ""))
                _log(request, status, now - begun)


def _log(request: Request, status: int, seconds: float) -> None:
    quiet = request.path in QUIET_PATHS or request.path.startswith(PAGE_PREFIX)
    level = logging.DEBUG if quiet and status < 400 else logging.INFO
    ms = round(seconds * 1000, 1)
    told = {"method": request.method, "path": request.path, "status": status, "ms": ms}
    log.log(level, "%s %s %s in %g ms", request.method, request.path, status, ms, extra=told)


def _label(request: Request, scope: Scope) -> None:
    """Label a request with the conversation that its path names, also if there was no turn."""
    place: dict[str, Any] = scope.get("path_params") or {}
    if request.label is None and (named := place.get("conversation_id")):
        number = str(place.get("number", place.get("turn", "")))
        request.label = Label(str(named), None, int(number) if number.isdecimal() else None)


def shown(path: str) -> str:
    """A path that is safe to log: it can neither end the line nor fill the disk."""
    plain = "".join(sign if sign.isprintable() and sign != " " else "_" for sign in path)
    return plain if len(plain) <= MAX_PATH_LENGTH else plain[: MAX_PATH_LENGTH - 1] + "…"
