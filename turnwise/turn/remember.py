"""Remember: the turn in the store, written when it is accepted and completed when it ends, however it ends."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from turnwise import facts as counting
from turnwise.conversation import TurnStatus
from turnwise.dialogue.profile import OFF, Profile, changes, learned
from turnwise.errors import ConversationBusy, ConversationError, TurnwiseError
from turnwise.types import ConversationState, ConversationStore, Ending, Message, Reply, Source, Trace, TurnRequest

log = logging.getLogger(__name__)
PATIENCE = 120.0  # seconds that a message waits for the one before it in the same conversation
_INTERRUPTED = {
    "code": "Interrupted",
    "message": "The answer was stopped before it was complete.",
    "hint": "Ask again.",
}


class Memory:
    """This turn's place in the store, as its caller sees it. Where the caller keeps the history, nothing is written."""

    def __init__(self, store: ConversationStore, request: TurnRequest) -> None:
        self._store = store
        self._request = request
        self._said: tuple[str, ...] = ()  # the answers before this one
        self._lock = threading.Lock()
        self._open = False
        self._left = False
        self.conversation_id = request.conversation_id
        self.shown: tuple[Source, ...] = ()  # with the message, to a model
        self.note = ""
        self.number = sum(each.role == "user" for each in request.history) + 1
        self.trusted = request.conversation_id is not None  # whether the history is what we kept
        self.ancestors: tuple[str, ...] = ()  # the conversations that this one branched from, nearest first
        self.blocked: tuple[str, ...] = ()  # prompts of it that were refused, and
        self.places: tuple[int, ...] = ()  # how many messages came before each

    async def accept(self, message: str) -> tuple[Message, ...]:
        """Write the message down and give the history before it, waiting while the one before is being answered. A
        history that the caller keeps is given as it was sent."""
        if self.conversation_id is None:
            return self._request.history
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return await asyncio.shield(asyncio.to_thread(self._accept, self.conversation_id, message))
            except ConversationBusy:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.05)

    def _accept(self, conversation_id: str, message: str) -> tuple[Message, ...]:
        accepted = self._store.accept(conversation_id, message, self._request.user)
        with self._lock:
            self.number = accepted.turns[-1].number
            self._open = True
            left = self._left
        if left:  # the caller went away while the message was being written down
            self.abandon("")
        self.trusted = not accepted.metadata.get("imported")
        self.ancestors = tuple(accepted.metadata["ancestors"])
        self.blocked, self.places = accepted.refused()
        said = accepted.messages()
        self._said = tuple(each.content for each in said if each.role == "assistant")
        return said

    def profile(self) -> Profile:
        """What is remembered of the user from other conversations: nothing unless they wish it, nor where it cannot be
        read."""
        try:
            stored = self._store.profiles.profile(self._request.reach.tenant, self._request.user)
            found = Profile.from_dict(stored)
        except Exception:  # of whatever keeps it: a turn does without
            log.warning("what is remembered of the user could not be read", exc_info=True)
            return OFF
        return found if found.enabled else OFF

    async def learn(
        self, state: ConversationState, message: str, now: float, private: Callable[[str], bool]
    ) -> list[str]:
        """Keep what this message tells of the user, where they wish it. Gives what is new, in words."""
        try:
            return await asyncio.to_thread(self._learn, state, message, now, private)
        except Exception:
            log.warning("what is remembered of the user could not be kept", exc_info=True)
            return []

    def _learn(self, state: ConversationState, message: str, now: float, private: Callable[[str], bool]) -> list[str]:
        before = self.profile()  # as it is by now: it may have been erased, or added to by another conversation
        after = learned(before, state, message, now, private)
        if after != before:
            self._store.profiles.put(self._request.reach.tenant, self._request.user, after.to_dict())
        return changes(before, after)

    async def complete(self, reply: Reply) -> None:
        """Close the turn with its answer. Raises ConversationError where its conversation was deleted meanwhile."""
        if self._open and self.conversation_id is not None:
            try:
                await asyncio.to_thread(
                    self._store.finish,
                    self.conversation_id,
                    self.number,
                    Ending(
                        "answered",
                        reply.text,
                        reply.sources,
                        {key: value for key, value in reply.to_dict().items() if key not in ("text", "sources")},
                        shown=self.shown,
                        note=self.note,
                        facts=_counted(counting.of_reply, reply, self._said),
                    ),
                )
            except ConversationError:
                self._open = False  # there is nothing left to close
                raise
            self._open = False

    def fail(self, error: TurnwiseError, text: str, blocked: bool, trace: Trace = ()) -> None:
        """Close a turn that ended in an error, with what its stages had decided by then."""
        self._end("blocked" if blocked else "failed", text, error.to_dict(), trace)

    def abandon(self, text: str) -> None:
        """Close a turn that nobody waits for any more: the client left, or the process is shutting down."""
        with self._lock:
            self._left = True
        self._end("interrupted", text, _INTERRUPTED)

    def _end(self, status: TurnStatus, text: str, error: dict[str, Any], trace: Trace = ()) -> None:
        if not self._open or self.conversation_id is None:
            return
        self._open = False
        record = {"trace": [dataclasses.asdict(stage) for stage in trace]} if trace else None
        try:
            self._store.finish(
                self.conversation_id,
                self.number,
                Ending(
                    status,
                    text or None,
                    record=record,
                    error=error,
                    shown=self.shown,
                    note=self.note,
                    facts=_counted(counting.of_failure, error, trace),
                ),
            )
        except ConversationError as gone:  # the conversation was deleted, or the turn given up, and nobody waits for it
            log.info("%s", gone)
        except TurnwiseError:  # the turn has already ended in an error; this one only goes to the log
            log.exception("turn %s of %s could not be closed", self.number, self.conversation_id)


def _counted(count: Callable[..., dict[str, Any]], *given: Any) -> dict[str, Any] | None:
    """What is counted of a turn. It must not cost the turn."""
    try:
        return count(*given)
    except Exception:
        log.exception("nothing was counted of a turn")
        return None
