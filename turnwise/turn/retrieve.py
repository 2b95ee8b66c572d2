"""Retrieve: run the steps of a plan, searches and other tools. The passages come best first and without duplicates."""

from __future__ import annotations

import asyncio
import dataclasses
import glob
import json
import logging
import math
import re
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import Any

from turnwise.byline import is_byline
from turnwise.dialogue.citing import with_sources
from turnwise.dialogue.language import says
from turnwise.dialogue.proposing import RESULT
from turnwise.dialogue.window import prose_of
from turnwise.dialogue.writing import last_question
from turnwise.errors import TurnwiseError, WeightsError
from turnwise.logs import done_without
from turnwise.text import content_stems, escape_citations, is_specific, one_line, sentences, specific_stems, stem, words
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
from turnwise.works import ALL_FINDINGS, best_scores, named_documents, tells

log = logging.getLogger(__name__)

Search = Callable[[SearchQuery, int], list[Hit]]
TOOL_TIMEOUT_SECONDS = 30.0
MAX_SENTENCE_CHARS = 200  # of a sentence that is passed on to the next step
MAX_TITLES = 20  # documents named when somebody asks what there is
MAX_PASSAGES = 8  # for one answer
MIN_RESULTS = 15  # a search asks for at least this many passages
SPARE_RESULTS = 5  # asked for in addition, to replace duplicates
CITED_PASSAGE_BONUS = 0.02  # score bonus in a follow-up, for a passage that the last answer cited
CITED_DOCUMENT_BONUS = 0.05  # for all passages of its document, in any message: people mostly stay with their subject
BEFORE_SHARE = 0.8  # of these bonuses, for the documents behind the answer before the last
NAMED_THERE_BONUS = 0.1  # the same for those that have all the words a follow-up names: "what about shoes?"
NAMED_BEFORE_BONUS = 0.12  # the same in both cases if the user has named the document by its authors, year or file
NAMED_DOCUMENT_BONUS = 0.15  # for all passages of a document that the question itself names so
RECENT_MESSAGES = 100  # among which documents that the user named are looked for
MAX_LOOKUP_CHARS = 400  # of a question and its answer, when the passage behind them is searched for
DUPLICATE_SHARE = 0.8  # of a passage's word triples; if a better passage has this many, it may say the same
STEPS_WITHOUT_TOOL = ("rag", "reform", "say", "answer")

_ONLY_A_WORK = re.compile(r"\W*(?:the )?\w+\W*")  # what is left of a question that only names one
# Questions that the byline below a title answers: who, when, in which journal.
_ASKS_FOR_BYLINE = re.compile(
    r"\b(?:who|whose|authors?|wrote|written|writes?|published?|journals?|appear(?:s|ed)?|when|year"
    r"|wer|wann|autor\w*|zeitschrift|qui|quand|auteurs?|revue|qui[eé]n|cu[aá]ndo|revista|quem|quando)\b|[誰谁]|作者|著者|いつ",
    re.I,
)


@dataclasses.dataclass(frozen=True, slots=True)
class SearchContext:
    """What the searches of a turn work with. In a follow-up, even a "yes" finds again what the last answer cited."""

    index: Library
    k: int
    reranker: Reranker | None = None
    history: Sequence[Message] = ()
    follow_up: bool = False
    language: str = "en"  # for a list of the documents


async def carry_out(
    plan: QueryPlan, context: SearchContext, tools: Sequence[Tool] = ()
) -> AsyncGenerator[tuple[int, StepResult], None]:
    """The result of each step of a plan, with its place, as soon as it is there. Steps run at the same time unless they
    wait for others. A step that fails says so in its result, and the others continue. If every search failed, the first
    error is raised."""
    by_name = {tool.name: tool for tool in tools}
    places = [place for place, step in enumerate(plan.steps) if step.tool in ("rag", "library", *by_name)]
    searches = [place for place in places if plan.steps[place].tool == "rag"]
    earlier = NO_EARLIER
    if searches:
        earlier = await asyncio.to_thread(earlier_passages, context.history, context.follow_up, context.index)
    worker = _Worker(context, by_name, earlier)
    running: dict[asyncio.Task[StepResult], int] = {}
    try:
        while any(plan.result(place) is None for place in places):
            for place in _ready(plan, places, running.values()):
                running[asyncio.create_task(worker.run(plan, place))] = place
            if not running:
                for place in places:
                    if plan.result(place) is None:
                        yield place, StepResult(error="it waits for a step that waits for it")
                return
            finished, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(finished, key=running.__getitem__):
                place = running.pop(task)
                plan = plan.with_result(place, task.result())
                yield place, task.result()
    finally:
        for task in running:
            task.cancel()
    if worker.search_errors and all(result.error for place in searches if (result := plan.result(place))):
        raise worker.search_errors[0]


