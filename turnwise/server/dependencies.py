"""What routes are given beside the request: the parts of the server, and the conversations that the caller may see."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from turnwise.engine import Engine
from turnwise.server.access import AskCaller
from turnwise.server.embedding import Embedding
from turnwise.server.live import Live
from turnwise.server.uploads import Uploads
from turnwise.types import ConversationStore


def _part(name: str) -> Any:
    """A dependency on an attribute of `app.state`, which `create_app` sets."""

    async def part(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(part)


EngineDep = Annotated[Engine, _part("engine")]
LiveDep = Annotated[Live, _part("live")]
UploadsDep = Annotated[Uploads, _part("uploads")]
EmbeddingDep = Annotated[Embedding, _part("embedding")]


async def _visible_conversations(engine: EngineDep, caller: AskCaller) -> ConversationStore:
    return caller.view(engine.store)


StoreDep = Annotated[ConversationStore, Depends(_visible_conversations)]
