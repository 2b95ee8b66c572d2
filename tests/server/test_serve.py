from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.patience import until
from tests.server.scripted import ScriptedEngine, ScriptedIndex, answers, serving
from turnwise.app import build
from turnwise.config import Settings
from turnwise.errors import ConfigError, ConversationNotFound
from turnwise.server import run

SERVE = """
from pathlib import Path
from tests.patience import until
from tests.server.scripted import ScriptedEngine, answers
from turnwise.server.run import serve
serve(ScriptedEngine(Path({folder!r}), answers), port=0)
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ScriptedEngine]:
    engine = ScriptedEngine(tmp_path, answers)
    yield engine
    engine.database.close()


@pytest.fixture
def never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)


def test_an_answer_in_two_pieces_does_not_wait_for_the_first_to_be_confirmed() -> None:
    """The loop sees to that only where a socket says that it is one of TCP. Else every answer took 40 ms more."""

    async def sent_at_once() -> bool:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with run._listen("127.0.0.1", 0) as listening:
            async with await asyncio.start_server(connected, sock=listening):
                _, writer = await asyncio.open_connection(*listening.getsockname())
                told = await found
                writer.close()
        return bool(told)

    assert asyncio.run(sent_at_once())


def test_it_says_where_it_is_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVE.format(folder=str(tmp_path))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"at http://127\.0\.0\.1:(\d+) \(2 documents, answering offline\)", line)
        assert found, line
        with socket.create_connection(("127.0.0.1", int(found[1])), timeout=60) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(60) == 0
    assert rest == ""


def test_a_taken_port_says_which_to_try(engine: ScriptedEngine) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port}") as raised:
            run.serve(engine, port=port)
    assert raised.value.hint == f"Choose another with --port {port + 1}."


def test_a_host_that_is_not_here_is_a_clear_error(engine: ScriptedEngine) -> None:
    engine.settings = dataclasses.replace(engine.settings, access="open")
    for host in ("192.0.2.1", "no.such.host.invalid"):
        with pytest.raises(ConfigError, match=f"Cannot listen on {re.escape(host)}") as raised:
            run.serve(engine, host=host, port=0)
        assert raised.value.hint.startswith("Choose an address of this machine with --host")


@pytest.mark.usefixtures("never_runs")
def test_letting_anyone_in_comes_with_a_warning(engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]) -> None:
    run.serve(engine, host="127.0.0.1", port=0)
    assert "Warning" not in capsys.readouterr().out
    engine.settings = dataclasses.replace(engine.settings, access="open")
    run.serve(engine, host="0.0.0.0", port=0)
    assert "anyone who can reach this address" in capsys.readouterr().out


def test_missing_vectors_are_made_while_it_serves(engine: ScriptedEngine) -> None:
    cast(ScriptedIndex, engine.index).waiting = 3
    with run.running(engine):
        until(lambda: engine.stop is not None)
    assert engine.stop is not None
    assert engine.stop.is_set()


def test_the_library_is_described(tmp_path: Path) -> None:
    settings = Settings(base_url="http://key:secret@models.example:11434/v1")
    with serving(tmp_path, settings=settings) as client:
        assert client.get("/api/library").json == {
            "documents": 2,
            "passages": 10,
            "pending": 0,
            "model": "scripted",
            "offline": False,
            "local": False,
            "host": "models.example:11434",
            "collections": [],
            "examples": ["What is “BERT” about?", "What is “GPT” about?"],
        }


# --- stopping --------------------------------------------------------------------------------------------------------

NEVER_ENDS = """
import asyncio
from pathlib import Path
from tests.server.scripted import ScriptedEngine
from turnwise.server.run import serve
from turnwise.types import Accepted

async def waits(request):
    yield Accepted(request.conversation_id, 1)
    await asyncio.sleep(60)

serve(ScriptedEngine(Path({folder!r}), waits), port=0)
"""


@contextlib.contextmanager
def started(*arguments: str, **options: Any) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server as a process, and its port."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        **options,
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"at http://127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert found, process.stderr and process.stderr.read()
            yield process, int(found[1])
        finally:
            process.kill()


def asked(port: int) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    """A stream that has begun: its first event was read."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"message": "What is BERT?", "conversation_id": "stopped"})
    connection.request("POST", "/api/chat", body, {"content-type": "application/json"})
    response = connection.getresponse()
    while b"event: accepted" not in response.readline():
        pass
    return connection, response


def wait_until_nobody_listens(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=60).close()
        except ConnectionRefusedError:
            return
        except ConnectionResetError:
            continue


def test_a_library_is_made_where_there_is_none(tmp_path: Path) -> None:
    """Documents can then be dropped onto the page."""
    verb = ("serve", "--port", "0", "--library", str(tmp_path / "new"))
    with started("-c", "from turnwise.cli import main; main()", *verb) as (_, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/api/library")
        assert json.loads(connection.getresponse().read())["documents"] == 0
        connection.close()


def test_sigterm_lets_an_answer_be_completed_and_loses_nothing(tmp_path: Path, closed_library: Path) -> None:
    shutil.copytree(closed_library, tmp_path / "library")
    with build(Settings(library=str(tmp_path / "library"))) as engine, contextlib.suppress(ConversationNotFound):
        engine.store.delete("stopped")  # of another test
    verb = ("serve", "--port", "0", "--library", str(tmp_path / "library"))
    environment = {**os.environ, "TURNWISE_LOGS": "json"}
    with started("-c", "from turnwise.cli import main; main()", *verb, env=environment) as (process, port):
        connection, response = asked(port)
        process.send_signal(signal.SIGTERM)
        wait_until_nobody_listens(port)
        rest = response.read().decode()
        connection.close()
        _, written = process.communicate(timeout=60)
        assert process.returncode == 0, written
    assert "event: answer" in rest
    lines = [json.loads(line) for line in written.splitlines()]
    (line,) = (each for each in lines if each.get("path") == "/api/chat")
    assert (line["conversation_id"], line["turn"], line["status"]) == ("stopped", 1, 200)
    with build(Settings(library=str(tmp_path / "library"))) as engine:
        (turn,) = engine.store.conversation("stopped").turns
    assert turn.status == "answered"


ONE_ANOTHER = [(one, other) for one in ("SIGTERM", "SIGINT") for other in ("SIGTERM", "SIGINT")]


@pytest.mark.parametrize(("one", "other"), ONE_ANOTHER)
def test_a_second_signal_ends_it_at_once(tmp_path: Path, one: str, other: str) -> None:
    with started("-c", NEVER_ENDS.format(folder=str(tmp_path))) as (process, port):
        connection, response = asked(port)
        process.send_signal(signal.Signals[one])
        wait_until_nobody_listens(port)
        time.sleep(run.SAME_WISH_SECONDS)
        process.send_signal(signal.Signals[other])
        _, written = process.communicate(timeout=60)
        assert process.returncode == run.FORCED_EXIT_STATUS
        assert "Traceback" not in written
        response.close()
        connection.close()


@pytest.mark.parametrize(("one", "other"), ONE_ANOTHER)
def test_a_signal_that_comes_twice_at_once_is_one(tmp_path: Path, one: str, other: str) -> None:
    """`timeout 25 make run` sends it to the command and to its whole group, and make sends it on."""
    with started("-c", SERVE.format(folder=str(tmp_path))) as (process, _):  # it may not have begun to serve
        for name in (one, other, other):
            process.send_signal(signal.Signals[name])
            time.sleep(0.005)
        _, written = process.communicate(timeout=60)
    assert (process.returncode, written) == (0, "")
