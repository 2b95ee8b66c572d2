"""What a store keeps or tells besides conversations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


class Standing(NamedTuple):
    """How a conversation stands: its last turn (0 and "" where it has none), its title, and the collections that its
    turns could draw on (none: all of the tenant's)."""

    number: int
    status: str
    title: str
    collections: tuple[str, ...]


Permission = Literal["ask", "edit", "manage"]  # talk; and change documents; and see the dashboard


@dataclass(frozen=True, slots=True)
class Key:
    """Whom a key lets in, and to what. The key itself is known to its holder alone."""

    id: str
    name: str
    tenant: str = ""
    collections: tuple[str, ...] = ()  # none: all of the tenant's
    may: Permission = "ask"
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None
    last_used_at: float | None = None
    hint: str = ""  # the first characters, to tell keys apart

    def is_valid(self, now: float) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)
