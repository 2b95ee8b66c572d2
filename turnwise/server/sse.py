"""Server-sent events and whole answers: responses that notice at once when their reader has left."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any, Protocol

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from turnwise.server.problems import encode, log

EVENT_STREAM_TYPE = "text/event-stream"
HEARTBEAT_SECONDS = 15.0  # proxies cut connections that stay silent for a minute
START_SECONDS = 10.0  # how long a response waits for its first frame before it starts without one
STALLED_SECONDS = 60.0  # that a reader may leave an event unread
STILL_HERE = b": still here\n\n"


class Frames(Protocol):
    """What to send, piece by piece; closed when nobody reads it any more."""

    def __aiter__(self) -> Frames: ...

    async def __anext__(self) -> bytes: ...

    def response_started(self) -> None:
        """From now on an error is the last frame, and is no longer raised."""
        ...

    async def aclose(self) -> None: ...


def frame(data: Any, event: str = "") -> bytes:
    """One event as it is written on the wire."""
    head = f"event: {event}\n".encode() if event else b""
    return head + b"data: " + encode(data) + b"\n\n"


class EventStream(StreamingResponse):
    """Sends frames as they come, with a comment as heartbeat. Whatever ends it, the frames are closed.

    The response starts with the first frame, so an error raised before it still becomes an answer with its status. A
    turn that waits in a queue may take longer than proxies do: then the response starts without a frame, and an error
    becomes the last one.
    """

    def __init__(self, frames: Frames) -> None:
        super().__init__(frames, headers={"X-Accel-Buffering": "no"}, media_type=EVENT_STREAM_TYPE)
        self.frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        sending = asyncio.create_task(self._send_all(send))
        leaving = asyncio.create_task(_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await sending
        finally:
            sending.cancel()
            leaving.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            await self.frames.aclose()  # even if sending had not begun

    async def _send_all(self, send: Send) -> None:
        async with aclosing(self.frames) as frames:
            first = await _first(frames)
            frames.response_started()
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            beating = asyncio.create_task(_beat(send))
            try:
                await _deliver(send, first)
                async for following in frames:
                    await _deliver(send, following)
            except _ReaderStalled:
                log.warning("A reader took nothing for %g seconds; its connection was closed.", STALLED_SECONDS)
                return
            finally:
                beating.cancel()
                await asyncio.gather(beating, return_exceptions=True)
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class WholeAnswer(EventStream):
    """Sends one JSON document, the first frame, once it is there; its client may leave before that."""

    def __init__(self, frames: Frames) -> None:
        super().__init__(frames)
        self.init_headers({"Content-Type": "application/json"})

    async def _send_all(self, send: Send) -> None:
        async with aclosing(self.frames) as frames:
            body = await anext(frames)
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": self.status_code, "headers": [*self.raw_headers, length]})
        await send({"type": "http.response.body", "body": body, "more_body": False})


class _ReaderStalled(Exception):
    pass


async def _first(frames: Frames) -> bytes:
    """The first frame, or a heartbeat if it does not come soon."""
    try:
        async with asyncio.timeout(START_SECONDS) as waiting:
            return await anext(frames, b"")
    except TimeoutError:
        if not waiting.expired():  # an error of the turn
            raise
        return STILL_HERE


async def _deliver(send: Send, body: bytes) -> None:
    try:
        async with asyncio.timeout(STALLED_SECONDS):
            await send({"type": "http.response.body", "body": body, "more_body": True})
    except TimeoutError as error:
        raise _ReaderStalled from error


async def _beat(send: Send) -> None:
    while True:
        await asyncio.sleep(HEARTBEAT_SECONDS)
        await send({"type": "http.response.body", "body": STILL_HERE, "more_body": True})


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
