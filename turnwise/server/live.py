"""Turns as they happen. Each runs in its own task; any number of readers may follow it, leave and come back."""

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
from turnwise.server.hub import Hub, Place, Watching, access_ended
from turnwise.server.once import Claim, claim
from turnwise.server.problems import UNEXPECTED, Problem, encode, log
from turnwise.server.sse import EVENT_STREAM_TYPE, EventStream, WholeAnswer
from turnwise.types import Accepted, Answered, Failed, Reply, StageDone, TurnEvent, TurnRequest

MAX_WAITING_TURNS = 200  # that may wait to be worked on
RETRY_SECONDS = 5.0  # after which a client that was turned away may try again
MAX_STREAM_BYTES = 8_000_000  # kept of one stream: a reader further behind has lost it
MAX_KEPT_STREAMS = 500  # that are over and can still be read, and
MAX_KEPT_BYTES = 64_000_000  # how large these may be together
MAX_READ_BYTES = 256_000  # given at once to a reader that is behind
CLOSING_SECONDS = 5.0  # for turns to store what they have when the server stops
TICK_SECONDS = 1.0  # between two looks at keys and at what else is due
BLOCKED = "blocked"  # instead of an answer, what is kept of a request that the guard refused
BLOCKED_CODES = ("MessageBlocked", "AnswerBlocked")

Events = AsyncGenerator[TurnEvent, None]


class Form(Protocol):
    """How a turn is written for its client. `answer` is what is kept in case the same request is sent again."""

    media_type: str
    answer: dict[str, Any] | None

    async def write(self, event: TurnEvent, stream: str) -> bytes:
        """The bytes to send for an event of a stream; empty for some."""
        ...

    def write_problem(self, problem: Problem) -> bytes:
        """The bytes to send if the turn breaks off after something was sent."""
        ...

    def again(self, answer: dict[str, Any]) -> bytes:
        """The bytes to send for an answer that was given before."""
        ...


class OneObject:
    """A turn as one JSON object: what is made of its reply, or of a problem."""

    media_type = "application/json"

    def __init__(self, of_reply: Callable[[Reply], dict[str, Any]], of_problem: Callable[[Problem], Any]) -> None:
        self.answer: dict[str, Any] | None = None
        self._of_reply = of_reply
        self._of_problem = of_problem

    async def write(self, event: TurnEvent, stream: str) -> bytes:  # noqa: ARG002
        if not isinstance(event, Answered):
            return b""
        self.answer = await asyncio.to_thread(self._of_reply, event.reply)
        return encode(self.answer)

    def write_problem(self, problem: Problem) -> bytes:
        return encode(self._of_problem(problem))

    def again(self, answer: dict[str, Any]) -> bytes:
        return encode(answer)


class Reader:
    """Follows a stream, starting after the frame with a number, until it ends. If the turn failed before it wrote
    anything, raises that error, or gives it as a frame once the response has started."""

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
        """Make this the last frame that is read."""
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
    """A turn and what it has written: frames, numbered from 1."""

    def __init__(self, caller: Caller, form: Form, linger: float, resumable: bool) -> None:
        self.id = uuid.uuid4().hex
        self.caller, self.key_id = caller, caller.key_id
        self.form = form
        self.resumable = resumable
        self.turn: Accepted | None = None
        self.over = False
        self.error: Exception | None = None  # raised to its reader if nothing was written
        self.count = 0
        self.size = 0
        self.readers: set[Reader] = set()
        self.task: asyncio.Task[None] | None = None
        self.begun = False
        self.stopped: TurnwiseError | None = None
        self._frames: deque[bytes] = deque()
        self._linger = linger  # seconds that it goes on without a reader
        self._linger_timer: asyncio.TimerHandle | None = None

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
        while self.size > MAX_STREAM_BYTES and len(self._frames) > 1:
            self.size -= len(self._frames.popleft())
        self._wake()

    def fail(self, problem: Problem, error: Exception) -> None:
        """End in a problem: as a frame if something was written, otherwise as an error for the reader."""
        if self.count:
            self.put(self.form.write_problem(problem))
        else:
            self.error = error

    def end(self) -> None:
        self.over = True
        self._cancel_timer()
        self._wake()

    def has_after(self, number: int) -> bool:
        """Whether everything that follows a frame is still kept."""
        return number >= self.count - len(self._frames)

    def after(self, number: int) -> tuple[int, bytes]:
        """The frames that follow one, up to a limit, after the number of the last. Raises StopAsyncIteration if they
        are no longer kept."""
        if not self.has_after(number):
            log.warning("A reader was too far behind a stream; its connection was closed.")
            raise StopAsyncIteration
        taken: list[bytes] = []
        size, first = 0, number - (self.count - len(self._frames))
        while first + len(taken) < len(self._frames) and size < MAX_READ_BYTES:
            taken.append(self._frames[first + len(taken)])
            size += len(taken[-1])
        return number + len(taken), b"".join(taken)

    def enter(self, reader: Reader) -> None:
        self.readers.add(reader)
        self._cancel_timer()

    def leave(self, reader: Reader) -> None:
        """Once the last reader has left, the turn goes on for a while in case one comes back."""
        if reader not in self.readers:
            return
        self.readers.discard(reader)
        if self.readers or self.over:
            return
        if self._linger > 0:
            self._linger_timer = asyncio.get_running_loop().call_later(self._linger, self.stop, Interrupted())
        else:
            self.stop(Interrupted())

    def stop(self, why: TurnwiseError) -> None:
        """Stop the turn. What it has is stored as interrupted."""
        if self.stopped is None and not self.over:
            self.stopped = why
            if self.begun and self.task is not None:  # cancelled before it has begun, a task would skip its cleanup
                self.task.cancel()

    def _cancel_timer(self) -> None:
        if self._linger_timer is not None:
            self._linger_timer.cancel()
            self._linger_timer = None

    def _wake(self) -> None:
        for reader in self.readers:
            reader.news.set()


