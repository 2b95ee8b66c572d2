"""Whole turns that are stopped: what the store has of them, and what a process that is stopped leaves behind."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.server.scripted import Client, Following
from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.server.run import running
from turnwise.types import Prompt

WORDS = "Transformers are trained on large corpora of text, and they learn which words go together in it. "


class Slow:
    """A model that says a few sentences and then thinks until it may go on."""

    name = "slow"

    def __init__(self) -> None:
        self.gate = threading.Event()

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:  # noqa: ARG002
        for _ in range(20):
            yield WORDS
        while not self.gate.is_set():
            await asyncio.sleep(0.01)
        yield "That is all."


@pytest.fixture
def model() -> Slow:
    return Slow()


@pytest.fixture
def client(sample_library: Path, model: Slow) -> Iterator[Client]:
    with build(Settings(library=str(sample_library), suggestions=0)) as engine:
        engine._parts = dataclasses.replace(engine._parts, models=(model,))
        with running(engine) as address:
            yield Client(address, cast(Any, engine))


def kept(engine: Engine, conversation_id: str) -> tuple[str, str]:
    turn = engine.store.conversation(conversation_id).turns[-1]
    return turn.status, turn.response or ""


def test_a_turn_that_is_stopped_keeps_its_words(client: Client) -> None:
    ask = {"message": "How are transformers trained?", "conversation_id": "stopped"}
    with (
        Following(client, "POST", "/api/chat", ask) as reader,
    ):
        stream = reader.until("accepted")["stream"]
        text = reader.until("text")["text"]
        assert client.get("/api/conversations/stopped").json["stream"] == stream
        with Following(client, "GET", "/api/conversations/stopped/events") as page:
            assert page.until("turn") == {"number": 1, "status": "pending", "stream": stream}
            assert client.send("DELETE", f"/api/streams/{stream}").status == 204
            status, response = kept(client.engine, "stopped")
            assert page.until("turn") == {"number": 1, "status": "interrupted", "stream": None}
        assert reader.until("error")["code"] == "Interrupted"
    assert status == "interrupted"
    assert response.startswith(text)
    assert client.get("/api/conversations/stopped").json["stream"] is None


def test_a_turn_that_nobody_waits_for_is_whole_all_the_same(client: Client, model: Slow) -> None:
    ask = {"message": "How are transformers trained?", "conversation_id": "left"}
    with Following(client, "POST", "/api/chat", ask) as reader:
        stream = reader.until("accepted")["stream"]
        reader.until("text")
    model.gate.set()
    with Following(client, "GET", f"/api/streams/{stream}?after=1") as back:
        answer = back.until("answer")
    assert kept(client.engine, "left") == ("answered", answer["text"])


SERVE = """
import dataclasses
from turnwise.app import build
from turnwise.config import Settings
from tests.server.test_live_turns import Slow
from turnwise.server import run
run.GRACE_SECONDS = 1
with build(Settings(library={folder!r}, suggestions=0)) as engine:
    engine._parts = dataclasses.replace(engine._parts, models=(Slow(),))
    run.serve(engine, port=0)
"""


def test_a_process_that_is_stopped_loses_no_turn(sample_library: Path) -> None:
    command = [sys.executable, "-c", SERVE.format(folder=str(sample_library))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        found = re.search(r"at (http://127\.0\.0\.1:\d+)", process.stdout.readline())
        assert found
        client = Client(found[1], cast(Any, None))
        ask = {"message": "How are transformers trained?", "conversation_id": "cut"}
        with Following(client, "POST", "/api/chat", ask) as reader:
            text = reader.until("text")["text"]
            process.send_signal(signal.SIGTERM)
            assert reader.until("error")["code"] == "ShuttingDown"
        process.wait(60)
    with build(Settings(library=str(sample_library))) as engine:
        status, response = kept(engine, "cut")
    assert status == "interrupted"
    assert response.startswith(text)
