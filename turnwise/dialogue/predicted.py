"""Condensing by the trained model: its words as phrases that were said, each decision behind a gate."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from turnwise.dialogue.signs import asks_for_more, stands
from turnwise.dialogue.window import MAX_MESSAGE_CHARS
from turnwise.dialogue.writing import (
    Phrase,
    agrees_in_number,
    compared_subjects,
    last_question,
    parallel,
    points_back,
    questions_newest_first,
    standalone,
)
from turnwise.text import NUMBER, content_stems, is_content, stem, subject
from turnwise.types import Condensed, FollowUp, Message, Prediction, Term

CHANGED = 0.8  # confidence that the message leans on the conversation from which it is changed
ADDED = 0.25  # probability from which a word is written into the question
BESIDE = 0.4  # share of the likeliest word's probability from which another is written beside it
COUNTED = 0.1  # probability from which a word counts in the search
PLACED = 0.5  # how sure the model must be of a place for the words to be written there
INSIDE = 0.6  # probability of words that are written inside a message which says enough without them, not beside it
MOST_WORDS = 8  # words added at most

_LETTER = r"[B-HJ-Z]"  # goes with its noun: R squared, vitamin C
_TOKEN = re.compile(
    rf"(?:\b{_LETTER} (?=[a-z]{{2}}))?(?:{NUMBER}|[^\W_]+)(?:-[^\W_]+)*(?: {_LETTER}\b(?!['’.-]| [a-z]{{2}}))?"
)
_PART = re.compile(rf"{NUMBER}|[^\W_]+")
_NUMBER = re.compile(NUMBER)
_BETWEEN = re.compile(r"\s{1,2}|['’]s\s|\s(?:of|for|in|de|von|van)\s(?:the\s)?")  # inside one phrase
_ACRONYM = re.compile(r"[A-Z]{2,6}")
_LINKED = r"(?:[\s-]+(?:of|for|from|and|the|in|on|to|with))?[\s-]+"  # between the words of what it stands for


def by_model(
    message: str,
    seen: Sequence[Message],
    prediction: Prediction,
    follow_up: FollowUp,
    ruled: Callable[[], Condensed],
) -> Condensed:
    """The standalone question as the model reads it; where the model names no word, the rules' reading stands unless
    the message says enough by itself."""
    own = content_stems(message)
    said = set().union(*(_read(each.content[:MAX_MESSAGE_CHARS]).stems for each in seen))
    predicted = _whole_numbers(prediction.terms, seen)
    likely = [(word, chance) for word, chance in predicted if chance >= COUNTED and _new(word, said, own)]
    counted = tuple(Term(word, round(min(1.0, chance), 2)) for word, chance in likely)
    if follow_up.confidence < CHANGED:
        why = f"{follow_up.reason}, but not surely: it is searched as it stands, the likely words counting a little"
        return Condensed(message, counted, "literal", why)
    if instead := parallel(message, seen):
        return instead
    enough = max(ADDED, BESIDE * max((chance for _, chance in likely), default=0.0))
    kept = {stem(part): chance for word, chance in likely if chance >= enough for part in _PART.findall(word)}
    phrases = _without_long_forms(joined(dict(list(kept.items())[:MOST_WORDS]), seen), seen)
    chosen = _in_order(message, seen, phrases)
    if asks_for_more(message):  # of what was asked for last, rather than of what an answer happened to name
        asked = (content_stems(subject(question)) for question in questions_newest_first(seen))
        about = next((stems for stems in asked if stems), set())
        chosen = [phrase for phrase in chosen if content_stems(phrase[0]) & about]
    alone = stands(message)
    if not chosen and alone:
        why = f"{follow_up.reason}, but nothing said before is clearly meant: the likely words count a little"
        return Condensed(message, counted, "literal", why)
    if not chosen:
        by_rules = ruled()
        return dataclasses.replace(by_rules, added=_merged(by_rules.added, counted))
    pair = compared_subjects(message, seen)
    if pair and any(content_stems(phrase) & kept.keys() for phrase, _ in pair):
        chosen = pair
    edit = prediction.edit if prediction.edit and prediction.edit.chance >= PLACED else None
    if alone and chosen[0][1] < INSIDE:
        edit = None
    found = standalone(message, seen, chosen, "model", follow_up.reason, edit)
    return dataclasses.replace(found, added=_merged(found.added, counted))


def _whole_numbers(terms: Sequence[Phrase], seen: Sequence[Message]) -> list[Phrase]:
    """The words of a model that reads "4.2" as two: such parts stand for the number where all of them are likely, else
    for nothing, as where the message has some of them in a number of its own."""
    read = [_read(each.content[:MAX_MESSAGE_CHARS]) for each in seen]
    numbers = {number: re.findall(r"\d+", number) for each in read for number in each.numbers}
    if not numbers:
        return list(terms)
    chances = dict(terms)
    likely = {each: parts for each, parts in numbers.items() if chances.keys() >= {*parts}}
    whole = [(each, min(map(chances.__getitem__, parts))) for each, parts in likely.items()]
    alone = set().union(*(each.parts for each in read))
    inside = set().union(*numbers.values()) - alone | set().union(*likely.values())
    return sorted([*whole, *(each for each in terms if each[0] not in inside)], key=lambda each: -each[1])


def joined(kept: dict[str, float], seen: Sequence[Message]) -> list[Phrase]:
    """Words, by stem with their probabilities, as the phrases in which they were said, in the order they were said."""
    runs = [run for place, each in enumerate(seen) for run in _runs(kept, each, place)]
    covered: set[str] = set()
    chosen: list[_Run] = []
    while runs:
        best = max(runs, key=lambda run: (len(run.stems - covered), -len(run.stems & covered), run.asked, run.place))
        if not best.stems - covered:
            break
        chosen.append(best)
        covered |= best.stems
    return [
        (run.text, sum(kept[key] for key in run.stems) / len(run.stems))
        for run in sorted(chosen, key=lambda r: r.place)
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """Words that stand side by side in a message."""

    text: str
    stems: frozenset[str]
    asked: bool  # by the user
    place: tuple[int, int]


def _runs(kept: dict[str, float], message: Message, place: int) -> Iterable[_Run]:
    text = message.content[:MAX_MESSAGE_CHARS]
    start, end, stems = 0, 0, frozenset[str]()
    read = _read(text)
    for token_start, token_end, parts in () if read.stems.isdisjoint(kept) else read.tokens:
        found = parts & kept.keys()
        if not found:
            continue
        if stems and not _BETWEEN.fullmatch(text, end, token_start):
            yield _Run(text[start:end], stems, message.role == "user", (place, start))
            stems = frozenset()
        start, end, stems = (start if stems else token_start), token_end, stems | found
    if stems:
        yield _Run(text[start:end], stems, message.role == "user", (place, start))


@dataclasses.dataclass(frozen=True, slots=True)
class _Read:
    """The words of a text that say something: where each stands, and its stems, several where it has a hyphen."""

    tokens: tuple[tuple[int, int, frozenset[str]], ...]
    stems: frozenset[str]  # of all
    parts: frozenset[str]  # all words and numbers as they are written
    numbers: tuple[str, ...]  # in their order


@lru_cache(maxsize=512)  # the next turn reads all but the last of these messages again
def _read(text: str) -> _Read:
    found = (
        (token.start(), token.end(), frozenset(stem(part) for part in _PART.findall(token[0]) if is_content(part)))
        for token in _TOKEN.finditer(text)
    )
    tokens = tuple(token for token in found if token[2])
    stems = frozenset().union(*(stems for *_, stems in tokens))
    return _Read(tokens, stems, frozenset(_PART.findall(text)), tuple(dict.fromkeys(_NUMBER.findall(text))))


def read_ahead(said: Sequence[Message]) -> None:
    """Read messages that a later one will be read beside."""
    for each in said:
        _read(each.content[:MAX_MESSAGE_CHARS])


def _in_order(message: str, seen: Sequence[Message], phrases: list[Phrase]) -> list[Phrase]:
    """Where a pronoun points back, what takes its place first: what the last question was about, if that or a part of
    it is about as likely as any, else the likeliest; of those that agree with it in number, if they are."""
    if not phrases or not points_back(message):
        return phrases
    phrases = [each for each in phrases if not each[0].isdigit()] or phrases  # a number is nobody
    least = BESIDE * max(chance for _, chance in phrases)
    fitting = [each for each in phrases if each[1] >= least and agrees_in_number(message, each[0])] or phrases
    named = subject(last_question(seen))
    last = content_stems(named) if agrees_in_number(message, named) else set()
    likeliest = max(fitting, key=lambda phrase: phrase[1])
    parts = [each for each in fitting if content_stems(each[0]) <= last and each[1] >= least]
    if not parts:
        return [likeliest, *(phrase for phrase in phrases if phrase is not likeliest)]
    whole = next((each for each in parts if content_stems(each[0]) == last), (named, parts[0][1]))
    return [whole, *(phrase for phrase in phrases if phrase not in parts)]


def _without_long_forms(phrases: list[Phrase], seen: Sequence[Message]) -> list[Phrase]:
    """The phrases but for words of what an acronym among them stands for: BERT says all that "Transformers" would."""
    short = {word for phrase, _ in phrases for word in phrase.split() if _ACRONYM.fullmatch(word)}
    long = [re.compile(_LINKED.join(rf"{letter}[a-z]+" for letter in word), re.I) for word in short]
    found = (match[0] for each in seen for form in long for match in form.finditer(each.content[:MAX_MESSAGE_CHARS]))
    spelled = set().union(*map(content_stems, found))
    return [each for each in phrases if not content_stems(each[0]) <= spelled]


def _new(word: str, said: set[str], own: set[str]) -> bool:
    stems = content_stems(word)
    return bool(stems) and stems <= said and not stems <= own


def _merged(written: Sequence[Term], counted: Sequence[Term]) -> tuple[Term, ...]:
    """All words that count, each once: those of the model at their own probability."""
    known = {stem(term.text) for term in counted}
    return (*counted, *(term for term in written if stem(term.text) not in known))
