from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.index.words import MOST_WORDS, indexed_words, weighted_words
from turnwise.types import SearchQuery, Term


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cafés' running costs", ["the", "cafe", "run", "cost"]),
        ("snake_case and e-mail, v2.0", ["snake", "case", "and", "e", "mail", "v2", "0"]),
        ("機械学習とAI", ["機械", "械学", "学習", "習と", "ai"]),
        ("Straße ﬁne", ["strass", "fine"]),
        ("…", []),
    ],
)
def test_words_are_folded_stemmed_and_paired(text: str, expected: list[str]) -> None:
    assert indexed_words(text) == expected


def test_a_word_counts_once_at_its_best_weight() -> None:
    query = SearchQuery("How do zebras run?", (Term("running lions", 0.3), Term("the lion", 0.5), Term("gnu", 0)))
    assert weighted_words(query) == {"zebra": 1.0, "run": 1.0, "lion": 0.5}


def test_a_question_of_stop_words_is_searched_as_it_is() -> None:
    assert weighted_words(SearchQuery("to be or not")) == {"to": 1.0, "be": 1.0, "or": 1.0, "not": 1.0}


@given(st.text(), st.lists(st.tuples(st.text(), st.floats(allow_nan=True)), max_size=4))
def test_any_text_gives_words_that_the_index_could_hold(text: str, added: list[tuple[str, float]]) -> None:
    weights = weighted_words(SearchQuery(text, tuple(Term(*each) for each in added)))
    assert len(weights) <= MOST_WORDS
    assert all(0 < weight <= 1 and word and not word.isspace() for word, weight in weights.items())
