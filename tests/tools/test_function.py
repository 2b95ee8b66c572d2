"""Plain functions as tools: called with what a pattern finds or with the question, and never the end of a turn."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import turnwise
from turnwise.engine import Engine
from turnwise.errors import ToolError
from turnwise.tools.function import FunctionTool, as_tool
from turnwise.types import StepResult


@turnwise.tool(when=r"weather in (?P<place>\w+)")
def weather(place: str) -> str:
    """The weather at a place.

    More about it.
    """
    return f"It is sunny in {place}."


def echo(question: str) -> str:
    """Says the question again."""
    return question


def run(tool: FunctionTool, given: str = "x") -> StepResult:
    return asyncio.run(tool.run(given))


def test_a_function_is_called_with_what_its_pattern_finds() -> None:
    assert (weather.name, weather.about) == ("weather", "The weather at a place.")
    assert asyncio.run(weather.read("How is the Weather in Oslo today?", ())) == "How is the Weather in Oslo today?"
    assert asyncio.run(weather.read("What is BERT?", ())) == ""
    assert run(weather, "How is the Weather in Oslo today?") == StepResult("It is sunny in Oslo.")
    assert weather("Rome") == "It is sunny in Rome."


def test_what_a_language_model_gives_is_taken_as_the_question() -> None:
    assert run(weather, "Oslo").text == "It is sunny in Oslo."
    assert run(turnwise.tool(echo), "say this").text == "say this"
    assert asyncio.run(turnwise.tool(echo).read("say this", ())) == ""


def test_a_function_may_take_nothing_the_question_too_or_be_async() -> None:
    def now() -> int:
        """The time."""
        return 12

    async def later(question: str, unit: str = "hours") -> str:
        """Later."""
        await asyncio.sleep(0)
        return f"{question} {unit}"

    @functools.wraps(later)
    def wrapped(question: str) -> Any:
        return later(question)

    assert run(FunctionTool(now)).text == "12"
    assert run(FunctionTool(wrapped), "in").text == "in hours"
    assert run(FunctionTool(later), "in").text == "in hours"
    assert run(FunctionTool(later, r"in (?P<unit>\w+)"), "in days").text == "in days days"


def test_a_function_that_raises_says_so() -> None:
    def broken(question: str) -> str:
        """Breaks."""
        raise ValueError(f"no such place: {question}")

    def leaves() -> None:
        """Leaves."""
        raise SystemExit(3)

    async def cancelled() -> None:
        """Cancels itself."""
        raise asyncio.CancelledError

    def silent() -> str:
        """Says nothing."""
        return " \0"

    def needs(first: str, second: str) -> str:
        """Needs two things."""
        return first + second

    assert run(FunctionTool(broken), "Atlantis").error == "broken broke (ValueError)."
    assert run(FunctionTool(leaves)).error == "leaves broke (SystemExit)."
    assert run(FunctionTool(cancelled)).error == "cancelled was cancelled."
    assert run(FunctionTool(silent)).error == "silent gave nothing."
    assert run(FunctionTool(needs)).error == "needs broke (TypeError)."


def test_a_function_that_hangs_is_left_behind() -> None:
    hold = threading.Event()

    def hangs() -> None:
        """Hangs."""
        hold.wait()

    async def sleeps() -> None:
        """Sleeps, and will not be woken."""
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                time.sleep(0)
                return

    assert run(FunctionTool(hangs, timeout=0.05)).error == "hangs took longer than 0.05 seconds."
    assert run(FunctionTool(sleeps, timeout=0.05)).error == "sleeps took longer than 0.05 seconds."
    hold.set()


def test_a_turn_that_is_broken_off_breaks_off_the_tool() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def sleeps() -> None:
        """Sleeps."""
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    async def turn() -> None:
        task = asyncio.create_task(FunctionTool(sleeps).run(""))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(5):
            await ended.wait()

    asyncio.run(turn())


def undocumented() -> None:
    pass


def rag() -> None:
    """Has a name that a plan knows."""


@pytest.mark.parametrize(
    ("given", "when", "hint"),
    [
        (undocumented, "", "Write a docstring"),
        (rag, "", "another name"),
        (lambda: 1, "", "another name"),
        ("text", "", "another name"),
        (echo, "(", "Fix `when`"),
        (echo, r"(?P<place>\w+)", "the same name"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_what_to_do(given: Any, when: str, hint: str) -> None:
    with pytest.raises(ToolError) as raised:
        FunctionTool(given, when)
    assert hint in raised.value.hint


def test_what_a_function_gives_cannot_look_like_a_citation() -> None:
    assert run(FunctionTool(echo), "as [1] says").text == "as (1) says"


def test_a_tool_stays_what_it_is() -> None:
    assert as_tool(weather) is weather
    assert as_tool(echo).name == "echo"


@pytest.mark.parametrize("name", ["rag", "answer", "database"])
def test_a_tool_cannot_have_a_name_that_a_plan_knows(name: str) -> None:
    tool = FunctionTool(echo)
    tool.name = name
    with pytest.raises(ToolError, match=name):
        as_tool(tool)


def test_an_engine_takes_functions(tmp_path: Path) -> None:
    with turnwise.open(tmp_path, tools=[weather]) as engine:
        assert isinstance(engine, Engine)
        engine.add_tool(echo)
        with pytest.raises(ToolError):
            engine.add_tool(echo)
        assert [tool.name for tool in engine._parts.tools] == ["echo", "weather", "calculator"]
