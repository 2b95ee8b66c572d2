"""A question written with phrases of the conversation."""

from __future__ import annotations

import time

import pytest
from spoken import said

from turnwise.dialogue.asked_again import compared_with, parallel
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
    ],
)
def test_a_phrase_takes_the_place_of_the_pronoun_or_stands_in_brackets(
    message: str, spans: list[str], query: str
) -> None:
    assert with_phrases(message, spans) == query


@pytest.mark.parametrize(
    ("message", "other"),
    [
        ("and whats the diff with gpt", "gpt"),
        ("What's the difference to GPT?", "GPT"),
        ("difference from logistic regression", "logistic regression"),
        ("What is the difference with respect to cost?", ""),
        ("What is the difference between BERT and GPT?", ""),
        ("the difference with and without dropout", ""),
        ("What is the difference to the mean?", ""),
        ("git diff with colour", ""),
    ],
)
def test_a_comparison_may_leave_one_side_out(message: str, other: str) -> None:
    assert compared_with(message) == other
    found = parallel(message, said("What is edifest?", "A festival.", "What is BERT?", "A model."))
    assert (found.query if found else "") == (f"What is the difference between BERT and {other}?" if other else "")


def test_what_was_compared_last_is_compared_again() -> None:
    seen = said("What is edifest?", "A festival.", "Compare BERT and GPT on few-shot learning", "Both learn.")
    assert [phrase for phrase, _ in compared_subjects("Which is better?", seen)] == ["BERT", "GPT"]


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


def test_a_replaced_name_is_not_looked_for_inside_other_words() -> None:
    found = parallel("And GPT?", said("Is the AIM of AI good?", "Yes."))
    assert found
    assert found.query == "Is the GPT of AI good?"


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


OPEN = said("When is the mill open on Friday in summer?", "From 10 to 18. [1]")


@pytest.mark.parametrize(
    ("seen", "message", "query"),
    [
        (OPEN, "and on Sundays?", "When is the mill open on Sundays in summer?"),
        (OPEN, "in winter?", "When is the mill open on Friday in winter?"),
        (OPEN, "what about during the fair?", "When is the mill open on Friday in summer during the fair?"),
        (OPEN, "and in the courtyard?", "When is the mill open on Friday in summer in the courtyard?"),
        (
            [*OPEN, *said("and on Sundays?", "From 11. [1]")],
            "in winter?",
            "When is the mill open on Sundays in winter?",
        ),
        (said("what's new in 4.2?", "Locks."), "and in 4.1?", "what's new in 4.1?"),
        (said("What do I pay for 60 loaves?", "Ten."), "and for 400?", "What do I pay for 400?"),
        (
            said("How much is the tour for an adult per day?", "Nine."),
            "and for children?",
            "How much is the tour for children per day?",
        ),
        (said("Who ground the flour in May 2025?", "Anna."), "and in june?", "Who ground the flour in june?"),
        (
            said("Do I have to knead the dough?", "Yes."),
            "how about without yeast?",
            "Do I have to knead the dough without yeast?",
        ),
    ],
)
def test_a_phrase_asks_the_last_question_so(seen: list[Message], message: str, query: str) -> None:
    found = parallel(message, seen)
    assert found is not None
    assert (found.query, found.method) == (query, "rules")


@pytest.mark.parametrize(
    "message", ["for example?", "in which year?", "for it?", "before it closes?", "to go there?", "by whom?"]
)
def test_what_asks_for_more_than_a_phrase_is_not_read_so(message: str) -> None:
    assert parallel(message, OPEN) is None


def test_nothing_takes_the_place_of_i() -> None:
    assert parallel("what about rye?", said("Do I have to knead it?", "Yes.")) is None
    assert parallel("what about rye?", said("do I have to wait?", "Yes.")) is None


def test_nothing_takes_the_place_of_a_verb_or_a_condition() -> None:
    assert parallel("what about shoes?", said("What should I wear in the bakery?", "Hats.")) is None
    assert parallel("what about shoes?", said("and if I'm late?", "You wait.")) is None


def test_a_phrase_needs_a_question_that_names_something() -> None:
    assert parallel("and in winter?", said("Why is it closed?", "It rests.")) is None
    assert parallel("and in winter?", said("Tell me about mills.", "They grind.")) is None


@pytest.mark.parametrize(
    ("last", "message", "query"),
    [
        ("When does the mill open?", "and close?", "When does the mill close?"),
        ("How high can my hedge be?", "and the shed", "How high can the shed be?"),
        ("When is the mill open on Sundays?", "and the café?", "When is the café open on Sundays?"),
        ("How much is a violin case?", "and a violin?", "How much is a violin?"),
        ("when are Dr. Okafor's office hours?", "and Ana Brandt's?", "when are Ana Brandt's office hours?"),
        ("What's Ben's phone number?", "and Anna's?", "What's Anna's phone number?"),
        ("What is Lena's room number?", "what about Kofi's?", "What is Kofi's room number?"),
    ],
)
def test_the_last_question_is_asked_of_another_act_owner_or_thing(last: str, message: str, query: str) -> None:
    found = parallel(message, said(last, "At nine. [1]"))
    assert found is not None
    assert found.query == query


def test_a_question_that_names_several_things_is_not_asked_of_another() -> None:
    assert parallel("and the gym?", said("What are the rules of the club?", "Few. [1]")) is None
    assert parallel("and start?", said("How many days is parental leave?", "Thirty. [1]")) is None
    assert parallel("and the price?", said("When does the museum open?", "At ten. [1]")) is None
    assert parallel("and the advanced one?", said("How much is the course?", "It is 40 euros. [1]")) is None


@pytest.mark.parametrize(
    ("last", "message", "query"),
    [
        ("What is BERT?", "And the difference to GPT?", "What is the difference between BERT and GPT?"),
        ("Who wrote the Skerry Song?", "When?", "When wrote the Skerry Song?"),
        ("When is the mill open on Fridays?", "And on Sundays?", "When is the mill open on Sundays?"),
        ("How high can the shed be?", "And the fence?", "How high can the fence be?"),
        ("When does the museum open?", "And close?", "When does the museum close?"),
        ("What is Blum's address?", "And Lee's?", "What is Lee's address?"),
        ("How was it trained?", "And GPT?", "How was GPT trained?"),
        ("Can I have a dog?", "What about cats?", "Can I have cats?"),
        ("What are the pool rules?", "What about shoes?", "What are the pool rules for shoes?"),
        ("What is BERT?", "And GPT?", "What is GPT?"),
        ("Can I swap shifts?", "How late can I do it?", "How late can I swap shifts?"),
        ("How do I cancel a class?", "Can I do that online?", "Can I cancel a class online?"),
    ],
)
def test_each_rule_for_a_parallel_question_does_what_its_example_says(last: str, message: str, query: str) -> None:
    found = parallel(message, said(last, "So. [1]"))
    assert found is not None
    assert found.query == query


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
