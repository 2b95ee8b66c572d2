"""What people say about the conversation itself: which question it was, that an answer is wrong, or not new."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from talking import searches

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.text import points
from turnwise.types import Reply

Talk = Callable[..., tuple[Reply, ...]]

CENTRE = """# Harbour Leisure Centre

## Opening hours

The centre is open from 6:30 to 22:00. The pool closes 30 minutes before the centre.

## Booking

Book courts and classes online or at the desk. Book up to 14 days ahead. You can cancel a booking until 24 hours before
the start.

## Lost property

Lost property is kept for 28 days.
"""
COURSE = """# Geology 101

## Subduction

Subduction is the process in which one plate sinks beneath another.

## Assessment

The exam is on 12 June in room B14 and lasts two hours.
"""
BATH = """# Hallenbad

## Fundsachen

Fundsachen werden 28 Tage aufbewahrt.
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("talking_back")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={"centre.md": CENTRE.encode(), "course.md": COURSE.encode()})
        yield engine


@pytest.fixture(scope="module")
def german_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("talking_back_german")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={"bad.md": BATH.encode()})
        yield engine


def held(desk: Engine, *messages: str) -> list[Reply]:
    chat = desk.chat()
    return [chat.ask(message) for message in messages]


@pytest.mark.parametrize(
    "message", ["that's wrong", "That's not right.", "that's not what I asked", "no, that's wrong!"]
)
def test_an_objection_is_met_with_the_place_that_the_answer_is_from(desk: Engine, message: str) -> None:
    answer, reply = held(desk, "How long is lost property kept?", message)
    assert "“How long is lost property kept?”" in reply.text
    assert "Harbour Leisure Centre – Lost property" in reply.text
    assert "“Lost property is kept for 28 days.” [1]" in reply.text
    assert "no, I meant" in reply.text
    assert message not in reply.text
    assert reply.sources == answer.sources


def test_an_objection_after_what_is_not_known_is_no_question(desk: Engine) -> None:
    *_, reply = held(desk, "Who won the regatta of 1954?", "that's not what I asked")
    assert reply.text.startswith("I am sorry that this did not help.")


@pytest.mark.parametrize("message", ["you already said that", "You said that already", "you've told me that before"])
def test_what_was_said_before_is_not_said_again(desk: Engine, message: str) -> None:
    *_, reply = held(desk, "How far ahead can I book a court?", message)
    assert reply.text.startswith("You are right, I said that before.")
    assert "14 days" not in reply.text
    assert "24 hours before" in reply.text
    assert message not in reply.text


def test_if_all_was_said_before_that_is_told(desk: Engine) -> None:
    *_, reply = held(desk, "How long is lost property kept?", "you already said that")
    no_more = "The passages I found for this hold no more than I have said."
    assert reply.text.startswith(f"You are right, I said that before. {no_more}")


@pytest.mark.parametrize("message", ["no, I meant the other one", "I meant the other one", "not that one"])
def test_the_other_one_has_to_be_named(desk: Engine, message: str) -> None:
    *_, reply = held(desk, "How long is lost property kept?", message)
    assert reply.text.startswith("I cannot tell which other one you mean.")


def test_an_objection_leaves_the_topic(desk: Engine) -> None:
    *_, reply = held(desk, "How do I book a court?", "you already said that", "how far ahead?")
    assert "14 days" in reply.text


def test_a_list_after_what_is_not_known_says_which_answer_it_is(desk: Engine) -> None:
    question = "How long is lost property kept?"
    *_, reply = held(desk, question, "Who won the regatta of 1954?", "give me that as a list")
    opening, listed = reply.text.split("\n\n")
    assert opening == f"I found no answer to your last question. This is the one to “{question}”:"
    assert listed == "- Lost property is kept for 28 days. [1]"


def test_a_list_after_there_is_no_more_is_the_answer_before(desk: Engine) -> None:
    *_, reply = held(desk, "How long is lost property kept?", "tell me more", "give me that as a list")
    assert reply.text == "- Lost property is kept for 28 days. [1]"


@pytest.mark.parametrize("objection", ["not that one", "that's wrong", "you already said that"])
def test_an_objection_leaves_the_answer_to_reform(desk: Engine, objection: str) -> None:
    question = "How long is lost property kept?"
    *_, listed = held(desk, question, objection, "as a list")
    assert listed.text == "- Lost property is kept for 28 days. [1]"
    *_, shorter = held(desk, question, objection, "make it shorter")
    opening, told = shorter.text.split("\n\n")
    assert opening == "This is as short as I can say it:"
    assert told == "Lost property is kept for 28 days. [1]"


