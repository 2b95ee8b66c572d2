"""Whether a message depends on the conversation, judged by its words, its meaning and a trained model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from turnwise.dialogue.intent import asks_documents, read_intent, without_courtesy
from turnwise.dialogue.language import conversation_language, named_subject
from turnwise.dialogue.signs import asks_for_more, by_pattern
from turnwise.dialogue.topics import plain_text
from turnwise.dialogue.window import Embed
from turnwise.text import content_stems, phrases, specific_stems
from turnwise.types import FollowUp, Message

MAX_MESSAGE_CHARS = 600  # the rest of a message is not compared
MAX_NAMED_CONFIDENCE = 0.45  # for "what is X?", which stands alone on any turn
ANSWER_OPENING_CHARS = 400  # the part of an answer that shows its topic


@dataclass(frozen=True, slots=True)
class FollowUpContext:
    """What a message is judged by besides its words."""

    threshold: float = 0.5
    language: str = "en"
    embed: Embed | None = None
    model: float | None = None  # the trained condenser's probability that the message needs its context
    idle: float | None = None  # seconds since the last message, if known
    memory_seconds: float = 300.0
    topic_signal: bool = True


def read_follow_up(message: str, recent: Sequence[Message], context: FollowUpContext) -> FollowUp:
    """Decides whether a message depends on the messages before it."""
    if not recent:
        return FollowUp(False, "none", 0.0, "", (), "the conversation begins here")
    topic, keywords = previous_topic(recent)
    pattern = by_pattern(message, recent, context.language)
    semantic = closeness(message, recent, context.embed) if context.embed and not pattern.certain else None
    signals = {"pattern": pattern.confidence, "semantic": semantic, "model": context.model}
    confidence = pattern.confidence if pattern.certain else combine(pattern.confidence, semantic, context.model)
    if pattern.named:
        confidence = min(confidence, MAX_NAMED_CONFIDENCE)
    fading = 1.0 if pattern.pointing else fade(context.idle, context.memory_seconds)
    unfaded, confidence = confidence, round(confidence * fading, 2)
    is_follow_up = confidence >= context.threshold
    signal = context.topic_signal and context.language == "en" and not is_follow_up
    leaves_topic = signal and _leaves(message, recent, topic, semantic)
    if is_follow_up:
        reason = pattern.reason or ("it belongs to what was said" if semantic else "it fits what was said before")
    elif fading < 1 and unfaded >= context.threshold:
        reason = f"it may have referred to “{topic}”, but that was {_spoken_time(context.idle or 0)} ago"
    else:
        reason = f"it stands by itself and leaves “{topic}”" if leaves_topic else "it stands by itself"
    return FollowUp(
        is_follow_up,
        "none" if not is_follow_up else "pattern" if pattern.pointing else "semantic",
        confidence,
        topic,
        keywords,
        reason,
        {name: round(value, 2) for name, value in signals.items() if value is not None},
        leaves_topic,
    )


# --- the three signals and their combined confidence --------------------------------------------------------------

# The log-odds that each signal adds. A message far from everything said hardly depends on it; one that is near may or
# may not. Fitted by training/condenser/calibrate.py on public conversations that the model had not seen, with each
# question also asked after the history of another conversation. The first row is used without a model.
MIX = {
    False: {"bias": 0.3, "pattern": 1.0, "far": 3.5, "model": 0.0},
    True: {"bias": 0.29, "pattern": 0.1, "far": 1.26, "model": 0.83},
}


def combine(pattern: float, semantic: float | None = None, model: float | None = None) -> float:
    """Returns the confidence that follows from the available signals."""
    if semantic is None and model is None:
        return min(0.95, max(0.05, pattern))
    weights = MIX[model is not None]
    log_odds = weights["bias"] + weights["pattern"] * _logit(pattern)
    if semantic is not None:
        log_odds += weights["far"] * min(0.0, _logit(semantic))
    if model is not None:
        log_odds += weights["model"] * _logit(model)
    return min(0.95, max(0.05, 1 / (1 + math.exp(-log_odds))))


def _logit(probability: float) -> float:
    inside = min(0.98, max(0.02, probability))
    return math.log(inside / (1 - inside))


# Cosines of the document embedder, and the probability that a message with this cosine belongs to the conversation.
HIGH_COSINE, MEDIUM_COSINE, LOW_COSINE = 0.6, 0.45, 0.3
_PROBABILITIES = ((LOW_COSINE, 0.3), (MEDIUM_COSINE, 0.5), (HIGH_COSINE, 0.75), (0.75, 0.9))
SAME_TOPIC_PROBABILITY = 0.6
RECENCY_DECAY = 0.95  # weight of a question relative to the one after it
COMPARED_QUESTIONS = 4
SHARED_WORD_BONUS = 0.03  # added to the cosine for each word shared with the last exchange, at most twice
MIN_MESSAGE_CHARS = 5  # shorter messages say too little to compare


def closeness(message: str, recent: Sequence[Message], embed: Embed) -> float | None:
    """Returns how likely a message belongs to the conversation by its meaning, 0.3 to 0.9, or None if it is too short
    or there is nothing to compare it with."""
    questions = [each.content[:MAX_MESSAGE_CHARS] for each in recent if each.role == "user"]
    language = conversation_language(recent)
    asked = [without_courtesy(text) for text in questions if _has_subject(text, language)]
    if len(message.strip()) < MIN_MESSAGE_CHARS or not asked:
        return None
    vector = embed(message[:MAX_MESSAGE_CHARS])
    compared = reversed(asked[-COMPARED_QUESTIONS:])
    nearest = max(float(vector @ embed(text)) * RECENCY_DECAY**age for age, text in enumerate(compared))
    exchange = content_stems(" ".join(each.content[:MAX_MESSAGE_CHARS] for each in recent[-2:]))
    shared = specific_stems(message) & exchange
    return _interpolated(nearest + SHARED_WORD_BONUS * min(2, len(shared)))


def _has_subject(question: str, language: str) -> bool:
    """Whether a question to the documents has a subject of its own, unlike a correction, a reference to something
    earlier and "tell me more"."""
    about_the_talk = read_intent(question).intent in ("clarify", "refer_back")
    return asks_documents(question, language) and not about_the_talk and not asks_for_more(without_courtesy(question))


def _interpolated(cosine: float) -> float:
    for (below, low), (above, high) in itertools.pairwise(_PROBABILITIES):
        if cosine < above:
            return low + (high - low) * max(0.0, cosine - below) / (above - below)
    return _PROBABILITIES[-1][1]


def fade(idle: float | None, memory_seconds: float) -> float:
    """Returns how much a topic still counts after `idle` seconds of silence: fully for `memory_seconds`, half after
    twice that, and so on. An unknown time, or one in the future, counts as no silence."""
    if idle is None or memory_seconds <= 0 or idle <= memory_seconds:
        return 1.0
    return memory_seconds / idle


def _spoken_time(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _leaves(message: str, recent: Sequence[Message], topic: str, semantic: float | None) -> bool:
    """Whether a standalone message leaves the current topic."""
    specific = specific_stems(message)
    recent_stems = set().union(*(content_stems(each.content[:MAX_MESSAGE_CHARS]) for each in recent[-4:]))
    near = semantic is not None and semantic >= SAME_TOPIC_PROBABILITY
    return bool(topic and specific) and not specific & recent_stems and not near


def previous_topic(recent: Sequence[Message]) -> tuple[str, tuple[str, ...]]:
    """Returns the topic before this message, and its keywords."""
    language = conversation_language(recent)
    asked = [each.content for each in recent if each.role == "user" and asks_documents(each.content, language)]
    topic = next((found for text in reversed(asked) if (found := named_subject(plain_text(text)))), "")
    answer = next((each.content for each in reversed(recent) if each.role == "assistant"), "")
    answer_phrases = phrases(plain_text(answer)[:ANSWER_OPENING_CHARS])
    keywords = list(dict.fromkeys([topic.lower(), *(phrase.lower() for phrase in answer_phrases)]))
    return topic, tuple(word for word in keywords if word)[:6]
