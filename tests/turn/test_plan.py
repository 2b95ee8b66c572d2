"""What a turn does: search, once or for both sides; re-form; or speak."""

from __future__ import annotations

import asyncio

import pytest
from doing import Percent, Takes
from talking import said

from turnwise.config import Settings
from turnwise.turn.condense import condense, search_query
from turnwise.turn.plan import Meaning
from turnwise.turn.planner import QueryPlanner
from turnwise.turn.understand import understand
from turnwise.types import Filter, Message, QueryPlan, SearchQuery, Step, StepResult, Tool

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
        ("Compare L1 with L2 regularisation.", ["L1 regularisation", "L2 regularisation"]),
        ("Compare BERT and GPT as a table", ["BERT", "GPT"]),
        ("compare BERT and GPT in a few words, please", ["BERT", "GPT"]),
        ("Compare evening and online courses", ["evening", "online courses"]),
        ("Compare online and in-person courses", ["online courses", "in-person courses"]),
        ("difference between type I and type II errors", ["type I errors", "type II errors"]),
        ("difference between mean and standard deviation", ["mean", "standard deviation"]),
        ("Compare BERT and neural networks", ["BERT", "neural networks"]),
        ("How does BERT compare to GPT and T5?", ["BERT", "GPT and T5"]),
        ("What is the difference between BERT and GPT and how do I choose?", ["BERT", "GPT"]),
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


# --- for callers --------------------------------------------------------------------------------------------------


def created(query: str, history: tuple[Message, ...] = (), *tools: Tool) -> QueryPlan:
    return asyncio.run(QueryPlanner().create_plan("q1", query, history, tools))


def test_a_caller_gives_an_id_a_query_and_the_history() -> None:
    made = created("How does it work?", BERT)
    assert (made.query_id, made.query, made.chat_history) == ("q1", "How does it work?", BERT)
    assert [(step.tool, step.input, step.after) for step in made.steps] == [
        ("rag", "How does BERT work?", ()),
        ("answer", "", (0,)),
    ]
    assert (made.current_step, made.completed) == (0, False)


def test_each_question_of_a_message_is_searched_and_the_last_step_answers_them_all() -> None:
    made = created("What is BERT, and who made it?")
    assert searched(made) == ["What is BERT?", "who made BERT?"]
    assert made.steps[-1] == Step("answer", after=(0, 1))
    assert [step.role for step in made.steps] == ["", "", ""]


def test_a_part_stands_alone_and_keeps_to_the_filter() -> None:
    where = Filter(tags=("2024",))
    understood = understand("What is GPT, and who made it?", BERT)
    condensed = condense("What is GPT, and who made it?", BERT, understood)
    query = search_query("What is GPT, and who made it?", BERT, understood, condensed, Settings(), where)
    meaning = Meaning(understood, condensed, query)
    made = asyncio.run(QueryPlanner().create_plan("", "What is GPT, and who made it?", BERT, meaning=meaning))
    assert [step.query for step in made.steps[:-1]] == [
        SearchQuery("What is GPT?", where=where),
        SearchQuery("who made GPT?", where=where),
    ]


def test_a_comparison_among_other_questions_keeps_its_sides() -> None:
    made = created("What is BERT, and how does it compare to GPT?")
    assert [(step.input, step.role) for step in made.steps[:-1]] == [
        ("What is BERT?", ""),
        ("how does BERT compare to GPT?", ""),
        ("BERT", "side"),
        ("GPT", "side"),
    ]


def test_a_sum_is_for_the_calculator_and_without_one_it_is_said_that_there_is_none() -> None:
    assert [step.tool for step in created("What is 15% of 80?").steps] == ["say"]
    assert [step.tool for step in created("What is 15% of 80?", (), Takes("weather", StepResult)).steps] == [
        "weather",
        "answer",
    ]
    made = created("What is 15% of 80?", (), Percent())
    assert [(step.tool, step.input) for step in made.steps] == [("calculator", "15% of 80"), ("answer", "")]


def test_a_sum_that_the_calculator_cannot_take_is_searched() -> None:
    assert [step.tool for step in created("What is 3 plus 4?", (), Percent()).steps] == ["rag", "answer"]


def test_tools_are_asked_in_order_and_the_first_that_takes_it_gets_it() -> None:
    first, second = Takes("first", StepResult), Percent()
    assert [step.tool for step in created("What is 15% of 80?", (), first, second).steps] == ["first", "answer"]
    assert second.read_of == []
    assert [step.tool for step in created("What is 15% of 80?", (), second, first).steps] == ["calculator", "answer"]


def test_a_plan_may_mix_searches_and_tools() -> None:
    made = created("What is BERT, and what is 15% of 80?", (), Percent())
    assert [step.tool for step in made.steps] == ["rag", "calculator", "answer"]
    assert made.reason == "it asks 2 things; the calculator takes “15% of 80”"


@pytest.mark.parametrize("message", ["thanks!", "What did I ask first?", "Give me that as a list"])
def test_no_tool_is_asked_about_what_the_conversation_answers(message: str) -> None:
    tool = Percent()
    created(message, BERT, tool)
    assert tool.read_of == []


def test_what_the_caller_wants_searched_is_for_no_tool() -> None:
    assert searched(planned("How much?", given="What is 15% of 80?")) == ["What is 15% of 80?"]
