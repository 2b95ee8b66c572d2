"""Understand: what the message is to the conversation. A question of its own, a follow-up, or no search at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from turnwise.dialogue.follow_up import read_follow_up
from turnwise.dialogue.intent import read_intent, without_courtesy
from turnwise.dialogue.tracker import ConversationTracker
from turnwise.types import Message, Understanding

RECENT = 20  # messages that are looked at, however long the conversation is


def understand(
    message: str, history: Sequence[Message], threshold: float = 0.5, tracker: ConversationTracker | None = None
) -> Understanding:
    """Intent, follow-up and state of a message, from the recent history alone."""
    intent, operation, reason = read_intent(message)
    follow_up = read_follow_up(without_courtesy(message), history[-RECENT:], threshold)
    if intent is None:
        intent = "follow_up" if follow_up.is_follow_up else "new_question"
        reason = follow_up.reason
    elif intent == "reform":
        why = "it asks for the last answer in another form"
        follow_up = dataclasses.replace(follow_up, is_follow_up=True, type="pattern", confidence=0.95, reason=why)
    else:
        why = "it asks nothing of the documents"
        follow_up = dataclasses.replace(follow_up, is_follow_up=False, type="none", confidence=0.0, reason=why)
    tracker = tracker or ConversationTracker()
    state = tracker.update(tracker.read(history), message, follow_up, intent)
    return Understanding(intent, operation, follow_up, state, reason)
