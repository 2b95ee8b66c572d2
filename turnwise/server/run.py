"""The server as a process: listening, saying where, and stopping in good order."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import uvicorn

from turnwise.engine import Engine
from turnwise.errors import ConfigError, TurnwiseError
from turnwise.server.access import Access
from turnwise.server.app import create_app
from turnwise.server.gate import is_loopback
from turnwise.server.library import describe_library
from turnwise.server.live import Live
from turnwise.server.problems import log

GRACE = 10  # seconds that turns have to end when the server is stopped
FAREWELL = 3  # seconds more in which their readers are told


def serve(engine: Engine, host: str | None = None, port: int | None = None) -> None:
    """Serve until Ctrl-C, saying where. Raises ConfigError where the address cannot be had."""
    host = (host or engine.settings.host).strip("[]")
    port = engine.settings.port if port is None else port
    Access(engine).require_safe(host)
    with _listen(host, port) as listening, _preparing(engine):
        print(_greeting(engine, _address(host, listening)), flush=True)
        if Access(engine).open and not is_loopback(host):
            print("Warning: anyone who can reach this address can read the library and its conversations.", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            _server(engine, host).run(sockets=[listening])


@contextlib.contextmanager
def running(engine: Engine, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """The address of a server on a thread of its own, for tests, scripts and notebooks. It stops with the block."""
    Access(engine).require_safe(host)
    with _listen(host, port) as listening:
        server = _server(engine, host)
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
    """Lets turns end, and those who read them know, before connections are cut."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        live: Live = self.config.app.state.live  # type: ignore[union-attr]
        draining = asyncio.create_task(live.drain(GRACE))
        await super().shutdown(sockets)
        await draining


def _server(engine: Engine, host: str) -> uvicorn.Server:
    return _Server(
        uvicorn.Config(
            create_app(engine, host),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,  # whoever is believed is a setting of ours; see caller.py
            ws="none",
            timeout_graceful_shutdown=GRACE + FAREWELL,
        )
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"Cannot listen on {host}, port {port}: {reason}.", f"Choose another with --port {port + 1}."
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


@contextlib.contextmanager
def _preparing(engine: Engine) -> Iterator[None]:
    """Beside this, the models get ready for the first question."""

    def work() -> None:
        try:
            engine.prepare()
        except TurnwiseError as error:
            log.warning("%s %s", error, error.hint)

    thread = threading.Thread(target=work, name="preparing")
    thread.start()
    try:
        yield
    finally:
        thread.join()
