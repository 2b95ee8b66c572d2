"""Requests with an Idempotency-Key: sent again, they get the answer that was given and no second turn."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Annotated, Any

from fastapi import Header
from starlette.requests import Request

from turnwise.errors import BadRequest, TurnwiseError
from turnwise.server.access import Caller
from turnwise.server.problems import log
from turnwise.types import RequestLog

MAX_KEY_LENGTH = 200  # characters

IdempotencyKey = Annotated[
    str | None, Header(description="Sent again with it, the request gets the same answer and no second turn")
]


class Claim:
    """A request that is ours to answer, once. `answer` is set if it was answered before."""

    def __init__(self, requests: RequestLog, tenant: str, key: str, answer: dict[str, Any] | None) -> None:
        self._requests = requests
        self._tenant = tenant
        self._key = key
        self.answer = answer
        self._open = answer is None

    async def complete(self, answer: dict[str, Any]) -> None:
        await self._end(self._requests.complete, answer)

    async def release(self) -> None:
        """Let the request be sent again, if it was not answered."""
        await self._end(self._requests.release)

    async def _end(self, write: Any, *answer: dict[str, Any]) -> None:
        if not self._open:
            return
        self._open = False
        try:
            await asyncio.shield(asyncio.to_thread(write, self._tenant, self._key, *answer))
        except TurnwiseError as error:  # the answer itself can be sent all the same
            log.error("What came of an Idempotency-Key could not be kept: %s", error)


async def claim(requests: RequestLog, caller: Caller, sent: Request) -> Claim | None:
    """The claim on a request; None if it carries no key. Raises RequestInFlight, KeyReused or BadRequest."""
    key = sent.headers.get("idempotency-key")
    if key is None:
        return None
    if not (0 < len(key) <= MAX_KEY_LENGTH and key.isprintable()):
        raise BadRequest(
            f"An Idempotency-Key has 1 to {MAX_KEY_LENGTH} printable characters.", "Send a random one, such as a UUID."
        )
    digest = hashlib.sha256(sent.url.path.encode() + b"\0" + await sent.body()).hexdigest()
    own = f"{caller.key_id} {key}"  # keys of one tenant may differ in what they may see
    answer = await asyncio.to_thread(requests.claim, caller.tenant, own, digest)
    return Claim(requests, caller.tenant, own, answer)
