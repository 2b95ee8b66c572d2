"""The conversation as it is sent to a language model: recent turns in full, and a summary of those that do not fit.

The prompt of turn n starts with the prompt of turn n - 1, byte for byte, followed by its answer and the new question,
so that a provider's prompt cache can serve it. When space runs out, a lot is dropped at once: first the evidence no
answer cited, then whole turns, oldest first. The result depends only on the messages, replayed from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from turnwise.dialogue.citing import Locate, with_sources
from turnwise.dialogue.tokens import FRAME, Budget
from turnwise.text import CITATION, one_line, points, without_citations
from turnwise.types import Message, Source

RECENT_TURNS = 25  # turns whose evidence is known; older ones are summarized
MAX_SUMMARY_TOKENS = 1500
MAX_QUESTION_CHARS, MAX_ANSWER_CHARS, MAX_MENTION_CHARS = 100, 200, 50  # in the summary
SUMMARY_HEADING = "Earlier in this conversation, in short:"
OLDER_QUESTIONS_HEADING = "- Before that the user asked: "


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A turn: the question, the evidence and note sent with it, its answers, and the sources they cite."""

    question: str
    evidence: tuple[Source, ...] = ()
    note: str = ""
    answers: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    opens: bool = False  # first turn of the conversation: everything goes into one message
    kept: bool = False  # evidence and note are what was sent then; otherwise the evidence is what the answer cites

    def asked(self) -> tuple[Message, ...]:
        """The question. Evidence and note go into the same message on the first turn, later into one of their own."""
        heading = "Evidence" if self.opens else "New evidence"
        evidence = "\n\n".join([f"{heading}:", *map(_passage, self.evidence)]) if self.evidence else ""
        added = "\n\n".join(filter(None, (evidence, self.note)))
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
class Transcript:
    """The earlier turns: the oldest summarized, the others whole."""

    whole: tuple[PastTurn, ...] = ()
    size: int = 0  # tokens of the whole turns
    short: int = 0  # number of summarized turns before them
    summary: str = ""

    def messages(self) -> tuple[Message, ...]:
        summary = (Message("user", self.summary),) if self.summary else ()
        return (*summary, *(message for turn in self.whole for message in turn.messages()))

    @property
    def visible(self) -> set[int]:
        """Numbers of the passages whose text is in the transcript."""
        return {source.number for turn in self.whole for source in turn.evidence}


def turns_of(history: Sequence[Message], locate: Locate, space: int, budget: Budget) -> list[PastTurn]:
    """Returns the turns of a history. The sources of recent answers are looked up if the caller sent none."""
    turns: list[list[Message]] = []
    for each in history:
        if each.role == "user":
            turns.append([each])
        elif each.role == "assistant" and turns:  # drops anything before the first question
            turns[-1].append(each)
    start = _start(len(turns), budget)
    past: list[PastTurn] = []
    for number, (question, *answers) in enumerate(turns):
        answers = [with_sources(each, locate) for each in answers] if number >= start else answers
        past.append(
            PastTurn(
                budget.shortened(question.content, longest_question(space)),
                question.evidence,
                question.note,
                tuple(each.content for each in answers),
                tuple(source for each in answers for source in each.sources),
                opens=number == 0,
                kept=bool(question.evidence or question.note),
            )
        )
    return past


def longest_question(space: int) -> int:
    """Returns the most tokens a question may have; the middle of a longer one is cut."""
    return space // 2


def transcripts(turns: Sequence[PastTurn], question: str, space: int, budget: Budget) -> tuple[Transcript, Transcript]:
    """Returns the transcript sent before the last turn's question and the one to send before this question. A quarter
    of `space` (in tokens) and what the question needs stay free."""
    start = _start(len(turns), budget)
    before = transcript = Transcript(short=start)
    for turn in turns[start:]:
        before = transcript = _with_room(transcript, turn.question, space, budget)
        if not turn.kept:
            seen = transcript.visible
            turn = replace(turn, evidence=tuple(source for source in turn.sources if source.number not in seen))
        size = transcript.size + budget.size(turn.messages())
        transcript = replace(transcript, whole=(*transcript.whole, turn), size=size)
    transcript = _with_room(transcript, question, space, budget)
    if turns and _start(len(turns) - 1, budget) != start:
        _, before = transcripts(turns[:-1], turns[-1].question, space, budget)
    return _with_summary(before, turns, space, budget), _with_summary(transcript, turns, space, budget)


