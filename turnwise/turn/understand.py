"""Understand: what the message is in the conversation. A new question, a follow-up, or nothing to search for."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
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
from turnwise.dialogue.going_on import going_on
from turnwise.dialogue.intent import IntentReading, asks_documents, begins_anew, is_sum, read_intent, without_courtesy
from turnwise.dialogue.language import conversation_language, read_language
from turnwise.dialogue.listed import name_listed_items
from turnwise.dialogue.profile import OFF, Profile
from turnwise.dialogue.pronouns import points_back, without_lookalikes
from turnwise.dialogue.spelling import LibraryWords, Slip, correct_spelling, only_english
from turnwise.dialogue.tracker import ConversationTracker
from turnwise.dialogue.window import last_change, window
from turnwise.dialogue.wishes import read_wishes
from turnwise.dialogue.works import name_works
from turnwise.dialogue.writing import questions_newest_first
from turnwise.sums.read import states_amount
from turnwise.text import without_citations, words
from turnwise.types import (
    Condenser,
    Embedder,
    FollowUp,
    Library,
    Message,
    Prediction,
    Reference,
    SearchQuery,
    Understanding,
)

log = logging.getLogger(__name__)
RECENT_MESSAGES = 20  # that are read, however long the conversation is
MAX_SEARCHED_FOR_WORKS = 30  # passages in which the works of the library are looked for
CORRECTED_MESSAGES = 12  # the latest, in which slips are corrected again
_REMEDIES = re.compile(
    r"^(?:-|\d{1,3}\.) |(?:^|[.\]:] )If (?:it|that|this|the|your|there)\b", re.M
)  # that an answer told


@dataclass(frozen=True, slots=True)
class Senses:
    """What a message is understood with besides its words: the tracker of the conversation and, if they are set up, an
    embedder, the trained condenser, and a test for English words."""

    embedder: Embedder | None = None
    condenser: Condenser | None = None
    tracker: ConversationTracker = field(default_factory=ConversationTracker)
    is_english: Callable[[str], bool] | None = None

    def over(self, library: Library) -> Senses:
        """The same senses, for the part of the library that a turn may see. Its terms are asked for once, and known
        even when the library is closed."""
        return replace(self, tracker=self.tracker.over(cache(library.terms)))


_BY_RULES, _DEFAULTS = Senses(), Settings()


def read_as_meant(
    message: str, history: Sequence[Message], library: Library, settings: Settings, senses: Senses
) -> tuple[str, list[Slip], tuple[Message, ...]]:
    """The message as it was meant, the corrections, and the history corrected in the same way, so that a slip does not
    come back from there. A misspelt word becomes one that the library has; "the second one" becomes what it means."""
    read = _reader(library, settings, senses)
    corrected = list(history)
    for place in range(max(0, len(corrected) - CORRECTED_MESSAGES), len(corrected)):
        each = corrected[place]
        if each.role == "user":
            corrected[place] = replace(each, content=read(each.content, corrected[:place])[0])
    return *read(message, corrected), tuple(corrected)


def _reader(
    library: Library, settings: Settings, senses: Senses
) -> Callable[[str, Sequence[Message]], tuple[str, list[Slip]]]:
    """A function that reads a message as it was meant, given what was said before it. It looks up each word once."""
    is_english = senses.is_english if settings.spelling else None
    held = cache(library.held)
    known = LibraryWords(lambda spellings: held(tuple(spellings)), cache(partial(_contains, library)))

    def read(text: str, said: Sequence[Message]) -> tuple[str, list[Slip]]:
        english = read_language(text) == "en"
        if not english and (is_english is None or conversation_language(said) != "en"):
            return text, []
        corrected, slips = correct_spelling(text, known, is_english) if is_english else (text, [])
        if not english and not (slips and is_english and only_english(corrected, slips, is_english)):
            return text, []  # a language of its own, and not English with a slip ("wat is gravity")
        text = corrected
        for name in (name_listed_items, partial(name_works, works=partial(_works, text, said, library))):
            text, named = name(text, said) if settings.follow_up else (text, [])
            slips = [*slips, *named]
        return text, slips

    return read


def _works(question: str, said: Sequence[Message], library: Library) -> list[Reference]:
    """The works with authors that the conversation has cited, if there are several; otherwise those in what the library
    finds for it."""
    cited = _distinct(source.reference for each in said for source in each.sources)
    if len(cited) > 1:
        return cited
    talk = " ".join([*(each.content for each in said if each.role == "user"), question])[:MAX_MESSAGE_CHARS]
    hits = library.search(SearchQuery(talk), MAX_SEARCHED_FOR_WORKS)
    return _distinct([*cited, *(hit.passage.reference for hit in hits)])


def _distinct(references: Iterable[Reference | None]) -> list[Reference]:
    return list({(each.authors, each.year): each for each in references if each and each.authors}.values())


def _contains(library: Library, word: str) -> bool:
    """Whether a passage contains exactly this word, in upper or lower case."""
    passage = library.locate(word)
    return passage is not None and word in words(f"{passage.title} {passage.heading} {passage.text}".lower())


def corrections_in_words(slips: Sequence[Slip]) -> str:
    """What was corrected, to be appended to the reason of a stage."""
    return "".join(f"; “{slip.typed}” was read as “{slip.meant}”" for slip in slips)


def understand(
    message: str,
    history: Sequence[Message],
    settings: Settings = _DEFAULTS,
    senses: Senses = _BY_RULES,
    now: float | None = None,
    profile: Profile = OFF,
) -> Understanding:
    """Language, intent, follow-up and state of a message. Without senses only its words are read. `now` is the time in
    seconds since 1970, if known, and `profile` what is remembered about the user, if they want that."""
    recent = history[-RECENT_MESSAGES:]
    language = read_language(message, questions_newest_first(recent))
    reading = _only_wishes(message, profile) or _in_context(message, language, history, settings)
    prediction: Prediction | None = None
    seen: Sequence[Message] = ()
    follow_up = _settled_by_message(message, reading, recent, settings)
    if follow_up is None:
        asked = without_courtesy(message)
        embed = senses.embedder.embed_query if senses.embedder else None
        since = last_change(message, history, embed) if language == "en" and reading.intent is None else 0
        seen = window(message, history, since)
        if senses.condenser and recent and language == "en":
            prediction = senses.condenser.predict(without_lookalikes(asked), seen)
        if reading.intent in ("clarify", "refer_back"):
            follow_up = _settled(recent, 0.9, f"it {reading.reason}")
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
    if intent is None or (intent == "data" and follow_up.is_follow_up):  # a follow-up is completed first
        intent = "follow_up" if follow_up.is_follow_up else "new_question"
        operation, reason = "", follow_up.reason
    state = senses.tracker.update(senses.tracker.read(history, profile), message, follow_up, intent, profile)
    return Understanding(intent, operation, follow_up, state, reason, language, prediction, tuple(seen))


def _only_wishes(message: str, profile: Profile) -> IntentReading | None:
    """The reading of a message that only says what to remember or forget, if anything is remembered at all."""
    wishes = read_wishes(message)
    if not (profile.enabled and wishes.only):
        return None
    operation = "forgotten" if wishes.any_forgetting else "remembered"
    return IntentReading("social", operation, "only says what to remember or forget")


def _in_context(message: str, language: str, history: Sequence[Message], settings: Settings) -> IntentReading:
    """The reading of a message, or that of a plain question if there is nothing to correct, to return to or to
    calculate with."""
    reading = read_intent(message, language)
    bare = reading.intent == "arithmetic" and not is_sum(reading) and not reading.about  # "in miles?"
    if bare and not _answers_with_number(history):
        return IntentReading()
    if reading.operation == "of an amount" and not any(map(states_amount, _last_answers(history))):
        return IntentReading()  # "how much is that for 4 hours?" after "80 spaces"
    if reading.intent == "clarify" and not (settings.follow_up and history):
        return IntentReading()
    was_said = settings.follow_up and history and (reading.claimed or mentions(reading.about, history))
    if reading.intent == "refer_back" and not was_said:
        return IntentReading()
    remedies = any(_REMEDIES.search(each.content) for each in history[-1:])
    if reading.intent == "social" and going_on(message) and remedies:
        return IntentReading()  # "that didn't help" is no outburst where remedies were just told
    return reading


def _answers_with_number(history: Sequence[Message]) -> bool:
    """Whether one of the last answers contains a number other than a citation."""
    return any(character.isdigit() for answer in _last_answers(history) for character in answer)


def _last_answers(history: Sequence[Message]) -> list[str]:
    """The last three answers, without citations."""
    answers = [each.content for each in history[-RECENT_MESSAGES:] if each.role == "assistant"]
    return [without_citations(each) for each in answers[-3:]]


def _settled_by_message(
    message: str, reading: IntentReading, recent: Sequence[Message], settings: Settings
) -> FollowUp | None:
    """Whether it is a follow-up, if the message alone settles that; None if the conversation has to be read."""
    if reading.intent in ("social", "recall"):
        return _settled(recent, 0.0, "it asks nothing of the documents")
    if is_sum(reading):
        return _settled(recent, 0.0, "a sum does not refer to anything that was said")
    if reading.intent == "reform":
        return _settled(recent, 0.95, "it asks for the last answer in another form")
    if begins_anew(message) and not points_back(without_courtesy(message)):
        return _settled(recent, 0.0, "it says that it changes the subject")
    if not settings.follow_up:
        return _settled(recent, 0.0, "follow-ups are switched off in the settings")
    return None


def _settled(recent: Sequence[Message], confidence: float, reason: str) -> FollowUp:
    """A follow-up, or none, for this reason. The previous topic is read in either case."""
    is_follow_up = confidence > 0 and bool(recent)
    return FollowUp(is_follow_up, "pattern" if is_follow_up else "none", confidence, *previous_topic(recent), reason)


def read_ahead(history: Sequence[Message], senses: Senses, profile: Profile) -> None:
    """Read the last turn of a history as the next one will, while nobody is waiting: all that is read is cached."""
    try:
        message, said = history[-2].content, window("", history[-2:])
        senses.tracker.read(history, profile)
        predicted.read_ahead(said)
        rules.read_ahead(said)
        if senses.condenser:
            senses.condenser.predict("", said)  # without a message, it only reads the history
        if senses.embedder and asks_documents(message, conversation_language(history)):
            senses.embedder.embed_query(without_courtesy(message[:MAX_MESSAGE_CHARS]))
    except Exception:  # the next turn reads it again, and reports what is wrong
        log.warning("a turn could not be read ahead", exc_info=True)


def idle_seconds(history: Sequence[Message], now: float | None) -> float | None:
    """How long ago the last message was sent, never negative; None if unknown."""
    at = history[-1].at if history else None
    return None if at is None or now is None else max(0.0, now - at)


def details(understood: Understanding, settings: Settings, profile: Profile = OFF) -> dict[str, Any]:
    """The values behind the decision, for the trace, including what was remembered about the user."""
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
