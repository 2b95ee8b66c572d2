"""Rate limits per conversation, user, key and address, by the generic cell rate algorithm (GCRA).

All that is kept for a key is one moment: when its allowance will be whole again. It lies at most a whole allowance
ahead, so a clock that was set back locks nobody out for longer than one message takes to come back.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from turnwise.errors import ConfigError, LimitsUnavailable, TooManyRequests
from turnwise.types import TurnRequest

MOST_KEYS = 100_000  # that are remembered; then those that were used longest ago are forgotten
REST = 5.0  # seconds for which a store that failed is left alone
WARN_EVERY = 60.0  # seconds
HIGHEST = 1_000_000

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
WHOSE = {
    "conversation": "in one conversation",
    "user": "from one user",
    "key": "with one key",
    "address": "from one address",
}

_LIMIT = re.compile(r"(\d{1,9}) ?(?:/|per|an?) ?(second|minute|hour|day)(?:,? burst (\d{1,9}))?", re.ASCII)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limit:
    """So many messages in a unit of time. `burst` of them may come at once (all, where it is 0); the allowance comes
    back evenly, a message at a time."""

    count: int
    unit: str
    burst: int = 0

    def __post_init__(self) -> None:
        if self.unit not in SECONDS or not (0 < self.count <= HIGHEST and 0 <= self.burst <= HIGHEST):
            raise ConfigError(
                f"{self.count}/{self.unit} with a burst of {self.burst} cannot be a rate limit.",
                f"Take 1 to {HIGHEST:,} messages a second, minute, hour or day.",
            )
        if not self.burst:
            object.__setattr__(self, "burst", self.count)

    @classmethod
    def parse(cls, text: str) -> Limit:
        """The limit that a text such as "30/minute" or "20/minute burst 5" stands for."""
        read = _LIMIT.fullmatch(" ".join(text.lower().split()))
        if read is None or (read[3] is not None and int(read[3]) == 0):
            raise ConfigError(
                f"“{text[:100]}” is not a rate limit.", "Write 30/minute, 5/second, 1000/day or 20/minute burst 5."
            )
        return cls(int(read[1]), read[2], int(read[3] or 0))

    @property
    def interval(self) -> int:
        """Microseconds in which one message comes back."""
        return -(-SECONDS[self.unit] * 1_000_000 // self.count)

    @property
    def whole(self) -> int:
        """Microseconds in which all of the allowance comes back."""
        return self.burst * self.interval

    @property
    def spoken(self) -> str:
        at_once = "" if self.burst == self.count else f" ({self.burst} at once)"
        return f"{self.count} message{'' if self.count == 1 else 's'} {_article(self.unit)} {self.unit}{at_once}"

    def __str__(self) -> str:
        return f"{self.count}/{self.unit}" + ("" if self.burst == self.count else f" burst {self.burst}")


def _article(unit: str) -> str:
    return "an" if unit == "hour" else "a"


class Spent(NamedTuple):
    """What comes of taking one message from an allowance: when it is whole again then, and what is left. Where there
    is nothing to take, the microseconds to wait, and the allowance as it was."""

    whole_at: int
    wait: int
    remaining: int


def spend(whole_at: int, now: int, limit: Limit) -> Spent:
    """Take one from an allowance that will be whole at that moment. All in microseconds."""
    before = min(max(whole_at, now), now + limit.whole)
    after = before + limit.interval
    wait = after - limit.whole - now
    return Spent(before, wait, 0) if wait > 0 else Spent(after, 0, -wait // limit.interval)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a message may pass, and the limit that decides: the one it has to wait for longest, or where it passes
    the one of which least is left. Without any limit, only that it may."""

    allowed: bool
    kind: str = ""
    limit: Limit | None = None
    retry_after: float = 0.0  # seconds; 0 where it is allowed
    remaining: int | None = None  # messages that may follow at once; None where nothing limits them

    def __bool__(self) -> bool:
        return self.allowed

    def error(self) -> TooManyRequests:
        """The refusal as an error."""
        spoken = self.limit.spoken if self.limit else "so many messages"
        return TooManyRequests(f"The limit is {spoken} {WHOSE.get(self.kind, '')}".rstrip() + ".", self.retry_after)


class LimitStore(Protocol):
    def take(self, asked: Sequence[tuple[str, Limit]]) -> list[Spent]:
        """Take one from each of these allowances, or from none where one of them has nothing left; nobody else comes
        between. Raises LimitsUnavailable."""
        ...

    def close(self) -> None: ...


class MemoryStore:
    """Allowances of one process, on a clock that cannot be set."""

    def __init__(self, most: int = MOST_KEYS, clock: Callable[[], int] | None = None) -> None:
        self._most = most
        self._clock = clock or monotonic
        self._whole_at: dict[str, int] = {}  # those used last stand last
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._whole_at)

    def take(self, asked: Sequence[tuple[str, Limit]]) -> list[Spent]:
        with self._lock:
            now = self._clock()
            spent = [spend(self._whole_at.get(name, now), now, limit) for name, limit in asked]
            if all(each.wait == 0 for each in spent):
                for (name, _), each in zip(asked, spent, strict=True):
                    self._whole_at.pop(name, None)
                    self._whole_at[name] = each.whole_at
                self._forget(now, 2 * len(asked))
            return spent

    def _forget(self, now: int, most: int) -> None:
        """Drop a few of the oldest: those that are whole again, and those beyond the most that are kept."""
        for _ in range(most):
            oldest = next(iter(self._whole_at))
            if self._whole_at[oldest] > now and len(self._whole_at) <= self._most:
                return
            del self._whole_at[oldest]
            if not self._whole_at:
                return

    def close(self) -> None:
        self._whole_at.clear()


