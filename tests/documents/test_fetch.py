from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.documents.conftest import Shelves
from turnwise.app import build
from turnwise.config import Settings
from turnwise.documents import fetch as fetching
from turnwise.documents.fetch import fetch
from turnwise.documents.files import without_secrets
from turnwise.documents.ingest import add, remove
from turnwise.errors import DocumentError, UnreadableDocument, UnsupportedDocument

Answers = dict[str, tuple[int, dict[str, str], bytes]]


@pytest.fixture
def site() -> Iterator[SimpleNamespace]:
    """A server on this machine: `answers` by path, `asked` the headers of each request."""
    answers: Answers = {}
    asked: list[dict[str, str]] = []
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(dict(self.headers))
            status, headers, body = answers.get(self.path, (404, {}, b"nothing"))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            while self.path == "/endless.html" and not over.wait(0.02):
                with suppress(OSError):
                    self.wfile.write(b"and ")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", answers=answers, asked=asked)
    over.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        ("/birds", "text/html; charset=utf-8", "birds.html"),
        ("/", "text/html", "127.0.0.1.html"),
        ("/a.pdf", "application/pdf", "a.pdf"),
        ("/download?id=1", "application/pdf", "download.pdf"),
        ("/notes.md", "text/plain", "notes.md"),
        ("/notes", "text/plain", "notes.txt"),
        ("/a%20b.docx", "application/octet-stream", "a b.docx"),
        ("/page.php", "text/html", "page.php.html"),
    ],
)
def test_the_type_says_what_kind_it_is(site: SimpleNamespace, path: str, kind: str, name: str) -> None:
    site.answers[path] = (200, {"Content-Type": kind, "Last-Modified": "Wed, 06 May 2020 07:00:00 GMT"}, b"words")
    fetched = fetch(site.url + path)
    assert (fetched.name, fetched.data, fetched.date) == (name, b"words", "2020-05-06")
    assert set(site.asked[0]) == {"Accept-Encoding", "Host", "User-Agent", "Accept", "Connection"}


def test_an_encoding_that_the_server_names_is_heeded(site: SimpleNamespace) -> None:
    site.answers["/"] = (200, {"Content-Type": "text/html; charset=shift_jis"}, "鷺".encode("shift_jis"))
    assert fetch(site.url).data.decode() == "鷺"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((404, {}, b""), "responds with 404"),
        ((200, {"Content-Type": "image/png"}, b"x"), "image/png"),
        ((200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, b"x"), "compressed"),
        ((200, {"Content-Type": "text/html", "Content-Length": "9"}, b"x"), "cannot be fetched"),
        ((302, {"Location": "/a"}, b""), "redirects more than 5 times"),
        ((302, {"Location": "file:///etc/passwd"}, b""), "only http and https"),
        ((302, {"Location": "ftp://127.0.0.1/x"}, b""), "only http and https"),
    ],
)
def test_what_cannot_be_had_says_why(
    site: SimpleNamespace, answer: tuple[int, dict[str, str], bytes], said: str
) -> None:
    site.answers["/a"] = answer
    with pytest.raises(DocumentError, match=said) as caught:
        fetch(f"{site.url}/a")
    assert caught.value.hint


def test_nobody_there() -> None:
    with pytest.raises(UnreadableDocument, match="refused"):
        fetch("http://127.0.0.1:9/x.html")
    with pytest.raises(UnreadableDocument, match="cannot be fetched"):
        fetch("http://[/x.html")


def test_redirects_are_followed(site: SimpleNamespace) -> None:
    site.answers["/old"] = (301, {"Location": "/new.html"}, b"")
    site.answers["/new.html"] = (200, {"Content-Type": "text/html"}, b"words")
    assert fetch(f"{site.url}/old").name == "new.html"


