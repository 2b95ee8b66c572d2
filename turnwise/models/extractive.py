"""Answers without a language model: sentences of the evidence, chosen for the question, each with its citation."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise, takewhile

from turnwise.dialogue.citing import AGAIN, abstains
from turnwise.dialogue.irregular import base_stems
from turnwise.dialogue.language import CODES, courtesies, says, wants_more
from turnwise.dialogue.wishes import LISTS, SHORT, read_wishes
from turnwise.models.amounts import (
    BETTER,
    QUANTITIES,
    ROUGHLY,
    WANTS,
    gives,
    is_of_another,
    leads,
    mark_rows,
    priced,
    sought,
    with_tables,
    without_measures,
)
from turnwise.models.statements import (
    ANSWERS,
    CONTINUES,
    ITEM,
    NEAR,
    REMEMBERED,
    UNSPACED,
    Candidate,
    Statement,
    asked_stems,
    neighbours,
    stated_in,
    stems_of,
    units,
)
from turnwise.text import (
    asks,
    content_stems,
    is_specific,
    one_line,
    points,
    sentences,
    stem,
    without_citations,
    words,
)
from turnwise.types import ConversationState, Evidence, Hit, Judge, Prompt

LONGEST_ANSWER = 4  # sentences
SHORT_ANSWER = 2  # of a definition, after a long answer, and for each side of a comparison or part of a question
MOST_STEPS = 8
FEW_ROWS = 5  # of a table that is made shorter
BY_WORDS = 0.15  # what the words of the question count that a sentence holds, beside the judge's opinion
GUESSED = 0.5  # the same where some were guessed from the conversation, which the judge cannot know
LACKING = 0.1  # what a sentence without the price, place or moment that is asked for counts less beside others
SPELLED = 0.25  # what a row counts more whose whole name is asked for
NAMED = 0.5  # probability from which a word of the conversation names a row
READ_CLOSELY = 6  # sentences that the judge reads, after their words were compared with the question's
READ_AT_MOST = 10  # where none of these answers
ELSEWHERE = 0.02  # how far a sentence may be behind the best of another passage
BEHIND = 0.06  # what it costs a sentence for each passage that the search found more fitting than its own
LESS = 2.0  # and what a point of the search's score counts that its passage has less than the first
UNJUDGED = 0.3  # what a sentence must hold more of the question's words where no judge can read it
REPEATED = 0.15  # by how much a sentence that was said before must answer better than a new one
SAID = 0.5  # share of a sentence's pairs of words in one that was said, from which it says the same
LONG = 1000  # characters of the last answer after which this one is shorter

_DEFINITION = re.compile(
    r"^(?:so |and )?"
    r"(?!what(?:['’]s| is| are| was| were) (?-i:[a-z]{2,}(?<!e)ed) (?:in|on|at|by|for|with|from|to|during)\b)"
    r"(?:(?:what|who)(?:['’]s| is| are| was| were) |define |what does (?=.* mean\b))(?:an? |the )?"
    r"[“\"]?(.+?)[”\"]?(?: about| mean)?(?: again| exactly)?\??$",
    re.I,
)
_ALL_ABOUT = re.compile(  # a thing of few words, of which everything may be told
    r"^(?:please |can you |could you )?(?:tell|show|give|print|write)(?: out| down)?(?: me| us)? "
    r"(?:(?:everything|all|anything|something|what) )?(?:(?:that )?(?:you|we) (?:have|know) )?(?:about|on) "
    r"(?=[\w’'-]+(?: [\w’'-]+){0,3}\W*$)(?!(?:it|this|that|them|how|why|what|when|where|who|which)\b)",
    re.I,
)
_WORKS = re.compile(r"\bhow (?:do|does|did) .+ work\W*$", re.I)  # where the word says little of what is asked
_TOLD_OF = re.compile(r" (?:(?:also|only|often|usually|then|not) )?(?!(?:defin|call|nam|describ)ed)\w+[^e\W]ed\b", re.I)
_HOW_TO = re.compile(r"\bhow (?:do|can|could|should|would|must) (?:i|we|you|one)\b|\bhow to\b|\bsteps?\b", re.I)
_MORE = re.compile(r"\b(?:more|deeper|else|continue|keep going|go on|elaborate|further|expand)\b", re.I)
_EXAMPLE = re.compile(r"\bexamples?\b|\bfor instance\b|\bshow me\b", re.I)
_ANOTHER = re.compile(r"\b(?:another|other|further|more|different|second) (?:\w+ )?examples?\b", re.I)
_GIVES_EXAMPLE = re.compile(r"\b(?:for example|for instance|such as|suppose|imagine|e\.g\.)|\bexamples?\b", re.I)
_LEADING_PRONOUN = re.compile(
    r"^(?:(?:but|and|so|then|also|however|thus),? )?(?:it|they|this|that|these|those|he|she|its|their|such)\b", re.I
)
_SAYS_WHAT = re.compile(
    r"(?:an? |the )?([\w’'-]+(?: [\w’'-]+){0,5}) (?:is|are|was|were|means?|refers? to) (?:an?|the|one|that)\b", re.I
)
_PRONOUN = re.compile(r"\b(?:it|its|they|them|their|this|that|these|those|he|him|his|she|her|such|both)\b", re.I)
_NUMBERED = re.compile(r"number|numm?er|numérot|\bordered|编号|編號|番号", re.I)  # how people ask for a numbered list
_TABLE = re.compile(r"^(\|.+)\n\|[ :|-]+\n((?:\|.*(?:\n|$))+)", re.M)  # its heads, and its rows


class ExtractiveAnswerer:
    """A ChatModel that only quotes: it cannot invent, and it says so when the evidence does not answer.

    The judge reads a question and a sentence together and says how likely one answers the other (log-odds).
    """

    name = "extractive"
    quotes = True

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        text = await asyncio.to_thread(self.answer, prompt)
        for line in re.split(r"(?<=\n)|(?<=\] )", text):
            yield line

    def answer(self, prompt: Prompt) -> str:
        if prompt.form:
            nothing = abstains(prompt.said[-1]) or prompt.said[-1] in courtesies()
            form = "numbered list" if prompt.form == "list" and _NUMBERED.search(prompt.question) else prompt.form
            return says(prompt.language, "nothing_to_reform") if nothing else reform(prompt.said[-1], form)
        worked_out = _worked_out(prompt)
        pool = candidates(prompt)
        if worked_out and not pool:
            return worked_out
        parts, unknown = [worked_out] if worked_out else [], []
        for question in (_ALL_ABOUT.sub("", _without_wishes(each)) for each in prompt.asked):
            known = self._answered(question, pool, prompt, parts, _typed(question, prompt))
            several = sentences(question)
            for each in several if not known and len(several) > 1 else ():
                known = self._answered(each, pool, prompt, parts) or known
            if not known:
                unknown.append(question)
        parts += [_unknown(question, prompt) for question in unknown[:2]]
        return "\n\n".join(parts)

    def _answered(
        self, question: str, pool: Sequence[Candidate], prompt: Prompt, parts: list[str], typed: str = ""
    ) -> bool:
        """Whether a question is answered, else as it was typed: by a part that this adds, or by one before it."""
        chosen = self.choose(question, pool, prompt)
        if not chosen and typed:
            chosen = [each for each in self.choose(typed, pool, prompt) if not each.said]
        if chosen and not any(_cited(chosen[0]) in part for part in parts):
            parts.append(_as_preferred(_written(question, chosen, pool, prompt), prompt))
        for each in pool:
            each.said = each.said or any(_cited(each) in part for part in parts)  # so that no part says it again
        return bool(chosen)

    def answers(self, question: str, hits: Sequence[Hit], said: Sequence[str]) -> bool:
        """Whether these passages answer a question with something that was not said yet."""
        evidence = tuple(Evidence(number, hit) for number, hit in enumerate(hits, 1))
        prompt = Prompt((), question, (question,), evidence, tuple(said))
        return any(not each.said for each in self.choose(question, candidates(prompt), prompt))

    def choose(self, question: str, pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
        """The sentences that answer a question, best first; none if even the best does not.

        What was said before is left out, except for the one sentence that answers clearly better than anything new and
        is about what the user asks now: words from the conversation alone are no reason to say it again.
        """
        more = _only_more(prompt)
        self._score(_subject(question, prompt) if more else question, pool, prompt)
        worth = partial(_worth, question=question, prompt=prompt)
        good = sorted(_good_enough(question, pool, prompt), key=worth, reverse=True)
        new = _distinct([each for each in good if not each.said])
        old = _said_and_meant(question, good, prompt)
        topic = _defined(question)
        if topic and (defining := [each for each in old if _defines(topic, each.text)]):
            return sorted(defining, key=lambda each: not _defines(topic, each.text, " (?:an?|the|one of)"))[:1]
        if prompt.sides and not new:
            return _of_each_side(old, prompt.sides)
        if old and not more and (not new or worth(old[0]) > worth(new[0]) + REPEATED):
            return old[:1]
        if prompt.sides:
            return _of_each_side(new, prompt.sides)
        if more and not new:
            return _unread(pool)[: _length(question, prompt)]
        lag = NEAR, NEAR if more else ELSEWHERE  # in the passage of the best one, and in others
        near = [
            each
            for each in new
            if worth(new[0]) - worth(each) <= lag[each.evidence.number != new[0].evidence.number]
            or _is_asked_above(each, question)
        ]
        return near[: _length(question, prompt)]

    def _score(self, question: str, pool: Sequence[Candidate], prompt: Prompt) -> None:
        """Score the sentences by their words, then the likeliest by what the judge says; the others stay at 0."""
        wanted, chances = asked_stems(question), _chances(prompt)
        for each in pool:
            each.ask(wanted)
        typed, pointing = asked_stems(prompt.question), bool(_PRONOUN.search(prompt.question))
        asked = (typed or wanted) | {key for key in wanted if chances.get(key, 0.0) >= NAMED}
        mark_rows(pool, question, chances, asked, typed, pointing)
        by_words = _by_words(question, pool, chances)
        of_words = GUESSED if any(chance < 0.5 for chance in chances.values()) else BY_WORDS
        likely = [each for each in pool if each.meant]
        likely.sort(key=lambda each: BEHIND * each.rank - by_words[id(each)] + REPEATED * each.said)
        if UNSPACED.search(question):  # the judge reads English: here the words alone decide
            for each in (each for each in pool if UNSPACED.search(each.text)):
                each.score = by_words[id(each)] - UNJUDGED
            likely = [each for each in likely if not UNSPACED.search(each.text)]
        for some in (likely[:READ_CLOSELY], likely[READ_CLOSELY:READ_AT_MOST]):
            read = [replace(each.evidence.passage, text=each.reading) for each in some]
            for each, odds in zip(some, self._judge.odds(question, read), strict=True):
                answers = 1 / (1 + math.exp(-odds / 2))
                said = (1 - of_words) * answers + of_words * by_words[id(each)]
                each.score = said + _fits(each, question, prompt.state)
            if any(each.score >= ANSWERS and not each.said for each in some):
                break


# --- choosing -----------------------------------------------------------------------------------------------------


def candidates(prompt: Prompt) -> list[Candidate]:
    """The sentences of the documents that can stand in an answer, each once, and a row once under each heading."""
    said, last = _Said(prompt.said), _Said(prompt.said[-1:])
    found: dict[tuple[str, str], Candidate] = {}
    documents = [each for each in prompt.evidence if each.passage.id >= 0]
    best = max((each.hit.score for each in documents), default=0.0)
    for rank, evidence in enumerate(documents):
        behind = BEHIND * rank + LESS * (best - evidence.hit.score)
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
        return bool(own) and any(len(own & old) > SAID * len(own) for old in self._sentences)


def _spelt(text: str) -> str:
    return " ".join(words(text)).lower()


@lru_cache(maxsize=REMEMBERED)
def shingles(sentence: str) -> frozenset[tuple[str, ...]]:
    """A sentence's pairs of neighbouring stems, for telling whether it was said before."""
    return frozenset(pairwise(map(stem, units(sentence))))


