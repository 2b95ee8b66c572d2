"""Remember: the turn in the store. It is written when the message is accepted and closed when it ends, in any way."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from turnwise import facts as counting
from turnwise.conversation import Conversation, TurnStatus
from turnwise.dialogue.profile import OFF, Profile, changes, update_profile
from turnwise.errors import (
    ConversationBusy,
    ConversationError,
    Interrupted,
    LibraryError,
    MessageBlocked,
    TurnwiseError,
)
from turnwise.types import ConversationState, ConversationStore, Ending, Message, Reply, Source, Trace, TurnRequest

log = logging.getLogger(__name__)
ACCEPT_TIMEOUT_SECONDS = 120.0  # how long a message waits for the one before it in the same conversation
RETRY_SECONDS = (0.05, 0.5)  # between two tries to accept it, at first and at most: each takes the store's write lock
_INTERRUPTED = Interrupted().to_dict()


@dataclass(frozen=True, slots=True)
class Past:
    """What came before a message."""

    messages: tuple[Message, ...]
    trusted: bool  # it comes from our store: the caller neither sent nor imported it
    blocked: tuple[str, ...] = ()  # prompts that were refused
    places: tuple[int, ...] = ()  # how many messages came before each of those
    ancestors: tuple[str, ...] = ()  # the conversations that this one branched from, nearest first

    @classmethod
    def of(cls, stored: Conversation) -> Past:
        metadata = stored.metadata
        trusted, ancestors = not metadata.get("imported"), tuple(metadata.get("ancestors", ()))
        return cls(stored.messages(), trusted, *stored.refused(), ancestors)


class Memory:
    """This turn in the store, as its caller sees it. If the caller keeps the history, nothing is written."""

    def __init__(self, store: ConversationStore, request: TurnRequest) -> None:
        self._store = store
        self._request = request
        self._said: tuple[str, ...] = ()  # the answers before this one
        self._lock = threading.Lock()
        self._open = False
        self._abandoned = False
        self._storing: asyncio.Task[Past] | None = None  # the message being stored, by a thread that cannot be stopped
        self.conversation_id = request.conversation_id
        self.shown: tuple[Source, ...] = ()  # the evidence that a model was shown with the message
        self.note = ""  # the note it was shown
        self.text = ""  # the answer so far, as the user was shown it
        self.sources_of: Callable[[str], tuple[Source, ...]] = lambda _: ()  # what an answer to the message cites
        self.number = sum(getattr(each, "role", "") == "user" for each in request.history) + 1  # not checked yet

    async def accept(self, message: str) -> Past:
        """Store the message and return what came before it, waiting while the previous message is being answered. A
        history that the caller keeps is returned as it was sent."""
        if self.conversation_id is None:
            return Past(self._request.history, trusted=False)
        deadline, (pause, longest) = time.monotonic() + ACCEPT_TIMEOUT_SECONDS, RETRY_SECONDS
        while True:
            try:
                self._storing = asyncio.create_task(asyncio.to_thread(self._accept, self.conversation_id, message))
                return await asyncio.shield(self._storing)
            except ConversationBusy:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(pause)
                pause = min(longest, pause * 1.5)

    def _accept(self, conversation_id: str, message: str) -> Past:
        accepted = self._store.accept(conversation_id, message, self._request.user)
        with self._lock:
            self.number = accepted.turns[-1].number
            self._open = True
            abandoned = self._abandoned
        if abandoned:  # the caller went away while the message was being stored
            self._end("interrupted", _INTERRUPTED)
        past = Past.of(accepted)
        self._said = tuple(each.content for each in past.messages if each.role == "assistant")
        return past

    def profile(self) -> Profile:
        """What is remembered about the user from other conversations: nothing unless they want that, or if it cannot be
        read."""
        try:
            stored = self._store.profiles.profile(self._request.reach.tenant, self._request.user)
            profile = Profile.from_dict(stored)
        except Exception:  # from any store: a turn works without it
            log.warning("what is remembered about the user could not be read", exc_info=True)
            return OFF
        return profile if profile.enabled else OFF

    async def learn(
        self, state: ConversationState, message: str, now: float, private: Callable[[str], bool]
    ) -> list[str]:
        """Remember what this message says about the user, if they want that. Returns what is new, in words."""
        try:
            return await asyncio.to_thread(self._learn, state, message, now, private)
        except Exception:
            log.warning("what is remembered about the user could not be stored", exc_info=True)
            return []

    def _learn(self, state: ConversationState, message: str, now: float, private: Callable[[str], bool]) -> list[str]:
        before = self.profile()  # read again: it may have been erased, or changed by another conversation
        after = update_profile(before, state, message, now, private)
        if after != before:
            self._store.profiles.put(self._request.reach.tenant, self._request.user, after.to_dict())
        return changes(before, after)

    async def complete(self, reply: Reply) -> None:
        """Close the turn with its answer. Raises ConversationError if its conversation was deleted in the meantime."""
        if self._open and self.conversation_id is not None:
            await asyncio.shield(asyncio.to_thread(self._complete, self.conversation_id, reply))

    def _complete(self, conversation_id: str, reply: Reply) -> None:
        with self._lock:
            if not self._open:
                return
            self._open = False  # whoever abandons the turn from now on leaves it answered
        told = reply.to_dict()
        record = {key: value for key, value in told.items() if key not in ("text", "sources")}
        facts = _facts(counting.of_reply, reply, told, self._said)
        ending = Ending("answered", reply.text, reply.sources, record, shown=self.shown, note=self.note, facts=facts)
        try:
            self._store.finish(conversation_id, self.number, ending)
        except ConversationError:  # there is nothing left to close
            raise
        except BaseException:
            self._open = True  # it ends as failed
            raise

    async def fail(self, error: TurnwiseError, trace: Trace = ()) -> None:
        """Close a turn that ended in an error, with what its stages had decided by then."""
        status: TurnStatus = "blocked" if isinstance(error, MessageBlocked) else "failed"
        await asyncio.shield(asyncio.to_thread(self._end, status, error.to_dict(), trace))

    async def abandon(self) -> None:
        """Close a turn that nobody is waiting for: the client left, or the process is shutting down. Does nothing if it
        has ended. Once this returns, its message is stored or never will be: a deleted conversation stays deleted."""
        with self._lock:
            self._abandoned = True
        if self._storing is not None:
            await asyncio.wait({self._storing})
        if self._open:
            await asyncio.shield(asyncio.to_thread(self._end, "interrupted", _INTERRUPTED))

    def _end(self, status: TurnStatus, error: dict[str, Any], trace: Trace = ()) -> None:
        with self._lock:
            if not self._open or self.conversation_id is None:
                return
            self._open = False
        record = {"trace": [dataclasses.asdict(stage) for stage in trace]} if trace else None
        ending = Ending(
            status,
            self.text or None,
            self.sources_of(self.text),
            record=record,
            error=error,
            shown=self.shown,
            note=self.note,
            facts=_facts(counting.of_failure, error, trace),
        )
        if not self._closed_with(self.conversation_id, ending):  # perhaps for something in it: without that, then
            self._closed_with(self.conversation_id, Ending(status, error=error))

    def _closed_with(self, conversation_id: str, ending: Ending) -> bool:
        """Whether there is nothing left to close. The turn has ended in an error already: this one is only logged."""
        try:
            self._store.finish(conversation_id, self.number, ending)
        except ConversationError as gone:  # the conversation was deleted or the turn given up; nobody is waiting
            log.info("%s", gone)
        except LibraryError:
            log.exception("turn %s of %s could not be closed", self.number, conversation_id)
        except Exception:
            log.exception("turn %s of %s could not be closed as it ended", self.number, conversation_id)
            return False
        return True


def how_remembered(memory: Memory, learned: Sequence[str] | None, crowded: bool) -> tuple[str, str]:
    """Whether the turn is stored, and why, for the trace. `crowded`: nothing was suggested, because others wait."""
    stored = bool(memory.conversation_id)
    reason = "the conversation has an id" if stored else "the caller keeps the history"
    reason += f"; learned about the user: {', '.join(learned)}" if learned else ""
    reason += "; no suggestions, because others are waiting" if crowded else ""
    return "stored" if stored else "not stored", reason


def _facts(count: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any] | None:
    """What the analytics record about a turn, or None if that fails: the turn must not fail with it."""
    try:
        return count(*arguments)
    except Exception:
        log.exception("the facts of a turn could not be counted")
        return None
