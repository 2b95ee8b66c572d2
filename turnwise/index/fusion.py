"""Combines what a search finds by words and by meaning into one ranking, the same way in every index."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from turnwise.types import Hit, Passage

DEPTH = 100  # passages that the words of a text find, and as many that its vector finds
WORDS_WEIGHT = 0.07  # what the best passage by words gains over one with none of the words, in cosines
TALK_WORDS_WEIGHT = 0.15  # the same for recent questions, where a word that comes back says more
LOOKED_UP_PASSAGES = 15  # the first found by words: their cosines are looked up if they are not among the nearest
USUAL_RANK = 5  # a passage without a vector counts as near as the one of this rank


@dataclass(frozen=True, slots=True)
class Found:
    """What one text finds: passages with their BM25 scores and with their cosines, the best first. Those in `unknown`
    have no vector yet."""

    words: Mapping[int, float]
    cosines: Mapping[int, float]
    unknown: Collection[int] = field(default=frozenset())


def unplaced(words: Mapping[int, float], cosines: Mapping[int, float]) -> list[int]:
    """The passages found by words whose cosines are worth looking up."""
    return [passage for passage in islice(words, LOOKED_UP_PASSAGES) if passage not in cosines]


def fused(question: Found, talk: Found | None = None, talk_weight: float = 0.0) -> dict[int, float]:
    """The score of every passage found: its cosine plus a little for its words, and with `talk` the same for recent
    questions, times `talk_weight`. A passage that is not among the nearest counts as near as the last of them."""
    scores = _scores(question, WORDS_WEIGHT)
    least = _least(question)
    if talk is None:
        return dict(scores)
    others, least_other = _scores(talk, TALK_WORDS_WEIGHT), _least(talk)
    return {
        passage: scores.get(passage, least) + talk_weight * others.get(passage, least_other)
        for passage in scores.keys() | others.keys()
    }


def best(scores: Mapping[int, float], words: Mapping[int, float], k: int) -> list[int]:
    """The best k passages. Ties are common while vectors are being made; the better one by words then comes first."""
    if k <= 0:
        return []
    cut = min(heapq.nlargest(k, scores.values()), default=0.0)
    ranked = [passage for passage, score in scores.items() if score >= cut]
    ranked.sort(key=lambda passage: (-scores[passage], -words.get(passage, 0.0), passage))
    return ranked[:k]


def hits(ids: Sequence[int], scores: Mapping[int, float], found: Found, passages: Mapping[int, Passage]) -> list[Hit]:
    """The passages as hits, in that order, without those removed in the meantime."""
    by_words, by_meaning = ranks(found.words), ranks(found.cosines)
    return [
        Hit(passages[each], scores[each], found.cosines.get(each), by_words.get(each), by_meaning.get(each))
        for each in ids
        if each in passages
    ]


def ranks(passages: Iterable[int]) -> dict[int, int]:
    return {passage: rank for rank, passage in enumerate(islice(passages, DEPTH), 1)}


def _scores(found: Found, share: float) -> dict[int, float]:
    top = max(found.words.values(), default=1.0) or 1.0
    least, usual = _least(found), _usual(found)
    scores = dict(found.cosines)
    for passage, score in found.words.items():
        cosine = scores.get(passage, usual if passage in found.unknown else least)
        scores[passage] = cosine + share * score / top
    return scores


def _least(found: Found) -> float:
    return min(islice(found.cosines.values(), DEPTH), default=0.0)


def _usual(found: Found) -> float:
    return min(heapq.nlargest(USUAL_RANK, found.cosines.values()), default=0.0)
