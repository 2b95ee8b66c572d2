"""Answers without a language model: sentences of the evidence, chosen for the question, each with its citation."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise, takewhile

from turnwise.dialogue.citing import AGAIN, abstains
from turnwise.dialogue.irregular import base_stems
from turnwise.dialogue.language import CODES, courtesies, says, wants_more
from turnwise.dialogue.wishes import LISTS, SHORT, read_wishes
from turnwise.text import (
    content_stems,
    is_field,
    is_specific,
    one_line,
    points,
    said_stems,
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
LACKING = 0.1  # what a sentence without the price or the place that is asked for counts less beside others
NAMED = 0.5  # probability from which a word of the conversation names a row
READ_CLOSELY = 6  # sentences that the judge reads, after their words were compared with the question's
READ_AT_MOST = 10  # where none of these answers
NEAR, ELSEWHERE = 0.2, 0.02  # how far a sentence may be behind the best: one of the same passage, one of another
BEHIND = 0.06  # what it costs a sentence for each passage that the search found more fitting than its own
LESS = 2.0  # and what a point of the search's score counts that its passage has less than the first
ANSWERS = 0.33  # score from which a sentence counts as an answer
CONTINUES = 0.2  # the same where the user only asks for more, and for a side of a comparison
UNJUDGED = 0.3  # what a sentence must hold more of the question's words where no judge can read it
REPEATED = 0.15  # by how much a sentence that was said before must answer better than a new one
SAID = 0.5  # share of a sentence's pairs of words in one that was said, from which it says the same
REMEMBERED = 8192  # sentences and passages that are not read anew, since a conversation comes back to them
LONGEST_QUESTION = 1000  # characters that are looked at for what kind of thing is asked for
LONGEST_HEADING = 100  # characters of a line in a passage that can be a heading
LONG = 1000  # characters of the last answer after which this one is shorter

_DEFINITION = re.compile(
    r"^(?:so |and )?(?:(?:what|who)(?:['’]s| is| are| was| were) |define |what does (?=.* mean\b))(?:an? |the )?"
    r"[“\"]?(.+?)[”\"]?(?: about| mean)?(?: again| exactly)?\??$",
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
_SAYS_WHAT = re.compile(
    r"(?:an? |the )?([\w’'-]+(?: [\w’'-]+){0,5}) (?:is|are|was|were|means?|refers? to) (?:an?|the|one|that)\b", re.I
)
_POINTS_BACK = re.compile(r"[^,;:]*\b(?:it|they|them|this|these|those|he|him|she|her|both)\b", re.I)
_PRONOUN = re.compile(r"\b(?:it|its|they|them|their|this|that|these|those|he|him|his|she|her|such|both)\b", re.I)
_AMOUNT = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|fifty|hundreds?|thousands?|"
    r"millions?|billions?|dozens?|half|third|quarter|once|twice|none|nothing|free|every|daily|weekly|monthly|yearly|"
    r"annual\w*|hourly)\b",
    re.I,
)
_TIME = re.compile(
    r"\d|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|"
    r"wednesday|thursday|friday|saturday|sunday|spring|summer|autumn|winter|century|years?|months?|weeks?|days?|hours?|"
    r"morning|afternoon|evening|nights?|noon|midnight|dawn|dusk|sunrise|sunset|today|tomorrow|always|before|after|when|"
    r"while|until|once|during|every|daily|weekly|annual\w*)\b",
    re.I,
)
_NAME = re.compile(
    r"(?<=\w )[A-Z]|^(?!(?:An?|The|It|They|This|That|These|Those|In|On|At|For|If|When|Some|Many|Most|All|There)\b)[A-Z]"
    r"|\b(?:people|person|men|women|students?|pupils?|staff|\w+ers?|\w+ors?)\b"
)
_PLACE = re.compile(  # where something is; not when, nor "at its heart"
    r"\b(?:in|at|on|near|under|behind|beside|opposite|inside|outside|between|among|along|next to) (?!(?:the )?(?:its|"
    r"their|his|her|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:jan|febr)uary|march|april|may|june|july|august|\w+ember|october|"
    r"\d|spring|summer|autumn|winter|morning|evening|end|start|beginning|year|advance|general|writing|time|order|case|full|"
    r"total|fact|addition|average)\b)\w|\b(?:rooms? \w?\d|located|address|online|upstairs|downstairs)\b",
    re.I,
)
_HOURS = re.compile(
    r"\d[:.]\d\d|\d ?[ap]\.?m\b|\d ?(?:to|–|-) ?\d|\b(?:noon|midnight|closed|daily|hours|\w*days?)\b", re.I
)
_MONEY = re.compile(r"[$€£¥₹]|\b(?:euros?|dollars?|pounds?|cents?|free|(?:price|cost|fee|charge|fare|rate)s?)\b", re.I)
# Words of asking for a price, and for any amount or time: they do not say of what.
_PRICE = base_stems(content_stems("cost price fee charge fare pay expensive"))
_MEASURES = _PRICE | base_stems(content_stems("open opening close closing hours times last take start end leave"))
# What a question asks for, and what a sentence that gives it holds.
_QUANTITIES = (
    (
        re.compile(
            r"\bwhat (?:do|does|did|will|would)\b.*\b(?<!the )(?<!a )(?:cost|charge)\b(?! functions?)|\bexpensive\b"
            r"|\b(?:price|cost|fee|fare)s? (?:of|for)\b"
            r"|^(?!(?:\w+ )?(?:why|who|when|where|how (?!much))\b).*\bthe (?:\w+ ){0,2}(?:price|cost|fee|fare)s?\W*$"
            r"|^(?:(?!what|who|why|explain|define|describe|tell|is|are)[\w-]+ ){0,2}(?:price|cost|fee|fare)s?\W*$",
            re.I,
        ),
        _AMOUNT,
    ),
    (re.compile(r"\b(?:opening|closing|visiting|office) (?:hours|times?)\b", re.I), _HOURS),
    (re.compile(r"\bhow (?:many|much|long|old|far|often|tall|big|high|large|fast|deep|wide|heavy)\b", re.I), _AMOUNT),
    (re.compile(r"^(?:\W*\w+,? ){0,2}when\b|\b(?:what|which) (?:year|date|day|month|times?)\b", re.I), _TIME),
)
Kinds = tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
_WANTS = (*_QUANTITIES[2:], (re.compile(r"^(?:\W*\w+,? ){0,2}who(?:se|m)?\b", re.I), _NAME))
_ROUGHLY = (*_QUANTITIES[:2], (re.compile(r"^(?:\W*\w+,? ){0,2}where\b", re.I), _PLACE))  # told less surely
_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")  # scripts without spaces between words
_SMALL = re.compile(  # words of asking and of grammar in such scripts; hiragana writes little else
    "什么样|什麼樣|什么|什麼|为什么|為什麼|怎么样|怎麼樣|怎么|怎麼|如何|多少|几个|幾個|哪里|哪裡|哪个|哪個|哪些|是否|可以|告诉我|告訴我|更多|请问|請問|"
    "[是的了吗嗎呢在和与與有谁誰哪几幾吧啊请請何]|[\u3040-\u309f]+"
)
_CELLS = re.compile(r"(?:^| )\|(?: |$)")  # what divides the cells of a row; the first and the last may be empty
_NUMBERED = re.compile(r"number|numm?er|numérot|\bordered|编号|編號|番号", re.I)  # how people ask for a numbered list
_TABLE = re.compile(r"^(\|.+)\n\|[ :|-]+\n((?:\|.*(?:\n|$))+)", re.M)  # its heads, and its rows


@dataclass(frozen=True, slots=True)
class Statement:
    """What a passage states: a sentence, an item of a list, or a row of a table."""

    text: str  # as it is quoted
    above: str = ""  # the nearest heading, question or line with a colon above it in the passage
    row: str = ""  # of a table: the same with the head of its first column
    before: str = ""  # of a sentence that may lean on the one before: that one
    values: str = ""  # of a line "name: value; name: value": what is its own

    @property
    def item(self) -> bool:
        return bool(_ITEM.match(self.text))

    @property
    def is_row(self) -> bool:
        return bool(self.row or self.values)

    @property
    def whole(self) -> str:
        """All that says what it is about."""
        return f"{self.above} {self.row or self.text}".strip()

    def reading(self, leans: bool) -> str:
        """What the judge reads of it: where it leans on the sentence before, that too."""
        return f"{self.above} {self.before} {self.text}".strip() if leans else self.whole

    def leans(self, wanted: Set[str]) -> bool:
        """Whether it says a part of what was asked for, and the sentence before, to which it points back, another."""
        if not self.before:
            return False
        own = _stems(self.text)
        return not wanted.isdisjoint(own) and not wanted.isdisjoint(_stems(self.before) - own)

    def named_by(self, wanted: Set[str]) -> bool:
        """Whether it may be meant: a row only if a word of it was asked for, and not just one of every row."""
        own = self.values or (self.row and self.whole)
        return not own or not wanted.isdisjoint(_stems(own))


@dataclass(slots=True)
class Candidate:
    """A statement that an answer may use."""

    stated: Statement
    evidence: Evidence
    position: int  # in its passage
    rank: int  # of its passage
    behind: float  # what it counts that the search found others more fitting
    said: bool  # in an earlier answer of this conversation
    leans: bool = False  # for what is asked, on the sentence before
    meant: bool = True  # by what is asked: not so most rows
    by_place: bool = False  # a row that is meant for what stands above it, not for its own words
    score: float = 0.0

    @property
    def text(self) -> str:
        return self.stated.text

    @property
    def reading(self) -> str:
        return self.stated.reading(self.leans)

    @property
    def item(self) -> bool:
        return self.stated.item


class ExtractiveAnswerer:
    """A ChatModel that only quotes: it cannot invent, and it says so when the evidence does not answer.

    The judge reads a question and a sentence together and says how likely one answers the other (log-odds).
    """

    name = "extractive"

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
        for question in map(_without_wishes, prompt.asked):
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
        """The sentences that answer a question, best first; none where even the best does not.

        What was said before is left out, except for the one sentence that answers clearly better than anything new, and
        is about what the user asks now: words from the conversation alone are no reason to say it again.
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

        def worth(each: Candidate) -> float:
            lacking = 0.0 if _gives(each, question, _ROUGHLY) else LACKING
            return each.score - lacking - (0.0 if together else each.behind)

        good.sort(key=worth, reverse=True)
        new = _distinct([each for each in good if not each.said])
        old = [each for each in good if each.said and _meant(each, asked_now) and _gives(each, question, _QUANTITIES)]
        topic = _defined(question)
        if topic and (defining := [each for each in old if _defines(topic, each.text)]):
            return sorted(defining, key=lambda each: not _defines(topic, each.text, " (?:an?|the|one of)"))[:1]
        if old and not more and (not new or worth(old[0]) > worth(new[0]) + REPEATED):
            return old[:1]
        if prompt.sides:
            return _of_each_side(new, prompt.sides)
        if more and not new:
            return _unread(pool)[: _length(question, prompt)]
        if new:
            best, number = worth(new[0]), new[0].evidence.number
            lag = {True: NEAR, False: NEAR if more else ELSEWHERE}
            new = [each for each in new if best - worth(each) <= lag[each.evidence.number == number]]
        return new[: _length(question, prompt)]

    def _score(self, question: str, pool: Sequence[Candidate], prompt: Prompt) -> None:
        """Score the sentences by their words, then the likeliest by what the judge says; the others stay at 0."""
        wanted, chances = _asked_stems(question), _chances(prompt)
        asked = (_asked_stems(prompt.question) or wanted) | {key for key in wanted if chances.get(key, 0.0) >= NAMED}
        named = {each.evidence.number for each in pool if each.stated.is_row and each.stated.named_by(asked)}
        for each in pool:
            each.score = 0.0
            each.leans = each.stated.leans(wanted)
            each.meant = each.stated.named_by(asked) or (
                each.evidence.number not in named and _tells(each, question, chances)
            )
        _tell_rows_apart(pool, asked - _MEASURES)
        by_words = _by_words(question, pool, chances)
        of_words = GUESSED if any(chance < 0.5 for chance in chances.values()) else BY_WORDS
        likely = [each for each in pool if each.meant]
        likely.sort(key=lambda each: BEHIND * each.rank - by_words[id(each)] + REPEATED * each.said)
        if _UNSPACED.search(question):  # the judge reads English: here the words alone decide
            for each in (each for each in pool if _UNSPACED.search(each.text)):
                each.score = by_words[id(each)] - UNJUDGED
            likely = [each for each in likely if not _UNSPACED.search(each.text)]
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
    """The sentences of the documents that can stand in an answer, each once."""
    said = _Said(prompt.said)
    found: dict[str, Candidate] = {}
    documents = [each for each in prompt.evidence if each.passage.id >= 0]
    best = max((each.hit.score for each in documents), default=0.0)
    for rank, evidence in enumerate(documents):
        behind = BEHIND * rank + LESS * (best - evidence.hit.score)
        for position, stated in enumerate(_stated(evidence.passage.text)):
            found.setdefault(
                _spelt(stated.text), Candidate(stated, evidence, position, rank, behind, said.holds(stated))
            )
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
def _stated(text: str) -> tuple[Statement, ...]:
    return tuple(statements(text))


