"""The planner: what answering a message takes, by its form, its tools and, where there is one, a language model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from turnwise.config import Settings
from turnwise.dialogue.proposing import MAX_REPLY_CHARS, Refused, may_need_steps, parse_plan
from turnwise.dialogue.questions import group_parts, listed_parts, sentence_parts
from turnwise.dialogue.rewriting import build_request
from turnwise.dialogue.window import window
from turnwise.errors import TurnwiseError
from turnwise.turn.condense import condense, search_query
from turnwise.turn.plan import Meaning, asks, by_form, with_answer, without_calculator, without_search
from turnwise.turn.understand import understand
from turnwise.types import Complexity, Message, QueryAnalysis, QueryPlan, Rewriter, Step, Tool

log = logging.getLogger(__name__)

PATIENCE = 20.0  # seconds in which a tool says whether a question is for it
RAG = "searches the library; give it a question"


class QueryAnalyzer:
    """Tells what answering a query takes: one search or several, which tools, which questions it is made of.

        found = await QueryAnalyzer().analyze("What is BERT, and who made it?")

    Without a language model the form of the query tells it. With one, a query that may take several steps or a tool is
    given to it too, for `timeout` seconds; what it may not propose is refused, and the form stands.
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
        """What it takes. A caller who has understood the query already gives its meaning; else the rules read it."""
        meaning = meaning or meaning_of(query, chat_history)
        if ready := without_search(query, chat_history, meaning):
            searched = tuple(step for step in ready.steps if step.tool == "rag")
            inputs = tuple(step.input for step in searched)
            return QueryAnalysis("simple", ("rag",) if inputs else (), inputs, ready.reason, searched)
        parts = asks(meaning)
        as_written = query if len(parts) == 1 and meaning.condensed.method != "caller" else ""
        steps = await asyncio.gather(*(_step(part, as_written, chat_history, tools) for part in parts))
        apart = [await _apart(part, step, meaning, tools) for part, step in zip(parts, steps, strict=True)]
        every = dict(pair for pairs in apart for pair in pairs)
        found = by_form(query, meaning, tuple(every), tuple(every.values()))
        if self._rewriter is None or not _open_question(meaning, found, tools):
            return found
        return await self._by_model(self._rewriter, chat_history, tools, meaning, found)

    async def _by_model(
        self,
        rewriter: Rewriter,
        history: Sequence[Message],
        tools: Sequence[Tool],
        meaning: Meaning,
        found: QueryAnalysis,
    ) -> QueryAnalysis:
        """The language model's steps if they pass every gate; else those found, which then say what was wrong."""
        question, language = meaning.condensed.query, meaning.understood.language
        seen = meaning.understood.seen or window(question, history)
        try:
            messages = build_request(_instructions(tools), question, seen, "Plan")
            async with asyncio.timeout(self._timeout):
                reply = await rewriter.rewrite(messages, MAX_REPLY_CHARS)
            steps = parse_plan(reply, question, seen, {"rag", *(tool.name for tool in tools)}, language)
            steps = tuple(await asyncio.gather(*(_read_by_tool(step, history, tools) for step in steps)))
        except TimeoutError:
            return _refused(found, f"it took longer than {self._timeout:g} seconds")
        except (Refused, TurnwiseError) as error:
            return _refused(found, str(error))
        except Exception:
            log.exception("%s broke while planning", rewriter.name)
            return _refused(found, "it broke")
        if len(steps) == 1 and steps[0].tool == "rag":
            return replace(found, reasoning=f"{found.reasoning}; {rewriter.name} sees no more in it")
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
        """The steps that answer a query. See `QueryAnalyzer.analyze` for what may be given."""
        meaning = meaning or meaning_of(query, chat_history)
        plan = without_search(query, chat_history, meaning)
        if plan is None:
            found = await self._analyzer.analyze(query, chat_history, tools, meaning)
            searched = all(step.tool == "rag" for step in found.steps)
            lacking = _is_sum(meaning) and searched and all(tool.name != "calculator" for tool in tools)
            plan = without_calculator(query, meaning) if lacking else with_answer(query, meaning, found)
        return replace(plan, query_id=query_id, chat_history=tuple(chat_history))


