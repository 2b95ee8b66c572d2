"""The part of a conversation that is read: bounded at any length, with older turns that the message recalls."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spoken import long_talk, said

from turnwise.dialogue.topics import plain_text
from turnwise.dialogue.window import MAX_RECALLED_MESSAGES, RECENT_MESSAGES, last_change, window
from turnwise.types import Message

if TYPE_CHECKING:
    from turnwise.types import Vectors


def read(messages: Sequence[Message]) -> list[Message]:
    """The messages as they are seen: an answer without markup and citations."""
    return [Message(each.role, each.content if each.role == "user" else plain_text(each.content)) for each in messages]


def test_a_short_conversation_is_seen_whole() -> None:
    history = long_talk(9)
    assert window("How deep is it?", history) == read(history)
    assert window("How deep is it?", ()) == []


def test_what_we_do_not_know_and_our_courtesies_are_not_what_was_said() -> None:
    history = said(
        "How high is the tower?",
        "I don’t know: the documents do not answer “How high is the tower?”. The nearest is Harbour – Cranes.",
        "Who built the quay, and when?",
        "Ada Lind built the quay. [1]\n\nI don’t know: the documents do not answer “when?”. The nearest is Harbour.",
        "thanks",
        "You’re welcome. Ask me anything else whenever you like.",
    )
    seen = window("and the bridge?", history)
    assert [each.content.strip() for each in seen] == [
        history[0].content,
        history[2].content,
        "Ada Lind built the quay.",
    ]


def test_the_window_of_a_long_conversation_has_the_recent_turns_and_the_first_question() -> None:
    history = long_talk(500)
    assert window("How deep is it?", history) == read([history[0], *history[-RECENT_MESSAGES:]])


@pytest.mark.parametrize("turn", [2, 200, 460, 489])
def test_a_turn_is_seen_again_when_the_message_says_a_word_of_it_that_nobody_said_since(turn: int) -> None:
    history = long_talk(500, **{f"turn_{turn}": "What do herons eat?", f"answer_{turn}": "Fish and frogs. [2]"})
    place = 2 * (turn - 1)
    seen = window("Earlier you mentioned a heron. Where does it live?", history)
    assert seen == read([history[0], *history[place : place + 2], *history[-RECENT_MESSAGES:]])
    assert window("What else is there about frogs?", history) == seen, "a word of the answer brings back its question"


def test_the_last_time_that_a_word_was_said_counts() -> None:
    history = long_talk(100, turn_20="What do herons eat?", turn_60="Where do herons nest?")
    contents = [each.content for each in window("And herons?", history)]
    assert "Where do herons nest?" in contents
    assert "What do herons eat?" not in contents


def test_words_of_the_recent_turns_bring_back_no_older_turn() -> None:
    history = long_talk(100, turn_20="What do herons eat?", turn_95="How long do herons live by a river?")
    assert window("And herons?", history) == read([history[0], *history[-RECENT_MESSAGES:]])


def test_what_was_before_a_change_of_subject_is_left_out_unless_the_message_reaches_across() -> None:
    history = long_talk(9, turn_8="Do herons swim?")
    assert last_change("Where does it nest?", history) == 14
    assert window("Where does it nest?", history, 14) == read(history[14:])
    assert last_change("How do they differ?", history) == 0
    assert last_change("Where did you say it ends, earlier?", history) == 0
    assert last_change("Where does it nest?", long_talk(9, turn_8="No, I meant the heron")) == 0


def test_a_question_that_is_near_in_meaning_opens_no_new_subject() -> None:
    history = long_talk(9, turn_8="Do herons swim?")

    def embed(text: str) -> Vectors:
        angle = angles["heron" in text]
        return np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)

    angles = {False: 0.0, True: 1.4}
    assert last_change("Where does it nest?", history, embed) == 14
    angles[True] = 0.5
    assert last_change("Where does it nest?", history, embed) == 0


def test_a_general_word_calls_nothing_back() -> None:
    history = long_talk(100, turn_20="What is the best example of a thing?")
    assert window("What is the best example?", history) == read([history[0], *history[-RECENT_MESSAGES:]])


def test_a_message_full_of_words_calls_back_a_few_turns_only() -> None:
    names = "heron stork egret ibis crane bittern spoonbill flamingo pelican cormorant".split()
    history = long_talk(100, **{f"turn_{20 + place}": f"What is the {name}?" for place, name in enumerate(names)})
    assert len(window(" ".join(names), history)) <= RECENT_MESSAGES + 1 + MAX_RECALLED_MESSAGES


@settings(max_examples=100, deadline=None)
@given(
    st.text(max_size=40), st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), st.text(max_size=20)))
)
def test_it_is_a_part_of_the_conversation_in_its_order(message: str, said: list[tuple[str, str]]) -> None:
    history = [Message(role, f"{content} {place}") for place, (role, content) in enumerate(said)]  # type: ignore[arg-type]
    seen = window(message, history)
    assert len(seen) <= RECENT_MESSAGES + 1 + MAX_RECALLED_MESSAGES
    places = [history.index(each) for each in seen if each.role == "user"]
    assert places == sorted(set(places))
    assert all(read([each]) == [each] for each in seen if each.role == "user")


def test_a_hostile_history_takes_no_longer() -> None:
    history = said(*["heronheron " * 2000] * 1000)
    start = time.process_time()
    window("heron " * 2000, history)
    assert time.process_time() - start < 2
