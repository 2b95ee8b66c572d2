"""Messages that are only a time, with or without its preposition."""

from __future__ import annotations

import pytest

from turnwise.dialogue.adverbials import adverbial, with_adverbial


@pytest.mark.parametrize(
    ("message", "phrase"),
    [
        ("and on Sundays?", "on Sundays"),
        ("what about sundays", "on sundays"),
        ("Sundays?", "on Sundays"),
        ("and Saturday mornings?", "on Saturday mornings"),
        ("how about monday to thursday", "on monday to thursday"),
        ("what about bank holidays?", "on bank holidays"),
        ("weekends then?", "at weekends"),
        ("and the weekend?", "at the weekend"),
        ("what about 5 pm", "at 5 pm"),
        ("and in winter?", "in winter"),
        ("winter?", "in winter"),
        ("and December?", "in December"),
        ("tomorrow?", "tomorrow"),
        ("and next week?", "next week"),
        ("may?", ""),
        ("what about the sunday roast", ""),
        ("and the second day?", ""),
        ("is it open on Sundays?", ""),
    ],
)
def test_a_message_that_is_only_a_time(message: str, phrase: str) -> None:
    assert adverbial(message) == phrase


@pytest.mark.parametrize(
    ("question", "phrase", "changed"),
    [
        ("when is the library open on saturday?", "on sundays", "when is the library open on sundays?"),
        ("when does it open?", "on sundays", "when does it open on sundays?"),
        ("is it open in winter on Fridays?", "at weekends", "is it open in winter at weekends?"),
        ("is the pool open today?", "on Sunday", "is the pool open on Sunday?"),
        ("what's on today?", "tomorrow", "what's on tomorrow?"),
        ("are dogs allowed in the museum?", "at the pool", "are dogs allowed at the pool?"),
        ("can i eat at the pool on sundays?", "in the library", "can i eat in the library on sundays?"),
        ("is there wifi on the bus?", "at the station", "is there wifi at the station?"),
        ("can i park at the pool in the evening?", "in the square", "can i park in the square in the evening?"),
        ("are dogs allowed in the museum?", "on sundays", "are dogs allowed in the museum on sundays?"),
        ("are dogs allowed in the museum?", "in the evening", "are dogs allowed in the museum in the evening?"),
        ("is it cheaper in a group?", "at the museum", "is it cheaper in a group at the museum?"),
        ("are dogs allowed in the museum?", "with a lead", "are dogs allowed in the museum with a lead?"),
        ("is there a bus to the pool?", "on the island", "is there a bus to the pool on the island?"),
    ],
)
def test_the_question_at_another_time(question: str, phrase: str, changed: str) -> None:
    assert with_adverbial(question, phrase) == changed
