"""Answers to messages that lean on the conversation. How such a message is completed is a guess, so a judge of its own
reads the sentences with the message as it was typed and what was said before it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from turnwise.dialogue.asked_again import asks_again
from turnwise.dialogue.citing import abstains, without_again
from turnwise.dialogue.intent import read_intent
from turnwise.extractive.asking import WHAT_ABOUT
from turnwise.extractive.kinds import QUANTITIES, answer_patterns
from turnwise.extractive.scoring import reading_of, with_mark
from turnwise.extractive.statements import Candidate, cited_last
from turnwise.text import without_citations, words
from turnwise.types import Judge, Matcher, Prompt

# In choosing what the judge reads: of the matcher's scores of the message as typed, after the last question and as it
# was completed, for each passage that the search ranked higher, and for a sentence of a passage that the last answer
# cites.
MATCH_WEIGHTS = {"typed": 1.0, "after_last": 0.7, "completed": 0.5}
RANK_PENALTY, CITED_BONUS = 0.1, 0.35
READ = 3  # sentences that the judge reads
# What decides: of its log-odds and those of the judge of single questions, which reads the message after the last
# question, of the rank and of being cited, and that none answers. Fitted by training/fit_leaning.py.
WEIGHTS = {"in_context": 0.62, "after_last": 0.32, "rank": -0.55, "cited": 0.9}
NONE = -1.44
UNLIKELIEST, SUREST = -5.0, 3.0  # log-odds that a judge is believed
LIKELY = 0.45  # from here on a sentence is an answer to a message that was completed from the conversation
SURELY = 0.7  # the same to any other short message, which may stand by itself, if nothing else answers
EASIER_AGAIN = 0.1  # so much less is enough for what was said before, as the answer will tell
NEAR_SHARE = 0.4  # of the best one's chance that another sentence of its passage must have
MAX_SAID_CHARS = 80  # of a question or an answer before the message, as the judge reads them
MAX_LEANING_CHARS = 60  # a longer message says itself what it asks

_COMPARES_PRICE = re.compile(r"\b(?:cheaper|dearer|(?:more|less) expensive)\b", re.I)


class Models(NamedTuple):
    """The judge of single questions, the judge of messages with what was said before them, and the matcher."""

    judge: Judge
    in_context: Judge
    matcher: Matcher


def may_lean(question: str, prompt: Prompt) -> bool:
    """Whether a message is short and asks one thing of the documents, after others: no amount or time, and not the last
    question of another thing, for which there are rules."""
    alone = prompt.language == "en" and len(prompt.asked) == 1 and not prompt.sides
    short = bool(prompt.last_question) and len(prompt.question) <= MAX_LEANING_CHARS
    if (
        not (alone and short and words(prompt.question))
        or WHAT_ABOUT.search(prompt.question)
        or asks_again(prompt.question, question)
    ):
        return False
    measured = answer_patterns(question, QUANTITIES) or _COMPARES_PRICE.search(prompt.question)
    return read_intent(prompt.question).intent is None and not measured


def leans(question: str, prompt: Prompt) -> bool:
    """Whether such a message was completed from the conversation."""
    return bool(prompt.added) and question != prompt.question and may_lean(question, prompt)


def in_context(message: str, asked: Sequence[str], answered: str) -> str:
    """A message with what was said before it, as the judge reads it: the message, the last question, how its answer
    began, and the questions before that (`asked` has the newest first). What is empty is left out."""
    last, *earlier = (with_mark(_cut(each)) if each.strip() else "" for each in asked) if asked else ("",)
    return " | ".join(filter(None, (with_mark(message), last, _cut(answered), *earlier)))


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_SAID_CHARS else text[:MAX_SAID_CHARS].rpartition(" ")[0] or text[:MAX_SAID_CHARS]


def answer_leaning(
    question: str, pool: Sequence[Candidate], prompt: Prompt, models: Models, least: float
) -> list[Candidate]:
    """The sentence that most likely answers, if it does with the `least` chance, or a little less if it was said
    before, and new ones of its passage that are nearly as likely. Only where there is one, the scores of all are set to
    how likely they answer."""
    read, facts = described(question, pool, prompt, models)
    weighed = [math.exp(sum(WEIGHTS[name] * value for name, value in each.items())) for each in facts]
    total = sum(weighed) + math.exp(NONE)
    chances = {id(each): weight / total for each, weight in zip(read, weighed, strict=True)}
    best, *others = sorted(read, key=lambda each: -chances[id(each)])
    if chances[id(best)] < least - EASIER_AGAIN * best.said:
        return []
    for each in pool:
        each.score = chances.get(id(each), 0.0)
    if best.said:
        return [best]
    near = (each for each in others if each.evidence is best.evidence and each.score >= NEAR_SHARE * best.score)
    return [best, *(each for each in near if not each.said)]


def described(
    question: str, pool: Sequence[Candidate], prompt: Prompt, models: Models
) -> tuple[list[Candidate], list[dict[str, float]]]:
    """The sentences that are read, and the facts that decide about each."""
    typed = with_mark(prompt.question)
    after_last = f"{with_mark(prompt.last_question)} {typed}"
    asked = {"typed": typed, "after_last": after_last, "completed": with_mark(question)}
    cited = {each.evidence.number for each in cited_last(pool, prompt)}
    readings = [reading_of(each) for each in pool]
    near = {id(each): CITED_BONUS * (each.evidence.number in cited) - RANK_PENALTY * each.rank for each in pool}
    for name, weight in MATCH_WEIGHTS.items():
        for each, match in zip(pool, models.matcher.scores(asked[name], readings), strict=True):
            near[id(each)] += weight * match
    read = sorted(pool, key=lambda each: -near[id(each)])[:READ]
    answered = "".join(prompt.said[-1:])
    answered = "" if abstains(answered) else without_again(without_citations(answered))
    message = in_context(prompt.question, prompt.earlier, answered)
    readings = [reading_of(each) for each in read]
    odds = models.in_context.odds(message, readings), models.judge.odds(after_last, readings)
    facts = [
        {
            "in_context": min(SUREST, max(UNLIKELIEST, of_it)),
            "after_last": min(SUREST, max(UNLIKELIEST, beside)),
            "rank": each.rank,
            "cited": each.evidence.number in cited,
        }
        for each, of_it, beside in zip(read, *odds, strict=True)
    ]
    return read, facts
