"""Opening sentences of models that are not part of an answer, and those that are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.dialogue.opening import Opening


def shown(*pieces: str) -> str:
    opening = Opening()
    return "".join([*(opening.feed(piece) for piece in pieces), opening.close()])


@pytest.mark.parametrize(
    "said",
    [
        "I'm ready to begin.",
        "Okay, I understand.",
        "Okay, I understand. I'm ready to begin!",
        "OK, I understand the instructions and I will cite the evidence.",
        "I’m ready for your next question.",
        "I am ready for your next question",
        "Understood. I'm ready to help you with your questions.",
        "Got it!",
        "Sure! I'm ready when you are.",
        "Okay.",
        "I have read the documents and I am ready to answer your questions.",
        "How can I help you today?",
        "Hello! How can I assist you?",
    ],
)
def test_an_acknowledgement_is_not_an_answer_and_is_dropped_before_one(said: str) -> None:
    for pieces in ((said,), tuple(said)):
        assert shown(*pieces) == ""
    for gap in (" ", "\n\n"):
        whole = f"{said}{gap}BERT is a model [1]. I'm ready."
        expected = "BERT is a model [1]. I'm ready."
        if said[-1] not in ".!?" and gap == " ":
            continue
        assert shown(whole) == shown(*whole) == expected


@pytest.mark.parametrize(
    "said",
    [
        "BERT is a model [1].",
        "“Okay, I understand” is what such a model says [1].",
        "Okay is written in capitals there [1].",
        "Okay, BERT is a model [1].",
        "Yes.",
        "Yes, it does [1].",
        "Sure, it reads both ways [1].",
        "I understand that BERT reads both ways [1].",
        "I'm ready to begin: BERT is a model [1].",
        "Ready-made vectors are used [1].",
        "How can I tell? By the words [1].",
        "Understood as a graph, it has two layers [1].",
        "Okapi BM25 ranks by words [1].",
        "",
    ],
)
def test_an_answer_stays_as_it_is(said: str) -> None:
    assert shown(said) == shown(*said) == said


def test_an_answer_is_held_back_for_a_few_characters_only() -> None:
    assert Opening().feed("BERT") == "BERT"
    assert Opening().feed("Okay, BERT") == "Okay, BERT"
    opening = Opening()
    assert [opening.feed(each) for each in ("I", " am", " a model")] == ["", "", "I am a model"]
    assert [opening.feed("I'm ready to begin."), opening.close()] == ["I'm ready to begin.", ""]


def test_several_end_marks_count_as_one() -> None:
    assert shown("I understand", "!", ". ") == shown("I understand!. ") == ""


pieces = st.sampled_from(
    [
        "Okay",
        ", ",
        "I understand",
        ". ",
        ".",
        "…",
        "?",
        ":",
        "\n",
        "I'm ready to begin",
        "BERT",
        "Sure",
        "!",
        " ",
        "a" * 50,
    ]
)


@given(st.lists(pieces, max_size=10))
def test_the_result_does_not_depend_on_where_the_stream_was_cut(pieces: list[str]) -> None:
    assert shown(*pieces) == shown("".join(pieces)) == shown(*"".join(pieces))