class Seats:
    """Limits how many turns are worked on at a time; the others wait in the order in which they came."""

    def __init__(self, number: int) -> None:
        self.waiting = 0
        self.free = asyncio.Semaphore(number)

    def seat(self) -> Seat:
        return Seat(self)


class Seat:
    """A turn's seat: the turn waits from the start, takes the seat, and gives it back."""

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
    """The turns of a server, their readers, and the watchers of conversations."""

    def __init__(
        self,
        engine: Engine,
        valid: Callable[[str], bool] = lambda _: True,
        observed: Callable[[TurnRequest, Events], Events] = lambda _, events: events,
    ) -> None:
        """`valid` says whether the key with an id is still valid; it may query a database. `observed` is given the
        events of every turn and passes them on."""
        settings = engine.settings
        self.hub = Hub(engine.store, self._tick)
        self._engine = engine
        self._valid = valid
        self._observed = observed
        self._seats = Seats(settings.turns_at_once or 2 * (os.cpu_count() or 1))
        self._generates_elsewhere = not engine.offline
        self._resume = settings.resume_seconds
        self._running: set[Stream] = set()
        self._streams: dict[str, Stream] = {}  # those that can be read again, by id
        self._kept: deque[Stream] = deque()  # those of them that are over, oldest first
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
        """The response to a turn. With an Idempotency-Key the turn runs only once, and goes on without a reader too,
        since its client can come back for the answer."""
        claimed = await claim(self._engine.store.requests, caller, sent)
        if claimed is not None and claimed.answer is not None:
            return _again(claimed.answer, form, sent.url.path)
        try:
            stream = self.begin(request, caller, form, resumable, claimed)
        except TurnwiseError:
            if claimed is not None:
                await claimed.release()
            raise
        reader = Reader(stream, 0, caller.key_id)
        return EventStream(reader) if form.media_type == EVENT_STREAM_TYPE else WholeAnswer(reader)

    def begin(
        self,
        request: TurnRequest,
        caller: Caller,
        form: Form,
        resumable: bool = False,
        claimed: Claim | None = None,
    ) -> Stream:
        """Start a turn. Raises Overloaded if too many are waiting, ShuttingDown while the server stops."""
        if self._draining is not None:
            raise ShuttingDown("The server is being stopped.", "Send it again in a moment.")
        if self._seats.waiting >= MAX_WAITING_TURNS:
            raise Overloaded(f"{self._seats.waiting} messages wait to be answered already.", RETRY_SECONDS)
        stream = Stream(caller, form, self._resume if resumable or claimed else 0.0, resumable)
        self._running.add(stream)
        if resumable:
            self._streams[stream.id] = stream
        stream.task = asyncio.create_task(self._run(stream, request, self._seats.seat(), claimed))
        self._tick()
        return stream

    def stream(self, stream_id: str, caller: Caller) -> Stream:
        """The stream with an id, running or recently over. Raises NotFound."""
        stream = self._streams.get(stream_id)
        if stream is None or not caller.sees(stream.caller):
            raise NotFound("There is no such stream, or it is over.", "Load the conversation: its turns are kept.")
        return stream

    def stream_of(self, place: Place) -> str | None:
        """The id of the stream in which a conversation is being answered, if it can be followed."""
        return next((each.id for each in self._running if each.resumable and each.place == place), None)

    async def cancel(self, stream: Stream) -> None:
        """Stop a turn; it is in the store as interrupted when this returns."""
        stream.stop(Interrupted())
        if stream.task is not None:
            await asyncio.wait({stream.task})

    async def watch(self, conversation_id: str, caller: Caller, seen: str = "") -> Watching:
        """A response that reports what happens to a conversation. Raises ConversationNotFound."""
        if self._draining is not None:
            raise ShuttingDown("The server is being stopped.", "Come back in a moment.")
        return await self.hub.watch(conversation_id, caller, seen, self.stream_of)

    async def drain(self, seconds: float = 0.0) -> None:
        """Accept no more turns, give those that run this long to end, then stop the rest, which are stored as they
        are. All callers share one drain."""
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain(seconds))
        await self._draining

    async def _drain(self, seconds: float) -> None:
        self.hub.close()
        if running := {stream.task for stream in self._running if stream.task}:
            await asyncio.wait(running, timeout=seconds)
            for stream in tuple(self._running):
                stream.stop(ShuttingDown("The server was stopped before the answer was complete."))
            await asyncio.wait(running, timeout=CLOSING_SECONDS)
        if self._ticking is not None:
            self._ticking.cancel()

    async def _run(self, stream: Stream, request: TurnRequest, seat: Seat, claimed: Claim | None) -> None:
        status = "interrupted"
        stream.begun = True
        try:
            if stream.stopped:
                raise asyncio.CancelledError
            request = dataclasses.replace(request, crowded=lambda: self.waiting > 0)  # then optional work is left out
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
        if isinstance(event, Failed) and claimed is not None and _status(event) == "blocked":
            await claimed.complete({BLOCKED: {"error": event.error, "status": event.status}})
        if isinstance(event, Failed) and not stream.count:
            stream.error = TurnFailed(event)
            return
        written = await stream.form.write(event, stream.id)
        if isinstance(event, Answered) and claimed is not None and stream.form.answer is not None:
            await claimed.complete(stream.form.answer)  # before anyone can read it and ask again
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
        """Let a stream that is over be read for a while, if there is room."""
        if not stream.resumable:
            return
        self._kept.append(stream)
        self._kept_bytes += stream.size
        asyncio.get_running_loop().call_later(self._resume, self._forget, stream)
        while len(self._kept) > MAX_KEPT_STREAMS or self._kept_bytes > MAX_KEPT_BYTES:
            self._forget(self._kept[0])

    def _forget(self, stream: Stream) -> None:
        if self._streams.pop(stream.id, None) is not None:
            self._kept.remove(stream)
            self._kept_bytes -= stream.size

    def _tick(self) -> None:
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.create_task(self._tick_on())

    async def _tick_on(self) -> None:
        """One clock for everything, while there is anyone to look after."""
        while self._running or len(self.hub):
            await asyncio.sleep(TICK_SECONDS)
            try:
                await self._check_keys()
                await self.hub.tick()
            except Exception:
                log.exception("Looking after streams failed")

    async def _check_keys(self) -> None:
        """End what was begun, is read or is watched with a key that is no longer valid."""
        keys = self.hub.keys | {stream.key_id for stream in self._running}
        keys |= {reader.key_id for stream in self._running for reader in stream.readers}
        for key_id in await asyncio.to_thread(self._no_longer_valid, keys):
            for stream in tuple(self._running):
                if stream.key_id == key_id:
                    stream.stop(access_ended(key_id))
                for reader in tuple(stream.readers):
                    if reader.key_id == key_id and stream.key_id != key_id:
                        reader.refuse(stream.form.write_problem(Problem.of_error(access_ended(key_id))))
            self.hub.refuse(key_id)

    def _no_longer_valid(self, keys: set[str]) -> list[str]:
        return [key_id for key_id in keys if not self._valid(key_id)]


def _again(answer: dict[str, Any], form: Form, path: str) -> Response:
    """The response to a request that was answered before, or refused by the guard: that is not judged again."""
    headers = {"Idempotent-Replayed": "true"}
    if BLOCKED not in answer:
        return Response(form.again(answer), headers=headers, media_type=form.media_type)
    problem = Problem.of_turn(Failed(answer[BLOCKED]["error"], answer[BLOCKED]["status"], ()))
    if form.media_type == EVENT_STREAM_TYPE:
        return Response(form.write_problem(problem), headers=headers, media_type=form.media_type)
    return problem.response(path, headers)


def _status(event: TurnEvent) -> str:
    """The status of a turn that ends with this event; empty if it goes on."""
    if isinstance(event, Answered):
        return "answered"
    if isinstance(event, Failed):
        return "blocked" if event.error["code"] in BLOCKED_CODES else "failed"
    return ""
