"""What a turn does: search, once or for both sides; re-form; or speak."""

from __future__ import annotations

import asyncio

import pytest
from talking import said

from turnwise.config import Settings
from turnwise.turn.condense import condense, search_query
from turnwise.turn.plan import Meaning
from turnwise.turn.planner import QueryPlanner
from turnwise.turn.understand import understand
from turnwise.types import Message, QueryPlan

BERT = said("What is BERT?", "BERT is a model. [1]")


def planned(message: str, history: tuple[Message, ...] = BERT, given: str | None = None) -> QueryPlan:
    understood = understand(message, history)
    condensed = condense(message, history, understood, given)
    meaning = Meaning(understood, condensed, search_query(message, history, understood, condensed, Settings()))
    return asyncio.run(QueryPlanner().create_plan("q1", message, history, meaning=meaning))


def searched(made: QueryPlan) -> list[str]:
    assert {step.tool for step in made.steps} == {"rag", "answer"}
    return [step.query.question for step in made.steps if step.query]


def test_a_simple_question_is_one_search() -> None:
    assert searched(planned("What is GPT?")) == ["What is GPT?"]


@pytest.mark.parametrize(
    ("message", "sides"),
    [
        ("How does it compare to GPT?", ["BERT", "GPT"]),
        ("compare BERT and GPT", ["BERT", "GPT"]),
        ("BERT vs GPT", ["BERT", "GPT"]),
        ("BERT versus GPT?", ["BERT", "GPT"]),
        ("What is the difference between few-shot learning and BERT?", ["few-shot learning", "BERT"]),
        ("How does BERT differ from GPT?", ["BERT", "GPT"]),
        ("How do BERT and GPT differ?", ["BERT", "GPT"]),
        ("How do BERT and GPT compare?", ["BERT", "GPT"]),
        ("Compare L1 with L2 regularisation.", ["L1", "L2 regularisation"]),
    ],
)
def test_a_comparison_also_searches_each_side(message: str, sides: list[str]) -> None:
    assert searched(planned(message))[1:] == sides


def test_every_reading_of_an_ambiguous_message_is_searched() -> None:
    made = planned("Who made it?", said("What is the difference between BERT and GPT?", "BERT reads both ways. [1]"))
    assert searched(made) == ["Who made BERT?", "Who made GPT?"]
    assert made.reason == "it has other readings: also searched as “Who made GPT?”"


@pytest.mark.parametrize(
    "message", ["Who walks between the tents?", "What does GPT stand for?", "How to get to Edicenter?"]
)
def test_what_compares_nothing_has_no_sides(message: str) -> None:
    assert searched(planned(message, ())) == [message]


@pytest.mark.parametrize(
    "message", ["thanks!", "hello", "ok", "bye", "What did I ask first?", "what have we discussed?"]
)
def test_courtesies_and_memories_are_spoken_without_a_search(message: str) -> None:
    (step,) = planned(message).steps
    assert step.tool == "say"
    assert step.query is None
    assert step.input


def test_the_form_asked_for_is_the_plan() -> None:
    (step,) = planned("Give me that as a table").steps
    assert (step.tool, step.input, step.query) == ("reform", "table", None)


def test_without_an_answer_there_is_nothing_to_reform() -> None:
    (step,) = planned("Give me that as a table", ()).steps
    assert step.tool == "say"


def test_memories_quote_the_questions() -> None:
    history = said("What is BERT?", "A model.", "What is\n\nGPT?", "Another.", "And edifest?", "A festival.")
    assert "“What is BERT?”" in planned("What did I ask first?", history).steps[0].input
    assert "“And edifest?”" in planned("What did I just ask?", history).steps[0].input
    everything = planned("What have I asked so far?", history).steps[0].input
    assert everything.splitlines()[2:] == ["1. What is BERT?", "2. What is GPT?", "3. And edifest?"]
    assert "not asked anything" in planned("What did I ask first?", ()).steps[0].input


def test_what_the_caller_wants_searched_is_searched() -> None:
    assert searched(planned("thanks!", given="What is GPT?")) == ["What is GPT?"]
