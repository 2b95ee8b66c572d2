"""The conversations under /api: found, read, renamed, branched, judged, taken elsewhere; and their attachments."""

from __future__ import annotations

import asyncio
import dataclasses
import time
import uuid
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as InPath
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from starlette.responses import Response

from turnwise.conversation import Conversation, Turn, TurnStatus
from turnwise.engine import Engine
from turnwise.errors import ConversationNotFound, NotFound
from turnwise.server.access import Access, Caller
from turnwise.server.bodies import ConversationId, Text, whole_characters
from turnwise.server.documents import RAW, DocumentId, Status, UploadedDocument, describe_documents
from turnwise.server.exchange import LONGEST_TITLE, ConversationBody, attachment, take_in
from turnwise.server.hub import Place
from turnwise.server.live import Live
from turnwise.server.markdown import render
from turnwise.server.memory import without_nul
from turnwise.server.problems import PROBLEMS, Json
from turnwise.server.uploads import FileName, Uploads
from turnwise.types import ConversationStore, Reach, Source

MOST = 2**31 - 1  # turns of a conversation

Kept = Annotated[Text, InPath(description="The id of the conversation")]
New = Annotated[ConversationId, InPath(description="The id of the conversation, which need not have begun")]
Number = Annotated[int, InPath(ge=1, le=MOST, description="The number of the turn, from 1")]


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


class AttachedDocument(BaseModel):
    """A document that this conversation alone may use."""

    id: int
    name: str
    title: str
    status: Status
    passages: int
    pending: int
    suspect: bool = Field(description="Whether it seems to instruct the assistant; known when it is ready")


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
        StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TITLE),
        AfterValidator(whole_characters),
        AfterValidator(without_nul),
    ]


class Titled(BaseModel):
    id: str
    title: str


class BranchBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    turn: int = Field(ge=1, le=MOST, description="The new conversation has the turns before this one")


EXPORTED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The conversation as a file", "content": {"application/json": {}, "text/markdown": {}}}
}
GONE: dict[str, Any] = {"status_code": 204, "response_class": Response}


