from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.errors import WeightsError
from turnwise.models.matcher import WordMatcher
from turnwise.types import Passage

MATCHER = WordMatcher()
SHOP = (
    "Returns are accepted within 30 days of delivery.",
    "The shop opens at nine on weekdays.",
    "A day ticket is £4.50.",
    "Dogs must be kept on a lead.",
)


def passage(text: str, title: str = "", heading: str = "") -> Passage:
    return Passage(1, 1, title, "", text, heading)


def best(question: str) -> str:
    scores = MATCHER.scores(question, [passage(text) for text in SHOP])
    return SHOP[scores.index(max(scores))]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How long do I have to send something back?", 0),
        ("what time can I come in the morning", 1),
        ("how much does it cost for one day", 2),
        ("can my puppy run around freely", 3),
    ],
)
def test_a_sentence_that_answers_in_other_words_comes_first(question: str, answer: int) -> None:
    assert best(question) == SHOP[answer]


def test_the_title_and_the_heading_count() -> None:
    opening = "It opens at nine."
    scores = MATCHER.scores(
        "When does the pool open?", [passage(opening, "The gym"), passage(opening, "Leisure centre", "The pool")]
    )
    assert scores[1] > scores[0]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=6), st.text(max_size=20))
def test_every_text_has_a_score_that_no_other_changes(question: str, texts: list[str], title: str) -> None:
    sentences = [passage(text, title) for text in texts]
    scores = MATCHER.scores(question, sentences)
    assert len(scores) == len(texts)
    assert np.isfinite(scores).all()
    alone = [MATCHER.scores(question, [each])[0] for each in sentences]
    assert scores == pytest.approx(alone, abs=1e-5)


def test_lone_surrogates_and_long_texts_are_read() -> None:
    (odd, long) = MATCHER.scores("is \ud800 it open", [passage("it \udfff is open"), passage("open " * 50_000)])
    assert np.isfinite([odd, long]).all()


def test_threads_share_it() -> None:
    matcher, sentences = WordMatcher(), [passage(text) for text in SHOP]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: matcher.scores("When does the shop open?", sentences), range(16)))
    assert all(each == found[0] for each in found)


def test_damaged_weights_are_reported(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="cannot be loaded"):
        WordMatcher(tmp_path).scores("open?", [passage("It is open.")])
    (tmp_path / "matcher.npz").write_bytes(b"rubbish")
    (tmp_path / "matcher.json").write_text('{"sha256": "0"}')
    with pytest.raises(WeightsError, match="not the file that its card names"):
        WordMatcher(tmp_path).scores("open?", [passage("It is open.")])


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(max_codepoint=0x7F, min_codepoint=0x20), max_size=80) | st.text(max_size=40))
def test_texts_are_divided_as_the_tokenizer_divides_them(text: str) -> None:
    model = MATCHER._model()
    assert model._tokens(text).tolist() == model._tokenize(text).tolist()
