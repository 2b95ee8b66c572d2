"""Bad input ends in a clear error, nothing of it is stored, and the conversation goes on."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patience import within
from talking import answered, by_rules, events_of, failed, said, understood

from turnwise.dialogue.tokens import Budget
from turnwise.engine import Engine, TurnFailed
from turnwise.errors import ConversationNotFound
from turnwise.extractive import ExtractiveAnswerer
from turnwise.models.fake import FakeChat
from turnwise.turn.compose import compose
from turnwise.turn.parts import Parts
from turnwise.types import Accepted, Answered, Failed, Message, QueryPlan, TurnRequest

MakeParts = Callable[..., Parts]
BAD = [
    pytest.param("", "EmptyMessage", 422, id="empty"),
    pytest.param(" \n\t ", "EmptyMessage", 422, id="whitespace"),
    pytest.param("\u200b\u200d\ufeff\u2060", "EmptyMessage", 422, id="zero-width"),
    pytest.param("\u202e\u202c", "EmptyMessage", 422, id="bidirectional marks"),
    pytest.param("\U000e0041\U000e0042", "EmptyMessage", 422, id="tag characters"),
    pytest.param("a" * 10_000_000, "MessageTooLong", 413, id="10 MB"),
    pytest.param("What is\x00 BERT?", "NotText", 422, id="NUL"),
    pytest.param("What is \ud83d BERT?", "NotText", 422, id="lone surrogate"),
]
IDS = ["", " ", "a b", "a/b", "../../etc/passwd", "a\n", "a\x00b", "\ud800", "x" * 201, "\u200b"]


@pytest.mark.parametrize(("message", "code", "status"), BAD)
def test_a_bad_message_fails_with_its_code_and_the_conversation_stays_usable(
    make_parts: MakeParts, message: str, code: str, status: int
) -> None:
    parts = make_parts(FakeChat(lambda prompt: f"You said {prompt.question}"))
    conversation = uuid.uuid4().hex
    answered(TurnRequest("What is BERT?", conversation_id=conversation), parts)

    events = events_of(TurnRequest(message, conversation_id=conversation), parts)
    (end,) = events
    assert isinstance(end, Failed)
    assert (end.error["code"], end.status) == (code, status)
    assert end.error["message"]
    assert end.error["hint"]
    assert len(str(end)) < 2000

    assert len(parts.store.conversation(conversation).turns) == 1
    after = answered(TurnRequest("How does it work?", conversation_id=conversation), parts)
    assert (after.turn, after.condensed_query) == (2, "How does BERT work?")


@pytest.mark.parametrize("conversation", IDS)
def test_a_bad_conversation_id_fails_and_makes_no_conversation(make_parts: MakeParts, conversation: str) -> None:
    parts = make_parts(FakeChat(lambda _: "Fine."))
    before = parts.store.conversations(10_000)
    end = failed(TurnRequest("What is BERT?", conversation_id=conversation), parts)
    assert (end.error["code"], end.status) == ("BadRequest", 400)
    assert end.error["hint"]
    assert parts.store.conversations(10_000) == before


@pytest.mark.parametrize("conversation", ["a", "c1", "x" * 200, "3f0c:user@example.org,1", "';DROP-TABLE-turns;--"])
def test_an_ordinary_conversation_id_is_taken(make_parts: MakeParts, conversation: str) -> None:
    answered(TurnRequest("Hello", conversation_id=conversation), make_parts(FakeChat(lambda _: "Fine.")))


@pytest.mark.parametrize(
    ("condensed", "code"),
    [("a" * 100_000, "MessageTooLong"), ("What is \ud83d?", "NotText"), ("What\x00?", "NotText")],
    ids=["too long", "lone surrogate", "NUL"],
)
def test_a_condensed_query_is_checked_like_a_message(make_parts: MakeParts, condensed: str, code: str) -> None:
    parts = make_parts(FakeChat(lambda _: "Fine."))
    assert failed(TurnRequest("What is it?", condensed_query=condensed), parts).error["code"] == code


def test_a_chat_raises_what_a_turn_reports(sample_engine: Engine) -> None:
    chat = sample_engine.chat()
    with pytest.raises(TurnFailed, match="empty") as caught:
        chat.ask(" ")
    assert (caught.value.code, caught.value.status) == ("EmptyMessage", 422)
    assert caught.value.hint == "Write a question."
    with pytest.raises(ConversationNotFound):
        _ = chat.history


def test_messages_of_signs_and_pictures_are_answered(make_parts: MakeParts, extractive: ExtractiveAnswerer) -> None:
    for message in (
        "?",
        "🙂",
        "…",
        "[1]",
        "1",
        "--",
        "%s {0} <script>",
        "' OR 1=1 --",
        '"',
        "NEAR(",
        "مرحبا",
        "é" * 500,
    ):
        reply = answered(TurnRequest(message, said("What is BERT?", "BERT is a model. [1]")), make_parts(extractive))
        assert reply.text


anything = st.text(st.characters(), max_size=60)
roles = st.sampled_from(["user", "assistant", "system"])
messages = st.builds(Message, roles, anything | st.sampled_from(["BERT [1].", "What is BERT?", "| a | [1] |", ""]))
asked = anything | st.sampled_from(
    "Give me that as a list/as a table/make it shorter/Translate that/thanks!/What did I ask first?/And GPT?"
    "/How does it compare to GPT?/tell me more/Is there an overlap?/Why?".split("/")
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked, st.lists(messages, max_size=24).map(tuple), st.none() | anything)
def test_no_message_and_no_history_makes_a_turn_raise_or_break(
    make_parts: MakeParts, message: str, history: tuple[Message, ...], condensed: str | None
) -> None:
    parts = make_parts(FakeChat(lambda prompt: f"{prompt.question} [1] [99]"))
    end = events_of(TurnRequest(message, history, condensed_query=condensed), parts)[-1]
    assert isinstance(end, Answered | Failed)
    if isinstance(end, Failed):
        assert end.error["code"] != "TurnwiseError", end
        assert end.error["hint"]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked, st.lists(messages, max_size=24).map(tuple))
def test_the_extractive_answerer_survives_any_history_too(
    make_parts: MakeParts, extractive: ExtractiveAnswerer, message: str, history: tuple[Message, ...]
) -> None:
    end = events_of(TurnRequest(message, history), by_rules(make_parts(extractive)))[-1]
    if isinstance(end, Failed):
        assert end.error["code"] in {"EmptyMessage", "NotText"}, end


def test_the_form_of_an_answer_that_lies_far_back_does_not_break_the_turn(
    make_parts: MakeParts, extractive: ExtractiveAnswerer
) -> None:
    """Twenty questions in a row went unanswered since, as when a model was down."""
    history = (*said("What is BERT?", "BERT is a model. [1]"), *(Message("user", f"Question {n}") for n in range(20)))
    assert answered(TurnRequest("Give me that as a list", history), make_parts(extractive)).text


def test_the_form_of_an_empty_answer_is_explained(make_parts: MakeParts, extractive: ExtractiveAnswerer) -> None:
    assert answered(TurnRequest("Give me that as a list", said("What is BERT?", "")), make_parts(extractive)).text


LONG = 16_000
HOSTILE = {
    "lines of a space": "\n " * (LONG // 2 - 1) + "x",
    "initials": "A. " * (LONG // 3),
    "brackets": "[" * LONG,
    "parentheses": "(" * LONG,
    "what": "what " * (LONG // 5),
    "quotes": '"' * LONG,
    "combining marks": "e" + "\u0301" * (LONG - 1),
    "between": "between a and " * (LONG // 14),
    "ignore": "ignore all " * (LONG // 11),
    "capitals": "Aa " * (LONG // 3),
}


@pytest.mark.parametrize("message", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_message_of_full_length_does_not_stall(make_parts: MakeParts, message: str) -> None:
    """The stages before the search run on the event loop: one slow message would stop every other conversation."""
    history = said("What is BERT?", "BERT is a model. [1]")
    parts = make_parts(FakeChat(lambda _: "Fine."))
    with within(5):
        events = events_of(TurnRequest(message, history), parts)
    assert isinstance(events[0], Accepted)


@pytest.mark.parametrize(
    "content",
    ["A. " * 60_000 + "[1]", " " * 100_000 + "[1]", "x\n " * 50_000 + "[1]", "Word [1]. " * 10_000],
    ids=["initials", "spaces", "lines", "citations"],
)
def test_a_forged_history_does_not_stall_the_making_of_the_prompt(make_parts: MakeParts, content: str) -> None:
    """A request body may hold 2 MB; this is a tenth of it."""
    history, index = said("What is BERT?", content), make_parts().index
    with within(5):
        compose("Go on", history, QueryPlan("", "", ()), [], index.locate, Budget(), understood=understood())
