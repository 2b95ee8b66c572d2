"""Condenses a message with the trained model: joins its words into phrases of the conversation, behind thresholds."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from turnwise.dialogue.another_thing import focus
from turnwise.dialogue.asked_again import compared, parallel, things_asked
from turnwise.dialogue.pronouns import agrees_in_number, can_be_meant, find_pronoun, points_back
from turnwise.dialogue.questions import compared_sides
from turnwise.dialogue.signs import asks_for_more, stands_alone
from turnwise.dialogue.window import MAX_MESSAGE_CHARS
from turnwise.dialogue.writing import (
    Phrase,
    last_question,
    names_no_side,
    questions_newest_first,
    standalone,
    terms,
)
from turnwise.text import NUMBER, WORD_PART, content_stems, is_content, stem, subject
from turnwise.types import Condensed, FollowUp, Message, Prediction, Term

MIN_FOLLOW_UP_CONFIDENCE = 0.8  # below it the message is not changed
MIN_ADDED_PROBABILITY = 0.25  # of a word that is written into the question
MIN_ADDED_SHARE = 0.4  # of the likeliest word's probability, for each further word
MIN_TERM_PROBABILITY = 0.1  # of a word that counts in the search
MIN_EDIT_PROBABILITY = 0.5  # of the place where the words are written
MIN_INSERT_PROBABILITY = 0.6  # of words written inside, not after, a message that says enough without them
MAX_ADDED_WORDS = 8

_LETTER = r"[B-HJ-Z]"  # belongs to its noun: R squared, vitamin C
_TOKEN = re.compile(
    rf"(?:\b{_LETTER} (?=[a-z]{{2}}))?(?:{NUMBER}|[^\W_]+)(?:-[^\W_]+)*(?: {_LETTER}\b(?!['’.-]| [a-z]{{2}}))?"
)
_NUMBER = re.compile(NUMBER)
_BETWEEN = re.compile(r"\s{1,2}|['’]s\s|\s(?:of|for|in|de|von|van)\s(?:the\s)?")  # inside one phrase
_WHY_NOT = re.compile(r"(?:and |but |so )?why not\s*[?.!]*", re.I)
# The verb of a question: what "it" refers to in "can I cancel my order? how do I send it back?" is not "cancel".
_VERB = re.compile(
    r"\b(?:(?:do|does|did|can|could|will|would|should|must|may|might) (?:i|we|you|they|he|she|one) "
    r"(?:(?:just|still|also|not|ever) )?(?:(?:have|need|want) to )?"
    r"|(?:want|need|how|where|when|like|able|allowed|going) to )([a-z]+)",
    re.I,
)
_FOR = re.compile(r"\b(?:for|if)\b", re.I)
_ACTION = ("that", "this")  # may mean what is done
_BOTH = re.compile(r"\b(?:they|them|their|both)\b", re.I)
# "Which is older?", of the two things that were compared, and a question that names nothing but that.
_WHICH_IS = re.compile(
    r"(?:(?:and|so|but|ok|okay),? )?(?:which|what)(?: one| of (?:them|the two|these|those))?"
    r"(?:['’]?s| is| are| was| were) (?:the )?(?:\w{2,}er|(?:more|less) \w+)(?: one)?\s*[?.!]*",
    re.I,
)
_ACRONYM = re.compile(r"[A-Z]{2,6}")
_LINKED = r"(?:[\s-]+(?:of|for|from|and|the|in|on|to|with))?[\s-]+"  # between the words that an acronym stands for


def by_model(
    message: str,
    seen: Sequence[Message],
    prediction: Prediction,
    follow_up: FollowUp,
    ruled: Callable[[], Condensed],
) -> Condensed:
    """Returns the standalone question by the model's words. If the model names none, the rules' question is used,
    unless the message says enough by itself."""
    own = content_stems(message)
    said = set().union(*(_words_of(each.content[:MAX_MESSAGE_CHARS]).stems for each in seen))
    predicted = _whole_numbers(prediction.terms, seen)
    likely = [each for each in predicted if each[1] >= MIN_TERM_PROBABILITY and _is_new(each[0], said, own)]
    counted = tuple(Term(word, round(min(1.0, chance), 2)) for word, chance in likely)
    if follow_up.confidence < MIN_FOLLOW_UP_CONFIDENCE:
        why = f"{follow_up.reason}, but not certain: it is searched as it is, with a light weight on the likely words"
        return Condensed(message, counted, "literal", why)
    if instead := parallel(message, seen) or _of_those_compared(message, seen):
        return instead
    enough = max(MIN_ADDED_PROBABILITY, MIN_ADDED_SHARE * max((chance for _, chance in likely), default=0.0))
    kept = {stem(part): chance for word, chance in likely if chance >= enough for part in WORD_PART.findall(word)}
    phrases = _without_long_forms(phrases_of(dict(list(kept.items())[:MAX_ADDED_WORDS]), seen), seen)
    chosen = _in_order(message, seen, phrases)
    if asks_for_more(message):  # about what was asked last, rather than what an answer happened to name
        asked = next(filter(content_stems, map(subject, questions_newest_first(seen))), "")
        chosen = [phrase for phrase in chosen if content_stems(phrase[0]) & content_stems(asked)]
        chosen = [(asked, max(chance for _, chance in chosen))] if chosen else []
    alone = stands_alone(message)
    if not chosen and alone:
        why = f"{follow_up.reason}, but nothing said before is clearly meant: the likely words get a light weight"
        return Condensed(message, counted, "literal", why)
    if not chosen:
        by_rules = ruled()
        return dataclasses.replace(by_rules, added=_merged(by_rules.added, counted))
    if named := focus(message, seen):
        chosen = [(named, max(chance for _, chance in chosen))]
    if both := _both_meant(message, seen):
        chosen = [(both, max(chance for _, chance in chosen))]
    pair = compared(message, seen)
    if pair and any(content_stems(phrase) & kept.keys() for phrase, _ in pair):
        chosen = pair
    edit = prediction.edit if prediction.edit and prediction.edit.chance >= MIN_EDIT_PROBABILITY else None
    if _WHY_NOT.fullmatch(message.strip()) or (alone and chosen[0][1] < MIN_INSERT_PROBABILITY):
        edit = None
    found = standalone(message, seen, chosen, "model", follow_up.reason, edit)
    return dataclasses.replace(found, added=_merged(found.added, counted))


def _just_compared(seen: Sequence[Message]) -> tuple[str, ...]:
    """Returns what the user has compared, if only questions followed that name nothing else: "which is older?"."""
    asked = (text.strip() for text in questions_newest_first(seen))
    last = next((text for text in asked if not points_back(text) and not _WHICH_IS.fullmatch(text)), "")
    return compared_sides(last)


def _of_those_compared(message: str, seen: Sequence[Message]) -> Condensed | None:
    """ "Which is older?" after "Compare the mill and the barn"."""
    sides = _just_compared(seen) if _WHICH_IS.fullmatch(message.strip()) else ()
    if not sides:
        return None
    things = " or ".join(sides)
    reason = f"it asks of “{things}”, which were compared"
    return Condensed(f"{message.strip().rstrip(' ?.!')}, {things}?", terms([(things, 0.8)]), "rules", reason)


def _both_meant(message: str, seen: Sequence[Message]) -> str:
    """Returns what "they" means after a comparison of things, or after a question asked of one and then of another:
    "BERT and GPT" after "what is BERT?" and "and GPT?". Returns "" otherwise."""
    pronoun = find_pronoun(message)
    if not pronoun or not _BOTH.fullmatch(pronoun.text) or names_no_side(message):
        return ""
    return " and ".join(_just_compared(seen) or things_asked(seen)[-2:])


def _whole_numbers(terms: Sequence[Phrase], seen: Sequence[Message]) -> list[Phrase]:
    """Returns the model's words with whole numbers. The model reads "4.2" as two words: they become the number if both
    are likely, and are dropped otherwise, for example if the message has one of them in a number of its own."""
    texts = [_words_of(each.content[:MAX_MESSAGE_CHARS]) for each in seen]
    numbers = {number: re.findall(r"\d+", number) for each in texts for number in each.numbers}
    if not numbers:
        return list(terms)
    chances = dict(terms)
    likely = {each: parts for each, parts in numbers.items() if chances.keys() >= {*parts}}
    whole = [(each, min(map(chances.__getitem__, parts))) for each, parts in likely.items()]
    alone = set().union(*(each.parts for each in texts))
    inside = set().union(*numbers.values()) - alone | set().union(*likely.values())
    return sorted([*whole, *(each for each in terms if each[0] not in inside)], key=lambda each: -each[1])


def phrases_of(kept: dict[str, float], seen: Sequence[Message]) -> list[Phrase]:
    """Returns words (given by stem, with probabilities) as the phrases they were used in, in that order."""
    runs = [run for index, each in enumerate(seen) for run in _runs(kept, each, index)]
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
    """Adjacent words of a message."""

    text: str
    stems: frozenset[str]
    asked: bool  # by the user
    place: tuple[int, int]  # the index of the message, and the offset in it


def _runs(kept: dict[str, float], message: Message, index: int) -> Iterable[_Run]:
    text = message.content[:MAX_MESSAGE_CHARS]
    start, end, stems = 0, 0, frozenset[str]()
    own = _words_of(text)
    for token_start, token_end, parts in () if own.stems.isdisjoint(kept) else own.tokens:
        found = parts & kept.keys()
        if not found:
            continue
        if stems and not _BETWEEN.fullmatch(text, end, token_start):
            yield _Run(text[start:end], stems, message.role == "user", (index, start))
            stems = frozenset()
        start, end, stems = (start if stems else token_start), token_end, stems | found
    if stems:
        yield _Run(text[start:end], stems, message.role == "user", (index, start))


@dataclasses.dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text."""

    tokens: tuple[tuple[int, int, frozenset[str]], ...]  # start, end and stems (several if hyphenated) of content words
    stems: frozenset[str]  # of all tokens
    parts: frozenset[str]  # all words and numbers as written
    numbers: tuple[str, ...]  # in order


