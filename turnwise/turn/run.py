"""One turn, from a message to a remembered answer. This file is the whole story; each stage is a file beside it."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from turnwise.config import Settings
from turnwise.conversation import Conversation
from turnwise.dialogue.profile import Profile
from turnwise.errors import AnswerBlocked, ImageNotSeen, InputError, MessageBlocked, ModelGarbled, TurnwiseError
from turnwise.guard.documents import kept_from, suspected
from turnwise.guard.limits import RateLimiter, admit
from turnwise.guard.markers import Markers
from turnwise.guard.pii import find_pii
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.guard.secrets import find_secrets
from turnwise.guard.shape import check_images, check_request
from turnwise.guard.verdict import GuardResult
from turnwise.logs import Label, of_turn
from turnwise.turn.compose import budget_for, cited, compose, sent
from turnwise.turn.condense import QueryCondenser, condense, search_query
from turnwise.turn.generate import Speech
from turnwise.turn.plan import Meaning, left_out
from turnwise.turn.planner import QueryPlanner
from turnwise.turn.remember import Memory
from turnwise.turn.retrieve import Shelves, as_asked, carry_out, gathered, troubles
from turnwise.turn.suggest import ANSWERED, SILENT, Answers, Done, suggested
from turnwise.turn.trace import TraceLog
from turnwise.turn.understand import Senses, as_meant, details, in_words, read_ahead, understand
from turnwise.turn.verify import checked, grounds
from turnwise.types import (
    LIBRARY,
    Accepted,
    Analysis,
    Answered,
    ChatModel,
    ConversationStore,
    Delta,
    Failed,
    Image,
    Index,
    Message,
    Planned,
    Prompt,
    Reach,
    Reply,
    Reranker,
    StepDone,
    StepResult,
    Tool,
    TurnEvent,
    TurnRequest,
)

FILTERED = "Nothing was found among the documents that the filter lets through."
LEFT_OUT = (
    "Passages that were found hold instructions to the assistant and were left out. If their document is fine, say so: "
    "turnwise trust DOCUMENT"
)
SHORTENED = (
    "Your message is too long for the model’s window: it was shown without its middle. Shorten it, or set "
    "TURNWISE_CONTEXT_TOKENS if the model takes more."
)
UNSEEN = "The images were not looked at: the message asks nothing of a model."
AHEAD = ThreadPoolExecutor(1, "turnwise-ahead")  # reads turns that are over, one after the other
QUOTING = ("no model", "extractive")  # speakers whose words are the library's or the conversation's

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a turn works with. The models are asked in order: the first that speaks answers."""

    settings: Settings
    index: Index
    store: ConversationStore
    guard: GuardrailPipeline
    models: Sequence[ChatModel]
    senses: Senses = field(default_factory=Senses)
    condenser: QueryCondenser = field(default_factory=QueryCondenser)
    reranker: Reranker | None = None
    tools: Sequence[Tool] = ()
    planner: QueryPlanner = field(default_factory=QueryPlanner)
    answers: Answers | None = None  # who judges whether the library answers a suggested question
    limits: RateLimiter | None = None


def run_turn(request: TurnRequest, parts: Parts) -> AsyncGenerator[TurnEvent, None]:
    """The events of one turn. It ends in Answered or Failed; only what the caller does to the iterator raises."""
    label = Label(request.conversation_id, request.user)
    return of_turn(label, _turn(request, parts, label))


