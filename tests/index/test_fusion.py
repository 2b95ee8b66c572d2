from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.index.fusion import DEPTH, best, fused, hits
from turnwise.types import Passage

rankings = st.lists(st.integers(1, 30), unique=True, max_size=15).map(
    lambda ids: {passage: rank for rank, passage in enumerate(ids, 1)}
)


def test_ranks_add_up_by_their_weights() -> None:
    scores = fused([({7: 1, 8: 2}, 1.0), ({8: 1}, 0.5)])
    assert scores == pytest.approx({7: 1 / 61, 8: 1 / 62 + 0.5 / 61})


@given(rankings, rankings, st.floats(0.1, 1), st.integers(-1, 40))
def test_the_best_are_those_of_the_whole_order(lexical: dict, dense: dict, weight: float, k: int) -> None:
    scores = fused([(lexical, 1.0), (dense, weight)])
    order = sorted(scores, key=lambda each: (-scores[each], lexical.get(each, DEPTH + 1), each))
    assert best(scores, lexical, k) == order[: max(k, 0)]


def test_what_was_removed_since_is_no_hit() -> None:
    passage = Passage(7, 1, "Title", "source", "text")
    (hit,) = hits([8, 7], {7: 0.5, 8: 0.9}, {7: 2}, {8: 1}, {7: 0.25}, {7: passage})
    assert (hit.passage, hit.score, hit.similarity, hit.lexical_rank, hit.dense_rank) == (passage, 0.5, 0.25, 2, None)
