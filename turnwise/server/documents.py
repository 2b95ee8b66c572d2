"""The documents under /api/documents: what the library holds, as far as the caller may see it, and how it changes."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from turnwise.engine import Engine
from turnwise.errors import NotAllowed, NotFound
from turnwise.server.access import AskCaller, Caller, EditCaller
from turnwise.server.bodies import Line
from turnwise.server.dependencies import EmbeddingDep, EngineDep, UploadsDep
from turnwise.server.problems import PROBLEM_RESPONSES, Json
from turnwise.server.uploads import FileName
from turnwise.types import DocumentInfo, Outcome, Reach, Reference

MAX_ID = 2**63 - 1

router = APIRouter(prefix="/api/documents", tags=["documents"], responses=PROBLEM_RESPONSES)

DocumentId = Annotated[int, Path(ge=1, le=MAX_ID, description="The id of the document")]
Status = Literal["embedding", "checking", "ready"]  # checked for instructions to the assistant once it has vectors
FILE_BODY: dict[str, Any] = {
    "requestBody": {
        "description": "The file as it is",
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class DocumentDocument(BaseModel):
    """A document of the library. It is found by its words at once, by its meaning when nothing of it is pending."""

    id: int
    name: str
    title: str
    source: str = Field(description="The path or address that it came from")
    collection: str
    tags: list[str]
    date: str
    passages: int
    pending: int = Field(description="Passages that have no vector yet")
    status: Status
    added_at: float
    reference: Reference | None
    suspect: bool = Field(description="Whether it seems to instruct the assistant; known when it is ready")
    trusted: bool = Field(description="Whether somebody has said that it is fine all the same")


class UploadedDocument(DocumentDocument):
    outcome: Outcome


class Documents(BaseModel):
    documents: list[DocumentDocument]
    next: str | None = Field(description="What `after` should be to get those that follow; null where there are none")


class Reindexed(BaseModel):
    document: DocumentDocument
    read_again: bool = Field(description="Whether it was read again from where it came; else it gets new vectors")


@router.get("", summary="The documents, in order of where they came from", responses={200: {"model": Documents}})
def documents(
    engine: EngineDep,
    caller: AskCaller,
    collection: Annotated[Line | None, Query(description="Only of this one; empty: those in none")] = None,
    search: Annotated[Line, Query(description="Words of the title or the source")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str, Query(max_length=5000, description="The `next` of the last answer")] = "",
) -> Response:
    after = after.replace("\0", "\ufffd")
    found = engine.index.find_documents(search, collection, after, limit + 1, caller.reach)
    listed = describe_documents(engine, found[:limit])
    return Json({"documents": listed, "next": found[limit - 1].source if len(found) > limit else None})


@router.put(
    "/{document}",
    summary="Put a file into the library",
    responses={200: {"model": UploadedDocument}, 201: {"model": UploadedDocument}},
    openapi_extra=FILE_BODY,
)
async def upload(
    document: FileName,
    sent: Request,
    engine: EngineDep,
    uploads: UploadsDep,
    caller: EditCaller,
    collection: Annotated[Line | None, Query(description="The collection it goes into")] = None,
    tag: Annotated[
        list[Line] | None, Query(max_length=50, description="What it is marked with; may be repeated")
    ] = None,
) -> Response:
    if caller.collections and collection not in caller.collections:
        names = ", ".join(caller.collections)
        choices = " or ".join(f"?collection={quote(name)}" for name in caller.collections)
        raise NotAllowed(f"This key may not put documents there, only into {names}.", f"Say so: {choices}", known=True)
    found, outcome = await uploads.take(sent, document, caller, collection, tag)
    return await uploaded_response(engine, found, outcome)


@router.get("/{document}", summary="A document", responses={200: {"model": DocumentDocument}})
def document(document: DocumentId, engine: EngineDep, caller: AskCaller) -> Response:
    return Json(describe_document(engine, document, caller.reach))


@router.delete("/{document}", summary="Delete a document", status_code=204, response_class=Response)
def remove(document: DocumentId, engine: EngineDep, caller: EditCaller) -> Response:
    if not engine.remove_document(document, caller.reach):
        raise _not_found(document)
    return Response(status_code=204)


@router.post(
    "/{document}/reindex",
    summary="Read a file again, or make the vectors again of what was uploaded or fetched",
    responses={200: {"model": Reindexed}},
)
def reindex(document: DocumentId, engine: EngineDep, embedding: EmbeddingDep, caller: EditCaller) -> Response:
    read_again = engine.reindex(document, caller.reach)
    if read_again is None:
        raise _not_found(document)
    embedding.wake()
    return Json({"document": describe_document(engine, document, caller.reach), "read_again": read_again})


@router.put(
    "/{document}/trust",
    summary="Say that a document is fine although it seems to instruct the assistant",
    responses={200: {"model": DocumentDocument}},
)
def trust(document: DocumentId, engine: EngineDep, caller: EditCaller) -> Response:
    return _set_trust(engine, caller, document, True)


@router.delete("/{document}/trust", summary="Take that back", responses={200: {"model": DocumentDocument}})
def distrust(document: DocumentId, engine: EngineDep, caller: EditCaller) -> Response:
    return _set_trust(engine, caller, document, False)


def _set_trust(engine: Engine, caller: Caller, document_id: int, trusted: bool) -> Response:
    engine.trust(_find(engine, document_id, caller.reach).source, trusted)
    return Json(describe_document(engine, document_id, caller.reach))


def _find(engine: Engine, document_id: int, reach: Reach) -> DocumentInfo:
    found = engine.index.document(document_id, reach)
    if found is None:
        raise _not_found(document_id)
    return found


def _not_found(document_id: int) -> NotFound:
    return NotFound(f"There is no document {document_id}.", "GET /api/documents lists them.")


async def uploaded_response(engine: Engine, found: DocumentInfo, outcome: Outcome) -> Response:
    """The answer to an upload: the document, and what became of it."""
    (description,) = await asyncio.to_thread(describe_documents, engine, [found])
    return Json({**description, "outcome": outcome}, 201 if outcome == "added" else 200)


def describe_document(engine: Engine, document_id: int, reach: Reach) -> dict[str, Any]:
    """A document as the API gives it. Raises NotFound."""
    return describe_documents(engine, [_find(engine, document_id, reach)])[0]


def describe_documents(engine: Engine, found: Sequence[DocumentInfo]) -> list[dict[str, Any]]:
    """Documents as the API gives them."""
    unchecked, flagged = engine.unchecked(each.source for each in found), engine.flagged(found)
    return [_describe(each, each.source in unchecked, each.id in flagged) for each in found]


def _describe(found: DocumentInfo, unchecked: bool, flagged: bool) -> dict[str, Any]:
    known = dataclasses.asdict(found)
    return {
        **{name: known[name] for name in DocumentDocument.model_fields if name in known},
        "name": re.split(r"[/\\]", found.source.removeprefix("upload:").rstrip("/"))[-1] or found.source,
        "status": "embedding" if found.pending else "checking" if unchecked else "ready",
        "suspect": flagged,
    }