def statements(text: str) -> Iterator[Statement]:
    """What a passage states: its whole sentences, list items and "name: value" lines, and the rows of its tables, each
    with the heads of the columns. Headings and questions are not stated, but said of what stands under them, and a line
    that ends in a colon of the paragraph or list after it."""
    heading = lead = ""
    paragraphs = ["", *re.split(r"\n\s*\n", text.strip()), ""]
    for before, paragraph, after in zip(paragraphs, paragraphs[1:], paragraphs[2:], strict=False):
        if _heads(paragraph, before, after):
            bare = _ITEM.sub("", paragraph).strip()
            heading, lead = (heading, bare) if bare.endswith(":") else (bare, "")
            continue
        for tabular, lines in groupby(paragraph.split("\n"), key=lambda line: " | " in line):
            state = _rows if tabular else _prose
            yield from state(list(lines), lead or heading)
        if paragraph.endswith(":"):
            lead = _ITEM.sub("", sentences(paragraph)[-1]).strip()
        elif not _ITEM.match(after) and not is_field(after):
            lead = ""


def _heads(paragraph: str, before: str, after: str) -> bool:
    """Whether a paragraph is a heading: a short line without an end, and of numbered ones no item of a list."""
    bare = _ITEM.sub("", paragraph).strip()
    short = len(paragraph) <= LONGEST_HEADING and "\n" not in paragraph and " | " not in paragraph
    if not short or not bare or bare[0].islower() or (_ends(bare) and not _asks(bare)) or bare.endswith((",", ";")):
        return False
    if bare.endswith(":") and len(sentences(bare)) > 1:
        return False
    if bare != paragraph.strip():
        return paragraph.strip()[0].isdigit() and not _ITEM.match(before) and not _ITEM.match(after)
    if not is_field(bare):
        return True
    name, _, value = bare.partition(":")
    titled = name[-1].isdigit() or not any(map(str.isdigit, value))  # "Chapter 1: The 1990s", not "Phone: 0151 22"
    return titled and not is_field(before) and bool(after) and not is_field(after)


