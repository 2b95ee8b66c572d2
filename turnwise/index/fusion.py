"""The rankings by words and by meaning made into one, the same way in every index."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence

from turnwise.types import Hit, Passage

DEPTH = 100  # passages that each ranking hands to the fusion
FUSION = 60  # the constant of reciprocal rank fusion

Ranks = Mapping[int, int]  # passage ids with their ranks from 1


def fused(rankings: Iterable[tuple[Ranks, float]]) -> dict[int, float]:
    """Reciprocal rank fusion of weighted rankings: the score of every passage that stands in one."""
    scores: dict[int, float] = {}
    for ranking, weight in rankings:
        for passage, rank in ranking.items():
            scores[passage] = scores.get(passage, 0.0) + weight / (FUSION + rank)
    return scores


def best(scores: Mapping[int, float], lexical: Ranks, k: int) -> list[int]:
    """The best k passages. Equals are common while vectors are being made: then the one that has the words goes
    first."""
    if k <= 0:
        return []
    cut = min(heapq.nlargest(k, scores.values()), default=0.0)
    ranked = [passage for passage, score in scores.items() if score >= cut]
    ranked.sort(key=lambda passage: (-scores[passage], lexical.get(passage, DEPTH + 1), passage))
    return ranked[:k]


def hits(
    ids: Sequence[int],
    scores: Mapping[int, float],
    lexical: Ranks,
    dense: Ranks,
    cosines: Mapping[int, float],
    passages: Mapping[int, Passage],
) -> list[Hit]:
    """Those passages as hits, in that order, without the ones that have been removed since."""
    return [
        Hit(passages[each], scores[each], cosines.get(each), lexical.get(each), dense.get(each))
        for each in ids
        if each in passages
    ]
