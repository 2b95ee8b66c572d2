"""What applies to an amount that the user tells after an answer."""

from __future__ import annotations

import pytest

from turnwise.extractive import ExtractiveAnswerer
from turnwise.types import Evidence, Hit, Passage, Prompt

LOANS, LARGER = "Loans of up to £300 are granted at the desk.", "Larger loans need the vote of the board."
GIFTS, VISITS = "Gifts over £50 must be reported to Ida Moe.", "Visits of more than 3 weeks need a form."
LATE, LAST = "Up to two weeks before you pay a third.", "After that you pay it all."
CLASS, TEENS = "Children from 6 to 9 join the day class.", "Children under 6 come on Mondays."
RULES = f"""Ask for a loan at the desk. {LOANS} {LARGER}

{GIFTS} Gifts are kept in the safe.

{VISITS} Stays can be cancelled free of charge up to eight weeks before. {LATE} {LAST}

{CLASS} {TEENS}"""


class NoJudge:
    """A judge to whom nothing answers."""

    def odds(self, _question: str, sentences: list[Passage]) -> list[float]:
        return [-9.0 for _ in sentences]


def answer(message: str, last_question: str) -> str:
    evidence = (Evidence(1, Hit(Passage(1, 1, "Rules", "", RULES), 1.0)),)
    told = ("Ask for a loan at the desk. [1]",)
    prompt = Prompt((), message, (message,), evidence, told, last_question=last_question)
    return ExtractiveAnswerer(NoJudge()).answer(prompt)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("last_question", "message", "told"),
    [
        ("how do i get a loan", "it's 200 pounds", LOANS),
        ("how do i get a loan", "and what if it's £300?", LOANS),
        ("how do i get a loan", "its about 900 pounds", LARGER),
        ("may i take gifts", "it's £80", GIFTS),
        ("may i have visits", "it's 4 weeks", VISITS),
        ("can i cancel", "it's 3 weeks before", LATE),
        ("can i cancel", "it's one week away", LAST),
        ("what do you do with children", "she's 8", CLASS),
        ("what do you do with children", "my son is 5 years old", TEENS),
    ],
)
def test_the_rule_is_told_whose_limit_the_amount_meets(last_question: str, message: str, told: str) -> None:
    assert answer(message, last_question).endswith(f"{told} [1]")


@pytest.mark.parametrize(
    ("last_question", "message"),
    [
        ("may i take gifts", "it's £20"),  # within the limit, and nothing is said of that
        ("may i take gifts", "it's 80 euros"),
        ("where is the safe", "it's £80"),
        ("may i have visits", "it's 2 days"),
        ("what do you do with children", "he is 12"),
    ],
)
def test_a_limit_that_says_nothing_of_the_amount_is_not_told(last_question: str, message: str) -> None:
    assert answer(message, last_question).startswith("I don’t know")
