"""Answers without a language model: sentences of the evidence, chosen for the question, each with its citation."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, takewhile

from turnwise.dialogue.citing import AGAIN, abstains
from turnwise.dialogue.irregular import base_stems
from turnwise.dialogue.language import CODES, language, says, wants_more
from turnwise.dialogue.wishes import LISTS, SHORT
from turnwise.text import (
    content_stems,
    is_specific,
    one_line,
    points,
    said_stems,
    sentences,
    stem,
    without_citations,
    words,
)
from turnwise.types import ConversationState, Evidence, Hit, Prompt, Reranker

LONGEST_ANSWER = 4  # sentences
SHORT_ANSWER = 2  # of a definition, after a long answer, and for each side of a comparison or part of a question
MOST_STEPS = 8
FEW_ROWS = 5  # of a table that is made shorter
READ_CLOSELY = 7  # sentences that the judge reads, after their words were compared with the question's
NEAR, ELSEWHERE = 0.2, 0.02  # how far a sentence may be behind the best: one of the same passage, one of another
BEHIND = 0.1  # what it costs a sentence for each passage that the search found more fitting than its own
LESS = 2.0  # and what a point of the search's score counts that its passage has less than the first
ANSWERS = 0.3  # score from which a sentence counts as an answer
CONTINUES = 0.2  # the same where the user only asks for more, and for a side of a comparison
UNJUDGED = 0.3  # what a sentence must hold more of the question's words where no judge can read it
REPEATED = 0.15  # by how much a sentence that was said before must answer better than a new one
SAID = 0.5  # share of a sentence's pairs of words in one that was said, from which it says the same
REMEMBERED = 8192  # sentences and passages that are not read anew, since a conversation comes back to them
LONG = 1000  # characters of the last answer after which this one is shorter

_DEFINITION = re.compile(
    r"^(?:so |and )?(?:(?:what|who)(?:['’]s| is| are| was| were) |define |what does )(?:an? |the )?[“\"]?(.+?)[”\"]?"
    r"(?: about| mean)?(?: again| exactly)?\??$",
    re.I,
)
_HOW_TO = re.compile(r"\bhow (?:do|can|could|should|would|must) (?:i|we|you|one)\b|\bhow to\b|\bsteps?\b", re.I)
_MORE = re.compile(r"\b(?:more|deeper|else|continue|keep going|go on|elaborate|further|expand)\b", re.I)
_EXAMPLE = re.compile(r"\bexamples?\b|\bfor instance\b|\bshow me\b", re.I)
_ANOTHER = re.compile(r"\b(?:another|other|further|more|different|second) (?:\w+ )?examples?\b", re.I)
_GIVES_EXAMPLE = re.compile(r"\b(?:for example|for instance|such as|suppose|imagine|e\.g\.)|\bexamples?\b", re.I)
_LEADING_PRONOUN = re.compile(
    r"^(?:(?:but|and|so|then|also|however|thus),? )?(?:it|they|this|that|these|those|he|she|its|their|such)\b", re.I
)
_AMOUNT = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|fifty|hundreds?|thousands?|"
    r"millions?|billions?|dozens?|half|third|quarter|once|twice|none|every|daily|weekly|monthly|yearly|annual\w*|hourly)\b",
    re.I,
)
_TIME = re.compile(
    r"\d|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|"
    r"wednesday|thursday|friday|saturday|sunday|spring|summer|autumn|winter|century|years?|months?|weeks?|days?|hours?|"
    r"morning|evening|noon|midnight|before|after|when|while|until|once|during|every|daily|weekly|annual\w*)\b",
    re.I,
)
_NAME = re.compile(
    r"(?<=\w )[A-Z]|^(?!(?:An?|The|It|They|This|That|These|Those|In|On|At|For|If|When|Some|Many|Most|All|There)\b)[A-Z]"
    r"|\b(?:people|person|men|women|students?|pupils?|staff|\w+ers?|\w+ors?)\b"
)
# What a question asks for, and what a sentence that gives it holds.
_WANTS = (
    (re.compile(r"\bhow (?:many|much|long|old|far|often|tall|big|high|large|fast|deep|wide|heavy)\b", re.I), _AMOUNT),
    (re.compile(r"^(?:\W*\w+,? ){0,2}when\b|\b(?:what|which) (?:year|date|day|month|time)\b", re.I), _TIME),
    (re.compile(r"^(?:\W*\w+,? ){0,2}who(?:se|m)?\b", re.I), _NAME),
)
_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")  # scripts without spaces between words
_SMALL = re.compile(  # words of asking and of grammar in such scripts; hiragana writes little else
    "什么样|什麼樣|什么|什麼|为什么|為什麼|怎么样|怎麼樣|怎么|怎麼|如何|多少|几个|幾個|哪里|哪裡|哪个|哪個|哪些|是否|可以|告诉我|告訴我|更多|请问|請問|"
    "[是的了吗嗎呢在和与與有谁誰哪几幾吧啊请請何]|[\u3040-\u309f]+"
)
_TABLE = re.compile(r"^(\|.+)\n\|[ :|-]+\n((?:\|.*(?:\n|$))+)", re.M)  # its heads, and its rows


@dataclass(slots=True)
class Candidate:
    """A sentence that an answer may use."""

    text: str
    evidence: Evidence
    position: int  # in its passage
    rank: int  # of its passage
    behind: float  # what it counts that the search found others more fitting
    said: bool  # in an earlier answer of this conversation
    item: bool = False  # of a list
    score: float = 0.0


class ExtractiveAnswerer:
    """A ChatModel that only quotes: it cannot invent, and it says so when the evidence does not answer.

    The judge reads a question and a sentence together and says how well one answers the other (a logit).
    """

    name = "extractive"

    def __init__(self, judge: Reranker) -> None:
        self._judge = judge

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        text = await asyncio.to_thread(self.answer, prompt)
        for line in re.split(r"(?<=\n)|(?<=\] )", text):
            yield line

    def answer(self, prompt: Prompt) -> str:
        if prompt.form:
            nothing = abstains(prompt.said[-1]) or prompt.said[-1] in _own_words()
            return says(prompt.language, "nothing_to_reform") if nothing else reform(prompt.said[-1], prompt.form)
        worked_out = _worked_out(prompt)
        pool = candidates(prompt)
        if worked_out and not pool:
            return worked_out
        parts, unknown = [worked_out] if worked_out else [], []
        for question in prompt.asked:
            chosen = self.choose(question, pool, prompt)
            if not chosen:
                unknown.append(question)
            elif not any(_cited(chosen[0]) in part for part in parts):  # else the part before has answered this one too
                parts.append(_as_preferred(_written(question, chosen, pool, prompt), prompt))
            for each in pool:
                each.said = each.said or any(_cited(each) in part for part in parts)  # so that no part says it again
        parts += [_unknown(question, prompt) for question in unknown[:2]]
        return "\n\n".join(parts)

    def answers(self, question: str, hits: Sequence[Hit], said: Sequence[str]) -> bool:
        """Whether these passages answer a question with something that was not said yet."""
        evidence = tuple(Evidence(number, hit) for number, hit in enumerate(hits, 1))
        prompt = Prompt((), question, (question,), evidence, tuple(said))
        return any(not each.said for each in self.choose(question, candidates(prompt), prompt))

    def choose(self, question: str, pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
        """The sentences that answer a question, best first; none where even the best does not.

        What was said before is left out, except for the one sentence that answers clearly better than anything new, and
        has a word of what the user asks now: words from the conversation alone are no reason to say it again.
        """
        more = _only_more(prompt)
        self._score(_subject(question, prompt) if more else question, pool, prompt)
        asked_now = _asked_stems(prompt.question)
        good = [each for each in pool if each.score >= (CONTINUES if more or prompt.sides else ANSWERS)]
        examples = [each for each in good if _GIVES_EXAMPLE.search(each.text)]
        if _ANOTHER.search(prompt.question):
            good = [each for each in examples if not each.said]
        elif _EXAMPLE.search(prompt.question):
            good = examples or good
        together = bool(prompt.sides) or len(prompt.asked) > 1  # several searches took turns at handing passages in
        cost = {id(each): 0.0 if together else each.behind for each in good}
        good.sort(key=lambda each: cost[id(each)] - each.score)
        new = _distinct([each for each in good if not each.said])
        old = [each for each in good if each.said and (not asked_now or asked_now & _stems(each.text))]
        definition = _DEFINITION.match(question.strip())
        if definition and (defining := [each for each in old if _defines(definition[1], each.text)]):
            return sorted(defining, key=lambda each: not _defines(definition[1], each.text, " (?:an?|the|one of)"))[:1]
        if old and not more and (not new or old[0].score > new[0].score + REPEATED):
            return old[:1]
        if prompt.sides:
            return _of_each_side(new, prompt.sides)
        if more and not new:
            new = _unread(pool)
        if new:
            best, number = new[0].score - cost.get(id(new[0]), 0.0), new[0].evidence.number
            lag = {True: NEAR, False: NEAR if more else ELSEWHERE}
            new = [e for e in new if best - (e.score - cost.get(id(e), 0.0)) <= lag[e.evidence.number == number]]
        return new[: _length(question, prompt)]

    def _score(self, question: str, pool: Sequence[Candidate], prompt: Prompt) -> None:
        """Score the sentences by their words, then the likeliest by what the judge says; the others stay at 0."""
        by_words = _by_words(question, pool)
        for each in pool:
            each.score = 0.0
        likely = sorted(pool, key=lambda each: BEHIND * each.rank - by_words[id(each)] + REPEATED * each.said)
        if _UNSPACED.search(question):  # the judge reads English: here the words alone decide
            for each in (each for each in pool if _UNSPACED.search(each.text)):
                each.score = by_words[id(each)] - UNJUDGED
            likely = [each for each in likely if not _UNSPACED.search(each.text)]
        likely = likely[:READ_CLOSELY]
        read = [replace(each.evidence.passage, text=each.text) for each in likely]
        for each, logit in zip(likely, self._judge.scores(question, read), strict=True):
            answers = 1 / (1 + math.exp(-logit / 2))
            each.score = 0.5 * answers + 0.5 * by_words[id(each)] + _fits(each, question, prompt.state)


# --- choosing -----------------------------------------------------------------------------------------------------


def candidates(prompt: Prompt) -> list[Candidate]:
    """The sentences of the documents that can stand in an answer, each once."""
    said = [shingles(sentence) for answer in prompt.said for sentence in sentences(without_citations(answer))]
    found: dict[str, Candidate] = {}
    documents = [each for each in prompt.evidence if each.passage.id >= 0]
    best = max((each.hit.score for each in documents), default=0.0)
    for rank, evidence in enumerate(documents):
        behind = BEHIND * rank + LESS * (best - evidence.hit.score)
        for position, sentence in enumerate(_stated(evidence.passage.text)):
            own = shingles(sentence)
            was_said = bool(own) and any(len(own & old) > SAID * len(own) for old in said)
            key = " ".join(words(sentence)).lower()
            item = bool(_ITEM.match(sentence))
            found.setdefault(key, Candidate(sentence, evidence, position, rank, behind, was_said, item))
    return list(found.values())


@lru_cache(maxsize=REMEMBERED)
def _stated(text: str) -> tuple[str, ...]:
    return tuple(statements(text))


def statements(text: str) -> Iterator[str]:
    """What a passage states: its whole sentences and list items, and the rows of its tables, each with the heads of the
    columns."""
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
        ended = sentence.rstrip("\"'”’)」』）").endswith((".", "!", "?", "。", "！", "？"))
        if len(_units(sentence)) >= 4 and (ended or _ITEM.match(sentence)):
            yield without_citations(sentence)  # a number in a document's own brackets is no citation of ours


@lru_cache(maxsize=REMEMBERED)
def shingles(sentence: str) -> frozenset[tuple[str, ...]]:
    """A sentence's pairs of neighbouring stems, for telling whether it was said before."""
    return frozenset(pairwise(map(stem, _units(sentence))))


