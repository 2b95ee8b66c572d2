"""The suites `followup` and `condense`: how well follow-ups are recognised, and rewritten to stand alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from turnwise.config import Settings
from turnwise.errors import BadRequest
from turnwise.evaluation import data
from turnwise.evaluation.metrics import Tally, added_terms, decisions, mean, overlap, percentile, rouge1_recall
from turnwise.guard.documents import Sieve
from turnwise.turn.condense import condense as condense_stage
from turnwise.turn.condense import search_query
from turnwise.turn.retrieve import NO_EARLIER, Earlier, earlier_passages, find
from turnwise.turn.understand import Senses, understand
from turnwise.types import Condensed, Hit, Index, IndexSearch, Message, Reranker, SearchQuery, Understanding

T = TypeVar("T")
Figures = dict[str, float]
SWITCH_PARTS = 6  # each opening question is put after conversations from the other parts of its file
Progress = Callable[[str, int, int], None]  # task, done, total


@dataclass(frozen=True, slots=True)
class Product:
    """The stages under test, with the settings and models they use in the product."""

    settings: Settings
    senses: Senses
    reranker: Reranker | None = None

    def understand(self, message: str, history: Sequence[Message]) -> Understanding:
        return understand(message, history, self.settings, self.senses)

    def condense(self, message: str, history: Sequence[Message]) -> Condensed:
        return condense_stage(message, history, self.understand(message, history))

    def find_for_turn(self, asked: data.Question, k: int, index: Index) -> list[Hit]:
        """What a turn finds for a question, using its history as the product does."""
        message, history = asked.question, asked.history
        understood = self.understand(message, history)
        condensed = condense_stage(message, history, understood)
        query = search_query(message, history, understood, condensed, self.settings)
        earlier = earlier_passages(history, understood.intent == "follow_up", Sieve(index, None))
        return self.find(query, k, index, earlier)

    def find(self, query: SearchQuery, k: int, index: IndexSearch, earlier: Earlier = NO_EARLIER) -> list[Hit]:
        return find(query, k, index.search, self.reranker, earlier)


def followup(folder: Path, only: tuple[str, ...], progress: Progress, product: Product) -> dict[str, Figures]:
    """Accuracy, precision, recall and F1 by file: of "needs its context", or of "changes the topic"."""
    figures = {}
    for name, path in select_parts(data.followup_files(folder), only).items():
        shifts = "shift" in data.first_row(path)
        cases = _turns(path) if shifts else _questions(path)
        predicted = [
            product.understand(message, history).follow_up.is_follow_up != shifts
            for message, history, _ in with_progress(cases, name, progress)
        ]
        figures[name] = {"n": len(cases), **decisions(predicted, [expected for _, _, expected in cases])}
    return figures


def condense(folder: Path, only: tuple[str, ...], progress: Progress, product: Product) -> dict[str, Figures]:
    """The terms that condensing adds compared with a human rewrite, by file, and the time it takes."""
    return {
        name: _condense_figures(data.questions(path, "rewrite"), name, progress, product)
        for name, path in select_parts(data.rewrite_files(folder), only).items()
    }


Case = tuple[str, tuple[Message, ...], bool]  # message, history, label


def _questions(path: Path) -> list[Case]:
    """The later questions and whether they need their context."""
    return [
        (asked.question, asked.history, bool(asked.needs_context))
        for asked in data.later_questions(path, "needs_context")
    ]


def _turns(path: Path) -> list[Case]:
    """Every turn but the first of every talk, and whether it changes the topic."""
    return [
        (talk.turns[i], history_before(talk.turns, i), talk.shift[i])
        for talk in data.talks(path)
        for i in range(1, len(talk.turns))
    ]


def history_before(turns: Sequence[str], i: int) -> tuple[Message, ...]:
    """The turns before the i-th as messages of two alternating speakers; the i-th is the user's."""
    return tuple(Message("assistant" if (i - j) % 2 else "user", text) for j, text in enumerate(turns[:i]))


def _condense_figures(questions: list[data.Question], name: str, progress: Progress, product: Product) -> Figures:
    asked = [each for each in questions if each.turn > 1]
    terms = Tally()
    rouge: list[float] = []
    false_changes: list[float] = []
    milliseconds: list[float] = []
    for one in with_progress(asked, name, progress):
        started = time.perf_counter()
        condensed = product.condense(one.question, one.history)
        milliseconds.append(1000 * (time.perf_counter() - started))
        added = added_terms(one.question, condensed.query)
        terms += overlap(added, added_terms(one.question, one.rewrite or ""))
        rouge.append(rouge1_recall(condensed.query, one.rewrite or ""))
        if one.needs_context is False:
            false_changes.append(float(bool(added)))
    return {
        "n": len(asked),
        "added_term_recall": terms.recall,
        "added_term_precision": terms.precision,
        "added_term_f1": terms.f1,
        "rouge1_recall": mean(rouge),
        "false_change_rate": mean(false_changes),
        **_switch_figures(questions, product),
        "p50_ms": percentile(milliseconds, 50),
        "p95_ms": percentile(milliseconds, 95),
    }


def _switch_figures(questions: Sequence[data.Question], product: Product) -> Figures:
    """Put each opening question after the histories of several other conversations of the file: the share of these
    questions that condensing changes, though it should not, and how many such pairs there are."""
    openings = [position for position, each in enumerate(questions) if each.turn == 1]
    histories = [questions[end - 1].history for end in (*openings[1:], len(questions))] if openings else []
    distances = {len(openings) * step // SWITCH_PARTS for step in range(1, SWITCH_PARTS)} - {0}
    pairs = [
        (questions[position].question, histories[n - distance])
        for n, position in enumerate(openings)
        for distance in sorted(distances)
    ]
    changed = [
        float(bool(added_terms(opening, product.condense(opening, history).query)))
        for opening, history in pairs
        if history
    ]
    return {"switched": len(changed), "switched_change_rate": mean(changed)}


def select_parts(parts: dict[str, T], only: tuple[str, ...]) -> dict[str, T]:
    """The parts to run: all, or those named in full (rewrite/cast20), by file (cast20) or by folder (rewrite)."""
    for name in only:
        if not any(name in (full, *full.split("/")) for full in parts):
            raise BadRequest(f"There is no {name!r} to evaluate here.", f"There is: {', '.join(parts)}.")
    return {
        full: part for full, part in parts.items() if not only or any(name in (full, *full.split("/")) for name in only)
    }


def with_progress(items: Sequence[T], task: str, progress: Progress) -> Iterator[T]:
    """The items one by one, reporting progress after each."""
    progress(task, 0, len(items))
    for done, item in enumerate(items, 1):
        yield item
        progress(task, done, len(items))