def _library_in_words(titles: Sequence[str], count: int, language: str) -> str:
    """The first documents of a library as a list, and how many others there are."""
    if not count:
        return says(language, "library_empty")
    opening = says(language, "library_one") if count == 1 else says(language, "library", count=str(count))
    items = [f"- {one_line(escape_citations(title), 120)}" for title in titles]
    more = [says(language, "library_more", count=str(count - len(titles)))] if count > len(titles) else []
    return "\n".join([opening, "", *items, *more])


def _ready(plan: QueryPlan, places: Sequence[int], running: Collection[int]) -> list[int]:
    """The steps that can start: neither done nor running, and everything they wait for is done."""
    left = {place for place in places if plan.result(place) is None}
    return [place for place in places if place in left - {*running} and left.isdisjoint(plan.steps[place].after)]


@dataclasses.dataclass(frozen=True, slots=True)
class Earlier:
    """The passages behind the last answer and behind the one before it, and whether the message follows up on them."""

    passages: tuple[Passage, ...] = ()
    follow_up: bool = False
    named: frozenset[int] = frozenset()  # documents among them that the user has named
    before: tuple[Passage, ...] = ()


NO_EARLIER = Earlier()


def earlier_passages(history: Sequence[Message], follow_up: bool, index: Library) -> Earlier:
    """The passages behind the last two answers that cite any: a sum or a table after them does not. If no answer has
    sources, as in a history that a caller keeps, they are looked up for those with some prose."""
    has_sources = any(each.sources for each in history)
    answers = (
        place
        for place, each in reversed(list(enumerate(history)))
        if (each.sources if has_sources else each.role == "assistant" and prose_of(each.content))
    )
    drawn_on = [_drawn_on(history[: place + 1], index) for place in islice(answers, 2)]
    if not drawn_on:
        return NO_EARLIER
    asked = (named_documents(each.content, drawn_on[0]) for each in history[-RECENT_MESSAGES:] if each.role == "user")
    return Earlier(drawn_on[0], follow_up, frozenset().union(*asked), tuple(chain(*drawn_on[1:])))


def _drawn_on(history: Sequence[Message], index: Library) -> tuple[Passage, ...]:
    """The passages that the answer at the end cites or quotes, or else the one nearest to it and its question."""
    answer = with_sources(history[-1], index.locate)
    if answer.sources:
        cited = (index.passage(each.passage_id) for each in answer.sources)
        return tuple(passage for passage in cited if passage is not None)
    nearest = index.search(SearchQuery(f"{last_question(history)} {prose_of(answer.content)}"[:MAX_LOOKUP_CHARS]), 1)
    return tuple(hit.passage for hit in nearest)


class _Worker:
    """Runs the steps of one plan, and collects the errors of its searches."""

    def __init__(self, context: SearchContext, tools: Mapping[str, Tool], earlier: Earlier) -> None:
        self._context = context
        self._tools = tools
        self._earlier = earlier
        self.search_errors: list[Exception] = []

    async def run(self, plan: QueryPlan, place: int) -> StepResult:
        """The result of a step. If a tool failed without a word, the library is searched for its question. Raises
        nothing unless it is cancelled."""
        result, step = await self._run(plan, place), plan.steps[place]
        if step.tool == "rag" or not result.failed or not step.query or step.after:
            return result
        try:
            return dataclasses.replace(result, hits=(await self._search(plan, place)).hits)
        except Exception:
            log.warning("the search in place of the %s failed", step.tool, exc_info=True)
            return result

    async def _run(self, plan: QueryPlan, place: int) -> StepResult:
        step, started = plan.steps[place], time.perf_counter()
        action = {"rag": self._search, "library": self._list_library}.get(step.tool, self._call_tool)
        try:
            result = await action(plan, place)
            details = json.loads(json.dumps(result.details, default=str))  # a tool may return dates or decimals
            return dataclasses.replace(result, details=details, ms=_ms_since(started))
        except _NoResult as why:
            return StepResult(error=str(why), ms=_ms_since(started))
        except Exception as error:
            log.warning("step %d, %s, failed", place + 1, step.tool, exc_info=not isinstance(error, TurnwiseError))
            if step.tool == "rag":
                self.search_errors.append(error)
            # The text of other errors is only for the log: it may contain an address, a path or a password.
            is_ours = isinstance(error, TurnwiseError | TimeoutError)
            message = str(error) if is_ours else f"it broke ({type(error).__name__})"
            return StepResult(error=message, ms=_ms_since(started))

    async def _search(self, plan: QueryPlan, place: int) -> StepResult:
        step, context = _with_results(plan, place), self._context
        query, search = step.query or SearchQuery(step.input), context.index.search
        hits = await asyncio.to_thread(find, query, context.k, search, context.reranker, self._earlier)
        return StepResult(hits=tuple(hits))

    async def _list_library(self, plan: QueryPlan, place: int) -> StepResult:
        query, context = plan.steps[place].query or SearchQuery(""), self._context
        titles, count = await asyncio.to_thread(context.index.titles, MAX_TITLES, query.where)
        return StepResult(_library_in_words(titles, count, context.language), details={"documents": count})

    async def _call_tool(self, plan: QueryPlan, place: int) -> StepResult:
        step = _with_results(plan, place)
        tool, text = self._tools[step.tool], step.input
        try:
            async with asyncio.timeout(TOOL_TIMEOUT_SECONDS):
                if step.after:  # the text contains other results, so the tool has not read it yet
                    as_it_is = text if getattr(tool, "takes_any", False) else ""
                    text = await tool.read(text, ()) or as_it_is or await _read_with_that(tool, plan, place)
                return await tool.run(text)
        except TimeoutError:
            raise _NoResult(f"it took longer than {TOOL_TIMEOUT_SECONDS:g} seconds") from None


