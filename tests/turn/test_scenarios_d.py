"""Design D as conversations: what is done with the last answer, and what is remembered (SPEC D7)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from talking import after, citations, searches, stage

from turnwise.engine import Engine
from turnwise.types import Reply

Talk = Callable[..., tuple[Reply, ...]]

# One long talk, as people talk: a question, a follow-up, thanks, a form, another subject, memories.
VISIT = (
    "Tell me about edicenter",
    "who can access it",
    "Give me that as a list",
    "make it shorter",
    "thanks!",
    "What is edifest?",
    "Tell me more about that",
    "What did I ask first?",
    "What have we talked about so far?",
    "what was my last question?",
)


def test_tell_me_more_about_that_searches_on_for_the_subject(talk: Talk) -> None:
    reply = talk(*VISIT)[6]
    assert reply.follow_up.is_follow_up
    assert "edifest" in reply.condensed_query
    assert "edicenter" not in reply.condensed_query
    assert searches(reply)
    assert {source.title for source in reply.sources} <= {"Edifest", "Field trips at Edify"}
    assert reply.text.split("[")[0] not in talk(*VISIT)[5].text


def test_a_list_of_that_is_the_last_answer_and_not_a_new_search(talk: Talk) -> None:
    replies = talk(*VISIT)
    access, listed, shorter = replies[1:4]
    assert searches(listed) == searches(shorter) == []
    assert listed.text.startswith("- ")
    assert listed.sources == access.sources
    assert citations(shorter.text) <= citations(access.text)
    assert len(shorter.text) < len(access.text)
    assert stage(listed, "understand").decision == stage(shorter, "understand").decision == "reform"


def test_a_list_of_that_is_the_last_answer_also_where_that_cites_nothing(sample_engine: Engine) -> None:
    """A client's own model may have answered without a citation, after an answer that had one."""
    reply = after(
        sample_engine,
        "What is BERT?",
        "BERT is a language model that reads text in both directions at once. [1]",
        "What is edifest?",
        "Edifest is our annual festival. It has music and sport.",
        "Give me that as a list",
    )
    assert reply.text == "- Edifest is our annual festival.\n- It has music and sport."


def test_the_form_changes_neither_topic_nor_phase(talk: Talk) -> None:
    replies = talk(*VISIT)
    assert [reply.state.topic for reply in replies[:5]] == ["edicenter"] * 5
    assert replies[4].state.phase == replies[1].state.phase


def test_the_first_and_the_last_question_are_answered_from_memory(talk: Talk) -> None:
    first, everything, last = talk(*VISIT)[7:]
    assert "“Tell me about edicenter”" in first.text
    assert all(question in everything.text for question in ("who can access it", "What is edifest?"))
    assert "What have we talked about so far?" in last.text
    assert searches(first) == searches(everything) == searches(last) == []


@pytest.mark.parametrize(
    "message",
    [
        "What did I ask at the very beginning?",
        "what was the first thing I asked you about?",
        "what was it that I asked you first",
        "remind me what my first question was",
    ],
)
def test_the_first_question_is_remembered_however_one_asks_for_it(talk: Talk, message: str) -> None:
    *_, reply = talk("What is BERT?", "What is edifest?", message)
    assert searches(reply) == []
    assert "“What is BERT?”" in reply.text


def test_what_you_said_about_something_is_answered_from_memory(talk: Talk) -> None:
    *_, reply = talk(
        "What is BERT?", "How is it pre-trained?", "What is edifest?", "what did you say about masked words?"
    )
    assert searches(reply) == [] or "masked" in reply.text
    assert "mask" in reply.text
    assert "edifest" not in reply.text.lower()


def test_entities_of_earlier_turns_come_back_by_name(talk: Talk) -> None:
    *_, reply = talk(
        "What is BERT?",
        "What is edifest?",
        "Where is it held?",
        "Going back to BERT, how is it pre-trained?",
    )
    assert reply.follow_up.is_follow_up
    assert "BERT" in reply.condensed_query
    assert "edifest" not in reply.condensed_query
    assert "masked" in reply.text
    assert reply.state.topic == "BERT"


def test_earlier_you_mentioned_goes_back_to_what_an_answer_said(sample_engine: Engine) -> None:
    """The subject is the word of an answer of three turns ago, not of a question."""
    reply = after(
        sample_engine,
        "What is causal inference?",
        "Causal inference asks what would happen if we changed something; a randomised experiment is its best tool.",
        "What is edifest?",
        "Edifest is our annual festival.",
        "when is it?",
        "In June.",
        "Earlier you mentioned a randomised experiment, can you expand on that?",
    )
    assert stage(reply, "understand").decision == "refer_back"
    assert "randomised experiment" in reply.condensed_query
    assert "Causal inference" in {source.title for source in reply.sources}
    assert "Earlier" not in reply.state.topics


def test_a_correction_asks_the_last_question_again(talk: Talk) -> None:
    _, reply = talk("Who can take part in Edifest?", "no, I meant Edicenter")
    assert stage(reply, "understand").decision == "clarify"
    assert "Edicenter" in reply.condensed_query
    assert "Edifest" not in reply.condensed_query


def test_a_correction_is_not_answered_with_what_was_not_meant(talk: Talk) -> None:
    _, reply = talk("Who can take part in Edifest?", "no, I meant Edicenter")
    assert "Edifest" not in {source.title for source in reply.sources}


def test_a_correction_of_a_follow_up_asks_the_whole_question_again(talk: Talk) -> None:
    *_, reply = talk("What is edifest?", "who can come", "no, I meant Edicenter")
    assert reply.condensed_query.startswith("who can come to Edicenter")


def test_a_sum_is_no_follow_up_and_no_subject(talk: Talk) -> None:
    _, arithmetic, trained = talk("What is BERT?", "12 * 7", "How is it trained?")
    assert stage(arithmetic, "understand").decision == "arithmetic"
    assert not arithmetic.follow_up.is_follow_up
    assert trained.follow_up.previous_topic == "BERT"
    assert trained.condensed_query == "How is BERT trained?"