def _rows(lines: Sequence[str], above: str) -> Iterator[Statement]:
    heads = _CELLS.split(lines[0])
    for line in lines[1:]:
        first, *cells = _CELLS.split(line)
        columns = heads[-len(cells) :]  # the head of the first column may be empty
        told = ", ".join(f"{head} {cell}" for head, cell in zip(columns, cells, strict=False) if cell)
        head = heads[0] if len(heads) > len(cells) and heads[0].lower() not in first.lower() else ""
        row = f"{first} ({head}): {told}." if head else f"{first}: {told}."
        yield Statement(f"{head} {first}: {told}." if head and first[:1].isdigit() else f"{first}: {told}.", above, row)


def _prose(lines: Sequence[str], above: str) -> Iterator[Statement]:
    if len(lines) > 1 and _heads(lines[0], "", "") and not is_field(lines[0]) and all(map(is_field, lines[1:])):
        above, lines = lines[0], lines[1:]
    single = all(is_field(line) and len(sentences(line)) == 1 for line in lines)
    if single and (len(lines) > 1 or not _ends(lines[0])):
        for line in map(without_citations, lines):
            if _asks(line):
                above = line
            else:
                yield Statement(line, above, values=_values(line))
        return
    outer, before = above, ""
    for sentence in sentences("\n".join(lines)):
        item = bool(_ITEM.match(sentence))
        above = outer if item else above
        if _asks(sentence) or sentence.endswith(":"):  # said of what follows; of an item's, only within it
            above, before = _ITEM.sub("", sentence).strip(), ""
            outer = outer if item else above
        elif item or (len(_units(sentence)) > 1 and _ends(sentence)):
            text = without_citations(sentence)  # a number in a document's own brackets is no citation of ours
            yield Statement(text, above, before=before if _POINTS_BACK.match(text) else "")
            before = text


