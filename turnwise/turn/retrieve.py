"""Retrieve: what the steps of a plan find, by search and by other tools; the passages best first, none twice."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from itertools import zip_longest

from turnwise.dialogue.citing import with_sources
from turnwise.text import words
from turnwise.types import (
    Filter,
    Hit,
    Index,
    Message,
    Passage,
    QueryPlan,
    Reranker,
    SearchQuery,
    Step,
    StepResult,
    Tool,
)

Search = Callable[[SearchQuery, int], list[Hit]]
MOST = 8  # passages an answer draws on
CANDIDATES = 15  # passages of a search that the re-ranker reads
SPARE = 5  # more, in place of those that are folded
AGAIN = 0.02  # what it counts that the last answer cited a passage
ALIKE = 0.8  # of a passage's word triples in a better one, with all its numbers and names: it says the same
TRIPLE = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Shelves:
    """What a search of a turn works with. `answer` is the one that the message leans on, if any: what it cited is
    found again even by a "yes"."""

    index: Index
    k: int
    reranker: Reranker | None = None
    answer: Message | None = None


async def carry_out(
    plan: QueryPlan, shelves: Shelves, tools: Sequence[Tool] = ()
) -> AsyncGenerator[tuple[int, StepResult], None]:
    """What each step of a plan gives, with its place, as it is done. Steps that wait for none run at the same time;
    one that fails says so in its result, and those after it run all the same."""
    named = {tool.name: tool for tool in tools}
    places = [place for place, step in enumerate(plan.steps) if step.tool == "rag" or step.tool in named]
    waiting: dict[asyncio.Task[StepResult], int] = {}
    done: dict[int, StepResult] = {}
    try:
        while len(done) < len(places):
            for place in places:
                step = plan.steps[place]
                ready = all(each in done or each not in places for each in step.after)
                if ready and place not in done and place not in waiting.values():
                    waiting[asyncio.create_task(_done(step, shelves, named))] = place
            if not waiting:  # steps that wait for each other
                return
            finished, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                place = waiting.pop(task)
                done[place] = task.result()
                yield place, done[place]
    finally:
        for task in waiting:
            task.cancel()


async def _done(step: Step, shelves: Shelves, tools: Mapping[str, Tool]) -> StepResult:
    started = time.perf_counter()
    if step.tool == "rag":
        result = StepResult(hits=tuple(await asyncio.to_thread(_searched, step, shelves)))
    else:
        result = await tools[step.tool].run(step.input)
    return dataclasses.replace(result, ms=round(1000 * (time.perf_counter() - started), 3))


def _searched(step: Step, shelves: Shelves) -> list[Hit]:
    index, answer = shelves.index, shelves.answer
    cited = with_sources(answer, index.locate).sources if answer else ()
    earlier = [passage for each in cited if (passage := index.passage(each.passage_id)) is not None]
    return find(step.query or SearchQuery(step.input), shelves.k, index.search, shelves.reranker, earlier)


def gathered(plan: QueryPlan, k: int) -> list[Hit]:
    """All that the steps found, none twice: what tools read, then at most k passages, two more where there were several
    searches; each search gets its turn at handing one in."""
    results = [(step.tool, result) for step, result in zip(plan.steps, plan.results, strict=False) if result]
    read = [hit for tool, result in results if tool != "rag" for hit in result.hits]
    rankings = [list(result.hits) for tool, result in results if tool == "rag"]
    wanted = min(k if len(rankings) == 1 else k + 2, MOST)
    best: dict[int, Hit] = {}
    for hit in _in_turn(rankings):
        best.setdefault(hit.passage.id, hit)
    return read + list(best.values())[:wanted]


def find(
    query: SearchQuery, k: int, search: Search, reranker: Reranker | None = None, earlier: Sequence[Passage] = ()
) -> list[Hit]:
    """The best k passages of one search: the re-ranker orders those at the top, and of those that say the same only
    the best stays."""
    found = _again(search(query, max(k, CANDIDATES) + SPARE), earlier, query.where)
    if reranker is not None and len(found) > 1:
        top, rest = found[:CANDIDATES], found[CANDIDATES:]
        points = reranker.scores(query.question, [hit.passage for hit in top])
        top = [
            dataclasses.replace(hit, score=hit.score + reranker.trust * point)
            for hit, point in zip(top, points, strict=True)
        ]
        found = sorted(top, key=lambda hit: -hit.score) + rest
    return _distinct(found, k)


def _again(found: list[Hit], earlier: Sequence[Passage], where: Filter) -> list[Hit]:
    """The hits, those that were cited a little higher; what was cited and not found stands behind the last, unless
    there is a filter, which it may not fit."""
    if not earlier:
        return found
    cited, known = {passage.id for passage in earlier}, {hit.passage.id for hit in found}
    last = min((hit.score for hit in found), default=0.0)
    found = found + [Hit(passage, last) for passage in earlier if passage.id not in known and not where]
    found = [dataclasses.replace(hit, score=hit.score + AGAIN * (hit.passage.id in cited)) for hit in found]
    return sorted(found, key=lambda hit: -hit.score)


def _distinct(found: Sequence[Hit], k: int) -> list[Hit]:
    kept: list[tuple[Hit, _Said]] = []
    for hit in found:
        if len(kept) == k:
            break
        said = _said(hit.passage.text)
        if not any(said.is_in(better) for _, better in kept):
            kept.append((hit, said))
    return [hit for hit, _ in kept]


@dataclasses.dataclass(frozen=True, slots=True)
class _Said:
    """What a passage says: its words, those of them that are numbers or names, and all in threes as they stand."""

    words: frozenset[str]
    particular: frozenset[str]
    triples: frozenset[tuple[str, ...]]

    def is_in(self, other: _Said) -> bool:
        """Whether the other says almost the same. The contract of another tenant or the price of another year does not,
        however like it is."""
        alike = len(self.triples & other.triples) >= ALIKE * len(self.triples)
        return bool(self.triples) and alike and self.particular <= other.words


def _said(text: str) -> _Said:
    written = words(text)
    said = [word.lower() for word in written]
    particular = (word.lower() for word in written if word[0].isupper() or any(map(str.isdigit, word)))
    triples = zip(*(said[start:] for start in range(TRIPLE)), strict=False)
    return _Said(frozenset(said), frozenset(particular), frozenset(triples))


def _in_turn(rankings: Sequence[list[Hit]]) -> Iterator[Hit]:
    for row in zip_longest(*rankings):
        yield from (hit for hit in row if hit is not None)
