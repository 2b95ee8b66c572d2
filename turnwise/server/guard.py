"""The rails as an API: a message or an answer is judged on its own, with what each rail found. Nothing is stored."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.responses import Response

from turnwise.conversation import Conversation
from turnwise.engine import Engine
from turnwise.guard.shape import check_shape
from turnwise.guard.verdict import Action, Fails, GuardResult, State
from turnwise.server.access import AskCaller, Caller
from turnwise.server.bodies import MAX_SOURCE_NUMBER, ChatMessage, ConversationId, Text
from turnwise.server.dependencies import EngineDep
from turnwise.server.problems import PROBLEM_RESPONSES, Json
from turnwise.types import Source, TurnRequest


class InputBody(BaseModel):
    """A message to be judged: alone, after `messages` that the caller keeps, or in a conversation kept here."""

    model_config = ConfigDict(extra="forbid")

    content: Text
    messages: list[ChatMessage] = Field([], description="What was said before it, oldest first")
    conversation_id: ConversationId | None = Field(None, description="A conversation kept here that it goes on with")

    @model_validator(mode="after")
    def one_history(self) -> Self:
        if self.messages and self.conversation_id is not None:
            raise ValueError("Send either 'messages' or 'conversation_id'; both say what came before.")
        return self


class JudgedSource(BaseModel):
    """What an answer cites: of the sources of a reply, what counts for a judgement."""

    number: int = Field(ge=1, le=MAX_SOURCE_NUMBER, description="As the answer cites it: 1 for [1]")
    text: Text = Field(description="The passage")
    title: Text = ""
    source: Text = ""

    def to_source(self) -> Source:
        return Source(self.number, 0, self.title, self.source, "", None, self.text)


class OutputBody(BaseModel):
    """An answer to be judged: whether it gives away what it should not, or says what its sources do not bear out."""

    model_config = ConfigDict(extra="forbid")

    content: Text
    conversation_id: ConversationId | None = Field(None, description="A conversation kept here that it belongs to")
    sources: list[JudgedSource] | None = Field(
        None, description="What it cites, as the sources of a reply; then its claims are checked"
    )
    system_prompt: Text = Field("", description="Instructions that it may not give away")
    canaries: list[Text] = Field([], description="Strings that it may not give away, in any spelling")


class SpanDocument(BaseModel):
    start: int
    end: int
    kind: str = Field(description="What these characters are")


class FindingDocument(BaseModel):
    """What one rail found. It acts where `score` reaches `threshold`."""

    rail: str
    action: Action
    score: float
    threshold: float
    reason: str
    spans: list[SpanDocument]
    state: State = Field(description="failed, timed out and skipped: it did not get to judge")
    fails: Fails = Field(description="Whether a text passes (open) or is blocked (closed) where it cannot judge")
    latency_ms: float
    facts: dict[str, Any]


class ResultDocument(BaseModel):
    """What was decided and why; `sanitized` is the text as it may go on, with what is redacted taken out."""

    blocked: bool
    pipeline_type: str
    action: Action
    sanitized: str
    details: dict[str, FindingDocument] = Field(description="By rail")
    warnings: list[str]
    reasons: list[str]
    conversation_id: str | None
    shadow: Action | None = Field(description="What would have been done, where the preset only watches")
    retry_after: float | None = Field(description="Seconds, where a rate limit was the reason")


router = APIRouter(prefix="/api/guard", responses={200: {"model": ResultDocument}, **PROBLEM_RESPONSES})


@router.post("/input", summary="Whether a message would be taken, and what each rail found in it")
async def check_input(body: InputBody, engine: EngineDep, caller: AskCaller) -> Response:
    await engine.admit(caller.sends(TurnRequest(body.content, conversation_id=body.conversation_id), ""))
    return Json((await asyncio.to_thread(_judge_input, engine, caller, body)).to_dict())


@router.post("/output", summary="Whether an answer may be shown, and what each rail found in it")
async def check_output(body: OutputBody, engine: EngineDep, caller: AskCaller) -> Response:
    await engine.admit(caller.sends(TurnRequest(body.content, conversation_id=body.conversation_id), ""))
    return Json((await asyncio.to_thread(_judge_output, engine, caller, body)).to_dict())


def _judge_input(engine: Engine, caller: Caller, body: InputBody) -> GuardResult:
    conversation = _conversation(engine, caller, body.conversation_id)
    if conversation is not None:
        return engine.guard.check_input(body.content, conversation)
    check_shape(body.content, engine.settings.max_message)
    history = tuple(message.to_message() for message in body.messages)
    return engine.guard.judge_input(body.content, history, trusted=False)


def _judge_output(engine: Engine, caller: Caller, body: OutputBody) -> GuardResult:
    return engine.guard.check_output(
        body.content,
        _conversation(engine, caller, body.conversation_id),
        sources=[each.to_source() for each in body.sources or ()],
        system_prompt=body.system_prompt,
        canaries=tuple(body.canaries),
    )


def _conversation(engine: Engine, caller: Caller, conversation_id: str | None) -> Conversation | None:
    return None if conversation_id is None else caller.view(engine.store).conversation(conversation_id)
