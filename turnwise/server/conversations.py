"""The conversations under /api: what was said, as it is kept."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from turnwise.conversation import Turn
from turnwise.engine import Engine
from turnwise.server.access import Access, Caller
from turnwise.server.markdown import render
from turnwise.server.problems import PROBLEMS, Json


def conversations_router(engine: Engine, access: Access) -> APIRouter:
    router = APIRouter(prefix="/api/conversations", responses=PROBLEMS)
    ask = Depends(access.caller("ask"))

    @router.get("", summary="The conversations kept here, latest first")
    def conversations(limit: Annotated[int, Query(ge=1, le=1000)] = 100, caller: Caller = ask) -> Response:
        return Json({"conversations": engine.store.of(caller.tenant).conversations(limit)})

    @router.get("/{conversation_id}", summary="A conversation's turns, oldest first")
    def conversation(
        conversation_id: str,
        before: Annotated[int | None, Query(description="Only turns before this number")] = None,
        limit: Annotated[int, Query(ge=1, le=1000, description="The latest so many of them")] = 100,
        caller: Caller = ask,
    ) -> Response:
        found = engine.store.of(caller.tenant).conversation(conversation_id)
        turns = [turn for turn in found.turns if before is None or turn.number < before]
        return Json(
            {
                "id": found.id,
                "created_at": found.created_at.timestamp(),
                "last_activity": found.last_activity.timestamp(),
                "turn_count": len(found.turns),
                "turns": [describe_turn(turn) for turn in turns[-limit:]],
            }
        )

    return router


def describe_turn(turn: Turn) -> dict[str, Any]:
    """A stored turn as the API gives it, its answer also as HTML."""
    html = render(turn.response, {source.number for source in turn.sources}) if turn.response else ""
    told = dataclasses.asdict(dataclasses.replace(turn, evidence=()))
    kept = {key: value for key, value in told.items() if key not in ("evidence", "note", "metadata")}
    return {**kept, "timestamp": turn.timestamp.timestamp(), "html": html}
