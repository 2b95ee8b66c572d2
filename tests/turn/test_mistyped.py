"""A mistyped question is answered as it was meant, and the conversation keeps what was typed."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable

import pytest
from talking import abstains, answered, searches, stage

from turnwise.models.fake import FakeChat
from turnwise.models.vocabulary import is_english
from turnwise.turn.parts import Parts
from turnwise.turn.understand import Senses
from turnwise.types import Prompt, Reply, TurnRequest

Talk = Callable[..., tuple[Reply, ...]]
MakeParts = Callable[..., Parts]


def reading(parts: Parts) -> Parts:
    return dataclasses.replace(parts, senses=Senses(is_english=is_english))


@pytest.mark.parametrize("typed", ["what is graident descent?", "waht is gradeint descent?"])
def test_it_is_answered_as_it_was_meant(talk: Talk, typed: str) -> None:
    (meant,) = talk("what is gradient descent?")
    (reply,) = talk(typed)
    assert (reply.text, searches(reply)) == (meant.text, searches(meant))


def test_the_trace_says_what_a_mistyped_message_was_read_as(talk: Talk) -> None:
    (reply,) = talk("what is graident descent?")
    assert stage(reply, "condense").reason.endswith("“graident” was read as “gradient”")
    assert reply.condensed_query == "what is gradient descent?"


def test_a_follow_up_after_it_is_understood(talk: Talk) -> None:
    _, reply = talk("what is graident descent?", "waht about the lerning rate?")
    assert reply.sources[0].heading == "The learning rate"


def test_the_slip_does_not_come_back_in_a_follow_up(talk: Talk) -> None:
    _, reply = talk("what is graident descent?", "when does it fail?")
    assert "gradient descent" in reply.condensed_query
    assert "graident" not in " ".join(searches(reply))


def test_what_is_counted_off_after_a_list_is_named(make_parts: MakeParts) -> None:
    prompts: list[Prompt] = []

    def spoken(prompt: Prompt) -> str:
        prompts.append(prompt)
        return "- Momentum [1]\n- Learning rate [1]"

    parts, conversation = reading(make_parts(FakeChat(spoken))), uuid.uuid4().hex
    for typed in ("What does gradient descent need?", "why does the second one matter?"):
        reply = answered(TurnRequest(typed, conversation_id=conversation), parts)
    assert "Learning rate" in reply.condensed_query
    assert stage(reply, "condense").reason.endswith("“the second one” was read as “Learning rate”")
    assert any("why does the second one matter?" in each.content for each in prompts[1].messages)


def test_the_conversation_and_the_model_keep_what_was_typed(make_parts: MakeParts) -> None:
    prompts: list[Prompt] = []

    def spoken(prompt: Prompt) -> str:
        prompts.append(prompt)
        return "It lowers a loss [1]."

    parts, conversation = reading(make_parts(FakeChat(spoken))), uuid.uuid4().hex
    for typed in ("what is graident descent?", "why does it work?"):
        answered(TurnRequest(typed, conversation_id=conversation), parts)
    first, second = prompts
    assert "what is graident descent?" in first.messages[1].content
    assert first.question == "what is gradient descent?"
    assert second.messages[: len(first.messages)] == first.messages
    stored = parts.store.conversation(conversation)
    assert stored is not None
    assert stored.turns[0].prompt == "what is graident descent?"


def test_it_can_be_switched_off(make_parts: MakeParts) -> None:
    parts = reading(make_parts(FakeChat(lambda _: "Yes."), spelling=False))
    reply = answered(TurnRequest("what is graident descent?"), parts)
    assert searches(reply) == ["what is graident descent?"]


def test_a_query_of_the_user_s_own_is_searched_as_it_is(make_parts: MakeParts) -> None:
    request = TurnRequest("what is it?", condensed_query="graident descent")
    assert searches(answered(request, reading(make_parts(FakeChat(lambda _: "Yes."))))) == ["graident descent"]


def test_a_word_that_is_near_to_none_stays_unknown(talk: Talk) -> None:
    (reply,) = talk("what is a zqbrlx?")
    assert abstains(reply)
    assert stage(reply, "condense").reason == "the conversation begins here"


def test_a_question_without_its_apostrophe_is_answered_like_one_with_it(talk: Talk) -> None:
    (meant,) = talk("what's gradient descent")
    (reply,) = talk("whats gradient descent")
    assert (reply.text, searches(reply)) == (meant.text, searches(meant))


def test_a_sum_without_its_apostrophe_is_worked_out(talk: Talk) -> None:
    (reply,) = talk("whats 5 x 2.65")
    assert reply.text.startswith("5 × 2.65 is 13.25.")
