"""A limit on how long a piece of code may take, also where it is deep inside a regular expression."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail the test when the block, run by the main thread, takes longer."""

    def late(*_: object) -> None:
        pytest.fail(f"it took longer than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something holds; fail the test where it does not come."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"it did not come within {seconds:g} seconds")
        time.sleep(0.01)
