"""The metrics of the benchmarks, as plain functions on values. A share of nothing is 0, and so is an empty ranking."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from random import Random

from turnwise.text import content_stems

# --- rankings ----------------------------------------------------------------------------------------------------

Score = Callable[[Sequence[object], AbstractSet[object]], float]


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure of a ranking against what is relevant. It is its printed name: ndcg(5) == ndcg(5), "ndcg@5"."""

    name: str
    score: Score = field(compare=False, repr=False)

    def __call__(self, ranking: Sequence[object], relevant: AbstractSet[object]) -> float:
        return self.score(ranking, relevant) if relevant else 0.0

    def __str__(self) -> str:
        return self.name


def ndcg(k: int) -> Metric:
    """Normalised discounted cumulative gain of the first k; a passage is relevant or it is not."""

    def score(ranking: Sequence[object], relevant: AbstractSet[object]) -> float:
        gained = sum(_discount(rank) for rank, item in enumerate(ranking[:k]) if item in relevant)
        return gained / sum(_discount(rank) for rank in range(min(k, len(relevant))))

    return Metric(f"ndcg@{k}", score)


def recall(k: int) -> Metric:
    """The share of the relevant that is among the first k."""
    return Metric(f"recall@{k}", lambda ranking, relevant: len(relevant & set(ranking[:k])) / len(relevant))


def mrr(k: int) -> Metric:
    """One over the rank of the first relevant of the first k."""

    def score(ranking: Sequence[object], relevant: AbstractSet[object]) -> float:
        return next((1 / rank for rank, item in enumerate(ranking[:k], 1) if item in relevant), 0.0)

    return Metric(f"mrr@{k}", score)


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 2)


# --- decisions and words -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tally:
    """How many were predicted, how many were expected, and how many of them are the same."""

    right: int = 0
    predicted: int = 0
    expected: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.right + other.right, self.predicted + other.predicted, self.expected + other.expected)

    @property
    def precision(self) -> float:
        return _ratio(self.right, self.predicted)

    @property
    def recall(self) -> float:
        return _ratio(self.right, self.expected)

    @property
    def f1(self) -> float:
        return _ratio(2 * self.right, self.predicted + self.expected)


def decisions(predicted: Sequence[bool], expected: Sequence[bool]) -> dict[str, float]:
    """Accuracy, and precision, recall and F1 of saying yes."""
    pairs = list(zip(predicted, expected, strict=True))
    tally = Tally(sum(p and e for p, e in pairs), sum(predicted), sum(expected))
    return {
        "accuracy": mean(float(p == e) for p, e in pairs),
        "precision": tally.precision,
        "recall": tally.recall,
        "f1": tally.f1,
    }


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """The chance that a yes scores above a no, ties counting half: the area under the ROC curve."""
    ranked = sorted(zip(scores, labels, strict=True))
    below, wins = 0, 0.0
    for _, tied in groupby(ranked, key=itemgetter(0)):
        said = [label for _, label in tied]
        wins += sum(said) * (below + said.count(False) / 2)
        below += said.count(False)
    return _ratio(wins, below * sum(labels))


def added_terms(question: str, rewrite: str) -> set[str]:
    """The stems a rewrite has and the question has not; stop words do not count. Copying the question adds none."""
    return content_stems(rewrite) - content_stems(question)


def overlap(predicted: AbstractSet[str], expected: AbstractSet[str]) -> Tally:
    return Tally(len(predicted & expected), len(predicted), len(expected))


def rouge1_recall(candidate: str, reference: str) -> float:
    """The share of the reference's words that the candidate has, each as often as it occurs in both."""
    wanted = Counter(_tokens(reference))
    return _ratio((wanted & Counter(_tokens(candidate))).total(), wanted.total())


def repeated(answer: str, earlier: Iterable[str], n: int = 4) -> float:
    """The share of an answer's runs of n words that an earlier answer holds."""
    said = {run for text in earlier for run in _runs(text, n)}
    own = _runs(answer, n)
    return _ratio(sum(run in said for run in own), len(own))


def _runs(text: str, n: int) -> list[tuple[str, ...]]:
    tokens = _tokens(text)
    return [tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]


def _tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


# --- numbers -----------------------------------------------------------------------------------------------------


def mean(values: Iterable[float]) -> float:
    listed = list(values)
    return _ratio(math.fsum(listed), len(listed))


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which that per cent of the values lie, between two values where it falls between them."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and between what bounds it would lie in 95 of 100 samples like this one."""

    mean: float
    low: float
    high: float


def paired_bootstrap(groups: Sequence[Sequence[float]], samples: int = 2000, seed: int = 0) -> Interval:
    """The mean of differences, with its interval by drawing whole groups (the conversations they belong to) again and
    again: turns of one conversation are no independent witnesses. The same groups give the same interval."""
    drawn = Random(seed)
    sums = [(math.fsum(group), len(group)) for group in groups if group]
    if not sums:
        return Interval(0.0, 0.0, 0.0)
    means = []
    for _ in range(samples):
        chosen = drawn.choices(sums, k=len(sums))
        means.append(math.fsum(total for total, _ in chosen) / sum(count for _, count in chosen))
    overall = math.fsum(total for total, _ in sums) / sum(count for _, count in sums)
    return Interval(overall, percentile(means, 2.5), percentile(means, 97.5))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
