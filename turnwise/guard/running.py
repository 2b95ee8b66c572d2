"""Runs rails, each with a deadline. A rail that fails or hangs is reported as such, not as having found nothing."""

from __future__ import annotations

import contextvars
import dataclasses
import logging
import queue
import threading
import time
from collections.abc import Sequence

from turnwise.guard.verdict import SEVERITY, Case, Finding, Rail, State

MAX_HANGING_CHECKS = 3  # a rail that hangs in this many checks is skipped until one of them ends

log = logging.getLogger(__name__)
_hanging: dict[int, int] = {}  # hanging checks by the id of the rail, which lives as long as its hanging thread
_lock = threading.Lock()


def run_rails(rails: Sequence[Rail], case: Case, deadline: float) -> list[Finding]:
    """The finding of each rail, in order. The rails run in a separate thread. If one hangs past the deadline, its
    thread is abandoned, and the remaining rails run in another."""
    findings: dict[int, Finding] = {}
    for place, rail in enumerate(rails):
        if _hanging.get(id(rail), 0) >= MAX_HANGING_CHECKS:
            findings[place] = _unjudged(rail, "timed out", f"still hangs in {MAX_HANGING_CHECKS} earlier checks", 0.0)
    waiting = [place for place in range(len(rails)) if place not in findings]
    while waiting:
        worker = _Worker([rails[place] for place in waiting], case)
        while waiting:
            place = waiting.pop(0)
            finding = worker.next(deadline)
            findings[place] = finding or _unjudged(
                rails[place], "timed out", f"did not answer in {deadline:g} seconds", deadline
            )
            if finding is None:
                log.warning("the rail %s was cut off after %g seconds", rails[place].name, deadline)
                break
    return [findings[place] for place in range(len(rails))]


class _Worker:
    """Runs rails on one case in a thread, which is abandoned if one of them hangs."""

    def __init__(self, rails: Sequence[Rail], case: Case) -> None:
        self._rails = rails
        self._case = case
        self._done: queue.SimpleQueue[Finding] = queue.SimpleQueue()
        self._at = 0  # index of the rail that is running
        self._abandoned = False
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._run,), name="rails", daemon=True).start()

    def next(self, deadline: float) -> Finding | None:
        """The finding of the next rail, or None if it hangs."""
        try:
            return self._done.get(timeout=deadline)
        except queue.Empty:
            with _lock:
                if not self._done.empty():  # it arrived at the last moment
                    return self._done.get()
                self._abandoned = True
                rail = id(self._rails[self._at])
                _hanging[rail] = _hanging.get(rail, 0) + 1
                return None

    def _run(self) -> None:
        for rail in self._rails:
            finding = _run_rail(rail, self._case)
            with _lock:
                if self._abandoned:
                    _hanging[id(rail)] -= 1
                    if not _hanging[id(rail)]:
                        del _hanging[id(rail)]
                    return
                self._done.put(finding)
                self._at += 1


def _run_rail(rail: Rail, case: Case) -> Finding:
    start = time.perf_counter()
    try:
        finding = rail.check(case)
        if not isinstance(finding, Finding):
            raise TypeError(f"a rail should return a Finding, not {finding!r}")
        if finding.action not in SEVERITY:
            raise ValueError(f"the action of a rail can be {', '.join(SEVERITY)}, but not {finding.action!r}")
    except (Exception, SystemExit) as error:
        log.exception("the rail %s failed", rail.name)
        finding = _unjudged(rail, "failed", f"failed ({type(error).__name__})", 0.0)
    latency_ms = (time.perf_counter() - start) * 1000
    return dataclasses.replace(finding, fails=rail.fails, latency_ms=round(latency_ms, 3))


def _unjudged(rail: Rail, state: State, why: str, seconds: float) -> Finding:
    """The finding of a rail that could not judge."""
    reason = f"the rail {rail.name} {why}"
    action = "block" if rail.fails == "closed" else "allow"
    return Finding(rail.name, action, reason=reason, state=state, fails=rail.fails, latency_ms=seconds * 1000)  # type: ignore[arg-type]
