"""Earlier: the turn that a message goes back to, and the question it makes with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from turnwise.dialogue.apart import ONE_OF, rivals
from turnwise.dialogue.intent import Reading, asks_documents, is_question, read_intent
from turnwise.dialogue.language import read_language
from turnwise.dialogue.rules import by_rules
from turnwise.dialogue.writing import adverbial, points_back, said_so, so_far, written
from turnwise.text import (
    content_stems,
    content_words,
    is_content,
    is_specific,
    phrases,
    sentences,
    stem,
    subject,
    words,
    words_like,
)
from turnwise.types import Condensed, FollowUp, Message, Term

LOOKED_AT = 1000  # messages that are searched, the latest
LONGEST = 4000  # characters of each
LONGEST_QUESTION = 160  # characters of a question that is written anew
MOST_MEANT = 6  # words that can take the place of others
_PRONOUN = re.compile(r"\b(?:it|they|them|this|these|those|he|she|him)\b|\bthat(?=\s*(?:[?.!,]|$))", re.I)
_ARTICLE = re.compile(r"\b(?:the|an?|my|our|your|this|that)\s+$", re.I)
_DOING = re.compile(r"\b(?:do|does|did|can|could|will|would|should|must|may) (?:i|we|you|they|he|she|it|one) $", re.I)
_MOTION = re.compile(r"\b(?:come|go|get|travel)$", re.I)
_OF_THAT_KIND = re.compile(r"(?:the|an?) ([^\W_]+(?: [^\W_]+)?) ones?", re.I)
_PHRASE = re.compile(r"(?:for|in|on|at|with|without) (?:the|an?|my|our) \w+$", re.I)
_STARTS_WITH_ARTICLE = re.compile(r"(?:the|an?|my|our|your|this|that)\s", re.I)


def mentions(about: str, history: Sequence[Message], role: str | None = None) -> list[int]:
    """Where in a history something was mentioned, oldest first: the messages that hold all the words which say it."""
    wanted = sorted(content_stems(about))
    whole = about.lower()
    found: list[int] = []
    if not wanted:
        return found
    for place in range(max(0, len(history) - LOOKED_AT), len(history)):
        each = history[place]
        if role not in (None, each.role):
            continue
        text = each.content[:LONGEST].lower()
        if whole in text or all(_says(text, key) for key in wanted):
            found.append(place)
    return found


def _says(text: str, key: str) -> bool:
    """Whether a lower-case text has a content word of this stem. Few texts hold its letters, so few are taken apart."""
    said = (re.split("['’]", word)[0] for word in words_like(key, text)) if key[:4] in text else ()
    return any(stem(word) == key and is_content(word) for word in said)


def sentences_about(about: str, history: Sequence[Message], most: int = 4) -> list[str]:
    """What the assistant said about something, sentence by sentence, with their citations: the first of it first."""
    wanted = content_stems(about)
    said: dict[str, None] = {}
    for place in mentions(about, history, "assistant"):
        for sentence in sentences(history[place].content[:LONGEST]):
            if about.lower() in sentence.lower() or (wanted and wanted <= content_stems(sentence)):
                said.setdefault(sentence.removeprefix("- "))
        if len(said) >= most:
            break
    return list(said)[:most]


# --- a correction -------------------------------------------------------------------------------------------------


def asked_again(message: str, reading: Reading, history: Sequence[Message], follow_up: FollowUp) -> Condensed | None:
    """The question that a correction means: the last one with the right words in it, or the last one once more.

    Where it is not clear which words are to be replaced, the message stays as it is and the last question's words are
    added to the search.
    """
    if is_question(reading.about):
        return _own_question(reading.about, history, follow_up)
    place = next(_questions(history), None)
    if place is None:
        return None
    last, before = history[place].content.strip(), history[:place]
    if (only := adverbial(last)) and before:
        last = so_far([each for each in history[: place + 1] if each.role != "user" or asks_documents(each.content)])
    if reading.about:
        own = {stem(word) for word in words(reading.about)}
        so = adverbial(reading.about) or (reading.about if _PHRASE.match(reading.about) else "")
        if so and not reading.wrong and _plain(last):
            if before and points_back(last):
                last = by_rules(last, before, follow_up).query
            return Condensed(
                said_so(last, so), _terms(last, 0.6, own), "rules", f"asks the last question again, “{so}”"
            )
        if _plain(last) and (kind := _OF_THAT_KIND.fullmatch(reading.about)):
            return _of_kind(last, kind[1])
        if only and only not in last:
            only = ""
        named = _STARTS_WITH_ARTICLE.match(reading.about) or reading.wrong
        start, end = _of_phrase(last, only) if only and not named else _replaced(last, reading)
        if start == end and (whole := _completed(last, reading.about, before)):
            why = f"asks the last question again, of “{reading.about}” instead of what it leant on"
            return Condensed(whole, _terms(last, 0.6, own), "rules", why)
        if start == end and _plain(last) and (whole := _asked_of(last, reading.about)):
            return Condensed(
                whole, _terms(last, 0.6, own), "rules", f"asks the last question again, of “{reading.about}”"
            )
        few = len(reading.about.split()) <= MOST_MEANT
        if start == end and few and _plain(last) and not re.search(r"\b(?:and|or)\b", last):
            why = f"asks the last question again, with “{reading.about}” in mind"
            return Condensed(_beside(last, reading.about), _terms(last, 0.6, own), "rules", why)
        if start == end:
            why = f"means “{reading.about}”: searched with the words of the last question"
            return Condensed(message, _terms(last[:LONGEST_QUESTION], 0.6, own), "literal", why)
        why = f"asks the last question again, with “{reading.about}” in place of “{last[start:end]}”"
        query = last[:start] + reading.about + last[end:]
        return Condensed(query, _terms(f"{last[:start]} {last[end:]}", 0.6, own), "rules", why)
    if subject(last) or not before:
        return Condensed(last, _terms(last, 0.9), "rules", "asks the last question once more")
    again = by_rules(last, before, follow_up)
    return Condensed(again.query, (*_terms(last, 0.9), *again.added), "rules", "asks the last question once more")


def _of_kind(last: str, kind: str) -> Condensed:
    """The last question of things of a kind: in place of the kind that it named, which that rules out, else beside."""
    other = next((each for each in ONE_OF.finditer(last) if each[0].lower() in rivals(kind)), None)
    query = last[: other.start()] + kind + last[other.end() :] if other else _beside(last, kind)
    left_out = {stem(word) for word in (kind, *((other[0],) if other else ()))}
    terms = (*_terms(kind, 0.9), *_terms(last, 0.6, left_out))
    return Condensed(query, terms, "rules", f"asks the last question again, of what is “{kind}”")


def _of_phrase(last: str, phrase: str) -> tuple[int, int]:
    """Where in a question stands what its last phrase names: "seniors" in "How much is a ticket for seniors?"."""
    start = last.rindex(phrase)
    return start + len(phrase.split()[0]) + 1, start + len(phrase)


def _beside(last: str, word: str) -> str:
    """A question with a word in brackets behind it."""
    body = last.rstrip(" ?.!")
    return f"{body} ({word}){last[len(body) :].strip()}"


def _own_question(question: str, history: Sequence[Message], follow_up: FollowUp) -> Condensed:
    """The question that stands inside a correction: "no, I meant how do I delete it?"."""
    if not _PRONOUN.search(question) and subject(question):
        return Condensed(question, (), "rules", "the question that was meant")
    return by_rules(question, history, follow_up)


def _questions(history: Sequence[Message]) -> Iterator[int]:
    """Where the user asked something of the documents, the latest first; a correction is no question of its own."""
    for place in range(len(history) - 1, -1, -1):
        each = history[place]
        if each.role == "user" and asks_documents(each.content) and read_intent(each.content).intent != "clarify":
            yield place


def _replaced(last: str, reading: Reading) -> tuple[int, int]:
    """Which part of the last question the right words take the place of; an empty one where none is clearly meant."""
    meant = [word for word in words(reading.about) if is_content(word)]
    if not _plain(last) or not meant or len(reading.about.split()) > MOST_MEANT:
        return 0, 0
    wrong = re.search(re.escape(reading.wrong), last, re.I) if reading.wrong else None
    if wrong:
        return _with_article(last, wrong.start(), wrong.end(), reading.about)
    spans: list[tuple[int, int]] = []
    for phrase in phrases(last):
        start = last.index(phrase, spans[-1][1] if spans else 0)
        if not _DOING.search(last, 0, start):
            spans.append((start, start + len(phrase)))
    if not spans:
        pronoun = _PRONOUN.search(last)
        return pronoun.span() if pronoun else (0, 0)
    alike = [_likeness(last[start:end], meant) for start, end in spans]
    best = max(alike)
    if len(spans) > 1 and alike.count(best) > 1:
        return 0, 0
    return _with_article(last, *spans[alike.index(best)], reading.about)


def _plain(last: str) -> bool:
    """Whether a question can be written anew: one sentence, in English."""
    return len(last) <= LONGEST_QUESTION and len(sentences(last)) == 1 and read_language(last) == "en"


def _asked_of(last: str, about: str) -> str:
    """A question that ends with a verb, with what is meant as its object: "How do we book a private tour?"."""
    body = last.rstrip(" ?.!")
    ends_so = len(about.split()) <= MOST_MEANT and _DOING.search(body.rpartition(" ")[0] + " ")
    return f"{body} {about}{last[len(body) :].strip()}" if ends_so else ""


def _completed(last: str, about: str, before: Sequence[Message]) -> str:
    """The last question of another subject, where it names none and leant on one that was asked about before it."""
    leant = not subject(last) and any(subject(before[place].content) for place in _questions(before))
    if not leant or len(about.split()) > MOST_MEANT or len(last) > LONGEST_QUESTION or read_language(last) != "en":
        return ""
    body = last.rstrip(" ?.!")
    return f"{body} to {about}{last[len(body) :].strip()}" if _MOTION.search(body) else _beside(last, about)


def _likeness(phrase: str, meant: list[str]) -> int:
    """How much a phrase is of the kind that is meant: of the same head, both numbers, both names."""
    parts = words(phrase)
    same_head = stem(parts[-1]) == stem(meant[-1])
    numbers = any(map(str.isdigit, parts)) and any(map(str.isdigit, meant))
    names = parts[-1][:1].isupper() == meant[-1][:1].isupper()
    return 4 * same_head + 2 * numbers + names


def _with_article(last: str, start: int, end: int, about: str) -> tuple[int, int]:
    article = _ARTICLE.search(last[:start]) if _STARTS_WITH_ARTICLE.match(about) else None
    return (article.start() if article else start), end


# --- going back ---------------------------------------------------------------------------------------------------


def returned_to(reading: Reading, history: Sequence[Message]) -> Condensed:
    """The question of a message that goes back to something: its own words, with those of the turn it goes back to."""
    about = reading.about
    places = mentions(about, history)  # none where it was said before all that is looked at
    back = range(places[-1], -1, -1) if places else ()
    asked = next((history[i].content for i in back if history[i].role == "user"), "")
    topic = subject(asked)
    why = f"returns to “{about}”, said when you asked “{asked[:80]}”" if asked else f"returns to “{about}”"
    own = content_stems(about)
    terms = (*_terms(about, 0.9), *_terms(topic, 0.5, own))
    if points_back(reading.rest):
        return Condensed(written(reading.rest, (about,)), terms, "rules", why)
    if any(map(is_specific, words(reading.rest))):
        return Condensed(f"{reading.rest.rstrip('?')} ({about})?", terms, "rules", why)
    new = topic and not content_stems(topic) <= own
    return Condensed(f"{about} ({topic})" if new else about, terms, "rules", why)


def _terms(text: str, weight: float, without: set[str] | None = None) -> tuple[Term, ...]:
    return tuple(Term(word, weight) for word in dict.fromkeys(content_words(text)) if stem(word) not in (without or ()))
