"""Answers without a language model: sentences of the evidence, chosen for the question, each with its citation."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from turnwise.text import content_stems, is_specific, one_line, points, sentences, stem, without_citations, words
from turnwise.types import Embedder, Evidence, Prompt

LONGEST_ANSWER = 4  # sentences
LONGEST_SIDE = 3  # sentences for each side of a comparison
READ_CLOSELY = 20  # sentences whose meaning is compared with the question, after their words were
CLOSE_TO_BEST = 0.8  # share of the best sentence's score that another must reach
BEHIND = 0.4  # what it costs a sentence that the search found its passage less fitting than the first
ANSWERS = 0.6  # score from which a sentence counts as an answer
REPEATED = 0.08  # by how much a sentence that was said before must answer better than a new one
INTRODUCES = 0.15  # taken from a sentence that says what the topic is, once that is known
CONTINUES = 0.45  # the same where the user only asks for more

_DEFINITION = re.compile(
    r"^(?:so )?(?:what|who)(?:['’]s| is| are| was| were) (?:an? |the )?[“\"]?(.+?)[”\"]?(?: about)?\??$", re.I
)
_MORE = re.compile(r"\b(?:more|deeper|else|continue|keep going|go on|elaborate|further|expand)\b", re.I)
_LEADING_PRONOUN = re.compile(r"^(?:it|they|this|that|these|those|he|she|its|their|such|here|there)\b", re.I)
_EXAMPLE = re.compile(r"\bexamples?\b|\bfor instance\b|\bshow me\b", re.I)


@dataclass(slots=True)
class Candidate:
    """A sentence that an answer may use."""

    text: str
    evidence: Evidence
    position: int  # in its passage
    rank: int  # of its passage
    said: bool  # in an earlier answer of this conversation
    score: float = 0.0


class ExtractiveAnswerer:
    """A ChatModel that only quotes: it cannot invent, and it says so when the evidence does not answer."""

    name = "extractive"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        # A conversation comes back to the same passages, so their sentences are not embedded again every turn.
        self._vector = lru_cache(maxsize=4096)(lambda sentence: embedder.embed_passages([sentence])[0])

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        text = await asyncio.to_thread(self.answer, prompt)
        for line in re.split(r"(?<=\n)|(?<=\] )", text):
            yield line

    def answer(self, prompt: Prompt) -> str:
        if prompt.form:
            return reform(prompt.said[-1], prompt.form)
        chosen = self.choose(prompt)
        return _written(chosen) if chosen else _unknown(prompt)

    def choose(self, prompt: Prompt) -> list[Candidate]:
        """The sentences that answer the question, best first; none where even the best does not.

        What was said before is left out, except for the one sentence that answers clearly better than anything new, and
        has a word of what the user asks now: words from the conversation alone are no reason to say it again.
        """
        question, sides = prompt.asked[0], prompt.sides
        candidates = _candidates(prompt)
        self._score(question, candidates)
        known = prompt.state.topic if prompt.state and prompt.state.skip_introduction else ""
        if known and not _DEFINITION.match(question.strip()):
            for each in candidates:
                each.score -= INTRODUCES * _introduces(known, each.text)
        continues = _only_more(prompt.question)
        asked_now = content_stems(prompt.question)
        good = [
            each
            for each in candidates
            if each.score >= (CONTINUES if continues else ANSWERS)
            and (not each.said or not asked_now or asked_now & content_stems(each.text))
        ]
        good.sort(key=lambda each: REPEATED * each.said - each.score)
        new = _distinct([each for each in good if not each.said])
        reminder = good[:1] if good and good[0].said and not continues else []
        best = [each for each in new if each.score >= good[0].score * CLOSE_TO_BEST]
        if sides:
            best = [
                each for side in sides for each in [c for c in best if content_stems(side) & _about(c)][:LONGEST_SIDE]
            ]
            best = list({id(each): each for each in best}.values())
        return reminder + best[: (LONGEST_SIDE * 2 if sides else LONGEST_ANSWER) - len(reminder)]

    def _score(self, question: str, candidates: Sequence[Candidate]) -> None:
        """Score the sentences by their words, then the likeliest by their meaning too; the others stay at 0."""
        by_words = _by_words(question, candidates)
        likely = sorted(candidates, key=lambda each: -by_words[id(each)] - 0.1 / (1 + each.rank))[:READ_CLOSELY]
        if likely:
            asked, first = self._embedder.embed_query(question), max(each.evidence.hit.score for each in candidates)
            for each in likely:
                closeness = float(self._vector(each.text) @ asked)
                each.score = 0.6 * closeness + 0.4 * by_words[id(each)] + _fits(each.text, _about(each), question)
                each.score -= BEHIND * (first - each.evidence.hit.score)


# --- choosing -----------------------------------------------------------------------------------------------------


def _candidates(prompt: Prompt) -> list[Candidate]:
    """The sentences of the evidence that can stand in an answer, each once."""
    said = [shingles(sentence) for answer in prompt.said for sentence in sentences(without_citations(answer))]
    found: dict[str, Candidate] = {}
    for rank, evidence in enumerate(prompt.evidence):
        for position, sentence in enumerate(statements(evidence.passage.text)):
            own = shingles(sentence)
            was_said = bool(own) and any(len(own & old) > 0.6 * len(own) for old in said)
            key = " ".join(words(sentence)).lower()
            found.setdefault(key, Candidate(sentence, evidence, position, rank, was_said))
    return list(found.values())


def statements(text: str) -> Iterator[str]:
    """What a passage states: its whole sentences, and the rows of its tables, each with the heads of the columns."""
    heads: list[str] = []
    prose: list[str] = []
    for line in text.split("\n"):
        if " | " not in line:
            heads = []
            prose.append(line)
        elif not heads:
            heads = line.split(" | ")
        else:
            first, *cells = line.split(" | ")
            columns = heads[-len(cells) :]  # the head of the first column may be empty
            yield f"{first}: " + ", ".join(f"{head} {cell}" for head, cell in zip(columns, cells, strict=False)) + "."
    for sentence in sentences("\n".join(prose)):
        if len(words(sentence)) >= 4 and sentence.rstrip("\"'”’)").endswith((".", "!", "?")):
            yield without_citations(sentence)  # a number in a document's own brackets is no citation of ours


def shingles(sentence: str) -> set[tuple[str, ...]]:
    """A sentence's pairs of neighbouring stems, for telling whether it was said before."""
    stems = [stem(word) for word in words(sentence)]
    return set(pairwise(stems))


