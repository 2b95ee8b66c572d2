"""Turns as they happen. Each runs in a task of its own; any number of readers follow it, leave and come back."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response

from turnwise.engine import Engine, TurnFailed
from turnwise.errors import Interrupted, NotFound, Overloaded, ShuttingDown, TurnwiseError
from turnwise.server.access import Caller
from turnwise.server.hub import Hub, Place, Watching, revoked
from turnwise.server.once import Claim, claim
from turnwise.server.problems import UNEXPECTED, Problem, log
from turnwise.server.sse import EVENTS, EventStream, WholeAnswer
from turnwise.types import Accepted, Answered, Failed, StageDone, TurnEvent, TurnRequest

MOST_WAITING = 200  # turns that may wait to be worked on
RETRY = 5.0  # seconds after which who was turned away may try again
LARGEST = 8_000_000  # bytes of a stream that are kept: who is further behind has lost it
KEPT = 500  # streams that are over and can still be read, and
KEPT_BYTES = 64_000_000  # how large they may be together
AT_ONCE = 256_000  # bytes that a reader who is behind is given at once
CLOSING = 5.0  # seconds that turns have to write down what they have when the server stops
TICK = 1.0  # seconds between two looks at keys and at what else is due
BLOCKED = ("MessageBlocked", "AnswerBlocked")

Events = AsyncGenerator[TurnEvent, None]


class Form(Protocol):
    """How a turn is written for who asked for it. `answer` is what is kept for the same request sent again."""

    media_type: str
    answer: dict[str, Any] | None

    async def write(self, event: TurnEvent, stream: str) -> bytes:
        """What is sent for an event of a stream; nothing for some."""
        ...

    def write_problem(self, problem: Problem) -> bytes:
        """The same where the turn breaks off after something was sent."""
        ...

    def again(self, answer: dict[str, Any]) -> bytes:
        """All that is sent of an answer that was given before."""
        ...


class Reader:
    """One who follows a stream, from the frame after a number on. Ends with the stream. If the turn failed before it
    wrote anything, raises that error, or gives it as a frame if the response has started."""

    def __init__(self, stream: Stream, after: int, key_id: str) -> None:
        self.key_id = key_id
        self.news = asyncio.Event()
        self._stream = stream
        self._read = after
        self._refusal: bytes | None = None
        self._started = self._done = False
        stream.enter(self)

    def __aiter__(self) -> Reader:
        return self

    async def __anext__(self) -> bytes:
        while not self._done:
            self.news.clear()
            if self._refusal is not None:
                self._done = True
                return self._refusal
            if self._read < self._stream.count:
                self._read, frames = self._stream.after(self._read)
                return frames
            if self._stream.over:
                self._done = True
                if self._stream.error is None:
                    break
                return self._error_frame(self._stream.error)
            await self.news.wait()
        raise StopAsyncIteration

    def response_started(self) -> None:
        self._started = True

    async def aclose(self) -> None:
        self._stream.leave(self)

    def refuse(self, problem: bytes) -> None:
        """Let this be the last that is read."""
        self._refusal = problem
        self.news.set()

    def _error_frame(self, error: Exception) -> bytes:
        if not self._started:
            raise error
        if isinstance(error, TurnwiseError):
            return self._stream.form.write_problem(Problem.of_error(error))
        log.error("A turn broke", exc_info=error)
        return self._stream.form.write_problem(UNEXPECTED)


class Stream:
    """A turn, and what was written of it: frames, numbered from 1."""

    def __init__(self, caller: Caller, form: Form, linger: float, resumable: bool) -> None:
        self.id = uuid.uuid4().hex
        self.caller, self.key_id = caller, caller.key_id
        self.form = form
        self.resumable = resumable
        self.turn: Accepted | None = None
        self.over = False
        self.error: Exception | None = None  # what its reader is told where nothing was written
        self.count = 0
        self.size = 0
        self.readers: set[Reader] = set()
        self.task: asyncio.Task[None] | None = None
        self.begun = False
        self.stopped: TurnwiseError | None = None
        self._frames: deque[bytes] = deque()
        self._linger = linger  # seconds that it goes on without a reader
        self._alone: asyncio.TimerHandle | None = None

    @property
    def place(self) -> Place | None:
        kept = self.turn and self.turn.conversation_id
        return Place(self.caller.tenant, kept) if kept else None

    def put(self, written: bytes) -> None:
        if not written:
            return
        self.count += 1
        if self.resumable:
            written = f"id: {self.id}-{self.count}\n".encode() + written
        self._frames.append(written)
        self.size += len(written)
        while self.size > LARGEST and len(self._frames) > 1:
            self.size -= len(self._frames.popleft())
        self._wake()

    def fail(self, problem: Problem, error: Exception) -> None:
        """End in a problem: as a frame where something was written, else as an error for the reader."""
        if self.count:
            self.put(self.form.write_problem(problem))
        else:
            self.error = error

    def end(self) -> None:
        self.over = True
        self._stay()
        self._wake()

    def has_after(self, number: int) -> bool:
        """Whether all that follows a frame is still there."""
        return number >= self.count - len(self._frames)

    def after(self, number: int) -> tuple[int, bytes]:
        """The frames that follow one, not too many at once, and the number of the last. Raises StopAsyncIteration where
        they are there no more."""
        if not self.has_after(number):
            log.warning("A reader was too far behind a stream; its connection was closed.")
            raise StopAsyncIteration
        taken: list[bytes] = []
        size, first = 0, number - (self.count - len(self._frames))
        while first + len(taken) < len(self._frames) and size < AT_ONCE:
            taken.append(self._frames[first + len(taken)])
            size += len(taken[-1])
        return number + len(taken), b"".join(taken)

    def enter(self, reader: Reader) -> None:
        self.readers.add(reader)
        self._stay()

    def leave(self, reader: Reader) -> None:
        """After the last reader, the turn goes on for a while in case one comes back."""
        if reader not in self.readers:
            return
        self.readers.discard(reader)
        if self.readers or self.over:
            return
        if self._linger > 0:
            self._alone = asyncio.get_running_loop().call_later(self._linger, self.stop, Interrupted())
        else:
            self.stop(Interrupted())

    def stop(self, why: TurnwiseError) -> None:
        """Close the turn. What it has is kept, as interrupted."""
        if self.stopped is None and not self.over:
            self.stopped = why
            if self.begun and self.task is not None:  # a task that has not begun would end without a word
                self.task.cancel()

    def _stay(self) -> None:
        if self._alone is not None:
            self._alone.cancel()
            self._alone = None

    def _wake(self) -> None:
        for reader in self.readers:
            reader.news.set()


class Seats:
    """Who is worked on: so many turns at a time, the others in the order in which they came."""

    def __init__(self, number: int) -> None:
        self.waiting = 0
        self.free = asyncio.Semaphore(number)

    def seat(self) -> Seat:
        return Seat(self)


class Seat:
    """A turn's place among those: it waits from the first, takes the place, and gives it back."""

    def __init__(self, seats: Seats) -> None:
        self._seats = seats
        self._waits, self._sits = True, False
        seats.waiting += 1

    async def take(self) -> None:
        await self._seats.free.acquire()
        self._sits = True
        self._wait_no_more()

    def give_back(self) -> None:
        self._wait_no_more()
        if self._sits:
            self._sits = False
            self._seats.free.release()

    def _wait_no_more(self) -> None:
        self._seats.waiting -= self._waits
        self._waits = False


