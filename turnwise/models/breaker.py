"""A circuit breaker: after repeated failures, an endpoint is not called for a while, so that nobody waits in vain."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from turnwise.errors import ModelError, ModelRefused, ModelUnavailable

MAX_FAILURES = 3  # in a row
REST_SECONDS = 30.0


class Breaker:
    """Counts the failures of one endpoint. Safe for several threads and event loops.

    After `failures` in a row, every call is refused at once for `rest` seconds. Then one call is let through as a
    trial: if it succeeds, all calls are; if it fails, the rest starts again. A refusal with a reason (a wrong key, a
    message too long) is not a failure, because the endpoint is up. Neither is a reader who disconnects.
    """

    def __init__(
        self, failures: int = MAX_FAILURES, rest: float = REST_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_failures = failures
        self._rest = rest
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0
        self._trying = False
        self._last = ""

    @contextmanager
    def call(self, name: str) -> Iterator[None]:
        """Wrap one call of the endpoint. `name` is used in the error if the call is refused."""
        is_trial = self._enter(name)
        try:
            yield
        except BaseException as error:
            self._leave(is_trial, error)
            raise
        else:
            self._leave(is_trial, None)

    def _enter(self, name: str) -> bool:
        """Whether this call is the trial after a rest."""
        with self._lock:
            if self._failures < self._max_failures:
                return False
            left = self._until - self._clock()
            if left > 0 or self._trying:
                wait = f"for {left:.0f} more seconds" if left >= 1 else "while it is being tried again"
                raise ModelUnavailable(
                    f"{name} is not asked {wait}, after {self._failures} failures in a row. The last one: {self._last}",
                    "It is tried again automatically.",
                )
            self._trying = True
            return True

    def _leave(self, is_trial: bool, error: BaseException | None) -> None:
        with self._lock:
            if is_trial:
                self._trying = False
            if error is None or isinstance(error, ModelRefused):
                self._failures = 0
            elif isinstance(error, ModelError):
                self._failures += 1
                self._last = str(error)
                self._until = self._clock() + self._rest
