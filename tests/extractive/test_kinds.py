"""Whether a sentence has the kind of thing that a question asks for."""

from __future__ import annotations

import pytest

from turnwise.extractive.choosing import candidates
from turnwise.extractive.kinds import (
    QUANTITIES,
    answer_patterns,
    asks_price,
    states_amount,
    states_number,
    tells_how_long,
    tells_measure,
)
from turnwise.types import Evidence, Hit, Passage, Prompt


@pytest.mark.parametrize(
    ("question", "sentence", "states"),
    [
        ("How much is the deposit?", "The deposit is five weeks' rent.", True),
        ("how much is a tent", "- Tents cost £34 and stoves cost £6.50.", True),
        ("how much is a stove", "Tents cost £34 and stoves cost £6.50.", True),
        ("how much is a lamp", "Tents cost £34 and stoves cost £6.50.", False),
        ("how long is the ferry trip", "The ferry trip takes about two hours.", True),
        ("how long is delivery", "Standard delivery takes three to five working days.", True),
        ("how much is the course", "The course takes three weeks.", False),
        ("how long is the course", "The course costs 40 euros.", False),
        ("how much is supper", "Supper is not included; it costs £9 and is served late.", True),
        ("how much is supper", "The soup is hot, and it costs £9.", False),
        ("how many people took part in the trial", "We enrolled 60 adults in two clinics.", True),
        ("how many patients did the Bok study have", "In a trial with 60 patients, pain fell by a half.", True),
        ("how many people took part", "Sixty-four nurses were randomly assigned to a group.", True),
        ("how many people took part in the trial", "Nine patients had a headache.", False),
        ("how many people took part in the trial", "All patients came from one clinic.", False),
        ("how many hives did the Bok study have", "We kept 36 hives.", True),
        ("how many hives did the Bok study have", "All hives stood in a meadow.", False),
        ("what is the deposit", "The deposit is five weeks' rent.", False),
    ],
)
def test_a_sentence_says_how_much_the_thing_is_that_is_asked_about(question: str, sentence: str, states: bool) -> None:
    assert states_amount(question, sentence) is states


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("The price rose by a tenth, and rents by 4 %.", True),
        ("Thick walls cut the loss by about half.", True),
        ("Trains were six minutes faster.", True),
        ("We asked whether ten minutes of rest help.", False),
        ("Walls help.", False),
    ],
)
def test_by_how_much_is_answered_by_a_difference(sentence: str, says: bool) -> None:
    assert all(each.search(sentence) for each in answer_patterns("by how much?", QUANTITIES)) is says


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("what is the caretaker's phone number?", True),
        ("can you give me the phone number of the office", True),
        ("can my brother bring his phone to the gym", False),
        ("may the guests leave a phone for charging", False),
    ],
)
def test_who_may_bring_a_phone_does_not_ask_for_its_number(question: str, asks: bool) -> None:
    assert bool(answer_patterns(question, QUANTITIES)) is asks


@pytest.mark.parametrize(
    ("question", "sentence", "states"),
    [
        ("what's the warden's number", "Tell the warden, Ida Moe (0700 12 34 56).", True),
        ("Ida Moe's number (boat)?", "Ring Ida Moe on 0700 123.", True),
        ("the wardens number", "The warden, extension 31, has the keys.", True),
        ("what's the warden's number", "The warden is Ida Moe. The office has 0700 12 34.", False),
        ("what's Ida Moe's extension", "Ask Ida Moe in the workshop (room 2.14, ext. 31).", True),
        ("what's the room number", "The room, extension 31, is shut.", False),
    ],
)
def test_a_sentence_has_the_number_right_after_the_person(question: str, sentence: str, states: bool) -> None:
    assert states_number(question, sentence) is states


MOWER = "Property | Value\nWeight (dry) | 31 kg\nWidth | 46 cm\nTank | 1.2 l\nTank weight | 2 kg\n"
MOWER += "Top speed | 6 km/h\nDepth of the cut | 5 cm"


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("how heavy is the mower?", ["Weight (dry): Value 31 kg."]),
        ("and how wide is it", ["Width: Value 46 cm."]),
        ("how heavy is the tank?", []),
        ("how loud is the mower?", []),
        ("how fast does it go", ["Top speed: Value 6 km/h."]),
        ("and how fast?", ["Top speed: Value 6 km/h."]),
        ("how deep can the mower cut?", ["Depth of the cut: Value 5 cm."]),
        ("how fast is the tank filled?", []),
    ],
)
def test_a_row_tells_a_measure_of_what_its_document_is_about(question: str, rows: list[str]) -> None:
    passage = Passage(1, 1, "Ek 20 mower", "", MOWER, "Data")
    pool = candidates(Prompt((), question, (question,), (Evidence(1, Hit(passage, 1.0)),), ()))
    assert [each.text for each in pool if tells_measure(each, question)] == rows


@pytest.mark.parametrize(
    ("question", "sentence", "tells"),
    [
        ("how long must the lid stay shut?", "The lid must stay shut until the light goes out.", True),
        ("how long does the glue take to dry", "The glue dries in an hour, and the paint overnight.", True),
        ("how long must the lid stay shut?", "The lid lasts three years.", False),
        ("how long must the lid stay shut?", "The lid stays shut when the light is on.", False),
        ("how long is the lid shut?", "The lid is shut for 2 minutes.", False),  # maybe its length
    ],
)
def test_a_sentence_tells_how_long_just_what_is_asked(question: str, sentence: str, tells: bool) -> None:
    assert tells_how_long(question, sentence) is tells


@pytest.mark.parametrize(
    ("question", "asks"), [("how much is it?", True), ("how much is known of it", False), ("how many are they", False)]
)
def test_how_much_something_is_asks_for_its_price(question: str, asks: bool) -> None:
    assert asks_price(question) is asks