def _units(text: str) -> list[str]:
    """The words of a text, or the characters where it puts no spaces between words."""
    if not _UNSPACED.search(text):
        return words(text)
    return [unit for word in words(text) for unit in (word if _UNSPACED.match(word) else (word,))]


def _stems(text: str) -> frozenset[str]:
    """What a text says, by its words; by single and neighbouring characters where it puts no spaces between words."""
    if not _UNSPACED.search(text):
        return frozenset(base_stems(said_stems(text)))
    runs = _UNSPACED.findall(text)
    pairs = {first + second for run in runs for first, second in pairwise(run)}
    return said_stems(_UNSPACED.sub(" ", text)).union("".join(runs), pairs)


def _asked_stems(question: str) -> set[str]:
    """What a question asks about; of a run of characters without spaces its pairs, without the small words."""
    if not _UNSPACED.search(question):
        return base_stems(content_stems(question))
    runs = [run for found in _UNSPACED.findall(question) for run in _SMALL.split(found) if run]
    pairs = {first + second for run in runs for first, second in pairwise(run)}
    return content_stems(_UNSPACED.sub(" ", question)) | pairs | {run for run in runs if len(run) == 1}


def _unread(pool: Sequence[Candidate]) -> list[Candidate]:
    """What the passages that were quoted hold besides, where no judge can read it."""
    quoted = {each.evidence.number for each in pool if each.said}
    return [e for e in pool if e.evidence.number in quoted and not e.said and _UNSPACED.search(e.text)]