def test_no_redirect_leads_from_the_open_net_to_this_machine(
    site: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers["/old"] = (301, {"Location": "/secret.html"}, b"")
    site.answers["/secret.html"] = (200, {"Content-Type": "text/html"}, b"words")
    met = fetching._Guard.meet

    def as_if_public(guard: fetching._Guard, connection: object) -> None:
        first = not guard.connected
        met(guard, connection)  # type: ignore[arg-type]
        guard.seen_public = guard.seen_public or first

    monkeypatch.setattr(fetching._Guard, "meet", as_if_public)
    with pytest.raises(UnreadableDocument, match="private network"):
        fetch(f"{site.url}/old")
    assert len(site.asked) == 1


def test_a_page_that_is_too_large(site: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    site.answers["/a.html"] = (200, {"Content-Type": "text/html"}, b"words" * 1000)
    monkeypatch.setattr(fetching, "MAX_BYTES", 1000)
    with pytest.raises(UnreadableDocument, match="larger than"):
        fetch(f"{site.url}/a.html")


def test_a_page_without_an_end(site: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    site.answers["/endless.html"] = (200, {"Content-Type": "text/html", "Content-Length": "9999999999"}, b"words")
    monkeypatch.setattr(fetching, "TOTAL_TIMEOUT_SECONDS", 0.3)
    with pytest.raises(UnreadableDocument, match=r"takes longer than 0\.3 seconds"):
        fetch(f"{site.url}/endless.html")


def test_a_connection_that_breaks_because_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "TOTAL_TIMEOUT_SECONDS", 0.0)
    with pytest.raises(OSError, match="takes longer than 0 seconds"), fetching._deadline():
        raise ConnectionResetError("Connection reset by peer")


def test_an_address_is_a_document_like_any_other(site: SimpleNamespace, shelves: Shelves) -> None:
    page = b"<title>Herons</title><meta name=date content=2020-02-03><h1>Food</h1><p>They eat fish.</p>"
    site.answers["/birds"] = (200, {"Content-Type": "text/html"}, page)
    address = f"{site.url}/birds"
    site.answers["/empty"] = (200, {"Content-Type": "text/html"}, b"")
    report = add(shelves, [f"{address}#food", f"{site.url}/gone", f"{site.url}/empty"])
    assert report.added == 1
    assert [(failure.source, failure.message) for failure in report.failed] == [
        (f"{site.url}/gone", f"{site.url}/gone responds with 404 Not Found."),
        (f"{site.url}/empty", f"{site.url}/empty is empty."),
    ]
    document = shelves.kept[address]
    assert (document.title, document.date, document.chunks[0].heading) == ("Herons", "2020-02-03", "Food")
    assert add(shelves, [address]).unchanged == 1
    assert remove(shelves, f"{address}#food")
    assert shelves.kept == {}


def test_an_address_is_asked_when_it_is_added_and_at_no_other_time(site: SimpleNamespace, tmp_path: Path) -> None:
    site.answers["/birds"] = (200, {"Content-Type": "text/html"}, b"<title>Herons</title><p>They eat fish.</p>")
    with build(Settings(library=str(tmp_path)), create=True) as engine:
        engine.add(f"{site.url}/birds")
        (document,) = engine.index.documents()
        site.asked.clear()
        assert engine.reindex(document.id) is False
        assert engine.pending() == document.passages, "its vectors are made again"
        assert site.asked == []
        engine.add(f"{site.url}/birds")
        assert len(site.asked) == 1


def test_a_password_in_an_address_is_not_kept() -> None:
    assert without_secrets("HTTPS://me:secret@example.org/a?b=c#d") == "https://example.org/a?b=c"


@pytest.mark.parametrize("kind", ["", "video/mp4"])
def test_a_type_that_is_no_document(site: SimpleNamespace, kind: str) -> None:
    site.answers["/film"] = (200, {"Content-Type": kind} if kind else {}, b"x")
    with pytest.raises(UnsupportedDocument):
        fetch(f"{site.url}/film")
