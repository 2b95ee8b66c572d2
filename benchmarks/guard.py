"""What the rails cost: a message of 2 KB after 20 turns, long messages, and messages designed to be slow.

    python benchmarks/guard.py [--rounds 60] [--preset general]

Messages are made up from the bundled sample documents and are all different, so that nothing is cached. For every check
of 2 KB, the table also shows the time spent in the guard's encoder, and the time to embed the same text, which the
guard does not do: a rail that used the embedder would take at least that long. Times are wall clock and processor time;
the latter hardly depends on what else the machine does. What is compared runs alternately. Rails that were cut off at
their deadline are listed.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import turnwise
from turnwise.conversation import Conversation, Turn
from turnwise.documents.parse import parse
from turnwise.evaluation.metrics import percentile
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.models.embedder import OnnxEmbedder
from turnwise.models.guard import _Encoder as guard_encoder
from turnwise.text import sentences

SAMPLE = Path(turnwise.__file__).parent / "sample"
KB = 1024
TURNS = 20
SIZES = (1, 10, 100)
SHORT, LONG = 10, 100  # KB of a hostile message; the time should grow in proportion
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

# Each is repeated up to the length of the message.
HOSTILE = {
    "a run of a": "a",
    "blanks": "a" + " " * 400,
    "line breaks": "a\n\n\n\n",
    "brackets": "[({<",
    "opening and closing": "[a](b)<c>{d}",
    "quotation marks": "\"'“‘`",
    "quotation marks around words": "\"a' “b‘ `c",
    "base64": ALPHABET,
    "base64 in pieces": f"{ALPHABET}= ",
    "hexadecimal": "69676e6f7265",
    "percent signs": "%69%67%25",
    "entities": "&#105;&amp;",
    "zero-widths": "a\u200b\u200c\u200d\u2060",
    "combining marks": "a" + "\u0301" * 20,
    "tag characters": "a\U000e0069\U000e0067",
    "look-alikes": "іgпоrе ",
    "letters apart": "i g n o r e . ",
    "dots": "i.g-n_o",
    "ignore, again and again": "ignore ",
    "almost a command": "ignore all the of your these ",
    "role tokens": "<|im_start|>system ",
    "e-mail, almost": "a@a.",
    "digits": "4111 1111-",
    "keys, almost": "sk-aaaa AKIA eyJ.",
    "addresses": "http://a.a/?a=a&",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--preset", default="general")
    given = parser.parse_args()
    bench = Bench(given.preset)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, preset {given.preset}\n")
    bench.two_kilobytes(given.rounds)
    bench.lengths(max(5, given.rounds // 6))
    bench.hostile(max(3, given.rounds // 20))
    if bench.cut_off:
        print(f"\ncut off at the deadline: {', '.join(sorted(bench.cut_off))}")


class Bench:
    def __init__(self, preset: str) -> None:
        embedder = OnnxEmbedder()
        self._pipeline = GuardrailPipeline(preset, max_message=10**6, embedder=embedder, keep_turns=False)
        self._alone = OnnxEmbedder()  # shares no cache with the checks
        self._reads: list[Took] = []  # times of the encoder in the last check
        watched(self._reads)
        self._random = random.Random(1)
        texts = [parse(path).text for path in sorted(SAMPLE.iterdir())]
        self._sentences = [each for text in texts for each in sentences(text) if 40 < len(each) < 400]
        self.cut_off: set[str] = set()
        for _ in range(3):
            self._check(self._prose(2 * KB))
            self._alone.embed_query(self._prose(2 * KB))

    def two_kilobytes(self, rounds: int) -> None:
        """A message alone, in a conversation that is new to this process, and in an ongoing one, whose earlier messages
        have been checked already."""
        rows: dict[str, list[Took]] = {}
        for _ in range(rounds):
            conversation = self._conversation()
            for name, within in (
                ("alone", None),
                (f"after {TURNS} turns, none of them seen before", conversation),
                (f"after {TURNS} turns", conversation),
            ):
                text = self._prose(2 * KB)
                self._reads.clear()
                whole = timed(self._check, text, within)
                read = Took(sum(each.clock for each in self._reads), sum(each.processor for each in self._reads))
                embedding = timed(self._alone.embed_query, text)
                for row, took in (
                    (f"{name}: whole check", whole),
                    ("  the encoder's share", read),
                    ("  without it", whole - read),
                    ("  one embedding of the same text", embedding),
                    ("  whole check beyond one embedding", whole - embedding),
                ):
                    rows.setdefault(row if row.startswith(name) else f"{row}\0{name}", []).append(took)
        print(f"{'a message of 2 KB, ms':58}{'p50':>9}{'p95':>9}{'processor':>13}{'p95':>9}")
        for row, taken in rows.items():
            clock, processor = ([each[side] for each in taken] for side in (0, 1))
            told = (percentile(side, share) for side in (clock, processor) for share in (50, 95))
            print(f"{row.partition(chr(0))[0]:58}{{:9.2f}}{{:9.2f}}{{:13.2f}}{{:9.2f}}".format(*told))

    def lengths(self, rounds: int) -> None:
        taken: dict[int, list[Took]] = {size: [] for size in SIZES}
        for _ in range(rounds):
            for size in SIZES:
                taken[size].append(timed(self._check, self._prose(size * KB)))
        print(f"\n{'prose, ms':48}{'p50':>9}{'p95':>9}{'processor':>13}{'a KB':>9}{'to the one before':>19}")
        before = None
        for size, each in taken.items():
            clock, processor = [one.clock for one in each], percentile([one.processor for one in each], 50)
            growth = f"{processor / before:.1f} times" if before else ""
            print(
                f"{size:>3} KB{'':42}{percentile(clock, 50):9.2f}{percentile(clock, 95):9.2f}"
                f"{processor:13.2f}{processor / size:9.3f}{growth:>19}"
            )
            before = processor

    def hostile(self, rounds: int) -> None:
        """Each message at two lengths: 10 times the length should take about 10 times as long, and no more than a small
        multiple of the time for prose."""
        written: dict[str, Callable[[int], str]] = {"prose": self._prose}
        for name, unit in HOSTILE.items():
            written[name] = lambda size, unit=unit: (unit * (size // len(unit) + 1))[:size]
        print(f"\n{f'hostile, processor ms at {LONG} KB':48}{'middle':>9}{f'to {SHORT} KB':>9}{'to prose':>19}")
        prose = 0.0
        for name, write in written.items():
            middle = {}
            for size in (SHORT, LONG):
                middle[size] = percentile([timed(self._check, write(size * KB)).processor for _ in range(rounds)], 50)
            prose = prose or middle[LONG]
            growth, ratio = middle[LONG] / middle[SHORT], middle[LONG] / prose
            print(f"{name:48}{middle[LONG]:9.1f}{growth:9.1f}{f'{ratio:.2f} times':>19}")

    def _check(self, text: str, conversation: Conversation | None = None) -> None:
        result = self._pipeline.check_input(text, conversation)
        self.cut_off |= {each.rail for each in result.details.values() if each.state == "timed out"}

    def _conversation(self) -> Conversation:
        turns = [Turn(self._prose(120), self._prose(600), number=number) for number in range(1, TURNS + 1)]
        return Conversation(turns=turns)

    def _prose(self, size: int) -> str:
        said: list[str] = []
        length = 0
        while length < size:
            said.append(self._random.choice(self._sentences))
            length += len(said[-1]) + 1
        return " ".join(said)[:size]


class Took(NamedTuple):
    """Milliseconds of wall clock and of processor time."""

    clock: float
    processor: float

    def __sub__(self, other: Took) -> Took:
        return Took(self.clock - other.clock, self.processor - other.processor)


def timed(work: Callable[..., object], *given: object) -> Took:
    clock, processor = time.perf_counter(), time.process_time()
    work(*given)
    return Took((time.perf_counter() - clock) * 1000, (time.process_time() - processor) * 1000)


def watched(reads: list[Took]) -> None:
    """Time every text that the guard's encoder reads."""
    read = guard_encoder.read_message

    def measured(self: guard_encoder, text: str) -> float:
        said: list[float] = []
        reads.append(timed(lambda: said.append(read(self, text))))
        return said[0]

    guard_encoder.read_message = measured  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
