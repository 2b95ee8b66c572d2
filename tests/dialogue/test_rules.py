"""The words that a message leaves out, found by rules."""

from __future__ import annotations

import pytest
from spoken import leans, said

from turnwise.dialogue.rules import MIN_FOLLOW_UP_CONFIDENCE, OTHER_LANGUAGE_WEIGHT, by_last_question, by_rules
from turnwise.types import Term


def test_a_pronoun_after_two_things_of_a_kind_has_a_reading_for_each() -> None:
    seen = said("What is the difference between BERT and GPT?", "BERT reads both ways, GPT left to right. [1]")
    found = by_rules("Who made it?", seen, leans(0.95))
    assert (found.query, found.candidates) == ("Who made BERT?", ("Who made GPT?",))
    assert by_rules("How do they work?", seen, leans(0.95)).query == "How do BERT and GPT work?"


def test_the_subject_of_the_last_question_is_meant_before_that_of_an_earlier_one() -> None:
    seen = said("What is BERT?", "A model. [1]", "What is GPT?", "A model. [2]")
    found = by_rules("Who made it?", seen, leans(0.95))
    assert found.query.startswith("Who made GPT")
    assert found.candidates == ()


def test_below_the_confidence_to_rewrite_the_likely_words_only_count() -> None:
    seen = said("What is BERT?", "A model. [1]")
    found = by_rules("Who made it?", seen, leans(MIN_FOLLOW_UP_CONFIDENCE - 0.01))
    assert (found.query, found.method) == ("Who made it?", "literal")
    assert [term.text for term in found.added] == ["BERT"]
    assert by_rules("Who made it?", seen, leans(MIN_FOLLOW_UP_CONFIDENCE)).query == "Who made BERT?"


def test_in_another_language_the_last_questions_words_count_a_little() -> None:
    seen = said("Was ist der Gradientenabstieg?", "Ein Verfahren.")
    found = by_last_question("Wie schnell ist er?", seen, "de")
    assert (found.query, found.method) == ("Wie schnell ist er?", "literal")
    assert found.added == (Term("Gradientenabstieg", OTHER_LANGUAGE_WEIGHT),)
    assert by_last_question("Wie?", [], "de").added == ()


@pytest.mark.parametrize(
    ("code", "asked", "more", "query"),
    [
        ("de", "Was ist ein Brennofen?", "Erzähl mir mehr!", "Erzähl mir mehr: Brennofen"),
        ("fr", "Qu’est-ce que BERT ?", "Dis-m'en plus", "Dis-m’en plus: BERT"),
        ("es", "¿Qué es BERT?", "Cuéntame más", "Cuéntame más: BERT"),
        ("pt", "O que é BERT?", "Conte mais", "Conte mais: BERT"),
        ("zh", "什么是窑炉？", "告诉我更多", "告诉我更多: 什么是窑炉"),
        ("ja", "窯とは何ですか？", "もっと詳しく教えて", "もっと詳しく教えて: 窯とは何ですか"),
        ("fr", "Qu’est-ce que BERT ?", "mais pourquoi ?", "mais pourquoi ?"),
        ("de", "Was ist BERT?", "und mehr zu GPT", "und mehr zu GPT"),
    ],
)
def test_more_in_another_language_is_asked_of_the_last_subject(code: str, asked: str, more: str, query: str) -> None:
    seen = said(asked, "Es ist so. [1]")
    assert by_last_question(more, seen, code).query == query
    if query != more:  # also if more was asked for before
        assert by_last_question(more, [*seen, *said(more, "Noch etwas. [1]")], code).query == query
