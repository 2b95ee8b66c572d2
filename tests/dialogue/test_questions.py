"""The questions that one message asks, each made to stand alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.dialogue.questions import MAX_MESSAGE_CHARS, compared_sides, join_questions, questions

SEVERAL = {
    "What is BERT, and who made GPT?": ("What is BERT?", "who made GPT?"),
    "What is BERT? How does GPT work?": ("What is BERT?", "How does GPT work?"),
    "What is BERT and who made it?": ("What is BERT?", "who made BERT?"),
    "what is bert and who made it": ("what is bert", "who made bert"),
    "How much is a swim and until when is the pool open?": (
        "How much is a swim?",
        "until when is the pool open?",
    ),
    "When is the exam and in which room is it?": ("When is the exam?", "in which room is the exam?"),
    "What is edifest? When is it? What does it cost?": (
        "What is edifest?",
        "When is edifest?",
        "What does edifest cost?",
    ),
    "What is gradient descent, how does it work, and when does it fail?": (
        "What is gradient descent?",
        "how does gradient descent work?",
        "when does gradient descent fail?",
    ),
    "How is BERT trained and who made it?": ("How is BERT trained?", "who made BERT?"),
    "When is edifest and what are its activities?": ("When is edifest?", "what are edifest’s activities?"),
    "Who made BERT and GPT and what do they do?": ("Who made BERT and GPT?", "what do BERT and GPT do?"),
    "Who founded OpenAI and how old is he?": ("Who founded OpenAI?", "how old is the person who founded OpenAI?"),
    "Who is Ada Lovelace and when was she born?": ("Who is Ada Lovelace?", "when was Ada Lovelace born?"),
    "Which model is best and which is worst?": ("Which model is best?", "which is worst (model)?"),
    "What is edifest and is it free?": ("What is edifest?", "is edifest free?"),
    "Tell me what BERT is and how it works": ("Tell me what BERT is", "how BERT works"),
    "1. What is BERT? 2. What is GPT?": ("What is BERT?", "What is GPT?"),
    "What is BERT? And GPT?": ("What is BERT?", "What is GPT?"),
    "I have a cat. What does it eat? How long does it live?": (
        "I have a cat. What does it eat?",
        "How long does the cat live?",
    ),
    "What is BERT, and what is 15% of 80?": ("What is BERT?", "what is 15% of 80?"),
    "What's BERT? What's GPT?": ("What's BERT?", "What's GPT?"),
    "What is the fee of Edicenter and when is it due?": (
        "What is the fee of Edicenter?",
        "when is the fee of Edicenter due?",
    ),
    "What is BERT, where is Edicenter, and what is GPT?": ("What is BERT?", "where is Edicenter?", "what is GPT?"),
}


@pytest.mark.parametrize("message", SEVERAL)
def test_each_question_of_a_message_stands_alone(message: str) -> None:
    assert questions(message) == SEVERAL[message]


@pytest.mark.parametrize(
    "message",
    [
        "What is BERT?",
        "What are the advantages and disadvantages of BERT?",
        "how and why does it work?",
        "Do you know who made BERT and when?",
        "What is the difference between who pays and who decides?",
        "Is BERT better than GPT and why?",
        "What is BERT? Why?",
        "What is BERT? Thanks!",
        "Can you help me? What is BERT?",
        "What time does it open and close?",
        "If a booking is cancelled by the school, is it refunded?",
        "Is it true that cats and dogs fight, and why do they?",
        "Compare BERT and GPT",
        "What is the logic behind the letters in the Sweet v. Jones case?",
        "What retailer is the largest in Ohio and has a famous owner?",
        "How is steaming different from grilling? Which one is healthier?",
        "Why is there no global market? Wouldn't that be easier?",
        "Can I have more phone numbers? Any limits?",
        "Can I mail in my documents and do it all that way?",
        "What is dropout? Give me an example.",
        "When I apply, how do I get benefits?",
        "How do I get started? I just look through the catalogue?",
        "",
        "?",
    ],
)
def test_a_message_that_asks_one_thing_stays_as_it_is(message: str) -> None:
    assert questions(message) == (message,)


@pytest.mark.parametrize(
    ("message", "code", "asked"),
    [
        ("Was ist BERT? Wer hat es gemacht?", "de", ("Was ist BERT?", "Wer hat es gemacht? (BERT)")),
        ("Was ist BERT? Was ist GPT?", "de", ("Was ist BERT?", "Was ist GPT?")),
        ("¿Qué es BERT? ¿Quién lo hizo?", "es", ("¿Qué es BERT?", "¿Quién lo hizo? (BERT)")),
        ("什么是BERT？它有什么用？", "zh", ("什么是BERT？", "它有什么用？ (BERT)")),
    ],
)
def test_in_another_language_a_question_mark_tells_and_the_subject_stands_beside(
    message: str, code: str, asked: tuple[str, ...]
) -> None:
    assert questions(message, code) == asked


@pytest.mark.parametrize("message", ["wieso so wenig??", "bis wann ??? danke", "wirklich?! auch am sonntag?"])
def test_several_question_marks_are_no_questions_of_their_own(message: str) -> None:
    assert questions(message, "de") == (message,)


def test_in_another_language_sentences_without_a_question_mark_are_no_questions() -> None:
    assert questions("BERT ist gut. GPT ist besser.", "de") == ("BERT ist gut. GPT ist besser.",)


def test_very_many_questions_are_told_apart_but_not_those_of_a_very_long_message() -> None:
    asked = tuple(f"What is model{number}?" for number in range(9))
    assert questions(" ".join(asked)) == asked
    assert questions("What is BERT? " * MAX_MESSAGE_CHARS) == ("What is BERT? " * MAX_MESSAGE_CHARS,)


WORDS = st.lists(
    st.sampled_from("What is BERT GPT it and who made how does they work , ? . ; the and the one why 15% he".split()),
    max_size=25,
).map(" ".join)


@given(st.text(max_size=80) | WORDS, st.sampled_from(["en", "de", "zh", ""]))
def test_any_text_gives_at_least_one_question_and_no_more_than_are_asked(message: str, code: str) -> None:
    found = questions(message, code)
    assert 1 <= len(found) <= max(1, len(message))
    assert len(found) == 1 or all(each.strip() for each in found)


@pytest.mark.parametrize("message", SEVERAL)
def test_written_as_one_message_they_are_the_same_questions(message: str) -> None:
    assert questions(join_questions(questions(message))) == questions(message)


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("how do online and printed forms differ?", ("online forms", "printed forms")),
        ("how does Skyline compare to the Donkey?", ("Skyline", "the Donkey")),
    ],
)
def test_a_noun_belongs_to_both_sides_only_after_two_adjectives(question: str, sides: tuple[str, ...]) -> None:
    assert compared_sides(question) == sides
