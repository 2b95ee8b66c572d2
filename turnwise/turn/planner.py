"""The planner: the steps that answer a message, from its form, the tools and, if there is one, a language model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from turnwise.config import Settings
from turnwise.dialogue.citing import just_abstained
from turnwise.dialogue.proposing import MAX_REPLY_CHARS, Refused, may_need_steps, parse_plan
from turnwise.dialogue.questions import group_parts, listed_parts, sentence_parts
from turnwise.dialogue.rewriting import build_request
from turnwise.dialogue.window import window
from turnwise.errors import TurnwiseError
from turnwise.turn.condense import condense, search_query
from turnwise.turn.plan import (
    Meaning,
    analyze_form,
    plan_from,
    plan_without_calculator,
    plan_without_search,
    questions_to_answer,
)
from turnwise.turn.understand import understand
from turnwise.types import Complexity, Message, QueryAnalysis, QueryPlan, Rewriter, Step, Tool

log = logging.getLogger(__name__)

READ_TIMEOUT_SECONDS = 20.0  # for a tool to say whether a question is for it
SEARCH_DESCRIPTION = "searches the library; give it a question"


class QueryAnalyzer:
    """Finds out what it takes to answer a query: one search or several, which tools, and which questions it contains.

        analysis = await QueryAnalyzer().analyze("What is BERT, and who made it?")

    Without a language model, the form of the query decides. A model is also asked about a query that may need several
    steps or a tool, for at most `timeout` seconds. If it proposes something that is not allowed, the form decides.
    """

    def __init__(self, rewriter: Rewriter | None = None, timeout: float = 5.0) -> None:
        self._rewriter = rewriter
        self._timeout = timeout

    async def analyze(
        self,
        query: str,
        chat_history: Sequence[Message] = (),
        tools: Sequence[Tool] = (),
        meaning: Meaning | None = None,
    ) -> QueryAnalysis:
        """What it takes. Pass the meaning of the query if it is known; otherwise the rules read it."""
        meaning = meaning or meaning_of(query, chat_history)
        if plan := plan_without_search(query, chat_history, meaning):
            searches = tuple(step for step in plan.steps if step.tool == "rag")
            inputs = tuple(step.input for step in searches)
            return QueryAnalysis("simple", ("rag",) if inputs else (), inputs, plan.reason, searches)
        questions = questions_to_answer(meaning)
        as_written = query if len(questions) == 1 and meaning.condensed.method != "caller" else ""
        steps = await asyncio.gather(*(_step(question, as_written, chat_history, tools) for question in questions))
        split = [await _split_for_tools(*pair, meaning, tools) for pair in zip(questions, steps, strict=True)]
        step_of_part = dict(pair for pairs in split for pair in pairs)
        analysis = analyze_form(query, meaning, tuple(step_of_part), tuple(step_of_part.values()))
        if self._rewriter is None or not _may_need_model(meaning, analysis, tools):
            return analysis
        return await self._by_model(self._rewriter, chat_history, tools, meaning, analysis)

    async def _by_model(
        self,
        rewriter: Rewriter,
        history: Sequence[Message],
        tools: Sequence[Tool],
        meaning: Meaning,
        analysis: QueryAnalysis,
    ) -> QueryAnalysis:
        """The language model's steps if they pass every check; otherwise the analysis of the form, and why."""
        question, language = meaning.condensed.query, meaning.understood.language
        seen = meaning.understood.seen or window(question, history)
        try:
            messages = build_request(_instructions(tools), question, seen, "Plan")
            async with asyncio.timeout(self._timeout):
                reply = await rewriter.rewrite(messages, MAX_REPLY_CHARS)
            steps = parse_plan(reply, question, seen, {"rag", *(tool.name for tool in tools)}, language)
            steps = tuple(await asyncio.gather(*(_accepted_by_tool(step, history, tools) for step in steps)))
        except TimeoutError:
            return _with_refusal(analysis, f"it took longer than {self._timeout:g} seconds")
        except (Refused, TurnwiseError) as error:
            return _with_refusal(analysis, str(error))
        except Exception:
            log.exception("%s broke while planning", rewriter.name)
            return _with_refusal(analysis, "it broke")
        if len(steps) == 1 and steps[0].tool == "rag":
            return replace(analysis, reasoning=f"{analysis.reasoning}; {rewriter.name} adds no steps")
        used, inputs = tuple(dict.fromkeys(step.tool for step in steps)), tuple(step.input for step in steps)
        complexity: Complexity = "simple" if len(steps) == 1 else "complex"
        return QueryAnalysis(complexity, used, inputs, f"{rewriter.name} planned it", steps)


