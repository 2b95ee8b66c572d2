"""Running rails: each gets its time, and one that fails or hangs is told apart from one that found nothing."""

from __future__ import annotations

import contextvars
import dataclasses
import logging
import queue
import threading
import time
from collections.abc import Sequence

from turnwise.guard.verdict import SEVERITY, Case, Finding, Rail, State

MOST_HANGING = 3  # checks that a rail may hang in; then it is left out until one of them comes to its end

log = logging.getLogger(__name__)
_hanging: dict[int, int] = {}  # by the id of a rail, which lives as long as the thread that it keeps waiting
_lock = threading.Lock()


def run_rails(rails: Sequence[Rail], case: Case, deadline: float) -> list[Finding]:
    """What each rail finds, in order. They run in a thread of their own: one that hangs is left behind at its deadline,
    and those after it go on in another."""
    found: dict[int, Finding] = {}
    for place, rail in enumerate(rails):
        if _hanging.get(id(rail), 0) >= MOST_HANGING:
            found[place] = _unjudged(rail, "timed out", f"still hangs in {MOST_HANGING} earlier checks", 0.0)
    waiting = [place for place in range(len(rails)) if place not in found]
    while waiting:
        work = _Work([rails[place] for place in waiting], case)
        while waiting:
            place = waiting.pop(0)
            came = work.next(deadline)
            found[place] = came or _unjudged(
                rails[place], "timed out", f"did not answer in {deadline:g} seconds", deadline
            )
            if came is None:
                log.warning("the rail %s was cut off after %g seconds", rails[place].name, deadline)
                break
    return [found[place] for place in range(len(rails))]


class _Work:
    """Rails at work on one case, in a thread that is left behind where one of them hangs."""

    def __init__(self, rails: Sequence[Rail], case: Case) -> None:
        self._rails = rails
        self._case = case
        self._done: queue.SimpleQueue[Finding] = queue.SimpleQueue()
        self._at = 0  # the rail that is at work
        self._left = False
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._work,), name="rails", daemon=True).start()

    def next(self, deadline: float) -> Finding | None:
        """What the next rail found; None where it hangs."""
        try:
            return self._done.get(timeout=deadline)
        except queue.Empty:
            with _lock:
                if not self._done.empty():  # it came at the last moment
                    return self._done.get()
                self._left = True
                rail = id(self._rails[self._at])
                _hanging[rail] = _hanging.get(rail, 0) + 1
                return None

    def _work(self) -> None:
        for rail in self._rails:
            found = _judged(rail, self._case)
            with _lock:
                if self._left:
                    _hanging[id(rail)] -= 1
                    if not _hanging[id(rail)]:
                        del _hanging[id(rail)]
                    return
                self._done.put(found)
                self._at += 1


def _judged(rail: Rail, case: Case) -> Finding:
    start = time.perf_counter()
    try:
        found = rail.check(case)
        if not isinstance(found, Finding):
            raise TypeError(f"a rail should give a Finding, not {found!r}")
        if found.action not in SEVERITY:
            raise ValueError(f"a rail can {', '.join(SEVERITY)}, but not {found.action!r}")
    except (Exception, SystemExit) as error:
        log.exception("the rail %s failed", rail.name)
        found = _unjudged(rail, "failed", f"failed ({type(error).__name__})", 0.0)
    took = (time.perf_counter() - start) * 1000
    return dataclasses.replace(found, fails=rail.fails, latency_ms=round(took, 3))


def _unjudged(rail: Rail, state: State, why: str, seconds: float) -> Finding:
    reason = f"the rail {rail.name} {why}"
    action = "block" if rail.fails == "closed" else "allow"
    return Finding(rail.name, action, reason=reason, state=state, fails=rail.fails, latency_ms=seconds * 1000)  # type: ignore[arg-type]
