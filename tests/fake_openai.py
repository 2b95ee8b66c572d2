"""A real HTTP server on the loopback that plays an OpenAI-compatible provider, in good and bad moods.

with FakeOpenAI(words("Paris ", "[1]")) as provider:
    OpenAIChat(provider.url, None, "some-model")
    provider.requests[0].body["messages"]

Each chat request gets the next mood of the list; the last one stays.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Mood = Callable[["Exchange"], None]


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    port: int = 0  # of the client: the same while it keeps its connection


class FakeOpenAI:
    """The server, running while the `with` block does. `models` is what GET /v1/models lists, or a mood of its own."""

    def __init__(self, *moods: Mood, models: Iterable[str] | Mood = ("fake-model",)) -> None:
        self.moods = list(moods)
        self.models = models if callable(models) else listing(models)
        self.requests: list[Received] = []
        self.hung_up = threading.Event()  # set when a client went away before its answer ended
        self.stopping = threading.Event()

    def __enter__(self) -> FakeOpenAI:
        self._server = _Server(("127.0.0.1", 0), Exchange)
        self._server.provider = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def chats(self) -> list[Any]:
        """The bodies of the chat requests, in order."""
        return [request.body for request in self.requests if request.method == "POST"]

    def next_mood(self) -> Mood:
        return self.moods.pop(0) if len(self.moods) > 1 else self.moods[0]


class _Server(ThreadingHTTPServer):
    provider: FakeOpenAI
    daemon_threads = True
    request_queue_size = 64  # with the default of 5, a burst of clients waits a second to connect


class Exchange(BaseHTTPRequestHandler):
    """One request and the means to answer it."""

    protocol_version = "HTTP/1.1"

    @property
    def provider(self) -> FakeOpenAI:
        assert isinstance(self.server, _Server)
        return self.server.provider

    def do_GET(self) -> None:
        self._answer(lambda: self.provider.models)

    def do_POST(self) -> None:
        self._answer(self.provider.next_mood)

    def _answer(self, choose: Callable[[], Mood]) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(text) if text else None
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.provider.requests.append(Received(self.command, self.path, headers, body, self.client_address[1]))
        try:
            choose()(self)
        except ConnectionError:
            self.close_connection = True
            self.provider.hung_up.set()

    def send_whole(self, status: int, kind: str, text: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        for name, value in (headers or {"Retry_After_Ms": "5"}).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(text.encode())

    def start_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send_raw(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def send_event(self, event: Any) -> None:
        self.send_raw(f"data: {json.dumps(event)}\n\n")

    def send_delta(self, text: str, finish_reason: str | None = None) -> None:
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}
        self.send_event({"id": "1", "object": "chat.completion.chunk", "choices": [choice]})

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        pass


# --- moods -------------------------------------------------------------------------------------------------------


def words(*pieces: str, pause: float = 0.0, finish_reason: str | None = "stop", done: bool = True) -> Mood:
    """A good stream; with a pause before each piece, a slow one; done with no finish reason, as some servers end; with
    neither, one that ends too early."""

    def mood(exchange: Exchange) -> None:
        exchange.start_stream()
        for piece in pieces:
            exchange.provider.stopping.wait(pause)
            exchange.send_delta(piece)
        if finish_reason:
            exchange.send_delta("", finish_reason)
            exchange.send_event({"id": "1", "object": "chat.completion.chunk", "choices": [], "usage": {}})
        if done:
            exchange.send_raw("data: [DONE]\n\n")
        exchange.end_stream()

    return mood


def endless(exchange: Exchange) -> None:
    """A stream that only the client can end."""
    exchange.start_stream()
    exchange.close_connection = True
    while not exchange.provider.stopping.wait(0.01):
        exchange.send_delta("and on ")


def stalled(*pieces: str, pings: bool = False) -> Mood:
    """Some words, then silence on an open connection; with pings, the comments that providers keep it open with."""

    def mood(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.close_connection = True
        for piece in pieces:
            exchange.send_delta(piece)
        while not exchange.provider.stopping.wait(0.02):
            if pings:
                exchange.send_raw(": still here\n\n")

    return mood


def mute(exchange: Exchange) -> None:
    """Takes the request and never answers."""
    exchange.close_connection = True
    exchange.provider.stopping.wait()


def cut(*pieces: str) -> Mood:
    """Some words, then the connection drops."""

    def mood(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.close_connection = True
        for piece in pieces:
            exchange.send_delta(piece)

    return mood


def events(*lines: str) -> Mood:
    """A stream of exactly these data lines."""

    def mood(exchange: Exchange) -> None:
        exchange.start_stream()
        for line in lines:
            exchange.send_raw(f"data: {line}\n\n")
        exchange.end_stream()

    return mood


def reasoning(*thoughts: str, answer: Sequence[str]) -> Mood:
    """A stream of thoughts in a field of their own, then the answer."""

    def mood(exchange: Exchange) -> None:
        exchange.start_stream()
        for name in ("reasoning_content", "reasoning"):
            for thought in thoughts:
                exchange.send_event({"choices": [{"index": 0, "delta": {name: thought, "content": None}}]})
        for piece in answer:
            exchange.send_delta(piece)
        exchange.send_delta("", "stop")
        exchange.send_raw("data: [DONE]\n\n")
        exchange.end_stream()

    return mood


def whole(text: str, kind: str = "application/json") -> Mood:
    """The whole answer at once, as from a server that does not stream."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    body = json.dumps({"object": "chat.completion", "choices": [choice]}, indent=2)
    return lambda exchange: exchange.send_whole(200, kind, body)


def in_circles(exchange: Exchange) -> None:
    """A redirection to itself."""
    exchange.send_whole(307, "text/plain", "", Location=exchange.path)


def refusal(status: int, message: str = "", param: str | None = None, **headers: str) -> Mood:
    """An error in the provider's JSON form."""
    body = json.dumps({"error": {"message": message, "type": "fake", "param": param, "code": None}})

    return lambda exchange: exchange.send_whole(status, "application/json", body, **headers)


def page(status: int = 200) -> Mood:
    """A web page where an answer was due."""
    return lambda exchange: exchange.send_whole(status, "text/html", "<!doctype html>\n<h1>Hello</h1>\n\n<p>Log in</p>")


def listing(names: Iterable[str]) -> Mood:
    """The answer to GET /v1/models."""
    body = json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
    return lambda exchange: exchange.send_whole(200, "application/json", body)


def picky(*unwanted: str) -> Mood:
    """Refuses the first unwanted parameter it meets, naming it; with none of them, answers well."""

    def mood(exchange: Exchange) -> None:
        sent = exchange.provider.requests[-1].body
        for name in unwanted:
            if name in sent:
                advice = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                return refusal(400, f"Unsupported parameter: '{name}'.{advice}", param=name)(exchange)
        return words("fine")(exchange)

    return mood