def _values(line: str) -> str:
    """What is a line's own: of one that names several things the values, for the names are those of all such lines."""
    fields = line.split("; ")
    return " ".join(field.partition(": ")[2] for field in fields) if len(fields) > 1 else line


def _ends(sentence: str) -> bool:
    return sentence.rstrip("\"'”’)」』） ").endswith((".", "!", "?", "。", "！", "？"))


def _asks(sentence: str) -> bool:
    return sentence.rstrip("\"'”’)」』） ").endswith(("?", "？"))


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
    said = _stems(candidate.text)
    return all(stems <= said for stems in own)


def _side_of(candidate: Candidate, own: Sequence[set[str]]) -> int | None:
    """The side that a sentence is about: by its own words, else by what stands above it, the nearest first."""
    passage = candidate.evidence.passage
    nearest = passage.heading.rpartition(" > ")[2]
    for text in (candidate.text, candidate.stated.above, nearest, passage.heading, passage.title):
        named = [place for place, stems in enumerate(own) if stems and stems <= _stems(text)]
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
    return bool(asked_now & _stems(candidate.text)) and 2 * len(asked_now & _about(candidate)) >= len(asked_now)


def _about(candidate: Candidate) -> frozenset[str]:
    passage = candidate.evidence.passage
    return _stems(f"{candidate.stated.whole} {passage.called} {passage.heading}")


