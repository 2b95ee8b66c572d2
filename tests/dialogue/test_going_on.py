"""Messages that go on from the last answer."""

from __future__ import annotations

import pytest

from turnwise.dialogue.going_on import going_on

NEXT = "and then? | what next | ok, then what | done. now what? | what's the next step? | what do i do after that"
FAILED = """didn't help | that didn't work | it doesnt work | still broken | still no sound | that did not help either
    | it's still cold | tried that | i already tried that, still nothing | no luck | same problem | nothing helped
    | the lamp still blinks | it isn't working | tried all of that but nothing works"""
WHOM = """who do i tell | who do i report that to? | whom should i ask about that | where do i complain
    | who's in charge of that | who is responsible for this | and who can i call then | who to contact
    | where do i report it | who can help me with that | who do i have to tell | where do i need to report that"""
OTHER = """who do i tell if i fall ill | what is next week's menu | is it still free? | still open on sundays?
    | then it is 5 euros | who is responsible for the garden | what happened after the war | and now the fees
    | i'm still a student at heart, what does it cost | what works best | tell me what helps | who is Ann Moe
    | where do i park | what does nothing happen mean | the next bus"""


@pytest.mark.parametrize(("kind", "messages"), [("next", NEXT), ("failed", FAILED), ("whom", WHOM), ("", OTHER)])
def test_what_goes_on_from_the_last_answer_is_known_by_its_form(kind: str, messages: str) -> None:
    read = {each: going_on(each) for each in " ".join(messages.split()).split(" | ")}
    assert read == dict.fromkeys(read, kind)
