"""What is said in a conversation, and how a message is understood."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from turnwise.types.search import Source, Term

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation. One of the assistant has the sources it cited, if they are known.

    `at` is when it was said (seconds since 1970), or None if unknown. `metadata` is what the author of an assistant
    message recorded about it, such as {"scaffolding": "hint"}. `evidence` and `note` are what a model was shown with a
    user message, if the turn was stored: with them, exactly the same can be sent again.
    """

    role: Role
    content: str
    sources: tuple[Source, ...] = ()
    at: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    evidence: tuple[Source, ...] = ()
    note: str = ""


def as_messages(history: Any) -> tuple[Message, ...]:
    """A history in which {"role": …, "content": …} is taken as the message it means. What is neither is left as it is,
    to be refused where the request is checked."""
    if not isinstance(history, Iterable) or isinstance(history, str | bytes | Mapping):
        return (history,)  # type: ignore[return-value]
    return tuple(Message(each["role"], each["content"]) if _is_plain(each) else each for each in history)


def _is_plain(value: Any) -> bool:
    return isinstance(value, Mapping) and {"role", "content"} <= value.keys()


@dataclass(frozen=True, slots=True)
class Image:
    """An image shown with a message: its name, its media type (image/png) and its bytes."""

    name: str
    media_type: str
    data: bytes = field(repr=False)


# new_question stands alone; follow_up depends on what was said; clarify corrects or narrows the last question ("no, I
# meant attachments"); reform wants the last answer in another form; recall asks about this conversation, or which
# documents there are; refer_back returns to something said earlier ("earlier you mentioned X"); social is a courtesy;
# arithmetic and data need a tool.
Intent = Literal[
    "new_question", "follow_up", "clarify", "reform", "recall", "refer_back", "social", "arithmetic", "data"
]
KnowledgeLevel = Literal["unknown", "confused", "knows_basics", "advanced"]
ResponseType = Literal["socratic", "example", "code", "math", "brief", "explanation", "clarification"]
Mood = Literal["neutral", "confused", "frustrated"]


class ConversationPhase(StrEnum):
    """What the user is doing with a topic, judging by their words."""

    EXPLORING = "exploring"  # what is it
    UNDERSTANDING = "understanding"  # how, why
    APPLYING = "applying"  # how do I; code, an example
    DEBUGGING = "debugging"  # an error, being stuck
    REVIEWING = "reviewing"  # back to what was said


@dataclass(frozen=True, slots=True)
class Edit:
    """Where the missing words of a message belong: in place of its text from `start` to `end` if `joint` is None, else
    after it, joined by that word; and how likely that is."""

    start: int
    end: int
    joint: str | None
    chance: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the trained condenser predicts for a message: how likely it needs its context; the earlier words that it may
    leave out, each as it was said with its probability, the likeliest first; and where they belong."""

    needs_context: float
    terms: tuple[tuple[str, float], ...] = ()
    edit: Edit | None = None


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Whether the message depends on the conversation, how that was detected, how sure we are, and what it depends on.

    `signals` has the result of each detector that ran (pattern, semantic, model: 0 to 1). `topic_changed` says that the
    message leaves the current topic.
    """

    is_follow_up: bool
    type: Literal["none", "pattern", "semantic"]
    confidence: float
    previous_topic: str
    keywords: tuple[str, ...]
    reason: str
    signals: dict[str, float] = field(default_factory=dict)
    topic_changed: bool = False


@dataclass(frozen=True, slots=True)
class TopicKnowledge:
    """What the user seems to know about a topic, and their words that showed it, with the turn; 0 is an earlier
    conversation."""

    topic: str
    level: KnowledgeLevel
    evidence: str = ""
    turn: int = 0


@dataclass(frozen=True, slots=True)
class ConversationState:
    """The state of the conversation, derived from everything said up to and including the last user message."""

    turn: int  # user messages so far, this one included
    topics: tuple[str, ...] = ()  # in order of first mention
    topic: str = ""  # what this message is about; for a follow-up, the previous topic
    phase: ConversationPhase = ConversationPhase.EXPLORING
    covered: tuple[str, ...] = ()  # topics that an answer has covered
    knowledge: tuple[TopicKnowledge, ...] = ()
    open_questions: tuple[str, ...] = ()  # asked by the assistant, not answered
    scaffolding: tuple[str, ...] = ()  # from the metadata of assistant messages, oldest first
    last_response: ResponseType | None = None
    last_response_length: int = 0  # characters
    response_types: tuple[ResponseType, ...] = ()  # the most recent ones, oldest first
    skip_introduction: bool = False
    guidance: tuple[str, ...] = ()  # for the next answer
    mood: Mood = "neutral"
    mood_evidence: str = ""
    preferences: tuple[str, ...] = ()  # of the user, for every answer, from earlier conversations


@dataclass(frozen=True, slots=True)
class Understanding:
    intent: Intent
    operation: str  # details of the intent; for "reform" list, table, shorter...; for "recall" first, last, all...
    follow_up: FollowUp
    state: ConversationState
    reason: str
    language: str = "en"  # ISO 639-1 code, or "" if unknown
    prediction: Prediction | None = None  # of the trained condenser, if there is one and it knows this language
    seen: tuple[Message, ...] = ()  # the part of the conversation that was read with it, if it may depend on it


@dataclass(frozen=True, slots=True)
class Analysis:
    """How a message relates to its conversation, without an answer. `to_dict()` is the object that the API returns."""

    turn: int
    understanding: Understanding
    condensed: Condensed
    threshold: float

    def to_dict(self) -> dict[str, Any]:
        understood, follow_up = self.understanding, self.understanding.follow_up
        return {
            "turn": self.turn,
            "intent": understood.intent,
            "operation": understood.operation,
            "language": understood.language,
            "reason": understood.reason,
            "is_follow_up": follow_up.is_follow_up,
            "type": follow_up.type,
            "confidence": follow_up.confidence,
            "threshold": self.threshold,
            "signals": follow_up.signals,
            "topic_changed": follow_up.topic_changed,
            "previous_topic": follow_up.previous_topic,
            "keywords": list(follow_up.keywords),
            "enhanced_query": self.condensed.query,
            "added_terms": {term.text: term.weight for term in self.condensed.added},
            "state": dataclasses.asdict(understood.state),
        }


@dataclass(frozen=True, slots=True)
class Condensed:
    """The message as a question that stands alone, with the words that were added and why.

    `candidates` are other readings of an ambiguous message, searched together with `query`. `refused` is a proposal of
    a language model that was rejected, shortened; the reason says why.
    """

    query: str
    added: tuple[Term, ...]
    method: Literal["literal", "rules", "model", "llm", "caller"]
    reason: str
    candidates: tuple[str, ...] = ()
    refused: str = ""

    @property
    def changed(self) -> bool:
        return self.method != "literal"
