"""The collections under /api/collections, as far as the caller may see them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.responses import Response

from turnwise.errors import NotFound
from turnwise.server.access import AskCaller, EditCaller
from turnwise.server.dependencies import EngineDep
from turnwise.server.problems import PROBLEM_RESPONSES, Json

router = APIRouter(prefix="/api/collections", tags=["documents"], responses=PROBLEM_RESPONSES)


class CollectionDocument(BaseModel):
    name: str = Field(description="Empty for the documents that are in none")
    documents: int
    passages: int
    pending: int


class Collections(BaseModel):
    collections: list[CollectionDocument]


@router.get("", summary="The collections there are", responses={200: {"model": Collections}})
def collections(engine: EngineDep, caller: AskCaller) -> Response:
    found = engine.index.collections(caller.reach)
    listed = [
        {"name": name, "documents": each.documents, "passages": each.passages, "pending": each.passages - each.vectors}
        for name, each in sorted(found.items())
    ]
    return Json({"collections": listed})


@router.delete(
    "/{name:path}", summary="Delete a collection and its documents", status_code=204, response_class=Response
)
def remove_collection(
    name: Annotated[str, Path(min_length=1, max_length=200)], engine: EngineDep, caller: EditCaller
) -> Response:
    if not engine.remove_collection(name, caller.reach):
        raise NotFound(f"There is no collection {name!r}.", "GET /api/collections lists them.")
    return Response(status_code=204)
