"""A question with the right words in it, after a correction such as "no, I meant GPT"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from turnwise.dialogue.adverbials import adverbial, with_adverbial
from turnwise.dialogue.apart import RIVAL_WORD, rivals
from turnwise.dialogue.intent import is_question, read_intent
from turnwise.dialogue.language import read_language
from turnwise.dialogue.writing import PREDICATE
from turnwise.english import MEN, OTHERS, WOMEN
from turnwise.text import content_words, is_content, phrases, sentences, stem, word_stems, words
from turnwise.types import Condensed, FollowUp, Message, Term

MAX_QUESTION_CHARS = 160  # longer questions are not rewritten
MAX_MEANT_WORDS = 6  # longer corrections do not replace words of the question
_PRONOUN = re.compile(r"\b(?:it|they|them|this|these|those|he|she|him)\b|\bthat(?=\s*(?:[?.!,]|$))", re.I)
_ARTICLE = re.compile(r"\b(?:the|an?|my|our|your|this|that)\s+$", re.I)
_DOING = re.compile(r"\b(?:do|does|did|can|could|will|would|should|must|may) (?:i|we|you|they|he|she|it|one) $", re.I)
_OF_THAT_KIND = re.compile(r"(?:the|an?) ([^\W_]+(?: [^\W_]+)?) ones?", re.I)
_PHRASE = re.compile(r"(?:for|in|on|at|with|without) (?:the|an?|my|our) \w+$", re.I)
_STARTS_WITH_ARTICLE = re.compile(r"(?:the|an?|my|our|your|this|that)\s", re.I)
_WHOM = re.compile(  # what is for these may be for others
    r"(?:adults?|child(?:ren)?|kids|bab(?:y|ies)|toddlers?|infants?|teens?|teenagers?|youths?|juniors?|students|pupils|"
    r"seniors?|pensioners?|famil(?:y|ies)|groups?|members?|beginners?|women|men|girls|boys|parents?|couples?|"
    rf"(?:{MEN}|{WOMEN}|{OTHERS})s?)",
    re.I,
)


class Correction(NamedTuple):
    """A correction such as "no, I meant GPT", and the question that it corrects."""

    message: str
    about: str  # what is meant
    wrong: str  # what is rejected, or ""
    last: str  # the question, completed by the short ones after it
    phrase: str  # all that the last message itself says, if it is only a phrase ("and for seniors?"), or ""
    before: Sequence[Message] = ()
    follow_up: FollowUp | None = None

    def terms(self, text: str) -> tuple[Term, ...]:
        """Returns the words of a text that are not among those meant, as search terms."""
        return terms_of(text, 0.6, word_stems(self.about))


def with_phrase(correction: Correction) -> Condensed | None:
    """ "No, in winter" after "When is the mill open in summer?"."""
    about, last = correction.about, correction.last
    phrase = adverbial(about) or (about if _PHRASE.match(about) else "")
    if not phrase or correction.wrong or not can_rewrite(last):
        return None
    reason = f"it asks the last question again, “{phrase}”"
    return Condensed(with_adverbial(last, phrase), correction.terms(last), "rules", reason)


def of_another_kind(correction: Correction) -> Condensed | None:
    """ "No, the blue one" after "How much is the red ticket?". If the question named no rival kind, it goes aside."""
    last = correction.last
    found = _OF_THAT_KIND.fullmatch(correction.about) if can_rewrite(last) else None
    if not found:
        return None
    kind = found[1]
    other = next((each for each in RIVAL_WORD.finditer(last) if each[0].lower() in rivals(kind)), None)
    query = last[: other.start()] + kind + last[other.end() :] if other else with_aside(last, kind)
    left_out = {stem(word) for word in (kind, *((other[0],) if other else ()))}
    terms = (*terms_of(kind, 0.9), *terms_of(last, 0.6, left_out))
    return Condensed(query, terms, "rules", f"it asks the last question again, about what is “{kind}”")


def with_words_replaced(correction: Correction) -> Condensed | None:
    """ "No, I meant a wheat loaf" after "What is a rye loaf?"."""
    last = correction.last
    start, end = _replaced_span(correction)
    if start == end:
        return None
    reason = f"it asks the last question again, with “{correction.about}” in place of “{last[start:end]}”"
    query = last[:start] + correction.about + last[end:]
    return Condensed(query, correction.terms(f"{last[:start]} {last[end:]}"), "rules", reason)


# The forms that need no more of the conversation than the question. The first that applies is used.
_FORMS: tuple[Callable[[Correction], Condensed | None], ...] = (with_phrase, of_another_kind, with_words_replaced)


def as_corrected(question: str, message: str) -> str:
    """Returns the question as a message corrects it, or "" if the message corrects nothing. What only objects, or does
    not say which words to replace, leaves it as it is."""
    reading = read_intent(message)
    if reading.intent != "clarify":
        return ""
    if not reading.about or is_question(reading.about):
        return reading.about or question
    correction = Correction(message, reading.about, reading.wrong, question, "")
    found = next((found for form in _FORMS if (found := form(correction))), None)
    return found.query if found else question


def with_aside(question: str, words_aside: str) -> str:
    """Returns a question with some words in parentheses at its end."""
    body = question.rstrip(" ?.!")
    return f"{body} ({words_aside}){question[len(body) :].strip()}"


def _replaced_span(correction: Correction) -> tuple[int, int]:
    """Returns the span of the last question that the right words replace, empty if it is not clear."""
    last, about = correction.last, correction.about
    specified = correction.wrong or _STARTS_WITH_ARTICLE.match(about)
    if correction.phrase and correction.phrase in last and not specified:
        return _span_in_phrase(last, correction.phrase)
    meant = [word for word in words(about) if is_content(word)]
    if not can_rewrite(last) or not meant or len(about.split()) > MAX_MEANT_WORDS:
        return 0, 0
    wrong = re.search(re.escape(correction.wrong), last, re.I) if correction.wrong else None
    if wrong:
        return _including_article(last, wrong.start(), wrong.end(), about)
    spans: list[tuple[int, int]] = []
    for phrase in phrases(last):
        start = last.index(phrase, spans[-1][1] if spans else 0)
        if not _DOING.search(last, 0, start) and not PREDICATE.fullmatch(f" {phrase}"):
            spans.append((start, start + len(PREDICATE.sub("", phrase))))
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


def can_rewrite(question: str) -> bool:
    """Whether a question is one short English sentence."""
    short = len(question) <= MAX_QUESTION_CHARS
    return short and len(sentences(question)) == 1 and read_language(question) == "en"


def _likeness(phrase: str, meant: list[str]) -> int:
    """Scores how alike a phrase is to what is meant: same head word, both people, both numbers, both names."""
    parts = words(phrase)
    same_head = stem(parts[-1]) == stem(meant[-1])
    numbers = any(map(str.isdigit, parts)) and any(map(str.isdigit, meant))
    names = parts[-1][:1].isupper() == meant[-1][:1].isupper()
    people = bool(_WHOM.fullmatch(parts[-1]) and _WHOM.fullmatch(meant[-1]))
    return 4 * same_head + 2 * people + 2 * numbers + names


def _including_article(last: str, start: int, end: int, about: str) -> tuple[int, int]:
    article = _ARTICLE.search(last[:start]) if _STARTS_WITH_ARTICLE.match(about) else None
    return (article.start() if article else start), end


def terms_of(text: str, weight: float, without: set[str] | None = None) -> tuple[Term, ...]:
    return tuple(Term(word, weight) for word in dict.fromkeys(content_words(text)) if stem(word) not in (without or ()))