@lru_cache(maxsize=512)  # the next turn reads all but the last of these messages again
def _words_of(text: str) -> _Words:
    found = (
        (token.start(), token.end(), frozenset(stem(part) for part in WORD_PART.findall(token[0]) if is_content(part)))
        for token in _TOKEN.finditer(text)
    )
    tokens = tuple(token for token in found if token[2])
    stems = frozenset().union(*(stems for *_, stems in tokens))
    return _Words(tokens, stems, frozenset(WORD_PART.findall(text)), tuple(dict.fromkeys(_NUMBER.findall(text))))


def read_ahead(messages: Sequence[Message]) -> None:
    """Fills the cache with messages that the next turn will read."""
    for each in messages:
        _words_of(each.content[:MAX_MESSAGE_CHARS])


def _in_order(message: str, seen: Sequence[Message], phrases: list[Phrase]) -> list[Phrase]:
    """Returns the phrases with the antecedent first if the message has a pronoun: the subject of the last question if
    it or a part of it is about as likely as any, or else the likeliest, preferably one that agrees in number."""
    if not phrases or not points_back(message):
        return phrases
    phrases = [each for each in phrases if not each[0].isdigit()] or phrases  # a number is no antecedent
    phrases = [each for each in phrases if can_be_meant(message, each[0])]
    if not phrases:
        return []
    verbs = _verbs_before(message, seen)
    things, actions = _things_and_actions(phrases, verbs)
    phrases = [*things, *actions]
    least = MIN_ADDED_SHARE * max(chance for _, chance in phrases)
    fitting = [each for each in things if each[1] >= least and agrees_in_number(message, each[0])] or things or phrases
    named = _without_verb(subject(last_question(seen)), verbs)
    last = content_stems(named) if agrees_in_number(message, named) and can_be_meant(message, named) else set()
    likeliest = max(fitting, key=lambda phrase: phrase[1])
    parts = [each for each in fitting if content_stems(each[0]) <= last and each[1] >= least]
    if not parts:
        return [likeliest, *(phrase for phrase in phrases if phrase is not likeliest)]
    whole, chance = next((each for each in parts if content_stems(each[0]) == last), (named, parts[0][1]))
    whole = _with_whom_for(whole, message, last_question(seen))
    others = (each for each in phrases if each not in parts and not content_stems(each[0]) <= content_stems(whole))
    return [(whole, chance), *others]


