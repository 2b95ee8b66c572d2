"""Whole turns as a library and a conversation grow: the time of each stage, throughput, and memory.

    python benchmarks/scale.py [--passages 1000 10000] [--turns 100] [--folder DIR] [--plot docs/growth.svg]

The libraries are those of benchmarks/library.py: words with the frequencies of a language, vectors in clusters, checked
for instructions beforehand, as documents are when they are added. The questions are words of a passage, then
follow-ups; the product runs with its settings, without a language model and without suggestions. "Before generation"
means up to the messages that would be sent to a model. Processor time is that of the whole process; on a busy machine
it says more than wall-clock time.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import library
import numpy as np

from turnwise.app import build, guard_of
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.index.embedded import EmbeddedIndex
from turnwise.models.embedder import OnnxEmbedder, QuickEmbedder
from turnwise.sqlite import Database
from turnwise.text import content_words
from turnwise.types import Answered, Message, Reply, TurnRequest

BEFORE = ("guard in", "understand", "condense", "plan", "retrieve", "compose")
TALK = ("{}?", "tell me more about {}", "how does it work?", "what about {}?", "why is that so?")
TURNS = (1, 10, 50, 200, 500)
AT_ONCE = (1, 4, 16, 64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passages", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--turns", type=int, default=100, help="turns to time in each library")
    parser.add_argument("--folder", type=Path, help="keep the libraries here for the next run [default: not kept]")
    parser.add_argument("--plot", type=Path, help="write a chart to this SVG file")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}", flush=True)
    measured: dict[int, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for count in options.passages:
            folder = (options.folder or Path(temporary)) / str(count)
            if not (folder / "turns").exists():
                library._apart(prepare, folder, count)
            line = folder / "measured"
            library._apart(hold, folder, options.turns, line)
            measured[count] = tuple(map(float, line.read_text().split()))  # type: ignore[assignment]
    if options.plot:
        options.plot.write_text(drawn(measured), encoding="utf-8")
        print(f"\nwrote {options.plot}")


def prepare(folder: Path, count: int) -> None:
    """A library of benchmarks/library.py, completed as if the product had built it."""
    if not (folder / "done").exists():
        library.build(folder, count)
    by = guard_of(Settings(), None).instructions
    with closing(EmbeddedIndex(Database(folder / "library.db"), QuickEmbedder(OnnxEmbedder()))) as index:
        with index._database.write() as tx:
            tx.execute("INSERT OR REPLACE INTO index_meta VALUES ('embedder', ?)", (index.embedder.name,))
            tx.execute("UPDATE passages SET flag = ?", (by.by if by else "",))
        rng = np.random.default_rng(5)
        (most,) = index._database.connection().execute("SELECT max(id) FROM passages").fetchone()
        words = []
        for chosen in rng.integers(1, most + 1, 200):
            passage = index.passage(int(chosen))
            if passage is not None:
                words.append(" ".join(rng.permutation(content_words(passage.text))[:4]))
    (folder / "turns").write_text("\n".join(words))


def hold(folder: Path, turns: int, line: Path) -> None:
    words = (folder / "turns").read_text().splitlines()
    with build(Settings(library=str(folder), suggestions=0)) as engine:
        asyncio.run(conversations(engine, words[:3], 6))
        engine.index.settle()  # type: ignore[attr-defined]
        began = time.process_time()
        replies = asyncio.run(conversations(engine, words[3:], turns))
        spent = (time.process_time() - began) / len(replies) * 1000
        passages = engine.index.counts().passages
        print(
            f"\n{passages:,} passages, {len(replies)} turns, {spent:.0f} ms of the processor each; {library.memory()}"
        )
        stages(replies)
        growing(engine, words)
        crowd(engine, words)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"peak memory {peak:,.0f} MB", flush=True)
        middle, high = np.percentile([before(reply) for reply in replies], [50, 95])
        line.write_text(f"{middle} {high}")


async def conversations(engine: Engine, words: Sequence[str], turns: int) -> list[Reply]:
    replies: list[Reply] = []
    for number in range(-(-turns // len(TALK))):
        conversation = f"{time.time_ns()}"
        asking = [form.format(words[number % len(words)]) for form in TALK]
        replies += [reply for each in asking if (reply := await asked(engine, each, conversation))]
    return replies[:turns]


async def asked(
    engine: Engine, message: str, conversation: str | None, history: tuple[Message, ...] = ()
) -> Reply | None:
    """The reply, or None if a rail mistakes the random words for an attack."""
    reply = None
    async for event in engine.stream(TurnRequest(message, history, conversation)):
        if isinstance(event, Answered):
            reply = event.reply
    return reply


def before(reply: Reply) -> float:
    """Milliseconds before generation."""
    return sum(stage.ms for stage in reply.trace if stage.stage in BEFORE)


def stages(replies: Sequence[Reply]) -> None:
    times: dict[str, list[float]] = defaultdict(list)
    for reply in replies:
        for stage in reply.trace:
            times[stage.stage].append(stage.ms)
        times["before generation"].append(before(reply))
        times["whole turn"].append(sum(stage.ms for stage in reply.trace))
    print(f"  {'stage':20} {'p50 ms':>8} {'p95 ms':>8}")
    for name, values in times.items():
        middle, high = np.percentile(values, [50, 95])
        print(f"  {name:20} {middle:8.1f} {high:8.1f}", flush=True)


def growing(engine: Engine, words: Sequence[str]) -> None:
    """A follow-up at the end of ever longer conversations."""
    told = []
    for turns in TURNS:
        talk = (Message("user", f"{words[1]}?"), Message("assistant", f"It is about {words[1]}. [1]")) * (turns - 1)
        ends = [asyncio.run(asked(engine, f"tell me more about {each}", None, talk)) for each in words[10:17]]
        times = [before(reply) for reply in ends if reply]
        told.append(f"{turns}: {np.median(times):.0f}")
    print(f"  before generation by turn, ms: {', '.join(told)}", flush=True)


def crowd(engine: Engine, words: Sequence[str]) -> None:
    """Turns per second with several conversations at once, each with its own words."""

    async def all_of(count: int) -> int:
        asking = [conversations(engine, [words[(20 + number) % len(words)]], len(TALK)) for number in range(count)]
        return sum(len(each) for each in await asyncio.gather(*asking))

    told = []
    for count in AT_ONCE:
        started = time.perf_counter()
        done = asyncio.run(all_of(count))
        told.append(f"{count}: {done / (time.perf_counter() - started):.1f}")
    print(f"  turns per second by conversations at once: {', '.join(told)}", flush=True)


def drawn(measured: dict[int, tuple[float, float]]) -> str:
    """A chart of the time before generation by number of passages, p50 and p95."""
    counts = sorted(measured)
    top = max(high for _, high in measured.values()) * 1.15
    left, right, bottom, height = 60, 600, 300, 260

    def at(count: int, ms: float) -> tuple[float, float]:
        share = np.log10(count / counts[0]) / max(np.log10(counts[-1] / counts[0]), 1e-9)
        return left + (right - left) * float(share), bottom - height * ms / top

    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 350" font-family="sans-serif" font-size="12">']
    parts.append('<rect width="640" height="350" fill="#fff"/>')
    parts.append('<text x="60" y="22" font-size="14">Before generation, ms, by passages in the library</text>')
    for ms in np.linspace(0, top, 5):
        y = at(counts[0], ms)[1]
        parts.append(f'<path d="M{left} {y:.1f}H{right}" stroke="#ddd"/><text x="12" y="{y + 4:.1f}">{ms:.0f}</text>')
    parts += [f'<text x="{at(count, 0)[0] - 18:.1f}" y="{bottom + 20}">{count:,}</text>' for count in counts]
    for place, (name, colour) in enumerate((("p50", "#1b6b50"), ("p95", "#b3622b"))):
        points = [at(count, measured[count][place]) for count in counts]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
        parts.append(f'<text x="{points[-1][0] + 8:.1f}" y="{points[-1][1] + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    main()
