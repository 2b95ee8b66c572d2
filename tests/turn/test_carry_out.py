"""Carrying out a plan: at the same time what can be, in order what must be, and to the end whatever fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, cast

import pytest
from doing import Percent, Takes
from talking import answered, events_of, failed, of_kind

from turnwise.errors import LibraryDamaged
from turnwise.extractive import ExtractiveAnswerer
from turnwise.tools.function import FunctionTool
from turnwise.turn import retrieve
from turnwise.turn.parts import Parts
from turnwise.turn.planner import QueryPlanner
from turnwise.turn.retrieve import SearchContext, carry_out, failure_notice, merged_hits, with_actual_inputs
from turnwise.types import (
    Hit,
    Message,
    Passage,
    QueryPlan,
    SearchQuery,
    Source,
    Step,
    StepDone,
    StepResult,
    Tool,
    TurnRequest,
)

MADE = "BERT was made at Google. It has 110 million weights."


class Shelf:
    """An index that finds one passage, and breaks on questions about what is damaged."""

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        self.before = before
        self.asked: list[SearchQuery] = []
        self.located = 0

    def search(self, query: SearchQuery, k: int) -> list[Hit]:  # noqa: ARG002
        self.asked.append(query)
        self.before()
        if "damaged" in query.question:
            raise LibraryDamaged("The database cannot be read.", "Restore it.")
        return [] if "nothing" in query.question else [Hit(Passage(1, 0, "BERT", "bert.md", MADE), 1.0)]

    def locate(self, sentence: str) -> Passage | None:
        raise AssertionError(f"the source of “{sentence}” is known")

    def passage(self, passage_id: int) -> Passage | None:
        self.located += 1
        return Passage(passage_id, 0, "", "", "An earlier passage.")

    def terms(self, *_: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (), ()


def done(
    *steps: Step, tools: Sequence[Tool] = (), shelf: Shelf | None = None, history: Sequence[Message] = ()
) -> QueryPlan:
    async def carried_out() -> QueryPlan:
        plan = QueryPlan("q1", "", steps)
        async for place, result in carry_out(
            plan, SearchContext(cast(Any, shelf or Shelf()), 6, history=history, follow_up=True), tools
        ):
            plan = plan.with_result(place, result)
        return with_actual_inputs(plan)

    return asyncio.run(carried_out())


def came(plan: QueryPlan, place: int) -> StepResult:
    result = plan.result(place)
    assert result is not None
    return result


# --- at the same time ---------------------------------------------------------------------------------------------


class Meeting:
    """A tool whose calls end only when all those of a plan have begun."""

    name = "meeting"
    about = "waits for the others"

    def __init__(self, size: int) -> None:
        self.barrier = asyncio.Barrier(size)

    async def read(self, question: str, history: Sequence[Message]) -> str:  # noqa: ARG002
        return question

    async def run(self, given: str) -> StepResult:
        await self.barrier.wait()
        return StepResult(given)


def test_tools_that_wait_for_none_run_at_the_same_time() -> None:
    plan = done(*(Step("meeting", name) for name in "abc"), tools=[Meeting(3)])
    assert [result.text for result in plan.results if result] == ["a", "b", "c"]


def test_searches_that_wait_for_none_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=30)
    plan = done(*(Step("rag", name) for name in "abc"), shelf=Shelf(lambda: cast(None, meeting.wait())))
    assert [result.error for result in plan.results if result] == ["", "", ""]


def test_what_is_done_first_is_told_first_and_what_waits_runs_after_it() -> None:
    order: list[int] = []
    steps = (Step("rag", "one", after=(1,)), Step("rag", "two", after=(2,)), Step("rag", "three"))

    async def carried_out() -> None:
        async for place, _ in carry_out(QueryPlan("", "", steps), SearchContext(cast(Any, Shelf()), 6)):
            order.append(place)

    asyncio.run(carried_out())
    assert order == [2, 1, 0]


def test_what_the_last_answer_cited_is_looked_up_once() -> None:
    shelf, answer = Shelf(), Message("assistant", "It is.", (Source(1, 9, "", "", "", None, ""),))
    plan = done(*(Step("rag", name) for name in "abc"), shelf=shelf, history=[answer])
    assert shelf.located == 1
    assert all(9 in {hit.passage.id for hit in came(plan, place).hits} for place in range(3))


# --- one after the other ------------------------------------------------------------------------------------------


def test_a_step_is_given_what_those_before_it_gave() -> None:
    shelf = Shelf()
    plan = done(
        Step("calculator", "15% of 80"),
        Step("rag", "Who earns {1}", SearchQuery("Who earns {1}"), after=(0,)),
        tools=[Percent()],
        shelf=shelf,
    )
    assert plan.steps[1].input == "Who earns 15% of 80 is 12."
    assert [query.question for query in shelf.asked] == ["Who earns 15% of 80 is 12."]


def test_of_a_search_the_next_step_gets_the_sentence_that_says_most_of_what_was_asked() -> None:
    shelf = Shelf()
    done(Step("rag", "How many weights has BERT?"), Step("rag", "Is {1} much?", after=(0,)), shelf=shelf)
    assert shelf.asked[1].question == "Is It has 110 million weights. much?"


def test_a_tool_that_waits_reads_what_it_gets_when_that_is_there() -> None:
    """ "15% of It has 110 million weights" is no sum: it is read as if the sentence had just been said."""
    steps = (Step("rag", "How many weights has BERT?"), Step("calculator", "15% of {1}", after=(0,)))
    assert came(done(*steps, tools=[Percent()]), 1).text == "15% of 110 is 16.5."


def test_a_tool_that_waits_for_a_step_and_takes_nothing_of_it_still_reads_what_it_gets() -> None:
    percent = Percent()
    steps = (Step("rag", "How many weights has BERT?"), Step("calculator", "What is 15 percent of 80?", after=(0,)))
    assert came(done(*steps, tools=[percent]), 1).text == "15% of 80 is 12."
    assert percent.read_of == ["What is 15 percent of 80?"]


def test_a_function_that_waits_is_given_what_a_language_model_planned_for_it() -> None:
    def shout(text: str) -> str:
        """Says it loudly."""
        return text.upper()

    steps = (Step("rag", "How many weights has BERT?"), Step("shout", "{1}", after=(0,)))
    assert came(done(*steps, tools=[FunctionTool(shout)]), 1).text == "IT HAS 110 MILLION WEIGHTS."


def test_only_steps_that_are_waited_for_are_filled_in() -> None:
    shelf = Shelf()
    done(Step("rag", "a"), Step("rag", "What does {1} mean in {0} and {x} and {99}?"), shelf=shelf)
    assert shelf.asked[-1].question == "What does {1} mean in {0} and {x} and {99}?"


def test_a_result_that_holds_a_mark_itself_is_not_filled_in_again() -> None:
    echo = Takes("echo", lambda given: StepResult(given))
    plan = done(Step("echo", "{1} and {2}"), Step("echo", "got {1}", after=(0,)), tools=[echo])
    assert came(plan, 1).text == plan.steps[1].input == "got {1} and {2}"


def test_a_step_whose_input_was_not_found_says_so() -> None:
    plan = done(Step("rag", "nothing"), Step("rag", "How old is {1}?", after=(0,)), Step("rag", "BERT"))
    assert came(plan, 1).error == "it needs the result of step 1, which has none"
    assert plan.steps[1].input == "How old is {1}?"
    assert len(came(plan, 2).hits) == 1


def test_steps_that_wait_for_each_other_end_with_an_error() -> None:
    plan = done(
        Step("rag", "a", after=(1,)), Step("rag", "b", after=(0,)), Step("rag", "c", after=(2,)), Step("rag", "d")
    )
    assert [bool(came(plan, place).error) for place in range(4)] == [True, True, True, False]


# --- what fails ---------------------------------------------------------------------------------------------------


def breaks(given: str) -> StepResult:
    raise RuntimeError(f"{given} is too much")


class Hangs(Takes):
    async def run(self, given: str) -> StepResult:  # noqa: ARG002
        await asyncio.Event().wait()
        return StepResult()


def test_a_step_that_fails_says_so_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieve, "TOOL_TIMEOUT_SECONDS", 0.01)
    tools = [
        Takes("broken", breaks),
        Hangs("hanging", breaks),
        Takes("wrong", lambda _: cast(StepResult, "no result")),
        Percent(),
    ]
    plan = done(
        Step("broken", "this"),
        Step("hanging", "that"),
        Step("wrong", "it"),
        Step("rag", "what is damaged"),
        Step("rag", "BERT"),
        Step("calculator", "15% of 80"),
        tools=tools,
    )
    errors = [came(plan, place).error for place in range(6)]
    assert errors[:2] == ["it broke (RuntimeError)", "it took longer than 0.01 seconds"]
    assert errors[2]
    assert errors[3:] == ["The database cannot be read.", "", ""]
    assert [hit.passage.title for hit in merged_hits(plan, 6)] == ["BERT"]
    assert failure_notice(plan).startswith(
        "The broken on “this” failed: it broke (RuntimeError). The hanging on “that” failed: it took"
    )
    assert "The search for “what is damaged” failed: The database cannot be read." in failure_notice(plan)


def test_what_a_tool_tells_beside_its_words_can_be_kept_as_json() -> None:
    dated = Takes("dated", lambda given: StepResult(given, details={"on": date(2024, 5, 1), "rows": (1, 2)}))
    plan = done(Step("dated", "when"), tools=[dated])
    assert came(plan, 0).details == {"on": "2024-05-01", "rows": [1, 2]}
    assert QueryPlan.from_json(plan.to_json()) == plan


def test_the_turn_fails_if_every_search_fails() -> None:
    with pytest.raises(LibraryDamaged):
        done(Step("rag", "damaged"), Step("rag", "damaged too"), Step("calculator", "1% of 1"), tools=[Percent()])
    with pytest.raises(LibraryDamaged):
        done(Step("rag", "damaged"), Step("rag", "How old is {1}?", after=(0,)))


def test_steps_are_cancelled_when_nobody_waits_for_them() -> None:
    stopped = asyncio.Event()

    class Stopped(Hangs):
        async def run(self, given: str) -> StepResult:
            try:
                return await super().run(given)
            finally:
                stopped.set()

    async def left() -> None:
        steps = (Step("rag", "BERT"), Step("hanging", "x"))
        doing = carry_out(QueryPlan("", "", steps), SearchContext(cast(Any, Shelf()), 6), [Stopped("hanging", breaks)])
        assert (await anext(doing))[0] == 0
        await doing.aclose()
        await stopped.wait()

    asyncio.run(left())


# --- whole turns --------------------------------------------------------------------------------------------------


@pytest.fixture
def parts(make_parts: Callable[..., Parts], extractive: ExtractiveAnswerer) -> Parts:
    return make_parts(extractive)


def test_a_turn_tells_each_step_as_it_is_done(parts: Parts) -> None:
    request = TurnRequest("What is BERT, and what is 15% of 80?", query_id="q7")
    events = events_of(request, replace(parts, tools=(Percent(),)))
    told = {event.place: (event.step.tool, event.result) for event in of_kind(events, StepDone)}
    assert {place: tool for place, (tool, _) in told.items()} == {0: "rag", 1: "calculator"}
    assert told[1][1].text == "15% of 80 is 12."
    assert told[0][1].hits


def test_a_turn_whose_library_is_damaged_ends_in_that_error(parts: Parts) -> None:
    for message in ("What is damaged?", "What is damaged, and who damaged BERT?"):
        broken = replace(parts, index=cast(Any, Shelf()))
        assert failed(TurnRequest(message), broken).error["code"] == "LibraryDamaged"


def test_a_turn_in_which_one_of_two_searches_fails_answers_and_says_so(parts: Parts) -> None:
    class Half:
        """The sample library, of which one part is damaged."""

        def __getattr__(self, name: str) -> Any:
            return getattr(parts.index, name)

        def search(self, query: SearchQuery, k: int) -> list[Hit]:
            if "Edicenter" in query.question:
                raise LibraryDamaged("The database cannot be read.", "Restore it.")
            return parts.index.search(query, k)

    request = TurnRequest("What is BERT, and who can access Edicenter?")
    reply = answered(request, replace(parts, index=cast(Any, Half())))
    assert "BERT is a language model" in reply.text
    assert reply.notice == "The search for “who can access Edicenter?” failed: The database cannot be read."


def test_the_turn_is_planned_by_the_planner_it_is_given(parts: Parts) -> None:
    class Fixed(QueryPlanner):
        async def create_plan(self, query_id: str, query: str, *_: Any, **__: Any) -> QueryPlan:
            return QueryPlan(query_id, query, (Step("say", "Planned."),), "it was told to")

    reply = answered(TurnRequest("What is BERT?", query_id="q9"), replace(parts, planner=Fixed()))
    assert reply.text == "Planned."
    assert reply.plan
    assert (reply.plan.query_id, reply.plan.completed) == ("q9", True)