def _with_whom_for(phrase: str, message: str, question: str) -> str:
    """Returns a phrase with what the question has after it: "judo for kids", unless the message says for whom."""
    after = rf"\b{re.escape(phrase)} for (?:(?:the|my|our) )?(?!\d|me\b|us\b)[\w-]+(?: [\w-]+)?(?=\s*[?.!]*$)"
    found = re.search(after, question, re.I) if phrase and not _FOR.search(message) else None
    return found[0] if found else phrase


def _verbs_before(message: str, seen: Sequence[Message]) -> set[str]:
    """Returns the verbs of earlier questions if the message has a pronoun that cannot mean one. "That" may mean what is
    done, so there all can be meant."""
    pronoun = find_pronoun(message)
    if not pronoun or pronoun.text in _ACTION:
        return set()
    return {stem(found) for text in questions_newest_first(seen) for found in _VERB.findall(text)}


def _things_and_actions(phrases: list[Phrase], verbs: set[str]) -> tuple[list[Phrase], list[Phrase]]:
    """Returns the phrases that a pronoun can mean, without a verb that one begins with, and those that are only the
    verb of a question."""
    things = [(rest, chance) for phrase, chance in phrases if (rest := _without_verb(phrase, verbs))]
    return things, [each for each in phrases if not _without_verb(each[0], verbs)]


def _without_verb(phrase: str, verbs: set[str]) -> str:
    """Returns a phrase without the verb that it begins with."""
    first, _, rest = phrase.partition(" ")
    return rest if stem(first) in verbs else phrase


def _without_long_forms(phrases: list[Phrase], seen: Sequence[Message]) -> list[Phrase]:
    """Returns the phrases without those that an acronym among them covers: with BERT, "Transformers" adds nothing."""
    acronyms = {word for phrase, _ in phrases for word in phrase.split() if _ACRONYM.fullmatch(word)}
    long_forms = [re.compile(_LINKED.join(rf"{letter}[a-z]+" for letter in word), re.I) for word in acronyms]
    texts = [each.content[:MAX_MESSAGE_CHARS] for each in seen]
    found = (match[0] for text in texts for form in long_forms for match in form.finditer(text))
    spelled = set().union(*map(content_stems, found))
    return [each for each in phrases if not content_stems(each[0]) <= spelled]


def _is_new(word: str, said: set[str], own: set[str]) -> bool:
    stems = content_stems(word)
    return bool(stems) and stems <= said and not stems <= own


def _merged(written: Sequence[Term], counted: Sequence[Term]) -> tuple[Term, ...]:
    """Returns all search terms without duplicates, preferring the model's probabilities."""
    known = {stem(term.text) for term in counted}
    return (*counted, *(term for term in written if stem(term.text) not in known))
