"""A conversation as people keep one: turns of a prompt and its response. Usable without the rest of Turnwise."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from turnwise.types import Message, Source

TurnStatus = Literal["pending", "answered", "blocked", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and its response. The response is None until there is one; the prompt is None where the assistant spoke
    first. A time may be given as a number (seconds since 1970) or as a datetime, which is UTC where it does not say."""

    prompt: str | None
    response: str | None = None
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    metadata: dict[str, Any] = field(default_factory=dict)
    number: int = 0  # its place in the conversation, from 1; 0 where it is in none
    status: TurnStatus = "pending"
    sources: tuple[Source, ...] = ()
    record: dict[str, Any] = field(default_factory=dict)  # the reply as JSON: condensed_query, follow_up, state, trace
    error: dict[str, Any] | None = None
    evidence: tuple[Source, ...] = ()  # what a model was shown with the prompt, and
    note: str = ""  # what else it was told

    def __post_init__(self) -> None:
        object.__setattr__(self, "timestamp", moment(self.timestamp))
        if self.status == "pending" and self.response is not None:
            object.__setattr__(self, "status", "answered")

    @property
    def complete(self) -> bool:
        return self.response is not None


class Conversation:
    """Turns, oldest first, and whose they are. A blocked prompt stays on record and never becomes context."""

    def __init__(
        self,
        id: str | None = None,
        user_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        turns: Iterable[Turn] = (),
        created_at: datetime | float | None = None,
        last_activity: datetime | float | None = None,
        rate_limit: str | None = None,
    ) -> None:
        self.id = id or uuid.uuid4().hex
        self.user_id = user_id
        self.metadata = metadata or {}
        self.turns: list[Turn] = list(turns)
        self.created_at = moment(created_at) if created_at is not None else self._first()
        self.last_activity = moment(last_activity) if last_activity is not None else self._last()
        self.rate_limit = rate_limit

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conversation) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def add_turn(
        self,
        prompt: str | None,
        response: str | None = None,
        timestamp: datetime | float | None = None,
        metadata: dict[str, Any] | None = None,
        status: TurnStatus = "pending",
    ) -> Turn:
        """Append a turn; with no prompt it is one that the assistant began."""
        at = datetime.now(UTC) if timestamp is None else moment(timestamp)
        turn = Turn(prompt, response, at, metadata or {}, len(self.turns) + 1, status)
        self.turns.append(turn)
        self.last_activity = max(self.last_activity, at)
        return turn

    def add_prompt(self, prompt: str, metadata: dict[str, Any] | None = None) -> Turn:
        """Append a turn that waits for its response."""
        return self.add_turn(prompt, metadata=metadata)

    def add_response(self, response: str, metadata: dict[str, Any] | None = None) -> Turn:
        """Complete the last turn. ValueError where no prompt waits for a response."""
        waiting = self.turns[-1] if self.turns else None
        if waiting is None or waiting.status != "pending":
            raise ValueError(
                "No prompt waits for a response. Add the prompt first, or add_turn(None, response) where the "
                "assistant speaks unasked."
            )
        noted = {**waiting.metadata, **(metadata or {})}
        answered = dataclasses.replace(waiting, response=response, metadata=noted, status="answered")
        self.turns[-1] = answered
        self.last_activity = max(self.last_activity, datetime.now(UTC))
        return answered

    def get_history(self, limit: int | None = None) -> list[Turn]:
        """The last turns, oldest first; all of them without a limit."""
        return self.turns[-limit:] if limit else ([] if limit == 0 else list(self.turns))

    def get_complete_turns(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.complete]

    def get_incomplete_turns(self) -> list[Turn]:
        return [turn for turn in self.turns if not turn.complete]

    def get_turn_count(self) -> int:
        return len(self.turns)

    def get_complete_turn_count(self) -> int:
        return len(self.get_complete_turns())

    def get_duration(self) -> timedelta:
        """From the beginning to the last activity."""
        return max(self.last_activity - self.created_at, timedelta(0))

    def messages(self) -> tuple[Message, ...]:
        """The history a new turn reads. A blocked prompt never becomes context; an unanswered one was still said."""
        said: list[Message] = []
        for turn in self.turns:
            if turn.status in ("blocked", "pending"):
                continue
            at = turn.timestamp.timestamp()
            if turn.prompt is not None:
                said.append(Message("user", turn.prompt, at=at, evidence=turn.evidence, note=turn.note))
            if turn.status == "answered" and turn.response:
                said.append(Message("assistant", turn.response, turn.sources, at, turn.metadata))
        return tuple(said)

    def _first(self) -> datetime:
        return self.turns[0].timestamp if self.turns else datetime.now(UTC)

    def _last(self) -> datetime:
        return self.turns[-1].timestamp if self.turns else self.created_at


def moment(at: datetime | float) -> datetime:
    """A time that knows its zone, from a datetime or seconds since 1970. ValueError where there is no such time."""
    if isinstance(at, datetime):
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    if isinstance(at, bool) or not isinstance(at, int | float):
        raise ValueError(f"{at!r} is not a time: give a datetime, or seconds since 1970.")
    try:
        return datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{at!r} is not a time: {error}.") from error
