"""Uploaded files: buffered while they arrive, then read a few at a time."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from typing import Annotated

from fastapi import Path
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError
from starlette.requests import ClientDisconnect, Request

from turnwise.engine import Engine
from turnwise.errors import BadRequest, NotFound
from turnwise.server.access import Caller
from turnwise.server.embedding import Embedding
from turnwise.types import DocumentInfo, Outcome

MAX_PARALLEL_READS = 2  # files read at the same time
MAX_MEMORY_BYTES = 1_000_000  # of a file that is held in memory; a larger one goes to disk


def file_name(text: str) -> str:
    if not (0 < len(text) <= 200 and text.isprintable() and "/" not in text and text.strip(" .")):
        raise PydanticCustomError("file_name", "should be the name of a file: 1 to 200 printable characters, no slash")
    return text


FileName = Annotated[
    str,
    AfterValidator(file_name),
    Path(description="Its name, with the ending that says what it is: paper.pdf", min_length=1, max_length=200),
]


class Uploads:
    """Adds files to the library of an engine. Their vectors are made in the background."""

    def __init__(self, engine: Engine, embedding: Embedding) -> None:
        self._engine = engine
        self._embedding = embedding
        self._free = asyncio.Semaphore(MAX_PARALLEL_READS)

    async def take(
        self,
        sent: Request,
        name: str,
        caller: Caller,
        collection: str | None = None,
        tags: Sequence[str] | None = None,
        attached: str = "",
    ) -> tuple[DocumentInfo, Outcome]:
        """Add the body of a request to a collection, or attach it to a conversation: returns the document, and what
        became of it. Raises DocumentError if it cannot be read."""
        with tempfile.SpooledTemporaryFile(MAX_MEMORY_BYTES) as file:
            try:
                async for piece in sent.stream():
                    file.write(piece)
            except ClientDisconnect as error:
                raise BadRequest("The file broke off.", "Send it again.") from error
            async with self._free:
                file.seek(0)
                data = await asyncio.to_thread(file.read)
                taken = await asyncio.to_thread(self._add, name, data, caller, collection, tags, attached)
        self._embedding.wake()
        return taken

    def _add(
        self,
        name: str,
        data: bytes,
        caller: Caller,
        collection: str | None,
        tags: Sequence[str] | None,
        attached: str,
    ) -> tuple[DocumentInfo, Outcome]:
        before = self._engine.uploaded(name, caller.tenant, attached)
        # Where a limited key sees no document of that name, it is told nothing of one elsewhere, and changes none.
        limited = bool(caller.collections) and not attached
        apart = limited and not (before and before.collection in caller.collections)
        report = self._engine.upload(name, data, collection, tags, caller.tenant, attached, apart)
        found = self._engine.uploaded(name, caller.tenant, attached, (collection or "") if apart else "")
        if found is None:
            raise NotFound(f"{name} was deleted meanwhile.", "Send it again.")
        return found, "added" if report.added else "updated" if report.updated else "unchanged"
