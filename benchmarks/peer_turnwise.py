"""Turnwise itself for benchmarks/peers.py: as shipped, and with parts left out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from peer_common import BEST, SameEmbedder, SameModel, System, Task, Way

from turnwise.app import engine_over, guard_of, reranker_of, senses_of
from turnwise.config import Settings
from turnwise.documents.ingest import inspect_pending
from turnwise.engine import Engine
from turnwise.evaluation.library import Libraries
from turnwise.evaluation.suites import Product
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore
from turnwise.types import Message, SearchQuery, StageDone, TurnRequest

PACKAGES = ("turnwise",)


class Turnwise:
    """A whole turn up to the answer, and its searches."""

    def __init__(self, task: Task, embedder: SameEmbedder, cache: Path) -> None:
        settings = Settings()
        senses, reranker = senses_of(settings, embedder), reranker_of(settings)
        libraries = Libraries(cache, embedder, lambda _what, _done, _total: None)
        self._opened = libraries.of_passages("peers", {each.id: (each,) for each in task.entries})
        self._index = self._opened.__enter__()
        checked = guard_of(settings, embedder).instructions
        if checked is not None:  # as when documents are added
            inspect_pending(self._index, checked)
        self._product = Product(settings, senses, reranker)
        store = EmbeddedStore(Database(cache / "talks.db"))
        self._engine: Engine = engine_over(settings, self._index, store, senses, reranker)

    def fused(self, question: str, history: Sequence[Message]) -> list[str]:
        from turnwise.evaluation.data import Question

        asked = Question(len(history) // 2 + 1, tuple(history), question)
        return [hit.passage.source for hit in self._product.find_for_turn(asked, BEST, self._index)]

    def condensed(self, question: str, history: Sequence[Message]) -> list[str]:
        return self._found(SearchQuery(self._product.condense(question, history).query))

    def last_turn(self, question: str, _: Sequence[Message]) -> list[str]:
        return self._found(SearchQuery(question))

    def turn(self, question: str, history: Sequence[Message]) -> list[str]:
        """A real turn, rails included, up to the point where it would be answered. It returns no results."""
        asyncio.run(self._until_composed(TurnRequest(question, tuple(history))))
        return []

    async def _until_composed(self, request: TurnRequest) -> None:
        async with aclosing(self._engine.stream(request)) as events:
            async for event in events:
                if isinstance(event, StageDone) and event.stage.stage == "compose":
                    return

    def _found(self, query: SearchQuery) -> list[str]:
        return [hit.passage.source for hit in self._product.find(query, BEST, self._index)]


def build(task: Task, embedder: SameEmbedder, _: SameModel) -> System:
    ours = Turnwise(task, embedder, embedder.cache)
    again: list[Turnwise] = []

    def anew(question: str, history: Sequence[Message]) -> list[str]:
        """The same search, without anything cached from earlier turns."""
        if not again:
            again.append(Turnwise(task, embedder, embedder.cache))
        return again[0].fused(question, history)

    ways = (
        Way("as shipped (fused), a whole turn, rails too", ours.fused, turn=ours.turn),
        Way("as shipped, understood and searched, no rails", anew),
        Way("condensed question alone", ours.condensed),
        Way("last turn alone", ours.last_turn),
    )
    return System(ways, PACKAGES)


def clone_to_answer(repository: Path, folder: Path) -> dict[str, float]:
    """Seconds from `git clone` to the first answer over the sample, by part."""
    import subprocess
    import sys

    took: dict[str, float] = {}

    def timed(name: str, *command: str) -> None:
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        took[name] = time.perf_counter() - started

    timed("clone", "git", "clone", "--quiet", str(repository), "turnwise")
    timed("environment", sys.executable, "-m", "venv", "environment")
    timed("install", "environment/bin/pip", "install", "--quiet", "-e", "turnwise")
    timed("answer", "environment/bin/turnwise", "ask", "--sample", "What is BERT?")
    return took