def _tell_rows_apart(pool: Sequence[Candidate], asked: Set[str]) -> None:
    """Mark the rows that are not asked for by a word of their own: one that all rows of a table have tells nothing."""
    tables: dict[tuple[int, str], list[Candidate]] = {}
    for each in pool:
        if each.stated.is_row:
            tables.setdefault((each.evidence.number, each.stated.above), []).append(each)
    for rows in tables.values():
        own = [_stems(each.text) & asked for each in rows]
        shared = frozenset.intersection(*own) if len(own) > 1 else frozenset()
        for each, named in zip(rows, own, strict=True):
            each.by_place = named <= shared


def _tells(row: Candidate, question: str, chances: Mapping[str, float]) -> bool:
    """Whether a row gives the amount or the time that the question asks for, and it or what stands above it names most
    of what the question is about: "adult: 5 euros" under "Tickets" of the document that was talked about."""
    if not any(given.search(row.text) for given in _given(question, _QUANTITIES)):
        return False
    named = {key: chances.get(key, 1.0) for key in _asked_stems(question) - _MEASURES}
    stated, passage = row.stated, row.evidence.passage
    place = _stems(f"{stated.above} {passage.called} {passage.heading}")
    near = _stems(stated.values or stated.row) | (place - _stems(row.text))  # the names of its fields say nothing
    return bool(named) and 2 * sum(named[key] for key in named.keys() & near) >= sum(named.values())


