"""A question written with phrases of the conversation."""

from __future__ import annotations

import time

import pytest
from spoken import said

from turnwise.dialogue.asked_again import parallel
from turnwise.dialogue.writing import compared_subjects, coordinated_subjects, last_question, standalone, with_phrases
from turnwise.types import Edit, Message


@pytest.mark.parametrize(
    ("message", "spans", "query"),
    [
        ("How does it work?", ["BERT"], "How does BERT work?"),
        ("What are its limits?", ["BERT"], "What are BERT’s limits?"),
        ("who was their leader?", ["boilers"], "who was boilers’ leader?"),
        ("what are her tasks", ["Mia Berg"], "what are Mia Berg’s tasks"),
        ("how do I tell her about a fallen tree", ["Mia Berg"], "how do I tell Mia Berg about a fallen tree"),
        ("may I write to her?", ["Mia Berg"], "may I write to Mia Berg?"),
        ("tell me more", ["BERT"], "tell me more about BERT"),
        ("Where?", ["Rafael Ramos", "Wenjian Liu"], "Where (Rafael Ramos, Wenjian Liu)?"),
        ("When was it made?", ["BERT", "Google"], "When was BERT made (Google)?"),
        ("Is there an overlap?", ["BERT", "GPT"], "Is there an overlap between BERT and GPT?"),
        ("Compare them", ["BERT", "GPT"], "Compare BERT and GPT"),
        ("Which is better?", ["BERT", "GPT"], "Which is better, BERT or GPT?"),
        ("and which one is better for writing?", ["BERT", "GPT"], "and which one is better for writing, BERT or GPT?"),
    ],
)
def test_a_phrase_takes_the_place_of_the_pronoun_or_stands_in_brackets(
    message: str, spans: list[str], query: str
) -> None:
    assert with_phrases(message, spans) == query


def test_what_was_compared_last_is_compared_again() -> None:
    seen = said("What is edifest?", "A festival.", "Compare BERT and GPT on few-shot learning", "Both learn.")
    assert [phrase for phrase, _ in compared_subjects("Which is better?", seen)] == ["BERT", "GPT"]


@pytest.mark.parametrize("message", ["which is better?", "which one is better for short texts"])
def test_the_sides_of_a_question_that_names_one_are_compared_again(message: str) -> None:
    seen = said("What is Zig?", "A language.", "how is it different from Rust", "It is smaller.")
    assert [phrase for phrase, _ in compared_subjects(message, seen)] == ["Zig", "Rust"]
    seen += said("which one is better for games?", "Both.")
    assert [phrase for phrase, _ in compared_subjects(message, seen)] == ["Zig", "Rust"]


def test_they_stands_for_both_of_two_that_were_said_together() -> None:
    seen = said("Who wrote it?", "Rafael Ramos and Wenjian Liu wrote it. [1]")
    chosen = [("Wenjian Liu", 0.9), ("Rafael Ramos", 0.8)]
    found = standalone("What else did they publish?", seen, chosen, "model", "why")
    assert found.query == "What else did Rafael Ramos and Wenjian Liu publish?"
    assert found.candidates == ()


@pytest.mark.parametrize("message", ["Who made it?", "What are its limits?", "Is he older?"])
def test_one_word_for_one_of_two_that_are_alike_has_two_readings(message: str) -> None:
    seen = said("How do BERT and GPT differ?", "BERT reads both ways. [1]")
    found = standalone(message, seen, [("BERT", 0.6), ("GPT", 0.55), ("reading", 0.5)], "rules", "why")
    assert "BERT" in found.query
    assert "GPT" not in found.query
    (other,) = found.candidates
    assert "GPT" in other
    assert "BERT" not in other
    assert [term.text for term in found.added] == ["BERT", "reading"]
    assert "may also mean “GPT”" in found.reason


def test_two_that_are_not_alike_or_not_as_likely_are_one_reading() -> None:
    seen = said("How do BERT and GPT differ?", "BERT reads both ways. [1]")
    assert standalone("Who made it?", seen, [("BERT", 0.9), ("GPT", 0.4)], "rules", "").candidates == ()
    assert (
        standalone(
            "Who made it?", said("Who made BERT at Google?", ""), [("BERT", 0.6), ("Google", 0.6)], "rules", ""
        ).candidates
        == ()
    )