def conversations_router(engine: Engine, access: Access, live: Live, uploads: Uploads) -> APIRouter:
    router = APIRouter(prefix="/api/conversations", tags=["conversations"], responses=PROBLEMS)
    ask = Depends(access.caller("ask"))

    def store(caller: Caller) -> ConversationStore:
        return caller.view(engine.store)

    @router.get("", summary="The conversations kept here, latest first", responses={200: {"model": Lines}})
    def conversations(
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        search: Annotated[
            str, Query(max_length=1000, description="Words of the title, the prompts or the answers")
        ] = "",
        before: Annotated[
            float | None,
            Query(ge=0, le=1e11, allow_inf_nan=False, description="Only those whose last_activity was before"),
        ] = None,
        user: Annotated[str | None, Query(max_length=200, description="Only those of this user")] = None,
        caller: Caller = ask,
    ) -> Response:
        return Json({"conversations": store(caller).conversations(limit, search, user, before)})

    @router.post(
        "",
        summary="Keep a conversation that was written elsewhere",
        status_code=201,
        responses={201: {"model": Named}},
    )
    def take(body: ConversationBody, caller: Caller = ask) -> Response:
        return Json({"id": take_in(store(caller), body)}, 201)

    @router.get(
        "/{conversation_id}",
        summary="A conversation's turns, oldest first",
        responses={200: {"model": ConversationDocument}},
    )
    async def conversation(
        conversation_id: Kept,
        before: Annotated[int | None, Query(ge=0, le=MOST, description="Only turns before this number")] = None,
        limit: Annotated[int, Query(ge=1, le=1000, description="The latest so many of them")] = 100,
        caller: Caller = ask,
    ) -> Response:
        def read() -> dict[str, Any]:
            found, count = store(caller).page(conversation_id, before, limit)
            return {**describe(found, count, caller), "turns": [describe_turn(turn) for turn in found.turns]}

        told = await asyncio.to_thread(read)
        return Json({**told, "stream": live.stream_of(Place(caller.tenant, conversation_id))})

    def describe(found: Conversation, count: int, caller: Caller) -> dict[str, Any]:
        ancestors = list(found.metadata.get("ancestors", ()))
        attached = engine.index.attachments(Reach(caller.tenant, conversations=(found.id, *ancestors)))
        return {
            "id": found.id,
            "title": found.metadata.get("title", ""),
            "user": found.user_id or "",
            "created_at": found.created_at.timestamp(),
            "last_activity": found.last_activity.timestamp(),
            "turn_count": count,
            "ancestors": ancestors,
            "attachments": [
                {name: value for name, value in each.items() if name in AttachedDocument.model_fields}
                for each in (describe_documents(engine, attached) if attached else ())
            ],
        }

    @router.patch("/{conversation_id}", summary="Rename a conversation", responses={200: {"model": Titled}})
    async def rename(conversation_id: Kept, body: TitleBody, caller: Caller = ask) -> Response:
        await asyncio.to_thread(store(caller).rename, conversation_id, body.title)
        live.hub.renamed(Place(caller.tenant, conversation_id), body.title)
        return Json({"id": conversation_id, "title": body.title})

    @router.delete("/{conversation_id}", summary="Delete a conversation and what is attached to it", **GONE)
    async def delete(conversation_id: Kept, caller: Caller = ask) -> Response:
        place = Place(caller.tenant, conversation_id)
        await asyncio.to_thread(_require_seen, store(caller), conversation_id)
        if stream := live.stream_of(place):
            await live.cancel(live.stream(stream, caller))
        await asyncio.to_thread(_delete, engine, caller, conversation_id)
        live.hub.deleted(place)
        return Response(status_code=204)

    @router.get("/{conversation_id}/export", summary="A conversation as a file", responses=EXPORTED)
    def export(conversation_id: Kept, format: Literal["json", "markdown"] = "json", caller: Caller = ask) -> Response:
        found = store(caller).conversation(conversation_id)
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
    def branch(conversation_id: Kept, body: BranchBody, caller: Caller = ask) -> Response:
        new_id = uuid.uuid4().hex
        store(caller).branch(conversation_id, body.turn, new_id)
        return Json({"id": new_id}, 201)

    @router.get("/{conversation_id}/turns/{number}", summary="One turn of it", responses={200: {"model": TurnDocument}})
    def turn(conversation_id: Kept, number: Number, caller: Caller = ask) -> Response:
        return Json(describe_turn(store(caller).turn(conversation_id, number)))

    @router.put(
        "/{conversation_id}/turns/{number}/feedback",
        summary="Say whether an answer was good",
        responses={200: {"model": Feedback}},
    )
    def rate(conversation_id: Kept, number: Number, body: FeedbackBody, caller: Caller = ask) -> Response:
        feedback = {**body.model_dump(), "at": time.time()}
        store(caller).rate(conversation_id, number, feedback)
        return Json(feedback)

    @router.delete("/{conversation_id}/turns/{number}/feedback", summary="Take that back", **GONE)
    def unrate(conversation_id: Kept, number: Number, caller: Caller = ask) -> Response:
        store(caller).rate(conversation_id, number, None)
        return Response(status_code=204)

    @router.put(
        "/{conversation_id}/attachments/{document}",
        summary="Attach a document, which this conversation alone may use",
        responses={200: {"model": UploadedDocument}, 201: {"model": UploadedDocument}},
        openapi_extra=RAW,
    )
    async def attach(conversation_id: New, document: FileName, sent: Request, caller: Caller = ask) -> Response:
        await asyncio.to_thread(_require_seen, store(caller), conversation_id)
        found, outcome = await uploads.take(sent, document, caller, attached=conversation_id)
        await asyncio.to_thread(store(caller).begin, conversation_id)
        (told,) = await asyncio.to_thread(describe_documents, engine, [found])
        return Json({**told, "outcome": outcome}, 201 if outcome == "added" else 200)

    @router.delete("/{conversation_id}/attachments/{document}", summary="Take an attached document out", **GONE)
    def detach(conversation_id: New, document: DocumentId, caller: Caller = ask) -> Response:
        _require_seen(store(caller), conversation_id)
        reach = Reach(caller.tenant, conversations=(conversation_id,))
        found = engine.index.document(document, reach)
        if found is None or found.attached != conversation_id or not engine.remove_document(document, reach):
            raise NotFound(f"There is no document {document} attached here.", "GET the conversation: it lists them.")
        return Response(status_code=204)

    return router


def _require_seen(store: ConversationStore, conversation_id: str) -> None:
    """Raise ConversationNotFound where there is such a conversation, and the caller may not see it."""
    if store.hides(conversation_id):
        told = f"There is no conversation {conversation_id!r}."
        raise ConversationNotFound(told, "Check its id, or start a new one.")


def _delete(engine: Engine, caller: Caller, conversation_id: str) -> None:
    """Take out a conversation with its attachments; these may be all there is of it."""
    attached = engine.remove_attachments(conversation_id, caller.tenant)
    try:
        caller.view(engine.store).delete(conversation_id)
    except ConversationNotFound:
        if not attached:
            raise


def describe_turn(turn: Turn) -> dict[str, Any]:
    """A stored turn as the API gives it, its answer also as HTML."""
    html = render(turn.response, {source.number for source in turn.sources}) if turn.response else ""
    told = dataclasses.asdict(dataclasses.replace(turn, evidence=()))
    kept = {key: value for key, value in told.items() if key not in ("evidence", "note", "metadata")}
    return {**kept, "timestamp": turn.timestamp.timestamp(), "html": html, "feedback": turn.metadata.get("feedback")}
