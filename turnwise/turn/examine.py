"""Examine: what a turn would make of a message, and what the model of a past turn was sent; no turn is run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from turnwise.conversation import Conversation
from turnwise.errors import MessageBlocked
from turnwise.guard.shape import check_request
from turnwise.turn.compose import budget_for, messages_sent
from turnwise.turn.condense import condense
from turnwise.turn.receive import judged, remembered
from turnwise.turn.remember import Memory, Past
from turnwise.turn.scope import reached, store_for
from turnwise.turn.understand import as_meant, understand
from turnwise.types import LIBRARY, Analysis, Message, Reach, TurnRequest

if TYPE_CHECKING:
    from turnwise.turn.run import Parts


def analyze(request: TurnRequest, parts: Parts) -> Analysis:
    """What a message is to its conversation: the first stages of a turn, with no search, no answer and no language
    model."""
    check = parts.guard.open_input(request.message)
    check_request(request, parts.settings.max_message)
    store, name = store_for(request, parts.store), request.conversation_id
    stored = store.conversation(name, records=False) if name else None
    past = Past.of(stored) if stored else Past(request.history, trusted=False)
    received = judged(request, check, parts.guard, past)
    if received.verdict.blocked:
        why = received.verdict.why
        raise MessageBlocked(f"This message was not read: {why}.", "Put your question another way.")
    library = parts.guard.open_library(parts.index, reached(request.reach, name, past.ancestors))
    senses, profile = parts.senses.over(library), remembered(Memory(store, request), parts.guard)
    message, _, history = as_meant(received.message, received.history, library, parts.settings, senses)
    understood = understand(message, history, parts.settings, senses, time.time(), profile)
    condensed = condense(message, history, understood, received.query)
    return Analysis(understood.state.turn, understood, condensed, parts.settings.follow_up_threshold)


def sent_in(conversation: Conversation, number: int, parts: Parts, reach: Reach = LIBRARY) -> tuple[Message, ...]:
    """The messages that a model was sent in a turn, given the window it has now; empty if it was sent none."""
    turn = next((turn for turn in conversation.turns if turn.number == number), None)
    steps = turn.record.get("plan", {}).get("steps", ()) if turn else ()
    if turn is None or not (turn.evidence or turn.note or any(step["tool"] != "say" for step in steps)):
        return ()
    earlier = (each for each in conversation.turns if each.number < number)
    history = Conversation(conversation.id, turns=earlier).messages()
    asked = Message("user", turn.prompt or "", evidence=turn.evidence, note=turn.note)
    ancestors = conversation.metadata.get("ancestors", ())
    library = parts.guard.open_library(parts.index, reached(reach, conversation.id, ancestors))
    return messages_sent(history, asked, library.locate, budget_for(parts.models[0], parts.settings))
