"""The conversations under /api/conversations: found, read, renamed, branched, and taken elsewhere."""

from __future__ import annotations

import asyncio
import uuid
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from starlette.responses import Response

from turnwise.conversation import Conversation
from turnwise.engine import Engine
from turnwise.errors import ConversationNotFound
from turnwise.server.access import AskCaller, Caller
from turnwise.server.attachments import AttachedDocument, describe_attachments, require_visible
from turnwise.server.bodies import whole_characters, without_nul
from turnwise.server.dependencies import EngineDep, LiveDep, StoreDep
from turnwise.server.exchange import MAX_TITLE_LENGTH, ConversationBody, attachment, take_in
from turnwise.server.hub import Place
from turnwise.server.problems import PROBLEM_RESPONSES, Json
from turnwise.server.turns import MAX_TURN_NUMBER, StoredId, TurnDocument, describe_turn
from turnwise.types import Reach

EXPORT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The conversation as a file", "content": {"application/json": {}, "text/markdown": {}}}
}

router = APIRouter(prefix="/api/conversations", tags=["conversations"], responses=PROBLEM_RESPONSES)


class Line(BaseModel):
    """A conversation in a list."""

    id: str
    title: str
    user: str
    turns: int
    created_at: float = Field(description="Seconds since 1970")
    last_activity: float
    branch_of: str | None = Field(None, description="The conversation that it is a branch of, where it is one")
    snippet: str | None = Field(None, description="Where the words stand that were searched for")


class Lines(BaseModel):
    conversations: list[Line]


class ConversationDocument(BaseModel):
    id: str
    title: str
    user: str
    created_at: float
    last_activity: float
    turn_count: int
    ancestors: list[str] = Field(description="The conversations that it branched from, nearest first")
    attachments: list[AttachedDocument]
    stream: str | None = Field(description="The stream in which it is being answered; see /api/streams")
    turns: list[TurnDocument]


class Named(BaseModel):
    id: str


class TitleBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TITLE_LENGTH),
        AfterValidator(whole_characters),
        AfterValidator(without_nul),
    ]


class Titled(BaseModel):
    id: str
    title: str


class BranchBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    turn: int = Field(ge=1, le=MAX_TURN_NUMBER, description="The new conversation has the turns before this one")


@router.get("", summary="The conversations kept here, latest first", responses={200: {"model": Lines}})
def conversations(
    store: StoreDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    search: Annotated[str, Query(max_length=1000, description="Words of the title, the prompts or the answers")] = "",
    before: Annotated[
        float | None,
        Query(ge=0, le=1e11, allow_inf_nan=False, description="Only those whose last_activity was before"),
    ] = None,
    user: Annotated[str | None, Query(max_length=200, description="Only those of this user")] = None,
) -> Response:
    return Json({"conversations": store.conversations(limit, search, user, before)})


@router.post(
    "", summary="Keep a conversation that was written elsewhere", status_code=201, responses={201: {"model": Named}}
)
def take(body: ConversationBody, store: StoreDep) -> Response:
    return Json({"id": take_in(store, body)}, 201)


@router.get(
    "/{conversation_id}",
    summary="A conversation's turns, oldest first",
    responses={200: {"model": ConversationDocument}},
)
async def conversation(
    conversation_id: StoredId,
    engine: EngineDep,
    live: LiveDep,
    store: StoreDep,
    caller: AskCaller,
    before: Annotated[int | None, Query(ge=0, le=MAX_TURN_NUMBER, description="Only turns before this number")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="The latest so many of them")] = 100,
) -> Response:
    def read() -> dict[str, Any]:
        found, count = store.page(conversation_id, before, limit)
        turns = [describe_turn(turn) for turn in found.turns]
        return {**_describe(engine, caller, found), "turn_count": count, "turns": turns}

    description = await asyncio.to_thread(read)
    return Json({**description, "stream": live.stream_of(Place(caller.tenant, conversation_id))})


def _describe(engine: Engine, caller: Caller, found: Conversation) -> dict[str, Any]:
    ancestors = list(found.metadata.get("ancestors", ()))
    return {
        "id": found.id,
        "title": found.metadata.get("title", ""),
        "user": found.user_id or "",
        "created_at": found.created_at.timestamp(),
        "last_activity": found.last_activity.timestamp(),
        "ancestors": ancestors,
        "attachments": describe_attachments(engine, Reach(caller.tenant, conversations=(found.id, *ancestors))),
    }


@router.patch("/{conversation_id}", summary="Rename a conversation", responses={200: {"model": Titled}})
async def rename(
    conversation_id: StoredId, body: TitleBody, live: LiveDep, store: StoreDep, caller: AskCaller
) -> Response:
    await asyncio.to_thread(store.rename, conversation_id, body.title)
    live.hub.renamed(Place(caller.tenant, conversation_id), body.title)
    return Json({"id": conversation_id, "title": body.title})


@router.delete(
    "/{conversation_id}",
    summary="Delete a conversation and what is attached to it",
    status_code=204,
    response_class=Response,
)
async def delete(
    conversation_id: StoredId, engine: EngineDep, live: LiveDep, store: StoreDep, caller: AskCaller
) -> Response:
    place = Place(caller.tenant, conversation_id)
    await asyncio.to_thread(require_visible, store, conversation_id)
    if stream := live.stream_of(place):
        await live.cancel(live.stream(stream, caller))
    await asyncio.to_thread(_delete, engine, caller, conversation_id)
    live.hub.deleted(place)
    return Response(status_code=204)


def _delete(engine: Engine, caller: Caller, conversation_id: str) -> None:
    """Delete a conversation with its attachments; these may be all there is of it."""
    attached = engine.remove_attachments(conversation_id, caller.tenant)
    try:
        caller.view(engine.store).delete(conversation_id)
    except ConversationNotFound:
        if not attached:
            raise


@router.get("/{conversation_id}/export", summary="A conversation as a file", responses=EXPORT_RESPONSES)
def export(conversation_id: StoredId, store: StoreDep, format: Literal["json", "markdown"] = "json") -> Response:
    found = store.conversation(conversation_id)
    name = str(found.metadata.get("title") or found.id)
    if format == "json":
        return Json(found.to_dict(), headers=attachment(name, "json"))
    text = found.to_markdown().encode("utf-8", "replace")
    return Response(text, headers=attachment(name, "md"), media_type="text/markdown")


@router.post(
    "/{conversation_id}/branch",
    summary="Begin a new conversation with the turns before one",
    status_code=201,
    responses={201: {"model": Named}},
)
def branch(conversation_id: StoredId, body: BranchBody, store: StoreDep) -> Response:
    new_id = uuid.uuid4().hex
    store.branch(conversation_id, body.turn, new_id)
    return Json({"id": new_id}, 201)
