"""Condenses a message by rules: finds the words of the conversation that it leaves out."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from turnwise.dialogue.asked_again import compared, parallel
from turnwise.dialogue.language import tidy, wants_more, word_list
from turnwise.dialogue.pronouns import can_be_meant, points_back
from turnwise.dialogue.window import MAX_MESSAGE_CHARS
from turnwise.dialogue.writing import (
    Phrase,
    coordinated_subjects,
    last_question,
    questions_newest_first,
    standalone,
    terms,
)
from turnwise.text import WORD_PART, content_words, is_content, is_specific, phrases, sentences, stem, word_stems, words
from turnwise.types import Condensed, FollowUp, Message, Term

MAX_PHRASES = 3
MIN_PHRASE_PROBABILITY = 0.25  # for phrases besides the likeliest one
ANTECEDENT_BONUS = 0.3  # added for the subject of the last question if the message has a pronoun
OTHER_LANGUAGE_WEIGHT = 0.3  # search weight of the last question's words in a language the rules cannot read
MAX_OTHER_LANGUAGE_WORDS = 12
MIN_FOLLOW_UP_CONFIDENCE = 0.85  # below it the message is not changed, because a wrong word spoils a new topic


# The log-odds that each fact about a word of the history adds to its being missing from the question; fitted by
# training/fit_rules.py on public conversations with human rewrites.
BIAS = -5.74
WEIGHTS = {
    "asked": 1.61,
    "first_question": 0.85,
    "first_question_specific": 1.08,
    "last_question": 0.78,
    "last_question_specific": 0.19,
    "question_before": 0.34,
    "share_of_questions": 1.22,
    "last_answer": 0.98,
    "last_answer_opens": 0.84,
    "answers": 1.07,
    "asked_and_answered": -1.42,
    "first_is_last": -1.17,
    "name": 1.46,
    "general": -0.49,
    "in_phrase": 0.40,
    "number": 0.40,
}


def by_rules(message: str, seen: Sequence[Message], follow_up: FollowUp) -> Condensed:
    """Returns the standalone question of a follow-up."""
    confidence, why = follow_up.confidence, follow_up.reason
    if instead := parallel(message, seen):
        return instead
    chosen = compared(message, seen) or _missing_phrases(message, seen, confidence)
    if not chosen:
        return Condensed(message, (), "literal", f"{why}, but nothing said before is clearly meant")
    if confidence < MIN_FOLLOW_UP_CONFIDENCE:
        quoted = ", ".join(f"“{phrase}”" for phrase, _ in chosen)
        reason = f"{why}, but not certain: it is searched as it is, with a light weight on {quoted}"
        return Condensed(message, terms(chosen), "literal", reason)
    return standalone(message, seen, chosen, "rules", why)


def by_last_question(message: str, seen: Sequence[Message], language: str) -> Condensed:
    """Returns a follow-up in a language the rules cannot read as it is, with the last question's words as terms."""
    ignored = word_list(language, "function") | {word.lower() for word in words(message)}
    questions = (each for each in questions_newest_first(seen) if not wants_more(each, language))
    named = ([word for word in content_words(each) if word.lower() not in ignored] for each in questions)
    prices = word_list(language, "price")  # "what does it cost?" does not say of what
    told = (each for each in named if not prices.issuperset(map(str.lower, each)))
    added = list(dict.fromkeys(next(told, ())))[:MAX_OTHER_LANGUAGE_WORDS]
    terms = tuple(Term(word, OTHER_LANGUAGE_WEIGHT) for word in added)
    if added and wants_more(message, language):  # it has no words to search for
        query = f"{tidy(message)}: {' '.join(added)}"
        return Condensed(query, terms, "rules", "it only asks for more about the last question")
    reason = "it is not in English: searched as it is, with a light weight on the words of the last question"
    return Condensed(message, terms, "literal", reason)


# --- which words are missing --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Mentions:
    """The indices of the messages that have a word, and how they use it."""

    word: str
    questions: set[int]
    answers: set[int]
    opens_last_answer: bool = False
    name: bool = False
    in_phrase: bool = False


