"""A server under load: how soon a turn starts and how many turns per second are answered, compared with a peer.

    python benchmarks/load.py [--conversations 50] [--turns 4] [--idle 500] [--documents DIR] [--peer]

A server in its own process, over the bundled sample (or the documents in a folder), gets --conversations conversations
at the same time, each sending its next message when the last one was answered. The first event of a stream and its end
are timed. Then the same questions are only searched for (POST /api/search). Then --idle connections follow a
conversation silently, and the server's memory is measured.

With --peer, the same questions go to LlamaIndex's chat engine behind FastAPI, over the same documents, with the same
embedder, BM25 and a re-ranker: first the one available for it (12 layers), then Turnwise's own. No language model is
used on either side. It needs: pip install --no-deps llama-index-retrievers-bm25 bm25s. A turn of the peer searches and
remembers; one of Turnwise also guards, understands, answers, verifies and stores, so only the search is like for like.
The client runs on the same cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import turnwise

COMMAND = "from turnwise.cli import main; main()"
PACKAGE = Path(turnwise.__file__).parent
QUESTIONS = (
    ("What is BERT?", "how is it trained?", "what is it used for?", "what are its limits?"),
    ("What is gradient descent?", "go deeper", "what about the learning rate?", "why does it diverge?"),
    ("Tell me about edicenter", "who can access it?", "when is it open on Saturday?", "how do I book a room?"),
    ("What is multi-task learning?", "when does it help?", "what are its drawbacks?", "how is it done?"),
    ("What is overfitting?", "how can I see it?", "and how is it prevented?", "what about dropout?"),
)  # each takes one search, as with the peer


@dataclass
class Times:
    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    failed: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conversations", type=int, default=50)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--idle", type=int, default=500)
    parser.add_argument("--documents", type=Path, default=PACKAGE / "sample")
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        with turnwise.open(folder) as engine:
            engine.add(options.documents)
            counts = engine.index.counts()
        print(f"{counts.passages:,} passages, {options.conversations} conversations of {options.turns} turns\n")
        print(f"{'server':34} {'first p50':>10} {'p95':>8} {'whole p50':>10} {'p95':>8} {'turns/s':>8} {'failed':>7}")
        with served([sys.executable, "-c", COMMAND, "serve", "--library", folder, "--port", "0"]) as (port, process):
            ours = both("turnwise", port, options.conversations, options.turns)
            found = both("turnwise, search alone", port, options.conversations, options.turns, _search)
            if options.idle:
                idle(port, process.pid, options.idle)
    if options.peer:
        for name, borrowed in (("llama-index", []), ("the same, our re-ranker", ["--borrowed"])):
            peer = [sys.executable, str(Path(__file__).parent / "peer_server.py"), str(options.documents), *borrowed]
            with served(peer) as (port, _):
                theirs = both(name, port, options.conversations, options.turns)
            for what, rates in (("turns", ours), ("searches", found)):
                ratios = [f"{one / other:.1f}" for one, other in zip(rates, theirs, strict=True)]
                print(f"  {what} per second: {ratios[0]} times the peer's, {ratios[1]} if questions recur", flush=True)


@contextmanager
def served(command: list[str]) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A server in its own process; its first line of output contains its address."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().split("http://127.0.0.1:")[1].split()[0])
        yield port, process
    finally:
        process.terminate()
        process.wait(30)


Request = Callable[[str, str], bytes]  # takes a conversation id and a message


def _chat(conversation: str, message: str) -> bytes:
    return _request("POST", "/api/chat", {"message": message, "conversation_id": conversation})


def _search(conversation: str, message: str) -> bytes:  # noqa: ARG001  (a search has no conversation)
    return _request("POST", "/api/search", {"query": message})


def both(name: str, port: int, conversations: int, turns: int, of: Request = _chat) -> tuple[float, float]:
    """Questions that are all different, then questions that recur."""
    asyncio.run(_talk(port, "warm", ("What is BERT?", "how is it trained?"), Times(), of))
    apart = "load" if of is _chat else "looked for"
    alone = asked(name, port, conversations, turns, apart, of)
    return alone, asked(f"{name}, recurring", port, conversations, turns, "", of)


def asked(name: str, port: int, conversations: int, turns: int, apart: str, of: Request) -> float:
    """Print a row of the table. Returns the turns per second."""
    times = Times()
    started = time.perf_counter()
    asyncio.run(_all(port, conversations, turns, times, apart, of))
    passed = time.perf_counter() - started
    rate = len(times.whole) / passed
    print(
        f"{name:34} {_at(times.first, 50):10.0f} {_at(times.first, 95):8.0f} {_at(times.whole, 50):10.0f}"
        f" {_at(times.whole, 95):8.0f} {rate:8.1f} {times.failed:7}",
        flush=True,
    )
    return rate


async def _all(port: int, conversations: int, turns: int, times: Times, apart: str, of: Request) -> None:
    talks = [
        tuple(f"{message} ({apart} {number})" if apart else message for message in QUESTIONS[number % len(QUESTIONS)])
        for number in range(conversations)
    ]
    names = [f"load-{apart}{number}" for number in range(conversations)]
    talking = zip(names, (talk[:turns] for talk in talks), strict=True)
    await asyncio.gather(*(_talk(port, *each, times, of) for each in talking))


async def _talk(port: int, conversation: str, messages: tuple[str, ...], times: Times, of: Request) -> None:
    for message in messages:
        started = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(of(conversation, message))
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        begun = False
        received = b""
        while piece := await reader.read(65536):
            if not begun:
                times.first.append((time.perf_counter() - started) * 1000)
                begun = True
            received += piece
        writer.close()
        times.whole.append((time.perf_counter() - started) * 1000)
        times.failed += b" 200 " not in head.splitlines()[0] or not (
            b"event: answer" in received or b'"hits"' in received
        )


def idle(port: int, pid: int, count: int) -> None:
    """Follow a conversation with `count` connections, and print what they cost."""
    before = _memory(pid)
    after, beats = asyncio.run(_follow(port, pid, count))
    grown = f"{after - before:.0f} MB more ({before:.0f} to {after:.0f})"
    print(f"\n{count} silent connections: {grown}; {beats} got a heartbeat")


async def _follow(port: int, pid: int, count: int) -> tuple[float, int]:
    streams = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_request("GET", "/api/conversations/load-load0/events"))
        await writer.drain()
        streams.append((reader, writer))
    await asyncio.sleep(20)  # a heartbeat comes every 15 seconds
    memory = _memory(pid)
    heard = 0
    for reader, writer in streams:
        with suppress(TimeoutError):
            heard += b": " in await asyncio.wait_for(reader.read(65536), 1)
        writer.close()
    return memory, heard


def _request(method: str, path: str, sent: object = None) -> bytes:
    body = b"" if sent is None else json.dumps(sent).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _memory(pid: int) -> float:
    """The resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def _at(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0


if __name__ == "__main__":
    main()
