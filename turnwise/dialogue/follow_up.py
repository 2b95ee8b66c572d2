"""Follow-up: whether a message leans on the conversation, by its words, its meaning and a model, with the reason."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnwise.dialogue.intent import asks_documents, read_intent, without_courtesy
from turnwise.dialogue.language import named
from turnwise.dialogue.signs import asks_for_more, by_pattern
from turnwise.dialogue.topics import plain
from turnwise.text import content_stems, is_specific, phrases, stem, words
from turnwise.types import FollowUp, Message

if TYPE_CHECKING:
    from turnwise.types import Vectors

Embed = Callable[[str], "Vectors"]
LONGEST = 600  # characters of a message that are compared
MOST_IF_NAMED = 0.45  # confidence in a follow-up of "what is X?", which stands alone on any turn
OPENING = 400  # characters of an answer whose words stand for its topic


@dataclass(frozen=True, slots=True)
class Known:
    """What is known besides the words: the language, ways of comparing, and how long nothing was said (seconds)."""

    threshold: float = 0.5
    language: str = "en"
    embed: Embed | None = None
    model: float | None = None  # the trained condenser's probability that the message needs its context
    idle: float | None = None
    memory_seconds: float = 300.0
    topic_signal: bool = True


def read_follow_up(message: str, recent: Sequence[Message], known: Known) -> FollowUp:
    """Whether a message leans on the messages before it, by all that is known."""
    if not recent:
        return FollowUp(False, "none", 0.0, "", (), "the conversation begins here")
    topic, keywords = previous_topic(recent)
    seen = by_pattern(message, recent, known.language)
    semantic = closeness(message, recent, known.embed) if known.embed and not seen.certain else None
    signals = {"pattern": seen.confidence, "semantic": semantic, "model": known.model}
    confidence = seen.confidence if seen.certain else combine(seen.confidence, semantic, known.model)
    if seen.named:
        confidence = min(confidence, MOST_IF_NAMED)
    fading = 1.0 if seen.pointing else fade(known.idle, known.memory_seconds)
    before, confidence = confidence, round(confidence * fading, 2)
    is_follow_up = confidence >= known.threshold
    signal = known.topic_signal and known.language == "en" and not is_follow_up
    left = signal and _leaves(message, recent, topic, semantic)
    if is_follow_up:
        reason = seen.reason or ("it belongs to what was said" if semantic else "it fits what was said before")
    elif fading < 1 and before >= known.threshold:
        reason = f"it may have leant on “{topic}”, but that was {_spoken_time(known.idle or 0)} ago"
    else:
        reason = f"it stands by itself and leaves “{topic}”" if left else "it stands by itself"
    return FollowUp(
        is_follow_up,
        "none" if not is_follow_up else "pattern" if seen.pointing else "semantic",
        confidence,
        topic,
        keywords,
        reason,
        {name: round(value, 2) for name, value in signals.items() if value is not None},
        left,
    )


# --- three ways of seeing it, and the confidence they make together -----------------------------------------------

# The log-odds that each signal adds: a message far from all that was said hardly leans on it, one that is near may
# stand by itself or not. Made by training/condenser/calibrate.py from public conversations that the model had not seen,
# each question also asked after the history of another conversation; the first row is for where there is no model.
MIX = {
    False: {"bias": 0.3, "pattern": 1.0, "far": 3.5, "model": 0.0},
    True: {"bias": 0.29, "pattern": 0.1, "far": 1.26, "model": 0.83},
}


def combine(pattern: float, semantic: float | None = None, model: float | None = None) -> float:
    """One confidence out of the signals there are."""
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


# Cosines of the embedder that indexes the documents, and how likely the message then belongs to what was said.
HIGH, MEDIUM, LOW = 0.6, 0.45, 0.3
_BELONGS = ((LOW, 0.3), (MEDIUM, 0.5), (HIGH, 0.75), (0.75, 0.9))
NEAR = 0.6  # how likely a message belongs to what was said, from which it does not leave the topic
RECENCY = 0.95  # what a question counts beside the one after it
LOOKED_BACK = 4  # questions that are compared
SHARED_WORD = 0.03  # added to the cosine for each word of the message that the last exchange holds, twice at most
SHORTEST = 5  # characters from which a message says enough to be compared


def closeness(message: str, recent: Sequence[Message], embed: Embed) -> float | None:
    """How likely a message belongs to what was said, by its meaning: 0.3 to 0.9; None where it is too short to tell."""
    said = [each.content[:LONGEST] for each in recent if each.role == "user"]
    asked = [without_courtesy(text) for text in said if _has_a_subject(text)]
    if len(message.strip()) < SHORTEST or not asked:
        return None
    vector = embed(message[:LONGEST])
    nearest = max(float(vector @ embed(text)) * RECENCY**age for age, text in enumerate(reversed(asked[-LOOKED_BACK:])))
    exchange = content_stems(" ".join(each.content[:LONGEST] for each in recent[-2:]))
    shared = {stem(word) for word in words(message) if is_specific(word)} & exchange
    return _interpolated(nearest + SHARED_WORD * min(2, len(shared)))


def _has_a_subject(question: str) -> bool:
    """Whether a question to the documents is about something, and not about what was said: a correction, a call back
    to something earlier and "tell me more" are."""
    about_the_talk = read_intent(question).intent in ("clarify", "refer_back")
    return asks_documents(question) and not about_the_talk and not asks_for_more(without_courtesy(question))


def _interpolated(cosine: float) -> float:
    for (below, low), (above, high) in itertools.pairwise(_BELONGS):
        if cosine < above:
            return low + (high - low) * max(0.0, cosine - below) / (above - below)
    return _BELONGS[-1][1]


def fade(idle: float | None, memory_seconds: float) -> float:
    """What is left of the pull of a topic after some seconds of silence: all for as long as memory lasts, half after
    twice that, and so on. Where the time is not known, or lies in the future, there was no silence."""
    if idle is None or memory_seconds <= 0 or idle <= memory_seconds:
        return 1.0
    return memory_seconds / idle


def _spoken_time(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _leaves(message: str, recent: Sequence[Message], topic: str, semantic: float | None) -> bool:
    """Whether a message that stands by itself is about something else than what was in force."""
    specific = {stem(word) for word in words(message) if is_specific(word)}
    said = set().union(*(content_stems(each.content[:LONGEST]) for each in recent[-4:]))
    near = semantic is not None and semantic >= NEAR
    return bool(topic and specific) and not specific & said and not near


def previous_topic(recent: Sequence[Message]) -> tuple[str, tuple[str, ...]]:
    """The topic in force before this message, and the words that stand for it."""
    asked = [each.content for each in recent if each.role == "user" and asks_documents(each.content)]
    topic = next((found for text in reversed(asked) if (found := named(plain(text)))), "")
    answer = next((each.content for each in reversed(recent) if each.role == "assistant"), "")
    named_there = phrases(plain(answer)[:OPENING])
    keywords = list(dict.fromkeys([topic.lower(), *(found.lower() for found in named_there)]))
    return topic, tuple(word for word in keywords if word)[:6]