def _distinct(ranked: Sequence[Candidate]) -> list[Candidate]:
    """The sentences without those that say almost the same as a better one."""
    kept: list[Candidate] = []
    for each in ranked:
        own = shingles(each.text)
        if not any(len(own & shingles(better.text)) > 0.6 * len(own) for better in kept):
            kept.append(each)
    return kept


def _of_each_side(ranked: Sequence[Candidate], sides: Sequence[str]) -> list[Candidate]:
    """The best that are about both sides of a comparison, and the best about each alone; none twice."""
    own = _own_stems(sides)
    best = [each for each in ranked if _of_all(each, own)][:SHORT_ANSWER]
    alone = [each for each in ranked if not _of_all(each, own)]
    for place in range(len(own)):
        best += [each for each in alone if _side_of(each, own) == place][:SHORT_ANSWER]
    return best


def _own_stems(sides: Sequence[str]) -> list[set[str]]:
    """The words of each side of a comparison, without those that all have, unless it has no other."""
    named = ({stem(word) for word in words(side) if is_specific(word)} or content_stems(side) for side in sides)
    stems = [base_stems(each) for each in named]
    shared = set.intersection(*stems)
    return [each - shared or each for each in stems]


def _of_all(candidate: Candidate, own: Sequence[set[str]]) -> bool:
    said = _stems(candidate.text)
    return all(stems <= said for stems in own)