def _by_words(question: str, pool: Sequence[Candidate], chances: Mapping[str, float]) -> dict[int, float]:
    """How much of the question each sentence holds (0 to 1): rare words count more, those that may not be meant less;
    its headings help a little."""
    wanted = _asked_stems(question)
    held = {id(each): _stems(each.stated.row or each.text) for each in pool}
    for each in (each for each in pool if each.stated.is_row and each.meant and wanted & _PRICE):
        priced = _MONEY.search(f"{each.stated.whole} {each.evidence.passage.heading}")
        if priced and held[id(each)].isdisjoint(wanted):
            held[id(each)] |= wanted & _PRICE  # "adult: 5 euros" says what it costs
    around = {
        each.evidence.number: _stems(f"{each.evidence.passage.called} {each.evidence.passage.heading}") for each in pool
    }
    frequency = Counter(key for stems in held.values() for key in stems & wanted)
    weight = {key: math.log(1 + len(pool) / (1 + frequency[key])) * chances.get(key, 1.0) for key in wanted}
    total = sum(weight.values()) or 1.0

    def share(each: Candidate) -> float:
        own, near = held[id(each)], around[each.evidence.number] | _stems(each.stated.above)
        if each.leans:
            near = near | _stems(each.stated.before)
        return sum(weight[key] * (1.0 if key in own else 0.85 if key in near else 0.0) for key in wanted) / total

    return {id(each): share(each) for each in pool}


def _fits(candidate: Candidate, question: str, state: ConversationState | None) -> float:
    """A bonus for a sentence of the form that the question asks for or the conversation wants; a malus for one that
    needs its neighbour, is on something else, or introduces what the user knows."""
    sentence, bonus = candidate.text, 0.0
    if _LEADING_PRONOUN.match(sentence) and candidate.position == 0:
        bonus -= 0.1
    if not _gives(candidate, question, _WANTS):
        bonus -= 0.2
    if not _gives(candidate, question, _ROUGHLY):
        bonus -= 0.1
    asked = _defined(question)
    if asked and not base_stems(content_stems(asked)) <= _about(candidate):
        bonus -= 0.2
    if asked and _defines(asked, sentence):
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


def _gives(candidate: Candidate, question: str, kinds: Kinds) -> bool:
    """Whether a sentence holds what a question asks for, such as an amount; any does where it asks for none."""
    return all(given.search(candidate.text) for given in _given(question, kinds))


@lru_cache(maxsize=256)
def _given(question: str, kinds: Kinds) -> tuple[re.Pattern[str], ...]:
    """What a sentence holds that gives what a question asks for."""
    return tuple(given for wants, given in kinds if wants.search(question[:LONGEST_QUESTION]))


def _defined(question: str) -> str:
    """What a question wants to know the meaning of, or nothing: "what is the price of" asks for no meaning."""
    found = _DEFINITION.match(question.strip())
    return found[1] if found and not _given(question, _QUANTITIES) else ""


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
    whole = chosen if _prefers(prompt, SHORT) else _with_tables(chosen, pool)
    if chosen[0].said:
        return AGAIN + _paragraphs(whole)
    defined = _defined(question)
    if not defined:
        return _paragraphs(_with_antecedents(whole, pool))
    alone = len(chosen) == 1 and not _prefers(prompt, SHORT)
    topic = _stems(defined)
    goes_on = [each for each in pool if _continues(each, chosen[0], topic)] if alone else []
    return _paragraphs(_with_antecedents([*chosen, *goes_on], pool), first=chosen[0])


def _as_preferred(text: str, prompt: Prompt) -> str:
    """The text as a list where the user prefers one, and there is more than one thing to list."""
    formed = prompt.sides or any(map(_ITEM.match, text.splitlines())) or _TABLE.search(text)
    if formed or not _prefers(prompt, LISTS) or len(points(text)) < 2:
        return text
    return reform(text, "list")


