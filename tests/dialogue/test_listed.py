"""What "the second one" refers to after a list or a table."""

from __future__ import annotations

import pytest
from spoken import said

from turnwise.dialogue.listed import listed_items, name_listed_items

WALKS = (
    "| Walk | Length |\n| --- | --- |\n| Cliff path | 4 km |\n| Old mill round | 7 km |\n| Reed bank | 2 km |\n\n[1]"
)
STEPS = "1. Soak the clay. [1]\n2. Knead it until no bubble is left. [1]\n3. Throw the pot: wet your hands first. [1]"
ROWS = "Cliff path: Length 4 km. [1] Old mill round: Length 7 km. [1]"
SIDES = "**Stoneware**: It is fired at 1250 degrees. [1]\n\n**Raku ware**: It is fired at 900 degrees. [2]"
OAK = "- a gate of oak, which opens to the sea\n- a weir\n- a mill"
BULLETS = "- Cliff path\n- Old mill round (long)\n- Reed bank"


@pytest.mark.parametrize(
    ("answer", "message", "meant"),
    [
        (WALKS, "How long is the second one?", "How long is Old mill round?"),
        (WALKS, "how long is the second walk", "how long is Old mill round"),
        (WALKS, "what about the last?", "what about Reed bank?"),
        (WALKS, "Does the first one go past the harbour?", "Does Cliff path go past the harbour?"),
        (WALKS, "where does the third begin?", "where does Reed bank begin?"),
        (WALKS, "is the 2nd of them steep?", "is Old mill round steep?"),
        (BULLETS, "tell me more about the second one", "tell me more about Old mill round (long)"),
        (ROWS, "is the second one steep?", "is Old mill round steep?"),
        (SIDES, "how hot is the second one fired?", "how hot is Raku ware fired?"),
        (STEPS, "what is the second step?", "what is the second step, “Knead it until no bubble is left”?"),
        (STEPS, "why step 1?", "why step 1, “Soak the clay”?"),
        (STEPS, "and the third one?", "and Throw the pot?"),
        (STEPS, "what comes after the first step?", "what is the second step, “Knead it until no bubble is left”"),
        (STEPS, "what do i do after step 2", "what is the third step, “Throw the pot: wet your hands first”"),
        (STEPS, "what comes after step 3", "what comes after Throw the pot"),
        (STEPS, "what comes after soaking the clay", "what is the second step, “Knead it until no bubble is left”"),
        (OAK, "and the first two?", "what are the first two, “a gate of oak, which opens to the sea” and “a weir”"),
        (OAK, "how old are the first two?", "how old are a gate of oak and a weir?"),
        (STEPS, "what comes after stage 2?", "what is the third step, “Throw the pot: wet your hands first”"),
        (WALKS, "the last two", "what are the last two, “Old mill round” and “Reed bank”"),
        (WALKS, "how long are the first two walks?", "how long are Cliff path and Old mill round?"),
        (WALKS, "are the last two of them steep", "are Old mill round and Reed bank steep"),
    ],
)
def test_an_ordinal_is_replaced_by_the_listed_item(answer: str, message: str, meant: str) -> None:
    assert name_listed_items(message, said("Which walks are there?", answer))[0] == meant


def test_the_other_two_are_those_not_asked_about_last() -> None:
    history = said("Which walks are there?", WALKS, "how long is Reed bank", "It is 2 km long. [1]")
    assert (
        name_listed_items("and the other two?", history)[0]
        == "what are the other two, “Cliff path” and “Old mill round”"
    )


@pytest.mark.parametrize(
    "message",
    [
        "How long is the fourth one?",
        "What happened in the last two years?",
        "the last four",
        "What was the first world war?",
        "When is the last admission?",
        "Who was the first of the potters?",
        "I know two walks. Is the second one steep?",
        "Which is the second best?",
        "What do I do first?",
        "What is new in version 4.2?",
    ],
)
def test_an_ordinal_that_means_something_else_is_kept(message: str) -> None:
    assert name_listed_items(message, said("Which walks are there?", WALKS)) == (message, [])


def test_the_list_may_be_a_few_answers_back_but_must_exist() -> None:
    history = said("Which walks are there?", WALKS, "How long is the first one?", "The cliff path is 4 km long. [1]")
    assert name_listed_items("and the second?", history)[0] == "and Old mill round?"
    assert name_listed_items("and the second?", history[2:])[0] == "and the second?"
    assert name_listed_items("and the second?", ())[0] == "and the second?"


def test_items_keep_the_numbers_they_are_given() -> None:
    assert listed_items("3. Glaze it. [1]\n4. Fire it. [1]") == {3: "Glaze it.", 4: "Fire it."}
    run = "As I said: Parts of a kiln: the chamber, the flue and the door. [1]"
    assert listed_items(run) == {1: "the chamber", 2: "the flue", 3: "the door"}
    assert listed_items("A pot is made of clay. [1] It is fired. [2]") == {}


def test_what_was_not_known_is_no_list() -> None:
    unknown = "I don’t know: the documents do not answer “x”. The nearest is Paths: “Cliff path: Length 4 km.”"
    history = said("Which walks are there?", WALKS, "how steep are they", unknown)
    assert name_listed_items("how long is the second one?", history)[0] == "how long is Old mill round?"
