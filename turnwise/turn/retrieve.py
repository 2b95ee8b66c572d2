"""Retrieve: the passages that the steps of a plan find, best first, none twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from turnwise.types import Hit, Plan, SearchQuery

Search = Callable[[SearchQuery, int], list[Hit]]
MOST = 8


def retrieve(plan: Plan, search: Search, k: int) -> list[Hit]:
    """At most k passages, two more for a comparison; each search of the plan gets its turn at handing one in."""
    queries = [step.query for step in plan.steps if step.action == "search" and step.query]
    if not queries:
        return []
    rankings = [search(query, k) for query in queries]
    wanted = min(k if len(queries) == 1 else k + 2, MOST)
    best: dict[int, Hit] = {}
    for hit in _in_turn(rankings):
        best.setdefault(hit.passage.id, hit)
    return list(best.values())[:wanted]


def _in_turn(rankings: Sequence[list[Hit]]) -> Iterator[Hit]:
    for row in zip_longest(*rankings):
        yield from (hit for hit in row if hit is not None)