class QueryPlanner:
    """Makes the plan of a turn.

        plan = await QueryPlanner().create_plan("q1", "How does it compare to GPT?", history)

    A simple query is one search; a complex one is several, or calls tools; the last step writes the answer.
    """

    def __init__(self, analyzer: QueryAnalyzer | None = None) -> None:
        self._analyzer = analyzer or QueryAnalyzer()

    async def create_plan(
        self,
        query_id: str,
        query: str,
        chat_history: Sequence[Message] = (),
        tools: Sequence[Tool] = (),
        meaning: Meaning | None = None,
    ) -> QueryPlan:
        """The steps that answer a query. The parameters are those of `QueryAnalyzer.analyze`."""
        meaning = meaning or meaning_of(query, chat_history)
        plan = plan_without_search(query, chat_history, meaning)
        if plan is None:
            analysis = await self._analyzer.analyze(query, chat_history, tools, meaning)
            only_searches = all(step.tool == "rag" for step in analysis.steps)
            if _is_sum(meaning) and only_searches and all(tool.name != "calculator" for tool in tools):
                plan = plan_without_calculator(query, meaning)
            else:
                plan = plan_from(query, meaning, analysis)
        return replace(plan, query_id=query_id, chat_history=tuple(chat_history))


def meaning_of(query: str, history: Sequence[Message]) -> Meaning:
    """What a query means, read by the rules alone."""
    understood = understand(query, history)
    condensed = condense(query, history, understood)
    return Meaning(understood, condensed, search_query(query, history, understood, condensed, Settings()))


def _is_sum(meaning: Meaning) -> bool:
    understood, from_caller = meaning.understood, meaning.condensed.method == "caller"
    return understood.intent == "arithmetic" and understood.operation == "plain numbers" and not from_caller


def _may_need_model(meaning: Meaning, analysis: QueryAnalysis, tools: Sequence[Tool]) -> bool:
    """Whether a language model may see more in a query than its form shows: not in a comparison, a sum, a query that
    the caller wrote or that tools take, nor a plain question."""
    if meaning.condensed.method == "caller" or _is_sum(meaning) or any(step.role for step in analysis.steps):
        return False
    taken_by_tools = all(step.tool != "rag" for step in analysis.steps)
    return not taken_by_tools and may_need_steps(meaning.condensed.query, bool(tools))


# --- tools --------------------------------------------------------------------------------------------------------


async def _step(question: str, as_written: str, history: Sequence[Message], tools: Sequence[Tool]) -> Step:
    """A step for the first tool that takes the question, standing alone or as written ("half of that"); or a search."""
    for tool in tools:
        texts = (as_written, question) if getattr(tool, "reads_history", False) else (question, as_written)
        for text in dict.fromkeys(filter(None, texts)):
            if tool_input := await _read_with(tool, text, history):
                return Step(tool.name, tool_input)
    return Step("rag", question)


async def _split_for_tools(
    question: str, step: Step, meaning: Meaning, tools: Sequence[Tool]
) -> tuple[tuple[str, Step], ...]:
    """The parts of a question, each with its step, if no tool takes it as a whole but tools take some of the parts:
    "What is BERT? Total revenue by region." Otherwise the question itself, with its step."""
    if step.tool == "rag" and meaning.condensed.method != "caller" and meaning.understood.language == "en":
        for parts, glue in ((sentence_parts(question), " "), (listed_parts(question), " and ")):
            steps = [await _step(part, "", (), tools) for part in parts] if len(parts) > 1 else []
            taken = {part: each for part, each in zip(parts, steps, strict=False) if each.tool != "rag"}
            if whole := group_parts(parts, taken, glue):
                return tuple((part, taken.get(part) or Step("rag", part)) for part in whole)
    return ((question, step),)


async def _accepted_by_tool(step: Step, history: Sequence[Message], tools: Sequence[Tool]) -> Step:
    """A language model's step with the input as its tool reads it. One that waits for another step is read later.
    Raises Refused if the tool cannot take it."""
    tool = next((each for each in tools if each.name == step.tool), None)
    if tool is None or step.after:
        return step
    as_it_is = step.input if getattr(tool, "takes_any", False) else ""
    tool_input = await _read_with(tool, step.input, history) or as_it_is
    if not tool_input:
        raise Refused(f"the {tool.name} cannot take “{step.input}”")
    return replace(step, input=tool_input)


async def _read_with(tool: Tool, question: str, history: Sequence[Message]) -> str:
    """The input that a tool makes of a question; empty if the question is not for it, or it fails or takes too long."""
    try:
        async with asyncio.timeout(READ_TIMEOUT_SECONDS):
            return await tool.read(question, _with_answers(history))
    except TimeoutError:
        log.warning("%s did not say in %g seconds whether a question is for it", tool.name, READ_TIMEOUT_SECONDS)
    except Exception:
        log.exception("%s could not read a question", tool.name)
    return ""


def _with_refusal(analysis: QueryAnalysis, why: str) -> QueryAnalysis:
    return replace(analysis, reasoning=f"{analysis.reasoning}; the language model’s plan was refused: {why}")


def _with_answers(history: Sequence[Message]) -> Sequence[Message]:
    """What a tool may read of a history: nothing if the last answer was "I don't know", which names a document and
    repeats the question, and whose numbers nobody means by "that"."""
    return () if just_abstained(history) else history


def _instructions(tools: Sequence[Tool]) -> str:
    lines = [f"- rag: {SEARCH_DESCRIPTION}", *(f"- {tool.name}: {tool.about}" for tool in tools)]
    return _template().replace("{tools}", "\n".join(lines))


@lru_cache(maxsize=1)
def _template() -> str:
    return (Path(__file__).parent / "prompts" / "plan.txt").read_text(encoding="utf-8").strip()
