"""Corrections of the last question, and messages that go back to something said earlier."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from turnwise.dialogue.adverbials import adverbial
from turnwise.dialogue.asked_again import question_so_far
from turnwise.dialogue.corrections import (
    MAX_MEANT_WORDS,
    MAX_QUESTION_CHARS,
    Correction,
    as_corrected,
    can_rewrite,
    of_another_kind,
    terms_of,
    with_aside,
    with_phrase,
    with_words_replaced,
)
from turnwise.dialogue.intent import IntentReading, asks_documents, is_question, read_intent
from turnwise.dialogue.language import conversation_language, read_language
from turnwise.dialogue.pronouns import points_back
from turnwise.dialogue.rules import by_rules
from turnwise.dialogue.writing import last_question, with_phrases
from turnwise.text import (
    content_stems,
    is_content,
    is_specific,
    sentences,
    stem,
    subject,
    words,
    words_like,
)
from turnwise.types import Condensed, FollowUp, Message

MAX_SEARCHED_MESSAGES = 1000  # the newest ones
MAX_MESSAGE_CHARS = 4000
MAX_SENTENCES = 4  # of earlier answers, that are told again
_PRONOUN = re.compile(r"\b(?:it|they|them|this|these|those|he|she|him)\b|\bthat(?=\s*(?:[?.!,]|$))", re.I)
_DOING = re.compile(r"\b(?:do|does|did|can|could|will|would|should|must|may) (?:i|we|you|they|he|she|it|one) $", re.I)
_MOTION = re.compile(r"\b(?:come|go|get|travel)$", re.I)


def mentions(about: str, history: Sequence[Message], role: str | None = None) -> list[int]:
    """Returns the indices of the messages that have all content words of `about`, oldest first."""
    wanted = sorted(content_stems(about))
    whole = about.lower()
    found: list[int] = []
    if not wanted:
        return found
    for index in range(max(0, len(history) - MAX_SEARCHED_MESSAGES), len(history)):
        message = history[index]
        if role not in (None, message.role):
            continue
        text = message.content[:MAX_MESSAGE_CHARS].lower()
        if whole in text or all(_has_stem(text, key) for key in wanted):
            found.append(index)
    return found


def _has_stem(text: str, key: str) -> bool:
    """Whether a lower-case text has a content word with this stem. The substring test spares most texts from
    tokenizing."""
    candidates = (re.split("['’]", word)[0] for word in words_like(key, text)) if key[:4] in text else ()
    return any(stem(word) == key and is_content(word) for word in candidates)


def sentences_about(about: str, history: Sequence[Message]) -> list[str]:
    """Returns what the assistant said about something as sentences with their citations, oldest first."""
    wanted = content_stems(about)
    found: dict[str, None] = {}
    for index in mentions(about, history, "assistant"):
        for sentence in sentences(history[index].content[:MAX_MESSAGE_CHARS]):
            if about.lower() in sentence.lower() or (wanted and wanted <= content_stems(sentence)):
                found.setdefault(sentence.removeprefix("- "))
        if len(found) >= MAX_SENTENCES:
            break
    return list(found)[:MAX_SENTENCES]


# --- a correction -------------------------------------------------------------------------------------------------


def corrected_question(
    message: str, reading: IntentReading, history: Sequence[Message], follow_up: FollowUp
) -> Condensed | None:
    """Returns the question that a correction means: the last one with the right words in it, the last one again, or
    what else there is to say about it ("you already said that").

    If it is not clear which words to replace, the message stays as it is and the last question's words are added to
    the search. Returns None if there is no earlier question.
    """
    if is_question(reading.about):
        return _own_question(reading.about, history, follow_up)
    index = next(_questions(history), None)
    if index is None:
        return None
    last, before = history[index].content.strip(), history[:index]
    if (phrase := adverbial(last)) and before:
        last = question_so_far(_without_courtesies(history[: index + 1]))
    for each in history[index + 1 :]:  # what was corrected already
        last = (as_corrected(last, each.content) if each.role == "user" else "") or last
    if reading.operation == "repeated":
        about = _without_courtesies(history)
        return by_rules("tell me more", about, follow_up)
    if not reading.about:
        return _last_question_again(last, before, follow_up)
    correction = Correction(message, reading.about, reading.wrong, last, phrase, before, follow_up)
    return next(found for rule in _CORRECTION_RULES if (found := rule(correction)))


def _last_question_again(last: str, before: Sequence[Message], follow_up: FollowUp) -> Condensed:
    """ "That's wrong" asks for another answer to the last question."""
    if subject(last) or not before:
        return Condensed(last, terms_of(last, 0.9), "rules", "it asks the last question once more")
    again = by_rules(last, before, follow_up)
    return Condensed(again.query, (*terms_of(last, 0.9), *again.added), "rules", "it asks the last question once more")


def _with_phrase(correction: Correction) -> Condensed | None:
    """ "No, in winter" after "When is it open in summer?"."""
    last, before, follow_up = correction.last, correction.before, correction.follow_up
    if before and follow_up and points_back(last) and with_phrase(correction):
        correction = correction._replace(last=by_rules(last, before, follow_up).query)
    return with_phrase(correction)


def _with_its_subject(correction: Correction) -> Condensed | None:
    """ "No, I meant Rome" after "How do I go?", which named no subject but followed a question that did."""
    last, about, before = correction.last, correction.about, correction.before
    dependent = not subject(last) and any(subject(before[index].content) for index in _questions(before))
    if not dependent or len(about.split()) > MAX_MEANT_WORDS:
        return None
    if len(last) > MAX_QUESTION_CHARS or read_language(last) != "en":
        return None
    body = last.rstrip(" ?.!")
    query = f"{body} to {about}{last[len(body) :].strip()}" if _MOTION.search(body) else with_aside(last, about)
    reason = f"it asks the last question again, about “{about}” instead of what it referred to"
    return Condensed(query, correction.terms(last), "rules", reason)


def _with_an_object(correction: Correction) -> Condensed | None:
    """ "No, I mean a private tour" after "How do we book?"."""
    last, about = correction.last, correction.about
    body = last.rstrip(" ?.!")
    ends_with_verb = _DOING.search(body.rpartition(" ")[0] + " ")
    if not can_rewrite(last) or not ends_with_verb or len(about.split()) > MAX_MEANT_WORDS:
        return None
    query = f"{body} {about}{last[len(body) :].strip()}"
    return Condensed(query, correction.terms(last), "rules", f"it asks the last question again, about “{about}”")


def _with_words_aside(correction: Correction) -> Condensed | None:
    """ "No, I meant children" after "How much is a pass for the zoo?", which has two phrases to replace."""
    last, about = correction.last, correction.about
    if len(about.split()) > MAX_MEANT_WORDS or not can_rewrite(last) or re.search(r"\b(?:and|or)\b", last):
        return None
    reason = f"it asks the last question again, with “{about}” in mind"
    return Condensed(with_aside(last, about), correction.terms(last), "rules", reason)


def _as_typed(correction: Correction) -> Condensed:
    """Any other correction stays as it is."""
    reason = f"means “{correction.about}”: searched with the words of the last question"
    return Condensed(correction.message, correction.terms(correction.last[:MAX_QUESTION_CHARS]), "literal", reason)


# The first rule that applies is used; the last one always does.
_CORRECTION_RULES: tuple[Callable[[Correction], Condensed | None], ...] = (
    _with_phrase,
    of_another_kind,
    with_words_replaced,
    _with_its_subject,
    _with_an_object,
    _with_words_aside,
    _as_typed,
)


def _own_question(question: str, history: Sequence[Message], follow_up: FollowUp) -> Condensed:
    """Returns the question inside a correction: "no, I meant how do I delete it?"."""
    if not _PRONOUN.search(question) and subject(question):
        return Condensed(question, (), "rules", "the question that was meant")
    return by_rules(question, history, follow_up)


def _questions(history: Sequence[Message]) -> Iterator[int]:
    """Yields the indices of the user's questions to the documents, newest first; corrections do not count."""
    language = conversation_language(history)
    for index in range(len(history) - 1, -1, -1):
        each = history[index]
        asks = each.role == "user" and asks_documents(each.content, language)
        if asks and read_intent(each.content).intent != "clarify":
            yield index


