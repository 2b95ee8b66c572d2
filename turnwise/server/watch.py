"""What is noted of every request: an id, a line in the log, and how often and how quickly it was answered."""

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

QUIET = ("/healthz", "/readyz", "/metrics")  # asked every few seconds by machines: told only where they fail
PAGES = "/web/"  # the parts of a page, a score at a time: likewise
LONGEST = 200  # characters of a path in a line
CLIENT_LEFT = 499  # the status of a request whose client left before it was answered

_OWN_ID = re.compile(r"[\w.:/+=@-]{1,128}", re.ASCII)

log = logging.getLogger("turnwise.access")


class Watch:
    """ASGI middleware, outside of all others: gives a request its id (X-Request-ID, the caller's own where it is one),
    and when it is over writes a line and counts it. Neither holds a header, a query or a body."""

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
        status, started, streams = CLIENT_LEFT, 0.0, False

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
                _note_place(request, scope)
                self.metrics.answered(scope, status, (started or now) - begun, headers.get("content-length", ""))
                _write(request, status, now - begun)


def _write(request: Request, status: int, seconds: float) -> None:
    quiet = request.path in QUIET or request.path.startswith(PAGES)
    level = logging.DEBUG if quiet and status < 400 else logging.INFO
    ms = round(seconds * 1000, 1)
    told = {"method": request.method, "path": request.path, "status": status, "ms": ms}
    log.log(level, "%s %s %s in %g ms", request.method, request.path, status, ms, extra=told)


def _note_place(request: Request, scope: Scope) -> None:
    """A request that names a conversation in its path is one of it, also where there was no turn."""
    place: dict[str, Any] = scope.get("path_params") or {}
    if request.label is None and (named := place.get("conversation_id")):
        number = str(place.get("number", place.get("turn", "")))
        request.label = Label(str(named), None, int(number) if number.isdecimal() else None)


def shown(path: str) -> str:
    """A path as it may stand in a line of a log: it cannot end the line, nor fill the disk."""
    plain = "".join(sign if sign.isprintable() and sign != " " else "_" for sign in path)
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…"
