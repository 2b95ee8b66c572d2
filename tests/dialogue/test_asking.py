"""Headings as questions: well-formed, quoted, or none."""

from __future__ import annotations

import pytest

from turnwise.dialogue.asking import question_about, question_on, what_is
from turnwise.dialogue.language import CODES, suggests


@pytest.mark.parametrize(
    ("heading", "text", "question"),
    [
        ("How BERT works", "", "How does BERT work?"),
        ("How neural networks work", "", "How do neural networks work?"),
        ("How BERT is pre-trained", "", "How is BERT pre-trained?"),
        ("Why backpropagation is efficient", "", "Why is backpropagation efficient?"),
        ("When a neural network is the wrong tool", "", "When is a neural network the wrong tool?"),
        ("What a tensor is", "", "What is a tensor?"),
        ("How a network learns", "", "Can you tell me how a network learns?"),
        ("What causes overfitting", "", "Can you tell me what causes overfitting?"),
        ("Who can access Edicenter", "", "Who can access Edicenter?"),
        ("How to fine-tune BERT", "", "How do I fine-tune BERT?"),
        ("BERT compared with GPT", "", "How does BERT compare with GPT?"),
        ("Attention vs. recurrence", "", "How does attention compare with recurrence?"),
        ("Sizes of BERT", "", "What are the sizes of BERT?"),
        ("The cost of attention", "", "What is the cost of attention?"),
        ("3.2 Limits of BERT", "", "What are the limits of BERT?"),
        ("Measuring a classifier", "", "What does measuring a classifier involve?"),
        ("The learning rate", "The learning rate is the number that …", "What is the learning rate?"),
        ("Dropout", "Dropout is a way to …", "What is dropout?"),
        ("Bias and variance", "Bias and variance are the two …", "What are bias and variance?"),
        ("What is BERT?", "", "What is BERT?"),
        ("Tickets", "Tickets are free for pupils.", ""),
        ("Vanishing and exploding gradients", "", ""),
        ("Planning a trip: steps", "", ""),
        ("Food, weather and access", "", ""),
        ("Introduction", "", ""),
        ("A worked example", "", ""),
        ("12", "", ""),
        ("", "", ""),
        ("a word " * 11, "", ""),
    ],
)
def test_a_heading_becomes_a_question_where_its_form_is_known(heading: str, text: str, question: str) -> None:
    assert question_about(heading, text) == question


def test_any_other_heading_becomes_what_should_i_know() -> None:
    for code in CODES:
        assert "ickets" in question_on("Tickets", "", code)
    assert question_on("Tickets", "Here are tickets.") == "What should I know about tickets?"
    assert question_on("Version 4.2 (12 May)", "See Version 4.2.") == "What should I know about Version 4.2?"
    assert question_on("Tickets", "", "de") == "Was sollte ich über „Tickets“ wissen?"
    assert question_on("Einleitung", "", "de") == question_on("Methods", "") == ""
    assert question_on("Size is not weight", "") == ""
    assert question_about("How BERT works", "", "de") == ""
    assert question_about("Was ist das und wie geht es?", "", "de") == "Was ist das und wie geht es?"
    assert question_about("What is BERT?", "", "de") == question_about("Was ist das und wie geht es?", "") == ""
    assert question_on("Tickets", "", "ru") == question_about("What is BERT?", "", "") == ""
    assert suggests("ru") == {}


def test_what_a_text_names_is_asked_for_as_it_is_written_there() -> None:
    text = "BERT is trained by gradient descent. Neural networks are many layers of it."
    assert what_is("Gradient descent", text) == "What is gradient descent?"
    assert what_is("Neural networks", text) == "What are neural networks?"
    assert what_is("BERT", text) == "What is BERT?"
    assert what_is("BER", text) == what_is("GPT", text) == what_is("BERT", text, "de") == ""


def test_a_heading_in_capitals_is_written_as_in_a_sentence() -> None:
    assert question_on("UNIFORM", "Pupils wear a navy jumper.") == "What should I know about uniform?"
    assert question_on("SCHOOL LUNCH", "A hot lunch costs £2.60.") == "What should I know about school lunch?"
    assert question_on("PE KIT", "Bring your kit for PE.") == "What should I know about PE kit?"
    assert question_on("UNESCO SITES", "UNESCO lists 12 sites.") == "What should I know about UNESCO sites?"
    assert question_on("GDPR", "Data is kept for a year.") == "What should I know about GDPR?"
    assert question_about("SUBDUCTION", "Subduction is the process of sinking.") == "What is subduction?"


def test_what_the_text_calls_the_thing_is_called_that_in_the_question() -> None:
    assert question_on("Gym", "The gym is for members.") == "What should I know about the gym?"
    assert question_on("Booking", "Book at the desk.") == "What should I know about booking?"


def test_a_title_with_a_colon_is_not_asked_for() -> None:
    assert what_is("Harbour Centre: rules", "See Harbour Centre: rules.") == ""
