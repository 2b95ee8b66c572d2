"""Corrections of the last question, and messages that go back to something said earlier."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from turnwise.dialogue.adverbials import adverbial, with_adverbial
from turnwise.dialogue.apart import RIVAL_WORD, rivals
from turnwise.dialogue.asked_again import question_so_far
from turnwise.dialogue.intent import IntentReading, asks_documents, is_question, read_intent
from turnwise.dialogue.language import conversation_language, read_language
from turnwise.dialogue.pronouns import points_back
from turnwise.dialogue.rules import by_rules
from turnwise.dialogue.writing import last_question, with_phrases
from turnwise.text import (
    content_stems,
    content_words,
    is_content,
    is_specific,
    phrases,
    sentences,
    stem,
    subject,
    word_stems,
    words,
    words_like,
)
from turnwise.types import Condensed, FollowUp, Message, Term

MAX_SEARCHED_MESSAGES = 1000  # the newest ones
MAX_MESSAGE_CHARS = 4000
MAX_SENTENCES = 4  # of earlier answers, that are told again
MAX_QUESTION_CHARS = 160  # longer questions are not rewritten
MAX_MEANT_WORDS = 6  # longer corrections do not replace words of the question
_PRONOUN = re.compile(r"\b(?:it|they|them|this|these|those|he|she|him)\b|\bthat(?=\s*(?:[?.!,]|$))", re.I)
_ARTICLE = re.compile(r"\b(?:the|an?|my|our|your|this|that)\s+$", re.I)
_DOING = re.compile(r"\b(?:do|does|did|can|could|will|would|should|must|may) (?:i|we|you|they|he|she|it|one) $", re.I)
_MOTION = re.compile(r"\b(?:come|go|get|travel)$", re.I)
_OF_THAT_KIND = re.compile(r"(?:the|an?) ([^\W_]+(?: [^\W_]+)?) ones?", re.I)
_PHRASE = re.compile(r"(?:for|in|on|at|with|without) (?:the|an?|my|our) \w+$", re.I)
_STARTS_WITH_ARTICLE = re.compile(r"(?:the|an?|my|our|your|this|that)\s", re.I)


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


class _Correction(NamedTuple):
    """A correction such as "no, I meant GPT", and the question that it corrects."""

    message: str
    about: str  # what is meant
    wrong: str  # what is rejected, or ""
    last: str  # the question, completed by the short ones after it
    phrase: str  # all that the last message itself says, if it is only a phrase ("and for seniors?"), or ""
    before: Sequence[Message]
    follow_up: FollowUp

    def terms(self, text: str) -> tuple[Term, ...]:
        """Returns the words of a text that are not among those meant, as search terms."""
        return _terms(text, 0.6, word_stems(self.about))


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
    if reading.operation == "repeated":
        about = _without_courtesies(history)
        return by_rules("tell me more", about, follow_up)
    if not reading.about:
        return _last_question_again(last, before, follow_up)
    correction = _Correction(message, reading.about, reading.wrong, last, phrase, before, follow_up)
    return next(found for rule in _CORRECTION_RULES if (found := rule(correction)))


def _last_question_again(last: str, before: Sequence[Message], follow_up: FollowUp) -> Condensed:
    """ "That's wrong" asks for another answer to the last question."""
    if subject(last) or not before:
        return Condensed(last, _terms(last, 0.9), "rules", "it asks the last question once more")
    again = by_rules(last, before, follow_up)
    return Condensed(again.query, (*_terms(last, 0.9), *again.added), "rules", "it asks the last question once more")


def _with_phrase(correction: _Correction) -> Condensed | None:
    """ "No, in winter" after "When is the mill open in summer?"."""
    about, last = correction.about, correction.last
    phrase = adverbial(about) or (about if _PHRASE.match(about) else "")
    if not phrase or correction.wrong or not _can_rewrite(last):
        return None
    if correction.before and points_back(last):
        last = by_rules(last, correction.before, correction.follow_up).query
    reason = f"it asks the last question again, “{phrase}”"
    return Condensed(with_adverbial(last, phrase), correction.terms(last), "rules", reason)


def _of_another_kind(correction: _Correction) -> Condensed | None:
    """ "No, the blue one" after "How much is the red ticket?". If the question named no rival kind, it goes aside."""
    last = correction.last
    found = _OF_THAT_KIND.fullmatch(correction.about) if _can_rewrite(last) else None
    if not found:
        return None
    kind = found[1]
    other = next((each for each in RIVAL_WORD.finditer(last) if each[0].lower() in rivals(kind)), None)
    query = last[: other.start()] + kind + last[other.end() :] if other else _with_aside(last, kind)
    left_out = {stem(word) for word in (kind, *((other[0],) if other else ()))}
    terms = (*_terms(kind, 0.9), *_terms(last, 0.6, left_out))
    return Condensed(query, terms, "rules", f"it asks the last question again, about what is “{kind}”")


def _with_words_replaced(correction: _Correction) -> Condensed | None:
    """ "No, I meant a wheat loaf" after "What is a rye loaf?"."""
    last = correction.last
    start, end = _replaced_span(correction)
    if start == end:
        return None
    reason = f"it asks the last question again, with “{correction.about}” in place of “{last[start:end]}”"
    query = last[:start] + correction.about + last[end:]
    return Condensed(query, correction.terms(f"{last[:start]} {last[end:]}"), "rules", reason)


def _with_its_subject(correction: _Correction) -> Condensed | None:
    """ "No, I meant Rome" after "How do I go?", which named no subject but followed a question that did."""
    last, about, before = correction.last, correction.about, correction.before
    dependent = not subject(last) and any(subject(before[index].content) for index in _questions(before))
    if not dependent or len(about.split()) > MAX_MEANT_WORDS:
        return None
    if len(last) > MAX_QUESTION_CHARS or read_language(last) != "en":
        return None
    body = last.rstrip(" ?.!")
    query = f"{body} to {about}{last[len(body) :].strip()}" if _MOTION.search(body) else _with_aside(last, about)
    reason = f"it asks the last question again, about “{about}” instead of what it referred to"
    return Condensed(query, correction.terms(last), "rules", reason)


def _with_an_object(correction: _Correction) -> Condensed | None:
    """ "No, I mean a private tour" after "How do we book?"."""
    last, about = correction.last, correction.about
    body = last.rstrip(" ?.!")
    ends_with_verb = _DOING.search(body.rpartition(" ")[0] + " ")
    if not _can_rewrite(last) or not ends_with_verb or len(about.split()) > MAX_MEANT_WORDS:
        return None
    query = f"{body} {about}{last[len(body) :].strip()}"
    return Condensed(query, correction.terms(last), "rules", f"it asks the last question again, about “{about}”")


def _with_words_aside(correction: _Correction) -> Condensed | None:
    """ "No, I meant children" after "How much is a pass for the zoo?", which has two phrases to replace."""
    last, about = correction.last, correction.about
    if len(about.split()) > MAX_MEANT_WORDS or not _can_rewrite(last) or re.search(r"\b(?:and|or)\b", last):
        return None
    reason = f"it asks the last question again, with “{about}” in mind"
    return Condensed(_with_aside(last, about), correction.terms(last), "rules", reason)


def _as_typed(correction: _Correction) -> Condensed:
    """Any other correction stays as it is."""
    reason = f"means “{correction.about}”: searched with the words of the last question"
    return Condensed(correction.message, correction.terms(correction.last[:MAX_QUESTION_CHARS]), "literal", reason)


# The first rule that applies is used; the last one always does.
_CORRECTION_RULES: tuple[Callable[[_Correction], Condensed | None], ...] = (
    _with_phrase,
    _of_another_kind,
    _with_words_replaced,
    _with_its_subject,
    _with_an_object,
    _with_words_aside,
    _as_typed,
)


def _with_aside(question: str, words_aside: str) -> str:
    """Returns a question with some words in parentheses at its end."""
    body = question.rstrip(" ?.!")
    return f"{body} ({words_aside}){question[len(body) :].strip()}"


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


def _replaced_span(correction: _Correction) -> tuple[int, int]:
    """Returns the span of the last question that the right words replace, empty if it is not clear."""
    last, about = correction.last, correction.about
    specified = correction.wrong or _STARTS_WITH_ARTICLE.match(about)
    if correction.phrase and correction.phrase in last and not specified:
        return _span_in_phrase(last, correction.phrase)
    meant = [word for word in words(about) if is_content(word)]
    if not _can_rewrite(last) or not meant or len(about.split()) > MAX_MEANT_WORDS:
        return 0, 0
    wrong = re.search(re.escape(correction.wrong), last, re.I) if correction.wrong else None
    if wrong:
        return _including_article(last, wrong.start(), wrong.end(), about)
    spans: list[tuple[int, int]] = []
    for phrase in phrases(last):
        start = last.index(phrase, spans[-1][1] if spans else 0)
        if not _DOING.search(last, 0, start):
            spans.append((start, start + len(phrase)))
    if not spans:
        pronoun = _PRONOUN.search(last)
        return pronoun.span() if pronoun else (0, 0)
    if about.lower().startswith("the "):  # "the final" takes the place of "the midterm"
        known = [each for each in spans if last[: each[0]].lower().endswith("the ")]
        spans = known if len(known) == 1 else spans
    scores = [_likeness(last[start:end], meant) for start, end in spans]
    best = max(scores)
    if len(spans) > 1 and scores.count(best) > 1:
        return 0, 0
    return _including_article(last, *spans[scores.index(best)], about)


def _span_in_phrase(question: str, phrase: str) -> tuple[int, int]:
    """Returns the span of a phrase without its preposition: "seniors" in "How much is a ticket for seniors?"."""
    start = question.rindex(phrase)
    return start + len(phrase.split()[0]) + 1, start + len(phrase)


def _can_rewrite(question: str) -> bool:
    """Whether a question is one short English sentence."""
    short = len(question) <= MAX_QUESTION_CHARS
    return short and len(sentences(question)) == 1 and read_language(question) == "en"


def _likeness(phrase: str, meant: list[str]) -> int:
    """Scores how alike a phrase is to what is meant: same head word, both numbers, both names."""
    parts = words(phrase)
    same_head = stem(parts[-1]) == stem(meant[-1])
    numbers = any(map(str.isdigit, parts)) and any(map(str.isdigit, meant))
    names = parts[-1][:1].isupper() == meant[-1][:1].isupper()
    return 4 * same_head + 2 * numbers + names


def _including_article(last: str, start: int, end: int, about: str) -> tuple[int, int]:
    article = _ARTICLE.search(last[:start]) if _STARTS_WITH_ARTICLE.match(about) else None
    return (article.start() if article else start), end


# --- going back ---------------------------------------------------------------------------------------------------


def returning_question(reading: IntentReading, history: Sequence[Message]) -> Condensed:
    """Returns the question of a message that goes back to something, with the words of the turn it goes back to."""
    about = reading.about
    indices = mentions(about, history)  # empty if it was said too long ago
    asked = last_question(history[: indices[-1] + 1]) if indices else ""
    topic = subject(asked)
    why = f"returns to “{about}”, said when you asked “{asked[:80]}”" if asked else f"returns to “{about}”"
    own = content_stems(about)
    terms = (*_terms(about, 0.9), *_terms(topic, 0.5, own))
    if points_back(reading.rest):
        return Condensed(with_phrases(reading.rest, (about,)), terms, "rules", why)
    if any(map(is_specific, words(reading.rest))):
        return Condensed(f"{reading.rest.rstrip('?')} ({about})?", terms, "rules", why)
    new = topic and not content_stems(topic) <= own
    return Condensed(f"{about} ({topic})" if new else about, terms, "rules", why)


def _terms(text: str, weight: float, without: set[str] | None = None) -> tuple[Term, ...]:
    return tuple(Term(word, weight) for word in dict.fromkeys(content_words(text)) if stem(word) not in (without or ()))
