"""How long re-ranking 15 passages takes, with the distilled re-ranker and with the one it was distilled from.

    python benchmarks/rerank.py [--questions 60]

The passages are those of the bundled sample; each question gets the 15 that a search finds. The two re-rankers
alternate, so that the ratio is meaningful on a busy machine; processor time is that of all threads.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence

import numpy as np

from turnwise.app import build_sample
from turnwise.config import Settings
from turnwise.models.reranker import OnnxReranker
from turnwise.types import Passage, SearchQuery

CANDIDATES = 15


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=60)
    count = parser.parse_args().questions
    with tempfile.TemporaryDirectory() as folder, build_sample(Settings(library=folder)) as engine:
        passages = [engine.index.passage(number) for number in range(1, engine.index.counts().passages + 1)]
        questions = [f"What about {each.heading or each.title}?" for each in passages if each][:count]
        found = {text: engine.index.search(SearchQuery(text), CANDIDATES) for text in dict.fromkeys(questions)}
    rerankers = {"quick": OnnxReranker(), "quality": OnnxReranker(quality=True)}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in rerankers}
    for reranker in rerankers.values():  # loads the weights
        reranker.scores("warm", [hit.passage for hit in next(iter(found.values()))])
    for text, hits in found.items():
        for name, reranker in rerankers.items():
            times[name].append(_timed(reranker, text, [hit.passage for hit in hits]))
    print(f"{CANDIDATES} passages, {len(found)} questions; milliseconds")
    for name, taken in times.items():
        clock, processor = np.array(taken).T
        p50, p95 = np.percentile(clock, [50, 95])
        print(f"  {name:8s} p50 {p50:6.1f}   p95 {p95:6.1f}   processor p50 {np.percentile(processor, 50):6.1f}")
    ratios = np.array(times["quality"])[:, 1] / np.array(times["quick"])[:, 1]
    print(f"  quality takes {np.median(ratios):.1f} times the processor time of quick")


def _timed(reranker: OnnxReranker, question: str, passages: Sequence[Passage]) -> tuple[float, float]:
    started, processor = time.perf_counter(), time.process_time()
    reranker.scores(question, passages)
    return 1000 * (time.perf_counter() - started), 1000 * (time.process_time() - processor)


if __name__ == "__main__":
    main()
