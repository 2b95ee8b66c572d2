"""The words that a message leaves out, as the rules see them."""

from __future__ import annotations

from spoken import leans, said

from turnwise.dialogue.rules import LEANING, OTHER_LANGUAGE, by_last_question, by_rules
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
    found = by_rules("Who made it?", seen, leans(LEANING - 0.01))
    assert (found.query, found.method) == ("Who made it?", "literal")
    assert [term.text for term in found.added] == ["BERT"]
    assert by_rules("Who made it?", seen, leans(LEANING)).query == "Who made BERT?"


def test_in_another_language_the_last_questions_words_count_a_little() -> None:
    seen = said("Was ist der Gradientenabstieg?", "Ein Verfahren.")
    found = by_last_question("Wie schnell ist er?", seen, "de")
    assert (found.query, found.method) == ("Wie schnell ist er?", "literal")
    assert found.added == (Term("Gradientenabstieg", OTHER_LANGUAGE),)
    assert by_last_question("Wie?", [], "de").added == ()
