"""Suggest: questions the user may want to ask next. Each has been tried, and the library answers it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from turnwise.dialogue.asking import question_about, question_on, what_is
from turnwise.text import CITATION, content_stems, message_stems
from turnwise.types import (
    EVERYTHING,
    Evidence,
    Filter,
    Hit,
    Intent,
    Library,
    Message,
    Passage,
    SearchQuery,
    Source,
    TurnRequest,
)

log = logging.getLogger(__name__)

MAX_SEARCHES = 6  # for the suggestions of one turn
MAX_CITED_PASSAGES = 2  # suggestions come from the passages around these
PASSAGES_AROUND = 8  # on each side of a cited passage
NEAR_COSINE = 0.6  # of passage and question, for the pinned embedder
TOP_RESULTS = 3  # of a search; the passage that should answer must be among these
RECENT_MESSAGES = 20  # that are read, however long the conversation is
SAME_QUESTION_SHARE = 0.7  # of the words of two questions; if they share this much, they ask the same
NO_SUGGESTIONS_AFTER: frozenset[Intent] = frozenset({"social", "recall", "reform", "arithmetic"})

ANSWERED = "answered"

# Whether passages answer a question with something that was not said before.
Answers = Callable[[str, Sequence[Hit], Sequence[str]], bool]


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """What a turn has answered, and what was said before it."""

    message: str
    question: str  # the same as a question that stands alone
    text: str
    sources: tuple[Source, ...]
    evidence: tuple[Evidence, ...]
    history: tuple[Message, ...] = ()
    known: tuple[Source, ...] = ()  # the sources of the answers in the history
    language: str = "en"
    pinned: bool = True  # whether the documents have vectors that NEAR_COSINE fits

    @property
    def asked(self) -> list[str]:
        recent = self.history[-RECENT_MESSAGES:]
        return [*(each.content for each in recent if each.role == "user"), self.message, self.question]

    @property
    def said(self) -> list[str]:
        recent = self.history[-RECENT_MESSAGES:]
        return [*(each.content for each in recent if each.role == "assistant"), self.text]

    @property
    def cited(self) -> list[Passage]:
        """The passages that the answer cites and that are near the question."""
        cited = {source.passage_id for source in self.sources}
        near = (each for each in self.evidence if not self.pinned or _is_near(each.hit))
        return [each.passage for each in near if each.passage.id in cited and each.passage.id > 0]  # not from a tool


@dataclass(frozen=True, slots=True)
class SuggestedQuestion:
    """A question, and the part of a document that should answer it."""

    question: str
    title: str
    heading: str = ""

    def is_in(self, passage: Passage) -> bool:
        return passage.title == self.title and self.heading in ("", passage.heading)


class Suggestions(NamedTuple):
    """The questions that were tried, each with the outcome; none if others were waiting."""

    tried: dict[str, str]
    crowded: bool = False

    @property
    def answered(self) -> tuple[str, ...]:
        """Those that the user may be shown."""
        return tuple(question for question, outcome in self.tried.items() if outcome == ANSWERED)


async def suggestions_for(
    turn: AnsweredTurn, intent: Intent, request: TurnRequest, index: Library, answers: Answers | None, limit: int
) -> Suggestions:
    """What to suggest after a turn: nothing after an answer that is not from documents, nothing without a judge of
    answers, and nothing while others wait for theirs."""
    wanted = 0 if intent in NO_SUGGESTIONS_AFTER else limit
    crowded = wanted > 0 and request.crowded()
    if answers is None or not wanted or crowded:
        return Suggestions({}, crowded)
    return Suggestions(await asyncio.to_thread(suggest, turn, index, answers, wanted, request.where))


def suggest(
    turn: AnsweredTurn, index: Library, answers: Answers, limit: int, where: Filter = EVERYTHING
) -> dict[str, str]:
    """The questions that were tried, each with the outcome. They are about what the library has near this answer and
    the conversation has not covered. At most `limit` are ANSWERED; only those are shown. Empty if the search fails,
    because the answer does not depend on it."""
    try:
        return _try_questions(turn, index, answers, limit, where)
    except Exception:
        log.exception("nothing could be suggested")
        return {}


def _is_near(hit: Hit) -> bool:
    return hit.similarity is None or hit.similarity >= NEAR_COSINE


def _try_questions(turn: AnsweredTurn, index: Library, answers: Answers, limit: int, where: Filter) -> dict[str, str]:
    tried: dict[str, str] = {}
    asked, said = turn.asked, turn.said
    for suggestion in _suggestions(turn, index):
        if len(tried) == MAX_SEARCHES or list(tried.values()).count(ANSWERED) == limit:
            break
        question = suggestion.question
        if any(_ask_the_same(question, other) for other in (*asked, *tried)):
            continue
        hits = index.search(SearchQuery(question, where=where), TOP_RESULTS)
        own = [hit for hit in hits if suggestion.is_in(hit.passage)]
        is_answered = bool(own) and answers(question, own, said)
        tried[question] = ANSWERED if is_answered else "not answered" if own else "not found"
    return tried


def _suggestions(turn: AnsweredTurn, index: Library) -> Iterator[SuggestedQuestion]:
    """What may be asked: other sections of the cited documents, alternating with the documents that the answer names;
    last, sections that only the general question fits. Nothing if no passage near the question is cited."""
    if not turn.cited:
        return
    sections = _sections_around(turn, index)
    particular = [
        SuggestedQuestion(question, each.title, each.heading)
        for each in sections
        if (question := question_about(_section_title(each), each.text, turn.language))
    ]
    for pair in zip_longest(particular, _about_named_documents(turn, index)):
        yield from (each for each in pair if each is not None)
    headings = {each.heading for each in particular}
    for each in sections:  # nothing else is left
        question = "" if each.heading in headings else question_on(_section_title(each), each.text, turn.language)
        if question:
            yield SuggestedQuestion(question, each.title, each.heading)


def _sections_around(turn: AnsweredTurn, index: Library) -> list[Passage]:
    """The passages around what was cited, one for each heading that was not covered: the nearest first, and those below
    before those above."""
    covered = {(each.title, each.heading) for each in turn.sources}
    cited = {int(number) for answer in turn.said for number in CITATION.findall(answer)}
    covered |= {(each.title, each.heading) for each in turn.known if each.number in cited}
    sections: dict[tuple[str, str], Passage] = {}
    for passage in turn.cited[:MAX_CITED_PASSAGES]:
        around = index.around(passage, PASSAGES_AROUND)
        for each in sorted(around, key=lambda each: (abs(each.position - passage.position), -each.position)):
            if each.heading and (each.title, each.heading) not in covered:
                sections.setdefault((each.title, each.heading), each)
    return list(sections.values())


def _section_title(passage: Passage) -> str:
    return passage.heading.rsplit(" > ", 1)[-1]


def _about_named_documents(turn: AnsweredTurn, index: Library) -> Iterator[SuggestedQuestion]:
    """Questions about the documents that the answer or its passages name and no question did."""
    titles, _ = index.terms()
    asked_about = content_stems(" ".join(turn.asked))
    text = "\n".join([turn.text, *(each.text for each in turn.cited)])
    lower = text.lower()
    for title in titles:
        new = title.lower() in lower and not content_stems(title) <= asked_about
        if new and (question := what_is(title, text, turn.language)):
            yield SuggestedQuestion(question, title)


def _ask_the_same(one: str, other: str) -> bool:
    """Whether two questions share nearly all their words."""
    stems, others = message_stems(one), message_stems(other)
    return bool(stems) and len(stems & others) >= SAME_QUESTION_SHARE * len(stems | others)
