"""The metrics of the benchmarks, as plain functions. A share of nothing is 0, as is the score of an empty ranking."""

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

NGRAM_WORDS = 4
REPEATING_SHARE = 0.13  # of an answer's n-grams; 95% of human-written answers stay below

Score = Callable[[Sequence[object], AbstractSet[object]], float]


@dataclass(frozen=True, slots=True)
class Metric:
    """A measure of a ranking against the relevant items. Metrics compare by name: ndcg(5) is "ndcg@5"."""

    name: str
    score: Score = field(compare=False, repr=False)

    def __call__(self, ranking: Sequence[object], relevant: AbstractSet[object]) -> float:
        return self.score(ranking, relevant) if relevant else 0.0

    def __str__(self) -> str:
        return self.name


def ndcg(k: int) -> Metric:
    """Normalised discounted cumulative gain of the first k, with binary relevance."""

    def score(ranking: Sequence[object], relevant: AbstractSet[object]) -> float:
        gained = sum(_discount(rank) for rank, item in enumerate(ranking[:k]) if item in relevant)
        return gained / sum(_discount(rank) for rank in range(min(k, len(relevant))))

    return Metric(f"ndcg@{k}", score)


def recall(k: int) -> Metric:
    """The share of the relevant items that are among the first k."""
    return Metric(f"recall@{k}", lambda ranking, relevant: len(relevant & set(ranking[:k])) / len(relevant))


def mrr(k: int) -> Metric:
    """The reciprocal rank of the first relevant item among the first k."""

    def score(ranking: Sequence[object], relevant: AbstractSet[object]) -> float:
        return next((1 / rank for rank, item in enumerate(ranking[:k], 1) if item in relevant), 0.0)

    return Metric(f"mrr@{k}", score)


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 2)


# --- decisions and words -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tally:
    """How many items were predicted, how many were expected, and how many are in both."""

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
    """Accuracy, and precision, recall and F1 of the positive class."""
    pairs = list(zip(predicted, expected, strict=True))
    tally = Tally(sum(p and e for p, e in pairs), sum(predicted), sum(expected))
    return {
        "accuracy": mean(float(p == e) for p, e in pairs),
        "precision": tally.precision,
        "recall": tally.recall,
        "f1": tally.f1,
    }


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """The area under the ROC curve: the chance that a positive scores above a negative, with ties counting half."""
    ranked = sorted(zip(scores, labels, strict=True))
    below, wins = 0, 0.0
    for _, tied in groupby(ranked, key=itemgetter(0)):
        tied_labels = [label for _, label in tied]
        wins += sum(tied_labels) * (below + tied_labels.count(False) / 2)
        below += tied_labels.count(False)
    return _ratio(wins, below * sum(labels))


def added_terms(question: str, rewrite: str) -> set[str]:
    """The stems that are in the rewrite but not in the question, without stop words."""
    return content_stems(rewrite) - content_stems(question)


def overlap(predicted: AbstractSet[str], expected: AbstractSet[str]) -> Tally:
    return Tally(len(predicted & expected), len(predicted), len(expected))


def rouge1_recall(candidate: str, reference: str) -> float:
    """The share of the reference's words that are also in the candidate, counting repetitions."""
    wanted = Counter(_tokens(reference))
    return _ratio((wanted & Counter(_tokens(candidate))).total(), wanted.total())


def repeats(answer: str, earlier: Iterable[str]) -> bool:
    """Whether an answer repeats too much of earlier ones."""
    return repeated_share(answer, earlier) > REPEATING_SHARE


def repeated_share(answer: str, earlier: Iterable[str]) -> float:
    """The share of an answer's n-grams that are in an earlier answer."""
    known = {ngram for text in earlier for ngram in _ngrams(text)}
    own = _ngrams(answer)
    return _ratio(sum(ngram in known for ngram in own), len(own))


def _ngrams(text: str) -> list[tuple[str, ...]]:
    tokens = _tokens(text)
    return [tuple(tokens[start : start + NGRAM_WORDS]) for start in range(len(tokens) - NGRAM_WORDS + 1)]


def _tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


# --- numbers -----------------------------------------------------------------------------------------------------


def mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return _ratio(math.fsum(numbers), len(numbers))


def percentile(values: Sequence[float], percent: float) -> float:
    """The percentile of the values, with linear interpolation."""
    if not values:
        return 0.0
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95% confidence interval."""

    mean: float
    low: float
    high: float


def paired_bootstrap(groups: Sequence[Sequence[float]], samples: int = 2000, seed: int = 0) -> Interval:
    """The mean of the differences, with a bootstrap interval. Whole groups (conversations) are resampled, because the
    turns of one conversation are not independent. The same groups give the same interval."""
    random = Random(seed)
    sums = [(math.fsum(group), len(group)) for group in groups if group]
    if not sums:
        return Interval(0.0, 0.0, 0.0)
    means = []
    for _ in range(samples):
        sample = random.choices(sums, k=len(sums))
        means.append(math.fsum(total for total, _ in sample) / sum(count for _, count in sample))
    overall = math.fsum(total for total, _ in sums) / sum(count for _, count in sums)
    return Interval(overall, percentile(means, 2.5), percentile(means, 97.5))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
