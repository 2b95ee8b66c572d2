"""A document from an address of the web that the user gave: the one thing that is fetched from elsewhere."""

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

LARGEST = 64 * 1024 * 1024  # bytes
LONGEST = 60.0  # seconds, all in all
PATIENCE = 15.0  # seconds for an answer
REDIRECTS = 5

ENDINGS = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "application/pdf": ".pdf",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/epub+zip": ".epub",
    "application/x-ipynb+json": ".ipynb",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an address gave: a name whose ending says what kind it is, the bytes, and the date it was last changed."""

    name: str
    data: bytes
    date: str = ""


def fetch(address: str) -> Fetched:
    """The document at an address. Raises a DocumentError that says why it cannot be had."""
    shown = without_secrets(address)
    hint = "Check the address; or save the page and add the file."
    try:
        with _deadline() as guard:
            return _follow(address, guard)
    except HTTPError as error:
        raise UnreadableDocument(f"{shown} answers {error.code} {error.reason}.", hint) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise UnreadableDocument(f"{shown} cannot be fetched: {reason or type(error).__name__}.", hint) from error


class _Guard:
    """What holds over all redirects: the time, and that none leads from the open net into a private one."""

    def __init__(self) -> None:
        self.until = time.monotonic() + LONGEST
        self.seen_public = False
        self.connected: list[socket.socket] = []

    def meet(self, connection: socket.socket) -> None:
        self.connected.append(connection)
        public = ipaddress.ip_address(connection.getpeername()[0].partition("%")[0]).is_global
        if self.seen_public and not public:
            raise OSError("it redirects to an address of a private network")
        self.seen_public = public

    def check(self) -> None:
        if time.monotonic() >= self.until:
            raise OSError(f"it takes longer than {LONGEST:g} seconds")

    def hang_up(self) -> None:
        for connection in self.connected:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # closed already


@contextmanager
def _deadline() -> Iterator[_Guard]:
    """A guard that hangs up when the time is over, even on a server that sends a byte now and then."""
    guard = _Guard()
    timer = threading.Timer(LONGEST, guard.hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield guard
    except (OSError, http.client.HTTPException):
        guard.check()  # hanging up may look like a broken connection
        raise
    finally:
        timer.cancel()


def _follow(address: str, guard: _Guard) -> Fetched:
    opener = _opener(guard)
    for _ in range(REDIRECTS + 1):
        if not is_address(address):
            raise OSError(f"it redirects to {address}, and only http and https are followed")
        request = Request(address, headers={"User-Agent": "turnwise", "Accept": "*/*", "Accept-Encoding": "identity"})
        try:
            with opener.open(request, timeout=PATIENCE) as answer:
                return _taken(address, answer.headers, _body(answer, guard))
        except HTTPError as error:
            target = error.headers.get("Location") if error.code in (301, 302, 303, 307, 308) else None
            error.close()
            if not target:
                raise
            address = urljoin(address, target)
    raise OSError(f"it redirects more than {REDIRECTS} times")


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(guard: _Guard) -> OpenerDirector:
    """Opens addresses as usual (with the proxies of the environment), but shows each connection to the guard."""

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


def _body(answer: http.client.HTTPResponse, guard: _Guard) -> bytes:
    if answer.headers.get("Content-Encoding", "identity").lower() not in ("", "identity"):
        raise OSError("it sends its answer compressed, which was not asked for")
    data = bytearray()
    while piece := answer.read1(1 << 16):
        data += piece
        if len(data) > LARGEST:
            raise OSError(f"it is larger than {LARGEST >> 20} MB")
        guard.check()
    guard.check()  # or like the end
    expected = answer.headers.get("Content-Length", "")
    if expected.isdecimal() and len(data) < int(expected):
        raise OSError("the connection broke")
    return bytes(data)


def _taken(address: str, headers: Message, data: bytes) -> Fetched:
    """The bytes with the name that their type gives them; text in the encoding that readers expect."""
    kind = headers.get_content_type() if headers.get("Content-Type") else ""
    path = unquote(urlsplit(address).path)
    name = posixpath.basename(path.rstrip("/")) or urlsplit(address).hostname or "page"
    ending = ENDINGS.get(kind, "")
    if not ending and is_supported(name) and (not kind or kind.startswith("text/") or kind.startswith("application/")):
        ending = posixpath.splitext(name)[1]
    if not ending and kind == "text/plain":
        ending = ".txt"
    if not ending:
        shown = without_secrets(address)
        raise UnsupportedDocument(f"{shown} is {kind or 'of no type'}, which cannot be read.", "Add it as a file.")
    charset = headers.get_content_charset()
    if charset and ending in (".html", ".txt", ".md", ".csv", ".tsv") and charset.lower() not in ("utf-8", "utf8"):
        with suppress(LookupError):  # an encoding of its own making: the reader finds out
            data = data.decode(charset, "replace").encode()
    return Fetched(name if name.lower().endswith(ending) else name + ending, data, _date(headers))


def _date(headers: Message) -> str:
    try:
        return parsedate_to_datetime(headers.get("Last-Modified", "")).date().isoformat()
    except (TypeError, ValueError):
        return ""
