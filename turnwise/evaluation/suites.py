"""How well the product's own stages decide what is a follow-up, and how well they make it stand alone."""

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
from turnwise.types import Condensed, Hit, Index, Message, Reranker, SearchQuery, Understanding

T = TypeVar("T")
Figures = dict[str, float]
SWITCHES = 6  # parts of a file that an opening question is put behind conversations of, but for its own
Progress = Callable[[str, int, int], None]  # what is being done, how much of it is done, and how much there is


@dataclass(frozen=True, slots=True)
class Product:
    """The stages under test, with all that they work with in the product."""

    settings: Settings
    senses: Senses
    reranker: Reranker | None = None

    def understand(self, message: str, history: Sequence[Message]) -> Understanding:
        return understand(message, history, self.settings, self.senses)

    def condense(self, message: str, history: Sequence[Message]) -> Condensed:
        return condense_stage(message, history, self.understand(message, history))

    def finds(self, asked: data.Question, k: int, index: Index) -> list[Hit]:
        """What a turn finds for a question, with all that the conversation before it tells."""
        message, history = asked.question, asked.history
        understood = self.understand(message, history)
        condensed = condense_stage(message, history, understood)
        query = search_query(message, history, understood, condensed, self.settings)
        earlier = earlier_passages(history, understood.intent == "follow_up", Sieve(index, None))
        return self.find(query, k, index, earlier)

    def find(self, query: SearchQuery, k: int, index: Index, earlier: Earlier = NO_EARLIER) -> list[Hit]:
        return find(query, k, index.search, self.reranker, earlier)


def followup(folder: Path, only: tuple[str, ...], progress: Progress, product: Product) -> dict[str, Figures]:
    """Accuracy, precision, recall and F1 by file: of "needs its context", or of "changes the topic"."""
    figures = {}
    for name, path in chosen(data.labelled(folder), only).items():
        shifts = "shift" in data.first_row(path)
        cases = _turns(path) if shifts else _questions(path)
        predicted = [
            product.understand(message, history).follow_up.is_follow_up != shifts
            for message, history, _ in watched(cases, name, progress)
        ]
        figures[name] = {"n": len(cases), **decisions(predicted, [expected for _, _, expected in cases])}
    return figures


def condense(folder: Path, only: tuple[str, ...], progress: Progress, product: Product) -> dict[str, Figures]:
    """What condensing adds beside what a person added, by file, and the time understanding and condensing take."""
    return {
        name: _condensing(data.questions(path, "rewrite"), name, progress, product)
        for name, path in chosen(data.rewritten(folder), only).items()
    }


Case = tuple[str, tuple[Message, ...], bool]  # a message, what was said before it, and the label


def _questions(path: Path) -> list[Case]:
    """The later questions and whether they need their context."""
    return [
        (asked.question, asked.history, bool(asked.needs_context))
        for asked in data.later_questions(path, "needs_context")
    ]


def _turns(path: Path) -> list[Case]:
    """Every turn but the first of every talk, and whether it changes the topic."""
    return [
        (talk.turns[i], said_before(talk.turns, i), talk.shift[i])
        for talk in data.talks(path)
        for i in range(1, len(talk.turns))
    ]


def said_before(turns: Sequence[str], i: int) -> tuple[Message, ...]:
    """The turns before the i-th, of two people who take turns; the i-th is the user's."""
    return tuple(Message("assistant" if (i - j) % 2 else "user", text) for j, text in enumerate(turns[:i]))


def _condensing(questions: list[data.Question], name: str, progress: Progress, product: Product) -> Figures:
    asked = [each for each in questions if each.turn > 1]
    terms = Tally()
    rouge: list[float] = []
    false_changes: list[float] = []
    milliseconds: list[float] = []
    for one in watched(asked, name, progress):
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
        **_switched(questions, product),
        "p50_ms": percentile(milliseconds, 50),
        "p95_ms": percentile(milliseconds, 95),
    }


def _switched(questions: Sequence[data.Question], product: Product) -> Figures:
    """The share of opening questions that are changed after the history of another conversation of the file, each after
    several, and how many such pairs there are."""
    first = [place for place, each in enumerate(questions) if each.turn == 1]
    longest = [questions[end - 1].history for end in (*first[1:], len(questions))] if first else []
    apart = {len(first) * step // SWITCHES for step in range(1, SWITCHES)} - {0}
    pairs = [(questions[place].question, longest[n - far]) for n, place in enumerate(first) for far in sorted(apart)]
    changed = [
        float(bool(added_terms(opening, product.condense(opening, before).query)))
        for opening, before in pairs
        if before
    ]
    return {"switched": len(changed), "switched_change_rate": mean(changed)}


def chosen(found: dict[str, T], only: tuple[str, ...]) -> dict[str, T]:
    """The parts to run: all, or those named in full (rewrite/cast20), by file (cast20) or by folder (rewrite)."""
    for name in only:
        if not any(name in (whole, *whole.split("/")) for whole in found):
            raise BadRequest(f"There is no {name!r} to evaluate here.", f"There is: {', '.join(found)}.")
    return {
        whole: part
        for whole, part in found.items()
        if not only or any(name in (whole, *whole.split("/")) for name in only)
    }


def watched(items: Sequence[T], what: str, progress: Progress) -> Iterator[T]:
    """The items one by one, with word of each that is done."""
    progress(what, 0, len(items))
    for done, item in enumerate(items, 1):
        yield item
        progress(what, done, len(items))
