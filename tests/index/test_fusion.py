from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.index.fusion import (
    DEPTH,
    LOOKED_UP_PASSAGES,
    TALK_WORDS_WEIGHT,
    WORDS_WEIGHT,
    Found,
    best,
    fused,
    hits,
    unplaced,
)
from turnwise.types import Passage

scored = st.dictionaries(st.integers(1, 30), st.floats(0.01, 1), max_size=15)
found = st.builds(Found, scored, scored)


def test_a_passage_scores_by_its_cosine_and_a_little_by_its_words() -> None:
    scores = fused(Found({7: 4.0, 8: 2.0}, {8: 0.9, 9: 0.5}))
    assert scores == pytest.approx({8: 0.9 + WORDS_WEIGHT / 2, 9: 0.5, 7: 0.5 + WORDS_WEIGHT})


def test_what_was_asked_of_late_counts_at_its_weight() -> None:
    scores = fused(Found({}, {8: 0.9, 9: 0.5}), Found({7: 3.0}, {9: 0.8, 8: 0.4}), 0.5)
    expected = {8: 0.9 + 0.5 * 0.4, 9: 0.5 + 0.5 * 0.8, 7: 0.5 + 0.5 * (0.4 + TALK_WORDS_WEIGHT)}
    assert scores == pytest.approx(expected)


def test_a_passage_without_a_vector_is_not_put_last() -> None:
    near = {each: 0.9 - each / 100 for each in range(20)}
    scores = fused(Found({50: 2.0, 51: 2.0}, near, frozenset({50})))
    order = sorted(scores, key=lambda each: -scores[each])
    assert order[0] == 50
    assert order.index(51) > 10


def test_only_the_first_by_words_are_looked_up() -> None:
    assert unplaced(dict.fromkeys(range(40), 1.0), {3: 0.5}) == [
        each for each in range(LOOKED_UP_PASSAGES) if each != 3
    ]


@given(found, found, st.floats(0.1, 1), st.integers(-1, 40))
def test_the_best_are_those_of_the_whole_order(question: Found, talk: Found, weight: float, k: int) -> None:
    scores = fused(question, talk, weight)
    assert scores.keys() == {*question.words, *question.cosines, *talk.words, *talk.cosines}
    order = sorted(scores, key=lambda each: (-scores[each], -question.words.get(each, 0), each))
    assert best(scores, question.words, k) == order[: max(k, 0)]


def test_what_was_removed_since_is_no_hit() -> None:
    passage = Passage(7, 1, "Title", "source", "text")
    (hit,) = hits([8, 7], {7: 0.5, 8: 0.9}, Found({9: 2.0, 7: 1.0}, {8: 0.3}), {7: passage})
    assert (hit.passage, hit.score, hit.similarity, hit.lexical_rank, hit.dense_rank) == (passage, 0.5, None, 2, None)
    assert DEPTH == 100
