"""Design E as conversations: condense, then retrieve, then answer; nothing begins anew (SPEC E1, E2, E8, E9, E12)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fake_openai import FakeOpenAI, words
from talking import STAGES, after, collected, of_kind, said, searches, stage

from turnwise.app import query_condenser
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.turn.run import run_turn
from turnwise.types import Answered, Delta, Reply, StageDone, TurnRequest

Talk = Callable[..., tuple[Reply, ...]]

READING = (
    "What is multi-task learning?",
    "Why does it help?",
    "What is causal inference?",
    "Is there an overlap?",
    "What about few-shot learning?",
    "What is BERT?",
    "thanks",
    "How is it pre-trained?",
)


# --- E1: when to condense, and when not ---------------------------------------------------------------------------


def test_e1_a_reading_session(talk: Talk) -> None:
    """A pronoun, a comparison, an ellipsis; between them questions that stand alone, and a courtesy."""
    queries = [reply.condensed_query for reply in talk(*READING)]
    assert queries[0] == READING[0]
    assert queries[1].lower().startswith("why does multi-task learning")
    assert queries[2] == READING[2]
    assert queries[3] == "Is there an overlap between multi-task learning and causal inference?"
    assert "few-shot learning" in queries[4]
    assert queries[5] == READING[5]
    assert queries[6] == READING[6]
    assert queries[7].startswith("How is BERT pre-trained")
    follows = [reply.follow_up.is_follow_up for reply in talk(*READING)]
    assert follows == [False, True, False, True, True, False, False, True]


def test_e1_what_is_copied_is_the_subject_and_no_verb(talk: Talk) -> None:
    assert talk(*READING)[1].condensed_query.lower() == "why does multi-task learning help?"


def test_e1_nothing_is_added_that_was_left_long_ago(talk: Talk) -> None:
    assert talk(*READING)[7].condensed_query == "How is BERT pre-trained?"


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("Who invented it?", "Who invented BERT?"),
        ("What are its limits?", "What are BERT’s limits?"),
        ("how is that trained", "how is BERT trained"),
        ("does it also write text?", "does BERT also write text?"),
    ],
)
def test_e1_a_pronoun_is_replaced_by_what_it_means(talk: Talk, message: str, query: str) -> None:
    *_, reply = talk("What is BERT?", message)
    assert reply.condensed_query == query


@pytest.mark.parametrize("message", ["what's the difference?", "compare them", "How are they related?", "any overlap?"])
def test_e1_a_comparison_of_nothing_is_of_the_last_two_subjects(talk: Talk, message: str) -> None:
    *_, reply = talk("What is BERT?", "What is GPT?", message)
    assert {"BERT", "GPT"} <= set(reply.condensed_query.replace("?", " ").replace(")", " ").replace("(", " ").split())
    assert {source.title for source in reply.sources} & {"BERT", "GPT"}


@pytest.mark.parametrize("message", ["What about GPT?", "and GPT?", "also for GPT?"])
def test_e1_an_ellipsis_asks_the_same_of_the_new_subject(talk: Talk, message: str) -> None:
    *_, reply = talk("How is BERT pre-trained?", message)
    assert "GPT" in reply.condensed_query
    assert "pre-trained" in reply.condensed_query
    assert "next" in reply.text


TWO = (
    ("What is BERT?", "BERT is a language model that reads both ways."),
    (
        "What is attention?",
        "Attention weighs the words of a text by how much they matter to each other.",
    ),
)


@pytest.mark.parametrize("message", ["how does it work?", "tell me more", "why is it useful?", "how do I use it"])
@pytest.mark.parametrize(
    "turn",
    [
        pytest.param(0, id="BERT last"),
        pytest.param(1, id="attention last"),
    ],
)
def test_e1_it_means_the_subject_that_was_asked_about_last(sample_engine: Engine, message: str, turn: int) -> None:
    """The one before it has been left: naming it first, or alone, searches for the wrong thing."""
    earlier, last = TWO[1 - turn], TWO[turn]
    query = after(sample_engine, *earlier, *last, message).condensed_query.lower()
    now, left = ("bert", "attention") if turn == 0 else ("attention", "bert")
    assert now in query
    assert left not in query


def test_e1_it_means_the_last_subject_also_in_a_talk_with_this_library(talk: Talk) -> None:
    *_, reply = talk("What is BERT?", "What is edifest?", "when is it?")
    assert reply.condensed_query == "when is edifest?"
    assert "June" in reply.text or "Thursday" in reply.text


def test_e1_a_sloppy_message_is_read_as_it_is_meant(talk: Talk) -> None:
    *_, reply = talk("What is BERT?", "and whats the diff with gpt")
    assert "What is whats" not in reply.condensed_query
    assert {"bert", "gpt"} <= set(reply.condensed_query.lower().replace("?", "").split())
    assert searches(reply)[1:] == ["BERT", "gpt"]


def test_e1_a_message_that_names_what_its_pronoun_means_is_left_alone(sample_engine: Engine) -> None:
    message = "What is BERT? And how does it compare to GPT? Also who made it?"
    reply = after(sample_engine, "What is BERT?", "BERT is a language model of Google, published in 2018.", message)
    assert "Google compare" not in reply.condensed_query


def test_e1_a_word_that_points_back_is_no_subject(sample_engine: Engine) -> None:
    reply = after(
        sample_engine,
        *("What is causal inference?", "Causal inference asks what would happen if we changed something."),
        *("Earlier you mentioned randomisation, can you expand?", "I don’t know: the documents do not answer that."),
        *("Compare BERT and GPT on few-shot learning", "GPT suits few-shot prompting; BERT is fine-tuned."),
        "Which is better?",
    )
    assert "Earlier" not in reply.condensed_query
    assert "Earlier" not in reply.state.topics
    assert {"BERT", "GPT"} <= set(reply.condensed_query.replace("?", " ").replace(",", " ").split())


# --- E2: a language model that rewrites ---------------------------------------------------------------------------


@pytest.fixture
def rewriting(sample_engine: Engine) -> Callable[..., Reply]:
    """One turn of the real engine with a rewriter that says this."""

    def rewriting(reply: str, message: str, *contents: str) -> Reply:
        with FakeOpenAI(words(reply)) as provider:
            chosen = Settings(base_url=provider.url, model="some-model", condense_with_model=True, condense_timeout=60)
            parts = replace(sample_engine._parts, condenser=query_condenser(chosen))
            events = asyncio.run(collected(run_turn(TurnRequest(message, said(*contents)), parts)))
        last = events[-1]
        assert isinstance(last, Answered), last
        return last.reply

    return rewriting


ACKNOWLEDGED = ["Okay, I understand.", "I'm ready to begin. What is your first question?", "Sure! BERT is a model."]


@pytest.mark.parametrize("said_instead", ACKNOWLEDGED)
def test_e2_an_acknowledgement_is_not_searched(
    rewriting: Callable[..., Reply], sample_engine: Engine, said_instead: str
) -> None:
    history = "What is BERT?", "BERT is a language model that reads text in both directions."
    message = "How does it compare to GPT?"
    reply, alone = rewriting(said_instead, message, *history), after(sample_engine, *history, message)
    assert (reply.condensed_query, searches(reply)) == (alone.condensed_query, searches(alone))
    assert "refused" in stage(reply, "condense").reason
    assert stage(reply, "condense").details["refused"]


def test_e2_a_rewrite_is_searched(rewriting: Callable[..., Reply]) -> None:
    history = "What is BERT?", "BERT is a language model that reads text in both directions."
    reply = rewriting("How does the language model BERT compare to GPT?", "How does it compare to GPT?", *history)
    assert reply.condensed_query == "How does the language model BERT compare to GPT?"
    assert stage(reply, "condense").decision == "llm"


def test_e2_a_question_that_stands_alone_is_not_given_to_the_rewriter(rewriting: Callable[..., Reply]) -> None:
    reply = rewriting("What is edifest and BERT?", "What is BERT?", "What is edifest?", "Edifest is our festival.")
    assert (reply.condensed_query, stage(reply, "condense").decision) == ("What is BERT?", "literal")


# --- E8, E9: what is told, kept and streamed ----------------------------------------------------------------------


def test_e8_the_trace_tells_what_a_person_wants_to_know(talk: Talk) -> None:
    _, reply = talk("What is BERT?", "How does it compare to GPT?")
    assert [each.stage for each in reply.trace] == STAGES
    condensed, retrieved = stage(reply, "condense"), stage(reply, "retrieve")
    assert condensed.details["query"] == "How does BERT compare to GPT?"
    added = condensed.details["added"]
    assert max(added, key=added.get) == "BERT"
    assert "“it” refers to something said before" in condensed.reason
    assert reply.turn == 2
    assert retrieved.decision == f"{len(retrieved.details['found'])} passages"
    assert stage(reply, "compose").decision.endswith("pieces of evidence")


def test_e9_the_same_message_is_condensed_once(sample_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from turnwise.turn import condense

    worked: list[Any] = []
    work = condense._condense_locally
    monkeypatch.setattr(condense, "_condense_locally", lambda asked: worked.append(asked) or work(asked))  # type: ignore[func-returns-value]
    history = "What is dropout in a network?", "Dropout switches neurons off at random while training."
    first, second = (after(sample_engine, *history, "and why does it help?") for _ in range(2))
    assert first.condensed_query == second.condensed_query
    assert len(worked) <= 1


def test_e9_an_answer_streams_stage_by_stage(sample_engine: Engine) -> None:
    request = TurnRequest("How does it work?", said("What is BERT?", "BERT is a language model."))
    events = asyncio.run(collected(sample_engine.stream(request)))
    assert [event.stage.stage for event in of_kind(events, StageDone)] == STAGES[:-1]
    (last,) = of_kind(events, Answered)
    assert "".join(event.text for event in of_kind(events, Delta)).strip() == last.reply.text
    places = [place for place, event in enumerate(events) if isinstance(event, Delta)]
    assert places
    assert isinstance(events[places[0] - 1], StageDone)


# --- E12 and long conversations -----------------------------------------------------------------------------------

BEGINNING = ("ready to begin", "okay, i understand", "i understand.", "how can i help you today", "let's begin")


def test_e12_no_answer_starts_with_an_acknowledgement(talk: Talk) -> None:
    for reply in talk(*READING):
        assert not any(words in reply.text.lower() for words in BEGINNING)


def test_e12_nor_if_the_history_starts_with_one(sample_engine: Engine) -> None:
    """A client's model has said it; neither the search nor the answer picks it up."""
    reply = after(
        sample_engine,
        "You answer from my library.",
        "Okay, I understand. I'm ready to begin!",
        "What is BERT?",
        "A model.",
        "Why?",
    )
    assert not any(words in (reply.text + reply.condensed_query).lower() for words in BEGINNING)
    assert "BERT" in reply.condensed_query