def _side_of(candidate: Candidate, own: Sequence[set[str]]) -> int | None:
    """The side that a sentence is about: by its own words, else by what stands above it, the nearest first."""
    passage = candidate.evidence.passage
    for text in (candidate.text, passage.heading.rpartition(" > ")[2], passage.heading, passage.title):
        named = [place for place, stems in enumerate(own) if stems and stems <= _stems(text)]
        if len(named) == 1:
            return named[0]
    return None


def _length(question: str, prompt: Prompt) -> int:
    """How many sentences: few for a definition, for one of several questions, and after a long answer."""
    long_before = prompt.state is not None and prompt.state.last_response_length > LONG
    short = len(prompt.asked) > 1 or long_before or _DEFINITION.match(question.strip())
    length = SHORT_ANSWER if short and not _only_more(prompt) else LONGEST_ANSWER
    return length // 2 if _prefers(prompt, SHORT) else length


def _prefers(prompt: Prompt, wish: str) -> bool:
    return prompt.state is not None and wish in prompt.state.preferences


def _about(candidate: Candidate) -> frozenset[str]:
    passage = candidate.evidence.passage
    return _stems(f"{candidate.text} {passage.called} {passage.heading}")


def _by_words(question: str, pool: Sequence[Candidate]) -> dict[int, float]:
    """How much of the question each sentence holds (0 to 1), rare words counting more; its heading helps a little."""
    wanted = _asked_stems(question)
    held = {id(each): _stems(each.text) for each in pool}
    around = {
        each.evidence.number: _stems(f"{each.evidence.passage.called} {each.evidence.passage.heading}") for each in pool
    }
    frequency = Counter(key for stems in held.values() for key in stems & wanted)
    weight = {key: math.log(1 + len(pool) / (1 + frequency[key])) for key in wanted}
    total = sum(weight.values()) or 1.0

    def share(each: Candidate) -> float:
        own, near = held[id(each)], around[each.evidence.number]
        return sum(weight[key] * (1.0 if key in own else 0.85 if key in near else 0.0) for key in wanted) / total

    return {id(each): share(each) for each in pool}


