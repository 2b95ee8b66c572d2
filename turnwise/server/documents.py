"""The documents under /api: what the library holds, as far as the caller may see it."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from starlette.responses import Response

from turnwise.engine import Engine
from turnwise.server.access import Access, Caller
from turnwise.server.library import describe_library, example_questions
from turnwise.server.problems import PROBLEMS, Json


def documents_router(engine: Engine, access: Access) -> APIRouter:
    router = APIRouter(prefix="/api", responses=PROBLEMS)
    ask = Depends(access.caller("ask"))

    @router.get("/library", summary="What the library holds, and who answers from it")
    def library(_: Caller = ask) -> Response:
        return Json({**describe_library(engine), "examples": example_questions(engine)})

    return router
