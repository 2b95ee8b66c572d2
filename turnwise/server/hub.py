"""Tells pages what happens to the conversations that they have open: at once if it happens in this process, within
seconds if in another."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from turnwise.errors import ConversationNotFound, NotAllowed, TurnwiseError
from turnwise.server.access import Caller
from turnwise.server.problems import Problem, log
from turnwise.server.sse import EVENT_STREAM_TYPE, HEARTBEAT_SECONDS, STILL_HERE, frame
from turnwise.types import ConversationStore, Standing

POLL_SECONDS = 2.0  # between two looks at what other processes have done
MAX_PENDING_FRAMES = 50  # that a watcher may leave unread


class Place(NamedTuple):
    """A conversation of a tenant."""

    tenant: str
    conversation_id: str


class Version(NamedTuple):
    """How far a conversation has got: the number and status of its last turn."""

    number: int
    status: str

    def __str__(self) -> str:
        return f"{self.number}-{self.status}"

    def is_after(self, other: Version) -> bool:
        """Whether it is later. What was read from the store may be older than what has happened in this process."""
        return (self.number, self.status != "pending") > (other.number, other.status != "pending")


class Hub:
    """The watchers of conversations. All share one heartbeat and one poll of the store."""

    def __init__(self, store: ConversationStore, wake: Callable[[], None]) -> None:
        """`wake` is called when somebody starts to watch: from then on `tick` has to be called every second or so."""
        self._store = store
        self._wake = wake
        self._closed = False
        self._watchers: dict[Place, set[Watching]] = defaultdict(set)
        self._known: dict[Place, Version] = {}
        self._titles: dict[Place, str] = {}
        self._polled = self._beaten = 0.0

    def __len__(self) -> int:
        return sum(map(len, self._watchers.values()))

    @property
    def keys(self) -> set[str]:
        return {each.caller.key_id for each in self._everyone()}

    async def watch(
        self, conversation_id: str, caller: Caller, seen: str, stream: Callable[[Place], str | None]
    ) -> Watching:
        """A response that reports what happens to a conversation. It begins with the current version if a turn is under
        way, or if the watcher last saw another (`seen`, its Last-Event-ID). Raises ConversationNotFound."""
        place = Place(caller.tenant, conversation_id)
        found = (await asyncio.to_thread(self._store.standings, [place])).get(place)
        if found is None or not _sees(caller, found):
            raise ConversationNotFound(
                f"There is no conversation {conversation_id!r}.", "GET /api/conversations lists them."
            )
        version = Version(found.number, found.status)
        known = self._known.get(place, version)
        known = version if version.is_after(known) else known
        told = known.status == "pending" or (seen and seen != str(known))
        return Watching(self, place, caller, known, found.title, _turn_frame(known, stream(place)) if told else b"")

    def turn(self, place: Place, number: int, status: str, stream: str | None = None) -> None:
        """A turn has begun or ended."""
        version = Version(number, status)
        if place in self._watchers:
            self._known[place] = version
            self._tell(place, _turn_frame(version, stream))

    def renamed(self, place: Place, title: str) -> None:
        if place in self._watchers:
            self._titles[place] = title
        self._tell(place, frame({"title": title}, "renamed"))

    def deleted(self, place: Place) -> None:
        for each in tuple(self._watchers.get(place, ())):
            each.push(frame({}, "deleted"), last=True)

    def refuse(self, key_id: str) -> None:
        """Disconnect everyone who came with a key that is no longer valid."""
        error = frame(Problem.of_error(access_ended(key_id)).to_dict(), "error")
        for each in self._everyone():
            if each.caller.key_id == key_id:
                each.push(error, last=True)

    def close(self) -> None:
        self._closed = True
        for each in self._everyone():
            each.push(b"", last=True)

    def add(self, watching: Watching) -> None:
        self._watchers[watching.place].add(watching)
        self._known.setdefault(watching.place, watching.version)
        self._titles.setdefault(watching.place, watching.title)
        self._wake()
        if self._closed:
            watching.push(b"", last=True)

    def remove(self, watching: Watching) -> None:
        there = self._watchers[watching.place]
        there.discard(watching)
        if not there:
            del self._watchers[watching.place]
            self._known.pop(watching.place, None)
            self._titles.pop(watching.place, None)

    async def tick(self) -> None:
        """Do what is due: send a heartbeat, poll the store."""
        now = time.monotonic()
        if now >= self._beaten + HEARTBEAT_SECONDS:
            self._beaten = now
            for each in self._everyone():
                each.push(STILL_HERE)
        if now >= self._polled + POLL_SECONDS:
            self._polled = now
            await self._poll()

    async def _poll(self) -> None:
        """Look up all watched conversations, of all tenants, in one query."""
        watching, titles = self._everyone(), dict(self._titles)
        try:
            found = await asyncio.to_thread(self._store.standings, {each.place for each in watching})
        except TurnwiseError as error:
            log.warning("What other processes do to conversations is not seen: %s", error)
            return
        for each in watching:
            if each.place not in found or not _sees(each.caller, found[each.place]):
                each.push(frame({}, "deleted"), last=True)
        for place, standing in found.items():
            self._compare(Place(*place), standing, titles.get(Place(*place)))

    def _compare(self, place: Place, standing: Standing, title: str | None) -> None:
        """Report what is new in what was read; `title` is the one that was known when reading began."""
        version = Version(standing.number, standing.status)
        if place in self._watchers and version.is_after(self._known.get(place, version)):
            self.turn(place, *version)
        if title not in (None, standing.title) and title == self._titles.get(place):
            self.renamed(place, standing.title)

    def _tell(self, place: Place, told: bytes) -> None:
        for each in tuple(self._watchers.get(place, ())):
            each.push(told)

    def _everyone(self) -> list[Watching]:
        return [each for there in self._watchers.values() for each in there]


def _sees(caller: Caller, standing: Standing) -> bool:
    return caller.sees(replace(caller, collections=standing.collections))


def access_ended(key_id: str) -> NotAllowed:
    """The error for whoever was let in with this key, or without one ("") while the server was open."""
    if not key_id:
        return NotAllowed("This server now asks for a key.", "Send the header Authorization: Bearer KEY.")
    return NotAllowed("The key of this request is no longer good.", "Ask for another one.")


def _turn_frame(version: Version, stream: str | None) -> bytes:
    told = frame({"number": version.number, "status": version.status, "stream": stream}, "turn")
    return f"id: {version}\n".encode() + told


class Watching(Response):
    """Sends what a hub reports about one conversation until the client leaves. In between it only waits for that."""

    def __init__(self, hub: Hub, place: Place, caller: Caller, version: Version, title: str, first: bytes) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no", "Content-Type": EVENT_STREAM_TYPE})
        del self.headers["content-length"]
        self.place = place
        self.caller = caller
        self.version = version  # when watching began
        self.title = title  # likewise
        self._hub = hub
        self._pending = deque([first or STILL_HERE])
        self._last = self._stalled = False
        self._sending: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        self._send, self._task = send, asyncio.current_task()
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await self._send_pending()
        self._hub.add(self)
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
        except asyncio.CancelledError:
            if not (self._stalled and self._task):
                raise
            self._task.uncancel()
            log.warning("A page took none of %d events; its connection was closed.", MAX_PENDING_FRAMES)
        finally:
            self._hub.remove(self)
            if self._sending is not None:
                self._sending.cancel()

    def push(self, told: bytes, last: bool = False) -> None:
        """Send it without waiting: a client that reads nothing delays nobody, and is disconnected in the end."""
        if self._last or self._stalled:
            return
        self._last = last
        self._pending.append(told)
        if len(self._pending) > MAX_PENDING_FRAMES and self._task is not None:
            self._stalled = True
            self._task.cancel()
        elif self._sending is None:
            self._sending = asyncio.create_task(self._send_pending())

    async def _send_pending(self) -> None:
        while self._pending:
            body = b"".join(self._pending)
            self._pending.clear()
            await self._send({"type": "http.response.body", "body": body, "more_body": not self._last})
        self._sending = None