async def _turn(request: TurnRequest, parts: Parts, label: Label) -> AsyncGenerator[TurnEvent, None]:
    settings = parts.settings
    trace, memory, text = TraceLog(), Memory(store_for(request, parts), request), ""
    try:
        with trace.stage("guard in") as stage:
            await admit(request, parts.limits)
            check = await asyncio.to_thread(parts.guard.open_input, request.message)
            check_request(request, settings.max_message)
            images = await asyncio.to_thread(shown_images, request, parts)
            said = await memory.accept(check.sanitized)
            label.turn = memory.number
            verdict = await asyncio.to_thread(check.within, said, memory.blocked, memory.trusted, memory.places)
            history = await asyncio.to_thread(readable, said, verdict, parts.guard, memory.trusted)
            message = verdict.sanitized
            wanted = await asyncio.to_thread(own_query, request, parts, verdict)
            aside = [said[place].role for place in sorted(verdict.left_out)]
            seen = {"images": [f"{each.name} ({each.media_type})" for each in images]} if images else {}
            rails = {name: dataclasses.asdict(each) for name, each in verdict.acted.items()}
            stage.decide(verdict.action, in_short(verdict), rails=rails, left_out=aside, **seen)
        yield Accepted(memory.conversation_id, memory.number)
        yield trace.last()
        if verdict.blocked:
            raise MessageBlocked(f"This message was not answered: {verdict.why}.", "Put your question another way.")

        with trace.stage("understand") as stage:
            reach = reached(request, memory.conversation_id, memory.ancestors)
            library, tools = parts.guard.open_library(parts.index, reach), tools_for(request, parts)
            now, senses = time.time(), parts.senses.over(library)
            profile = await asyncio.to_thread(remembered, memory, parts)
            typed, told = message, history
            message, slips, history = await asyncio.to_thread(as_meant, typed, told, library, settings, senses)
            understood = await asyncio.to_thread(understand, message, history, settings, senses, now, profile)
            stage.decide(understood.intent, understood.reason, **details(understood, settings, profile))
        yield trace.last()

        with trace.stage("condense") as stage:
            condensed = await parts.condenser.condense(message, history, understood, wanted)
            query = search_query(message, history, understood, condensed, settings, request.where)
            added = {term.text: term.weight for term in query.added}
            asked = {"query": condensed.query, "candidates": condensed.candidates, "refused": condensed.refused}
            stage.decide(condensed.method, condensed.reason + in_words(slips), added=added, **asked)
        yield trace.last()

        with trace.stage("plan") as stage:
            meaning, query_id = Meaning(understood, condensed, query), request.query_id or uuid.uuid4().hex
            planned = await parts.planner.create_plan(query_id, message, history, tools, meaning)
            steps = planned.outline()["steps"]
            stage.decide(
                " + ".join(step.tool for step in planned.steps), planned.reason, query_id=query_id, steps=steps
            )
        yield trace.last()
        yield Planned(planned)

        with trace.stage("retrieve") as stage:
            leaning = understood.intent == "follow_up"
            shelves = Shelves(library, settings.evidence, parts.reranker, history, leaning, understood.language)
            async with aclosing(carry_out(planned, shelves, tools)) as doing:
                async for place, result in doing:
                    planned = planned.with_result(place, result)
                    yield StepDone(place, as_asked(planned).steps[place], result)
            planned = as_asked(planned)
            hits = gathered(planned, settings.evidence)
            searched = [step.input for step in planned.searched]
            called = [step.tool for step in planned.steps if step.tool in {"library", *(tool.name for tool in tools)}]
            came = [*([f"{len(hits)} passages"] if searched else []), *called]
            reason = f"for “{'”, “'.join(searched)}”" if searched else "nothing to search"
            found = [
                {"title": hit.passage.title, "heading": hit.passage.heading, "score": round(hit.score, 4)}
                for hit in hits
            ]
            reason += kept_from(library.left_out.values())
            kept_back = {"left_out": suspected(library.left_out), "warned": suspected(library.warned)}
            stage.decide(" + ".join(came) or "nothing", reason, searches=searched, found=found, **kept_back)
            unheard = LEFT_OUT if library.left_out and (library.on_top or not hits) else ""
        yield trace.last()

        with trace.stage("compose") as stage:
            budget = budget_for(parts.models[0], settings)
            prompt = await asyncio.to_thread(
                compose, message, told, planned, hits, library.locate, budget, understood, images, typed
            )
            if parts.models[0].name not in QUOTING:  # else nobody is shown it, and only what is cited keeps its number
                memory.shown, memory.note = prompt.shown, prompt.note
            short = "; what came before was put in short" if prompt.details["compacted"] else ""
            cut = "; the middle of the question was left out" if prompt.details["question_cut"] else ""
            reason = f"numbered for the whole conversation{short}{cut}"
            stage.decide(f"{len(prompt.evidence)} pieces of evidence", reason, **prompt.details)
        yield trace.last()

        with trace.stage("generate") as stage:
            speech = Speech(prompt, planned, parts.models)
            system, allowed = prompt.messages[0].content, seen_by_reader(prompt)
            guard = parts.guard.open_output(prompt.citable, system_prompt=system, allowed_text=allowed)
            markers = Markers(prompt.citable)
            async for piece in speech.pieces():
                if released := guard.feed(piece if speech.speaker in QUOTING else markers.feed(piece)):
                    text += released
                    yield Delta(released)
            stage.decide(speech.speaker, speech.reason)
            planned = planned.with_result(len(planned.steps) - 1, StepResult())  # the answer, which is the reply's text
        yield trace.last()

        with trace.stage("guard out") as stage:
            if released := guard.feed(markers.close()) + guard.close():
                text += released
                yield Delta(released)
            removed = ", ".join(dict.fromkeys(guard.removed))
            rails = {each.rail: dataclasses.asdict(each) for each in parts.guard.found_in(guard)}
            stage.decide(f"removed {removed}" if removed else "allow", "checked as it streamed", rails=rails)
            if guard.blocked:
                text = ""
                raise AnswerBlocked(
                    f"The answer was stopped: {guard.why}.",
                    "Ask in another way, or ask the people who run this.",
                )
            if not text.strip():
                raise ModelGarbled("Nothing of the answer could be shown.", "Ask again, or try another model.")
        yield trace.last()

        with trace.stage("verify") as stage:
            sources = cited(text, prompt)
            quotes = speech.speaker in QUOTING
            claims = await asyncio.to_thread(checked, text, sources, prompt.found, parts.senses.embedder, quotes)
            held = sum(claim.supported for claim in claims)
            stage.decide(
                f"{held} of {len(claims)} sentences borne out" if claims else "nothing to check",
                grounds(claims, prompt.found),
            )
        yield trace.last()

        with trace.stage("remember") as stage:
            tried: dict[str, str] = {}
            wanted_next = settings.suggestions > 0 and understood.intent not in SILENT
            crowded = wanted_next and request.crowded()
            if parts.answers and wanted_next and not crowded:
                known = prompt.evidence, history, prompt.known, understood.language
                done = Done(message, condensed.query, text, sources, *known)
                search = library, parts.answers, settings.suggestions, request.where
                tried = await asyncio.to_thread(suggested, done, *search)
            kept = "stored" if memory.conversation_id else "not stored"
            why = "the conversation has an id" if memory.conversation_id else "the caller keeps the history"
            new = await memory.learn(understood.state, typed, now, is_private) if profile.enabled else []
            why += f"; of the user: {', '.join(new)}" if new else ""
            why += "; nothing is suggested, for others wait" if crowded else ""
            stage.decide(kept, why, suggestions=tried, **({"learned": new} if profile.enabled else {}))
        unseen = UNSEEN if images and not prompt.images else ""
        shortened = SHORTENED if cut and speech.speaker not in QUOTING else ""
        filtered = FILTERED if searched and not hits and request.where and not unheard else ""
        reply = Reply(
            conversation_id=memory.conversation_id,
            turn=memory.number,
            text=text,
            sources=sources,
            condensed_query=condensed.query,
            follow_up=understood.follow_up,
            state=understood.state,
            trace=trace.all(),
            plan=planned,
            claims=claims,
            suggestions=tuple(question for question, came in tried.items() if came == ANSWERED),
            notice=" ".join(
                filter(
                    None,
                    (
                        taken_out(verdict),
                        speech.notice,
                        shortened,
                        unseen,
                        filtered,
                        unheard,
                        left_out(meaning, planned),
                        troubles(planned),
                    ),
                )
            ),
        )
        await memory.complete(reply)
        if settings.follow_up and not request.crowded():
            over = (*history, Message("user", message), Message("assistant", text))
            with suppress(RuntimeError, TurnwiseError):  # the process is ending, the library is closed
                AHEAD.submit(read_ahead, over, await asyncio.to_thread(senses.apart), profile)
        yield Answered(reply)
    except TurnwiseError as error:
        memory.fail(error, text, isinstance(error, MessageBlocked), trace.all())
        yield Failed(error.to_dict(), error.status, trace.all()).caused_by(error)
    except Exception as error:
        log.exception("turn %s of %s broke", memory.number, memory.conversation_id)
        broken = TurnwiseError("Something went wrong inside Turnwise.", "Ask again; the log has the details.")
        memory.fail(broken, text, False, trace.all())
        yield Failed(broken.to_dict(), broken.status, trace.all()).caused_by(error)
    finally:
        memory.abandon(text)


