"""Vectors made in the background: for what lacks them when the server starts, and for uploads while it runs."""

from __future__ import annotations

import threading
import time

from turnwise.engine import Engine
from turnwise.errors import TurnwiseError
from turnwise.server.problems import log

RETRY_SECONDS = 30.0  # until the next try, after a failure or while another process makes them
RENEW_SECONDS = 30.0  # between renewals of this process's claim to make them
CHORE = "embedding"


class Embedding:
    """Makes missing vectors on its own thread, from `start` to `stop`; `wake` tells it that some may be missing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stop = threading.Event()
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None
        self._renewed = 0.0

    def start(self) -> None:
        self._stop.clear()
        self._woken.set()
        self._thread = threading.Thread(target=self._work, name="embedding")
        self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        """Return once no more are being made."""
        self._stop.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        failed = False
        while not self._stop.is_set():
            self._woken.wait(RETRY_SECONDS if failed else None)
            self._woken.clear()
            failed = not self._stop.is_set() and not self._embed(failed)

    def _embed(self, logged: bool) -> bool:
        """Make what is missing. False if that failed, which is logged unless it was already, and if another process
        is making them: what it leaves is made here later."""
        chores = self._engine.store.chores
        try:
            if not self._engine.unfinished():
                return True
            if not chores.take(CHORE):
                return False
            try:
                self._engine.embed(lambda *_: self._renew(), self._stop)
            finally:
                chores.leave(CHORE)
        except TurnwiseError as error:
            if not logged:
                log.error("Vectors are not being made: %s %s", error, error.hint)
            return False
        except Exception:
            log.exception("Vectors are not being made")
            return False
        return True

    def _renew(self) -> None:
        """Renew the claim now and then: a crashed or silent process loses it."""
        if time.monotonic() > self._renewed + RENEW_SECONDS:
            self._renewed = time.monotonic()
            self._engine.store.chores.take(CHORE)
