"""How long an extractive answer takes, given the evidence.

    python benchmarks/answer.py [--questions 60]

Every question is about the bundled sample and asked at the second turn of a conversation, with the passages that a turn
finds. Each question is new, so that no answer is cached.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import numpy as np

from turnwise import FakeChat, Message, TurnRequest
from turnwise.app import build_sample
from turnwise.config import Settings
from turnwise.extractive import ExtractiveAnswerer, choosing, statements
from turnwise.models.matcher import WordMatcher
from turnwise.models.reranker import ForeignJudge, OnnxReranker
from turnwise.turn.parts import Parts
from turnwise.turn.run import run_turn
from turnwise.types import Prompt


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=60)
    prompts = _prompts(parser.parse_args().questions)
    answerer = ExtractiveAnswerer(OnnxReranker(), WordMatcher(), ForeignJudge())
    answerer.answer(prompts[0])  # loads the weights
    taken = []
    for prompt in prompts[1:]:
        choosing.shingles.cache_clear()
        statements.stems_of.cache_clear()
        started, processor = time.perf_counter(), time.process_time()
        answerer.answer(prompt)
        taken.append((1000 * (time.perf_counter() - started), 1000 * (time.process_time() - processor)))
    clock, used = np.array(taken).T
    p50, p95 = np.percentile(clock, [50, 95])
    sizes = np.mean([len(prompt.evidence) for prompt in prompts])
    print(f"{len(taken)} answers from {sizes:.1f} passages each; milliseconds")
    print(f"  p50 {p50:6.1f}   p95 {p95:6.1f}   processor p50 {np.percentile(used, 50):6.1f}")


def _prompts(count: int) -> list[Prompt]:
    """The prompts for a question about each heading of the sample."""
    seen: list[Prompt] = []
    model = FakeChat(lambda prompt: seen.append(prompt) or "Noted.")  # type: ignore[func-returns-value]
    with tempfile.TemporaryDirectory() as folder, build_sample(Settings(library=folder, suggestions=0)) as engine:
        passages = [engine.index.passage(number) for number in range(1, engine.index.counts().passages + 1)]
        headings = dict.fromkeys(each.heading or each.title for each in passages if each)
        parts = Parts(engine.settings, engine.index, engine.store, engine._parts.guard, (model,))
        said = Message("user", "What is this library about?"), Message("assistant", "It is about several things.")

        async def hold() -> None:
            for heading in list(headings)[:count]:
                async for _ in run_turn(TurnRequest(f"How does {heading} work, and when?", said), parts):
                    pass

        engine.run(hold())
    return seen


if __name__ == "__main__":
    main()