def seen_by_reader(prompt: Prompt) -> str:
    """What is no leak in an answer: what was said, and the passages it may rest on."""
    said = (each.content for each in prompt.messages if each.role != "system")
    passages = (f"{each.passage.title}\n{each.passage.source}\n{each.passage.text}" for each in prompt.evidence)
    known = (f"{each.title}\n{each.source}\n{each.text}" for each in prompt.known)
    return "\n".join([*said, *prompt.said, *prompt.found, *passages, *known, prompt.question])


def reached(request: TurnRequest, conversation_id: str | None, ancestors: Sequence[str]) -> Reach:
    """What a turn may see: what the caller may, and what is attached to its conversation and those it branched from."""
    return _and_attached(request.reach, (conversation_id, *ancestors) if conversation_id else ())


def _and_attached(reach: Reach, conversations: Sequence[str]) -> Reach:
    return dataclasses.replace(reach, conversations=tuple(dict.fromkeys((*reach.conversations, *conversations))))


def store_for(request: TurnRequest, parts: Parts) -> ConversationStore:
    """The store as the caller sees it."""
    reach = request.reach
    return parts.store.of(reach.tenant, reach.collections) if reach.tenant or reach.collections else parts.store


def tools_for(request: TurnRequest, parts: Parts) -> Sequence[Tool]:
    """The tools that the caller may use: those that read what is the library's own are for nobody else's."""
    own = not request.reach.tenant
    return [tool for tool in parts.tools if own or not getattr(tool, "of_library", False)]