def test_three_that_are_alike_are_three_readings_and_no_more() -> None:
    seen = said("Compare BERT, GPT, ELMo and T5", "They differ. [1]")
    found = standalone("Who made it?", seen, [("GPT", 0.6), ("BERT", 0.6), ("ELMo", 0.6), ("T5", 0.6)], "rules", "")
    assert found.query == "Who made GPT?"
    assert found.candidates == ("Who made BERT?", "Who made ELMo?")


@pytest.mark.parametrize(
    ("question", "group"),
    [
        ("How do BERT and GPT differ?", ["BERT", "GPT"]),
        ("What is BERT?", ["BERT"]),
        ("What is Edicenter, Edifest or Edilab?", ["Edicenter", "Edifest", "Edilab"]),
        ("How does it work?", []),
        ("", []),
    ],
)
def test_what_stands_beside_the_subject_of_a_question(question: str, group: list[str]) -> None:
    assert coordinated_subjects(question) == group


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("who can go there?", "who can go to Edicenter?"),
        ("What do people do there?", "What do people do in Edicenter?"),
        ("How far is the station from there?", "How far is the station from Edicenter?"),
    ],
)
def test_a_place_is_written_with_its_preposition(message: str, query: str) -> None:
    start = message.index("there")
    assert with_phrases(message, ["Edicenter"], Edit(start, start + 5, None, 0.9)) == query


@pytest.mark.parametrize(
    "message",
    [
        "it " * 5000,
        "no, " * 4000,
        "you mentioned " * 1200,
        "and" + " " * 16000,
        "I meant " + "a, not " * 2000,
        "is it" + " " * 16000 + "x",
        "and " * 4000,
        "their " * 2600,
        "more" * 4000,
    ],
)
def test_hostile_messages_take_linear_time(message: str) -> None:
    seen = said("How do BERT, GPT and ELMo differ? " * 30, "BERT, GPT, " * 1000)
    start = time.process_time()
    with_phrases(message, ["BERT", "GPT"])
    compared_subjects(message, seen)
    parallel(message, seen)
    standalone(message, seen, [("BERT", 0.9), ("GPT", 0.9)], "rules", "")
    assert time.process_time() - start < 0.5


def test_last_question_is_the_last_user_message() -> None:
    assert last_question(said("What is BERT?", "A model.", "And GPT?", "Another.")) == "And GPT?"
    assert last_question([Message("assistant", "Hello!")]) == ""


@pytest.mark.parametrize(
    ("last", "query"),
    [
        ("When is the school trip?", "how much does the school trip cost?"),
        ("Is there a school trip?", "how much does the school trip cost?"),
        ("Who leads our school trip?", "how much does our school trip cost?"),
        ("What are school trips?", "how much does school trip cost?"),
        ("Who runs the school trip fund?", "how much does school trip cost?"),
    ],
)
def test_a_pronoun_becomes_a_phrase_with_its_article(last: str, query: str) -> None:
    found = standalone("how much does it cost?", said(last, "So. [1]"), [("school trip", 0.9)], "rules", "")
    assert found.query == query


BEST = "Lightest of the 3 found, by weight:\n\n{}Wisp 2: Weight 2 kg, Price £80. [1]"


@pytest.mark.parametrize(
    ("message", "answer", "query"),
    [
        ("is it waterproof?", BEST.format("- "), "is Wisp 2 waterproof?"),
        ("how does it compare to the Lodge?", BEST.format(""), "how does Wisp 2 compare to the Lodge?"),
        ("are they waterproof?", BEST.format("- "), "are the tents waterproof?"),
        ("is it waterproof?", BEST.format("- Fold 1: Weight 2 kg. [1]\n- "), "is the tents waterproof?"),
    ],
)
def test_it_is_the_best_row_after_an_answer_that_tells_just_that(message: str, answer: str, query: str) -> None:
    seen = said("which of the tents is the lightest?", answer)
    assert standalone(message, seen, [("tents", 0.7)], "model", "why").query == query
