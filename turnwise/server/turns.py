"""The turns of a conversation, and what readers say of their answers."""

from __future__ import annotations

import dataclasses
import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from starlette.responses import Response

from turnwise.conversation import Turn, TurnStatus
from turnwise.server.bodies import Text, without_nul
from turnwise.server.dependencies import StoreDep
from turnwise.server.markdown import render
from turnwise.server.problems import PROBLEM_RESPONSES, Json
from turnwise.types import Source

MAX_TURN_NUMBER = 2**31 - 1

router = APIRouter(
    prefix="/api/conversations/{conversation_id}/turns", tags=["conversations"], responses=PROBLEM_RESPONSES
)

StoredId = Annotated[Text, Path(description="The id of the conversation")]
TurnNumber = Annotated[int, Path(ge=1, le=MAX_TURN_NUMBER, description="The number of the turn, from 1")]


class FeedbackBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    rating: Literal["up", "down"]
    comment: Annotated[Text, AfterValidator(without_nul), StringConstraints(max_length=2000)] = ""


class Feedback(BaseModel):
    """What somebody says of an answer."""

    rating: Literal["up", "down"]
    comment: str
    at: float | None = None


class TurnDocument(BaseModel):
    """A turn as it is kept; `record` is the reply it gave, as POST /api/chat gave it."""

    number: int
    prompt: str | None
    response: str | None
    html: str = Field(description="The response as HTML that is safe to show")
    timestamp: float
    status: TurnStatus
    sources: list[Source]
    record: dict[str, Any]
    error: dict[str, Any] | None
    feedback: Feedback | None


@router.get("/{number}", summary="One turn of it", responses={200: {"model": TurnDocument}})
def turn(conversation_id: StoredId, number: TurnNumber, store: StoreDep) -> Response:
    return Json(describe_turn(store.turn(conversation_id, number)))


@router.put("/{number}/feedback", summary="Say whether an answer was good", responses={200: {"model": Feedback}})
def rate(conversation_id: StoredId, number: TurnNumber, body: FeedbackBody, store: StoreDep) -> Response:
    feedback = {**body.model_dump(), "at": time.time()}
    store.rate(conversation_id, number, feedback)
    return Json(feedback)


@router.delete("/{number}/feedback", summary="Take that back", status_code=204, response_class=Response)
def unrate(conversation_id: StoredId, number: TurnNumber, store: StoreDep) -> Response:
    store.rate(conversation_id, number, None)
    return Response(status_code=204)


def describe_turn(turn: Turn) -> dict[str, Any]:
    """A stored turn as the API gives it, its answer also as HTML."""
    known = dataclasses.asdict(dataclasses.replace(turn, evidence=()))
    shown = {name: value for name, value in known.items() if name not in ("evidence", "note", "metadata")}
    html = render(turn.response, {source.number for source in turn.sources}) if turn.response else ""
    return {**shown, "timestamp": turn.timestamp.timestamp(), "html": html, "feedback": turn.metadata.get("feedback")}