def _fits(candidate: Candidate, question: str, state: ConversationState | None) -> float:
    """A bonus for a sentence of the form that the question asks for or the conversation wants; a malus for one that
    needs its neighbour, is on something else, or introduces what the user knows."""
    sentence, bonus = candidate.text, 0.0
    if _LEADING_PRONOUN.match(sentence) and candidate.position == 0:
        bonus -= 0.1
    if any(wants.search(question) and not gives.search(sentence) for wants, gives in _WANTS):
        bonus -= 0.2
    asked = _DEFINITION.match(question.strip())
    if asked and not base_stems(content_stems(asked[1])) <= _about(candidate):
        bonus -= 0.2
    if asked and _defines(asked[1], sentence):
        bonus += 0.25
    if _EXAMPLE.search(question) and _GIVES_EXAMPLE.search(sentence):
        bonus += 0.15
    if _HOW_TO.search(question) and candidate.item:
        bonus += 0.1
    if state is not None and not asked:
        if state.skip_introduction and state.topic and _defines(state.topic, sentence, " (?:an?|the|one of)"):
            bonus -= 0.25
        tired = len(state.response_types) > 1 and set(state.response_types[-2:]) == {"explanation"}
        if (tired or state.mood == "confused") and _GIVES_EXAMPLE.search(sentence):
            bonus += 0.05
    return bonus


def _defines(topic: str, sentence: str, as_what: str = "") -> bool:
    """Whether a sentence says what a topic is; `as_what` tells "BERT is a model" from "BERT is trained"."""
    pattern = rf"(?:an? |the )?{re.escape(topic)}\b[^.,]{{0,40}}? (?:is|are|was|were|means|refers to){as_what}\b"
    return bool(re.match(pattern, sentence, re.I))


# --- writing ------------------------------------------------------------------------------------------------------


def _worked_out(prompt: Prompt) -> str:
    """What tools gave, with the number of what they read."""
    read = "".join(f"[{each.number}]" for each in prompt.evidence if each.passage.id < 0)
    text = "\n\n".join(prompt.found)
    return f"{text} {read}" if text and read and "\n" not in text else "\n\n".join(filter(None, (text, read)))


def _written(question: str, chosen: Sequence[Candidate], pool: Sequence[Candidate], prompt: Prompt) -> str:
    """The sentences in a readable form: steps, side by side, or paragraphs."""
    if prompt.sides:
        return _side_by_side(chosen, pool, prompt)
    steps = _steps(chosen[0], pool) if _HOW_TO.search(question) else []
    if len(steps) > 1:
        return "\n".join(f"{number}. {_cited(each)}" for number, each in enumerate(steps, 1))
    if chosen[0].said:
        return AGAIN + _cited(chosen[0])
    if not _DEFINITION.match(question.strip()):
        return _paragraphs(_with_antecedents(chosen, pool))
    alone = len(chosen) == 1 and not _prefers(prompt, SHORT)
    goes_on = [each for each in pool if _follows(each, chosen[0])] if alone else []
    return _paragraphs(_with_antecedents([*chosen, *goes_on], pool), first=chosen[0])


def _as_preferred(text: str, prompt: Prompt) -> str:
    """The text as a list where the user prefers one, and there is more than one thing to list."""
    formed = prompt.sides or any(map(_ITEM.match, text.splitlines())) or _TABLE.search(text)
    if formed or not _prefers(prompt, LISTS) or len(points(text)) < 2:
        return text
    return reform(text, "list")


def _follows(candidate: Candidate, other: Candidate) -> bool:
    """Whether it is the next sentence of the same passage, and was not said."""
    next_one = candidate.evidence is other.evidence and candidate.position == other.position + 1
    return next_one and not candidate.said and not candidate.item


def _paragraphs(chosen: Sequence[Candidate], first: Candidate | None = None) -> str:
    """Passages by their best sentence, and each passage in its own order; a definition stands first."""
    paragraphs = []
    for number in dict.fromkeys(each.evidence.number for each in chosen):
        mine = sorted(
            (each for each in chosen if each.evidence.number == number),
            key=lambda each: (each is not first, each.position),
        )
        paragraphs.append(" ".join(map(_cited, mine)))
    return "\n\n".join(paragraphs)


def _side_by_side(chosen: Sequence[Candidate], pool: Sequence[Candidate], prompt: Prompt) -> str:
    """What is said of both sides, or of neither by name; then what is said of each under its name, or that nothing
    was found about it."""
    own = _own_stems(prompt.sides)
    about = [(None if _of_all(each, own) else _side_of(each, own), each) for each in chosen]
    both = [each for place, each in about if place is None]
    parts = [_paragraphs(both)] if both else []
    for side, name in enumerate(prompt.sides):
        if mine := [each for place, each in about if place == side]:
            parts.append(f"**{name[:1].upper()}{name[1:]}**: {_paragraphs(mine)}")
        elif not any(own[side] <= _about(each) for each in pool):
            parts.append(says(prompt.language, "no_side", about=one_line(name, 80)))
    return "\n\n".join(parts)


