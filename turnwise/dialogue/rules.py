"""Condensing by rules: the words of the conversation that a message leaves out, and the question written with them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from turnwise.dialogue.intent import asks_documents
from turnwise.text import is_content, is_specific, phrases, sentences, stem, subject, words
from turnwise.types import Condensed, FollowUp, Message, Term

RECENT = 20  # messages that are looked at, besides the first question
LONGEST = 1200  # characters of an answer that are looked at
MOST_PHRASES = 3  # phrases added at most
ENOUGH = 0.25  # probability from which a further phrase is added beside the likeliest
NEAREST = 0.3  # added to the probability of what the last question was about, where a pronoun points back
LEANING = 0.85  # confidence in a follow-up below which the message is left alone: a wrong word spoils a new topic

# The log-odds that each fact about a word of the history adds to its being missing from the question; made by
# training/fit_rules.py from public conversations with human rewrites.
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


def by_rules(message: str, history: Sequence[Message], follow_up: FollowUp) -> Condensed:
    """The standalone question of a follow-up."""
    seen = window(history)
    if instead := _parallel(message, seen):
        return instead
    chosen = _compared(message, seen) or _chosen(message, seen, follow_up.confidence)
    if not chosen:
        return Condensed(message, (), "literal", f"{follow_up.reason}, but nothing said before is clearly meant")
    spans = [phrase for phrase, _ in chosen]
    terms = tuple(
        Term(word, round(probability, 2))
        for phrase, probability in chosen
        for word in words(phrase)
        if is_content(word)
    )
    quoted = ", ".join(f"“{span}”" for span in spans)
    if follow_up.confidence < LEANING:
        reason = f"{follow_up.reason}, but not surely: it is searched as it stands, with a light weight on {quoted}"
        return Condensed(message, terms, "literal", reason)
    reason = f"{follow_up.reason}; added {quoted} from the conversation"
    return Condensed(_written(message, spans), terms, "rules", reason)


# --- which words are missing --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Mentions:
    """Where in the history a word was said, by message."""

    word: str
    questions: set[int]
    answers: set[int]
    opens_last_answer: bool = False
    name: bool = False
    in_phrase: bool = False


def window(history: Sequence[Message]) -> list[Message]:
    """The part of a conversation that is looked at: its first question and the recent messages."""
    recent = [each for each in history[-RECENT:] if each.role != "user" or asks_documents(each.content)]
    first = next((each for each in history if each.role == "user" and asks_documents(each.content)), None)
    return recent if first is None or any(each is first for each in recent) else [first, *recent]


def _chosen(message: str, seen: Sequence[Message], confidence: float) -> list[tuple[str, float]]:
    """The phrases that the message most likely leaves out with their probabilities, the likeliest first."""
    own = {stem(word) for word in words(message)}
    likely = {key: _probability(facts) for key, _, facts in describe(seen)}
    last = next((each.content for each in reversed(seen) if each.role == "user"), "")
    pointing = _PRONOUN.search(message) or _POSSESSIVE.search(message)
    antecedent = {stem(word) for word in re.findall(r"[^\W_]+", subject(last))} if pointing else set()
    scored: dict[frozenset[str], tuple[float, str]] = {}
    for position, each in enumerate(seen):
        if each.role == "user" or position == len(seen) - 1:
            for phrase in phrases(each.content[:LONGEST]):
                parts = [stem(word) for word in re.findall(r"[^\W_]+", phrase) if is_content(word)]
                new = frozenset(parts) - own
                if new and new <= likely.keys():
                    nearest = NEAREST if set(parts) == antecedent else 0.0
                    average = sum(likely[key] for key in new) / len(new)
                    written = scored[new][1] if new in scored else phrase  # as it was said first: by the user
                    scored[new] = (min(0.95, average + nearest) * confidence, written)
    chosen: list[tuple[str, float]] = []
    covered: set[str] = set()
    for new, (probability, phrase) in sorted(scored.items(), key=lambda item: -item[1][0]):
        enough = probability >= ENOUGH or not chosen
        if enough and new.isdisjoint(covered) and len(chosen) < MOST_PHRASES:
            chosen.append((phrase, probability))
            covered |= new
    return sorted(chosen, key=lambda item: {stem(word) for word in re.findall(r"[^\W_]+", item[0])} != antecedent)


def _observe(seen: Sequence[Message]) -> dict[str, Mentions]:
    found: dict[str, Mentions] = {}
    for position, each in enumerate(seen):
        opens = position == len(seen) - 1 and each.role == "assistant"
        for sentence in sentences(each.content[:LONGEST])[:6]:
            several = {stem(word) for phrase in phrases(sentence) if " " in phrase for word in words(phrase)}
            for index, word in enumerate(re.findall(r"[^\W_]+", sentence)):
                if not is_content(word):
                    continue
                key = stem(word)
                mentions = found.setdefault(key, Mentions(word, set(), set()))
                (mentions.questions if each.role == "user" else mentions.answers).add(position)
                mentions.name |= word[0].isupper() and index > 0
                mentions.in_phrase |= key in several and is_specific(word)
                mentions.opens_last_answer |= opens
            opens = False
    return found


def describe(seen: Sequence[Message]) -> Iterator[tuple[str, Mentions, dict[str, float]]]:
    """Every content word that was said, by its stem, with the facts that WEIGHTS weighs."""
    asked = [position for position, each in enumerate(seen) if each.role == "user"]
    for key, mentions in _observe(seen).items():
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


# --- how the question is written ----------------------------------------------------------------------------------

_SINGULAR = r"(?:it|this|that|he|she|him)"
_PRONOUN = re.compile(
    rf"\b(?:about|of|is|was|are|were|does|did|do|like|than|for|with|on|from|to|by|can|could|would|will|should|has|had|"
    rf"have|in|how|why|when|and)\s+({_SINGULAR}|they|them|these|those)\b(?!\s+(?:there|that)\b)"
    r"|\b(it|they|them|him)\s*[?.!]?$|^(it|this|that|they|he|she)\b",
    re.I,
)
_POSSESSIVE = re.compile(r"\b(its|their|his|her)\b(?=\s+\w)", re.I)
_MORE = re.compile(r".*\b(?:more|deeper|else|further|details?|elaborate|examples?)", re.I)
_PLURAL = re.compile(r"\b(?:they|them|these|those|both|the two)\b", re.I)
_COMPARING = re.compile(
    r"\b(?:(?:an? |any |the )?(overlap|differences?|relationship|relation|similarit(?:y|ies)|comparison)|compare|"
    r"differ|have in common|better|related|relate|connected)\b",
    re.I,
)
_SIDES = re.compile(r"\b(?:between|than|versus|vs|with|to|from)\b", re.I)


def _compared(message: str, seen: Sequence[Message]) -> list[tuple[str, float]]:
    """The two subjects of a comparison that names neither, the earlier first; else none."""
    if not _COMPARING.search(message) or (_SIDES.search(message) and not _PLURAL.search(message)):
        return []
    own = {stem(word) for word in words(message)}
    subjects: list[str] = []
    for each in reversed(seen):
        found = subject(each.content) if each.role == "user" else ""
        stems = {stem(word) for word in words(found)}
        if found and not stems <= own and all(stems != {stem(word) for word in words(kept)} for kept in subjects):
            subjects.append(found)
        if len(subjects) == 2:
            return [(each, 0.8) for each in reversed(subjects)]
    return []


_ELLIPSIS = re.compile(
    r"(?:and|or|(?:and )?(?:what|how) about|what of)\s+(?!(?:the|its|his|her|their|this|that|these|those|it|them|in|"
    r"for|on|at|with|to|from|by|of|about|your|my|an?|if|when|why|how|what|who|where|which|is|are|do|does|did|can|could)\b)"
    r"([^?.!]{2,80}?)\s*[?.!]*",
    re.I,
)
# The subject of a question that another can take the place of: all that "what is ..." asks about, or a name.
_SUBJECT = re.compile(
    r"^(?:[Ww]hat|[Ww]ho)(?: is| are|['’]s) (?:an? |the )?([^?,]{2,60}?)\?$|(?<=[a-z] )([A-Z][\w-]*(?: [A-Z][\w-]*)*)"
)


def _parallel(message: str, seen: Sequence[Message]) -> Condensed | None:
    """ "And GPT?" after "How is BERT trained?": the last question asked again of another subject."""
    found = _ELLIPSIS.fullmatch(message.strip())
    last = next((each.content.strip() for each in reversed(seen) if each.role == "user"), "")
    asked = _SUBJECT.search(last) if found and not _ELLIPSIS.fullmatch(last) and subject(last) else None
    if not found or not asked:
        return None
    replaced = asked[1] or asked[2]
    own = {stem(word) for word in words(f"{message} {replaced}")}
    terms = tuple(Term(word, 0.5) for word in words(last) if is_content(word) and stem(word) not in own)
    query = last.replace(replaced, found[1], 1)
    return Condensed(query, terms, "rules", f"it asks the last question again, of “{found[1]}” instead of “{replaced}”")


def _written(message: str, spans: Sequence[str]) -> str:
    """The question with its pronoun replaced by the first span; what finds no place stands in brackets at the end."""
    if len(spans) == 2 and _COMPARING.search(message):
        both = f"{spans[0]} and {spans[1]}"
        if _PLURAL.search(message):
            return _PLURAL.sub(both, message, count=1)
        message = re.sub(r"\btheir\b", "the", message, count=1, flags=re.I)
        noun = _COMPARING.search(message)
        if noun and noun[1]:
            return f"{message[: noun.end()]} between {both}{message[noun.end() :]}"
    possessive = _POSSESSIVE.search(message)
    pronoun = _PRONOUN.search(message)
    rest = list(spans)
    if possessive:
        owner = rest.pop(0)
        message = message[: possessive.start()] + f"{owner}’s" + message[possessive.end() :]
    elif pronoun:
        group = next(index for index in (1, 2, 3) if pronoun[index])
        message = message[: pronoun.start(group)] + rest.pop(0) + message[pronoun.end(group) :]
    if not rest:
        return message
    body = message.rstrip().rstrip("?.!").rstrip()
    end = message[len(body) :].strip()
    if rest == list(spans) and _MORE.fullmatch(body.strip()):
        return f"{body} about {' and '.join(rest)}{end}"
    return f"{body} ({', '.join(rest)}){end}"
