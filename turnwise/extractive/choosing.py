"""Which of the scored sentences an answer is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from functools import lru_cache, partial
from itertools import pairwise

from turnwise.byline import YEAR
from turnwise.dialogue.citing import without_unknown
from turnwise.dialogue.wishes import SHORT
from turnwise.english import NUMBER_WORDS
from turnwise.extractive.asking import (
    ANOTHER_EXAMPLE,
    EXAMPLE,
    HOW_TO,
    PRONOUN,
    defined_topic,
    prefers,
    wants_all,
    wants_only_more,
)
from turnwise.extractive.kinds import (
    PREFERRED_KINDS,
    QUANTITIES,
    answer_patterns,
    asks_price,
    gives,
    has_money,
    has_span,
    is_about_another,
    is_new_in_asked,
    with_latest_version,
)
from turnwise.extractive.repeating import lead_to_repeat, said_again
from turnwise.extractive.scoring import RANK_PENALTY, defines, gives_example, is_asked_above
from turnwise.extractive.sides import best_of_each_side, side_of, side_stems
from turnwise.extractive.statements import (
    ANSWER_SCORE,
    CACHE_SIZE,
    CONTINUATION_SCORE,
    MAX_GAP,
    Candidate,
    Statement,
    asked_stems,
    cached_statements,
    same_document,
    stems_of,
    stems_with_headings,
    units,
)
from turnwise.text import UNSPACED, sentences, stem, without_citations, words
from turnwise.types import Prompt
from turnwise.works import asks_for_contents, is_abstract, tells_method

_AFTER = re.compile(r"\b(after|before|within) (?:(?:about|just|only|the first) )?([a-z]+|\d+) ([a-z]+?)s?\b", re.I)
_UNITS_OF_TIME = frozenset("second minute hour day night week month year".split())
_DIGITS = {"a": "1", "an": "1", **{word: str(number) for number, word in enumerate(NUMBER_WORDS, 1)}}
_YEAR = re.compile(rf"\b(?:in|of|for) ({YEAR})\b", re.I)
MAX_SENTENCES = 4
MAX_ALL = 8  # if everything is wanted, or all that is new
SHORT_SENTENCES = 2  # for a definition, for one of several questions, and after a long answer
LONG_ANSWER_CHARS = 1000  # the answer after a longer one is short
LACKING_PENALTY = 0.2  # for a sentence without the price, place or time asked for, compared with others
SPELLED_BONUS = 0.25  # for a row whose whole name is in the question
SEARCH_SCORE_WEIGHT = 2.0  # for how far below the best passage the search scored this one
LEAVING_SCORE = 0.5  # of a sentence of another document that has nothing of what the conversation is about
MEANT_WEIGHT = 0.25  # from here on a word of the conversation is likely to be meant
MAX_GAP_ELSEWHERE = 0.02  # how far below the best sentence one from another passage may score
MAX_LEADS = 3  # of a document that has a single section
MIN_LEAD_WORDS = 3  # a shorter sentence is a heading
SAID_SHARE = 0.5  # of a sentence's word pairs; a sentence that shares more with an earlier one says the same
NEAREST_SCORE = 0.2  # of a sentence worth showing where none answers
NEAREST_LIKELY = 0.3  # the same of how likely it answers the message as typed: six of ten of these do
DUPLICATE_SHARE = 0.6  # the same for two candidates


def candidates(prompt: Prompt) -> list[Candidate]:
    """The sentences of the documents that an answer may use, each once; rows and list items once under each heading,
    because a table or list without them would not be complete."""
    answers = [without_unknown(each) for each in prompt.said]
    said, last = _EarlierAnswers(answers), _EarlierAnswers(answers[-1:])
    found: dict[tuple[object, ...], Candidate] = {}
    documents = [each for each in prompt.evidence if each.passage.id >= 0]
    best = max((each.hit.score for each in documents), default=0.0)
    for rank, evidence in enumerate(documents):
        passage = evidence.passage
        behind = RANK_PENALTY * rank + SEARCH_SCORE_WEIGHT * (best - evidence.hit.score)
        for position, statement in enumerate(cached_statements(passage.text)):
            key: tuple[object, ...] = (_cached_words(statement.text),)
            if statement.is_row or statement.is_item:
                key = (*key, passage.document_id, passage.heading, statement.above)
            just_said = statement.is_row and last.contains(statement)
            new = Candidate(statement, evidence, position, rank, behind, said.contains(statement), just_said)
            found.setdefault(key, new)
    return list(found.values())


class _EarlierAnswers:
    def __init__(self, answers: Sequence[str]) -> None:
        texts = [without_citations(answer) for answer in answers]
        self._sentences = [shingles(sentence) for text in texts for sentence in _cached_sentences(text)]
        self._texts = [f" {_lower_words(text)} " for text in texts]

    def contains(self, statement: Statement) -> bool:
        """Whether a sentence was said in much the same words. A row must be the same, because all rows are similar."""
        if statement.is_row:
            return any(f" {_cached_words(statement.text)} " in text for text in self._texts)
        if not self._sentences:
            return False
        parts = [own for own in map(shingles, _cached_sentences(statement.text)) if own]
        return bool(parts) and all(
            any(len(own & old) > SAID_SHARE * len(own) for old in self._sentences) for own in parts
        )


def _lower_words(text: str) -> str:
    return " ".join(words(text)).lower()


@lru_cache(maxsize=CACHE_SIZE)
def _cached_words(statement: str) -> str:
    return _lower_words(statement)


@lru_cache(maxsize=CACHE_SIZE)
def _cached_sentences(statement: str) -> tuple[str, ...]:
    return tuple(sentences(statement))


@lru_cache(maxsize=CACHE_SIZE)
def shingles(sentence: str) -> frozenset[tuple[str, ...]]:
    """A sentence's pairs of neighbouring stems, to tell whether it was said before."""
    return frozenset(pairwise(map(stem, units(sentence))))


