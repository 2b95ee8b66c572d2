"""Who the caller is to this server, under /api/me."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from turnwise.server.access import Access, AskCaller
from turnwise.server.problems import PROBLEM_RESPONSES, Json
from turnwise.types import Permission

router = APIRouter(prefix="/api/me", responses=PROBLEM_RESPONSES)


class Me(BaseModel):
    """Who the caller is to this server."""

    open: bool = Field(description="Whether anyone may come in")
    name: str = Field(description="Of the key")
    tenant: str
    collections: list[str] = Field(description="Those that can be seen; none: all of the tenant's")
    may: Permission
    version: str


@router.get("", summary="Who I am here, and what I may do", responses={200: {"model": Me}})
async def me(request: Request, caller: AskCaller) -> Response:
    access: Access = request.app.state.access
    return Json(
        {
            "open": access.open,
            "name": caller.name,
            "tenant": caller.tenant,
            "collections": caller.collections,
            "may": caller.may,
            "version": version("turnwise"),
        }
    )