class RateLimiter:
    """Limits by kind (conversation, user, key, address), kept in a store. Safe for several threads; a hit may wait for
    the store, so that async code calls it in a thread (see `admit`).

    A store that fails is left alone for some seconds, and each process counts by itself meanwhile; with `fail_closed`
    a hit raises LimitsUnavailable instead.
    """

    def __init__(
        self,
        limits: Mapping[str, Limit],
        store: LimitStore | None = None,
        fail_closed: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = {kind: limits[kind] for kind in sorted(limits)}
        self._store = MemoryStore() if store is None else store
        self._fail_closed = fail_closed
        self._clock = clock
        self._meanwhile = MemoryStore()
        self._lock = threading.Lock()
        self._rest_until = float("-inf")
        self._warned = float("-inf")

    def hit(self, keys: Mapping[str, str]) -> Decision:
        """Count a message for each of these keys ({"user": "ann", "address": "10.0.0.1"}) if all their limits allow it;
        one that is refused costs nothing."""
        kinds = [kind for kind in self.limits if keys.get(kind)]
        if not kinds:
            return Decision(True)
        spent = self._take([(_name(kind, keys[kind]), self.limits[kind]) for kind in kinds])
        return _decision([(kind, self.limits[kind]) for kind in kinds], spent)

    def _take(self, asked: Sequence[tuple[str, Limit]]) -> list[Spent]:
        with self._lock:
            resting = self._clock() < self._rest_until
            if not resting and self._rest_until > float("-inf"):
                self._rest_until = self._clock() + REST  # this hit tries the store again, the others do not wait for it
        if not resting:
            try:
                spent = self._store.take(asked)
                self._rest_until = float("-inf")
                return spent
            except LimitsUnavailable as error:
                self._failed(error)
                if self._fail_closed:
                    raise
        if self._fail_closed:
            raise LimitsUnavailable("The rate limits could not be checked.", f"Try again in {REST:.0f} seconds.")
        return self._meanwhile.take(asked)

    def _failed(self, error: LimitsUnavailable) -> None:
        with self._lock:
            now = self._clock()
            self._rest_until = now + REST
            if now - self._warned < WARN_EVERY:
                return
            self._warned = now
        so = "messages are refused" if self._fail_closed else "each process counts by itself"
        log.warning("%s Until it is back, %s. %s", error, so, error.hint)

    def close(self) -> None:
        self._store.close()


class Allowance:
    """One limit for one holder, in memory: what a conversation keeps that is limited by itself."""

    def __init__(self, limit: Limit, kind: str = "conversation", clock: Callable[[], int] | None = None) -> None:
        self.limit = limit
        self.kind = kind
        self._clock = clock or monotonic
        self._whole_at = 0
        self._lock = threading.Lock()

    def hit(self) -> Decision:
        """Count a message if the limit allows it."""
        with self._lock:
            now = self._clock()
            spent = spend(self._whole_at or now, now, self.limit)
            self._whole_at = spent.whole_at
        return _decision([(self.kind, self.limit)], [spent])


async def admit(request: TurnRequest, limiter: RateLimiter | None) -> None:
    """Count a turn for its conversation, user, key and address. Raises TooManyRequests where a limit was reached."""
    if limiter is None or not limiter.limits:
        return
    keys = {
        "conversation": _owned(request, request.conversation_id or ""),
        "user": _owned(request, request.user),
        "key": request.key,
        "address": request.address,
    }
    decision = await asyncio.to_thread(limiter.hit, keys)
    if not decision.allowed:
        raise decision.error()


def _owned(request: TurnRequest, named: str) -> str:
    """A name that a tenant gave: another's of the same name is somebody else's."""
    return f"{request.reach.tenant}\x1f{named}" if request.reach.tenant and named else named


def monotonic() -> int:
    """Microseconds on a clock that only runs forward."""
    return time.monotonic_ns() // 1000


def _decision(kinds: Sequence[tuple[str, Limit]], spent: Sequence[Spent]) -> Decision:
    of_kind = list(zip(kinds, spent, strict=True))
    (kind, limit), worst = max(of_kind, key=lambda each: (each[1].wait, -each[1].remaining))
    return Decision(worst.wait == 0, kind, limit, worst.wait / 1_000_000, worst.remaining)


def _name(kind: str, value: str) -> str:
    """What an allowance is kept under: no store ever sees a key, or how long or odd an id is."""
    if kind == "address":
        value = _network(value)
    digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16, person=b"turnwise limit")
    return f"{kind}:{digest.hexdigest()}"


def _network(address: str) -> str:
    """An address as it is counted: of IPv6 the first half, since whoever has one address has the others of it too."""
    try:
        read = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(read, ipaddress.IPv4Address):
        return str(read)
    return str(read.ipv4_mapped or ipaddress.IPv6Network((int(read) >> 64 << 64, 64)))
