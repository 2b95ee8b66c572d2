"""What a model writes before its answer is no part of it, however it is cut; the answer comes as it comes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.models.thoughts import HELD, Spoken

THOUGHTS = "Okay, so the user is asking about Paris. " + "I need to say where it is. " * 40
ANSWERS = [
    ("<think>hm</think> Paris.", "Paris."),
    ("<Think>hm</THINK> Paris.", "Paris."),
    ("<thinking>Is it <b>?</thinking>\n\nParis.", "Paris."),
    ("<think>one</think>\n<thinking>two</thinking>Paris.", "Paris."),
    ("Sure! <think>hm, let me see</think>Paris.", "Sure! Paris."),
    ("Okay <think>hm</think>Paris.", "Okay Paris."),
    ("Well,\n<think>hm</think>Paris.", "Well,\nParis."),
    ('<tool_call>{"name": "search"}</tool_call>', ""),
    ('<tool_call>{"name": "search"}</tool_call>\nParis.', "Paris."),
    ("Okay, so the user asks. Hm.\n</think>\n\nParis.", "Paris."),
    (f"{THOUGHTS}</think>Paris.", "Paris."),
    (f"{THOUGHTS}</thinking>Paris.", "Paris."),
    ("Paris.", "Paris."),
    ("2 < 3 and <b> is no tag.", "2 < 3 and <b> is no tag."),
    ("2 <think> and </think> tags.", "2 <think> and </think> tags."),
    (
        "The tag `<think>` opens thoughts, `</think>` ends them.",
        "The tag `<think>` opens thoughts, `</think>` ends them.",
    ),
    ("Okay, I see: it is in France.", "Okay, I see: it is in France."),
    ("Okay, " + "it is in France. " * 30, "Okay, " + "it is in France. " * 30),
    ("<<think>", "<<think>"),
    ("<think>never ended", ""),
    ("A word. " * 40 + "<think>", "A word. " * 40 + "<think>"),
]


def spoken(pieces: Iterable[str], prefilled: bool = False, cut: bool = False) -> str:
    mouth = Spoken(prefilled)
    return "".join([*map(mouth.add, pieces), mouth.end(cut)])


@pytest.mark.parametrize(("written", "said"), ANSWERS)
def test_only_the_answer_is_said_wherever_it_is_cut(written: str, said: str) -> None:
    assert spoken(written) == said, "letter by letter"
    for place in range(len(written) + 1):
        assert spoken((written[:place], written[place:])) == said, place


@given(
    st.lists(
        st.sampled_from(
            ["<", "<think>", "</think>", "<tool_call>", "</tool_call>", "Okay, ", "the user", "\n", "Hi. ", "x"]
        ),
        max_size=12,
    ),
    st.lists(st.integers(0, 80), max_size=5),
    st.booleans(),
)
def test_what_is_said_does_not_depend_on_the_pieces(parts: list[str], places: list[int], prefilled: bool) -> None:
    written = "".join(parts)
    ends = sorted({min(place, len(written)) for place in places} | {0, len(written)})
    assert spoken((written[a:b] for a, b in pairwise(ends)), prefilled) == spoken([written], prefilled)


def test_words_come_out_as_they_go_in() -> None:
    mouth = Spoken()
    assert [mouth.add(piece) for piece in ("Paris", " is in ", "France <", "b>")] == [
        "Paris",
        " is in ",
        "France ",
        "<b>",
    ]


def test_an_answer_that_only_begins_as_thoughts_do_is_not_held_for_long() -> None:
    mouth, said = Spoken(), ""
    for letter in "Let me " + "tell of Paris. " * 100:
        said += mouth.add(letter)
        assert not said or len(said) >= HELD
    assert said


def test_a_model_that_turns_out_to_think_unsaid_is_known_from_then_on() -> None:
    mouth = Spoken()
    assert mouth.add("Paris? It may be.\n</think>\n\nParis.") == "Paris? It may be.\n\n\nParis."
    assert mouth.prefilled
    assert spoken(["Paris? It may be.\n", "</think>", "\n\nParis."], prefilled=True) == "Paris."
    assert spoken(["Paris? It may"], prefilled=True, cut=True) == ""
    assert spoken(["Paris."], prefilled=True) == "Paris."


def test_the_answer_of_a_model_that_thinks_unsaid_comes_as_it_comes() -> None:
    mouth = Spoken(prefilled=True)
    assert [mouth.add(piece) for piece in ("Hm.", "</think>", "\n", "Okay, ", "Paris.")] == [
        "",
        "",
        "",
        "Okay, ",
        "Paris.",
    ]
    assert mouth.end(cut=True) == ""
    assert mouth.prefilled


def test_a_model_that_thinks_no_more_is_heard_at_once_again() -> None:
    mouth = Spoken(prefilled=True)
    mouth.add("Paris.")
    mouth.end()
    assert not mouth.prefilled
