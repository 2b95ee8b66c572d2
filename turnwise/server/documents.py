"""The documents under /api: what the library holds, as far as the caller may see it, and how it changes."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import AfterValidator, BaseModel, Field, StringConstraints
from starlette.responses import Response

from turnwise.engine import Engine
from turnwise.errors import ConversationNotFound, NotAllowed, NotFound
from turnwise.server.access import Access, Caller
from turnwise.server.bodies import ConversationId, Text
from turnwise.server.embedding import Embedding
from turnwise.server.library import describe_library, example_questions
from turnwise.server.memory import without_nul
from turnwise.server.problems import PROBLEMS, Json
from turnwise.server.uploads import FileName, Uploads
from turnwise.types import DocumentInfo, Outcome, Reach, Reference

LARGEST_ID = 2**63 - 1
FAR = 20  # passages on each side of one that can be read with it

DocumentId = Annotated[int, Path(ge=1, le=LARGEST_ID, description="The id of the document")]
PassageId = Annotated[int, Path(ge=1, le=LARGEST_ID, description="The id of the passage, as a source has it")]
Status = Literal["embedding", "checking", "ready"]  # checked for instructions to the assistant after its vectors
Word = Annotated[Text, AfterValidator(without_nul), StringConstraints(max_length=200)]
RAW: dict[str, Any] = {
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


class CollectionDocument(BaseModel):
    name: str = Field(description="Empty for the documents that are in none")
    documents: int
    passages: int
    pending: int


class Collections(BaseModel):
    collections: list[CollectionDocument]


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


class LibraryDocument(BaseModel):
    documents: int
    passages: int
    pending: int
    collections: list[str]
    model: str
    offline: bool
    local: bool
    host: str = Field(description="Where the model is, if elsewhere")
    examples: list[str] = Field(description="Questions to start with")


def documents_router(engine: Engine, access: Access, uploads: Uploads, embedding: Embedding) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["documents"], responses=PROBLEMS)
    ask, edit = Depends(access.caller("ask")), Depends(access.caller("edit"))

    def known(document_id: int, reach: Reach) -> DocumentInfo:
        found = engine.index.document(document_id, reach)
        if found is None:
            raise unknown(document_id)
        return found

    def described(document_id: int, reach: Reach) -> dict[str, Any]:
        return describe_documents(engine, [known(document_id, reach)])[0]

    @router.get("/collections", summary="The collections there are", responses={200: {"model": Collections}})
    def collections(caller: Caller = ask) -> Response:
        found = engine.index.collections(caller.reach)
        listed = [
            {"name": name, "documents": each.documents, "passages": each.passages}
            | {"pending": each.passages - each.vectors}
            for name, each in sorted(found.items())
        ]
        return Json({"collections": listed})

    @router.delete(
        "/collections/{name}",
        summary="Delete a collection and its documents",
        status_code=204,
        response_class=Response,
    )
    def remove_collection(name: Annotated[str, Path(max_length=200)], caller: Caller = edit) -> Response:
        if not engine.remove_collection(name, caller.reach):
            raise NotFound(f"There is no collection {name!r}.", "GET /api/collections lists them.")
        return Response(status_code=204)

    @router.get(
        "/documents", summary="The documents, in order of where they came from", responses={200: {"model": Documents}}
    )
    def documents(
        collection: Annotated[Word | None, Query(description="Only of this one; empty: those in none")] = None,
        search: Annotated[Word, Query(description="Words of the title or the source")] = "",
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        after: Annotated[str, Query(max_length=5000, description="The `next` of the last answer")] = "",
        caller: Caller = ask,
    ) -> Response:
        after = after.replace("\0", "\ufffd")
        found = engine.index.find_documents(search, collection, after, limit + 1, caller.reach)
        listed = describe_documents(engine, found[:limit])
        return Json({"documents": listed, "next": found[limit - 1].source if len(found) > limit else None})

    @router.put(
        "/documents/{document}",
        summary="Put a file into the library",
        responses={200: {"model": UploadedDocument}, 201: {"model": UploadedDocument}},
        openapi_extra=RAW,
    )
    async def upload(
        document: FileName,
        sent: Request,
        collection: Annotated[Word, Query(description="The collection it goes into")] = "",
        tag: Annotated[list[Word], Query(max_length=50, description="What it is marked with; may be repeated")] = [],  # noqa: B006
        caller: Caller = edit,
    ) -> Response:
        if caller.collections and collection not in caller.collections:
            known = ", ".join(caller.collections)
            raise NotAllowed(
                f"This key may not put documents there, only into {known}.", f"Say so: ?collection={known}", known=True
            )
        found, outcome = await uploads.take(sent, document, caller, collection, tag)
        (told,) = await asyncio.to_thread(describe_documents, engine, [found])
        return Json({**told, "outcome": outcome}, 201 if outcome == "added" else 200)

    @router.get("/documents/{document}", summary="A document", responses={200: {"model": DocumentDocument}})
    def document(document: DocumentId, caller: Caller = ask) -> Response:
        return Json(described(document, caller.reach))

    @router.delete("/documents/{document}", summary="Delete a document", status_code=204, response_class=Response)
    def remove(document: DocumentId, caller: Caller = edit) -> Response:
        if not engine.remove_document(document, caller.reach):
            raise unknown(document)
        return Response(status_code=204)

    @router.post(
        "/documents/{document}/reindex",
        summary="Read a file again, or make the vectors again of what was uploaded or fetched",
        responses={200: {"model": Reindexed}},
    )
    def reindex(document: DocumentId, caller: Caller = edit) -> Response:
        read_again = engine.reindex(document, caller.reach)
        if read_again is None:
            raise unknown(document)
        embedding.wake()
        return Json({"document": described(document, caller.reach), "read_again": read_again})

    @router.put(
        "/documents/{document}/trust",
        summary="Say that a document is fine although it seems to instruct the assistant",
        responses={200: {"model": DocumentDocument}},
    )
    def trust(document: DocumentId, caller: Caller = edit) -> Response:
        return trusted(document, caller, True)

    @router.delete(
        "/documents/{document}/trust", summary="Take that back", responses={200: {"model": DocumentDocument}}
    )
    def distrust(document: DocumentId, caller: Caller = edit) -> Response:
        return trusted(document, caller, False)

    def trusted(document: int, caller: Caller, fine: bool) -> Response:
        engine.trust(known(document, caller.reach).source, fine)
        return Json(described(document, caller.reach))

    @router.get(
        "/passages/{passage}", summary="A passage, with what stands around it", responses={200: {"model": Around}}
    )
    def passage(
        passage: PassageId,
        reach: Annotated[int, Query(ge=0, le=FAR, description="So many passages before and after it")] = 1,
        conversation: Annotated[
            ConversationId | None, Query(description="Look at what is attached to this conversation too")
        ] = None,
        caller: Caller = ask,
    ) -> Response:
        seen = _with_attached(engine, caller, conversation) if conversation else caller.reach
        found = engine.index.passage(passage, seen)
        if found is None:
            raise NotFound(f"There is no passage {passage}.", "Its document may have changed; ask again.")
        around = engine.index.around(found, reach)
        return Json(
            {
                "document": described(found.document_id, seen),
                "passages": [
                    {name: getattr(each, name) for name in PassageDocument.model_fields} for each in around or [found]
                ],
                "passage": found.id,
            }
        )

    @router.get(
        "/library",
        summary="What the library holds, and who answers from it",
        responses={200: {"model": LibraryDocument}},
    )
    def library(caller: Caller = ask) -> Response:
        names = sorted(name for name in engine.index.collections(caller.reach) if name)
        examples = example_questions(engine, caller.reach)
        return Json({**describe_library(engine, caller.reach), "collections": names, "examples": examples})

    return router


def unknown(document_id: int) -> NotFound:
    return NotFound(f"There is no document {document_id}.", "GET /api/documents lists them.")


def describe_documents(engine: Engine, found: Sequence[DocumentInfo]) -> list[dict[str, Any]]:
    """Documents as the API gives them."""
    unchecked, flagged = engine.unchecked(each.source for each in found), engine.flagged(found)
    return [_described(each, each.source in unchecked, each.id in flagged) for each in found]


def _described(found: DocumentInfo, unchecked: bool, flagged: bool) -> dict[str, Any]:
    told = dataclasses.asdict(found)
    kept = {name: told[name] for name in DocumentDocument.model_fields if name in told}
    return {
        **kept,
        "name": re.split(r"[/\\]", found.source.removeprefix("upload:").rstrip("/"))[-1] or found.source,
        "status": "embedding" if found.pending else "checking" if unchecked else "ready",
        "suspect": flagged,
    }


def _with_attached(engine: Engine, caller: Caller, conversation_id: str) -> Reach:
    """What the caller may see, and what is attached to a conversation of theirs and those that it branched from."""
    view = caller.view(engine.store)
    try:
        ancestors = view.page(conversation_id, limit=0)[0].metadata.get("ancestors", ())
    except ConversationNotFound:
        if view.hides(conversation_id):
            return caller.reach
        ancestors = ()
    return dataclasses.replace(caller.reach, conversations=(conversation_id, *ancestors))
