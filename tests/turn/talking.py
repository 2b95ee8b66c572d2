"""Ways to hold a conversation in a test, and to look at what came of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import TypeVar

from untrained import Untrained

from turnwise.engine import Engine
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.turn.parts import Parts
from turnwise.turn.run import run_turn
from turnwise.types import (
    Accepted,
    Answered,
    ConversationState,
    Delta,
    Failed,
    FollowUp,
    Message,
    Reply,
    StageTrace,
    TurnEvent,
    TurnRequest,
    Understanding,
)

STAGES = [
    "guard in",
    "understand",
    "condense",
    "plan",
    "retrieve",
    "compose",
    "generate",
    "guard out",
    "verify",
    "remember",
]
E = TypeVar("E", bound=TurnEvent)


def said(*contents: str) -> tuple[Message, ...]:
    """A history in which user and assistant take turns, the user first."""
    return tuple(Message("assistant" if place % 2 else "user", content) for place, content in enumerate(contents))


def understood(state: ConversationState | None = None) -> Understanding:
    """A follow-up in a conversation of this state; without one, of a state that there is nothing to say about."""
    follow_up = FollowUp(True, "pattern", 0.9, "", (), "")
    return Understanding("follow_up", "", follow_up, state or ConversationState(1), "")


def by_rules(parts: Parts) -> Parts:
    """The same with a guard that no network has a say in."""
    return replace(parts, guard=GuardrailPipeline(max_message=parts.settings.max_message, classifier=Untrained()))


def events_of(request: TurnRequest, parts: Parts) -> list[TurnEvent]:
    """All the events of one turn, to its end."""
    return asyncio.run(collected(run_turn(request, parts)))


async def collected(turn: AsyncGenerator[TurnEvent, None]) -> list[TurnEvent]:
    async with aclosing(turn) as events:
        return [event async for event in events]


def of_kind(events: Iterable[TurnEvent], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def answered(request: TurnRequest, parts: Parts) -> Reply:
    last = events_of(request, parts)[-1]
    assert isinstance(last, Answered), last
    return last.reply


def failed(request: TurnRequest, parts: Parts) -> Failed:
    last = events_of(request, parts)[-1]
    assert isinstance(last, Failed), last
    return last


async def until_said(turn: AsyncGenerator[TurnEvent, None], words: str) -> None:
    """Read a turn until these words were streamed."""
    text = ""
    async for event in turn:
        text += event.text if isinstance(event, Delta) else ""
        if words in text:
            return
    raise AssertionError(f"the turn ended without {words!r}")


async def until_accepted(turn: AsyncGenerator[TurnEvent, None]) -> None:
    assert isinstance(await anext(turn), Accepted)


def after(engine: Engine, *contents: str) -> Reply:
    """The reply to the last of these, where a caller sends the others, said in turns, as the history."""
    return engine.run(engine.answer(TurnRequest(contents[-1], said(*contents[:-1]))))


def stage(reply: Reply, name: str) -> StageTrace:
    return next(each for each in reply.trace if each.stage == name)


def searches(reply: Reply) -> list[str]:
    """What a turn looked for in the library."""
    return list(stage(reply, "retrieve").details["searches"])


def citations(text: str) -> set[int]:
    return {int(number) for number in re.findall(r"\[(\d+)\]", text)}


def abstains(reply: Reply) -> bool:
    return reply.text.startswith("I don’t know")