def choose(question: str, pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
    """The scored sentences that answer a question, best first; none if even the best does not.

    What was said before is left out, except for one sentence that answers clearly better than anything new and is about
    what the user asks now: words that only the conversation added are no reason to repeat it.
    """
    more = wants_only_more(prompt)
    worth = partial(_worth, question=question, prompt=prompt)
    good = sorted(_good_enough(question, pool, prompt), key=worth, reverse=True)
    if wants_all(prompt):
        return _distinct(good)[:MAX_ALL]
    versioned = with_latest_version(question, pool)
    if in_version := [each for each in pool if is_new_in_asked(each, versioned)]:
        return in_version[:MAX_ALL]
    new = _distinct([each for each in good if not each.said])
    old = said_again(question, good, pool, prompt, nothing_new=not new and not more)
    topic = defined_topic(question)
    if topic and (defining := [each for each in old if defines(topic, each.text)]):
        return sorted(defining, key=lambda each: not defines(topic, each.text, " (?:an?|the|one of)"))[:1]
    lead = lead_to_repeat(old[0], new[0], question, pool, prompt) if old and new else 0.0
    if old and not more and (not new or worth(old[0]) > worth(new[0]) + lead):
        return best_of_each_side([*old, *new], prompt.sides) if prompt.sides else old[:1]
    if prompt.sides:
        return best_of_each_side([*new, *_of_untold_sides(old, new, prompt.sides)], prompt.sides, pool)
    if more and not new:
        return _unjudged(pool)[: _answer_length(question, prompt)]
    return _near_the_best(new, worth, question, prompt) if new else []


def _near_the_best(
    new: Sequence[Candidate], worth: Callable[[Candidate], float], question: str, prompt: Prompt
) -> list[Candidate]:
    """The best sentence and those that answer nearly as well, have the question as their heading, or stand with it in
    the section that is all that is asked for."""
    if asks_price(question) and any(map(has_money, new)):  # a step of what is to be done tells no price
        new = [each for each in new if has_money(each) or not each.is_item]
    best, topic = new[0], defined_topic(question)
    defining = bool(topic) and defines(topic, best.text)
    told_whole = best.under_asked and not defining
    gap_elsewhere = MAX_GAP if wants_only_more(prompt) else MAX_GAP_ELSEWHERE
    near = [
        each
        for each in new
        if worth(best) - worth(each) <= (MAX_GAP if each.evidence.number == best.evidence.number else gap_elsewhere)
        or is_asked_above(each, question)
        or (each.under_asked and told_whole and same_document(each, best))
    ]
    if defining:
        near = [each for each in near if not each.statement.is_entry or defines(topic, each.text)]
    if not HOW_TO.search(question):  # a command on a line of its own only adds to what is to be done
        near = [*near[:1], *(each for each in near[1:] if "\n" not in each.text)]
    return near[: _answer_length(question, prompt, told_whole)]


def leads_of_document(question: str, pool: Sequence[Candidate]) -> list[Candidate]:
    """The first sentence of each section of the only document that a question names by its title or kind and wants
    summarised, in its order; of a single section, its beginning. An abstract says it better."""
    passages = {each.evidence.passage.document_id: each.evidence.passage for each in pool}.values()
    named = [each for each in passages if asks_for_contents(question, each)]
    if len({each.title for each in named}) != 1:
        return []
    own = [each for each in pool if each.evidence.passage.document_id == named[0].document_id]
    if any(is_abstract(each.evidence.passage) for each in own):
        return []
    own.sort(key=lambda each: (each.evidence.passage.id, each.position))
    told = [each for each in own if len(words(each.text)) > MIN_LEAD_WORDS and not each.statement.is_row] or own
    firsts = {each.evidence.passage.heading: each for each in reversed(told)}
    return (
        sorted(firsts.values(), key=lambda each: each.evidence.passage.id)[:MAX_ALL]
        if len(firsts) > 1
        else told[:MAX_LEADS]
    )


def nearest(question: str, pool: Sequence[Candidate], prompt: Prompt) -> Candidate | None:
    """The sentence that comes nearest to an answer where none answers; one that was told or shown before, or is about
    something else, helps nobody."""
    shown = "\n".join(prompt.said)
    new = [each for each in pool if not each.said and each.text not in shown and not is_about_another(each, question)]
    likeliest = max(new, key=lambda each: each.likely, default=None)
    if likeliest and likeliest.likely >= NEAREST_LIKELY:
        return likeliest
    near = [each for each in new if each.score >= NEAREST_SCORE]
    return max(near, key=lambda each: each.score, default=None) or _named_row(question, pool, prompt)


def _named_row(question: str, pool: Sequence[Candidate], prompt: Prompt) -> Candidate | None:
    """The only row, not told before, with a word in its name that is asked for: its columns may have other words."""
    asked = asked_stems(prompt.question) & asked_stems(question)
    rows = [each for each in pool if len(each.statement.cells) > 1 and asked & stems_of(each.statement.name)]
    return rows[0] if len(rows) == 1 and not rows[0].said else None


def _good_enough(question: str, pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
    """The sentences that answer, or only the examples among them if one is asked for."""
    least = CONTINUATION_SCORE if wants_only_more(prompt) or prompt.sides else ANSWER_SCORE
    measured, named = bool(answer_patterns(question, QUANTITIES)), {side.lower() for side in prompt.sides}
    leaning = bool(PRONOUN.search(prompt.question)) or not asked_stems(prompt.question)
    leaving = partial(_leaves_talk, documents=_documents_told(pool, prompt), prompt=prompt)

    def threshold(each: Candidate) -> float:
        """A row whose name is in the question needs less in a comparison, or if it gives the amount asked for; so does
        what was told with a beginning and an end, or a version, if one of them is asked for."""
        if prompt.sides and (each.spelled or each.statement.name.lower() in named):
            return 0.0
        if leaving(each):
            return LEAVING_SCORE
        tells_when = has_span(each) or each.version
        told = each.spelled or (each.said and tells_when and leaning)
        return CONTINUATION_SCORE if told and measured and gives(each, question, QUANTITIES) else least

    good = [each for each in pool if each.score >= threshold(each) and not _tells_time_before(each, prompt)]
    examples = [each for each in good if gives_example(each)]
    if ANOTHER_EXAMPLE.search(prompt.question):
        return [each for each in examples if not each.said]
    return examples or good if EXAMPLE.search(prompt.question) else good


def _documents_told(pool: Sequence[Candidate], prompt: Prompt) -> set[int]:
    """The documents that the last answer with citations cites."""
    for answer in reversed(prompt.said):
        cited = {each.evidence.passage.document_id for each in pool if f"[{each.evidence.number}]" in answer}
        if cited:
            return cited
    return set()


def _leaves_talk(each: Candidate, documents: Container[int], prompt: Prompt) -> bool:
    """Whether a sentence is from another document than the last answer and has no word that the conversation adds to
    the message: it may just share a word with it."""
    added = frozenset().union(*(asked_stems(term.text) for term in prompt.added if term.weight >= MEANT_WEIGHT))
    elsewhere = bool(documents) and each.evidence.passage.document_id not in documents
    return elsewhere and bool(added) and added.isdisjoint(stems_with_headings(each))


def _tells_time_before(each: Candidate, prompt: Prompt) -> bool:
    """Whether a sentence is about the time that was asked about before, and not about the one that is asked about now:
    "and after a month?" is not answered by what holds after one day."""
    now = _times(prompt.question)
    before = _times(prompt.last_question) - now if now else set()
    told = _times(each.text) if before else set()
    return bool(told) and told <= before


def _times(text: str) -> set[tuple[str, ...]]:
    """The times that a text names: "after a week", "in 2019"."""
    found = [each for each in _AFTER.findall(text.lower()) if each[2] in _UNITS_OF_TIME]
    after = {(word, _DIGITS.get(count, count), unit) for word, count, unit in found}
    return after.union((year,) for year in _YEAR.findall(text))


def _worth(each: Candidate, question: str, prompt: Prompt) -> float:
    """How well a sentence answers compared with others: its score, and how well the search ranked its passage. If the
    passages come from several searches, their order means nothing."""
    merged = bool(prompt.sides) or len(prompt.asked) > 1
    lacking = 0.0 if gives(each, question, PREFERRED_KINDS) else LACKING_PENALTY
    in_its_place = each.spelled or (each.under_asked and HOW_TO.search(question))
    behind = 0.0 if merged or in_its_place else each.behind
    if tells_method(each.evidence.passage, question):
        behind /= 2
    return each.score - lacking - behind + (SPELLED_BONUS if each.spelled else 0.0)


def _of_untold_sides(old: Sequence[Candidate], new: Sequence[Candidate], sides: Sequence[str]) -> list[Candidate]:
    """Of what was said before, what is about a side of a comparison on which there is nothing new."""
    own = side_stems(sides)
    told = {side_of(each, own) for each in new}
    return [each for each in old if side_of(each, own) not in (None, *told)]


def _unjudged(pool: Sequence[Candidate]) -> list[Candidate]:
    """The other sentences of the passages quoted before, in scripts that the judge cannot read."""
    quoted = {each.evidence.number for each in pool if each.said}
    return [each for each in pool if each.evidence.number in quoted and not each.said and UNSPACED.search(each.text)]


def _distinct(ranked: Sequence[Candidate]) -> list[Candidate]:
    """The sentences, without those that say almost the same as a better one."""
    kept: list[Candidate] = []
    for each in ranked:
        if not any(_says_the_same(each, better) for better in kept):
            kept.append(each)
    return kept


def _says_the_same(candidate: Candidate, other: Candidate) -> bool:
    statement, own = candidate.statement, shingles(candidate.text)
    if statement.is_row:  # rows may differ in a single cell
        return statement == other.statement
    return len(own & shingles(other.text)) > DUPLICATE_SHARE * len(own)


def _answer_length(question: str, prompt: Prompt, told_whole: bool = False) -> int:
    """How many sentences to quote: few for a definition, unless it is all of a section, for one of several questions,
    and after a long answer."""
    long_before = prompt.state is not None and prompt.state.last_response_length > LONG_ANSWER_CHARS
    short = len(prompt.asked) > 1 or long_before or (defined_topic(question) and not told_whole)
    length = SHORT_SENTENCES if short and not wants_only_more(prompt) else MAX_SENTENCES
    return length // 2 if prefers(prompt, SHORT) else length
