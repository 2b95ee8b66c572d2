"""Time and memory for a report on many turns: python benchmarks/analytics.py [--turns 100000]"""

from __future__ import annotations

import argparse
import random
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

from turnwise.analytics import report

TOPICS = [f"topic {number}" for number in range(400)]
WORDS = [f"word{number}" for number in range(3000)]
STAGES = ("guard in", "understand", "condense", "plan", "retrieve", "compose", "generate", "guard out", "verify")


def turns(count: int) -> Iterator[dict[str, Any]]:
    """Facts of turns in interleaved conversations over 60 days; one in ten finds no answer."""
    chance = random.Random(7)
    numbers: dict[int, int] = {}
    for place in range(count):
        conversation = chance.randrange(place // 6 + 1)
        numbers[conversation] = number = numbers.get(conversation, 0) + 1
        yield {
            "conversation_id": f"c{conversation}",
            "number": number,
            "status": "answered",
            "created_at": 1.7e9 + place * 60 * 86400 / count,
            "user": f"u{conversation % 500}",
            "topic": (topic := chance.choice(TOPICS)),
            "intent": "follow_up" if number > 1 else "new_question",
            "follow_up": number > 1,
            "follow_up_type": "pattern",
            "condensed": chance.choice(["literal", "rules", "model"]),
            "query": " ".join(chance.sample(WORDS, 6)),
            "searched": True,
            "abstained": chance.random() < 0.1,
            "cited": [[f"doc{chance.randrange(2000)}.md", "A title"]],
            "levels": {topic: chance.choice(["confused", "knows_basics"])},
            "repeated": chance.random() / 3,
            "ms": {stage: chance.expovariate(0.05) for stage in STAGES},
            "model": "small",
            "prompt_tokens": 900,
            "answer_tokens": 120,
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=100_000)
    count = parser.parse_args().turns
    facts = list(turns(count))
    start, worked = time.perf_counter(), time.process_time()
    report(facts)
    took, worked = time.perf_counter() - start, time.process_time() - worked
    del facts
    tracemalloc.start()
    made = report(turns(count))
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    print(f"{made.totals['turns']} turns: {took:.2f} s ({worked:.2f} s of a core), at most {peak:.0f} MiB at a time")


if __name__ == "__main__":
    main()
