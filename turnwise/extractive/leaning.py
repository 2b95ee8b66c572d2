"""Answers to messages that lean on the conversation. How such a message is completed is a guess, so the judge reads the
sentences with the message as it was typed, alone and after the last question."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from turnwise.dialogue.asked_again import asks_again
from turnwise.dialogue.intent import read_intent
from turnwise.extractive.asking import ALL_ABOUT, WHAT_ABOUT
from turnwise.extractive.kinds import QUANTITIES, answer_patterns, gives
from turnwise.extractive.repeating import answered_before
from turnwise.extractive.scoring import reading_of, with_mark
from turnwise.extractive.statements import Candidate, cited_last
from turnwise.text import words
from turnwise.types import Judge, Matcher, Prompt

# In choosing what the judge reads: of the matcher's scores of both and of the completed question, for each passage that
# the search ranked higher, and for a sentence of a passage that the last answer cites.
MATCH_WEIGHTS = {"typed": 1.0, "after_last": 0.7, "completed": 0.5}
RANK_PENALTY, CITED_BONUS = 0.1, 0.35
READ = 3  # sentences that the judge reads, twice each
# What decides: of the judge's log-odds, of the rank and of being cited, and that none of them answers. Fitted by
# training/fit_leaning.py.
WEIGHTS = {"typed": 0.57, "after_last": 0.34, "rank": -0.69, "cited": 0.68}
NONE = -2.51
MAX_LEANING_CHARS = 60  # a longer message says itself what it asks
UNLIKELIEST, SUREST = -5.0, 3.0  # log-odds that the judge is believed
LIKELY = 0.35  # from here on a sentence is an answer to a message that was completed from the conversation
SURELY = 0.6  # the same to another short message, which may stand by itself, where what else answers is less sure
NEAR_SHARE = 0.4  # of the best one's chance that another sentence of its passage must have

_COMPARES_PRICE = re.compile(r"\b(?:cheaper|dearer|(?:more|less) expensive)\b", re.I)


def may_lean(prompt: Prompt) -> bool:
    """Whether a message is short and asks one thing of the documents, after others: not all about something, nor the
    same again, nor what costs less, where the judge takes any price for an answer."""
    if ALL_ABOUT.search(prompt.question) or _COMPARES_PRICE.search(prompt.question) or answered_before(prompt):
        return False
    alone = prompt.language == "en" and len(prompt.asked) == 1 and not prompt.sides
    short = bool(prompt.last_question) and len(prompt.question) <= MAX_LEANING_CHARS
    return alone and short and bool(words(prompt.question)) and read_intent(prompt.question).intent is None


def was_completed(question: str, prompt: Prompt) -> bool:
    """Whether a message became this question by words of the conversation."""
    return bool(prompt.added) and question != prompt.question


def names_another(question: str, prompt: Prompt) -> bool:
    """Whether the last question is asked of another thing : "what about shoes?"."""
    return bool(WHAT_ABOUT.search(prompt.question)) or asks_again(prompt.question, question)


def answer_leaning(
    question: str, pool: Sequence[Candidate], prompt: Prompt, judge: Judge, matcher: Matcher, least: float
) -> list[Candidate]:
    """The sentence that most likely answers, if it does with the `least` chance, and new ones of its passage that are
    nearly as likely. It may have been said before, but a sentence with an amount or a time is told again only by rules,
    which know what it measures. Only where there is one, the scores of all are set to how likely they answer."""
    read, facts = described(question, pool, prompt, judge, matcher)
    likely = likelihoods(facts, WEIGHTS, NONE)
    for each, chance in zip(read, likely, strict=True):
        each.likely = chance
    best, *others = sorted(read, key=lambda each: -each.likely)
    again = best.said and not best.statement.is_row and answer_patterns(question, QUANTITIES)
    if best.likely < least or again or not gives(best, question, QUANTITIES):
        return []
    for each in pool:
        each.score = each.likely
    if best.said:
        return [best]
    near = (each for each in others if each.evidence is best.evidence and each.score >= NEAR_SHARE * best.score)
    return [best, *(each for each in near if not each.said)]


def likelihoods(facts: Sequence[Mapping[str, float]], weights: Mapping[str, float], none: float) -> list[float]:
    """How likely each sentence answers, of which at most one does (a conditional logit)."""
    weighed = [math.exp(sum(weights[name] * value for name, value in each.items())) for each in facts]
    total = sum(weighed) + math.exp(none)
    return [weight / total for weight in weighed]


def described(
    question: str, pool: Sequence[Candidate], prompt: Prompt, judge: Judge, matcher: Matcher
) -> tuple[list[Candidate], list[dict[str, float]]]:
    """The sentences that are read, and the facts that decide about each."""
    typed, before = with_mark(prompt.question), with_mark(prompt.last_question)
    asked = {"typed": typed, "after_last": f"{before} {typed}", "completed": with_mark(question)}
    cited = {each.evidence.number for each in cited_last(pool, prompt)}
    readings = [reading_of(each) for each in pool]
    near = {id(each): CITED_BONUS * (each.evidence.number in cited) - RANK_PENALTY * each.rank for each in pool}
    for name, weight in MATCH_WEIGHTS.items():
        for each, match in zip(pool, matcher.scores(asked[name], readings), strict=True):
            near[id(each)] += weight * match
    read = sorted(pool, key=lambda each: -near[id(each)])[:READ]
    readings = [reading_of(each) for each in read]
    odds = {name: judge.odds(asked[name], readings) for name in ("typed", "after_last")}
    facts: list[dict[str, float]] = []
    for place, each in enumerate(read):
        told = {name: min(SUREST, max(UNLIKELIEST, values[place])) for name, values in odds.items()}
        facts.append({**told, "rank": each.rank, "cited": each.evidence.number in cited})
    return read, facts
