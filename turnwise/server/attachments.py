"""The documents that are attached to a conversation, which it alone may use."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from turnwise.engine import Engine
from turnwise.errors import ConversationNotFound, NotFound
from turnwise.server.access import AskCaller
from turnwise.server.bodies import ConversationId
from turnwise.server.dependencies import EngineDep, StoreDep, UploadsDep
from turnwise.server.documents import (
    FILE_BODY,
    DocumentId,
    Status,
    UploadedDocument,
    describe_documents,
    uploaded_response,
)
from turnwise.server.problems import PROBLEM_RESPONSES
from turnwise.server.uploads import FileName
from turnwise.types import ConversationStore, Reach

router = APIRouter(
    prefix="/api/conversations/{conversation_id}/attachments", tags=["conversations"], responses=PROBLEM_RESPONSES
)

NewOrStoredId = Annotated[ConversationId, Path(description="The id of the conversation, which need not have begun")]


class AttachedDocument(BaseModel):
    """A document that this conversation alone may use."""

    id: int
    name: str
    title: str
    status: Status
    passages: int
    pending: int
    suspect: bool = Field(description="Whether it seems to instruct the assistant; known when it is ready")


@router.put(
    "/{document}",
    summary="Attach a document, which this conversation alone may use",
    responses={200: {"model": UploadedDocument}, 201: {"model": UploadedDocument}},
    openapi_extra=FILE_BODY,
)
async def attach(
    conversation_id: NewOrStoredId,
    document: FileName,
    sent: Request,
    engine: EngineDep,
    uploads: UploadsDep,
    store: StoreDep,
    caller: AskCaller,
) -> Response:
    await asyncio.to_thread(require_visible, store, conversation_id)
    found, outcome = await uploads.take(sent, document, caller, attached=conversation_id)
    await asyncio.to_thread(store.begin, conversation_id)
    return await uploaded_response(engine, found, outcome)


@router.delete("/{document}", summary="Take an attached document out", status_code=204, response_class=Response)
def detach(
    conversation_id: NewOrStoredId, document: DocumentId, engine: EngineDep, store: StoreDep, caller: AskCaller
) -> Response:
    require_visible(store, conversation_id)
    reach = Reach(caller.tenant, conversations=(conversation_id,))
    found = engine.index.document(document, reach)
    if found is None or found.attached != conversation_id or not engine.remove_document(document, reach):
        raise NotFound(f"There is no document {document} attached here.", "GET the conversation: it lists them.")
    return Response(status_code=204)


def describe_attachments(engine: Engine, reach: Reach) -> list[dict[str, Any]]:
    """What is attached to the conversations within reach, as the API gives it."""
    attached = engine.index.attachments(reach)
    if not attached:
        return []
    return [
        {name: value for name, value in each.items() if name in AttachedDocument.model_fields}
        for each in describe_documents(engine, attached)
    ]


def require_visible(store: ConversationStore, conversation_id: str) -> None:
    """Raise ConversationNotFound if there is such a conversation and the caller may not see it."""
    if store.hides(conversation_id):
        raise ConversationNotFound(
            f"There is no conversation {conversation_id!r}.", "Check its id, or start a new one."
        )