def test_turn_500_is_as_good_as_turn_5(sample_engine: Engine) -> None:
    """A thousand messages, the first of them called back to at the end."""
    talked = [
        *("What is gradient descent?", "A method that lowers a loss."),
        *("Why does it work?", "Because a small step downhill lowers the loss."),
        *("What is edifest?", "Our annual festival."),
        *("thanks!", "You’re welcome."),
    ]
    history = said("What is the laser cutter?", "A tool in the maker space of Edicenter.", *talked * 124, *talked[:6])
    assert len(history) == 1000
    when = sample_engine.run(sample_engine.answer(TurnRequest("when is it?", history)))
    assert (when.turn, when.state.turn) == (501, 501)
    assert when.condensed_query.startswith("when is edifest")
    fresh = sample_engine.run(sample_engine.answer(TurnRequest("What is causal inference?", history)))
    assert (fresh.follow_up.is_follow_up, fresh.condensed_query) == (False, "What is causal inference?")
    back = sample_engine.run(sample_engine.answer(TurnRequest("Back to the laser cutter: who may use it?", history)))
    assert "laser cutter" in back.condensed_query
    assert "14" in back.text
    first = sample_engine.run(sample_engine.answer(TurnRequest("What did I ask first?", history)))
    assert "“What is the laser cutter?”" in first.text
