"""What checking an answer while it streams costs the reader: how much is held back, and how long the rails take.

    python benchmarks/guard_stream.py

The text is that of the sample library, in pieces of about four characters, as a model sends them. All rails of the
general preset are active, with a system prompt and a canary.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from turnwise.guard.pii import find_pii
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.guard.secrets import find_secrets
from turnwise.turn.compose import system_prompt

SAMPLE = Path(__file__).parents[1] / "turnwise" / "sample"
PIECE = re.compile(r"\s?\S{1,5}|\s")


def main() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(SAMPLE.rglob("*.md")))
    held, released, seconds = streamed(text)
    print(f"held back of {len(text):,} characters: p50 {share(held, 50)}, p95 {share(held, 95)}, at most {held[-1]}")
    print(f"characters changed: {sum(map(len, released)) - len(text)}")
    for times in (1, 4, 16):
        long = text * times
        seconds = streamed(long)[2]
        print(f"{len(long):>10,} characters: {seconds / len(long) * 1e6:6.2f} microseconds each")
    for name, find in (("personal data", find_pii), ("secrets", find_secrets)):
        took = []
        for at in range(0, len(text) - 2000, 500):
            start = time.perf_counter()
            find(text[at : at + 2000])
            took.append((time.perf_counter() - start) * 1000)
        took.sort()
        print(f"{name} in 2,000 characters: p50 {share(took, 50):.2f} ms, p95 {share(took, 95):.2f} ms")


def streamed(text: str) -> tuple[list[float], list[str], float]:
    """The number of characters held back after each piece (sorted), what was released, and how long it took."""
    guard = GuardrailPipeline("general").open_output(
        range(1, 100), system_prompt=system_prompt(), canaries=("Blue-Falcon-77",), allowed_text=text[:20_000]
    )
    held, released = [], []
    start = time.perf_counter()
    for piece in PIECE.findall(text):
        released.append(guard.feed(piece))
        held.append(guard.held)
    released.append(guard.close())
    return sorted(held), released, time.perf_counter() - start


def share(values: list[float], percent: int) -> float:
    return values[len(values) * percent // 100]


if __name__ == "__main__":
    main()
