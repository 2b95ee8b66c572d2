"""Every metric against a value worked out by hand."""

from math import log2

import pytest

from turnwise.evaluation.metrics import (
    Tally,
    added_terms,
    decisions,
    mean,
    mrr,
    ndcg,
    overlap,
    percentile,
    recall,
    rouge1_recall,
)


def test_a_metric_is_its_printed_name() -> None:
    assert str(ndcg(5)) == "ndcg@5"
    assert str(recall(5)) == "recall@5"
    assert str(mrr(10)) == "mrr@10"
    assert ndcg(5) == ndcg(5)
    assert len({ndcg(5), ndcg(5), ndcg(10), recall(5)}) == 3


@pytest.mark.parametrize(
    ("ranking", "relevant", "expected"),
    [
        (["a", "b", "c"], {"a"}, 1.0),
        (["b", "a", "c"], {"a"}, 1 / log2(3)),
        (["a", "x", "b"], {"a", "b"}, (1 + 1 / 2) / (1 + 1 / log2(3))),
        (["x", "y", "z", "w", "v", "a"], {"a"}, 0.0),  # found, but after the fifth
        (list("abcde"), set("abcdefg"), 1.0),  # more relevant than places: the ideal fills the places
        ([], {"a"}, 0.0),
        (["a"], set(), 0.0),
    ],
)
def test_ndcg(ranking: list[str], relevant: set[str], expected: float) -> None:
    assert ndcg(5)(ranking, relevant) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ranking", "relevant", "expected"),
    [
        (list("axbyz"), {"a", "b", "c"}, 2 / 3),
        (list("vwxyza"), {"a"}, 0.0),
        ([], {"a"}, 0.0),
        (["a"], set(), 0.0),
    ],
)
def test_recall(ranking: list[str], relevant: set[str], expected: float) -> None:
    assert recall(5)(ranking, relevant) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [(["a"], 1.0), (["x", "y", "b", "a"], 1 / 3), (["x"] * 9 + ["a"], 1 / 10), (["x"] * 10 + ["a"], 0.0), ([], 0.0)],
)
def test_mrr(ranking: list[str], expected: float) -> None:
    assert mrr(10)(ranking, {"a", "b"}) == pytest.approx(expected)


def test_decisions() -> None:
    predicted = [True, True, True, False, False, False]
    expected = [True, True, False, True, False, False]
    assert decisions(predicted, expected) == pytest.approx(
        {"accuracy": 4 / 6, "precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3}
    )


def test_always_yes_has_full_recall_and_the_share_of_yes_as_precision() -> None:
    assert decisions([True] * 4, [True, False, True, True]) == pytest.approx(
        {"accuracy": 0.75, "precision": 0.75, "recall": 1.0, "f1": 6 / 7}
    )


def test_nothing_decided_is_zero_and_not_an_error() -> None:
    assert decisions([], []) == {"accuracy": 0.0, "precision": 0.0, "recall": 0.0, "f1": 0.0}


def test_added_terms_are_stems_without_stop_words_and_without_the_questions_own() -> None:
    assert added_terms("How does it compare?", "How does BERT compare to GPT models?") == {"bert", "gpt", "model"}
    assert added_terms("Which models compare well?", "Which model compares well with them?") == set()  # the same stems
    assert added_terms("What is it?", "What is it?") == set()


def test_added_terms_count_over_all_turns_together() -> None:
    tally = overlap({"bert", "gpt"}, {"bert"}) + overlap(set(), {"learn", "rate", "descent"})
    assert tally == Tally(right=1, predicted=2, expected=4)
    assert (tally.precision, tally.recall, tally.f1) == (0.5, 0.25, pytest.approx(1 / 3))


@pytest.mark.parametrize(
    ("candidate", "reference", "expected"),
    [
        ("Why did they break up?", "Why did the Mothers break up?", 4 / 6),
        ("the the the", "the band, the BAND", 2 / 4),  # a word counts as often as it is in both
        ("co-op 2nd", "Co op: 2ND!", 1.0),
        ("", "words", 0.0),
        ("words", "", 0.0),
    ],
)
def test_rouge1_recall(candidate: str, reference: str, expected: float) -> None:
    assert rouge1_recall(candidate, reference) == pytest.approx(expected)


def test_mean_and_percentile() -> None:
    assert mean([]) == 0.0
    assert mean([1, 2, 6]) == 3.0
    assert percentile([], 50) == 0.0
    assert percentile([7], 95) == 7
    assert percentile([4, 1, 3, 2], 50) == 2.5
    assert percentile(list(range(101)), 95) == 95