def sent_in(conversation: Conversation, number: int, parts: Parts, reach: Reach = LIBRARY) -> tuple[Message, ...]:
    """The messages that a model was sent in a turn, given the window it has now; none where it was sent none."""
    turn = next((turn for turn in conversation.turns if turn.number == number), None)
    steps = turn.record.get("plan", {}).get("steps", ()) if turn else ()
    if turn is None or not (turn.evidence or turn.note or any(step["tool"] != "say" for step in steps)):
        return ()
    earlier = (each for each in conversation.turns if each.number < number)
    history = Conversation(conversation.id, turns=earlier).messages()
    asked = Message("user", turn.prompt or "", evidence=turn.evidence, note=turn.note)
    own = (conversation.id, *conversation.metadata.get("ancestors", ()))
    library = parts.guard.open_library(parts.index, _and_attached(reach, own))
    return sent(history, asked, library.locate, budget_for(parts.models[0], parts.settings))


def analyze(request: TurnRequest, parts: Parts) -> Analysis:
    """What a message is to its conversation: the first stages of a turn, with no search and no answer."""
    check = parts.guard.open_input(request.message)
    check_request(request, parts.settings.max_message)
    kept, name = store_for(request, parts), request.conversation_id
    stored = kept.conversation(name, records=False) if name else None
    said = request.history if stored is None else stored.messages()
    blocked, places = ((), ()) if stored is None else stored.refused()
    ours = stored is not None and not stored.metadata.get("imported")
    verdict = check.within(said, blocked, ours, places)
    wanted = own_query(request, parts, verdict)
    if verdict.blocked:
        raise MessageBlocked(f"This message was not read: {verdict.why}.", "Put your question another way.")
    message, history = verdict.sanitized, readable(said, verdict, parts.guard, ours)
    ancestors = stored.metadata.get("ancestors", ()) if stored else ()
    library = parts.guard.open_library(parts.index, reached(request, request.conversation_id, ancestors))
    senses, profile = parts.senses.over(library), remembered(Memory(store_for(request, parts), request), parts)
    message, _, history = as_meant(message, history, library, parts.settings, senses)
    understood = understand(message, history, parts.settings, senses, time.time(), profile)
    condensed = condense(message, history, understood, wanted)
    return Analysis(understood.state.turn, understood, condensed, parts.settings.follow_up_threshold)


