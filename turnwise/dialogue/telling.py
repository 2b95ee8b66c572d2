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
    """The earlier turns: the oldest in short, the others whole."""

    whole: tuple[Told, ...] = ()
    size: int = 0  # tokens of those
    short: int = 0  # turns before them
    summary: str = ""

    def messages(self) -> tuple[Message, ...]:
        summary = (Message("user", self.summary),) if self.summary else ()
        return (*summary, *(each for turn in self.whole for each in turn.messages()))

    @property
    def visible(self) -> set[int]:
        """The numbers of the passages that a model can read there."""
        return {source.number for turn in self.whole for source in turn.evidence}


def told(history: Sequence[Message], locate: Locate, space: int, budget: Budget) -> list[Told]:
    """The turns of a history. The sources of recent answers are looked up where the caller sent none."""
    turns: list[list[Message]] = []
    for each in history:
        if each.role == "user":
            turns.append([each])
        elif each.role == "assistant" and turns:  # what the assistant said before the first question is left out
            turns[-1].append(each)
    start = _start(len(turns), budget)
    found: list[Told] = []
    for place, (question, *answers) in enumerate(turns):
        answers = [with_sources(each, locate) for each in answers] if place >= start else answers
        found.append(
            Told(
                budget.shortened(question.content, longest_question(space)),
                question.evidence,
                question.note,
                tuple(each.content for each in answers),
                tuple(source for each in answers for source in each.sources),
                opens=place == 0,
                kept=bool(question.evidence or question.note),
            )
        )
    return found


def longest_question(space: int) -> int:
    """The tokens of a question above which it loses its middle."""
    return space // 2


def tell(turns: Sequence[Told], question: str, space: int, budget: Budget) -> tuple[Telling, Telling]:
    """What to say of the earlier turns before this question, and what was said before the last one. Of the `space`, in
    tokens, a quarter and what the question needs stay free."""
    start = _start(len(turns), budget)
    before = telling = Telling(short=start)
    for turn in turns[start:]:
        before = telling = _with_room(telling, turn.question, space, budget)
        if not turn.kept:
            seen = telling.visible
            turn = replace(turn, evidence=tuple(source for source in turn.sources if source.number not in seen))
        size = telling.size + budget.size(turn.messages())
        telling = replace(telling, whole=(*telling.whole, turn), size=size)
    telling = _with_room(telling, question, space, budget)
    if turns and _start(len(turns) - 1, budget) != start:
        _, before = tell(turns[:-1], turns[-1].question, space, budget)
    return _with_summary(before, turns, space, budget), _with_summary(telling, turns, space, budget)


def _start(turns: int, budget: Budget) -> int:
    """The place of the first turn that may be whole. It moves in steps, so that it stays where it is for long."""
    step = max(RECENT, budget.messages)
    return max(0, turns // step - 1) * step


def _with_room(telling: Telling, question: str, space: int, budget: Budget) -> Telling:
    """The telling as it is, or more of it in short where it leaves no room for the question and its evidence."""
    free = space - space // 4 - budget.count(question) - FRAME
    summary = _longest_summary(space)
    if telling.size + summary * bool(telling.short) <= free and _said(telling.whole, telling.short) <= budget.messages:
        return telling
    cited = {source.number for turn in telling.whole for source in turn.sources}
    whole = [_bare(turn, cited) for turn in telling.whole]
    sizes = [budget.size(turn.messages()) for turn in whole]
    gone = 0
    while gone < len(whole):
        # "It" and "that" mean what the last turn said: that one stays as long as it can.
        parts = 1 if gone == len(whole) - 1 else 2
        if summary + sum(sizes[gone:]) <= free // parts and _said(whole[gone:], 1) <= budget.messages // parts:
            break
        gone += 1
    return Telling(tuple(whole[gone:]), sum(sizes[gone:]), telling.short + gone)


def _bare(turn: Told, cited: set[int]) -> Told:
    """The turn without its note and the evidence that nobody cited."""
    return replace(
        turn, evidence=tuple(source for source in turn.evidence if source.number in cited), note="", kept=True
    )


def _said(turns: Iterable[Told], short: int) -> int:
    """How many messages of the conversation these are; the summary of those in short is one."""
    return sum(1 + len(turn.answers) for turn in turns) + bool(short)


# --- in short -----------------------------------------------------------------------------------------------------


def _with_summary(telling: Telling, turns: Sequence[Told], space: int, budget: Budget) -> Telling:
    summary = summarised(turns[: telling.short], _longest_summary(space) - FRAME, budget)
    return replace(telling, summary=summary)


def _longest_summary(space: int) -> int:
    return min(space // 6, LONGEST_SUMMARY)


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
