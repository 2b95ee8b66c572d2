"""Answers without a language model: sentences of the evidence, chosen for the question, each with its citation."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from turnwise.text import content_stems, one_line, sentences, stem, without_citations, words
from turnwise.types import Embedder, Evidence, Prompt

if TYPE_CHECKING:
    from turnwise.types import Vectors

LONGEST_ANSWER = 4  # sentences; a comparison gets as many for each side
READ_CLOSELY = 16  # sentences whose meaning is compared with the question, after their words were
CLOSE_TO_BEST = 0.72  # share of the best sentence's score that another must reach
ANSWERS = 0.52  # score from which the best sentence counts as an answer

_DEFINITION = re.compile(r"^(?:so )?(?:what|who)(?:['’]s| is| are| was| were) (?:an? |the )?(.+?)\??$", re.I)
_LEADING_PRONOUN = re.compile(r"^(?:it|they|this|that|these|those|he|she|its|their|such|here|there)\b", re.I)
_EXAMPLE = re.compile(r"\bexamples?\b|\bfor instance\b|\bshow me\b", re.I)


@dataclass(slots=True)
class Candidate:
    """A sentence that an answer may use."""

    text: str
    evidence: Evidence
    position: int  # in its passage
    rank: int  # of its passage
    score: float = 0.0


class ExtractiveAnswerer:
    """A ChatModel that only quotes: it cannot invent, and it says so when the evidence does not answer."""

    name = "extractive"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        text = await asyncio.to_thread(self.answer, prompt)
        for line in re.split(r"(?<=\n)|(?<=\] )", text):
            yield line

    def answer(self, prompt: Prompt) -> str:
        if prompt.form:
            return reform(prompt.said[-1], prompt.form)
        candidates = _candidates(prompt)
        chosen: list[Candidate] = []
        for search in prompt.searches[1:] or prompt.searches:
            for candidate in self._best(search, candidates):
                if candidate not in chosen:
                    chosen.append(candidate)
        return _written(chosen) if chosen else _unknown(prompt)

    def _best(self, search: str, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The sentences that answer one search, best first; none where even the best does not."""
        by_words = _by_words(search, candidates)
        likely = sorted(candidates, key=lambda each: -by_words[id(each)] - 0.1 / (1 + each.rank))[:READ_CLOSELY]
        if not likely:
            return []
        closeness = self._closeness(search, likely)
        for each, close in zip(likely, closeness, strict=True):
            each.score = (
                float(close) * 0.6 + by_words[id(each)] * 0.4 + 0.03 / (1 + each.rank) + _fits(each.text, search)
            )
        likely.sort(key=lambda each: -each.score)
        best = likely[0].score
        if best < ANSWERS:
            return []
        return [each for each in likely if each.score >= best * CLOSE_TO_BEST][:LONGEST_ANSWER]

    def _closeness(self, search: str, likely: Sequence[Candidate]) -> Vectors:
        vectors = self._embedder.embed_passages([each.text for each in likely])
        closeness: Vectors = vectors @ self._embedder.embed_query(search)
        return closeness


# --- choosing -----------------------------------------------------------------------------------------------------


def _candidates(prompt: Prompt) -> list[Candidate]:
    """The sentences of the evidence that this conversation has not heard yet, and that can stand in an answer."""
    said = [shingles(sentence) for answer in prompt.said for sentence in sentences(without_citations(answer))]
    found: list[Candidate] = []
    heard: set[str] = set()
    for rank, evidence in enumerate(prompt.evidence):
        for position, sentence in enumerate(sentences(evidence.passage.text)):
            own = shingles(sentence)
            key = " ".join(words(sentence)).lower()
            if len(words(sentence)) < 4 or key in heard or not sentence.rstrip("\"'”’)").endswith((".", "!", "?", ":")):
                continue
            if own and any(len(own & old) > 0.6 * len(own) for old in said):
                continue
            heard.add(key)
            found.append(Candidate(sentence, evidence, position, rank))
    return found


def shingles(sentence: str) -> set[tuple[str, ...]]:
    """A sentence's pairs of neighbouring stems, for telling whether it was said before."""
    stems = [stem(word) for word in words(sentence)]
    return set(pairwise(stems))


def _by_words(search: str, candidates: Sequence[Candidate]) -> dict[int, float]:
    """How much of the question each sentence holds (0 to 1), rare words counting more; its heading helps a little."""
    wanted = content_stems(search)
    held = {id(each): content_stems(each.text) for each in candidates}
    around = {
        id(each): content_stems(f"{each.evidence.passage.title} {each.evidence.passage.heading}") for each in candidates
    }
    frequency = Counter(key for stems in held.values() for key in stems & wanted)
    weight = {key: math.log(1 + len(candidates) / (1 + frequency[key])) for key in wanted}
    total = sum(weight.values()) or 1.0
    return {
        key: sum(weight[each] * (1.0 if each in held[key] else 0.6 if each in around[key] else 0.0) for each in wanted)
        / total
        for key in held
    }


def _fits(sentence: str, search: str) -> float:
    """A bonus for a sentence of the form that the question asks for, a malus for one that needs its neighbour."""
    bonus = -0.06 if _LEADING_PRONOUN.match(sentence) else 0.0
    asked = _DEFINITION.match(search.strip())
    if asked and re.match(
        rf"(?:an? |the )?{re.escape(asked[1])}\b[^.]{{0,40}}? (?:is|are|was|were|means)\b", sentence, re.I
    ):
        bonus += 0.15
    if _EXAMPLE.search(search) and re.search(r"\b(?:for example|for instance|such as|suppose|e\.g\.)", sentence, re.I):
        bonus += 0.1
    return bonus


# --- writing ------------------------------------------------------------------------------------------------------


def _written(chosen: Sequence[Candidate]) -> str:
    """The sentences in a readable order: passages by their best sentence, and each passage in its own order."""
    passages = list(dict.fromkeys(each.evidence.number for each in chosen))
    paragraphs = []
    for number in passages:
        mine = sorted((each for each in chosen if each.evidence.number == number), key=lambda each: each.position)
        paragraphs.append(" ".join(f"{_tidy(each.text)} [{number}]" for each in mine))
    return "\n\n".join(paragraphs)


def _tidy(sentence: str) -> str:
    return " ".join(re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", sentence).split())


def _unknown(prompt: Prompt) -> str:
    question = one_line(prompt.searches[0] if prompt.searches else prompt.question, 120)
    if not prompt.evidence:
        return f"I don’t know: nothing in the library is about “{question}”."
    places: dict[str, int] = {}
    for each in prompt.evidence:
        places.setdefault(" › ".join(part for part in (each.passage.title, each.passage.heading) if part), each.number)
    nearest = "\n".join(f"- {place} [{number}]" for place, number in list(places.items())[:3])
    already = " beyond what I have already said" if prompt.said else ""
    return f"I don’t know: the documents do not answer “{question}”{already}. The nearest passages are:\n\n{nearest}"


def reform(answer: str, form: str) -> str:
    """The last answer in another form, with its citations."""
    points = [_tidy(sentence) for sentence in sentences(answer)]
    if form == "list":
        return "\n".join(f"- {point}" for point in points)
    if form == "table":
        rows = [re.fullmatch(r"(.*?)\s*((?:\[\d+\])*)", point, re.S) for point in points]
        body = "\n".join(f"| {row[1].replace('|', '/')} | {row[2]} |" for row in rows if row)
        return f"| Point | Source |\n|---|---|\n{body}"
    if form == "shorter":
        return points[0] if points else answer
    return "That needs a language model. Without one I can give this answer as a list, as a table, or shorter."
