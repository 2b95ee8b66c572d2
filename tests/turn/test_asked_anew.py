"""Short questions after an answer: what was said may be what they ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.extractive.kinds import is_about_another
from turnwise.extractive.statements import Candidate, Statement
from turnwise.types import Evidence, Hit, Passage

COURSE = """# GEOG 214: Rivers and Coasts

Instructor: Dr. Helen Marchetti, h.marchetti@norwick.example
Teaching assistant: Tomasz Wilk, t.wilk@norwick.example

## Exams

The midterm exam is on 12 March and lasts 90 minutes. The final exam is on 3 June and lasts three hours.
"""
CLUB = """# Rules of the Oakmere Rowing Club

## Membership

- Full membership costs 240 euros a year.
- Youth membership (under 18) costs 90 euros a year.

## Boathouse

- The boathouse is open from 6:00 to 21:00 in summer.
- Guests may be brought twice a year and pay 10 euros per visit.
"""
THERMOSTAT = """# Lumo Smart Thermostat: frequently asked questions

## How do I reset the thermostat?

Hold the ring for ten seconds until the light turns orange, then let go. The reset deletes your schedules.

## How do I return a device?

Write to returns@lumo.example with your order number. The refund is paid within 5 working days after that.

## How do I reach support?

Support answers by telephone at 0800 555 0142, Monday to Friday from 8:00 to 20:00, or at help@lumo.example.
"""
MUSEUM = """# Harbour Museum

## Opening hours

| Day | Hours |
|---|---|
| Monday | closed |
| Tuesday to Friday | 10:00 to 17:00 |
| Saturday and Sunday | 10:00 to 19:00 |
"""
POOL = """# Tarrow Pool

The pool is 25 metres long. The pool closes at eight in the evening. The slide is 12 metres high.
The summer fair is on 12 July, from noon to ten in the evening.
"""
BIKES = """Item,Category,Price (EUR),Delivery time
Comet City 3,City bike,649,5 days
Falcon Trail,Mountain bike,1190,2 weeks
Full service,Service,129,4 days
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("desk")
    texts = {"a.md": COURSE, "b.md": CLUB, "c.md": THERMOSTAT, "d.md": MUSEUM, "e.md": POOL, "bikes.csv": BIKES}
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={name: text.encode() for name, text in texts.items()})
        yield engine


@pytest.mark.parametrize(
    ("turns", "told", "not_told"),
    [
        (("when is the midterm?", "and how long is it"), "90 minutes", "three hours"),
        (("How do I return a Lumo device?", "how long does the refund take?"), "5 working days", "don’t know"),
        (("what does membership cost?", "and for under 18s?"), "90 euros", "240"),
        (("can I bring a guest to the boathouse?", "how often?"), "twice a year", "don’t know"),
        (("who is the instructor of GEOG 214?", "what is her email?"), "h.marchetti@norwick.example", "t.wilk"),
        (("what's the support phone number?",), "0800 555 0142", "don’t know"),
        (("how do I reset the thermostat?",), "Hold the ring", "don’t know"),
        (("what are the opening hours of the museum?", "and on the weekend?"), "10:00 to 19:00", "closed"),
        (("what does a full service cost?",), "129", "membership"),
        (("compare the Comet City 3 and the Falcon Trail",), "1190", "don’t know"),
        (
            ("what does a full service cost?", "and the Falcon Trail?", "what is the difference between them?"),
            "Full service",
            "don’t know",
        ),
        (("how much is Youth membership?", "what about under 18s?"), "90 euros", "240"),
        (("when is the winter fair?",), "", "12 July"),
        (("when is the summer fair?",), "12 July", "don’t know"),
        (("How high is the slide?", "How wide is it?"), "don’t know", "12 metres"),
        (("When does the pool close?", "When does it open?"), "", "closes at eight"),
        (("when does the summer fair begin?", "and when does it finish?"), "ten in the evening", "don’t know"),
    ],
)
def test_the_answer_has_what_was_asked_for_and_nothing_else(
    desk: Engine, turns: tuple[str, ...], told: str, not_told: str
) -> None:
    chat = desk.chat()
    *_, last = [chat.ask(turn).text for turn in turns]
    assert told in last
    assert not_told not in last


def test_new_question_leaves_the_topic(desk: Engine) -> None:
    chat = desk.chat()
    chat.ask("How high is the slide?")
    reply = chat.ask("ok new question: when is the midterm?")
    assert not reply.follow_up.is_follow_up
    assert reply.condensed_query == "when is the midterm?"
    assert "12 March" in reply.text


@pytest.mark.parametrize("message", ["tell me about the pool", "print all you have on the pool", "the pool"])
def test_a_bare_subject_gets_all_that_is_said_about_it(desk: Engine, message: str) -> None:
    assert desk.chat().ask(message).text.startswith("The pool is 25 metres long. [1]")


def test_a_subject_that_no_document_mentions_is_not_known(desk: Engine) -> None:
    assert "don’t know" in desk.chat().ask("tell me about dragons").text


def test_how_sure_depends_on_whether_there_was_an_answer(desk: Engine) -> None:
    chat = desk.chat()
    chat.ask("tell me about dragons")
    assert chat.ask("are you sure?").text.startswith("I found no sentence that answers it")
    chat.ask("how high is the slide?")
    assert chat.ask("are you sure?").text.startswith("What I said rests on the passages it cites")


def test_another_question_may_still_point_back(desk: Engine) -> None:
    chat = desk.chat()
    chat.ask("How high is the slide?")
    assert "slide" in chat.ask("Another question: how old is it?").condensed_query


def test_of_two_kinds_that_are_asked_for_neither_rules_the_other_out() -> None:
    def told(question: str, sentence: str) -> bool:
        passage = Passage(1, 1, "Prices", "a.md", sentence)
        stated = Statement(sentence)
        return is_about_another(Candidate(stated, Evidence(1, Hit(passage, 1.0)), 0, 0, 0.0, False), question)

    assert told("When is the winter fair?", "The summer fair is on 12 July.")
    assert not told("Is an adult ticket dearer than a student ticket?", "Student tickets cost 6 euros.")
    assert told("What is the limit for several boats?", "For a single boat the limit is 9 metres.")
    assert not told("What is the limit for several boats?", "For one or several boats the limit is 9 metres.")
    assert not told("Is there a yearly fee?", "There is an annual fee of 20 euros.")
    assert not told("How much is the annual pass?", "Monthly parking costs 30 euros.")
