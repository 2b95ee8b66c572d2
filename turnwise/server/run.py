"""The server as a process: it listens, says where, and shuts down cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from types import FrameType

import uvicorn
from uvicorn.server import HANDLED_SIGNALS

from turnwise.engine import Engine
from turnwise.errors import ConfigError
from turnwise.logs import log_lines
from turnwise.server.access import Access
from turnwise.server.app import create_app
from turnwise.server.gate import is_loopback
from turnwise.server.library import describe_library
from turnwise.server.live import Live

GRACE_SECONDS = 10  # for turns to end when the server is stopped
FAREWELL_SECONDS = 3  # more for their readers to be told
FORCED_EXIT_STATUS = 130  # after a second signal to stop
SAME_WISH_SECONDS = 0.5  # signals within it are one: `timeout` and make send each of theirs twice


def serve(engine: Engine, host: str | None = None, port: int | None = None, debug: bool = False) -> None:
    """Serve until Ctrl-C or SIGTERM, printing the address, with a log on stderr; answers that have begun are completed.
    A second such signal ends the process at once. Raises ConfigError if the address cannot be used. With `debug` the
    log includes the messages of errors, which may quote what somebody wrote."""
    host = (host or engine.settings.host).strip("[]")
    port = engine.settings.port if port is None else port
    level = logging.DEBUG if debug else logging.INFO
    server, access = _server(engine, host)
    listening = _listen(host, port)
    with listening, log_lines(engine.settings.logs, level, debug), _stopped_by_signals(server):
        print(_greeting(engine, _address(host, listening)), flush=True)
        if access.open and not is_loopback(host):
            print("Warning: anyone who can reach this address can read the library and its conversations.", flush=True)
        server.run(sockets=[listening])


@contextlib.contextmanager
def _stopped_by_signals(server: _Server) -> Iterator[None]:
    """Have the server hear signals before it begins and after it ends too: being asked to stop is no failure."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {name: signal.signal(name, server.handle_exit) for name in HANDLED_SIGNALS}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


@contextlib.contextmanager
def running(engine: Engine, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """A server on its own thread, for tests, scripts and notebooks: gives its address, and stops with the block."""
    server, _ = _server(engine, host)
    with _listen(host, port) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="server")
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield _address(host, listening)
        finally:
            server.should_exit = True
            thread.join()


class _Server(uvicorn.Server):
    """Lets turns end, and tells their readers, before connections are cut."""

    _asked: float | None = None  # when it was first asked to stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        now = time.monotonic()
        if self._asked is not None and now > self._asked + SAME_WISH_SECONDS:
            # Without waiting for threads at work: what they have not written is lost, as in a crash.
            os._exit(FORCED_EXIT_STATUS)
        self._asked = self._asked or now
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        live: Live = self.config.app.state.live  # type: ignore[union-attr]
        draining = asyncio.create_task(live.drain(GRACE_SECONDS))
        await super().shutdown(sockets)
        await draining


def _server(engine: Engine, host: str) -> tuple[_Server, Access]:
    """The server, and whom it lets in. Raises ConfigError if that would be anyone from other machines."""
    app = create_app(engine, host)
    access: Access = app.state.access
    access.require_safe(host)
    server = _Server(
        uvicorn.Config(
            app,
            log_config=None,  # its lines are formatted like ours
            access_log=False,
            server_header=False,
            proxy_headers=False,  # our own setting says which proxies are trusted; see caller.py
            ws="none",
            timeout_graceful_shutdown=GRACE_SECONDS + FAREWELL_SECONDS,
        )
    )
    return server, access


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, so that asyncio sets TCP_NODELAY
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        is_elsewhere = isinstance(error, socket.gaierror) or getattr(error, "errno", None) == errno.EADDRNOTAVAIL
        hint = "Choose an address of this machine with --host, such as 127.0.0.1 or 0.0.0.0 (all of them)."
        raise ConfigError(
            f"Cannot listen on {host}, port {port}: {reason}.",
            hint if is_elsewhere else f"Choose another with --port {port + 1}.",
        ) from error
    return listening


def _address(host: str, listening: socket.socket) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listening.getsockname()[1]}"


def _greeting(engine: Engine, address: str) -> str:
    library = describe_library(engine)
    count = f"{library['documents']} document{'' if library['documents'] == 1 else 's'}"
    without_model = library["offline"] and not engine.settings.local
    answering = "answering offline" if without_model else f"answers by {library['model']}"
    return f"Turnwise is at {address} ({count}, {answering}). Ctrl-C stops it."
