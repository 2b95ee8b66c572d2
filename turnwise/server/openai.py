"""The OpenAI-compatible API under /v1: any chat client can talk to the library."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from turnwise.engine import Engine, TurnFailed
from turnwise.errors import BadRequest
from turnwise.server.access import Access, Caller
from turnwise.server.native import FilterBody, Text, read_sources
from turnwise.server.problems import UNEXPECTED, Json, Problem, log
from turnwise.server.sse import EventStream, frame
from turnwise.types import Answered, Delta, Failed, Message, Reply, Role, TurnEvent, TurnRequest

MODEL = "turnwise"
# What is given beside OpenAI's fields.
CONTEXT = ("conversation_id", "sources", "claims", "condensed_query", "follow_up", "state", "notice", "suggestions")
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": "An error object as OpenAI's clients know it"} for status in ("4XX", "5XX")
}


class ContentPart(BaseModel):
    model_config = ConfigDict(extra="ignore")

    type: str
    text: Text | None = None


class CompletionMessage(BaseModel):
    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | list[ContentPart] | None = None
    sources: Any = None

    def to_message(self) -> Message | None:
        """The message as a turn reads it; None for the traffic of tools, which Turnwise does not call for clients."""
        role = _ROLES.get(self.role)
        if role is None or self.content is None:
            return None
        return Message(role, self._text(), read_sources(self.sources))

    def _text(self) -> str:
        if not isinstance(self.content, list):
            return self.content or ""
        if any(part.type != "text" for part in self.content):
            raise BadRequest("Only content parts of type 'text' can be read.", "Leave the others out.")
        return "\n".join(part.text or "" for part in self.content)


_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class CompletionBody(BaseModel):
    """A chat completion request. Sampling parameters are taken and have no effect: the server's settings rule."""

    model_config = ConfigDict(extra="ignore")

    messages: list[CompletionMessage]
    model: str = MODEL
    stream: bool = False
    stream_options: StreamOptions | None = None
    condensed_query: Text | None = None
    filter: FilterBody = FilterBody()
    user: Text | None = None

    def to_request(self) -> TurnRequest:
        messages = [message for sent in self.messages if (message := sent.to_message())]
        if not messages or messages[-1].role != "user":
            raise BadRequest("The last of 'messages' must be from the user.", "Put the question last.")
        *history, last = messages
        query, where = self.condensed_query or None, self.filter.to_filter()
        return TurnRequest(last.content, tuple(history), condensed_query=query, where=where)


class Completion:
    """One answer in OpenAI's words, whole or in chunks."""

    def __init__(self, model: str, request: TurnRequest) -> None:
        self.head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}
        self.asked = sum(len(message.content) for message in request.history) + len(request.message)

    def whole(self, reply: Reply) -> dict[str, Any]:
        message = {"role": "assistant", "content": reply.text}
        return {
            **self.head,
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
            "usage": self.usage(reply),
            **_context(reply),
        }

    def chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self.head, "object": "chat.completion.chunk", "choices": [choice]}

    def last_chunk(self, reply: Reply) -> dict[str, Any]:
        return {**self.chunk({}, "stop"), **_context(reply)}

    def usage_chunk(self, reply: Reply) -> dict[str, Any]:
        return {**self.head, "object": "chat.completion.chunk", "choices": [], "usage": self.usage(reply)}

    def usage(self, reply: Reply) -> dict[str, int]:
        """Estimated tokens, at four characters each."""
        asked, answered = self.asked // 4 + 1, len(reply.text) // 4 + 1
        return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


def _context(reply: Reply) -> dict[str, Any]:
    known = reply.to_dict()
    return {name: known[name] for name in CONTEXT}


def openai_router(engine: Engine, access: Access) -> APIRouter:
    router = APIRouter(prefix="/v1", responses=ERRORS)
    ask = Depends(access.caller("ask"))

    @router.get("/models", summary="The one model there is")
    def models(_: Caller = ask) -> Response:
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL}
        return Json({"object": "list", "data": [model]})

    @router.post("/chat/completions", summary="Ask, as OpenAI's clients do")
    async def completions(body: CompletionBody, caller: Caller = ask) -> Response:
        request = caller.sends(body.to_request(), body.user or "")
        completion = Completion(body.model, request)
        if body.stream:
            with_usage = bool(body.stream_options and body.stream_options.include_usage)
            return EventStream(completion_frames(engine.stream(request), completion, with_usage))
        return Json(completion.whole(await engine.answer(request)))

    return router


async def completion_frames(
    events: AsyncGenerator[TurnEvent, None], completion: Completion, with_usage: bool
) -> AsyncGenerator[bytes, None]:
    """A turn's text in chunks, ending in [DONE]. A turn that fails before its first word raises instead."""
    begun = False
    try:
        async with aclosing(events) as turn:
            async for event in turn:
                if isinstance(event, Delta):
                    yield frame(completion.chunk(_words(event.text, begun)))
                    begun = True
                elif isinstance(event, Answered):
                    if not begun:
                        yield frame(completion.chunk(_words(event.reply.text, begun)))
                    yield frame(completion.last_chunk(event.reply))
                    if with_usage:
                        yield frame(completion.usage_chunk(event.reply))
                elif isinstance(event, Failed):
                    if not begun:
                        raise TurnFailed(event)
                    yield frame(Problem.of_turn(event).to_openai())
    except Exception:
        if not begun:
            raise
        log.exception("A turn broke")
        yield frame(UNEXPECTED.to_openai())
    yield b"data: [DONE]\n\n"


def _words(text: str, begun: bool) -> dict[str, Any]:
    return {"content": text} if begun else {"role": "assistant", "content": text}
