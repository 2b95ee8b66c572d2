"""Rate limits per conversation, user, key and address. Only one value is stored for each key: see `turnwise.limits`."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from turnwise.errors import LimitsUnavailable
from turnwise.limits import Decision, Limit, Spent, spend
from turnwise.types import TurnRequest

MAX_KEYS = 100_000  # beyond that, the least recently used keys are forgotten
STORE_RETRY_SECONDS = 5.0  # how long a store that failed is not asked again
WARNING_INTERVAL_SECONDS = 60.0

log = logging.getLogger(__name__)


class LimitStore(Protocol):
    def take(self, asked: Sequence[tuple[str, Limit]]) -> list[Spent]:
        """Atomically take one message from each of these allowances, or from none if one of them has nothing left.
        Raises LimitsUnavailable."""
        ...

    def close(self) -> None: ...


class MemoryStore:
    """Allowances of one process, measured on a monotonic clock."""

    def __init__(self, max_keys: int = MAX_KEYS, clock: Callable[[], int] | None = None) -> None:
        self._max_keys = max_keys
        self._clock = clock or monotonic
        self._whole_at: dict[str, int] = {}  # least recently used first
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

    def _forget(self, now: int, max_dropped: int) -> None:
        """Drop a few of the oldest keys: those that are whole again, and those over the limit."""
        for _ in range(max_dropped):
            oldest = next(iter(self._whole_at))
            if self._whole_at[oldest] > now and len(self._whole_at) <= self._max_keys:
                return
            del self._whole_at[oldest]
            if not self._whole_at:
                return

    def close(self) -> None:
        self._whole_at.clear()


class RateLimiter:
    """Limits by kind (conversation, user, key, address), kept in a store. Thread-safe. A hit may block on the store, so
    async code should call it in a thread (see `admit`).

    A store that fails is not asked again for some seconds, and in the meantime each process counts on its own; with
    `fail_closed`, a hit raises LimitsUnavailable instead.
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
        self._fallback = MemoryStore()
        self._lock = threading.Lock()
        self._retry_at = float("-inf")
        self._warned_at = float("-inf")

    def hit(self, keys: Mapping[str, str]) -> Decision:
        """Count a message for each of these keys ({"user": "ann", "address": "10.0.0.1"}) if all their limits allow it.
        A refused message costs nothing."""
        kinds = [kind for kind in self.limits if keys.get(kind)]
        if not kinds:
            return Decision(True)
        spent = self._take([(_name(kind, keys[kind]), self.limits[kind]) for kind in kinds])
        return _decision([(kind, self.limits[kind]) for kind in kinds], spent)

    def _take(self, asked: Sequence[tuple[str, Limit]]) -> list[Spent]:
        with self._lock:
            store_down = self._clock() < self._retry_at
            if not store_down and self._retry_at > float("-inf"):
                self._retry_at = self._clock() + STORE_RETRY_SECONDS  # this hit tries the store; others do not wait
        if not store_down:
            try:
                spent = self._store.take(asked)
                self._retry_at = float("-inf")
                return spent
            except LimitsUnavailable as error:
                self._note_failure(error)
                if self._fail_closed:
                    raise
        if self._fail_closed:
            hint = f"Try again in {STORE_RETRY_SECONDS:.0f} seconds."
            raise LimitsUnavailable("The rate limits could not be checked.", hint)
        return self._fallback.take(asked)

    def _note_failure(self, error: LimitsUnavailable) -> None:
        with self._lock:
            now = self._clock()
            self._retry_at = now + STORE_RETRY_SECONDS
            if now - self._warned_at < WARNING_INTERVAL_SECONDS:
                return
            self._warned_at = now
        consequence = "messages are refused" if self._fail_closed else "each process counts by itself"
        log.warning("%s Until it is back, %s. %s", error, consequence, error.hint)

    def close(self) -> None:
        self._store.close()


async def admit(request: TurnRequest, limiter: RateLimiter | None) -> None:
    """Count a turn for its conversation, user, key and address. Raises TooManyRequests if a limit was reached."""
    if limiter is None or not limiter.limits:
        return
    # Those who see different collections do not always see the same conversation under an id, so each of them counts.
    seen_by = "".join(f"{each}\x1e" for each in sorted(request.reach.collections))
    keys = {
        "conversation": _within_tenant(request, seen_by + request.conversation_id if request.conversation_id else ""),
        "user": _within_tenant(request, request.user),
        "key": request.key,
        "address": request.address,
    }
    decision = await asyncio.to_thread(limiter.hit, keys)
    if not decision.allowed:
        raise decision.error()


def _within_tenant(request: TurnRequest, name: str) -> str:
    """A name chosen by a tenant, made unique across tenants."""
    return f"{request.reach.tenant}\x1f{name}" if request.reach.tenant and name else name


def monotonic() -> int:
    """The monotonic clock in microseconds."""
    return time.monotonic_ns() // 1000


def _decision(kinds: Sequence[tuple[str, Limit]], spent: Sequence[Spent]) -> Decision:
    of_kind = list(zip(kinds, spent, strict=True))
    (kind, limit), worst = max(of_kind, key=lambda each: (each[1].wait, -each[1].remaining))
    return Decision(worst.wait == 0, kind, limit, worst.wait / 1_000_000, worst.remaining)


def _name(kind: str, value: str) -> str:
    """The name that an allowance is stored under. It is a digest, so a store never sees keys or unusual ids."""
    if kind == "address":
        value = _network(value)
    digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16, person=b"turnwise limit")
    return f"{kind}:{digest.hexdigest()}"


def _network(address: str) -> str:
    """An address as it is counted. For IPv6 that is the /64 network, because one client usually has all of it."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
