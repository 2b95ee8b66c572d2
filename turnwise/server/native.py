"""The native API under /api: chat as typed events or one object, and what a message is to its conversation."""

from __future__ import annotations

import asyncio
import dataclasses
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from turnwise.citations import bibliography, find_style
from turnwise.engine import Engine, TurnFailed
from turnwise.server.access import Access, Caller
from turnwise.server.markdown import render
from turnwise.server.problems import PROBLEMS, UNEXPECTED, Json, Problem, log
from turnwise.server.sse import EventStream, frame
from turnwise.types import (
    Accepted,
    Answered,
    Delta,
    Failed,
    Filter,
    Message,
    Planned,
    Reply,
    Role,
    Source,
    StageDone,
    StepDone,
    TurnEvent,
    TurnRequest,
)

MILLISECONDS = 1e11  # a number above this counts those: as seconds it would lie in the year 5138
HIGHEST = 9999  # number of a source: citations have no more digits


def whole_characters(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PydanticCustomError("lone_surrogate", "holds half of a character (a lone surrogate)") from error
    return text


def plain_id(text: str) -> str:
    if not (0 < len(text) <= 200 and text.isprintable() and "/" not in text):
        raise PydanticCustomError("plain_id", "should be 1 to 200 printable characters without a slash")
    return text


def moment(value: Any) -> float | None:
    """A time as seconds since 1970; None where there is none, or none that can be: negative, endless, no number."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            read = datetime.fromisoformat(value.strip())
            return max(0.0, (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()) or None
        except (ValueError, OverflowError) as error:
            raise PydanticCustomError("moment", "should be a number of seconds or a time in ISO 8601") from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("moment", "should be a number of seconds or a time in ISO 8601")
    if not 0 <= value < 1e15:  # also false for what is no number
        return None
    return value / 1000 if value > MILLISECONDS else float(value)


Moment = Annotated[float | None, BeforeValidator(moment)]
Text = Annotated[str, AfterValidator(whole_characters)]
ConversationId = Annotated[Text, AfterValidator(plain_id)]


class ChatMessage(BaseModel):
    """A message of a history that the caller keeps. An assistant's may carry the sources it was returned with, and
    what its writer noted about it: {"scaffolding": "hint"}."""

    model_config = ConfigDict(extra="ignore")

    role: Role
    content: Text
    sources: Any = None
    created_at: Moment = Field(None, description="Seconds or milliseconds since 1970, or ISO 8601 (else UTC)")
    metadata: Any = None

    def to_message(self) -> Message:
        noted = self.metadata if isinstance(self.metadata, dict) else {}
        return Message(self.role, self.content, read_sources(self.sources), self.created_at, noted)


class AnalyzeBody(BaseModel):
    """A conversation that the caller keeps; its last message is the one to be understood."""

    model_config = ConfigDict(extra="forbid")

    messages: list[ChatMessage]

    @model_validator(mode="after")
    def ends_with_the_user(self) -> Self:
        if not self.messages or self.messages[-1].role != "user":
            raise ValueError("The last of 'messages' must be from the user.")
        return self

    def to_request(self) -> TurnRequest:
        *history, last = (message.to_message() for message in self.messages)
        return TurnRequest(last.content, tuple(history))


class FilterBody(BaseModel):
    """Which documents may answer; see `turnwise.types.Filter`."""

    model_config = ConfigDict(extra="forbid")

    collections: list[Text] = []
    tags: list[Text] = []
    source: Text = ""
    since: Text = ""
    until: Text = ""

    def to_filter(self) -> Filter:
        return Filter(tuple(self.collections), tuple(self.tags), self.source, self.since, self.until)


class ChatBody(BaseModel):
    """A question: `message` for a conversation kept here, or `messages` for one the caller keeps."""

    model_config = ConfigDict(extra="forbid")

    message: Text | None = None
    conversation_id: ConversationId | None = None
    messages: list[ChatMessage] | None = None
    condensed_query: Text | None = None
    filter: FilterBody = FilterBody()
    query_id: ConversationId | None = Field(None, description="The caller's name for this question, in its plan")
    user: Text = Field("", description="Whose message it is, for the rate limit of a user")
    style: Text = Field("", description="A citation style by its name, such as apa: then the reply has a bibliography")
    stream: StrictBool = True

    @model_validator(mode="after")
    def one_kind(self) -> Self:
        if (self.message is None) == (self.messages is None):
            raise ValueError("Send either 'message' or 'messages'.")
        if self.messages is not None and self.conversation_id is not None:
            raise ValueError("'conversation_id' goes with 'message'; with 'messages' nothing is kept here.")
        if self.messages is not None and (not self.messages or self.messages[-1].role != "user"):
            raise ValueError("The last of 'messages' must be from the user.")
        return self

    def to_request(self) -> TurnRequest:
        query, where, name = self.condensed_query or None, self.filter.to_filter(), self.query_id or ""
        if self.messages is not None:
            *history, last = (message.to_message() for message in self.messages)
            return TurnRequest(last.content, tuple(history), None, query, where, name)
        return TurnRequest(self.message or "", (), self.conversation_id or uuid.uuid4().hex, query, where, name)


def read_sources(value: Any) -> tuple[Source, ...]:
    """The sources a caller sent back to us; those that are not of our form are left out."""
    sources: list[Source] = []
    for item in value if isinstance(value, list) else []:
        try:
            source = _source.validate_python(item)
        except ValidationError:
            continue
        if 0 < source.number <= HIGHEST:
            sources.append(source)
    return tuple(sources)


_source = TypeAdapter(Source)


def native_router(engine: Engine, access: Access) -> APIRouter:
    router = APIRouter(prefix="/api", responses=PROBLEMS)
    ask = Depends(access.caller("ask"))

    @router.post(
        "/chat",
        summary="Ask, as server-sent events or one object",
        responses={200: {"model": Reply, "content": {"text/event-stream": {}}}},
    )
    async def chat(body: ChatBody, caller: Caller = ask) -> Response:
        request = caller.sends(body.to_request(), body.user)
        chosen = body.style or engine.settings.style
        style = await asyncio.to_thread(find_style, chosen, files=not body.style) if chosen else None
        if body.stream:
            return EventStream(chat_frames(engine.stream(request), style))
        reply = await engine.answer(request)
        return Json({**reply.to_dict(), **await listed(reply, style)})

    @router.post("/analyze", summary="What the last message is to its conversation: no search, no answer")
    def analyze(body: AnalyzeBody, _: Caller = ask) -> Response:
        return Json(engine.analyze(body.to_request()).to_dict())

    return router


async def listed(reply: Reply, style: Path | None) -> dict[str, Any]:
    """The bibliography of a reply, where a citation style was chosen."""
    if style is None:
        return {}
    cited = await asyncio.to_thread(bibliography, reply.sources, style)
    return {"bibliography": [dataclasses.asdict(each) for each in cited]}


async def chat_frames(
    events: AsyncGenerator[TurnEvent, None], style: Path | None = None
) -> AsyncGenerator[bytes, None]:
    """A turn's events on the wire. A turn that fails before it is accepted raises instead, for an honest status."""
    accepted = False
    try:
        async with aclosing(events) as turn:
            async for event in turn:
                if isinstance(event, Failed) and not accepted:
                    raise TurnFailed(event)
                accepted = True
                yield _frame(event, await listed(event.reply, style) if isinstance(event, Answered) else {})
    except Exception:
        if not accepted:
            raise
        log.exception("A turn broke")
        yield frame(UNEXPECTED.to_dict(), "error")


def _frame(event: TurnEvent, more: dict[str, Any]) -> bytes:
    match event:
        case Accepted():
            return frame(dataclasses.asdict(event), "accepted")
        case StageDone(stage):
            return frame(dataclasses.asdict(stage), "stage")
        case Planned(plan):
            return frame(plan.outline(), "plan")
        case StepDone(place, step, result):
            return frame({"place": place, "tool": step.tool, **result.outline()}, "step")
        case Delta(text):
            return frame({"text": text}, "text")
        case Answered(reply):
            html = render(reply.text, {source.number for source in reply.sources})
            return frame({**reply.to_dict(), "html": html, **more}, "answer")
        case Failed():
            return frame(Problem.of_turn(event).to_dict(), "error")
