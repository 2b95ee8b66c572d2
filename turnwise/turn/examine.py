"""Examine, without running a turn: how a message would be understood, and what the model was sent in a past turn."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from turnwise.conversation import Conversation
from turnwise.errors import MessageBlocked
from turnwise.guard.shape import check_history, check_request, check_types
from turnwise.turn.compose import budget_for, messages_sent
from turnwise.turn.condense import condense
from turnwise.turn.receive import judge_in_context, readable_history, usable_profile
from turnwise.turn.remember import Memory, Past
from turnwise.turn.scope import store_for, with_attachments
from turnwise.turn.understand import read_as_meant, understand
from turnwise.types import LIBRARY, Analysis, Message, QueryPlan, Reach, TurnRequest, as_messages

if TYPE_CHECKING:
    from turnwise.turn.parts import Parts


def analyze(request: TurnRequest, parts: Parts) -> Analysis:
    """What a message means in its conversation: the first stages of a turn, with no search, answer or model."""
    check_types(request)
    check = parts.guard.open_input(request.message)
    check_request(request, parts.settings.max_message)
    store, name = store_for(request, parts.store), request.conversation_id
    stored = store.conversation(name, records=False) if name else None
    past = Past.of(stored) if stored is not None else Past(request.history, trusted=False)
    received = judge_in_context(request, check, parts.guard, past)
    if received.verdict.blocked:
        why = received.verdict.why
        raise MessageBlocked(f"This message was not read: {why}.", "Put your question another way.")
    library = parts.guard.open_library(parts.index, with_attachments(request.reach, name, past.ancestors))
    senses, profile = parts.senses.over(library), usable_profile(Memory(store, request), parts.guard)
    message, _, history = read_as_meant(received.message, received.history, library, parts.settings, senses)
    understood = understand(message, history, parts.settings, senses, time.time(), profile)
    condensed = condense(message, history, understood, received.query)
    return Analysis(understood.state.turn, understood, condensed, parts.settings.follow_up_threshold)


async def plan(question: str, history: Sequence[Message], parts: Parts, query_id: str = "") -> QueryPlan:
    """The steps that would answer a question, none of them carried out. Raises MessageBlocked if it is refused."""
    history = as_messages(history)
    check_history(history)
    past = Past(history, trusted=False)
    verdict = await asyncio.to_thread(parts.guard.judge_input, question, history, trusted=False)
    if verdict.blocked:
        raise MessageBlocked(f"This message was not planned: {verdict.why}.", "Put your question another way.")
    said = await asyncio.to_thread(readable_history, past, verdict, parts.guard)
    return await parts.planner.create_plan(query_id or uuid.uuid4().hex, verdict.sanitized, said, parts.tools)


def messages_sent_in(
    conversation: Conversation, number: int, parts: Parts, reach: Reach = LIBRARY
) -> tuple[Message, ...]:
    """The messages that a model was sent in a turn, if it had the window it has now; empty if none was asked."""
    turn = next((turn for turn in conversation.turns if turn.number == number), None)
    steps = turn.record.get("plan", {}).get("steps", ()) if turn else ()
    if turn is None or not (turn.evidence or turn.note or any(step["tool"] != "say" for step in steps)):
        return ()
    earlier = (each for each in conversation.turns if each.number < number)
    history = Conversation(conversation.id, turns=earlier).messages()
    asked = Message("user", turn.prompt or "", evidence=turn.evidence, note=turn.note)
    ancestors = conversation.metadata.get("ancestors", ())
    library = parts.guard.open_library(parts.index, with_attachments(reach, conversation.id, ancestors))
    return messages_sent(history, asked, library.locate, budget_for(parts.models[0], parts.settings))
