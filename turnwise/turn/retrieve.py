"""Retrieve: what the steps of a plan find, by search and by other tools; the passages best first, none twice."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import re
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from turnwise.byline import is_byline
from turnwise.dialogue.citing import with_sources
from turnwise.dialogue.language import says
from turnwise.dialogue.proposing import RESULT
from turnwise.dialogue.window import prose_of
from turnwise.errors import TurnwiseError
from turnwise.text import content_stems, escape_citations, one_line, sentences, words
from turnwise.types import (
    Hit,
    Library,
    Message,
    Passage,
    QueryPlan,
    Reranker,
    SearchQuery,
    Step,
    StepResult,
    Tool,
)

log = logging.getLogger(__name__)

Search = Callable[[SearchQuery, int], list[Hit]]
PATIENCE = 30.0  # seconds that a turn waits for a tool
LONGEST = 200  # characters of a sentence that the next step is given
LISTED = 20  # documents that are named where somebody asks what there is
MOST = 8  # passages an answer draws on
FOUND = 15  # passages that a search finds at least
SPARE = 5  # more, in place of those that are folded
AGAIN = 0.02  # what it counts that the last answer cited a passage
SAME = 0.05  # what it counts that it cited the document
STILL = 0.02  # the same where the message does not lean on it: people mostly stay in what they talk about
DRAWN = 400  # characters of a question and its answer by which the passage is found that it drew on
ALIKE = 0.8  # of a passage's word triples in a better one, with all its numbers and names: it says the same
TRIPLE = 3
WITHOUT_TOOL = ("rag", "reform", "say", "answer")  # steps that no tool besides the search does

# What the line below a title answers: who, when, in which journal.
_ASKS_WHO = re.compile(
    r"\b(?:who|whose|authors?|wrote|written|writes?|published?|journals?|appear(?:s|ed)?|when|year"
    r"|wer|wann|autor\w*|zeitschrift|qui|quand|auteurs?|revue|qui[eé]n|cu[aá]ndo|revista|quem|quando)\b|[誰谁]|作者|著者|いつ",
    re.I,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Shelves:
    """What a search of a turn works with. Where the message leans on the last answer of the history, what that cited
    is found again even by a "yes"."""

    index: Library
    k: int
    reranker: Reranker | None = None
    history: Sequence[Message] = ()
    leaning: bool = False
    language: str = "en"  # that the library is told of in


async def carry_out(
    plan: QueryPlan, shelves: Shelves, tools: Sequence[Tool] = ()
) -> AsyncGenerator[tuple[int, StepResult], None]:
    """What each step of a plan gives, with its place, as it is done. Steps that wait for none run at the same time; one
    that fails says so in its result, and the others go on. Raises what went wrong where every search failed."""
    named = {tool.name: tool for tool in tools}
    places = [place for place, step in enumerate(plan.steps) if step.tool in ("rag", "library", *named)]
    searches = [place for place in places if plan.steps[place].tool == "rag"]
    earlier = (
        await asyncio.to_thread(drawn_on, shelves.history, shelves.leaning, shelves.index) if searches else NOTHING
    )
    worker = _Worker(shelves, named, earlier)
    waiting: dict[asyncio.Task[StepResult], int] = {}
    try:
        while any(plan.result(place) is None for place in places):
            for place in _ready(plan, places, waiting.values()):
                waiting[asyncio.create_task(worker.done(plan, place))] = place
            if not waiting:
                for place in places:
                    if plan.result(place) is None:
                        yield place, StepResult(error="it waits for a step that waits for it")
                return
            finished, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(finished, key=waiting.__getitem__):
                place = waiting.pop(task)
                plan = plan.with_result(place, task.result())
                yield place, task.result()
    finally:
        for task in waiting:
            task.cancel()
    if worker.broken and all(result.error for place in searches if (result := plan.result(place))):
        raise worker.broken[0]


def listed(titles: Sequence[str], count: int, language: str) -> str:
    """What a library holds, in words: the first of its documents, and how many others there are."""
    if not count:
        return says(language, "library_empty")
    opening = says(language, "library_one") if count == 1 else says(language, "library", count=str(count))
    items = [f"- {one_line(escape_citations(title), 120)}" for title in titles]
    more = [says(language, "library_more", count=str(count - len(titles)))] if count > len(titles) else []
    return "\n".join([opening, "", *items, *more])


def _ready(plan: QueryPlan, places: Sequence[int], running: Collection[int]) -> list[int]:
    """The steps that can begin: neither done nor begun, and all that they wait for is done."""
    left = {place for place in places if plan.result(place) is None}
    return [place for place in places if place in left - {*running} and left.isdisjoint(plan.steps[place].after)]


@dataclasses.dataclass(frozen=True, slots=True)
class Earlier:
    """The passages that the last answer drew on, and whether the message leans on it."""

    passages: tuple[Passage, ...] = ()
    leaning: bool = False


NOTHING = Earlier()


def drawn_on(history: Sequence[Message], leaning: bool, index: Library) -> Earlier:
    """What the last answer that cites drew on: a sum or a table between did on nothing. Where no answer tells its
    sources, as in a history that a caller keeps, they are found by the last that told something: what it quotes, else
    the passage nearest to it and its question."""
    said = reversed(history)
    if any(each.sources for each in history):
        answer = next(each for each in said if each.sources)
    else:
        found = next((each for each in said if each.role == "assistant" and prose_of(each.content)), None)
        if found is None:
            return NOTHING
        answer = with_sources(found, index.locate)
    if answer.sources:
        cited = (index.passage(each.passage_id) for each in answer.sources)
        return Earlier(tuple(passage for passage in cited if passage is not None), leaning)
    asked = next((each.content for each in said if each.role == "user"), "")
    nearest = index.search(SearchQuery(f"{asked} {prose_of(answer.content)}"[:DRAWN]), 1)
    return Earlier(tuple(hit.passage for hit in nearest), leaning)


class _Worker:
    """Does the steps of one plan, and keeps what the searches among them broke on."""

    def __init__(self, shelves: Shelves, tools: Mapping[str, Tool], earlier: Earlier) -> None:
        self._shelves = shelves
        self._tools = tools
        self._earlier = earlier
        self.broken: list[Exception] = []

    async def done(self, plan: QueryPlan, place: int) -> StepResult:
        """What a step gives; where a tool failed and says nothing, what the library has on its question. It never
        raises, but for being cancelled."""
        result, step = await self._done(plan, place), plan.steps[place]
        if step.tool == "rag" or not result.failed or not step.query or step.after:
            return result
        try:
            return dataclasses.replace(result, hits=(await self._search(plan, place)).hits)
        except Exception:
            log.warning("the search in place of the %s failed", step.tool, exc_info=True)
            return result

    async def _done(self, plan: QueryPlan, place: int) -> StepResult:
        step, started = plan.steps[place], time.perf_counter()
        do = {"rag": self._search, "library": self._listing}.get(step.tool, self._call)
        try:
            result = await do(plan, place)
            details = json.loads(json.dumps(result.details, default=str))  # a tool's own: dates, decimals
            return dataclasses.replace(result, details=details, ms=_since(started))
        except _NothingThere as nothing:
            return StepResult(error=str(nothing), ms=_since(started))
        except Exception as error:
            log.warning("step %d, %s, failed", place + 1, step.tool, exc_info=not isinstance(error, TurnwiseError))
            if step.tool == "rag":
                self.broken.append(error)
            # The words of other errors are for the log: they may hold an address, a path or a password.
            told = (
                str(error) if isinstance(error, TurnwiseError | TimeoutError) else f"it broke ({type(error).__name__})"
            )
            return StepResult(error=told, ms=_since(started))

    async def _search(self, plan: QueryPlan, place: int) -> StepResult:
        step, shelves = _filled(plan, place), self._shelves
        query, index = step.query or SearchQuery(step.input), shelves.index
        hits = await asyncio.to_thread(find, query, shelves.k, index.search, shelves.reranker, self._earlier)
        return StepResult(hits=tuple(hits))

    async def _listing(self, plan: QueryPlan, place: int) -> StepResult:
        query, shelves = plan.steps[place].query or SearchQuery(""), self._shelves
        titles, count = await asyncio.to_thread(shelves.index.titles, LISTED, query.where)
        return StepResult(listed(titles, count, shelves.language), details={"documents": count})

    async def _call(self, plan: QueryPlan, place: int) -> StepResult:
        step = _filled(plan, place)
        tool, given = self._tools[step.tool], step.input
        try:
            async with asyncio.timeout(PATIENCE):
                if step.after:  # words of the moment, which the tool has not read yet
                    any_given = given if getattr(tool, "takes_any", False) else ""
                    given = await tool.read(given, ()) or any_given or await _read_after(tool, plan, place)
                return await tool.run(given)
        except TimeoutError:
            raise _NothingThere(f"it took longer than {PATIENCE:g} seconds") from None


class _NothingThere(Exception):
    """Why a step gives nothing, where nothing broke."""


def _since(started: float) -> float:
    return round(1000 * (time.perf_counter() - started), 3)


# --- steps that wait for others -----------------------------------------------------------------------------------


def as_asked(plan: QueryPlan) -> QueryPlan:
    """The plan with what its steps were really given, where that came from others."""
    done = [place for place in range(len(plan.steps)) if (result := plan.result(place)) and not result.error]
    steps = (_filled(plan, place) if place in done else step for place, step in enumerate(plan.steps))
    return dataclasses.replace(plan, steps=tuple(steps))


def _filled(plan: QueryPlan, place: int) -> Step:
    """A step with the results of those before it in the place of {1}, {2} and so on, where it waits for them."""
    step = plan.steps[place]

    def result(found: re.Match[str]) -> str:
        wanted = int(found[1]) - 1
        return _words(plan, wanted) if wanted in step.after else found[0]

    given = RESULT.sub(result, step.input)
    if given == step.input:
        return step
    query = SearchQuery(given, where=step.query.where) if step.query else None
    return dataclasses.replace(step, input=given, query=query)


def _words(plan: QueryPlan, place: int) -> str:
    """What a step found, in words: of a search the sentence that says most of what was asked."""
    result = plan.result(place)
    if result and result.text:
        return result.text
    if not result or result.failed or not result.hits:
        raise _NothingThere(f"it needs what step {place + 1} gives, and that gave nothing")
    best = result.hits[0].passage
    asked = content_stems(plan.steps[place].input) - content_stems(best.title)  # of which every sentence speaks
    said = sentences(best.text)
    return one_line(max(said, key=lambda sentence: len(asked & content_stems(sentence)), default=""), LONGEST)


async def _read_after(tool: Tool, plan: QueryPlan, place: int) -> str:
    """What waits for a sentence ("15% of {1}") as a tool reads it where the sentence was just said: "15% of that"."""
    step = plan.steps[place]
    said = [Message("assistant", _words(plan, each)) for each in step.after]
    given = await tool.read(RESULT.sub("that", step.input), said)
    if not given:
        raise _NothingThere(f"the {tool.name} cannot take “{step.input}”")
    return given


# --- what was found -----------------------------------------------------------------------------------------------


def gathered(plan: QueryPlan, k: int) -> list[Hit]:
    """All that the steps found, none twice: what tools read, then at most k passages, two more where there were several
    searches; each search gets its turn at handing one in."""
    done = zip(plan.steps, plan.results, strict=False)
    results = [(step.tool == "rag" or result.failed, result) for step, result in done if result]
    read = [hit for searched, result in results if not searched for hit in result.hits]
    rankings = [list(result.hits) for searched, result in results if searched]
    wanted = min(k if len(rankings) == 1 else k + 2, MOST)
    best: dict[int, Hit] = {}
    for hit in _in_turn(rankings):
        best.setdefault(hit.passage.id, hit)
    return read + list(best.values())[:wanted]


def outcome(plan: QueryPlan, hits: Sequence[Hit]) -> str:
    """What the steps came to, for the trace: how many passages, and which tools."""
    passages = [f"{len(hits)} passages"] if plan.searched else []
    called = [step.tool for step in plan.steps if step.tool not in WITHOUT_TOOL]
    return " + ".join([*passages, *called]) or "nothing"


def searched_for(plan: QueryPlan) -> str:
    searches = [step.input for step in plan.searched]
    return f"for “{'”, “'.join(searches)}”" if searches else "nothing to search"


def in_detail(plan: QueryPlan, hits: Sequence[Hit]) -> dict[str, Any]:
    """The searches and what they found, for the trace."""
    found = [{"title": hit.passage.title, "heading": hit.passage.heading, "score": round(hit.score, 4)} for hit in hits]
    return {"searches": [step.input for step in plan.searched], "found": found}


def troubles(plan: QueryPlan) -> str:
    """What a reader should know of steps that failed and have not said so themselves, in a sentence each."""
    done = zip(plan.steps, plan.results, strict=False)
    failed = [(step, result) for step, result in done if result and result.failed]
    doing = {"rag": "The search for"}
    return " ".join(
        f"{doing.get(step.tool, f'The {step.tool} on')} “{one_line(step.input)}” failed: {result.error.rstrip('.')}."
        for step, result in failed
    )


def find(
    query: SearchQuery, k: int, search: Search, reranker: Reranker | None = None, earlier: Earlier = NOTHING
) -> list[Hit]:
    """The best k passages of one search: the re-ranker orders those at the top, and of those that say the same only
    the best stays."""
    found = search(query, max(k, FOUND) + SPARE)
    if not _ASKS_WHO.search(query.question):
        found = [hit for hit in found if not is_byline(hit.passage.text)]
    found = _again(found, earlier, query)
    if reranker is not None and len(found) > 1:
        top, rest = found[: reranker.reads], found[reranker.reads :]
        points = reranker.scores(query.question, [hit.passage for hit in top])
        top = [
            dataclasses.replace(hit, score=hit.score + reranker.trust * point)
            for hit, point in zip(top, points, strict=True)
        ]
        found = sorted(top, key=lambda hit: -hit.score) + rest
    return _distinct(found, k)


def _again(found: list[Hit], earlier: Earlier, query: SearchQuery) -> list[Hit]:
    """The hits, all of the documents that were drawn on a little higher, unless the question names another. Where the
    message leans on that answer, its passages are higher still, and one that was not found stands behind the last,
    unless there is a filter, which it may not fit."""
    documents = {passage.document_id for passage in earlier.passages}
    if not documents:
        return found
    if any(_names(query.question, hit.passage) for hit in found if hit.passage.document_id not in documents):
        documents = set()
    cited = {passage.id for passage in earlier.passages if earlier.leaning}
    same = SAME if earlier.leaning else STILL

    def lifted(passage: Passage) -> float:
        return AGAIN * (passage.id in cited) + same * (passage.document_id in documents)

    found = [dataclasses.replace(hit, score=hit.score + lifted(hit.passage)) for hit in found]
    if earlier.leaning and not query.where:
        last, known = min((hit.score for hit in found), default=0.0), {hit.passage.id for hit in found}
        found += [Hit(passage, last + AGAIN) for passage in earlier.passages if passage.id not in known]
    return sorted(found, key=lambda hit: -hit.score)


def _names(question: str, passage: Passage) -> bool:
    """Whether a question names the document of a passage, by its title or an author."""
    by = passage.reference
    named = by is not None and by.is_named({word.lower() for word in words(question)})
    return named or (bool(passage.title) and passage.title.lower() in question.lower())


def _distinct(found: Sequence[Hit], k: int) -> list[Hit]:
    kept: list[tuple[Hit, _Said]] = []
    for hit in found:
        if len(kept) == k:
            break
        said = _said(hit.passage.text)
        if not any(said.is_in(better) for _, better in kept):
            kept.append((hit, said))
    return [hit for hit, _ in kept]


@dataclasses.dataclass(frozen=True, slots=True)
class _Said:
    """What a passage says: its words, those of them that are numbers or names, and all in threes as they stand."""

    words: frozenset[str]
    particular: frozenset[str]
    triples: frozenset[tuple[str, ...]]

    def is_in(self, other: _Said) -> bool:
        """Whether the other says almost the same. The contract of another tenant or the price of another year does not,
        however like it is."""
        alike = len(self.triples & other.triples) >= ALIKE * len(self.triples)
        return bool(self.triples) and alike and self.particular <= other.words


def _said(text: str) -> _Said:
    written = words(text)
    said = [word.lower() for word in written]
    particular = (word.lower() for word in written if word[0].isupper() or any(map(str.isdigit, word)))
    triples = zip(*(said[start:] for start in range(TRIPLE)), strict=False)
    return _Said(frozenset(said), frozenset(particular), frozenset(triples))


def _in_turn(rankings: Sequence[list[Hit]]) -> Iterator[Hit]:
    for row in zip_longest(*rankings):
        yield from (hit for hit in row if hit is not None)