def _good_enough(question: str, pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
    """The sentences that answer; of these the examples, where one is asked for."""
    least = CONTINUES if _only_more(prompt) or prompt.sides else ANSWERS
    measured, named = bool(sought(question, QUANTITIES)), {side.lower() for side in prompt.sides}

    def threshold(each: Candidate) -> float:
        """A row whose name is in the question needs less beside another row, or if it gives the amount asked for."""
        if prompt.sides and (each.spelled or each.stated.name.lower() in named):
            return 0.0
        return CONTINUES if each.spelled and measured and gives(each, question, QUANTITIES) else least

    good = [each for each in pool if each.score >= threshold(each)]
    examples = [each for each in good if _GIVES_EXAMPLE.search(each.text)]
    if _ANOTHER.search(prompt.question):
        return [each for each in examples if not each.said]
    return examples or good if _EXAMPLE.search(prompt.question) else good


def _worth(each: Candidate, question: str, prompt: Prompt) -> float:
    """How well a sentence answers beside others: its score, and how well the search liked its passage. Where several
    searches took turns at handing in passages, their order says nothing."""
    together = bool(prompt.sides) or len(prompt.asked) > 1
    lacking = 0.0 if gives(each, question, BETTER) else LACKING
    behind = 0.0 if together or each.spelled else each.behind
    return each.score - lacking - behind + (SPELLED if each.spelled else 0.0)


def _said_and_meant(question: str, good: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
    """What was said before and may be said again: it is about what this message asks, not just the conversation."""
    asked_now = without_measures(asked_stems(prompt.question))
    return [each for each in good if each.said and _meant(each, asked_now) and gives(each, question, QUANTITIES)]


def _unread(pool: Sequence[Candidate]) -> list[Candidate]:
    """What the passages that were quoted hold besides, where no judge can read it."""
    quoted = {each.evidence.number for each in pool if each.said}
    return [e for e in pool if e.evidence.number in quoted and not e.said and UNSPACED.search(e.text)]


def _distinct(ranked: Sequence[Candidate]) -> list[Candidate]:
    """The sentences without those that say almost the same as a better one."""
    kept: list[Candidate] = []
    for each in ranked:
        own = shingles(each.text)
        alone = each.stated.is_row  # rows are told apart by a cell
        if alone or not any(len(own & shingles(better.text)) > 0.6 * len(own) for better in kept):
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
    said = stems_of(candidate.text)
    return all(stems <= said for stems in own)


def _side_of(candidate: Candidate, own: Sequence[set[str]]) -> int | None:
    """The side that a sentence is about: by its own words, else by what stands above it, the nearest first."""
    passage = candidate.evidence.passage
    nearest = passage.heading.rpartition(" > ")[2]
    for text in (candidate.text, candidate.stated.above, nearest, passage.heading, passage.title):
        named = [place for place, stems in enumerate(own) if stems and stems <= stems_of(text)]
        if len(named) == 1:
            return named[0]
    return None


def _length(question: str, prompt: Prompt) -> int:
    """How many sentences: few for a definition, for one of several questions, and after a long answer."""
    long_before = prompt.state is not None and prompt.state.last_response_length > LONG
    short = len(prompt.asked) > 1 or long_before or _defined(question)
    length = SHORT_ANSWER if short and not _only_more(prompt) else LONGEST_ANSWER
    return length // 2 if _prefers(prompt, SHORT) else length


def _prefers(prompt: Prompt, wish: str) -> bool:
    return prompt.state is not None and wish in prompt.state.preferences


def _meant(candidate: Candidate, asked_now: Set[str]) -> bool:
    """Whether a sentence holds a word of what is asked now, and with its headings half of these words; of a row it is
    enough that it is meant, for its words are few."""
    if not asked_now or (candidate.stated.is_row and candidate.meant):
        return True
    return bool(asked_now & stems_of(candidate.text)) and 2 * len(asked_now & _about(candidate)) >= len(asked_now)


def _about(candidate: Candidate) -> frozenset[str]:
    passage = candidate.evidence.passage
    return stems_of(f"{candidate.stated.whole} {passage.called} {passage.heading}")


def _by_words(question: str, pool: Sequence[Candidate], chances: Mapping[str, float]) -> dict[int, float]:
    """How much of the question each sentence holds (0 to 1): rare words count more, those that may not be meant less;
    its headings help a little."""
    wanted = asked_stems(question)
    if _WORKS.search(question):
        chances = {"work": 0.5, **chances}
    held = {id(each): stems_of(each.stated.row or each.text) | priced(each, wanted) for each in pool}
    around = {
        each.evidence.number: stems_of(f"{each.evidence.passage.called} {each.evidence.passage.heading}")
        for each in pool
    }
    frequency = Counter(key for stems in held.values() for key in stems & wanted)
    weight = {key: math.log(1 + len(pool) / (1 + frequency[key])) * chances.get(key, 1.0) for key in wanted}
    total = sum(weight.values()) or 1.0

    def share(each: Candidate) -> float:
        own, near = held[id(each)], around[each.evidence.number] | stems_of(each.stated.above)
        if each.leans:
            near = near | stems_of(each.stated.before)
        return sum(weight[key] * (1.0 if key in own else 0.85 if key in near else 0.0) for key in wanted) / total

    return {id(each): share(each) for each in pool}


def _fits(candidate: Candidate, question: str, state: ConversationState | None) -> float:
    """A bonus for a sentence of the form that the question asks for or the conversation wants; a malus for one that
    needs its neighbour, is on something else, or introduces what the user knows."""
    sentence, bonus = candidate.text, 0.0
    if _LEADING_PRONOUN.match(sentence) and candidate.position == 0:
        bonus -= 0.1
    if not gives(candidate, question, WANTS):
        bonus -= 0.2
    if not gives(candidate, question, ROUGHLY):
        bonus -= 0.1
    if is_of_another(candidate, question):
        bonus -= 0.3
    asked = _defined(question)
    if asked and not base_stems(content_stems(asked)) <= _about(candidate):
        bonus -= 0.2
    if asked and (_defines(asked, sentence) or _opens_on(asked, candidate)):
        bonus += 0.25
    if _is_asked_above(candidate, question):
        bonus += 0.15
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


def _is_asked_above(candidate: Candidate, question: str) -> bool:
    """Whether the sentence stands under the question itself, as in a list of those that are often asked."""
    heading = candidate.evidence.passage.heading.rpartition(" > ")[2]
    own = asked_stems(question)
    return asks(heading) and len(own) > 1 and own == asked_stems(heading)


def _defined(question: str) -> str:
    """What a question wants to know the meaning of, or nothing: "what is the price of" asks for no meaning."""
    found = _DEFINITION.match(question.strip())
    return found[1] if found and not sought(question, QUANTITIES) else ""


def _defines(topic: str, sentence: str, as_what: str = "") -> bool:
    """Whether a sentence says what a topic is, not what is done with it: "BERT is trained"."""
    pattern = rf"(?:an? |the )?{re.escape(topic)}\b[^.,]{{0,40}}? (?:is|are|was|were|means|refers to){as_what}\b"
    found = re.match(pattern, sentence, re.I)
    return found is not None and (bool(as_what) or not _TOLD_OF.match(sentence, found.end()))


def _opens_on(topic: str, candidate: Candidate) -> bool:
    """Whether a sentence names the topic and stands first in the section that is called so."""
    section = candidate.evidence.passage.heading.rpartition(" > ")[2]
    first = candidate.position == 0 and section.lower() == topic.lower()
    return first and candidate.text.lower().startswith(topic.lower())


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
    whole = chosen if _prefers(prompt, SHORT) else with_tables(question, chosen, pool)
    if all(each.said for each in whole):
        return AGAIN + _paragraphs(whole)
    defined = _defined(question)
    if not defined:
        return _paragraphs(_with_antecedents(whole, pool))
    alone = len(chosen) == 1 and not _prefers(prompt, SHORT)
    topic = stems_of(defined)
    goes_on = [each for each in pool if _continues(each, chosen[0], topic)] if alone else []
    return _paragraphs(_with_antecedents([*chosen, *goes_on], pool), first=chosen[0])


def _as_preferred(text: str, prompt: Prompt) -> str:
    """The text as a list where the user prefers one, and there is more than one thing to list."""
    formed = prompt.sides or any(map(ITEM.match, text.splitlines())) or _TABLE.search(text)
    if formed or not _prefers(prompt, LISTS) or len(points(text)) < 2:
        return text
    return reform(text, "list")


def _continues(candidate: Candidate, other: Candidate, topic: Set[str]) -> bool:
    """Whether it is the sentence after a definition of the topic, was not said, and defines nothing else."""
    next_one = neighbours(candidate, other) and candidate.position == other.position + 1
    if not next_one or candidate.said or candidate.item or candidate.stated.is_row:
        return False
    defined = _SAYS_WHAT.match(candidate.text)
    return not defined or bool(stems_of(defined[1]) & topic) or bool(_LEADING_PRONOUN.match(candidate.text))


def _paragraphs(chosen: Sequence[Candidate], first: Candidate | None = None) -> str:
    """Passages by their best sentence, and each passage in its own order; a definition stands first."""
    paragraphs = []
    for number in dict.fromkeys(each.evidence.number for each in chosen):
        mine = sorted(
            (each for each in chosen if each.evidence.number == number),
            key=lambda each: (each is not first, each.position),
        )
        paragraphs.append(" ".join(f"{lead}{_cited(each)}" for lead, each in zip(leads(mine), mine, strict=True)))
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
    near = [each for each in pool if each.evidence is best.evidence]
    after = [each for each in near if each.position > best.position]
    before = [each for each in near if each.position < best.position and neighbours(each, best)]

    def follows(each: Candidate) -> bool:
        return each.item and (neighbours(each, best) or each.stated.above.endswith(":"))

    items = list(takewhile(follows, after))
    if best.item:
        items = [*reversed(list(takewhile(lambda each: each.item, reversed(before)))), best, *items]
    return [each for each in items if each is best or not each.said][:MOST_STEPS]


def _with_antecedents(chosen: Sequence[Candidate], pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentences, each that points back after the one that says what it means."""
    places = {(each.evidence.number, each.position): each for each in pool}
    found: dict[int, Candidate] = {}
    for each in chosen:
        before = places.get((each.evidence.number, each.position - 1))
        leans = each.leans or _LEADING_PRONOUN.match(each.text)
        if before is not None and leans and neighbours(before, each) and not before.said:
            found[id(before)] = before
        found[id(each)] = each
    return list(found.values())


def _cited(candidate: Candidate) -> str:
    return f"{_tidy(candidate.text)} [{candidate.evidence.number}]"


def _tidy(sentence: str) -> str:
    return " ".join(ITEM.sub("", sentence).split())


def _without_wishes(question: str) -> str:
    """A question without the sentences that only say how answers should be."""
    return " ".join(each for each in sentences(question) if not read_wishes(each).only) or question


def _typed(question: str, prompt: Prompt) -> str:
    """The message as it was typed, where it was completed and yet names something by itself: what the conversation
    added may be what nothing is said about."""
    alone = prompt.language == "en" and len(prompt.asked) == 1 and question != prompt.question
    named = any(map(is_specific, words(prompt.question))) and not _PRONOUN.search(prompt.question)
    return prompt.question if alone and named and not prompt.sides else ""


def _chances(prompt: Prompt) -> dict[str, float]:
    """How surely each word is meant that the conversation added, by its stem."""
    own = asked_stems(prompt.question)
    return {key: term.weight for term in prompt.added for key in asked_stems(term.text) if key not in own}


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
    """That the documents do not answer, what the user asked, in their own words, and what came nearest."""
    asked = one_line(question if len(prompt.asked) > 1 else prompt.question, 120)
    if not prompt.evidence:
        return says(prompt.language, "nothing_found", question=asked)
    if prompt.said and (_only_more(prompt) or _ANOTHER.search(prompt.question)):
        opening = says(prompt.language, "no_more")
    else:
        again = any(map(abstains, prompt.said[-1:]))
        opening = says(prompt.language, "unknown_again" if again else "unknown", question=asked)
    nearest = prompt.evidence[0].passage
    place = " – ".join(filter(None, (nearest.title, nearest.heading)))
    return f"{opening} {says(prompt.language, 'nearest', place=one_line(place, 100))}" if place else opening


def reform(answer: str, form: str) -> str:
    """The last answer in another form, with its citations."""
    said = [point.removeprefix(AGAIN) for point in points(answer)]
    rows = _TABLE.search(answer)
    if form == "repeat" or (form == "table" and rows and not rows[1].rstrip("| ").endswith("Source")):
        return answer
    if form == "list":
        return "\n".join(f"- {point}" for point in said)
    if form == "numbered list":
        return "\n".join(f"{number}. {point}" for number, point in enumerate(said, 1))
    if form == "table":
        cells = (re.fullmatch(r"(.*?)\s*((?:\[\d+\])*)", point, re.S) for point in said)
        body = "\n".join(f"| {row[1].replace('|', '/')} | {row[2]} |" for row in cells if row)
        return f"| Point | Source |\n|---|---|\n{body}"
    if form in ("shorter", "simpler"):
        lines = answer.splitlines()
        if rows:
            return _first_of(lines, [line for line in rows[2].splitlines() if line], FEW_ROWS)
        items = [line for line in lines if ITEM.match(line)]
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