def meaning_of(query: str, history: Sequence[Message]) -> Meaning:
    """What a query means, by the rules alone."""
    understood = understand(query, history)
    condensed = condense(query, history, understood)
    return Meaning(understood, condensed, search_query(query, history, understood, condensed, Settings()))


def _is_sum(meaning: Meaning) -> bool:
    understood, given = meaning.understood, meaning.condensed.method == "caller"
    return understood.intent == "arithmetic" and understood.operation == "plain numbers" and not given


def _open_question(meaning: Meaning, found: QueryAnalysis, tools: Sequence[Tool]) -> bool:
    """Whether a language model may see more in a query than its form shows: not in a comparison, in a sum, in what
    tools take, in a query of the caller's, nor in a plain question."""
    settled = meaning.condensed.method == "caller" or _is_sum(meaning) or any(step.role for step in found.steps)
    taken = all(step.tool != "rag" for step in found.steps)
    return not settled and not taken and may_need_steps(meaning.condensed.query, bool(tools))


# --- tools --------------------------------------------------------------------------------------------------------


async def _step(question: str, as_written: str, history: Sequence[Message], tools: Sequence[Tool]) -> Step:
    """The first tool that takes a question, as it stands alone or as it was written ("half of that"); else a search."""
    for tool in tools:
        texts = (as_written, question) if getattr(tool, "reads_history", False) else (question, as_written)
        for text in dict.fromkeys(filter(None, texts)):
            if given := await _reading(tool, text, history):
                return Step(tool.name, given)
    return Step("rag", question)


async def _apart(question: str, step: Step, meaning: Meaning, tools: Sequence[Tool]) -> tuple[tuple[str, Step], ...]:
    """The parts of a question that no tool takes as a whole, each with its step, where tools take some of them as they
    stand: "What is BERT? Total revenue by region." The question itself where they do not."""
    if step.tool == "rag" and meaning.condensed.method != "caller" and meaning.understood.language == "en":
        for parts, glue in ((sentence_parts(question), " "), (listed_parts(question), " and ")):
            steps = [await _step(part, "", (), tools) for part in parts] if len(parts) > 1 else []
            taken = {part: each for part, each in zip(parts, steps, strict=False) if each.tool != "rag"}
            if whole := group_parts(parts, taken, glue):
                return tuple((part, taken.get(part) or Step("rag", part)) for part in whole)
    return ((question, step),)


async def _read_by_tool(step: Step, history: Sequence[Message], tools: Sequence[Tool]) -> Step:
    """A step of a language model as its tool takes it; one that waits for another is read when that is done."""
    tool = next((each for each in tools if each.name == step.tool), None)
    if tool is None or step.after:
        return step
    given = await _reading(tool, step.input, history) or (step.input if getattr(tool, "takes_any", False) else "")
    if not given:
        raise Refused(f"the {tool.name} cannot take “{step.input}”")
    return replace(step, input=given)


async def _reading(tool: Tool, question: str, history: Sequence[Message]) -> str:
    """The question as a tool takes it; nothing where it breaks or does not say in time."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await tool.read(question, history)
    except TimeoutError:
        log.warning("%s did not say in %g seconds whether a question is for it", tool.name, PATIENCE)
    except Exception:
        log.exception("%s could not read a question", tool.name)
    return ""


def _refused(found: QueryAnalysis, why: str) -> QueryAnalysis:
    return replace(found, reasoning=f"{found.reasoning}; the language model’s plan was not taken: {why}")


def _instructions(tools: Sequence[Tool]) -> str:
    listed = "\n".join(f"- {name}: {about}" for name, about in (("rag", RAG), *((t.name, t.about) for t in tools)))
    return _template().replace("{tools}", listed)


@lru_cache(maxsize=1)
def _template() -> str:
    return (Path(__file__).parent / "prompts" / "plan.txt").read_text(encoding="utf-8").strip()
