"""Answers in languages that the judge of English cannot read: one that reads them judges each sentence with the message
as it was typed and what was said before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from turnwise.dialogue.citing import abstains, without_again
from turnwise.extractive.asking import wants_only_more
from turnwise.extractive.foreign import in_context, is_foreign, lacks, mark_foreign_rows, says_whom
from turnwise.extractive.leaning import likelihoods
from turnwise.extractive.scoring import foreign_word_scores, mark
from turnwise.extractive.statements import Candidate, cited_last
from turnwise.text import without_citations, words
from turnwise.types import Judge, Passage, Prompt

CITED_BONUS, RANK_PENALTY = 0.15, 0.05  # beside the share of words, in choosing what the judge reads
READ = 8  # sentences that the judge reads
# What decides: of the judge's log-odds, of the share of words, of the rank, of being cited and of having been said
# before, and that none of them answers. Fitted by training/fit_leaning.py; that a sentence lacks the price, the time or
# the person that is asked for weighs more than was fitted, for few do.
WEIGHTS = {"judged": 0.67, "words": 2.98, "rank": -0.37, "cited": 2.31, "said": 0.6, "lacks": -4.0}
NONE = 0.69
UNLIKELIEST, SUREST = -6.0, 4.0  # log-odds that the judge is believed
LIKELY = 0.4  # from here on a sentence is an answer
AGREED = 0.25  # the same if it is the one that the rules choose by their words too
ANY = 0.6  # of all sentences together: from here on the words may choose among them, as where a list answers
ALL_WORDS = 0.8  # of the share of words: from here on the words may choose too, as under the heading that is asked for
NEAR_SHARE = 0.4  # of the best one's chance that another sentence of its passage must have
MAX_READ_CHARS = 160  # of a sentence with the one before it: more does not fit beside what was said


class Opinion(NamedTuple):
    """What the judge thinks: the sentences that answer, best first, and how likely each that it read does."""

    answer: list[Candidate]
    chances: Mapping[int, float]  # by the id of the candidate
    shares: Mapping[int, float]  # of words, the same

    def agrees(self, by_words: Candidate) -> bool:
        """Whether a sentence that the rules chose by their words may answer where none is sure to."""
        own, share = (each.get(id(by_words), 0.0) for each in (self.chances, self.shares))
        alike = own >= AGREED and own == max(self.chances.values())
        return alike or sum(self.chances.values()) >= ANY or share >= ALL_WORDS


def may_be_read(prompt: Prompt) -> bool:
    """Whether a message is in such a language and asks one thing of the documents."""
    one = len(prompt.asked) == 1 and not prompt.sides
    return one and is_foreign(prompt.language) and bool(words(prompt.question)) and not wants_only_more(prompt)


def judged(question: str, pool: Sequence[Candidate], prompt: Prompt, judge: Judge) -> Opinion:
    """The sentence that most likely answers, even if it was said before, and new ones of its passage that are nearly as
    likely; only where there is one, the scores of all are set to how likely they answer."""
    read, facts = described(question, pool, prompt, judge)
    likely = likelihoods(facts, WEIGHTS, NONE)
    chances = {id(each): chance for each, chance in zip(read, likely, strict=True)}
    shares = {id(each): told["words"] for each, told in zip(read, facts, strict=True)}
    best, *others = sorted(read, key=lambda each: -chances[id(each)])
    if chances[id(best)] < LIKELY:
        return Opinion([], chances, shares)
    for each in pool:
        each.score = chances.get(id(each), 0.0)
    near = [each for each in others if each.evidence is best.evidence and each.score >= NEAR_SHARE * best.score]
    near = [each for each in near if not each.said and (each.meant or not each.statement.is_row)]
    return Opinion([best] if best.said else [best, *near], chances, shares)


def described(
    question: str, pool: Sequence[Candidate], prompt: Prompt, judge: Judge
) -> tuple[list[Candidate], list[dict[str, float]]]:
    """The sentences that are read, and the facts that decide about each."""
    typed = question if question in prompt.question else prompt.question  # one of several, or as it was completed
    mark(question, pool, prompt)
    mark_foreign_rows(pool, typed, " ".join(term.text for term in prompt.added), prompt.language)
    shares = foreign_word_scores(typed, pool, prompt)
    cited = {each.evidence.number for each in cited_last(pool, prompt)}
    near = {
        id(each): shares[id(each)] + CITED_BONUS * (each.evidence.number in cited) - RANK_PENALTY * each.rank
        for each in pool
    }
    read = sorted(pool, key=lambda each: -near[id(each)])[:READ]
    asked = [prompt.last_question, *prompt.before_last] if prompt.last_question else []
    message = in_context(typed, asked, last_answer(prompt))
    facts: list[dict[str, float]] = []
    for each, odds in zip(read, judge.odds(message, [_reading_of(each) for each in read]), strict=True):
        told = {"judged": min(SUREST, max(UNLIKELIEST, odds)), "words": shares[id(each)], "rank": each.rank}
        lacking = lacks(each, typed, prompt.language)
        unnamed = says_whom(each, typed, prompt.language) is False
        told |= {"cited": each.evidence.number in cited, "said": each.said, "lacks": lacking or unnamed}
        facts.append(told)
    return read, facts


def _reading_of(candidate: Candidate) -> Passage:
    """A sentence with the one before it, if both can be read."""
    text = candidate.statement.reading(True)
    fits = len(text) <= MAX_READ_CHARS
    return replace(candidate.evidence.passage, text=text if fits else candidate.statement.whole)


def last_answer(prompt: Prompt) -> str:
    """What the last answer told, without its citations."""
    last = prompt.said[-1] if prompt.said else ""
    return "" if abstains(last) else without_again(without_citations(last))
