"""The message as a question that stands alone, made only of words that were said."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import said

from turnwise.text import content_stems
from turnwise.turn.condense import condense, search_query
from turnwise.turn.understand import understand
from turnwise.types import Condensed, Message, Term

BERT = said("What is BERT?", "BERT is a language model that reads text in both directions at once. [1]")
TWO = said(
    "What is multi-task learning?",
    "Multi-task learning is training one model on several related tasks. [1]",
    "What is causal inference?",
    "Causal inference is the study of what would happen if we changed something. [2]",
)


def condensed(message: str, history: tuple[Message, ...]) -> Condensed:
    return condense(message, history, understand(message, history))


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("How does it compare to GPT?", "How does BERT compare to GPT?"),
        ("Who made it?", "Who made BERT?"),
        ("How does that work?", "How does BERT work?"),
        ("How do I use it?", "How do I use BERT?"),
        ("What are its limits?", "What are BERT’s limits?"),
        ("Its name?", "BERT’s name?"),
        ("tell me more", "tell me more about BERT"),
        ("What else?", "What else about BERT?"),
    ],
)
def test_a_pronoun_a_possessive_or_a_wish_for_more_is_filled_in(message: str, query: str) -> None:
    found = condensed(message, BERT)
    assert found.query == query
    assert found.method == "rules"
    assert [term.text for term in found.added] == ["BERT"]
    assert "BERT" in found.reason


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("Is there an overlap?", "Is there an overlap between multi-task learning and causal inference?"),
        ("How do they differ?", "How do multi-task learning and causal inference differ?"),
        ("Compare them", "Compare multi-task learning and causal inference"),
        (
            "What is the relationship between the two?",
            "What is the relationship between multi-task learning and causal inference?",
        ),
        ("What is their relationship?", "What is the relationship between multi-task learning and causal inference?"),
    ],
)
def test_a_comparison_that_names_no_side_gets_the_last_two_subjects(message: str, query: str) -> None:
    assert condensed(message, TWO).query == query


def test_they_after_two_subjects_means_both() -> None:
    query = condensed("Are they related?", TWO).query
    assert "multi-task learning" in query
    assert "causal inference" in query


@pytest.mark.parametrize(
    ("question", "message", "query"),
    [
        ("What is BERT?", "What about GPT?", "What is GPT?"),
        ("What is BERT?", "And GPT?", "What is GPT?"),
        ("How is BERT pre-trained?", "What about GPT?", "How is GPT pre-trained?"),
        ("How many layers does BERT have?", "And GPT?", "How many layers does GPT have?"),
        ("Who can visit Edicenter?", "What about Edifest?", "Who can visit Edifest?"),
    ],
)
def test_an_ellipsis_asks_the_last_question_of_another_subject(question: str, message: str, query: str) -> None:
    found = condensed(message, said(question, "It is so. [1]"))
    assert found.query == query
    assert found.method == "rules"


@pytest.mark.parametrize("message", ["What is GPT?", "Explain gradient descent", "thanks!", "What did I ask first?"])
def test_what_stands_alone_or_asks_nothing_comes_out_unchanged(message: str) -> None:
    found = condensed(message, BERT)
    assert (found.query, found.added, found.method, found.changed) == (message, (), "literal", False)
    assert found.reason


def test_nothing_is_added_where_the_conversation_begins() -> None:
    assert condensed("How does it compare to GPT?", ()).query == "How does it compare to GPT?"


def test_a_doubtful_follow_up_is_left_as_written_and_helped_a_little_in_the_search() -> None:
    found = condensed("what activities are included", said("What is edifest?", "Edifest is a festival. [1]"))
    assert found.query == "what activities are included"
    assert [term.text.lower() for term in found.added] == ["edifest"]
    assert 0 < found.added[0].weight < 0.6


def test_what_the_caller_gives_wins_unless_it_is_blank() -> None:
    message = "How does it work?"
    given = condense(message, BERT, understand(message, BERT), "  How does GPT work?  ")
    assert (given.query, given.added, given.method) == ("How does GPT work?", (), "caller")
    for blank in ("", "  ", None):
        assert condense(message, BERT, understand(message, BERT), blank).query == "How does BERT work?"


def test_the_search_is_the_literal_message_with_the_added_words_at_less_weight() -> None:
    rewritten = Condensed("How does BERT work?", (Term("BERT", 0.8),), "rules", "")
    query = search_query("How does it work?", rewritten, 0.5)
    assert (query.literal, query.added, query.question) == (
        "How does it work?",
        (Term("BERT", 0.4),),
        "How does BERT work?",
    )
    assert search_query("How does it work?", rewritten, 5.0).added[0].weight == 1.0
    given = search_query("How does it work?", Condensed("How does GPT work?", (), "caller", ""), 0.5)
    assert (given.literal, given.question) == ("How does GPT work?", "How does GPT work?")


def test_the_last_subject_is_meant_and_not_an_aspect_of_it() -> None:
    history = (*said("What is attention?", "Attention lets a network weigh words. [1]"),)
    history = (*history, *said("What are its limits?", "Its cost grows with the square of the length. [2]"))
    assert condensed("Why is it expensive?", history).query == "Why is attention expensive?"


words = st.sampled_from("BERT GPT edifest learning rate field trips Paris model it what how the 1998 causal".split())
contents = st.lists(words, min_size=1, max_size=8).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(
        ["How does it work?", "And GPT?", "Is there an overlap?", "tell me more", "What are their limits?"]
    ),
    st.lists(contents, max_size=6),
)
def test_only_words_that_were_said_are_added(message: str, contents: list[str]) -> None:
    """A rewrite made of other words would answer, drift or invent."""
    history = said(*contents)
    found = condensed(message, history)
    spoken = content_stems(" ".join([message, *contents]))
    assert content_stems(found.query) <= spoken | {"between", "about"}
    assert all(0 < term.weight <= 1 for term in found.added)
