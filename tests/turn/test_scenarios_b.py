"""Design B as conversations: a client sends its whole message array, follow-ups are seen in it (SPEC B1 to B8, B11)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from talking import after, collected, said, searches, stage

from turnwise.engine import Engine
from turnwise.models.fake import FakeChat
from turnwise.turn.run import run_turn
from turnwise.types import Answered, Message, Prompt, Reply, TurnRequest

Talk = Callable[..., tuple[Reply, ...]]

EDIFEST = (
    "What is edifest?",
    "Edifest is our annual festival with various activities for all pupils and their families.",
)
EDICENTER = "Tell me about edicenter", "Edicenter is our learning center with a library and study rooms."
HTML = """<style>.card { color: #333; font-family: Arial; margin: 10px; display: flex; background: white }</style>
<div class="card container"><h2 style="padding: 4px">Edifest</h2><p>Edifest is our <b>annual festival</b>.</p></div>
<script>var width = 100;</script>"""
STYLING = {*"style color font arial margin padding display flex background white card container div width var".split()}


def turned(engine: Engine, request: TurnRequest, **settings: Any) -> Reply:
    """One turn with other settings."""
    parts = replace(engine._parts, settings=replace(engine.settings, **settings))
    last = asyncio.run(collected(run_turn(request, parts)))[-1]
    assert isinstance(last, Answered), last
    return last.reply


# --- B1, B2, B3, B8: the scenarios --------------------------------------------------------------------------------


def test_b1_a_call_that_keeps_nothing_carries_all_of_its_context(sample_engine: Engine) -> None:
    found = sample_engine.analyze(TurnRequest("tell me more", said(*EDIFEST))).to_dict()
    assert (found["is_follow_up"], found["type"], found["confidence"]) == (True, "pattern", 0.85)
    assert found["previous_topic"] == "edifest"
    assert found["keywords"][:2] == ["edifest", "annual festival"]
    assert found["enhanced_query"].startswith("tell me more about edifest")
    assert (found["turn"], found["state"]["topic"], found["state"]["topics"]) == (2, "edifest", ("edifest",))


def test_b8_tell_me_more(sample_engine: Engine) -> None:
    reply = after(sample_engine, *EDIFEST, "tell me more")
    assert (reply.follow_up.type, reply.follow_up.confidence) == ("pattern", 0.85)
    (query,) = searches(reply)
    assert query.startswith("tell me more about edifest")
    assert {source.title for source in reply.sources} == {"Edifest"}


def test_b8_what_activities_are_included(sample_engine: Engine) -> None:
    reply = after(sample_engine, *EDIFEST, "what activities are included")
    assert (reply.follow_up.is_follow_up, reply.follow_up.type) == (True, "semantic")
    assert reply.follow_up.confidence >= 0.55
    assert reply.follow_up.signals["semantic"] >= 0.3
    assert "edifest" in reply.condensed_query
    assert "science fair" in reply.text


def test_b8_then_field_trips(sample_engine: Engine) -> None:
    reply = after(
        sample_engine,
        *EDIFEST,
        "what activities are included",
        "The activities include a science fair, concerts and short field trips.",
        "tell me more about field trips",
    )
    assert reply.follow_up.is_follow_up
    assert "field trip" in reply.text.lower()
    assert {source.title for source in reply.sources} & {"Edifest", "Field trips at Edify"}


def test_b8_who_can_access_it(sample_engine: Engine) -> None:
    """B takes it for a new topic; see the disagreements."""
    reply = after(sample_engine, *EDICENTER, "who can access it")
    assert (reply.follow_up.is_follow_up, reply.follow_up.type) == (True, "pattern")
    assert reply.condensed_query.startswith("who can access edicenter")
    assert "Who can access Edicenter" in {source.heading for source in reply.sources}


@pytest.mark.parametrize(
    "message", ["tell me more", "what about tickets", "elaborate", "continue", "how about tickets?"]
)
def test_b2_a_pattern_is_sure_in_a_conversation_as_well(talk: Talk, message: str) -> None:
    *_, reply = talk("What is edifest?", "when is it?", message)
    assert (reply.follow_up.type, reply.follow_up.confidence) == ("pattern", 0.85)


@pytest.mark.parametrize("message", ["Why?", "how", "ok?"])
def test_b3_what_is_too_short_is_not_compared_by_meaning(sample_engine: Engine, message: str) -> None:
    assert "semantic" not in after(sample_engine, *EDIFEST, message).follow_up.signals


def test_b3_recent_turns_weigh_more(sample_engine: Engine) -> None:
    """The same two exchanges in both orders: the message is nearer to the conversation that ended with its topic."""
    gradient = "What is gradient descent?", "Gradient descent takes small steps downhill."
    near = after(sample_engine, *gradient, *EDIFEST, "which activities are there")
    far = after(sample_engine, *EDIFEST, *gradient, "which activities are there")
    assert near.follow_up.signals["semantic"] > far.follow_up.signals["semantic"]


def test_b3_a_semantic_follow_up_is_never_surer_than_it_may_be(talk: Talk) -> None:
    """Whatever the conversation: from 0.3 to 0.9 by meaning."""
    for reply in talk("What is edifest?", "what activities are included", "which tickets are there", "What is BERT?")[
        1:
    ]:
        assert 0.3 <= reply.follow_up.signals["semantic"] <= 0.9


# --- B4: topics out of markup -------------------------------------------------------------------------------------


@pytest.mark.parametrize("message", ["tell me more", "what activities are included", "when is it?"])
def test_b4_no_word_of_a_style_sheet_becomes_a_topic_or_is_searched(sample_engine: Engine, message: str) -> None:
    reply = after(sample_engine, "What is edifest?", HTML, message)
    seen = " ".join([reply.condensed_query, *searches(reply), *reply.follow_up.keywords, *reply.state.topics])
    assert not STYLING & set(seen.lower().replace(",", " ").split())
    assert reply.follow_up.previous_topic == reply.state.topic == "edifest"


def test_b4_where_only_the_answer_names_the_topic_it_is_read_from_the_text(sample_engine: Engine) -> None:
    history = (Message("assistant", HTML),)
    reply = sample_engine.run(sample_engine.answer(TurnRequest("when is it?", history)))
    assert reply.state.topic.lower() in ("edifest", "annual festival")
    assert "edifest" in reply.condensed_query.lower()


def test_b4_an_answer_that_says_nothing_is_no_topic(sample_engine: Engine) -> None:
    reply = after(sample_engine, "hello", "<div class='x'></div><style>p { color: red }</style>", "tell me more")
    assert (reply.follow_up.previous_topic, reply.state.topic) == ("", "")
    assert reply.condensed_query == "tell me more"


def test_b4_what_the_assistant_says_of_itself_is_no_topic(talk: Talk) -> None:
    """ "There is no answer to rewrite yet." is not about anything."""
    assert talk("Give me that as a list", "What is BERT?")[-1].state.topics == ("BERT",)
    assert talk("thanks!", "What is BERT?")[-1].state.topics == ("BERT",)
    assert talk("How tall is Mount Everest?", "What is BERT?")[-1].state.topics[-1] == "BERT"


# --- B5 to B7: what the context is used for, and its limits -------------------------------------------------------


def test_b5_the_context_is_in_the_search_the_prompt_and_the_metadata(sample_engine: Engine) -> None:
    prompts: list[Prompt] = []

    def spoken(prompt: Prompt) -> str:
        prompts.append(prompt)
        return "So it is."

    parts = replace(sample_engine._parts, models=(FakeChat(spoken),))
    last = asyncio.run(collected(run_turn(TurnRequest("who can access it", said(*EDICENTER)), parts)))[-1]
    assert isinstance(last, Answered)
    assert searches(last.reply)[0].startswith("who can access edicenter")
    assert "It is about edicenter." in prompts[0].messages[-1].content
    assert last.reply.to_dict()["follow_up"]["previous_topic"] == "edicenter"


def test_b6_the_model_is_sent_the_system_message_and_the_most_recent(sample_engine: Engine) -> None:
    prompts: list[Prompt] = []

    def spoken(prompt: Prompt) -> str:
        prompts.append(prompt)
        return "So it is."

    history = said(*(text for turn in range(40) for text in (f"Question {turn}?", f"Answer {turn}.")))
    parts = replace(sample_engine._parts, models=(FakeChat(spoken),))
    asyncio.run(collected(run_turn(TurnRequest("What is BERT?", history), parts)))
    (prompt,) = prompts
    contents = [message.content for message in prompt.messages]
    assert prompt.messages[0].role == "system"
    assert "Answer 39." in contents
    assert "Answer 0." not in contents
    assert len([each for each in prompt.messages if each.role != "system"]) <= 22  # twenty, the question and a note


def test_b7_detection_can_be_switched_off(sample_engine: Engine) -> None:
    reply = turned(sample_engine, TurnRequest("who can access it", said(*EDICENTER)), follow_up=False)
    assert not reply.follow_up.is_follow_up
    assert searches(reply) == ["who can access it"]


def test_b7_an_old_topic_lets_go_of_a_vague_message_but_not_of_a_pronoun(sample_engine: Engine) -> None:
    history = tuple(replace(message, at=1e9) for message in said(*EDIFEST))
    vague = sample_engine.run(sample_engine.answer(TurnRequest("what activities are included", history)))
    assert not vague.follow_up.is_follow_up
    assert vague.condensed_query == "what activities are included"
    pronoun = sample_engine.run(sample_engine.answer(TurnRequest("when is it?", history)))
    assert pronoun.follow_up.is_follow_up
    assert pronoun.condensed_query.startswith("when is edifest")


@pytest.mark.parametrize(
    "hours",
    [
        1,
        24 * 7,
    ],
)
def test_b7_that_a_topic_has_faded_is_said(sample_engine: Engine, hours: int) -> None:
    history = tuple(replace(message, at=time.time() - hours * 3600) for message in said(*EDIFEST))
    vague = sample_engine.run(sample_engine.answer(TurnRequest("what activities are included", history)))
    assert not vague.follow_up.is_follow_up
    assert "edifest" in vague.follow_up.reason
    assert "ago" in vague.follow_up.reason


def test_b7_the_threshold_is_a_setting(sample_engine: Engine) -> None:
    request = TurnRequest("what activities are included", said(*EDIFEST))
    assert not turned(sample_engine, request, follow_up_threshold=0.96).follow_up.is_follow_up
    assert turned(sample_engine, request, follow_up_threshold=0.3).follow_up.is_follow_up


def test_b7_a_change_of_context_is_signalled_once(talk: Talk) -> None:
    """Leaving is signalled; staying, following up and coming with the first question are not."""
    messages = "What is edifest?", "when is it?", "What is gradient descent?", "How does it work?"
    assert [reply.follow_up.topic_changed for reply in talk(*messages)] == [False, False, True, False]


def test_b7_the_signal_is_a_setting(sample_engine: Engine) -> None:
    request = TurnRequest("What is gradient descent?", said(*EDIFEST))
    assert turned(sample_engine, request).follow_up.topic_changed
    assert not turned(sample_engine, request, topic_signal=False).follow_up.topic_changed


def test_b7_no_answer_draws_on_more_than_eight_passages(sample_engine: Engine) -> None:
    reply = turned(sample_engine, TurnRequest("How does BERT compare to GPT?"), evidence=8)
    assert len(stage(reply, "retrieve").details["found"]) <= 8


# --- B13: other languages -----------------------------------------------------------------------------------------

BERT = "What is BERT?", "BERT is a language model that reads text in both directions."


@pytest.mark.parametrize("message", ["warum?", "mehr dazu bitte", "もっと教えて"])
def test_b13_a_wish_for_more_in_another_language_keeps_the_topic(sample_engine: Engine, message: str) -> None:
    reply = after(sample_engine, *BERT, message)
    assert (reply.follow_up.is_follow_up, reply.state.topic, reply.state.topics) == (True, "BERT", ("BERT",))
    assert stage(reply, "condense").details["added"].keys() == {"BERT"}


@pytest.mark.parametrize(
    "message", ["Wer hat es erfunden?", "Pourquoi ?", "¿por qué?", "por quê?", "为什么?", "なぜですか?"]
)
def test_b13_a_follow_up_in_another_language_keeps_the_topic(sample_engine: Engine, message: str) -> None:
    reply = after(sample_engine, *BERT, message)
    assert reply.follow_up.is_follow_up
    assert (reply.state.topic, reply.state.topics) == ("BERT", ("BERT",))


@pytest.mark.parametrize("message", ["¿Quién lo inventó?", "Quem o inventou?", "Qui l'a inventé ?"])
def test_b13_a_pronoun_before_the_verb_points_back(sample_engine: Engine, message: str) -> None:
    assert after(sample_engine, *BERT, message).follow_up.is_follow_up


# --- B11: diagnostics ---------------------------------------------------------------------------------------------


def test_b11_each_decision_is_told_with_its_scores(talk: Talk) -> None:
    for reply in talk("What is edifest?", "what activities are included", "What is BERT?")[1:]:
        told = stage(reply, "understand")
        assert told.details["confidence"] == reply.follow_up.confidence
        assert told.details["signals"].keys() == {"pattern", "semantic", "model"}
        assert told.details["thresholds"]["follow_up"] == 0.5
        assert told.details["thresholds"]["similarity"] == {"high": 0.6, "medium": 0.45, "low": 0.3}
        assert told.reason == reply.follow_up.reason


def test_b11_found_passages_are_told_with_their_relevance_and_none_twice(talk: Talk) -> None:
    _, reply = talk("What is BERT?", "How does it compare to GPT?")
    found = stage(reply, "retrieve").details["found"]
    assert len({(each["title"], each["heading"]) for each in found}) == len(found)
    assert all(each["score"] > 0 for each in found)
    assert len({source.passage_id for source in reply.sources}) == len(reply.sources)


@pytest.mark.parametrize(
    "messages", [("What is edifest?", "tell me more"), ("tell me about bert", "how is it trained")]
)
def test_b11_a_reason_is_words(talk: Talk, messages: tuple[str, ...]) -> None:
    for reply in talk(*messages):
        assert all(each.reason and "_" not in each.reason for each in reply.trace if each.stage != "guard in")