class Live:
    """The turns of a server, those who follow them, and those who watch conversations."""

    def __init__(
        self,
        engine: Engine,
        valid: Callable[[str], bool] = lambda _: True,
        observed: Callable[[TurnRequest, Events], Events] = lambda _, events: events,
    ) -> None:
        """`valid` says whether the key of an id is still good; it may ask a database. `observed` is given the events of
        every turn, and gives them on."""
        settings = engine.settings
        self.hub = Hub(engine.store, self._tick)
        self._engine = engine
        self._valid = valid
        self._observed = observed
        self._seats = Seats(settings.turns_at_once or 2 * (os.cpu_count() or 1))
        self._generates_elsewhere = bool(settings.endpoint)
        self._resume = settings.resume_seconds
        self._running: set[Stream] = set()
        self._streams: dict[str, Stream] = {}  # those that can be read again, by id
        self._kept: deque[Stream] = deque()  # of these those that are over, oldest first
        self._kept_bytes = 0
        self._ticking: asyncio.Task[None] | None = None
        self._draining: asyncio.Task[None] | None = None

    @property
    def running(self) -> int:
        """How many turns are being answered."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """How many of them wait to be worked on."""
        return self._seats.waiting

    @property
    def closing(self) -> bool:
        return self._draining is not None

    async def respond(
        self, request: TurnRequest, caller: Caller, form: Form, sent: Request, resumable: bool = False
    ) -> Response:
        """The response that a turn is answered with. With an Idempotency-Key it is held once only, and who sent it can
        come for the answer: then it goes on without a reader too."""
        claimed = await claim(self._engine.store.requests, caller, sent)
        if claimed is not None and claimed.answer is not None:
            again = form.again(claimed.answer)
            return Response(again, headers={"Idempotent-Replayed": "true"}, media_type=form.media_type)
        try:
            stream = self.begin(request, caller, form, resumable, claimed)
        except TurnwiseError:
            if claimed is not None:
                await claimed.release()
            raise
        reader = Reader(stream, 0, caller.key_id)
        return EventStream(reader) if form.media_type == EVENTS else WholeAnswer(reader)

    def begin(
        self,
        request: TurnRequest,
        caller: Caller,
        form: Form,
        resumable: bool = False,
        claimed: Claim | None = None,
    ) -> Stream:
        """Start a turn. Raises Overloaded where too many wait, ShuttingDown while the server stops."""
        if self._draining is not None:
            raise ShuttingDown("The server is being stopped.", "Send it again in a moment.")
        if self._seats.waiting >= MOST_WAITING:
            raise Overloaded(f"{self._seats.waiting} messages wait to be answered already.", RETRY)
        stream = Stream(caller, form, self._resume if resumable or claimed else 0.0, resumable)
        self._running.add(stream)
        if resumable:
            self._streams[stream.id] = stream
        stream.task = asyncio.create_task(self._run(stream, request, self._seats.seat(), claimed))
        self._tick()
        return stream

    def stream(self, stream_id: str, caller: Caller) -> Stream:
        """The stream of an id, running or over not long ago. Raises NotFound."""
        stream = self._streams.get(stream_id)
        if stream is None or not caller.sees(stream.caller):
            raise NotFound("There is no such stream, or it is over.", "Load the conversation: its turns are kept.")
        return stream

    def stream_of(self, place: Place) -> str | None:
        """The id of the stream in which a conversation is being answered, where it can be followed."""
        return next((each.id for each in self._running if each.resumable and each.place == place), None)

    async def cancel(self, stream: Stream) -> None:
        """Stop a turn; it is in the store as interrupted when this returns."""
        stream.stop(Interrupted())
        if stream.task is not None:
            await asyncio.wait({stream.task})

    async def watch(self, conversation_id: str, caller: Caller, seen: str = "") -> Watching:
        """A response that tells what happens to a conversation. Raises ConversationNotFound."""
        if self._draining is not None:
            raise ShuttingDown("The server is being stopped.", "Come back in a moment.")
        return await self.hub.watch(conversation_id, caller, seen, self.stream_of)

    async def drain(self, seconds: float = 0.0) -> None:
        """Take no more turns, let those that run end for so long, and close the others, which are kept as they are.
        Once begun, it is the same for all who call it."""
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain(seconds))
        await self._draining

    async def _drain(self, seconds: float) -> None:
        self.hub.close()
        if running := {stream.task for stream in self._running if stream.task}:
            await asyncio.wait(running, timeout=seconds)
            for stream in tuple(self._running):
                stream.stop(ShuttingDown("The server was stopped before the answer was complete."))
            await asyncio.wait(running, timeout=CLOSING)
        if self._ticking is not None:
            self._ticking.cancel()

    async def _run(self, stream: Stream, request: TurnRequest, seat: Seat, claimed: Claim | None) -> None:
        status = "interrupted"
        stream.begun = True
        try:
            if stream.stopped:
                raise asyncio.CancelledError
            request = dataclasses.replace(request, crowded=lambda: self.waiting > 0)  # then what can be left out is
            async with aclosing(self._observed(request, self._engine.stream(request))) as events:
                async for event in events:
                    status = _status(event) or status
                    await self._write(stream, event, claimed)
                    if isinstance(event, Accepted):
                        await seat.take()
                    elif self._generates_elsewhere and isinstance(event, StageDone) and event.stage.stage == "compose":
                        seat.give_back()  # from here on it waits for the network
        except asyncio.CancelledError:
            why = stream.stopped or Interrupted()
            stream.fail(Problem.of_error(why), why)
        except Exception as error:
            if stream.count or not stream.readers:
                log.exception("A turn broke")
            stream.fail(UNEXPECTED, error)
        finally:
            seat.give_back()
            try:
                if claimed is not None:
                    await claimed.release()
            finally:  # even if it is stopped just now
                self._end(stream, status)

    async def _write(self, stream: Stream, event: TurnEvent, claimed: Claim | None) -> None:
        if isinstance(event, Failed) and not stream.count:
            stream.error = TurnFailed(event)
            return
        written = await stream.form.write(event, stream.id)
        if isinstance(event, Answered) and claimed is not None and stream.form.answer is not None:
            await claimed.complete(stream.form.answer)  # before anyone can have read it and ask again
        stream.put(written)
        if isinstance(event, Accepted):
            stream.turn = event
            if stream.place:
                self.hub.turn(stream.place, event.turn, "pending", stream.id if stream.resumable else None)

    def _end(self, stream: Stream, status: str) -> None:
        stream.end()
        self._running.discard(stream)
        self._keep(stream)
        if stream.place and stream.turn:
            self.hub.turn(stream.place, stream.turn.turn, status)

    def _keep(self, stream: Stream) -> None:
        """Let a stream that is over be read for a while, as far as there is room."""
        if not stream.resumable:
            return
        self._kept.append(stream)
        self._kept_bytes += stream.size
        asyncio.get_running_loop().call_later(self._resume, self._forget, stream)
        while len(self._kept) > KEPT or self._kept_bytes > KEPT_BYTES:
            self._forget(self._kept[0])

    def _forget(self, stream: Stream) -> None:
        if self._streams.pop(stream.id, None) is not None:
            self._kept.remove(stream)
            self._kept_bytes -= stream.size

    def _tick(self) -> None:
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.create_task(self._tick_on())

    async def _tick_on(self) -> None:
        """One clock for all, while there is anyone to look after."""
        while self._running or len(self.hub):
            await asyncio.sleep(TICK)
            try:
                await self._check_keys()
                await self.hub.tick()
            except Exception:
                log.exception("Looking after streams failed")

    async def _check_keys(self) -> None:
        """End what was begun, is read or is watched with a key that is no longer good."""
        keys = self.hub.keys | {stream.key_id for stream in self._running}
        keys |= {reader.key_id for stream in self._running for reader in stream.readers}
        for key_id in await asyncio.to_thread(self._no_longer_valid, keys):
            for stream in tuple(self._running):
                if stream.key_id == key_id:
                    stream.stop(revoked(key_id))
                for reader in tuple(stream.readers):
                    if reader.key_id == key_id and stream.key_id != key_id:
                        reader.refuse(stream.form.write_problem(Problem.of_error(revoked(key_id))))
            self.hub.refuse(key_id)

    def _no_longer_valid(self, keys: set[str]) -> list[str]:
        return [key_id for key_id in keys if not self._valid(key_id)]


def _status(event: TurnEvent) -> str:
    """What becomes of a turn with an event, where it ends with it."""
    if isinstance(event, Answered):
        return "answered"
    if isinstance(event, Failed):
        return "blocked" if event.error["code"] in BLOCKED else "failed"
    return ""