def _continues(candidate: Candidate, other: Candidate, topic: Set[str]) -> bool:
    """Whether it is the sentence after a definition of the topic, was not said, and defines nothing else."""
    next_one = _together(candidate, other) and candidate.position == other.position + 1
    if not next_one or candidate.said or candidate.item or candidate.stated.is_row:
        return False
    defined = _SAYS_WHAT.match(candidate.text)
    return not defined or bool(_stems(defined[1]) & topic) or bool(_LEADING_PRONOUN.match(candidate.text))


def _together(candidate: Candidate, other: Candidate) -> bool:
    """Whether both stand in the same passage under the same heading."""
    return candidate.evidence is other.evidence and candidate.stated.above == other.stated.above


def _paragraphs(chosen: Sequence[Candidate], first: Candidate | None = None) -> str:
    """Passages by their best sentence, and each passage in its own order; a definition stands first."""
    paragraphs = []
    for number in dict.fromkeys(each.evidence.number for each in chosen):
        mine = sorted(
            (each for each in chosen if each.evidence.number == number),
            key=lambda each: (each is not first, each.position),
        )
        paragraphs.append(" ".join(f"{lead}{_cited(each)}" for lead, each in zip(_leads(mine), mine, strict=True)))
    return "\n\n".join(paragraphs)


def _leads(chosen: Sequence[Candidate]) -> Iterator[str]:
    """What stands before each as it is quoted. An item that is no sentence says little without the heading of its list,
    which may be "What is not covered", nor a row that the question does not name; once is enough for those under the
    same."""
    last = ""
    for each in chosen:
        row = each.by_place
        bare = row or (each.item and (not _ends(each.text) or len(_units(each.text)) < 4))
        heading = (each.stated.above or each.evidence.passage.heading.rpartition(" > ")[2]).rstrip(": ") if bare else ""
        yield "" if heading in ("", last) else f"{heading} " if _asks(heading) else f"{heading}{' –' if row else ':'} "
        last = heading


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
    before = [each for each in near if each.position < best.position and _together(each, best)]

    def follows(each: Candidate) -> bool:
        return each.item and (_together(each, best) or each.stated.above.endswith(":"))

    items = list(takewhile(follows, after))
    if best.item:
        items = [*reversed(list(takewhile(lambda each: each.item, reversed(before)))), best, *items]
    return [each for each in items if each is best or not each.said][:MOST_STEPS]


def _with_tables(chosen: Sequence[Candidate], pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentences, and where more rows than one of a small table answer, none by its own words, all that the judge
    did not turn down."""
    for best in [each for each in chosen if each.by_place][:1]:
        rows = [each for each in pool if each.stated.is_row and each.meant and _together(each, best)]
        table = [each for each in rows if each.said == best.said]
        alike = [each for each in table if each.score >= max(ANSWERS, best.score - NEAR)]
        if 1 < len(alike) <= len(table) <= MOST_STEPS:
            others = [each for each in table if each not in chosen]
            return [*chosen, *(each for each in others if not each.score or each.score >= CONTINUES)]
    return list(chosen)


def _with_antecedents(chosen: Sequence[Candidate], pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentences, each that points back after the one that says what it means."""
    places = {(each.evidence.number, each.position): each for each in pool}
    found: dict[int, Candidate] = {}
    for each in chosen:
        before = places.get((each.evidence.number, each.position - 1))
        leans = each.leans or _LEADING_PRONOUN.match(each.text)
        if before is not None and leans and _together(before, each) and not before.said:
            found[id(before)] = before
        found[id(each)] = each
    return list(found.values())


def _cited(candidate: Candidate) -> str:
    return f"{_tidy(candidate.text)} [{candidate.evidence.number}]"


def _tidy(sentence: str) -> str:
    return " ".join(_ITEM.sub("", sentence).split())


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
    own = _asked_stems(prompt.question)
    return {key: term.weight for term in prompt.added for key in _asked_stems(term.text) if key not in own}


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
