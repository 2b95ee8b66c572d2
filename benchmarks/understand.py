"""How long it takes to understand and condense a message, by part, at turn 5, 20 and 500 of a conversation.

    python benchmarks/understand.py [--conversations 150]

The conversations are made up from the bundled sample documents. The last turns of each are played, as in a running
conversation, and each is read after its answer, as a turn does when nobody waits. Then one new message is timed. The
lengths alternate, so that other load on the machine affects them equally: times depend on the machine, the ratios
hardly.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import turnwise
from turnwise.dialogue.profile import OFF
from turnwise.documents.parse import parse
from turnwise.text import phrases, sentences
from turnwise.turn import understand
from turnwise.turn.parts import Parts
from turnwise.types import Message

SAMPLE = Path(turnwise.__file__).parent / "sample"
TURNS = (5, 20, 500)
PLAYED = 12  # turns played before the timed one: more than a turn reads, except for those referred to
PARTS = {
    "tracker": "tracker",
    "language and intent": "language and intent",
    "window": "window",
    "prediction": "prediction (trained model)",
    "follow-up": "follow-up",
    "embedding": "  of it embedding",
    "condense": "condense",
    "whole": "whole",
    "processor": "processor time of the whole",
}

# Messages: {thing} and {other} are phrases from the documents, {old} is from the conversation, {new} is not.
KINDS = {
    "follow-up": (
        "How does it change the {thing}?",
        "And what about {thing}?",
        "Why do they need {thing} for that?",
        "What are its limits when there are {new}?",
        "Can you say more about that, with {thing} in mind?",
        "is this also true of {other}",
        "What happens to the {thing} afterwards?",
    ),
    "new question": (
        "What is {thing}, and how does it differ from {other}?",
        "How do {new} and {other} depend on each other?",
        "Who decides about {thing}?",
        "Explain {thing} to someone who works with {new}",
        "What do {new} cost?",
    ),
    "refer-back": (
        "Earlier you mentioned {old}. How does it work?",
        "Let's go back to {old}: what follows for {new}?",
        "You said something about {old}. Why is that?",
    ),
    "recall": ("What did you say about {old}?", "What did I ask you about {old}?", "Did I ask anything about {new}?"),
    "correction": ("No, I meant {thing}", "Sorry, I was asking about {new}, not {thing}"),
    "courtesy": ("Thanks, that’s clear now{marks}", "Thank you so much{marks}", "ok great, thanks a lot{marks}"),
}
MIX = (*("follow-up",) * 8, *("new question",) * 5, *("refer-back",) * 2, "recall", "correction", "courtesy")
NEW = """glaciers turbines sourdough harpsichords kelp volcanoes beekeeping origami asphalt sonnets penguins tariffs
    monsoons cathedrals enzymes lighthouses mortgages comets orchids submarines pottery vaccines rickshaws truffles
    aqueducts fjords accordions hailstorms parchment zeppelins""".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conversations", type=int, default=150, help="number of conversations of each length")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, turnwise.open(folder) as engine:
        engine.add(SAMPLE)
        bench = Bench(engine._parts, Writer(given.seed))
        taken = asyncio.run(bench.measure(given.conversations))
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, ", end="")
    print(f"{given.conversations} conversations of each length, one message of each timed\n")
    print_table("part, ms", PARTS, taken, lambda each, part: each.spent.get(part))
    print()
    print_table("kind, whole ms", {kind: kind for kind in KINDS}, taken, whole_of)
    model = [each.spent["prediction"] + each.spent["condense"] for each in taken if each.turn == 20 and each.by_model]
    print(f"\ncondensed by the model after 19 turns, prediction and writing, {len(model)} messages: ", end="")
    print(f"p50 {share(model, 0.5):.1f} ms, p95 {share(model, 0.95):.1f} ms")


# --- conversations ------------------------------------------------------------------------------------------------


class Writer:
    """Makes up conversations out of the sample documents, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        texts = [parse(path).text for path in sorted(SAMPLE.iterdir())]
        self._sentences = [each for text in texts for each in sentences(text) if 40 < len(each) < 400]
        self._phrases = sorted({phrase for each in self._sentences for phrase in phrases(each)})
        self._written = 0

    def turns(self, count: int) -> list[Message]:
        """A conversation with this number of turns."""
        said: list[Message] = []
        for _ in range(count):
            asked = self.message(self._random.choice(MIX), said)
            said += [Message("user", asked), Message("assistant", self._answer())]
        return said

    def message(self, kind: str, said: Sequence[Message]) -> str:
        """A new message of this kind."""
        self._written += 1
        thing, other = self._random.sample(self._phrases, 2)
        return self._random.choice(KINDS[kind]).format(
            thing=thing,
            other=other,
            old=self._random.choice(phrases(self._random.choice(said).content) or [thing]) if said else thing,
            new=f"{self._random.choice(NEW)} {self._written}",
            marks="!" * (1 + self._written % 50),
        )

    def _answer(self) -> str:
        """600 to 1,200 characters of cited sentences."""
        length, said = self._random.randint(600, 1100), ""
        while len(said) < length:
            said += f"{self._random.choice(self._sentences)} [{self._random.randint(1, 40)}] "
        return said[:1200].strip()


