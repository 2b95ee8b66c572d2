"""State: where the conversation stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.dialogue.intent import read_intent
from turnwise.text import one_line, subject
from turnwise.types import ConversationPhase, ConversationState, FollowUp, Message

RECENT = 20  # questions that are looked at, besides the first


def read_state(message: str, history: Sequence[Message], follow_up: FollowUp) -> ConversationState:
    asked = [each.content for each in history if each.role == "user"]
    topics: dict[str, str] = {}
    for text in [*asked[:1], *asked[1:][-RECENT:], message]:
        if read_intent(text)[0] is None and (found := subject(text)):
            topics.setdefault(found.lower(), found)
    own = "" if read_intent(message)[0] else subject(message)
    topic = own or follow_up.previous_topic
    return ConversationState(len(asked) + 1, tuple(topics.values()), one_line(topic, 60), _phase(message))


_PHASES: tuple[tuple[ConversationPhase, re.Pattern[str]], ...] = (
    ("debugging", re.compile(r"\b(?:errors?|stuck|not working|doesn['’]t work|fails?|failing|wrong|bug|nan)\b", re.I)),
    (
        "reviewing",
        re.compile(r"\b(?:earlier|you said|you mentioned|back to|remind me|again|recap|summari[sz]e)\b", re.I),
    ),
    (
        "applying",
        re.compile(r"\b(?:how (?:do|can|should|would) (?:i|we|you)|code|implement|example|use it|steps?)\b", re.I),
    ),
    ("understanding", re.compile(r"\b(?:how|why|explain|compare[ds]?|differ\w*|relationship|overlap)\b", re.I)),
)


def _phase(message: str) -> ConversationPhase:
    return next((phase for phase, pattern in _PHASES if pattern.search(message)), "exploring")
