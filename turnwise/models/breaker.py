"""Leaving an endpoint alone for a while when it fails again and again, so that nobody waits for it in vain."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from turnwise.errors import ModelError, ModelRefused, ModelUnavailable

FAILURES = 3  # in a row, after which the endpoint is left alone
REST = 30.0  # seconds for which it is


class Breaker:
    """Counts the failures of one endpoint. Safe for several threads and event loops.

    After `failures` in a row every call is refused at once for `rest` seconds. Then one call is let through to try it:
    if that succeeds all are, if it fails the rest begins anew. A refusal with a reason (a wrong key, a message too
    long) is no failure: the endpoint is there. Neither is a reader who left.
    """

    def __init__(
        self, failures: int = FAILURES, rest: float = REST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = failures
        self._rest = rest
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0
        self._trying = False
        self._last = ""

    @contextmanager
    def call(self, name: str) -> Iterator[None]:
        """Around one call of the endpoint, which `name` stands for in the error where it is refused."""
        tried = self._enter(name)
        try:
            yield
        except BaseException as error:
            self._leave(tried, error)
            raise
        else:
            self._leave(tried, None)

    def _enter(self, name: str) -> bool:
        """Whether this call is the one that tries an endpoint that was left alone."""
        with self._lock:
            if self._failures < self._most:
                return False
            left = self._until - self._clock()
            if left > 0 or self._trying:
                wait = f"for {left:.0f} more seconds" if left >= 1 else "while it is being tried again"
                raise ModelUnavailable(
                    f"{name} is not asked {wait}, after {self._failures} failures in a row. The last one: {self._last}",
                    "It is tried again by itself.",
                )
            self._trying = True
            return True

    def _leave(self, tried: bool, error: BaseException | None) -> None:
        with self._lock:
            if tried:
                self._trying = False
            if error is None or isinstance(error, ModelRefused):
                self._failures = 0
            elif isinstance(error, ModelError):
                self._failures += 1
                self._last = str(error)
                self._until = self._clock() + self._rest