def _missing_phrases(message: str, seen: Sequence[Message], confidence: float) -> list[Phrase]:
    """Returns the phrases that the message most likely leaves out, with their probabilities, likeliest first."""
    own = word_stems(message)
    antecedents = [_stems(each) for each in coordinated_subjects(last_question(seen))] if points_back(message) else []
    spoken = [each for place, each in enumerate(seen) if each.role == "user" or place == len(seen) - 1]
    named = [found for each in spoken for found in _phrases(each.content[:MAX_MESSAGE_CHARS])]
    wanted = frozenset[str]().union(*(stems for _, stems in named)) - own
    likely = {key: _probability(facts) for key, _, facts in describe(seen, wanted)}
    scored: dict[frozenset[str], tuple[float, str]] = {}
    for phrase, stems in named:
        new = stems - own
        if new and new <= likely.keys() and can_be_meant(message, phrase):
            bonus = ANTECEDENT_BONUS if stems in antecedents else 0.0
            average = sum(likely[key] for key in new) / len(new)
            spelling = scored[new][1] if new in scored else phrase  # as it was first written, by the user
            scored[new] = (min(0.95, average + bonus) * confidence, spelling)
    chosen: list[Phrase] = []
    covered: set[str] = set()
    for new, (probability, phrase) in sorted(scored.items(), key=lambda item: -item[1][0]):
        enough = probability >= MIN_PHRASE_PROBABILITY or not chosen
        if enough and new.isdisjoint(covered) and len(chosen) < MAX_PHRASES:
            chosen.append((phrase, probability))
            covered |= new
    return sorted(chosen, key=lambda item: _stems(item[0]) not in antecedents)


@lru_cache(maxsize=1024)
def _phrases(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((phrase, _stems(phrase)) for phrase in phrases(text))


def _stems(phrase: str) -> frozenset[str]:
    return frozenset(stem(word) for word in WORD_PART.findall(phrase) if is_content(word))


def _mentions(seen: Sequence[Message]) -> dict[str, Mentions]:
    found: dict[str, Mentions] = {}
    for index, each in enumerate(seen):
        last_answer = index == len(seen) - 1 and each.role == "assistant"
        for key, use in _word_uses(each.content[:MAX_MESSAGE_CHARS]).items():
            mentions = found.setdefault(key, Mentions(use.word, set(), set()))
            (mentions.questions if each.role == "user" else mentions.answers).add(index)
            mentions.name |= use.name
            mentions.in_phrase |= use.in_phrase
            mentions.opens_last_answer |= last_answer and use.opens
    return found


@dataclass(slots=True)
class _WordUse:
    """How one message uses a word."""

    word: str
    opens: bool  # in the first sentence
    name: bool = False
    in_phrase: bool = False


@lru_cache(maxsize=1024)  # the next turn reads all but the last of these messages again
def _word_uses(text: str) -> dict[str, _WordUse]:
    """Returns the content words of a message's first sentences, by stem."""
    found: dict[str, _WordUse] = {}
    for number, sentence in enumerate(sentences(text)[:6]):
        in_phrases = {stem(word) for phrase in phrases(sentence) if " " in phrase for word in words(phrase)}
        for index, word in enumerate(WORD_PART.findall(sentence)):
            if is_content(word):
                key = stem(word)
                use = found.get(key) or found.setdefault(key, _WordUse(word, number == 0))
                use.name |= word[0].isupper() and index > 0
                use.in_phrase |= key in in_phrases and is_specific(word)
    return found


def read_ahead(messages: Sequence[Message]) -> None:
    """Fills the caches with messages that the next turn will read."""
    for each in messages:
        _word_uses(each.content[:MAX_MESSAGE_CHARS])
        _phrases(each.content[:MAX_MESSAGE_CHARS])


def describe(
    seen: Sequence[Message], wanted: Container[str] | None = None
) -> Iterator[tuple[str, Mentions, dict[str, float]]]:
    """Yields the stem of every content word in the history (or of those `wanted`), with the facts for `WEIGHTS`."""
    asked = [index for index, each in enumerate(seen) if each.role == "user"]
    for key, mentions in _mentions(seen).items():
        if wanted is not None and key not in wanted:
            continue
        specific = is_specific(mentions.word)
        in_first = bool(asked) and asked[0] in mentions.questions
        in_last = bool(asked) and asked[-1] in mentions.questions
        yield (
            key,
            mentions,
            {
                "asked": bool(mentions.questions),
                "first_question": in_first,
                "first_question_specific": in_first and specific,
                "last_question": in_last,
                "last_question_specific": in_last and specific,
                "question_before": len(asked) > 1 and asked[-2] in mentions.questions,
                "share_of_questions": len(mentions.questions) / max(1, len(asked)),
                "last_answer": len(seen) - 1 in mentions.answers,
                "last_answer_opens": mentions.opens_last_answer,
                "answers": math.log1p(len(mentions.answers)),
                "asked_and_answered": bool(mentions.questions and mentions.answers),
                "first_is_last": in_first and in_last,
                "name": mentions.name,
                "general": not specific,
                "in_phrase": mentions.in_phrase,
                "number": mentions.word.isdigit(),
            },
        )


def _probability(facts: dict[str, float]) -> float:
    return 1 / (1 + math.exp(-BIAS - sum(WEIGHTS[name] * value for name, value in facts.items())))
