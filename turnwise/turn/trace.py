"""The trace: what each stage decided, why, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from turnwise.types import StageDone, StageTrace, Trace


class Stage:
    """A running stage, which records its decision before it ends."""

    def __init__(self) -> None:
        self.decision = ""
        self.reason = ""
        self.details: dict[str, Any] = {}

    def decide(self, decision: str, reason: str = "", **details: Any) -> None:
        self.decision, self.reason, self.details = decision, reason, details


class TraceLog:
    """The stages of a turn so far."""

    def __init__(self) -> None:
        self._stages: list[StageTrace] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """Time a stage and record its decision. A stage that raises is recorded too, with the error as its reason."""
        running = Stage()
        start = time.perf_counter()
        try:
            yield running
        except BaseException as error:
            running.decide(running.decision or "stopped", running.reason or str(error) or type(error).__name__)
            raise
        finally:
            ms = round((time.perf_counter() - start) * 1000, 2)
            self._stages.append(StageTrace(name, running.decision, running.reason, ms, running.details))

    def last(self) -> StageDone:
        return StageDone(self._stages[-1])

    def all(self) -> Trace:
        return tuple(self._stages)