def _steps(best: Candidate, pool: Sequence[Candidate]) -> list[Candidate]:
    """The list that holds the best sentence or follows it, as far as it was not said yet."""
    after = [each for each in pool if each.evidence is best.evidence and each.position > best.position]
    before = [each for each in pool if each.evidence is best.evidence and each.position < best.position]
    items = list(takewhile(lambda each: each.item, after))
    if best.item:
        items = [*reversed(list(takewhile(lambda each: each.item, reversed(before)))), best, *items]
    return [each for each in items if each is best or not each.said][:MOST_STEPS]


def _with_antecedents(chosen: Sequence[Candidate], pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentences, each that begins with a pronoun after the one that says what it means."""
    places = {(each.evidence.number, each.position): each for each in pool}
    found: dict[int, Candidate] = {}
    for each in chosen:
        before = places.get((each.evidence.number, each.position - 1))
        if before is not None and _LEADING_PRONOUN.match(each.text) and not before.said:
            found[id(before)] = before
        found[id(each)] = each
    return list(found.values())


def _cited(candidate: Candidate) -> str:
    return f"{_tidy(candidate.text)} [{candidate.evidence.number}]"


def _tidy(sentence: str) -> str:
    return " ".join(_ITEM.sub("", sentence).split())


def _only_more(prompt: Prompt) -> bool:
    """Whether the user names nothing and only wants to hear more."""
    if prompt.language == "en" or prompt.language not in CODES:
        return bool(_MORE.search(prompt.question)) and not any(map(is_specific, words(prompt.question)))
    return wants_more(prompt.question, prompt.language)


def _subject(question: str, prompt: Prompt) -> str:
    """What a question for more, completed from the conversation, is about."""
    if prompt.language == "en" or prompt.language not in CODES:
        return " ".join(filter(is_specific, words(question))) or question
    return question.rpartition(": ")[2]


def _unknown(question: str, prompt: Prompt) -> str:
    """That the documents do not answer, what was looked for, and what came nearest."""
    if not prompt.evidence:
        return says(prompt.language, "nothing_found", question=one_line(question, 120))
    if prompt.said and (_only_more(prompt) or _ANOTHER.search(prompt.question)):
        opening = says(prompt.language, "no_more")
    else:
        again = any(map(abstains, prompt.said))
        opening = says(prompt.language, "unknown_again" if again else "unknown", question=one_line(question, 120))
    nearest = prompt.evidence[0].passage
    place = " – ".join(filter(None, (nearest.title, nearest.heading)))
    return f"{opening} {says(prompt.language, 'nearest', place=one_line(place, 100))}" if place else opening


@lru_cache(maxsize=1)
def _own_words() -> frozenset[str]:
    """The courtesies that Turnwise says by itself, which are no answers."""
    return frozenset(text for code in CODES for text in language(code).says.values() if "{" not in text)


def reform(answer: str, form: str) -> str:
    """The last answer in another form, with its citations."""
    said = [point.removeprefix(AGAIN) for point in points(answer)]
    rows = _TABLE.search(answer)
    if form == "repeat" or (form == "table" and rows and not rows[1].rstrip("| ").endswith("Source")):
        return answer
    if form == "list":
        return "\n".join(f"- {point}" for point in said)
    if form == "table":
        cells = (re.fullmatch(r"(.*?)\s*((?:\[\d+\])*)", point, re.S) for point in said)
        body = "\n".join(f"| {row[1].replace('|', '/')} | {row[2]} |" for row in cells if row)
        return f"| Point | Source |\n|---|---|\n{body}"
    if form in ("shorter", "simpler"):
        lines = answer.splitlines()
        if rows:
            return _first_of(lines, [line for line in rows[2].splitlines() if line], FEW_ROWS)
        items = [line for line in lines if _ITEM.match(line)]
        if len(items) > 1:
            return _first_of(lines, items, max(2, (len(items) + 1) // 2))
        if form == "shorter":
            return said[0] if said else answer
        plain = set(sorted(said, key=len)[: max(1, (len(said) + 1) // 2)])
        return "\n".join(f"- {point}" for point in said if point in plain) or answer
    return "That needs a language model. Without one I can give this answer as a list, as a table, or shorter."


def _first_of(lines: Sequence[str], items: Sequence[str], count: int) -> str:
    """An answer with only the first rows of its table or items of its list."""
    left_out = set(items[count:]) - set(items[:count])
    return "\n".join(line for line in lines if line not in left_out)
