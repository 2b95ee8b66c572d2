"""Time to the first words from an OpenAI-compatible server: what Turnwise adds to calling it directly.

    python benchmarks/first_token.py [--rounds 200] [--delay 20]

A server on this machine, in its own process, waits a fixed time before each word. It is called in turn by a bare HTTP
connection, the official client, Turnwise's chat model, and a whole turn on the sample library. Each row is the time to
the first word, and the difference from the bare connection in the same round. A turn holds back the last word until it
cannot be part of a secret or a citation, so it is compared with the second word of the bare connection.
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
BARE, SECOND = "bare HTTP connection", "the same, second word"
WARMING = 5  # warm-up rounds, not counted
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


class Watch:
    """Milliseconds from its creation until it is first stopped: wall clock and processor time."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()
        self.took = (0.0, 0.0)

    def stop(self) -> None:
        if not any(self.took):
            now = time.perf_counter(), time.process_time()
            self.took = (now[0] - self._start[0]) * 1000, (now[1] - self._start[1]) * 1000


class Bare:
    """One keep-alive connection and nothing else."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        self._path = f"{parts.path}/chat/completions"

    async def ask(self) -> tuple[Watch, Watch]:
        """The times to the first and the second word."""
        first, second = Watch(), Watch()
        body = json.dumps({"model": "m", "messages": MESSAGES, "stream": True})
        self._connection.request("POST", self._path, body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        for word, watch in ((b'"BERT ', first), (b'"is a', second)):
            while word not in response.readline():
                pass
            watch.stop()
        response.read()
        return first, second


async def official(client: openai.AsyncOpenAI) -> Watch:
    watch = Watch()
    async for _ in await client.chat.completions.create(model="m", messages=MESSAGES, stream=True):  # type: ignore
        watch.stop()
    return watch


async def ours(model: OpenAIChat) -> Watch:
    prompt = Prompt(tuple(Message(each["role"], each["content"]) for each in MESSAGES), QUESTION, (), (), ())  # type: ignore
    watch = Watch()
    async with aclosing(model.stream(prompt)) as pieces:
        async for _ in pieces:
            watch.stop()
    return watch


async def turn(engine: Engine) -> tuple[Watch, Watch]:
    """The times to the first words, from the end of composing and from the question."""
    whole = generate = Watch()
    async with aclosing(engine.stream(TurnRequest(QUESTION))) as events:
        async for event in events:
            if isinstance(event, StageDone) and event.stage.stage == "compose":
                generate = Watch()
            if isinstance(event, Delta):
                generate.stop()
                whole.stop()
    return generate, whole


async def measure(url: str, engine: Engine, rounds: int) -> dict[str, list[tuple[float, float]]]:
    bare, model = Bare(url), OpenAIChat(url, None, "m")
    client = openai.AsyncOpenAI(base_url=url, api_key="none")
    rows: dict[str, list[tuple[float, float]]] = {}
    for round_ in range(WARMING + rounds):
        generate, whole = await turn(engine)
        first, second = await bare.ask()
        watches = {
            BARE: first,
            "official client": await official(client),
            "chat model": await ours(model),
            SECOND: second,
            "generate stage of a turn": generate,
            "whole turn": whole,
        }
        if round_ >= WARMING:
            for name, watch in watches.items():
                rows.setdefault(name, []).append(watch.took)
    await client.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--delay", type=float, default=20.0, help="the server waits before each word, ms")
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
    print(f"{'':26} {'p50':>7} {'p95':>7}   {'over bare p50':>13} {'p95':>7}   {'processor p50':>13} {'p95':>7}")
    bare: list[float] = []
    for name, values in rows.items():
        if name in (BARE, SECOND):
            bare = [clock for clock, _ in values]
        clock, processor = ([value[which] for value in values] for which in (0, 1))
        over = [value - base for value, base in zip(clock, bare, strict=True)]
        shown = "   ".join(
            f"{at(each, 0.5):{wide}.1f} {at(each, 0.95):7.1f}"
            for each, wide in zip((clock, over, processor), (7, 13, 13), strict=True)
        )
        print(f"{name:26} {shown}")


def at(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


if __name__ == "__main__":
    main()
