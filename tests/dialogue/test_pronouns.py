"""Which phrase a pronoun can stand for."""

from __future__ import annotations

import pytest
from spoken import said

from turnwise.dialogue.pronouns import can_be_meant, find_pronoun, names_person, person_meant


@pytest.mark.parametrize(
    ("message", "pronoun"),
    [
        ("what happens if it breaks?", "it"),
        ("can I sail while it's raining", "it"),
        ("do I need one?", "one"),
        ("what is his address?", "his"),
        ("which one is open?", ""),
        ("what happens if it rains?", ""),
        ("what colours does it come in?", "it"),
        ("what does the IT desk do?", ""),
    ],
)
def test_the_pronoun_that_a_phrase_can_replace_is_found(message: str, pronoun: str) -> None:
    found = find_pronoun(message)
    assert (found.text if found else "") == pronoun


@pytest.mark.parametrize(
    ("message", "asked", "answered", "person"),
    [
        ("does he need a life jacket?", "my son sails on Mondays, when is that?", "The course is at ten.", "my son"),
        ("does she need a ticket?", "my son and my daughter sail", "The course is at ten.", "my daughter"),
        ("where is his office?", "who repairs the boats?", "Write to Ilmar Tamm about that.", "Ilmar Tamm"),
        ("when was she born?", "who leads the club?", "The club is led by Mrs Aune Kask.", "Mrs Aune Kask"),
        ("when was he born?", "who leads the club?", "The club is led by Mrs Aune Kask.", ""),
        ("when was he born?", "who was tamm", "A boat builder.", "tamm"),
        ("where is his office?", "where is the desk?", "In Harbour Hall. Bring your child.", ""),
        ("where is his office?", "where is the desk?", "The Desk is open.", ""),
        ("can he get a belt?", "when is judo for kids?", "Judo Kids: Day Thursday, Coach Tom Reyes.", ""),
        ("is she allowed in?", "is the pool free for under 5s?", "Ask Mia Berg.", ""),
        ("what is his number?", "when is judo for kids?", "Judo Kids: Day Thursday, Coach Tom Reyes.", "Tom Reyes"),
        ("is he strict?", "who coaches the kids?", "Judo Kids: Coach Tom Reyes.", "Tom Reyes"),
        ("is he strict?", "when is judo?", "Judo Adults: Coach Ken Sato.", "Ken Sato"),
        ("can he come?", "is judo for kids good for my son?", "Ask Tom Reyes.", "my son"),
        ("is he nice?", "when is judo?", "Ask Tom Reyes.", "Tom Reyes"),
        ("what is his number?", "when can my son come?", "Ask Tom Reyes.", "Tom Reyes"),
        ("where is he from?", "who is responsible?", "Green Tea Bar is on the ground floor.", ""),
        ("where is he from?", "who swims at Harbour Pool?", "New York Runners do.", ""),
    ],
)
def test_he_and_she_mean_the_last_person(message: str, asked: str, answered: str, person: str) -> None:
    pronoun = find_pronoun(message)
    assert pronoun is not None
    assert pronoun.personal
    assert person_meant(pronoun, said(asked, answered)) == person


def test_a_thing_is_no_person() -> None:
    assert names_person("Ilmar Tamm")
    assert names_person("my daughter")
    assert not names_person("the boat")
    assert not names_person("Harbour Street")


@pytest.mark.parametrize(
    ("message", "phrase", "can"),
    [
        ("is it free?", "the sauna", True),
        ("is it free?", "Sundays", False),
        ("is it free?", "October 9", False),
        ("is it free?", "my daughter", False),
        ("is it free?", "student", False),
        ("who is her tutor?", "5 tickets", False),
        ("is it free?", "Christmas fair", True),
        ("are they free?", "Sundays", True),
        ("can she come?", "my daughter", True),
        ("can she come?", "Judo Kids", False),
        ("can he come?", "kids", False),
        ("can they come?", "kids", True),
        ("can he come?", "Tom Reyes", True),
    ],
)
def test_it_is_neither_a_person_nor_a_time(message: str, phrase: str, can: bool) -> None:
    assert can_be_meant(message, phrase) == can
