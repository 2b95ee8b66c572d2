"""Suggest: questions that the user may ask next, each of which the library has been seen to answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from turnwise.dialogue.asking import question_about, question_on, what_is
from turnwise.text import CITATION, content_stems, message_stems
from turnwise.types import EVERYTHING, Evidence, Filter, Hit, Intent, Library, Message, Passage, SearchQuery, Source

log = logging.getLogger(__name__)

SEARCHES = 6  # at most, for the suggestions of one turn
ANCHORS = 2  # passages cited whose documents are looked at
REACH = 8  # passages of a document that are looked at on each side of one that was cited
NEAR = 0.6  # cosine to the question from which a passage counts as near it
FIRST = 3  # passages of a search among which the one that should answer must be
RECENT = 20  # messages that are looked at, however long the conversation is
ALIKE = 0.7  # share of two questions' words from which they ask the same
SILENT: frozenset[Intent] = frozenset({"social", "recall", "reform", "arithmetic"})  # after these nothing is suggested

ANSWERED = "answered"

# Whether passages answer a question with something that is not in what was said before.
Answers = Callable[[str, Sequence[Hit], Sequence[str]], bool]


@dataclass(frozen=True, slots=True)
class Done:
    """What a turn has answered, and what was said before it."""

    message: str
    question: str  # the same, standing alone
    text: str
    sources: tuple[Source, ...]
    evidence: tuple[Evidence, ...]
    history: tuple[Message, ...] = ()
    known: tuple[Source, ...] = ()  # what stood behind the answers in it, whoever kept them
    language: str = "en"

    @property
    def asked(self) -> list[str]:
        recent = self.history[-RECENT:]
        return [*(each.content for each in recent if each.role == "user"), self.message, self.question]

    @property
    def said(self) -> list[str]:
        return [*(each.content for each in self.history[-RECENT:] if each.role == "assistant"), self.text]

    @property
    def cited(self) -> list[Passage]:
        """The passages that the answer cites and that are near the question."""
        cited = {source.passage_id for source in self.sources}
        near = (each for each in self.evidence if each.hit.similarity is None or each.hit.similarity >= NEAR)
        return [each.passage for each in near if each.passage.id in cited and each.passage.id > 0]  # no tool's


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question, and the part of a document that should answer it."""

    question: str
    title: str
    heading: str = ""

    def is_in(self, passage: Passage) -> bool:
        return passage.title == self.title and self.heading in ("", passage.heading)


def suggested(done: Done, index: Library, answers: Answers, most: int, where: Filter = EVERYTHING) -> dict[str, str]:
    """The questions that were tried, on what the library holds near this answer and the conversation has not treated,
    each with what came of it; at most so many are ANSWERED, and those can be shown. Nothing where the search fails: the
    answer stands by itself."""
    try:
        return _tried(done, index, answers, most, where)
    except Exception:
        log.exception("nothing could be suggested")
        return {}


def _tried(done: Done, index: Library, answers: Answers, most: int, where: Filter) -> dict[str, str]:
    tried: dict[str, str] = {}
    asked, said = done.asked, done.said
    for candidate in candidates(done, index):
        if len(tried) == SEARCHES or list(tried.values()).count(ANSWERED) == most:
            break
        question = candidate.question
        if any(_same(question, other) for other in (*asked, *tried)):
            continue
        hits = index.search(SearchQuery(question, where=where), FIRST)
        own = [hit for hit in hits if candidate.is_in(hit.passage)]
        answer = bool(own) and answers(question, own, said)
        tried[question] = ANSWERED if answer else "not answered" if own else "not found"
    return tried


def candidates(done: Done, index: Library) -> Iterator[Candidate]:
    """What may be asked: the other parts of the documents cited and, in turns with them, the documents that the answer
    names; last those parts whose headings have no form of their own. Nothing where the answer rests on nothing near."""
    if not done.cited:
        return
    parts = _parts(done, index)
    asked = ((each, question_about(_last(each), each.text, done.language)) for each in parts)
    others = ((each, question_on(_last(each), each.text, done.language)) for each in parts)
    first, last = (
        [Candidate(question, each.title, each.heading) for each, question in made if question]
        for made in (asked, others)
    )
    for pair in zip_longest(first, _named(done, index)):
        yield from (each for each in pair if each is not None)
    yield from (each for each in last if each.heading not in {other.heading for other in first})


def _parts(done: Done, index: Library) -> list[Passage]:
    """The passages around what was cited, one for each heading that was not treated, the nearest first and those below
    before those above."""
    treated = {(each.title, each.heading) for each in done.sources}
    told = {int(number) for answer in done.said for number in CITATION.findall(answer)}
    treated |= {(each.title, each.heading) for each in done.known if each.number in told}
    found: dict[tuple[str, str], Passage] = {}
    for passage in done.cited[:ANCHORS]:
        around = index.around(passage, REACH)
        for each in sorted(around, key=lambda each: (abs(each.position - passage.position), -each.position)):
            if each.heading and (each.title, each.heading) not in treated:
                found.setdefault((each.title, each.heading), each)
    return list(found.values())


def _last(passage: Passage) -> str:
    return passage.heading.rsplit(" > ", 1)[-1]


def _named(done: Done, index: Library) -> Iterator[Candidate]:
    """The documents that the answer or its passages name and no question did."""
    titles, _ = index.terms()
    known = content_stems(" ".join(done.asked))
    text = "\n".join([done.text, *(each.text for each in done.cited)])
    lower = text.lower()
    for title in titles:
        new = title.lower() in lower and not content_stems(title) <= known
        if new and (question := what_is(title, text, done.language)):
            yield Candidate(question, title)


def _same(one: str, other: str) -> bool:
    """Whether two questions ask the same: nearly all their words are."""
    stems, others = message_stems(one), message_stems(other)
    return bool(stems) and len(stems & others) >= ALIKE * len(stems | others)
