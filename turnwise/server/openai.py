"""The OpenAI-compatible API under /v1: any chat client can talk to the library."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from turnwise.errors import BadRequest, NotFound
from turnwise.server.access import AskCaller
from turnwise.server.bodies import FilterBody, Text, read_sources
from turnwise.server.dependencies import LiveDep
from turnwise.server.images import read_images
from turnwise.server.live import OneObject
from turnwise.server.once import IdempotencyKey
from turnwise.server.problems import Json, Problem
from turnwise.server.sse import EVENT_STREAM_TYPE, frame
from turnwise.types import Answered, Delta, Failed, Message, Reply, Role, TurnEvent, TurnRequest

MODEL_NAME = "turnwise"
MODEL_OBJECT = {"id": MODEL_NAME, "object": "model", "created": 0, "owned_by": MODEL_NAME}
# Given in addition to OpenAI's own fields.
CONTEXT_FIELDS = (
    "conversation_id",
    "sources",
    "claims",
    "condensed_query",
    "follow_up",
    "state",
    "notice",
    "suggestions",
)
DONE_FRAME = b"data: [DONE]\n\n"


class OpenAIError(BaseModel):
    message: str
    type: str
    param: str | None
    code: str


class OpenAIProblem(BaseModel):
    """An error object as OpenAI's clients know it."""

    error: OpenAIError


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": OpenAIProblem, "description": "An error object as OpenAI's clients know it"}
    for status in ("4XX", "5XX")
}

router = APIRouter(prefix="/v1", responses=ERROR_RESPONSES)


class ImageUrl(BaseModel):
    model_config = ConfigDict(extra="ignore")

    url: str


class ContentPart(BaseModel):
    model_config = ConfigDict(extra="ignore")

    type: str
    text: Text | None = None
    refusal: Text | None = None
    image_url: ImageUrl | None = None


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

    @property
    def images(self) -> Iterator[tuple[str, str]]:
        parts = self.content if isinstance(self.content, list) else []
        return (("", part.image_url.url) for part in parts if part.type == "image_url" and part.image_url)

    def _text(self) -> str:
        if not isinstance(self.content, list):
            return self.content or ""
        if any(part.type not in ("text", "refusal", "image_url") for part in self.content):
            raise BadRequest("Only content parts of type 'text' and 'image_url' can be read.", "Leave the others out.")
        return "\n".join(part.text or part.refusal or "" for part in self.content if part.type != "image_url")


_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class CompletionBody(BaseModel):
    """A chat completion request. Sampling parameters, lengths and tools on offer are taken and have no effect: the
    server's settings rule. What a program could not do without is refused."""

    model_config = ConfigDict(extra="ignore")

    messages: list[CompletionMessage]
    model: str = MODEL_NAME
    stream: bool = False
    stream_options: StreamOptions | None = None
    condensed_query: Text | None = None
    filter: FilterBody = FilterBody()
    user: Text | None = None
    n: int | None = None
    tool_choice: Any = None
    response_format: Any = None

    def to_request(self) -> TurnRequest:
        self._refuse()
        sent = [(message, each) for each in self.messages if (message := each.to_message())]
        sent.sort(key=lambda each: each[0].role != "system")  # some clients put theirs after the question
        if not sent or sent[-1][0].role != "user":
            said = (
                "from the user, and not empty"
                if self.messages and self.messages[-1].role == "user"
                else "from the user"
            )
            raise BadRequest(f"The last of 'messages' must be {said}.", "Put the question last.")
        *history, last = (message for message, _ in sent)
        query, where = self.condensed_query or None, self.filter.to_filter()
        images = read_images(sent[-1][1].images)  # those of earlier messages were seen with them
        return TurnRequest(last.content, tuple(history), condensed_query=query, where=where, images=images)

    def _refuse(self) -> None:
        """Raise BadRequest for options that a client would wrongly believe were followed."""
        if self.n is not None and self.n != 1:
            raise BadRequest("One answer is given at a time.", "Leave 'n' out, or ask again for another.")
        if self.tool_choice not in (None, "none", "auto"):
            raise BadRequest("Turnwise calls no tools of its clients, so none can be required.", "Leave it out.")
        wanted = self.response_format.get("type") if isinstance(self.response_format, dict) else None
        if wanted not in (None, "text"):
            raise BadRequest(
                f"Answers are prose with citations, not {wanted}.", "Leave 'response_format' out; 'sources' are JSON."
            )


