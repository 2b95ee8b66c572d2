"""What a store is given and returns besides conversations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from turnwise.types.search import Source

if TYPE_CHECKING:
    from turnwise.conversation import TurnStatus


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended, and what is stored with it."""

    status: TurnStatus
    response: str | None = None
    sources: Iterable[Source] = ()  # that the response cites
    record: dict[str, Any] | None = None  # the rest of the reply, as JSON
    error: dict[str, Any] | None = None
    shown: Iterable[Source] = ()  # what a model was shown with the message, and
    note: str = ""  # what else it was told
    facts: dict[str, Any] | None = None  # for the analytics


class Standing(NamedTuple):
    """The state of a conversation."""

    number: int  # of its last turn, or 0 if it has none
    status: str  # of that turn, or ""
    title: str
    collections: tuple[str, ...]  # that its turns could draw on; empty: all of the tenant's


Permission = Literal["ask", "edit", "manage"]  # chat; also change documents; also see the dashboard


@dataclass(frozen=True, slots=True)
class Key:
    """Who an API key belongs to, and what it allows. Only its holder knows the secret."""

    id: str
    name: str
    tenant: str = ""
    collections: tuple[str, ...] = ()  # empty: all of the tenant's
    may: Permission = "ask"
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None
    last_used_at: float | None = None
    hint: str = ""  # the first characters of the secret, to tell keys apart

    def is_valid(self, now: float) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)