class _NoResult(Exception):
    """Why a step has no result although nothing broke."""


def _ms_since(started: float) -> float:
    return round(1000 * (time.perf_counter() - started), 3)


# --- steps that wait for others -----------------------------------------------------------------------------------


def with_actual_inputs(plan: QueryPlan) -> QueryPlan:
    """The plan with the inputs its steps really had, if those contained results of others."""
    done = [place for place in range(len(plan.steps)) if (result := plan.result(place)) and not result.error]
    steps = (_with_results(plan, place) if place in done else step for place, step in enumerate(plan.steps))
    return dataclasses.replace(plan, steps=tuple(steps))


def _with_results(plan: QueryPlan, place: int) -> Step:
    """A step whose {1}, {2} and so on are replaced by the results of the steps it waits for."""
    step = plan.steps[place]

    def result(reference: re.Match[str]) -> str:
        wanted = int(reference[1]) - 1
        return _result_in_words(plan, wanted) if wanted in step.after else reference[0]

    text = RESULT.sub(result, step.input)
    if text == step.input:
        return step
    query = SearchQuery(text, where=step.query.where) if step.query else None
    return dataclasses.replace(step, input=text, query=query)


def _result_in_words(plan: QueryPlan, place: int) -> str:
    """The result of a step as text; of a search, the sentence of the best passage that fits the question best."""
    result = plan.result(place)
    if result and result.text:
        return result.text
    if not result or result.failed or not result.hits:
        raise _NoResult(f"it needs the result of step {place + 1}, which has none")
    best = result.hits[0].passage
    asked = content_stems(plan.steps[place].input) - content_stems(best.title)  # every sentence is about the title
    fitting = max(sentences(best.text), key=lambda sentence: len(asked & content_stems(sentence)), default="")
    return one_line(fitting, MAX_SENTENCE_CHARS)


async def _read_with_that(tool: Tool, plan: QueryPlan, place: int) -> str:
    """A step that needs a number out of a sentence, "15% of {1}", as the tool reads it after that sentence was said:
    "15% of that"."""
    step = plan.steps[place]
    said = [Message("assistant", _result_in_words(plan, each)) for each in step.after]
    text = await tool.read(RESULT.sub("that", step.input), said)
    if not text:
        raise _NoResult(f"the {tool.name} cannot take “{step.input}”")
    return text


# --- what was found -----------------------------------------------------------------------------------------------


def merged_hits(plan: QueryPlan, k: int) -> list[Hit]:
    """The hits of all steps, without duplicates: what tools read, then at most k passages, or two more if there were
    several searches. The searches take turns, each with its best first."""
    done = zip(plan.steps, plan.results, strict=False)
    results = [(step.tool == "rag" or result.failed, result) for step, result in done if result]
    from_tools = [hit for searched, result in results if not searched for hit in result.hits]
    rankings = [list(result.hits) for searched, result in results if searched]
    limit = min(k if len(rankings) == 1 else k + 2, MAX_PASSAGES)
    best: dict[int, Hit] = {}
    for hit in _interleaved(rankings):
        best.setdefault(hit.passage.id, hit)
    return from_tools + list(best.values())[:limit]