def _distinct(ranked: Sequence[Candidate]) -> list[Candidate]:
    """The sentences without those that say almost the same as a better one."""
    kept: list[Candidate] = []
    for each in ranked:
        own = shingles(each.text)
        if not any(len(own & shingles(better.text)) > 0.6 * len(own) for better in kept):
            kept.append(each)
    return kept


def _about(candidate: Candidate) -> set[str]:
    passage = candidate.evidence.passage
    return content_stems(f"{candidate.text} {passage.title} {passage.heading}")


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
        key: sum(weight[each] * (1.0 if each in held[key] else 0.85 if each in around[key] else 0.0) for each in wanted)
        / total
        for key in held
    }


def _fits(sentence: str, about: set[str], search: str) -> float:
    """A bonus for a sentence of the form that the question asks for, a malus for one that needs its neighbour."""
    bonus = -0.06 if _LEADING_PRONOUN.match(sentence) else 0.0
    asked = _DEFINITION.match(search.strip())
    if asked and not content_stems(asked[1]) <= about:
        bonus -= 0.2  # on something else
    if asked and re.match(
        rf"(?:an? |the )?{re.escape(asked[1])}\b[^.]{{0,40}}? (?:is|are|was|were|means)\b", sentence, re.I
    ):
        bonus += 0.15
    if _EXAMPLE.search(search) and re.search(r"\b(?:for example|for instance|such as|suppose|e\.g\.)", sentence, re.I):
        bonus += 0.1
    return bonus


def _introduces(topic: str, sentence: str) -> bool:
    pattern = rf"(?:an? |the )?{re.escape(topic)}\b[^.,]{{0,40}}? (?:is|are|was|were) (?:an?|the|one of)\b"
    return bool(re.match(pattern, sentence, re.I))


# --- writing ------------------------------------------------------------------------------------------------------


def _written(chosen: Sequence[Candidate]) -> str:
    """The sentences in a readable order: passages by their best sentence, and each passage in its own order."""
    paragraphs = [f"As I said: {_cited(each)}" for each in chosen if each.said]
    new = [each for each in chosen if not each.said]
    for number in dict.fromkeys(each.evidence.number for each in new):
        mine = sorted((each for each in new if each.evidence.number == number), key=lambda each: each.position)
        paragraphs.append(" ".join(map(_cited, mine)))
    return "\n\n".join(paragraphs)


def _cited(candidate: Candidate) -> str:
    return f"{_tidy(candidate.text)} [{candidate.evidence.number}]"


def _tidy(sentence: str) -> str:
    return " ".join(re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", sentence).split())


def _only_more(question: str) -> bool:
    """Whether the user names nothing and only wants to hear more."""
    return bool(_MORE.search(question)) and not any(map(is_specific, words(question)))


def _unknown(prompt: Prompt) -> str:
    question = one_line(prompt.asked[0], 120)
    if not prompt.evidence:
        return f"I don’t know: nothing in the library is about “{question}”."
    if prompt.said and _only_more(prompt.question):
        opening = "I don’t know more than I have already said"
    else:
        opening = f"I don’t know: the documents do not answer “{question}”"
    # Quoted word for word, so that a caller who keeps only the text can still find the passage again.
    quotes = (next(statements(each.passage.text), each.passage.text.split("\n")[0]) for each in prompt.evidence[:3])
    nearest = "\n".join(f"- “{_tidy(q)}” [{each.number}]" for q, each in zip(quotes, prompt.evidence, strict=False))
    return f"{opening}. The nearest passages are:\n\n{nearest}"


def reform(answer: str, form: str) -> str:
    """The last answer in another form, with its citations."""
    said = [point.removeprefix("As I said: ") for point in points(answer)]
    if form == "list":
        return "\n".join(f"- {point}" for point in said)
    if form == "table":
        rows = (re.fullmatch(r"(.*?)\s*((?:\[\d+\])*)", point, re.S) for point in said)
        body = "\n".join(f"| {row[1].replace('|', '/')} | {row[2]} |" for row in rows if row)
        return f"| Point | Source |\n|---|---|\n{body}"
    if form == "repeat":
        return answer
    if form in ("shorter", "simpler"):
        return said[0] if said else answer
    return "That needs a language model. Without one I can give this answer as a list, as a table, or shorter."