def _start(turns: int, budget: Budget) -> int:
    """Returns the index of the first turn that may be whole. It moves in large steps to keep the prompt cacheable."""
    step = max(RECENT_TURNS, budget.messages)
    return max(0, turns // step - 1) * step


def _with_room(transcript: Transcript, question: str, space: int, budget: Budget) -> Transcript:
    """Returns the transcript, with more of it summarized if there is no room for the question and its evidence."""
    free = space - space // 4 - budget.count(question) - FRAME
    summary = _max_summary_tokens(space)
    fits = transcript.size + summary * bool(transcript.short) <= free
    if fits and _message_count(transcript.whole, transcript.short) <= budget.messages:
        return transcript
    cited = {source.number for turn in transcript.whole for source in turn.sources}
    whole = [_with_cited_evidence(turn, cited) for turn in transcript.whole]
    sizes = [budget.size(turn.messages()) for turn in whole]
    dropped = 0
    while dropped < len(whole):
        # "It" and "that" refer to the last turn, so it is kept as long as possible.
        parts = 1 if dropped == len(whole) - 1 else 2
        fits = summary + sum(sizes[dropped:]) <= free // parts
        if fits and _message_count(whole[dropped:], 1) <= budget.messages // parts:
            break
        dropped += 1
    return Transcript(tuple(whole[dropped:]), sum(sizes[dropped:]), transcript.short + dropped)


def _with_cited_evidence(turn: PastTurn, cited: set[int]) -> PastTurn:
    """Returns the turn without its note and without evidence that no answer cited."""
    return replace(
        turn, evidence=tuple(source for source in turn.evidence if source.number in cited), note="", kept=True
    )


def _message_count(turns: Iterable[PastTurn], short: int) -> int:
    """Returns the number of messages of these turns, plus one for the summary if there are `short` turns."""
    return sum(1 + len(turn.answers) for turn in turns) + bool(short)


# --- summary ------------------------------------------------------------------------------------------------------


def _with_summary(transcript: Transcript, turns: Sequence[PastTurn], space: int, budget: Budget) -> Transcript:
    summary = summary_of(turns[: transcript.short], _max_summary_tokens(space) - FRAME, budget)
    return replace(transcript, summary=summary)


def _max_summary_tokens(space: int) -> int:
    return min(space // 6, MAX_SUMMARY_TOKENS)


def summary_of(turns: Sequence[PastTurn], max_tokens: int, budget: Budget) -> str:
    """Returns one line per turn with the question and the gist of the answer. Of older turns only the questions are
    mentioned, and the oldest are left out."""
    lines: list[str] = []
    left = max_tokens - budget.count(SUMMARY_HEADING)
    older = len(turns)
    while older and left > max_tokens // 4:
        line = _gist(turns[older - 1].question, turns[older - 1].answers)
        left -= budget.count(line) + 1
        if left < 0:
            break
        lines.append(line)
        older -= 1
    questions: list[str] = []
    left -= budget.count(OLDER_QUESTIONS_HEADING) + 1
    while older:
        mention = one_line(turns[older - 1].question, MAX_MENTION_CHARS)
        left -= budget.count(mention) + 2
        if left < 0:
            break
        questions.append(mention)
        older -= 1
    before = [OLDER_QUESTIONS_HEADING + "; ".join(reversed(questions))] if questions else []
    return "\n".join([SUMMARY_HEADING, *before, *reversed(lines)]) if questions or lines else ""


@lru_cache(maxsize=4096)
def _gist(question: str, answers: tuple[str, ...]) -> str:
    """Returns a turn on one line: the question and the first cited point of the answer."""
    made = points(answers[-1]) if answers else []
    point = next((each for each in made if CITATION.search(each)), made[0] if made else "")
    numbers = "".join(f"[{number}]" for number in dict.fromkeys(CITATION.findall(point)))
    gist = f"{one_line(without_citations(point), MAX_ANSWER_CHARS)} {numbers}".strip()
    return f"- {one_line(question, MAX_QUESTION_CHARS)} → {gist or '(no answer)'}"
