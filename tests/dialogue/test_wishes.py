"""What a message wants for every answer, and what only for the next one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.dialogue.wishes import Wishes, group_of, read_wishes


@pytest.mark.parametrize(
    ("message", "wished"),
    [
        ("please keep answers short", ["short answers"]),
        ("Please keep your answers brief, thanks.", ["short answers"]),
        ("I prefer short answers", ["short answers"]),
        ("From now on, keep it short", ["short answers"]),
        ("I’d like detailed explanations", ["detailed answers"]),
        ("always answer in bullet points", ["bullet points"]),
        ("I prefer bullet points.", ["bullet points"]),
        ("I prefer examples", ["examples"]),
        ("I learn best by examples", ["examples"]),
        ("Can you always give me examples?", ["examples"]),
        ("always explain it simply", ["simple explanations"]),
        ("Explain things in plain language, please", ["simple explanations"]),
        ("answer me in German", ["answers in German"]),
        ("I prefer answers in spanish", ["answers in Spanish"]),
        ("I prefer short answers with examples", ["short answers", "examples"]),
        ("Hello. Please keep answers short. What is BERT?", ["short answers"]),
    ],
)
def test_a_wish_is_read(message: str, wished: list[str]) -> None:
    assert [wish for _, wish in read_wishes(message).preferences] == wished


@pytest.mark.parametrize(
    "message",
    [
        "keep it short",
        "explain it simply",
        "in bullet points",
        "give me an example",
        "I want examples of attention",
        "What is a short answer?",
        "How do I answer in German?",
        "I prefer cats",
        "My teacher said: I prefer short answers",
        "Why do people prefer short answers?",
        "I prefer short answers and red wine",
        "forget that",
        "forget it",
        "Forget about BERT, what is GPT?",
        "What is forgetting in neural networks?",
        "I don't want to stop",
        "I don't like BERT",
        "",
        "I prefer short answers. " * 200,
    ],
)
def test_a_remark_about_one_answer_or_something_else_is_not_a_wish(message: str) -> None:
    assert read_wishes(message) == Wishes()


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("Forget everything you know about me.", Wishes(forgets_all=True, only=True)),
        ("forget me", Wishes(forgets_all=True, only=True)),
        ("Please forget my preferences", Wishes(forgets_preferences=True, only=True)),
        ("stop remembering me", Wishes(turns_off=True, only=True)),
        ("Don’t remember anything about me.", Wishes(turns_off=True, only=True)),
        ("forget that I know overfitting", Wishes(forgets=("overfitting",), only=True)),
        ("Forget that I prefer short answers.", Wishes(forgets=("short answers",), only=True)),
        ("I no longer want short answers", Wishes(forgets=("short answers",), only=True)),
    ],
)
def test_forgetting_is_read(message: str, wanted: Wishes) -> None:
    assert read_wishes(message) == wanted
    assert read_wishes(message).any_forgetting


def test_a_message_that_asks_something_too_is_not_only_a_wish() -> None:
    assert read_wishes("Please keep answers short.").only
    assert not read_wishes("Please keep answers short. What is BERT?").only


def test_preferences_that_exclude_each_other_are_in_one_group() -> None:
    assert group_of("short answers") == group_of("detailed answers") != group_of("bullet points")
    assert group_of("answers in German") == group_of("answers in French") == "language"
    assert group_of("answers in Klingon") == "answers in Klingon"


@given(st.text(max_size=300))
def test_any_text_can_be_read(message: str) -> None:
    wishes = read_wishes(message)
    assert wishes.only <= bool(wishes.preferences or wishes.any_forgetting)