def readable(
    said: Sequence[Message], verdict: GuardResult, guard: GuardrailPipeline, trusted: bool
) -> tuple[Message, ...]:
    """The history as a turn may read it. Of one that a caller sent, attacks and what was never ours are left out, and
    system messages: they are no part of what was said, and no instructions to us. What is taken out of messages is
    taken out of it."""
    aside = verdict.left_out
    history = tuple(each for place, each in enumerate(said) if place not in aside and each.role != "system")
    return history if trusted else guard.clean_history(history)


def own_query(request: TurnRequest, parts: Parts, verdict: GuardResult) -> str | None:
    """The query that the user wrote themselves, as it may go on. Raises MessageBlocked where it may not."""
    if not request.condensed_query or verdict.blocked:
        return None
    judged = parts.guard.judge_input(request.condensed_query)
    if judged.blocked:
        raise MessageBlocked(f"This query was not searched for: {judged.why}.", "Put it another way.")
    return judged.sanitized


def remembered(memory: Memory, parts: Parts) -> Profile:
    """What is remembered of the user, as a turn may use it: what they put in words of their own is judged as messages
    are, whoever wrote it down."""
    profile = memory.profile()
    if not profile.in_own_words:
        return profile
    try:
        blocked = parts.guard.judge_input("\n".join(profile.in_own_words)).blocked
    except InputError:
        blocked = True
    kept = tuple(each for each in profile.preferences if each not in profile.in_own_words)
    return dataclasses.replace(profile, preferences=kept) if blocked else profile


def is_private(text: str) -> bool:
    """Whether a text holds what is never remembered of a user, whatever the guard lets through."""
    return bool(find_pii(text) or find_secrets(text))


def shown_images(request: TurnRequest, parts: Parts) -> tuple[Image, ...]:
    """The images of a request as they may be shown to a model. Raises an InputError where they may not, or nobody can
    see. Their names are read by the model and kept, so they are judged as messages are."""
    images = check_images(request.images)
    if images and not any(getattr(model, "sees", False) for model in parts.models):
        raise ImageNotSeen(
            "No model that can see is set, so images cannot be looked at.",
            "Set TURNWISE_VISION=true and OPENAI_BASE_URL to a model that can see, or describe the image in words.",
        )
    for each in images:
        if (judged := parts.guard.judge_input(each.name)).blocked:
            raise MessageBlocked(f"The name of an image was not taken: {judged.why}.", "Give the file another name.")
    return images


def in_short(verdict: GuardResult) -> str:
    aside, watched = len(verdict.left_out), verdict.shadow not in (None, "allow")
    why = f"only watching, would {verdict.shadow}: {verdict.why}" if watched else verdict.why
    are = "is" if aside == 1 else "are"
    return why + (f"; of the history that was sent, {aside} {are} not read" if aside else "")


def taken_out(verdict: GuardResult) -> str:
    """What the user should know of what was redacted."""
    kinds = [span.kind for each in verdict.details.values() if each.action == "redact" for span in each.spans]
    told = ", ".join(dict.fromkeys(kinds))
    return f"Taken out of your message before it went on: {told}." if told and not verdict.shadow else ""
