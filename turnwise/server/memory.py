"""What is remembered about users across conversations, if they wish it; they can see, change and erase it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from starlette.responses import Response

from turnwise.server.access import AskCaller
from turnwise.server.bodies import Line, Text, without_nul
from turnwise.server.dependencies import EngineDep
from turnwise.server.problems import PROBLEM_RESPONSES, Json
from turnwise.types import KnowledgeLevel

router = APIRouter(prefix="/api/memory", tags=["memory"], responses=PROBLEM_RESPONSES)


User = Annotated[Line, Query(max_length=200, description="Whose memory it is, as named with their messages")]


class TopicBody(BaseModel):
    """What the user seems to know of a topic, the words of theirs that showed it, and when (seconds since 1970)."""

    model_config = ConfigDict(extra="forbid")

    topic: Line
    level: KnowledgeLevel
    evidence: Annotated[Text, AfterValidator(without_nul), StringConstraints(max_length=1000)] = ""
    at: float = Field(0.0, ge=0, le=1e11, allow_inf_nan=False)


class MemoryBody(BaseModel):
    """What is remembered of a user. Nothing is used or added while it is not enabled."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    preferences: list[Line] = Field([], max_length=50, description="How they like answers, in words of theirs")
    topics: list[TopicBody] = Field([], max_length=200)


@router.get("", summary="What is remembered of a user", responses={200: {"model": MemoryBody}})
def memory(engine: EngineDep, caller: AskCaller, user: User = "") -> Response:
    return Json(engine.memory(user, caller.tenant).to_dict())


@router.put("", summary="Say what is to be remembered, in place of what was", responses={200: {"model": MemoryBody}})
def remember(body: MemoryBody, engine: EngineDep, caller: AskCaller, user: User = "") -> Response:
    return Json(engine.set_memory(body.model_dump(), user, caller.tenant).to_dict())


@router.delete("", summary="Forget all of it", status_code=204, response_class=Response)
def forget(engine: EngineDep, caller: AskCaller, user: User = "") -> Response:
    engine.forget(user, caller.tenant)
    return Response(status_code=204)
