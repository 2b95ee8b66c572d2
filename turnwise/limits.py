"""The arithmetic of rate limits: the generic cell rate algorithm (GCRA).

Only one value is stored for each key: the time at which its allowance will be whole again. That is at most one whole
allowance ahead, so if the clock is set back, nobody is locked out for longer than one message takes to come back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from turnwise.errors import ConfigError, TooManyRequests

MAX_COUNT = 1_000_000
UNIT_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
LIMIT_SCOPES = {
    "conversation": "in one conversation",
    "user": "from one user",
    "key": "with one key",
    "address": "from one address",
}

_LIMIT = re.compile(r"(\d{1,9}) ?(?:/|per|an?) ?(second|minute|hour|day)(?:,? burst (\d{1,9}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limit:
    """`count` messages per unit of time, of which `burst` may come at once (0 means all of them). The allowance comes
    back evenly, one message at a time."""

    count: int
    unit: str
    burst: int = 0

    def __post_init__(self) -> None:
        if self.unit not in UNIT_SECONDS or not (0 < self.count <= MAX_COUNT and 0 <= self.burst <= MAX_COUNT):
            raise ConfigError(
                f"{self.count}/{self.unit} with a burst of {self.burst} cannot be a rate limit.",
                f"Use 1 to {MAX_COUNT:,} messages a second, minute, hour or day.",
            )
        if not self.burst:
            object.__setattr__(self, "burst", self.count)

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Parse a limit such as "30/minute" or "20/minute burst 5"."""
        match = _LIMIT.fullmatch(" ".join(text.lower().split()))
        if match is None or (match[3] is not None and int(match[3]) == 0):
            raise ConfigError(
                f"“{text[:100]}” is not a rate limit.", "Write 30/minute, 5/second, 1000/day or 20/minute burst 5."
            )
        return cls(int(match[1]), match[2], int(match[3] or 0))

    @property
    def interval(self) -> int:
        """Microseconds until one message comes back."""
        return -(-UNIT_SECONDS[self.unit] * 1_000_000 // self.count)

    @property
    def whole(self) -> int:
        """Microseconds until a used-up allowance is whole again."""
        return self.burst * self.interval

    @property
    def description(self) -> str:
        at_once = "" if self.burst == self.count else f" ({self.burst} at once)"
        return f"{self.count} message{'' if self.count == 1 else 's'} {_article(self.unit)} {self.unit}{at_once}"

    def __str__(self) -> str:
        return f"{self.count}/{self.unit}" + ("" if self.burst == self.count else f" burst {self.burst}")


def _article(unit: str) -> str:
    return "an" if unit == "hour" else "a"


class Spent(NamedTuple):
    """The result of taking one message from an allowance: when the allowance will be whole again, and how many messages
    remain. If nothing was left, `wait` is the time until one comes back, and the allowance is unchanged. Times are in
    microseconds."""

    whole_at: int
    wait: int
    remaining: int


def spend(whole_at: int, now: int, limit: Limit) -> Spent:
    """Take one message from an allowance that will be whole at `whole_at`. Times are in microseconds."""
    before = min(max(whole_at, now), now + limit.whole)
    after = before + limit.interval
    wait = after - limit.whole - now
    return Spent(before, wait, 0) if wait > 0 else Spent(after, 0, -wait // limit.interval)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a message may pass, and the limit that decided: the one with the longest wait, or if it passes, the one
    with the least left. If there is no limit, only `allowed` is set."""

    allowed: bool
    kind: str = ""
    limit: Limit | None = None
    retry_after: float = 0.0  # seconds; 0 if allowed
    remaining: int | None = None  # messages that may follow at once; None if there is no limit

    def __bool__(self) -> bool:
        return self.allowed

    def error(self) -> TooManyRequests:
        """The error for a refused message."""
        limit = self.limit.description if self.limit else "so many messages"
        scope = LIMIT_SCOPES.get(self.kind, "")
        return TooManyRequests(f"The limit is {limit} {scope}".rstrip() + ".", self.retry_after)
