"""Which of the scored sentences an answer is made of."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import lru_cache, partial
from itertools import pairwise

from turnwise.dialogue.wishes import SHORT
from turnwise.extractive.asking import ANOTHER_EXAMPLE, EXAMPLE, defined_topic, prefers, wants_only_more
from turnwise.extractive.kinds import BETTER, QUANTITIES, gives, sought, without_measures
from turnwise.extractive.scoring import GIVES_EXAMPLE, RANK_PENALTY, REPEATED_PENALTY, defines, is_asked_above
from turnwise.extractive.sides import of_each_side
from turnwise.extractive.statements import (
    ANSWERS,
    CACHE_SIZE,
    CONTINUES,
    MAX_GAP,
    UNSPACED,
    Candidate,
    Statement,
    about,
    asked_stems,
    stated_in,
    stems_of,
    units,
)
from turnwise.text import sentences, stem, without_citations, words
from turnwise.types import Prompt

MAX_SENTENCES = 4
SHORT_SENTENCES = 2  # for a definition, for one of several questions, and after a long answer
LONG_ANSWER_CHARS = 1000  # the answer after a longer one is short
LACKING_PENALTY = 0.1  # beside others, for a sentence that lacks the price, place or time asked for
SPELLED_BONUS = 0.25  # for a row whose whole name is in the question
SEARCH_SCORE_WEIGHT = 2.0  # of how far the search scored the passage below the best one
MAX_GAP_ELSEWHERE = 0.02  # how far behind the best sentence one from another passage may be
SAID_SHARE = 0.5  # of a sentence's word pairs; a sentence that shares more with one said before says the same


def candidates(prompt: Prompt) -> list[Candidate]:
    """The sentences of the documents that can stand in an answer, each once, and a row once under each heading."""
    said, last = _Said(prompt.said), _Said(prompt.said[-1:])
    found: dict[tuple[str, str], Candidate] = {}
    documents = [each for each in prompt.evidence if each.passage.id >= 0]
    best = max((each.hit.score for each in documents), default=0.0)
    for rank, evidence in enumerate(documents):
        behind = RANK_PENALTY * rank + SEARCH_SCORE_WEIGHT * (best - evidence.hit.score)
        for position, stated in enumerate(stated_in(evidence.passage.text)):
            key = (_spelt(stated.text), stated.above if stated.is_row else "")
            just_said = stated.is_row and last.holds(stated)
            new = Candidate(stated, evidence, position, rank, behind, said.holds(stated), just_said)
            found.setdefault(key, new)
    return list(found.values())


class _Said:
    """What was said in earlier answers."""

    def __init__(self, answers: Sequence[str]) -> None:
        texts = [without_citations(answer) for answer in answers]
        self._sentences = [shingles(sentence) for text in texts for sentence in sentences(text)]
        self._texts = [f" {_spelt(text)} " for text in texts]

    def holds(self, stated: Statement) -> bool:
        """Whether a sentence was said in much the same words, or a row as it is: the rows of a table are alike."""
        if stated.is_row:
            return any(f" {_spelt(stated.text)} " in text for text in self._texts)
        own = shingles(stated.text)
        return bool(own) and any(len(own & old) > SAID_SHARE * len(own) for old in self._sentences)


def _spelt(text: str) -> str:
    return " ".join(words(text)).lower()


@lru_cache(maxsize=CACHE_SIZE)
def shingles(sentence: str) -> frozenset[tuple[str, ...]]:
    """A sentence's pairs of neighbouring stems, for telling whether it was said before."""
    return frozenset(pairwise(map(stem, units(sentence))))


