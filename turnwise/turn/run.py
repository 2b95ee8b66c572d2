"""One turn, from a message to a stored answer. This file is the whole story; each stage has its own file next to it."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from threading import BoundedSemaphore

from turnwise.dialogue.profile import Profile
from turnwise.errors import AnswerBlocked, MessageBlocked, ModelGarbled, TurnwiseError
from turnwise.guard.documents import Sieve
from turnwise.guard.markers import Markers
from turnwise.logs import Label, of_turn
from turnwise.turn.compose import budget_for, cited_sources, compose, how_composed, readable_by_user
from turnwise.turn.condense import search_query
from turnwise.turn.generate import Speech, only_quotes
from turnwise.turn.parts import Parts
from turnwise.turn.plan import Meaning, unanswered_notice
from turnwise.turn.receive import Received, is_private, receive, usable_profile
from turnwise.turn.remember import Memory, how_remembered
from turnwise.turn.retrieve import (
    SearchContext,
    carry_out,
    failure_notice,
    merged_hits,
    outcome,
    search_details,
    searches_in_words,
    with_actual_inputs,
)
from turnwise.turn.scope import store_for, tools_for, with_attachments
from turnwise.turn.suggest import AnsweredTurn, suggestions_for
from turnwise.turn.trace import TraceLog
from turnwise.turn.understand import Senses, corrections_in_words, details, read_ahead, read_as_meant, understand
from turnwise.turn.verify import grounds, try_verify
from turnwise.types import (
    Accepted,
    Answered,
    Delta,
    Failed,
    Hit,
    Message,
    Planned,
    Prompt,
    QueryPlan,
    Reply,
    StepDone,
    StepResult,
    TurnEvent,
    TurnRequest,
)

FILTERED_NOTICE = "Nothing was found in the documents that match the filter."
LEFT_OUT_NOTICE = (
    "Some passages contain instructions to the assistant and were left out. If you trust their document, run: "
    "turnwise trust DOCUMENT"
)
QUESTION_CUT_NOTICE = (
    "Your message is too long for the model’s window, so it was sent without its middle. Shorten it, or set "
    "TURNWISE_CONTEXT_TOKENS if the model takes more."
)
IMAGES_UNUSED_NOTICE = "The images were not looked at: no model was needed for this message."
READ_AHEAD_POOL = ThreadPoolExecutor(1, "turnwise-ahead")  # reads finished turns one by one, before their next message
READ_AHEAD_SLOTS = BoundedSemaphore(16)  # turns that may wait for it; any others are read with their next message

log = logging.getLogger(__name__)


def run_turn(request: TurnRequest, parts: Parts) -> AsyncGenerator[TurnEvent, None]:
    """The events of one turn. The last is Answered or Failed. Nothing is raised unless the caller cancels it."""
    label = Label(request.conversation_id, request.user)
    return of_turn(label, _turn(request, parts, label))


async def _turn(request: TurnRequest, parts: Parts, label: Label) -> AsyncGenerator[TurnEvent, None]:
    """The stages, and how the turn ends if one of them fails or the caller leaves."""
    trace, memory = TraceLog(), Memory(store_for(request, parts.store), request)
    try:
        async with aclosing(_stages(request, parts, label, trace, memory)) as events:
            async for event in events:
                yield event
    except TurnwiseError as error:
        await memory.fail(error, trace.all())
        yield Failed(error.to_dict(), error.status, trace.all()).caused_by(error)
    except Exception as error:
        log.exception("turn %s of %s broke", memory.number, memory.conversation_id)
        broken = TurnwiseError("Something went wrong inside Turnwise.", "Ask again; the log has the details.")
        await memory.fail(broken, trace.all())
        yield Failed(broken.to_dict(), broken.status, trace.all()).caused_by(error)
    finally:
        await memory.abandon()


async def _stages(
    request: TurnRequest, parts: Parts, label: Label, trace: TraceLog, memory: Memory
) -> AsyncGenerator[TurnEvent, None]:
    """The stages in order. Each says what it decided and why, and is reported as soon as it is done."""
    settings = parts.settings
    with trace.stage("guard in") as stage:
        received, past = await receive(request, parts, memory, label)
        stage.decide(received.verdict.action, received.reason, **received.details)
    yield Accepted(memory.conversation_id, memory.number)
    yield trace.last()
    if received.verdict.blocked:
        why = received.verdict.why
        raise MessageBlocked(f"This message was not answered: {why}.", "Put your question another way.")

    with trace.stage("understand") as stage:
        typed, typed_history, now = received.message, received.history, time.time()
        reach = with_attachments(request.reach, memory.conversation_id, past.ancestors)
        library, tools = parts.guard.open_library(parts.index, reach), tools_for(request, parts.tools)
        senses = parts.senses.over(library)
        profile = await asyncio.to_thread(usable_profile, memory, parts.guard)
        message, slips, history = await asyncio.to_thread(
            read_as_meant, typed, typed_history, library, settings, senses
        )
        understood = await asyncio.to_thread(understand, message, history, settings, senses, now, profile)
        stage.decide(understood.intent, understood.reason, **details(understood, settings, profile))
    yield trace.last()

    with trace.stage("condense") as stage:
        condensed = await parts.condenser.condense(message, history, understood, received.query)
        query = search_query(message, history, understood, condensed, settings, request.where)
        added = {term.text: term.weight for term in query.added}
        queries = {"query": condensed.query, "candidates": condensed.candidates, "refused": condensed.refused}
        stage.decide(condensed.method, condensed.reason + corrections_in_words(slips), added=added, **queries)
    yield trace.last()

    with trace.stage("plan") as stage:
        meaning, query_id = Meaning(understood, condensed, query), request.query_id or uuid.uuid4().hex
        plan = await parts.planner.create_plan(query_id, message, history, tools, meaning)
        tool_names = " + ".join(step.tool for step in plan.steps)
        stage.decide(tool_names, plan.reason, query_id=query_id, steps=plan.outline()["steps"])
    yield trace.last()
    yield Planned(plan)

    with trace.stage("retrieve") as stage:
        follow_up, language = understood.intent == "follow_up", understood.language
        context = SearchContext(library, settings.evidence, parts.reranker, history, follow_up, language)
        async with aclosing(carry_out(plan, context, tools)) as results:
            async for place, result in results:
                plan = plan.with_result(place, result)
                yield StepDone(place, with_actual_inputs(plan).steps[place], result)
        plan = with_actual_inputs(plan)
        hits = merged_hits(plan, settings.evidence)
        found = search_details(plan, hits) | library.in_detail()
        failures = "".join(f"; {each}" for each in label.warnings)
        stage.decide(outcome(plan, hits), searches_in_words(plan) + library.reason + failures, **found)
    yield trace.last()

    with trace.stage("compose") as stage:
        budget, images = budget_for(parts.models[0], settings), received.images
        inputs = (message, typed_history, plan, hits, library.locate, budget)
        prompt = await asyncio.to_thread(compose, *inputs, understood=understood, images=images, typed=typed)
        prompt = dataclasses.replace(prompt, narrowed=bool(request.where))
        memory.sources_of = partial(cited_sources, prompt=prompt)
        if not only_quotes(parts.models[0]):  # otherwise no model sees it, and only what is cited keeps its number
            memory.shown, memory.note = prompt.shown, prompt.note
        stage.decide(f"{len(prompt.evidence)} pieces of evidence", how_composed(prompt), **prompt.details)
    yield trace.last()

    with trace.stage("generate") as stage:
        speech, markers = Speech(prompt, plan, parts.models, settings.model_timeout), Markers(prompt.citable)
        system, allowed = prompt.messages[0].content, readable_by_user(prompt)
        guard = parts.guard.open_output(prompt.citable, system_prompt=system, allowed_text=allowed)
        async with aclosing(speech.pieces()) as pieces:
            async for piece in pieces:
                if released := guard.feed(piece if speech.quotes else markers.feed(piece)):
                    memory.text += released
                    yield Delta(released)
                if guard.blocked:
                    break
        stage.decide(speech.speaker, speech.reason, **({"cut": speech.cut} if speech.cut else {}))
        plan = plan.with_result(len(plan.steps) - 1, StepResult())  # the answer itself is the text of the reply
    yield trace.last()

    with trace.stage("guard out") as stage:
        if released := guard.feed(markers.close()) + guard.close():
            memory.text += released
            yield Delta(released)
        removed = ", ".join(dict.fromkeys(guard.removed))
        rails = {each.rail: dataclasses.asdict(each) for each in parts.guard.found_in(guard)}
        stage.decide(f"removed {removed}" if removed else "allow", "checked as it streamed", rails=rails)
        if guard.blocked:
            memory.text = ""
            hint = "Put your question another way, or ask the people who run this service."
            raise AnswerBlocked(f"The answer was stopped: {guard.why}.", hint)
        if not (text := memory.text).strip():
            raise ModelGarbled("No part of the answer could be shown.", "Ask again, or try another model.")
    yield trace.last()

    with trace.stage("verify") as stage:
        sources, embedder = cited_sources(text, prompt), parts.senses.embedder
        claims = await asyncio.to_thread(try_verify, text, sources, prompt.found, embedder, speech.quotes)
        supported = sum(claim.supported for claim in claims)
        decision = f"{supported} of {len(claims)} sentences borne out" if claims else "nothing to check"
        stage.decide(decision, grounds(claims, prompt.found))
    yield trace.last()

    with trace.stage("remember") as stage:
        pinned, limit = parts.has_pinned_vectors(), settings.suggestions
        turn = AnsweredTurn(
            message, condensed.query, text, sources, prompt.evidence, history, prompt.known, language, pinned
        )
        suggestions = await suggestions_for(turn, understood.intent, request, library, parts.answers, limit)
        learned = await memory.learn(understood.state, typed, now, is_private) if profile.enabled else None
        decision, reason = how_remembered(memory, learned, suggestions.crowded)
        learned_details = {} if learned is None else {"learned": learned}
        stage.decide(decision, reason, suggestions=suggestions.tried, **learned_details)

    reply = Reply(
        conversation_id=memory.conversation_id,
        turn=memory.number,
        text=text,
        sources=sources,
        condensed_query=condensed.query,
        follow_up=understood.follow_up,
        state=understood.state,
        trace=trace.all(),
        plan=plan,
        claims=claims,
        suggestions=suggestions.answered,
        notice=_notices(request, received, meaning, plan, hits, library, prompt, speech),
        cut=speech.cut,
    )
    await memory.complete(reply)
    if settings.follow_up and not request.crowded():
        _read_ahead((*history, Message("user", message), Message("assistant", text)), senses, profile)
    yield Answered(reply)


def _notices(
    request: TurnRequest,
    received: Received,
    meaning: Meaning,
    plan: QueryPlan,
    hits: Sequence[Hit],
    library: Sieve,
    prompt: Prompt,
    speech: Speech,
) -> str:
    """What the reader should know about how the answer came about."""
    notices = (
        received.notice,
        speech.notice,
        QUESTION_CUT_NOTICE if prompt.details["question_cut"] and not speech.quotes else "",
        IMAGES_UNUSED_NOTICE if received.images and not prompt.images else "",
        _search_notice(request, plan, hits, library),
        unanswered_notice(meaning, plan),
        failure_notice(plan),
    )
    return " ".join(filter(None, notices))


def _search_notice(request: TurnRequest, plan: QueryPlan, hits: Sequence[Hit], library: Sieve) -> str:
    """What the user should know about passages that were not used."""
    if library.left_out and (library.on_top or not hits):
        return LEFT_OUT_NOTICE
    return FILTERED_NOTICE if not hits and plan.searched and request.where else ""


def _read_ahead(history: Sequence[Message], senses: Senses, profile: Profile) -> None:
    """Read a finished turn in the background, unless too many are waiting for that already."""
    if not READ_AHEAD_SLOTS.acquire(blocking=False):
        return
    try:
        reading = READ_AHEAD_POOL.submit(read_ahead, history, senses, profile)
        reading.add_done_callback(lambda _: READ_AHEAD_SLOTS.release())
    except RuntimeError:  # the process is ending
        READ_AHEAD_SLOTS.release()
