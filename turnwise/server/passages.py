"""The passages under /api/passages, with what stands around them."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from turnwise.engine import Engine
from turnwise.errors import ConversationNotFound, NotFound
from turnwise.server.access import AskCaller, Caller
from turnwise.server.bodies import ConversationId
from turnwise.server.dependencies import EngineDep
from turnwise.server.documents import MAX_ID, DocumentDocument, describe_document
from turnwise.server.problems import PROBLEM_RESPONSES, Json
from turnwise.types import Reach

MAX_NEIGHBOURS = 20  # passages on each side of one that can be read with it

router = APIRouter(prefix="/api/passages", tags=["documents"], responses=PROBLEM_RESPONSES)

PassageId = Annotated[int, Path(ge=1, le=MAX_ID, description="The id of the passage, as a source has it")]


class PassageDocument(BaseModel):
    id: int
    text: str
    heading: str
    page: int | None
    position: int = Field(description="Among the passages of its document, from 0")


class Around(BaseModel):
    """A passage with what stands before and after it."""

    document: DocumentDocument
    passages: list[PassageDocument]
    passage: int


@router.get("/{passage}", summary="A passage, with what stands around it", responses={200: {"model": Around}})
def passage(
    passage: PassageId,
    engine: EngineDep,
    caller: AskCaller,
    reach: Annotated[int, Query(ge=0, le=MAX_NEIGHBOURS, description="So many passages before and after it")] = 1,
    conversation: Annotated[
        ConversationId | None, Query(description="Look at what is attached to this conversation too")
    ] = None,
) -> Response:
    visible = _with_attached(engine, caller, conversation) if conversation else caller.reach
    found = engine.index.passage(passage, visible)
    if found is None:
        raise NotFound(f"There is no passage {passage}.", "Its document may have changed; ask again.")
    around = engine.index.around(found, reach) or [found]
    return Json(
        {
            "document": describe_document(engine, found.document_id, visible),
            "passages": [{name: getattr(each, name) for name in PassageDocument.model_fields} for each in around],
            "passage": found.id,
        }
    )


def _with_attached(engine: Engine, caller: Caller, conversation_id: str) -> Reach:
    """What the caller may see, and what is attached to a conversation of theirs and to those that it branched from."""
    view = caller.view(engine.store)
    try:
        ancestors = view.page(conversation_id, limit=0)[0].metadata.get("ancestors", ())
    except ConversationNotFound:
        if view.hides(conversation_id):
            return caller.reach
        ancestors = ()
    return dataclasses.replace(caller.reach, conversations=(conversation_id, *ancestors))