@pytest.mark.parametrize("objection", ["falsch", "das hast du schon gesagt", "das andere"])
def test_an_objection_in_german_leaves_the_answer_to_reform(german_desk: Engine, objection: str) -> None:
    *_, reply = held(german_desk, "Wie lange werden Fundsachen aufbewahrt?", objection, "als Liste")
    assert reply.text == "- Fundsachen werden 28 Tage aufbewahrt. [1]"


def test_what_an_objection_brought_to_light_can_be_reformed(desk: Engine) -> None:
    *_, more, listed = held(desk, "How far ahead can I book a court?", "you already said that", "as a list")
    assert listed.text.startswith("- ")
    assert "24 hours before" in listed.text
    assert "You are right" in more.text
    assert "You are right" not in listed.text
    assert "The documents also say" not in listed.text


def test_an_objection_repeated_is_met_with_the_same_place(desk: Engine) -> None:
    *_, first, second = held(desk, "How long is lost property kept?", "that's wrong", "that's wrong")
    assert first.text == second.text


def test_a_german_objection_is_no_question_to_return_to(german_desk: Engine) -> None:
    question = "Wie lange werden Fundsachen aufbewahrt?"
    *_, reply = held(german_desk, question, "falsch", "Das stimmt nicht")
    assert f"„{question}“" in reply.text
    *_, recalled = held(german_desk, question, "falsch", "Was war meine letzte Frage?")
    assert recalled.text == f"Ihre letzte Frage war: „{question}“"


def test_only_questions_are_numbered(desk: Engine) -> None:
    first, second = "What is subduction?", "When is the exam?"
    between = ("as a list", "what was my first question?", "that's wrong", "thanks")
    *_, reply = held(desk, first, *between, second, "what was my second question?")
    assert reply.text == f"Question 2 was: “{second}”"
    *_, reply = held(desk, first, *between, second, "make it shorter", "what was the question before that?")
    assert reply.text == f"Before that you asked: “{first}”"
    *_, reply = held(desk, "2 + 2", first, "what was my first question?")
    assert reply.text == "Your first question was: “2 + 2”"


def test_a_question_is_found_by_its_number_in_german(german_desk: Engine) -> None:
    first, second = "Wie lange werden Fundsachen aufbewahrt?", "Wo ist das Hallenbad?"
    *_, numbered, before, fewer = held(
        german_desk, first, second, "Was war meine zweite Frage?", "Was war die Frage davor?", "Was war meine 9. Frage?"
    )
    assert numbered.text == f"Frage 2 war: „{second}“"
    assert before.text == f"Davor haben Sie gefragt: „{first}“"
    assert fewer.text == f"Bisher haben Sie nur gefragt:\n\n1. {first}\n2. {second}"
    assert searches(numbered) == []


def test_a_question_is_found_by_its_number(desk: Engine) -> None:
    replies = held(desk, "What is subduction?", "When is the exam?", "what was my second question?")
    assert replies[-1].text == "Question 2 was: “When is the exam?”"
    assert searches(replies[-1]) == []


def test_two_mistakes_in_a_short_question_are_corrected(desk: Engine) -> None:
    (reply,) = held(desk, "wat is subducton")
    assert reply.condensed_query == "what is subduction"
    assert "one plate sinks beneath another" in reply.text


def test_what_answers_two_questions_of_a_message_is_said_once(desk: Engine) -> None:
    (reply,) = held(desk, "When is the exam and how long does it last?")
    assert reply.text == "The exam is on 12 June in room B14 and lasts two hours. [1]"


def test_what_the_documents_told_when_asked_what_was_said_can_be_told_in_another_form(talk: Talk) -> None:
    _, told, listed = talk("What is Edifest?", "what did you say about tickets earlier?", "as a list")
    assert "adult: price 5 euros." in told.text
    assert [line.partition(" ")[0] for line in listed.text.splitlines()] == ["-"] * len(points(told.text))
    assert points(listed.text) == points(told.text)


def test_a_form_after_what_was_asked_first_is_that_of_the_answer_before(talk: Talk) -> None:
    answer, _, listed = talk("What is Edifest?", "what did I ask first?", "as a list")
    assert points(listed.text) == points(answer.text)
