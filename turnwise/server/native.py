"""The native API under /api: chat as typed events or one object, its streams, what a message is, and the search."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from turnwise.citations import bibliography, find_style
from turnwise.errors import BadRequest, NotFound
from turnwise.guard.shape import check_shape
from turnwise.server.access import AskCaller
from turnwise.server.bodies import AnalyzeBody, Analyzed, ChatBody, Found, SearchBody
from turnwise.server.dependencies import EngineDep, LiveDep
from turnwise.server.live import OneObject, Reader
from turnwise.server.markdown import render
from turnwise.server.once import IdempotencyKey
from turnwise.server.problems import PROBLEM_RESPONSES, Json, Problem
from turnwise.server.sse import EVENT_STREAM_TYPE, EventStream, frame
from turnwise.types import (
    Accepted,
    Answered,
    Delta,
    Failed,
    Planned,
    Reply,
    StageDone,
    StepDone,
    TurnEvent,
)

_EVENT_RESPONSES: dict[int | str, dict[str, Any]] = {200: {"content": {EVENT_STREAM_TYPE: {}}}}


router = APIRouter(prefix="/api", responses=PROBLEM_RESPONSES)


@router.post(
    "/chat",
    summary="Ask, as server-sent events or one object",
    responses={200: {"model": Reply, "content": {EVENT_STREAM_TYPE: {}}}},
)
async def chat(
    body: ChatBody,
    sent: Request,
    engine: EngineDep,
    live: LiveDep,
    caller: AskCaller,
    idempotency_key: IdempotencyKey = None,  # noqa: ARG001  (read where it is claimed)
) -> Response:
    request = caller.sends(body.to_request(), body.user)
    chosen = body.style or engine.settings.style
    style = await asyncio.to_thread(find_style, chosen, files=not body.style) if chosen else None
    whole = OneObject(lambda reply: reply_document(reply, style), Problem.to_dict)
    form = ChatEvents(style) if body.stream else whole
    return await live.respond(request, caller, form, sent, resumable=body.stream)


@router.get(
    "/streams/{stream}",
    summary="Come back to an answer: the events that were missed",
    responses={**_EVENT_RESPONSES, 204: {"description": "It is over, and nothing was missed"}},
)
async def follow(
    stream: str,
    live: LiveDep,
    caller: AskCaller,
    after: Annotated[int, Query(ge=0, description="The number of the last event that was seen")] = 0,
    last_event_id: Annotated[str | None, Header(description="The same, as the id of that event")] = None,
) -> Response:
    found = live.stream(stream, caller)
    seen = min(after if last_event_id is None else _number(last_event_id, stream), found.count)
    if not found.has_after(seen):
        raise NotFound("What follows that event is not there any more.", "Load the conversation once it is over.")
    if found.over and seen == found.count:
        return Response(status_code=204)  # which tells a browser not to come back
    return EventStream(Reader(found, seen, caller.key_id))


@router.delete("/streams/{stream}", summary="Stop an answer; what there is of it is kept", status_code=204)
async def cancel(stream: str, live: LiveDep, caller: AskCaller) -> Response:
    await live.cancel(live.stream(stream, caller))
    return Response(status_code=204)


@router.get(
    "/conversations/{conversation_id}/events",
    summary="What happens to a conversation: turns that begin and end, its title, its end",
    responses=_EVENT_RESPONSES,
)
async def events(
    conversation_id: str,
    live: LiveDep,
    caller: AskCaller,
    last_event_id: Annotated[str, Header(description="The last event that was seen")] = "",
) -> Response:
    return await live.watch(conversation_id, caller, last_event_id)


@router.post(
    "/analyze",
    summary="What the last message is to its conversation: no search, no answer",
    responses={200: {"model": Analyzed}},
)
async def analyze(body: AnalyzeBody, engine: EngineDep, caller: AskCaller) -> Response:
    request = caller.sends(body.to_request(), "")
    await engine.admit(request)
    return Json((await asyncio.to_thread(engine.analyze, request)).to_dict())


@router.post(
    "/search", summary="Find passages as a turn does: no answer, nothing is kept", responses={200: {"model": Found}}
)
async def search(body: SearchBody, engine: EngineDep, caller: AskCaller) -> Response:
    request = caller.sends(body.to_request(), body.user)
    check_shape(body.query, engine.settings.max_message, "query")
    await engine.admit(request)
    hits = await asyncio.to_thread(engine.search, body.query, body.limit, request.where, request.reach)
    fine = [dataclasses.asdict(hit) for hit in hits if not engine.is_suspect(hit.passage)]
    return Json({"hits": fine, "left_out": len(hits) - len(fine)})


def _number(event_id: str, stream: str) -> int:
    """N of STREAM-N."""
    name, _, number = event_id.rpartition("-")
    if name != stream or not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise BadRequest("This Last-Event-ID is of no event of this stream.", "Send the last `id` that came with it.")
    return int(number)


class ChatEvents:
    """A turn as typed events, the last with the reply, also as HTML."""

    media_type = EVENT_STREAM_TYPE

    def __init__(self, style: Path | None = None) -> None:
        self.answer: dict[str, Any] | None = None
        self._style = style
        self._accepted: dict[str, Any] = {}

    async def write(self, event: TurnEvent, stream: str) -> bytes:
        match event:
            case Accepted():
                self._accepted = dataclasses.asdict(event)
                return frame({**self._accepted, "stream": stream}, "accepted")
            case StageDone(stage):
                return frame(dataclasses.asdict(stage), "stage")
            case Planned(plan):
                return frame(plan.outline(), "plan")
            case StepDone(place, step, result):
                return frame({"place": place, "tool": step.tool, **result.outline()}, "step")
            case Delta(text):
                return frame({"text": text}, "text")
            case Answered(reply):
                answer = await asyncio.to_thread(reply_document, reply, self._style, True)
                self.answer = {"accepted": self._accepted, "answer": answer}
                return frame(answer, "answer")
            case Failed():
                return self.write_problem(Problem.of_turn(event))

    def write_problem(self, problem: Problem) -> bytes:
        return frame(problem.to_dict(), "error")

    def again(self, answer: dict[str, Any]) -> bytes:
        return frame({**answer["accepted"], "stream": None}, "accepted") + frame(answer["answer"], "answer")


def reply_document(reply: Reply, style: Path | None, html: bool = False) -> dict[str, Any]:
    """A reply as the API gives it, with a bibliography if a citation style was chosen, and with HTML if asked for."""
    answer = reply.to_dict()
    if html:
        answer["html"] = render(reply.text, {source.number for source in reply.sources})
    if style is not None:
        answer["bibliography"] = [dataclasses.asdict(each) for each in bibliography(reply.sources, style)]
    return answer
