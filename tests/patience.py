"""Limits on how long code, run by the main thread, may take, also where it is deep inside a regular expression."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail the test when the block takes more of the processor's time: that others are at work too is no fault."""
    with _alarmed(signal.SIGPROF, signal.ITIMER_PROF, seconds):
        yield


@contextmanager
def ended_within(seconds: float) -> Iterator[None]:
    """Fail the test when the block, which may wait, has not ended after so long."""
    with _alarmed(signal.SIGALRM, signal.ITIMER_REAL, seconds):
        yield


@contextmanager
def _alarmed(alarm: signal.Signals, clock: int, seconds: float) -> Iterator[None]:
    def late(*_: object) -> None:
        pytest.fail(f"it took longer than {seconds:g} seconds")

    before = signal.signal(alarm, late)
    signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        signal.setitimer(clock, 0)
        signal.signal(alarm, before)


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds; fail the test where it does not come."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"it did not come within {seconds:g} seconds")
        time.sleep(0.01)