def outcome(plan: QueryPlan, hits: Sequence[Hit]) -> str:
    """What the steps found, for the trace: how many passages, and which tools were called."""
    passages = [f"{len(hits)} passages"] if plan.searched else []
    called = [step.tool for step in plan.steps if step.tool not in STEPS_WITHOUT_TOOL]
    return " + ".join([*passages, *called]) or "nothing"


def searches_in_words(plan: QueryPlan) -> str:
    searches = [step.input for step in plan.searched]
    return f"for “{'”, “'.join(searches)}”" if searches else "nothing to search"


def search_details(plan: QueryPlan, hits: Sequence[Hit]) -> dict[str, Any]:
    """The searches and what they found, for the trace."""
    found = [{"title": hit.passage.title, "heading": hit.passage.heading, "score": round(hit.score, 4)} for hit in hits]
    return {"searches": [step.input for step in plan.searched], "found": found}


def failure_notice(plan: QueryPlan) -> str:
    """What the user should know about steps that failed without saying so in their result, in a sentence each."""
    done = zip(plan.steps, plan.results, strict=False)
    failed = [(step, result) for step, result in done if result and result.failed]
    return " ".join(
        f"{'The search for' if step.tool == 'rag' else f'The {step.tool} on'} “{one_line(step.input)}” failed: "
        f"{result.error.rstrip('.')}."
        for step, result in failed
    )


def find(
    query: SearchQuery, k: int, search: Search, reranker: Reranker | None = None, earlier: Earlier = NO_EARLIER
) -> list[Hit]:
    """The best k passages of one search. The re-ranker orders those at the top; of duplicates only the best stays."""
    hits = search(query, max(k, MIN_RESULTS) + SPARE_RESULTS)
    hits, named = _with_named(query, hits, search)
    if not _ASKS_FOR_BYLINE.search(query.question):
        hits = [hit for hit in hits if not is_byline(hit.passage.text)]
    hits = _with_bonus(hits, earlier, query, named)
    if reranker is not None and len(hits) > 1:
        top, rest = hits[: reranker.reads], hits[reranker.reads :]
        scores = _scores(reranker, query.question, [hit.passage for hit in top], named)
        top = [
            dataclasses.replace(hit, score=hit.score + reranker.trust * score)
            for hit, score in zip(top, scores, strict=True)
        ]
        hits = sorted(top, key=lambda hit: -hit.score) + rest
    return _without_duplicates(hits, k)


def _scores(reranker: Reranker, question: str, passages: Sequence[Passage], named: Mapping[int, str]) -> list[float]:
    """How well the re-ranker thinks each passage answers; all alike if it fails, for they are in order already."""
    try:
        scores = list(map(float, best_scores(reranker.scores, question, passages, named)))
        if len(scores) != len(passages) or not all(map(math.isfinite, scores)):
            raise ValueError(f"not {len(passages)} finite numbers")
        return scores
    except WeightsError:
        raise
    except Exception:  # one of the user's own may raise and return anything
        done_without(log, f"the re-ranker {reranker.name} failed, so the order is that of the search")
        return [0.0] * len(passages)


def _with_named(query: SearchQuery, hits: list[Hit], search: Search) -> tuple[list[Hit], dict[int, str]]:
    """The hits and more from the documents that the question names, and those documents. Their passages do not repeat
    their authors or year, so they are also searched on their own, without the name."""
    passages = [hit.passage for hit in hits]
    typed, whole = named_documents(query.literal, passages), named_documents(query.question, passages)
    named = {each: whole.get(each, query.question) for each in typed} or whole
    unknown = _not_found(query.question, passages) if len(hits) >= MIN_RESULTS else ""  # fewer are the whole library
    if not named and unknown:  # it may be a name
        by_name = dataclasses.replace(query, literal=unknown, dense=unknown, added=(), talk="")
        passages = [hit.passage for hit in search(by_name, MIN_RESULTS)]
        named = named_documents(query.question, passages)
    if not named:
        return hits, {}
    best, sources = {hit.passage.id: hit for hit in hits}, {each.document_id: each.source for each in passages}
    for document, question in () if query.where.source else named.items():
        where = dataclasses.replace(query.where, source=glob.escape(sources[document]))
        for hit in search(dataclasses.replace(query, dense=question, where=where), MIN_RESULTS):
            known = best.get(hit.passage.id)
            if hit.passage.document_id == document and (known is None or known.score < hit.score):
                best[hit.passage.id] = hit

    def raised(hit: Hit) -> Hit:
        if hit.passage.document_id not in named:
            return hit
        only_named = _ONLY_A_WORK.fullmatch(named[hit.passage.document_id])  # a side of a comparison, for instance
        told = tells(hit.passage, ALL_FINDINGS if only_named else query.question)
        return dataclasses.replace(hit, score=hit.score + NAMED_DOCUMENT_BONUS * (1 + told))

    return sorted(map(raised, best.values()), key=lambda hit: -hit.score), named


