"""Checks that every request passes on its way in, and headers for every response on its way out."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from email.message import Message as Header

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.server.problems import UNEXPECTED, Problem, log, of_status

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# A rejected body is read up to here: closing the connection on a client that is still sending loses the answer.
MAX_DRAINED_BYTES = 64_000_000
# An imported conversation may be larger than other bodies: otherwise an export could not be imported again.
MAX_IMPORT_BYTES = 32_000_000

# Where the body is a file of any kind.
# Names with a slash too: they are refused as such, and not for being no JSON.
UPLOAD_PATHS = re.compile(r"/api/(documents|conversations/[^/]+/attachments)/.+", re.DOTALL)


class Gate:
    """ASGI middleware: rejects foreign hosts, changes that another site's page asks for, and bodies that are too large,
    compressed or not JSON; adds the security headers; and answers an internal error with a problem and a log entry.
    `origins` are the sites whose pages may call."""

    def __init__(
        self, app: ASGIApp, host: str, max_body: int, max_upload: int = 0, origins: Collection[str] = ()
    ) -> None:
        self.app = app
        self.host = host
        self.max_body = max_body
        self.max_upload = max_upload
        self.origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                _protect(message, scope["path"])
            await send(message)

        try:
            await self._admit(scope, receive, send_guarded)
        except Exception:
            log.exception("%s %r failed", scope["method"], scope["path"])
            if not started:
                await UNEXPECTED.response(scope["path"])(scope, receive, send_guarded)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self._refusal(scope["method"], scope["path"], Headers(scope=scope))
        if problem is None:
            body = _Body(receive, self._largest(scope["method"], scope["path"]))

            async def answer(message: Message) -> None:
                if message["type"] == "http.response.start" and is_upload(scope["method"], scope["path"]):
                    await body.drain()
                await send(message)

            await self.app(scope, body.receive, answer)
            return
        await _drain(receive)
        await problem.response(scope["path"])(scope, receive, send)

    def _refusal(self, method: str, path: str, headers: Headers) -> Problem | None:
        """Why a request is rejected before its body is read; None if it may pass."""
        if not host_allowed(headers.get("host", ""), self.host):
            return Problem(421, "WrongHost", "This server does not answer under that name.", f"Call it as {self.host}.")
        if method in ("GET", "HEAD", "OPTIONS"):
            return None
        if headers.get("origin") not in self.origins and _is_foreign(headers):
            return Problem(403, "ForeignPage", "A page of another site may not do that.", "Its site goes into cors.")
        if headers.get("content-encoding", "identity").lower() != "identity":
            return Problem(415, "PackedBody", "Compressed bodies are not taken.", "Send it as it is.")
        length, in_pieces = headers.get("content-length", "0"), "transfer-encoding" in headers
        empty = not in_pieces and length == "0"
        content_type = headers.get("content-type", "")
        if not (is_upload(method, path) or (empty and not content_type) or _is_json(content_type)):
            return Problem(415, "NotJson", "The body must be JSON.", "Send the header Content-Type: application/json.")
        largest = self._largest(method, path)
        return of_status(413, method, path, largest) if length.isdecimal() and int(length) > largest else None

    def _largest(self, method: str, path: str) -> int:
        if is_upload(method, path):
            return self.max_upload
        return max(self.max_body, min(self.max_upload, MAX_IMPORT_BYTES)) if is_import(method, path) else self.max_body


def _is_foreign(headers: Headers) -> bool:
    """Whether another site's page sends this. Older browsers only name their origin, which must then be this site."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site in ("cross-site", "same-site")
    return origin is not None and _without_port(origin.partition("://")[2]) != _without_port(headers.get("host", ""))


def _without_port(name: str) -> str:
    """The name of a site, with its port only if that is not a default one."""
    return re.sub(r":(80|443)$", "", name.lower())


def is_upload(method: str, path: str) -> bool:
    return method == "PUT" and UPLOAD_PATHS.fullmatch(path) is not None


def is_import(method: str, path: str) -> bool:
    return method == "POST" and path == "/api/conversations"


def host_allowed(header: str, host: str) -> bool:
    """Whether a Host header names this server. On loopback only loopback names do, so that no web page can reach the
    library through a name that it controls; a server that listens on every address cannot know all its names."""
    if host in ("0.0.0.0", "::", ""):
        return True
    name = re.sub(r":\d*$", "", header).strip("[]").lower()
    return name == host.lower() or (is_loopback(host) and is_loopback(name))


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_json(content_type: str) -> bool:
    header = Header()
    header["content-type"] = content_type
    kind = header.get_content_type()
    charset = header.get_content_charset("utf-8")
    return (kind == "application/json" or kind.endswith("+json")) and charset in ("utf-8", "utf8")


class _Body:
    """A body as it is read, up to a limit."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._left = limit
        self._more = True

    async def receive(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        self._more = message.get("more_body", False)
        if self._left < 0:
            await self.drain()
            raise HTTPException(413)
        return message

    async def drain(self) -> None:
        """Read and discard the rest."""
        if self._more:
            self._more = False
            await _drain(self._receive)


async def _drain(receive: Receive) -> None:
    """Read a body to its end without keeping it."""
    left, more = MAX_DRAINED_BYTES, True
    while more and left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        more = message.get("more_body", False)


def _protect(message: Message, path: str) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in SECURITY_HEADERS.items():
        headers[name] = value
    private = path.startswith(("/api/", "/v1/"))
    headers["Cache-Control"] = "no-store" if private else "no-cache"  # pages are revalidated, so that upgrades show
