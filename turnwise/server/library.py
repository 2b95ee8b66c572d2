"""What the library holds and who answers from it, under /api/library and in the server's greeting."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from turnwise.engine import Engine
from turnwise.server.access import AskCaller
from turnwise.server.dependencies import EngineDep
from turnwise.server.problems import PROBLEM_RESPONSES, Json
from turnwise.types import Reach

EXAMPLE_COUNT = 4
MAX_TITLES = 1000  # a larger library is not read for the sake of a few examples

router = APIRouter(prefix="/api/library", tags=["documents"], responses=PROBLEM_RESPONSES)


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


@router.get("", summary="What the library holds, and who answers from it", responses={200: {"model": LibraryDocument}})
def library(engine: EngineDep, caller: AskCaller) -> Response:
    names = sorted(name for name in engine.index.collections(caller.reach) if name)
    examples = example_questions(engine, caller.reach)
    return Json({**describe_library(engine, caller.reach), "collections": names, "examples": examples})


def describe_library(engine: Engine, reach: Reach | None = None) -> dict[str, Any]:
    """Counts of documents, of passages and of passages without a vector, within `reach` if it is given; and who
    answers, from where ("" when offline)."""
    counts = engine.index.counts(reach)
    return {
        "documents": counts.documents,
        "passages": counts.passages,
        "pending": counts.passages - counts.vectors,
        "model": engine.model_name,
        "offline": engine.offline,
        "local": engine.settings.local,
        "host": urlsplit(engine.settings.endpoint).netloc.rpartition("@")[2],
    }


def example_questions(engine: Engine, reach: Reach) -> list[str]:
    """A few questions to start with, about documents from all over the library."""
    if not 0 < engine.index.counts(reach).documents <= MAX_TITLES:
        return []
    titles = sorted({document.title for document in engine.index.documents(reach)})
    step = max(1, len(titles) // EXAMPLE_COUNT)
    return [f"What is “{title}” about?" for title in titles[::step][:EXAMPLE_COUNT]]