class Completion:
    """One answer in OpenAI's format."""

    def __init__(self, model: str, request: TurnRequest) -> None:
        self.head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}
        self.asked = sum(len(message.content) for message in request.history) + len(request.message)

    def whole(self, reply: Reply) -> dict[str, Any]:
        message = {"role": "assistant", "content": reply.text}
        return {
            **self.head,
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": reply.cut or "stop", "logprobs": None}],
            "usage": self.usage(reply),
            **_context(reply),
        }

    def usage(self, reply: Reply) -> dict[str, int]:
        """Estimated tokens, at four characters each."""
        asked, answered = self.asked // 4 + 1, len(reply.text) // 4 + 1
        return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


def _context(reply: Reply) -> dict[str, Any]:
    known = reply.to_dict()
    return {name: known[name] for name in CONTEXT_FIELDS}


class CompletionChunks:
    """A turn's text in chunks, ending in [DONE]."""

    media_type = EVENT_STREAM_TYPE

    def __init__(self, completion: Completion, with_usage: bool) -> None:
        self.answer: dict[str, Any] | None = None
        self._completion = completion
        self._with_usage = with_usage
        self._begun = False

    async def write(self, event: TurnEvent, stream: str) -> bytes:  # noqa: ARG002
        match event:
            case Delta(text):
                return self._text_chunk(self._completion.head, text)
            case Answered(reply):
                self.answer = self._completion.whole(reply)
                return self._rest(self.answer)
            case Failed():
                return self.write_problem(Problem.of_turn(event))
        return b""

    def write_problem(self, problem: Problem) -> bytes:
        return frame(problem.to_openai()) + DONE_FRAME

    def again(self, answer: dict[str, Any]) -> bytes:
        return self._rest(answer)

    def _rest(self, whole: dict[str, Any]) -> bytes:
        """The chunks that follow the text, and the text before them if none was sent yet."""
        head = {name: whole[name] for name in ("id", "created", "model")}
        words = b"" if self._begun else self._text_chunk(head, whole["choices"][0]["message"]["content"])
        context = {name: whole[name] for name in CONTEXT_FIELDS}
        usage = {**head, "object": "chat.completion.chunk", "choices": [], "usage": whole["usage"]}
        last = frame({**_chunk(head, {}, whole["choices"][0]["finish_reason"]), **context})
        return words + last + (frame(usage) if self._with_usage else b"") + DONE_FRAME

    def _text_chunk(self, head: dict[str, Any], text: str) -> bytes:
        role = {} if self._begun else {"role": "assistant"}
        self._begun = True
        return frame(_chunk(head, {**role, "content": text}))


def _chunk(head: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return {**head, "object": "chat.completion.chunk", "choices": [choice]}


@router.get("/models", summary="The one model there is")
def models(_: AskCaller) -> Response:
    return Json({"object": "list", "data": [MODEL_OBJECT]})


@router.get("/models/{name}", summary="The same by its name")
def one_model(name: str, _: AskCaller) -> Response:
    if name != MODEL_NAME:
        raise NotFound(f"There is no model {name!r}.", f"The one there is is called {MODEL_NAME}.")
    return Json(MODEL_OBJECT)


@router.post(
    "/chat/completions",
    summary="Ask, as OpenAI's clients do",
    responses={200: {"content": {"application/json": {}, EVENT_STREAM_TYPE: {}}}},
)
async def completions(
    body: CompletionBody,
    sent: Request,
    live: LiveDep,
    caller: AskCaller,
    idempotency_key: IdempotencyKey = None,  # noqa: ARG001  (read where it is claimed)
) -> Response:
    request = caller.sends(body.to_request(), body.user or "")
    completion = Completion(body.model, request)
    with_usage = bool(body.stream_options and body.stream_options.include_usage)
    whole = OneObject(completion.whole, Problem.to_openai)
    form = CompletionChunks(completion, with_usage) if body.stream else whole
    return await live.respond(request, caller, form, sent)
