"""The first words through an OpenAI-compatible server: what Turnwise adds to calling it directly.

    python benchmarks/first_token.py [--rounds 200] [--delay 20]

A server on this machine, in a process of its own, waits a fixed time before its first word. It is asked in turns by a
bare HTTP connection, by the official client, by Turnwise's chat model, and by a whole turn on the sample library; each
row is the time to the first word, and what it is over the bare connection of the same round.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

import openai

sys.path.insert(0, str(Path(__file__).parents[1]))

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.models.openai_chat import OpenAIChat
from turnwise.types import Delta, Message, Prompt, StageDone, TurnRequest

SERVER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from tests.fake_openai import FakeOpenAI, words
with FakeOpenAI(words("BERT ", "is a model [1].", pause=float(sys.argv[2]))) as provider:
    print(provider.url, flush=True)
    sys.stdin.read()
"""
QUESTION = "What is BERT?"
MESSAGES = [{"role": "system", "content": "Cite. " * 200}, {"role": "user", "content": "Evidence. " * 400}]


@contextmanager
def server(delay: float) -> Iterator[str]:
    command = [sys.executable, "-c", SERVER, str(Path(__file__).parents[1]), str(delay)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        yield process.stdout.readline().strip()
        process.stdin.close()


class Bare:
    """One kept connection and nothing else."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        self._path = f"{parts.path}/chat/completions"

    async def ask(self) -> float:
        start = time.perf_counter()
        body = json.dumps({"model": "m", "messages": MESSAGES, "stream": True})
        self._connection.request("POST", self._path, body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        line = b""
        while b'"BERT ' not in line:
            line = response.readline()
        took = time.perf_counter() - start
        response.read()
        return took


async def official(client: openai.AsyncOpenAI) -> float:
    start = time.perf_counter()
    stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)  # type: ignore[call-overload]
    took = 0.0
    async for _ in stream:
        took = took or time.perf_counter() - start
    return took


async def ours(model: OpenAIChat) -> float:
    prompt = Prompt(tuple(Message(m["role"], m["content"]) for m in MESSAGES), QUESTION, (), (), ())  # type: ignore[arg-type]
    start = time.perf_counter()
    took = 0.0
    async with aclosing(model.stream(prompt)) as pieces:
        async for _ in pieces:
            took = took or time.perf_counter() - start
    return took


async def turn(engine: Engine) -> tuple[float, float]:
    """From the end of composing to the first words, and from the question to them."""
    start = time.perf_counter()
    composed = first = 0.0
    async with aclosing(engine.stream(TurnRequest(QUESTION))) as events:
        async for event in events:
            if isinstance(event, StageDone) and event.stage.stage == "compose":
                composed = time.perf_counter()
            if isinstance(event, Delta):
                first = first or time.perf_counter()
    return first - composed, first - start


async def measure(url: str, engine: Engine, rounds: int) -> dict[str, list[float]]:
    bare, model = Bare(url), OpenAIChat(url, None, "m")
    model.prepare()
    client = openai.AsyncOpenAI(base_url=url, api_key="none")
    rows: dict[str, list[float]] = {}
    for round_ in range(rounds + 5):
        generate, whole = await turn(engine)
        took = {
            "bare HTTP connection": await bare.ask(),
            "official client": await official(client),
            "chat model": await ours(model),
            "generate stage of a turn": generate,
            "whole turn": whole,
        }
        if round_ >= 5:
            for name, seconds in took.items():
                rows.setdefault(name, []).append(seconds * 1000)
    await client.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--delay", type=float, default=20.0, help="of the server before its first word, ms")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, server(given.delay / 1000) as url:
        settings = Settings(library=folder, base_url=url, model="m")
        with (
            build(settings, create=True) as engine,
            resources.as_file(resources.files("turnwise") / "sample") as sample,
        ):
            engine.add(sample)
            rows = asyncio.run(measure(url, engine, given.rounds))
    print(f"first words, ms; the server waits {given.delay:g} ms; {given.rounds} rounds\n")
    print(f"{'':26} {'p50':>7} {'p95':>7}   {'over bare p50':>13} {'p95':>7}")
    bare = rows["bare HTTP connection"]
    for name, values in rows.items():
        over = sorted(value - base for value, base in zip(values, bare, strict=True))
        shown = sorted(values)
        print(f"{name:26} {at(shown, 0.5):7.1f} {at(shown, 0.95):7.1f}   {at(over, 0.5):13.1f} {at(over, 0.95):7.1f}")


def at(ranked: list[float], share: float) -> float:
    return ranked[min(len(ranked) - 1, int(len(ranked) * share))]


if __name__ == "__main__":
    main()
