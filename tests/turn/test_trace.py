"""The trace of a turn: ten stages, each with what it decided, why, and how long it took."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from talking import STAGES, events_of, failed, of_kind

from turnwise.engine import Engine
from turnwise.models.fake import FakeChat
from turnwise.turn.parts import Parts
from turnwise.types import Accepted, Answered, Delta, Reply, StageDone, TurnRequest

MESSAGES = (
    "What is BERT?",
    "How does it compare to GPT?",
    "thanks!",
    "Give me that as a list",
    "What did I ask first?",
)


@pytest.mark.parametrize("number", range(len(MESSAGES)), ids=MESSAGES)
def test_every_kind_of_turn_leaves_ten_stages_with_decision_reason_and_time(
    talk: Callable[..., tuple[Reply, ...]], number: int
) -> None:
    trace = talk(*MESSAGES)[number].trace
    assert [stage.stage for stage in trace] == STAGES
    for stage in trace:
        assert stage.decision, stage
        assert stage.reason, stage
        assert stage.ms >= 0


def test_a_reply_is_json_and_the_store_keeps_the_same(sample_engine: Engine) -> None:
    chat = sample_engine.chat()
    chat.ask("What is BERT?")
    reply = chat.ask("Is it better than GPT?")
    sent = json.loads(json.dumps(reply.to_dict()))
    assert {"conversation_id", "text", "sources", "condensed_query", "follow_up", "state", "trace"} <= sent.keys()
    assert {"is_follow_up", "type", "confidence", "previous_topic", "keywords"} <= sent["follow_up"].keys()
    turn = chat.history.turns[-1]
    assert (turn.response, turn.status, turn.number) == (reply.text, "answered", 2)
    assert turn.sources == reply.sources
    kept = {"text": turn.response, "sources": sent["sources"], **turn.record}
    assert kept == sent


def test_events_come_in_order_and_stages_stream_as_they_end(make_parts: Callable[..., Parts]) -> None:
    events = events_of(TurnRequest("What is BERT?"), make_parts(FakeChat(lambda _: ["One ", "two."])))
    assert isinstance(events[0], Accepted)
    assert isinstance(events[-1], Answered)
    streamed = [event.stage for event in of_kind(events, StageDone)]
    reply = events[-1].reply
    assert streamed == list(reply.trace[: len(streamed)])
    assert [stage.stage for stage in streamed][:9] == STAGES[:9]
    kinds = [type(event) for event in events]
    assert kinds.index(Delta) > kinds.index(StageDone)


def test_the_condense_stage_says_what_was_added_from_where_and_why(talk: Callable[..., tuple[Reply, ...]]) -> None:
    stage = talk(*MESSAGES)[1].trace[2]
    assert stage.decision == "model"
    assert "BERT" in stage.reason
    assert stage.details["query"] == "How does BERT compare to GPT?"
    assert "BERT" in stage.details["added"]
    assert 0 < stage.details["added"]["BERT"] <= 1


def test_a_failed_turn_keeps_the_trace_up_to_where_it_broke(make_parts: Callable[..., Parts]) -> None:
    def broken(_: object) -> str:
        raise RuntimeError("a bug in a model")

    end = failed(TurnRequest("What is BERT?"), make_parts(FakeChat(broken)))
    assert [stage.stage for stage in end.trace] == STAGES[:7]
    assert end.trace[-1].decision == "stopped"
    assert end.trace[-1].reason == "fake broke (RuntimeError)."  # what it said is for the log
    assert end.status == 502
    assert end.error["hint"]
    json.dumps(end.error)