def _not_found(question: str, passages: Sequence[Passage]) -> str:
    """The words of a question that no passage has, without numbers."""
    text = "\n".join(f"{each.title} {each.heading} {each.text}" for each in passages).lower()
    specific = (word for word in words(question) if is_specific(word) and not word[0].isdigit())
    return " ".join(word for word in specific if word.lower() not in text and stem(word) not in text)


def _with_bonus(hits: list[Hit], earlier: Earlier, query: SearchQuery, named: Collection[int]) -> list[Hit]:
    """The hits, with a bonus for the documents behind the last two answers, unless the question names another. In a
    follow-up, passages there that have what it names get another bonus, and so do those behind the last answer; those
    that were not found are added at the end, unless there is a filter that they may not match."""
    documents = {passage.document_id: BEFORE_SHARE for passage in earlier.before}
    documents |= {passage.document_id: 1.0 for passage in earlier.passages}
    if not documents:
        return hits
    others = [hit.passage for hit in hits if hit.passage.document_id not in documents]
    if any(each.document_id in named or _has_title(query.question, each) for each in others):
        documents = {}
    cited = {passage.id for passage in earlier.passages if earlier.follow_up}
    words_named = specific_stems(query.literal) if earlier.follow_up else set()

    def bonus(passage: Passage) -> float:
        if passage.document_id not in documents:
            return CITED_PASSAGE_BONUS * (passage.id in cited)
        has_all = bool(words_named) and words_named <= content_stems(f"{passage.heading}\n{passage.text}")
        stays = (
            NAMED_BEFORE_BONUS
            if passage.document_id in earlier.named
            else documents[passage.document_id] * CITED_DOCUMENT_BONUS
        )
        return CITED_PASSAGE_BONUS * (passage.id in cited) + stays + NAMED_THERE_BONUS * has_all

    hits = [dataclasses.replace(hit, score=hit.score + bonus(hit.passage)) for hit in hits]
    if earlier.follow_up and not query.where:
        last, known = min((hit.score for hit in hits), default=0.0), {hit.passage.id for hit in hits}
        hits += [Hit(passage, last + CITED_PASSAGE_BONUS) for passage in earlier.passages if passage.id not in known]
    return sorted(hits, key=lambda hit: -hit.score)


def _has_title(question: str, passage: Passage) -> bool:
    return bool(passage.title) and passage.title.lower() in question.lower()


def _without_duplicates(hits: Sequence[Hit], k: int) -> list[Hit]:
    """The first k hits that do not say the same as a better one."""
    kept: list[tuple[Hit, _Wording]] = []
    for hit in hits:
        if len(kept) == k:
            break
        wording = _Wording.of(hit.passage.text)
        if not any(wording.is_in(better) for _, better in kept):
            kept.append((hit, wording))
    return [hit for hit, _ in kept]


@dataclasses.dataclass(frozen=True, slots=True)
class _Wording:
    """The words of a passage, the numbers and names among them, and every three words in a row."""

    words: frozenset[str]
    specific: frozenset[str]
    triples: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, text: str) -> _Wording:
        written = words(text)
        lower = [word.lower() for word in written]
        specific = (word.lower() for word in written if word[0].isupper() or any(map(str.isdigit, word)))
        triples = zip(lower, lower[1:], lower[2:], strict=False)
        return cls(frozenset(lower), frozenset(specific), frozenset(triples))

    def is_in(self, other: _Wording) -> bool:
        """Whether the other says almost the same. The contract of another tenant or the price of another year does not,
        however similar it is, because a number or a name differs."""
        alike = len(self.triples & other.triples) >= DUPLICATE_SHARE * len(self.triples)
        return bool(self.triples) and alike and self.specific <= other.words


def _interleaved(rankings: Sequence[list[Hit]]) -> Iterator[Hit]:
    for row in zip_longest(*rankings):
        yield from (hit for hit in row if hit is not None)