def as_stored(said: Sequence[Message]) -> tuple[Message, ...]:
    """The messages as a store returns them for each turn: equal to the earlier ones, but different objects."""
    return tuple(Message(each.role, each.content[:1] + each.content[1:]) for each in said)


# --- time ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timed:
    """Milliseconds by part of one message."""

    turn: int
    kind: str
    spent: dict[str, float]

    @property
    def by_model(self) -> bool:
        return "prediction" in self.spent


class Bench:
    """The first stages of an engine, with their parts timed."""

    def __init__(self, parts: Parts, writer: Writer) -> None:
        self._parts, self._writer = parts, writer
        self._spent: dict[str, float] = {}
        senses = parts.senses
        for part, owner, name in (
            ("language and intent", understand, "read_language"),
            ("language and intent", understand, "read_intent"),
            ("language and intent", understand, "mentions"),
            ("window", understand, "window"),
            ("prediction", senses.condenser, "predict"),
            ("follow-up", understand, "read_follow_up"),
            ("follow-up", understand, "_settled_by_message"),
            ("embedding", senses.embedder, "embed_query"),
            ("tracker", senses.tracker, "read"),
            ("tracker", senses.tracker, "update"),
        ):
            setattr(owner, name, self._watched(part, getattr(owner, name)))

    async def measure(self, conversations: int) -> list[Timed]:
        """Time several messages at each turn, in the same order of kinds, after a few warm-up messages."""
        taken: list[Timed] = []
        for number in range(-5, conversations):
            kind = MIX[number * 7 % len(MIX)]
            timed = [Timed(turn, kind, await self._last_of(turn, kind)) for turn in TURNS]
            taken += timed if number >= 0 else []
        return taken

    async def _last_of(self, turn: int, kind: str) -> dict[str, float]:
        """The time for the last message of a new conversation with this number of turns."""
        said = self._writer.turns(turn - 1)
        played = range(max(0, turn - 1 - PLAYED), turn - 1)
        self._parts.senses.tracker.read(said[: 2 * played.start])
        for place in played:
            await self._turn(said[2 * place].content, as_stored(said[: 2 * place]))
            understand.read_ahead(as_stored(said[: 2 * place + 2]), self._parts.senses, OFF)
        return await self._turn(self._writer.message(kind, said), as_stored(said))

    async def _turn(self, message: str, history: Sequence[Message]) -> dict[str, float]:
        """Run both stages as turnwise/turn/run.py does."""
        parts, self._spent = self._parts, {}
        busy, start, now = time.process_time(), time.perf_counter(), time.time()
        understood = await asyncio.to_thread(understand.understand, message, history, parts.settings, parts.senses, now)
        between = time.perf_counter()
        await parts.condenser.condense(message, history, understood)
        end, busy = time.perf_counter(), time.process_time() - busy
        whole = {"condense": end - between, "whole": end - start, "processor": busy}
        return self._spent | {part: seconds * 1000 for part, seconds in whole.items()}

    def _watched(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*args, **named)
            finally:
                self._spent[part] = self._spent.get(part, 0.0) + (time.perf_counter() - start) * 1000

        return watched


# --- figures ------------------------------------------------------------------------------------------------------


def whole_of(each: Timed, kind: str) -> float | None:
    return each.spent["whole"] if each.kind == kind else None


def print_table(
    title: str, rows: dict[str, str], taken: Sequence[Timed], value: Callable[[Timed, str], float | None]
) -> None:
    """p50 and p95 at each turn, and the ratio of the last turn to the first, over the messages that have the part."""
    heads = "".join(f"{f'p{p} @{turn}':>10}" for turn in TURNS for p in (50, 95))
    print(f"{title:28}{heads}{'ratio p50':>11}{'ratio p95':>11}")
    for row, name in rows.items():
        found = [
            share([v for each in taken if each.turn == turn and (v := value(each, row)) is not None], p)
            for turn in TURNS
            for p in (0.5, 0.95)
        ]
        figures = "".join(f"{ms:10.2f}" for ms in found)
        print(f"{name:28}{figures}{found[-2] / found[0]:11.2f}{found[-1] / found[1]:11.2f}")


def share(values: Iterable[float], part: float) -> float:
    ranked = sorted(values)
    return ranked[int(len(ranked) * part)] if ranked else math.nan


if __name__ == "__main__":
    main()
