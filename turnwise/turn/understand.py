"""Understand: what the message is to the conversation. A question of its own, a follow-up, or no search at all."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from turnwise.config import Settings
from turnwise.dialogue import predicted, rules
from turnwise.dialogue.earlier import mentions
from turnwise.dialogue.follow_up import (
    HIGH_COSINE,
    LOW_COSINE,
    MAX_MESSAGE_CHARS,
    MEDIUM_COSINE,
    FollowUpContext,
    previous_topic,
    read_follow_up,
)
from turnwise.dialogue.intent import IntentReading, asks_documents, begins_anew, is_sum, read_intent, without_courtesy
from turnwise.dialogue.language import read_language
from turnwise.dialogue.listed import name_listed_items
from turnwise.dialogue.profile import OFF, Profile
from turnwise.dialogue.spelling import LibraryWords, Slip, correct_spelling
from turnwise.dialogue.tracker import ConversationTracker
from turnwise.dialogue.window import last_change, window
from turnwise.dialogue.wishes import read_wishes
from turnwise.dialogue.writing import points_back, without_lookalikes
from turnwise.text import without_citations, words
from turnwise.types import Condenser, Embedder, FollowUp, Library, Message, Prediction, Understanding

log = logging.getLogger(__name__)
RECENT = 20  # messages that are looked at, however long the conversation is
MENDED = 12  # of which slips are mended again


@dataclass(frozen=True, slots=True)
class Senses:
    """What a message is understood with besides its words: what keeps track of the conversation and, where there are
    such, vectors, the trained condenser, and who knows whether a word is English."""

    embedder: Embedder | None = None
    condenser: Condenser | None = None
    tracker: ConversationTracker = field(default_factory=ConversationTracker)
    is_english: Callable[[str], bool] | None = None

    def over(self, library: Library) -> Senses:
        """The same senses for what a turn may see of the library."""
        return replace(self, tracker=self.tracker.over(library.terms))

    def apart(self) -> Senses:
        """The same senses without a library, whose terms they remember: it may be closed before they are used."""
        return replace(self, tracker=self.tracker.apart())


_BY_RULES, _DEFAULTS = Senses(), Settings()


def as_meant(
    message: str, history: Sequence[Message], library: Library, settings: Settings, senses: Senses
) -> tuple[str, list[Slip], tuple[Message, ...]]:
    """The message without slips of the pen that hide what the library has, and with what it counts off named; which
    those were, and the history so too: what was mended once is not to come back from there."""
    read = _reader(library, settings, senses)
    said = list(history)
    for place in range(max(0, len(said) - MENDED), len(said)):
        if said[place].role == "user":
            said[place] = replace(said[place], content=read(said[place].content, said[:place])[0])
    return *read(message, said), tuple(said)


def _reader(
    library: Library, settings: Settings, senses: Senses
) -> Callable[[str, Sequence[Message]], tuple[str, list[Slip]]]:
    """What reads a message as it was meant, after what was said before it. A word is looked up once."""
    is_english = senses.is_english if settings.spelling else None
    held = cache(library.held)
    known = LibraryWords(lambda spellings: held(tuple(spellings)), cache(partial(_writes, library)))

    def read(text: str, said: Sequence[Message]) -> tuple[str, list[Slip]]:
        if read_language(text, ()) != "en":
            return text, []
        text, slips = correct_spelling(text, known, is_english) if is_english else (text, [])
        text, named = name_listed_items(text, said) if settings.follow_up else (text, [])
        return text, [*slips, *named]

    return read


def _writes(library: Library, word: str) -> bool:
    """Whether a passage has the word as it is, in whatever capitals."""
    passage = library.locate(word)
    return passage is not None and word in words(f"{passage.title} {passage.heading} {passage.text}".lower())


def in_words(slips: Sequence[Slip]) -> str:
    """What a reader is told of them, after the reason of a stage."""
    return "".join(f"; “{slip.typed}” was read as “{slip.meant}”" for slip in slips)


def understand(
    message: str,
    history: Sequence[Message],
    settings: Settings = _DEFAULTS,
    senses: Senses = _BY_RULES,
    now: float | None = None,
    profile: Profile = OFF,
) -> Understanding:
    """Language, intent, follow-up and state of a message. Without senses the words alone are read; `now` is the time
    (seconds since 1970), where it is known, and `profile` what is remembered of the user, where they wish it."""
    recent = history[-RECENT:]
    language = read_language(message, (each.content for each in reversed(recent) if each.role == "user"))
    reading = _noted(message, profile) or _in_context(read_intent(message, language), history, settings)
    prediction: Prediction | None = None
    seen: Sequence[Message] = ()
    if reading.intent in ("social", "recall"):
        follow_up = _decided(recent, 0.0, "it asks nothing of the documents")
    elif is_sum(reading):
        follow_up = _decided(recent, 0.0, "a sum leans on nothing that was said")
    elif reading.intent == "reform":
        follow_up = _decided(recent, 0.95, "it asks for the last answer in another form")
    elif begins_anew(message) and not points_back(without_courtesy(message)):
        follow_up = _decided(recent, 0.0, "it says that it leaves what was talked about")
    elif not settings.follow_up:
        follow_up = _decided(recent, 0.0, "follow-ups are not looked for (the setting is off)")
    else:
        asked = without_courtesy(message)
        embed = senses.embedder.embed_query if senses.embedder else None
        since = last_change(message, history, embed) if language == "en" and reading.intent is None else 0
        seen = window(message, history, since)
        if senses.condenser and recent and language == "en":
            prediction = senses.condenser.predict(without_lookalikes(asked), seen)
        if reading.intent in ("clarify", "refer_back"):
            follow_up = _decided(recent, 0.9, f"it {reading.reason}")
        else:
            known = FollowUpContext(
                settings.follow_up_threshold,
                language,
                embed,
                prediction.needs_context if prediction else None,
                idle_seconds(history, now),
                settings.memory_seconds,
                settings.topic_signal,
            )
            follow_up = read_follow_up(asked, recent, known)
    intent, operation, reason = reading.intent, reading.operation, reading.reason
    if intent is None or (intent == "data" and follow_up.is_follow_up):  # what leans is completed first
        intent = "follow_up" if follow_up.is_follow_up else "new_question"
        operation, reason = "", follow_up.reason
    state = senses.tracker.update(senses.tracker.read(history, profile), message, follow_up, intent, profile)
    return Understanding(intent, operation, follow_up, state, reason, language, prediction, tuple(seen))


def _noted(message: str, profile: Profile) -> IntentReading | None:
    """A message that only says what is to be remembered or forgotten, where anything is."""
    wishes = read_wishes(message)
    if not (profile.enabled and wishes.only):
        return None
    operation = "forgotten" if wishes.any_forgetting else "remembered"
    return IntentReading("social", operation, "says what is to be remembered, and asks nothing")


def _in_context(reading: IntentReading, history: Sequence[Message], settings: Settings) -> IntentReading:
    """The reading, unless there is nothing for it to correct, to go back to or to calculate with: then it is a plain
    question."""
    bare = reading.intent == "arithmetic" and not is_sum(reading) and not reading.about  # "in miles?"
    if bare and not _tells_a_number(history):
        return IntentReading()
    if reading.intent == "clarify" and not (settings.follow_up and history):
        return IntentReading()
    said = settings.follow_up and history and (reading.claimed or mentions(reading.about, history))
    if reading.intent == "refer_back" and not said:
        return IntentReading()
    return reading


def _tells_a_number(history: Sequence[Message]) -> bool:
    """Whether one of the last answers holds a number that is no citation."""
    answers = [each.content for each in history[-RECENT:] if each.role == "assistant"][-3:]
    return any(character.isdigit() for answer in answers for character in without_citations(answer))


def _decided(recent: Sequence[Message], confidence: float, reason: str) -> FollowUp:
    """A follow-up, or none, where the intent decides it; what was said before is read all the same."""
    leans = confidence > 0 and bool(recent)
    return FollowUp(leans, "pattern" if leans else "none", confidence, *previous_topic(recent), reason)


def read_ahead(history: Sequence[Message], senses: Senses, profile: Profile = OFF) -> None:
    """Read the last turn of a history as the next one will have to, while nobody waits: who reads it remembers it."""
    try:
        message, said = history[-2].content, window("", history[-2:])
        senses.tracker.read(history, profile)
        predicted.read_ahead(said)
        rules.read_ahead(said)
        if senses.condenser:
            senses.condenser.predict("", said)  # nothing is asked, so it only reads
        if senses.embedder and asks_documents(message):
            senses.embedder.embed_query(without_courtesy(message[:MAX_MESSAGE_CHARS]))
    except Exception:  # the next turn reads for itself, and says what is wrong
        log.warning("a turn could not be read ahead of the next", exc_info=True)


def idle_seconds(history: Sequence[Message], now: float | None) -> float | None:
    """How long ago the last message was said, None where that is not known; never less than nothing."""
    at = history[-1].at if history else None
    return None if at is None or now is None else max(0.0, now - at)


def details(understood: Understanding, settings: Settings, profile: Profile = OFF) -> dict[str, Any]:
    """The values behind the decision, for the trace; among them what was remembered of the user."""
    follow_up = understood.follow_up
    remembers = {"remembers": profile.used(understood.state)} if profile.enabled else {}
    return {
        "confidence": follow_up.confidence,
        "signals": follow_up.signals,
        "thresholds": {
            "follow_up": settings.follow_up_threshold,
            "similarity": {"high": HIGH_COSINE, "medium": MEDIUM_COSINE, "low": LOW_COSINE},
        },
        "topic_changed": follow_up.topic_changed,
        "operation": understood.operation,
        "language": understood.language,
        **remembers,
    }
