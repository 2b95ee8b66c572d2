"""Fetches a document from a URL given by the user: the only time Turnwise downloads a document."""

from __future__ import annotations

import http.client
import ipaddress
import posixpath
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from turnwise.documents.files import is_address, without_secrets
from turnwise.documents.parse import is_supported
from turnwise.errors import UnreadableDocument, UnsupportedDocument

MAX_BYTES = 64 * 1024 * 1024
TOTAL_TIMEOUT_SECONDS = 60.0
RESPONSE_TIMEOUT_SECONDS = 15.0
MAX_REDIRECTS = 5

EXTENSIONS = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "application/pdf": ".pdf",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/epub+zip": ".epub",
    "application/x-ipynb+json": ".ipynb",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A downloaded document: a name with the right extension, the bytes, and the date it was last modified."""

    name: str
    data: bytes
    date: str = ""


def fetch(address: str) -> Fetched:
    """Fetch the document at a URL. Raises DocumentError if that fails."""
    shown = without_secrets(address)
    hint = "Check the address; or save the page and add the file."
    try:
        with _deadline() as guard:
            return _follow_redirects(address, guard)
    except HTTPError as error:
        raise UnreadableDocument(f"{shown} responds with {error.code} {error.reason}.", hint) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise UnreadableDocument(f"{shown} cannot be fetched: {reason or type(error).__name__}.", hint) from error


class _Guard:
    """Enforces, across all redirects, the total timeout and that none leads from a public into a private network."""

    def __init__(self) -> None:
        self.until = time.monotonic() + TOTAL_TIMEOUT_SECONDS
        self.seen_public = False
        self.connected: list[socket.socket] = []

    def meet(self, connection: socket.socket) -> None:
        self.connected.append(connection)
        public = ipaddress.ip_address(connection.getpeername()[0].partition("%")[0]).is_global
        if self.seen_public and not public:
            raise OSError("it redirects to a private network")
        self.seen_public = public

    def check(self) -> None:
        if time.monotonic() >= self.until:
            raise OSError(f"it takes longer than {TOTAL_TIMEOUT_SECONDS:g} seconds")

    def hang_up(self) -> None:
        for connection in self.connected:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # already closed


@contextmanager
def _deadline() -> Iterator[_Guard]:
    """A guard that closes the connections at the deadline, even if the server keeps sending a byte now and then."""
    guard = _Guard()
    timer = threading.Timer(TOTAL_TIMEOUT_SECONDS, guard.hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield guard
    except (OSError, http.client.HTTPException):
        guard.check()  # a connection closed by us may look broken
        raise
    finally:
        timer.cancel()


def _follow_redirects(address: str, guard: _Guard) -> Fetched:
    opener = _opener(guard)
    for _ in range(MAX_REDIRECTS + 1):
        if not is_address(address):
            raise OSError(f"it redirects to {address}, and only http and https are followed")
        request = Request(address, headers={"User-Agent": "turnwise", "Accept": "*/*", "Accept-Encoding": "identity"})
        try:
            with opener.open(request, timeout=RESPONSE_TIMEOUT_SECONDS) as response:
                return _fetched(address, response.headers, _body(response, guard))
        except HTTPError as error:
            target = error.headers.get("Location") if error.code in (301, 302, 303, 307, 308) else None
            error.close()
            if not target:
                raise
            address = urljoin(address, target)
    raise OSError(f"it redirects more than {MAX_REDIRECTS} times")


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(guard: _Guard) -> OpenerDirector:
    """An ordinary opener (with the proxies of the environment) that shows each connection to the guard."""

    class Plain(http.client.HTTPConnection):
        def connect(self) -> None:
            super().connect()
            guard.meet(self.sock)

    class Secure(http.client.HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            guard.meet(self.sock)

    class PlainHandler(HTTPHandler):
        def http_open(self, request: Request) -> http.client.HTTPResponse:
            return self.do_open(Plain, request)

    class SecureHandler(HTTPSHandler):
        def https_open(self, request: Request) -> http.client.HTTPResponse:
            return self.do_open(Secure, request)

    return build_opener(PlainHandler(), SecureHandler(), _NoRedirect())


def _body(response: http.client.HTTPResponse, guard: _Guard) -> bytes:
    if response.headers.get("Content-Encoding", "identity").lower() not in ("", "identity"):
        raise OSError("it sends a compressed response, which was not requested")
    data = bytearray()
    while piece := response.read1(1 << 16):
        data += piece
        if len(data) > MAX_BYTES:
            raise OSError(f"it is larger than {MAX_BYTES >> 20} MB")
        guard.check()
    guard.check()  # a connection closed by us may also look like the end
    expected = response.headers.get("Content-Length", "")
    if expected.isdecimal() and len(data) < int(expected):
        raise OSError("the connection was lost")
    return bytes(data)


def _fetched(address: str, headers: Message, data: bytes) -> Fetched:
    """Name the downloaded bytes by their content type, and re-encode text as UTF-8, which the readers expect."""
    kind = headers.get_content_type() if headers.get("Content-Type") else ""
    path = unquote(urlsplit(address).path)
    name = posixpath.basename(path.rstrip("/")) or urlsplit(address).hostname or "page"
    extension = EXTENSIONS.get(kind, "")
    if (
        not extension
        and is_supported(name)
        and (not kind or kind.startswith("text/") or kind.startswith("application/"))
    ):
        extension = posixpath.splitext(name)[1]
    if not extension and kind == "text/plain":
        extension = ".txt"
    if not extension:
        shown = without_secrets(address)
        raise UnsupportedDocument(f"{shown} is {kind or 'of unknown type'}, which cannot be read.", "Add it as a file.")
    charset = headers.get_content_charset()
    if charset and extension in (".html", ".txt", ".md", ".csv", ".tsv") and charset.lower() not in ("utf-8", "utf8"):
        with suppress(LookupError):  # unknown encoding: left to the reader
            data = data.decode(charset, "replace").encode()
    return Fetched(name if name.lower().endswith(extension) else name + extension, data, _date(headers))


def _date(headers: Message) -> str:
    try:
        return parsedate_to_datetime(headers.get("Last-Modified", "")).date().isoformat()
    except (TypeError, ValueError):
        return ""
