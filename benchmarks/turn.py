"""How long each stage of a turn takes, and how much code a turn runs through, on the bundled sample library.

    python benchmarks/turn.py [--rounds 1]

Times depend on the machine; the numbers of files and functions do not.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import turnwise
from turnwise.engine import Engine
from turnwise.types import Message, Reply, TurnRequest

PACKAGE = Path(turnwise.__file__).parent
CONVERSATIONS = (
    ("What is BERT?", "How does it compare to GPT?", "Give me that as a list", "thanks!", "What did I ask first?"),
    ("What is gradient descent?", "Go deeper", "What about the learning rate?", "My loss becomes NaN, what now?"),
    ("Tell me about edicenter", "who can access it", "when is it open on Saturday?", "how do I book a room?"),
    ("What is multi-task learning?", "And causal inference?", "Is there an overlap?", "How do they differ?"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1, help="later rounds find the sentences of earlier ones cached")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, turnwise.open(folder) as engine:
        engine.add(PACKAGE / "sample")
        replies = [reply for _ in range(rounds) for talk in CONVERSATIONS for reply in converse(engine, talk)]
        print(f"{platform.machine()}, Python {platform.python_version()}, {len(replies)} turns\n")
        print_stages(replies)
        print_growth(engine)
        print_path(engine)
    print_many_documents()


def converse(engine: Engine, messages: tuple[str, ...]) -> list[Reply]:
    chat = engine.chat()
    return [chat.ask(message) for message in messages]


def print_stages(replies: list[Reply]) -> None:
    times: dict[str, list[float]] = defaultdict(list)
    for reply in replies:
        for stage in reply.trace:
            times[stage.stage].append(stage.ms)
        times["whole turn"].append(sum(stage.ms for stage in reply.trace))
        times["before generation"].append(
            sum(s.ms for s in reply.trace if s.stage not in ("generate", "guard out", "verify"))
        )
    print(f"{'stage':20} {'p50 ms':>8} {'p95 ms':>8}")
    for name, values in times.items():
        values.sort()
        print(f"{name:20} {values[len(values) // 2]:8.2f} {values[int(len(values) * 0.95)]:8.2f}")


def print_many_documents(count: int = 200) -> None:
    """Turns over many small documents, each of which is met for the first time: patterns that are made, and time."""
    made: list[str] = []
    compiled = re._compiler.compile  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder, turnwise.open(folder) as engine:
        names = [f"{first}{second}" for first in "bdfgklmnprstvz" for second in ("olm", "arn", "ist", "eck", "und")]
        texts = {}
        for number in range(count):
            name = names[number % len(names)]
            texts[f"{number}.md"] = f"# The {name} plan {number}\n\nThe {name} team meets in room {number}.\n"
        engine.add(contents={name: text.encode() for name, text in texts.items()})
        engine.chat().ask("What is a plan?")  # reads the networks
        re._compiler.compile = lambda pattern, *rest: made.append(pattern) or compiled(pattern, *rest)  # type: ignore
        try:
            replies = [engine.chat().ask(f"Where does the {name} team meet?") for name in names[:20]]
        finally:
            re._compiler.compile = compiled  # type: ignore[attr-defined]
    times = sorted(sum(stage.ms for stage in reply.trace) for reply in replies)
    print(
        f"\n{count} documents: a turn p50 {times[len(times) // 2]:.0f} ms, {len(made) / len(replies):.1f} patterns made"
    )


def print_growth(engine: Engine) -> None:
    """A follow-up early and late in a conversation that the caller keeps: what of the work is bounded."""
    print(f"\n{'turn':>6} {'understand + condense, ms':>26} {'compose, ms':>12} {'all stages, ms':>15}")
    for turn in (5, 50, 500):
        talk = [
            Message(role, f"{text} {number}.")
            for number in range(turn - 1)
            for role, text in (
                ("user", "What is model"),
                ("assistant", "BERT is a language model, and so is the model"),
            )
        ]
        request = TurnRequest("How does it compare to GPT?", tuple(talk))
        traces = [engine.run(engine.answer(request)).trace for _ in range(9)]
        parts = ("understand", "condense"), ("compose",), tuple(each.stage for each in traces[0])
        found = [
            sorted(sum(each.ms for each in trace if each.stage in names) for trace in traces)[4] for names in parts
        ]
        print(f"{turn:6} {found[0]:26.2f} {found[1]:12.2f} {found[2]:15.2f}")


def print_path(engine: Engine) -> None:
    """The files and functions of the package that a plain follow-up runs through."""
    passed: set[tuple[str, str]] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            passed.add((str(path.relative_to(PACKAGE)), frame.f_code.co_qualname))

    history = (Message("user", "What is BERT?"), Message("assistant", "BERT is a language model."))
    asyncio.run(engine.answer(TurnRequest("How is it trained?", history)))

    async def profiled() -> None:
        import threading

        threading.setprofile(profile)
        sys.setprofile(profile)
        await engine.answer(TurnRequest("How was it pre-trained?", history))
        sys.setprofile(None)
        threading.setprofile(None)

    asyncio.run(profiled())
    files = sorted({file for file, _ in passed})
    print(f"\na plain follow-up runs through {len(files)} files and {len(passed)} functions of the package:")
    print("  " + ", ".join(files))


if __name__ == "__main__":
    main()