def choose(question: str, pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
    """The scored sentences that answer a question, best first; none if even the best does not.

    What was said before is left out, except for the one sentence that answers clearly better than anything new and
    is about what the user asks now: words from the conversation alone are no reason to say it again.
    """
    more = wants_only_more(prompt)
    worth = partial(_worth, question=question, prompt=prompt)
    good = sorted(_good_enough(question, pool, prompt), key=worth, reverse=True)
    new = _distinct([each for each in good if not each.said])
    old = _said_and_meant(question, good, prompt)
    topic = defined_topic(question)
    if topic and (defining := [each for each in old if defines(topic, each.text)]):
        return sorted(defining, key=lambda each: not defines(topic, each.text, " (?:an?|the|one of)"))[:1]
    if prompt.sides and not new:
        return of_each_side(old, prompt.sides)
    if old and not more and (not new or worth(old[0]) > worth(new[0]) + REPEATED_PENALTY):
        return old[:1]
    if prompt.sides:
        return of_each_side(new, prompt.sides)
    if more and not new:
        return _unread(pool)[: _answer_length(question, prompt)]
    lag = MAX_GAP, MAX_GAP if more else MAX_GAP_ELSEWHERE  # in the passage of the best one, and in others
    near = [
        each
        for each in new
        if worth(new[0]) - worth(each) <= lag[each.evidence.number != new[0].evidence.number]
        or is_asked_above(each, question)
    ]
    return near[: _answer_length(question, prompt)]


def _good_enough(question: str, pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
    """The sentences that answer; of these the examples, where one is asked for."""
    least = CONTINUES if wants_only_more(prompt) or prompt.sides else ANSWERS
    measured, named = bool(sought(question, QUANTITIES)), {side.lower() for side in prompt.sides}

    def threshold(each: Candidate) -> float:
        """A row whose name is in the question needs less beside another row, or if it gives the amount asked for."""
        if prompt.sides and (each.spelled or each.stated.name.lower() in named):
            return 0.0
        return CONTINUES if each.spelled and measured and gives(each, question, QUANTITIES) else least

    good = [each for each in pool if each.score >= threshold(each)]
    examples = [each for each in good if GIVES_EXAMPLE.search(each.text)]
    if ANOTHER_EXAMPLE.search(prompt.question):
        return [each for each in examples if not each.said]
    return examples or good if EXAMPLE.search(prompt.question) else good


def _worth(each: Candidate, question: str, prompt: Prompt) -> float:
    """How well a sentence answers beside others: its score, and how well the search liked its passage. Where several
    searches took turns at handing in passages, their order says nothing."""
    together = bool(prompt.sides) or len(prompt.asked) > 1
    lacking = 0.0 if gives(each, question, BETTER) else LACKING_PENALTY
    behind = 0.0 if together or each.spelled else each.behind
    return each.score - lacking - behind + (SPELLED_BONUS if each.spelled else 0.0)


def _said_and_meant(question: str, good: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
    """What was said before and may be said again: it is about what this message asks, not just the conversation."""
    asked_now = without_measures(asked_stems(prompt.question))
    return [each for each in good if each.said and _meant(each, asked_now) and gives(each, question, QUANTITIES)]


def _meant(candidate: Candidate, asked_now: Set[str]) -> bool:
    """Whether a sentence holds a word of what is asked now, and with its headings half of these words; of a row it is
    enough that it is meant, for its words are few."""
    if not asked_now or (candidate.stated.is_row and candidate.meant):
        return True
    return bool(asked_now & stems_of(candidate.text)) and 2 * len(asked_now & about(candidate)) >= len(asked_now)


def _unread(pool: Sequence[Candidate]) -> list[Candidate]:
    """What the passages that were cited hold besides, where no judge can read it."""
    cited = {each.evidence.number for each in pool if each.said}
    return [e for e in pool if e.evidence.number in cited and not e.said and UNSPACED.search(e.text)]


def _distinct(ranked: Sequence[Candidate]) -> list[Candidate]:
    """The sentences without those that say almost the same as a better one."""
    kept: list[Candidate] = []
    for each in ranked:
        own = shingles(each.text)
        alone = each.stated.is_row  # rows are told apart by a cell
        if alone or not any(len(own & shingles(better.text)) > 0.6 * len(own) for better in kept):
            kept.append(each)
    return kept


def _answer_length(question: str, prompt: Prompt) -> int:
    """How many sentences: few for a definition, for one of several questions, and after a long answer."""
    long_before = prompt.state is not None and prompt.state.last_response_length > LONG_ANSWER_CHARS
    short = len(prompt.asked) > 1 or long_before or defined_topic(question)
    length = SHORT_SENTENCES if short and not wants_only_more(prompt) else MAX_SENTENCES
    return length // 2 if prefers(prompt, SHORT) else length
