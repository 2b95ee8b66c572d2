"""The conversation as a language model is told of it: turns as they were sent, and the gist of those that do not fit.

What is told to turn n is what was told to turn n - 1, its answer, and the new question, byte for byte, so that a
provider finds it in its cache. Once there is no room left, much is put aside at once: first the evidence that no answer
cited, then whole turns, oldest first. All follows from what was said alone, walked through from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from turnwise.dialogue.citing import Locate, with_sources
from turnwise.dialogue.tokens import FRAME, Budget
from turnwise.text import CITATION, one_line, points, without_citations
from turnwise.types import Message, Source

RECENT = 25  # turns of which it is known what they showed; older ones are told in short
LONGEST_SUMMARY = 1500  # tokens
ASKED, ANSWERED, MENTIONED = 100, 200, 50  # characters of a question and an answer in a summary, of an older question
SUMMARY = "Earlier in this conversation, in short:"
BEFORE = "- Before that the user asked: "


@dataclass(frozen=True, slots=True)
class Told:
    """A turn: the question, what was shown and noted with it, what was answered, and the sources that cites."""

    question: str
    evidence: tuple[Source, ...] = ()
    note: str = ""
    answers: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    opens: bool = False  # the conversation: then all stands in one message
    kept: bool = False  # evidence and note are what was shown then; else the evidence is what the answer cites

    def asked(self) -> tuple[Message, ...]:
        """The question; with the first its evidence, after a later one what is new as a message of its own."""
        heading = "Evidence" if self.opens else "New evidence"
        shown = "\n\n".join([f"{heading}:", *map(_passage, self.evidence)]) if self.evidence else ""
        added = "\n\n".join(filter(None, (shown, self.note)))
        if self.opens or not added:
            return (Message("user", f"{self.question}\n\n{added}" if added else self.question),)
        return Message("user", self.question), Message("user", added)

    def messages(self) -> tuple[Message, ...]:
        return (*self.asked(), *(Message("assistant", answer) for answer in self.answers))


def _passage(source: Source) -> str:
    page = f"p. {source.page}" if source.page else ""
    place = ", ".join(part for part in (source.title, str(source.reference or ""), source.heading, page) if part)
    return f"[{source.number}] {place}\n{source.text}"


@dataclass(frozen=True, slots=True)
class Telling:
    """The earlier turns: a summary of the oldest, and the others whole."""

    whole: tuple[Told, ...] = ()
    summary: str = ""
    summarised: int = 0  # turns
    size: int = 0  # tokens

    def messages(self) -> tuple[Message, ...]:
        summary = (Message("user", self.summary),) if self.summary else ()
        return (*summary, *(each for turn in self.whole for each in turn.messages()))

    @property
    def said(self) -> int:
        """How many messages of the conversation that is, the summary as one of them."""
        return _said(self.whole) + bool(self.summary)

    @property
    def visible(self) -> set[int]:
        """The numbers of the passages that a model can read there."""
        return {source.number for turn in self.whole for source in turn.evidence}


def told(history: Sequence[Message], locate: Locate, budget: Budget) -> list[Told]:
    """The turns of a history. The sources of recent answers are looked up where the caller sent none."""
    turns: list[list[Message]] = []
    for each in history:
        if each.role == "user":
            turns.append([each])
        elif each.role == "assistant" and turns:  # what the assistant said before the first question is left out
            turns[-1].append(each)
    start = _start(len(turns), budget)
    return [
        _told(question, [with_sources(each, locate) if place >= start else each for each in answers], place == 0)
        for place, (question, *answers) in enumerate(turns)
    ]


def _told(question: Message, answers: Sequence[Message], opens: bool) -> Told:
    return Told(
        question.content,
        question.evidence,
        question.note,
        tuple(each.content for each in answers),
        tuple(source for each in answers for source in each.sources),
        opens,
        kept=bool(question.evidence or question.note),
    )


def tell(turns: Sequence[Told], question: str, space: int, budget: Budget) -> Telling:
    """What to say of the earlier turns before this question. Of the `space`, in tokens, a quarter and what the question
    needs stay free."""
    start = _start(len(turns), budget)
    telling = _in_short(turns, start, (), space, budget)
    for place, turn in enumerate(turns[start:], start):
        telling = _with_room(telling, turns[:place], turn.question, space, budget)
        if not turn.kept:
            seen = telling.visible
            turn = replace(turn, evidence=tuple(source for source in turn.sources if source.number not in seen))
        turn = replace(turn, question=budget.shortened(turn.question, space // 2))
        size = telling.size + budget.size(turn.messages())
        telling = replace(telling, whole=(*telling.whole, turn), size=size)
    return _with_room(telling, turns, question, space, budget)


def _start(turns: int, budget: Budget) -> int:
    """The place of the first turn that may be whole. It moves in steps, so that it stays where it is for long."""
    step = max(RECENT, budget.messages)
    return max(0, turns // step - 1) * step


def _with_room(telling: Telling, turns: Sequence[Told], question: str, space: int, budget: Budget) -> Telling:
    """The telling as it is, or in short where it leaves no room for the question and its evidence."""
    free = space - space // 4 - min(budget.count(question), space // 2) - FRAME
    if telling.size <= free and telling.said <= budget.messages:
        return telling
    cited = {int(number) for turn in telling.whole for answer in turn.answers for number in CITATION.findall(answer)}
    whole = [_bare(turn, cited) for turn in telling.whole]
    sizes = [budget.size(turn.messages()) for turn in whole]
    gone, summary = 0, _most_of_summary(space)
    while gone < len(whole):
        size, said = summary + sum(sizes[gone:]), 1 + _said(whole[gone:])
        last = gone == len(whole) - 1  # "it" and "that" mean what it said: it stays as long as it can
        if size <= (free if last else free // 2) and said <= (budget.messages if last else budget.messages // 2):
            break
        gone += 1
    return _in_short(turns, telling.summarised + gone, whole[gone:], space, budget)


def _bare(turn: Told, cited: set[int]) -> Told:
    """The turn without its note and the evidence that nobody cited."""
    return replace(
        turn, evidence=tuple(source for source in turn.evidence if source.number in cited), note="", kept=True
    )


def _said(turns: Iterable[Told]) -> int:
    return sum(1 + len(turn.answers) for turn in turns)


# --- in short -----------------------------------------------------------------------------------------------------


def _in_short(turns: Sequence[Told], gone: int, whole: Sequence[Told], space: int, budget: Budget) -> Telling:
    summary = summarised(turns[:gone], _most_of_summary(space) - FRAME, budget) if gone else ""
    telling = Telling(tuple(whole), summary, gone)
    return replace(telling, size=budget.size(telling.messages()))


def _most_of_summary(space: int) -> int:
    return min(space // 8, LONGEST_SUMMARY)


def summarised(turns: Sequence[Told], most: int, budget: Budget) -> str:
    """A line for each turn, what was asked and the gist of the answer; of older turns what was asked; the oldest are
    left out."""
    lines: list[str] = []
    left = most - budget.count(SUMMARY)
    older = len(turns)
    while older and left > most // 4:
        line = _gist(turns[older - 1].question, turns[older - 1].answers)
        left -= budget.count(line) + 1
        if left < 0:
            break
        lines.append(line)
        older -= 1
    asked: list[str] = []
    left -= budget.count(BEFORE) + 1
    while older:
        mention = one_line(turns[older - 1].question, MENTIONED)
        left -= budget.count(mention) + 2
        if left < 0:
            break
        asked.append(mention)
        older -= 1
    before = [BEFORE + "; ".join(reversed(asked))] if asked else []
    return "\n".join([SUMMARY, *before, *reversed(lines)]) if asked or lines else ""


@lru_cache(maxsize=4096)
def _gist(question: str, answers: tuple[str, ...]) -> str:
    """A turn on one line: the question, and the first point of the answer that rests on something."""
    said = points(answers[-1]) if answers else []
    point = next((each for each in said if CITATION.search(each)), said[0] if said else "")
    numbers = "".join(f"[{number}]" for number in dict.fromkeys(CITATION.findall(point)))
    gist = f"{one_line(without_citations(point), ANSWERED)} {numbers}".strip()
    return f"- {one_line(question, ASKED)} → {gist or '(no answer)'}"