def _without_courtesies(history: Sequence[Message]) -> list[Message]:
    """Returns the history without the user's messages that ask the documents nothing."""
    language = conversation_language(history)
    return [each for each in history if each.role != "user" or asks_documents(each.content, language)]


# --- going back ---------------------------------------------------------------------------------------------------


def returning_question(reading: IntentReading, history: Sequence[Message]) -> Condensed:
    """Returns the question of a message that goes back to something, with the words of the turn it goes back to."""
    about = reading.about
    indices = mentions(about, history)  # empty if it was said too long ago
    asked = last_question(history[: indices[-1] + 1]) if indices else ""
    topic = subject(asked)
    why = f"returns to “{about}”, said when you asked “{asked[:80]}”" if asked else f"returns to “{about}”"
    own = content_stems(about)
    terms = (*terms_of(about, 0.9), *terms_of(topic, 0.5, own))
    if points_back(reading.rest):
        return Condensed(with_phrases(reading.rest, (about,)), terms, "rules", why)
    if any(map(is_specific, words(reading.rest))):
        return Condensed(f"{reading.rest.rstrip('?')} ({about})?", terms, "rules", why)
    new = topic and not content_stems(topic) <= own
    return Condensed(f"{about} ({topic})" if new else about, terms, "rules", why)
