"""Vectors made beside a server: of what waits for them when it starts, and of what is uploaded while it runs."""

from __future__ import annotations

import threading
import time

from turnwise.engine import Engine
from turnwise.errors import TurnwiseError
from turnwise.server.problems import log

AGAIN = 30.0  # seconds after which it is tried again where no vectors could be made, or another process makes them
HELD = 30.0  # seconds after which it is said again that this process makes them
CHORE = "embedding"


class Embedding:
    """Makes missing vectors on a thread of its own, from `start` to `stop`; `wake` says that there may be some."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stop = threading.Event()
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None
        self._held = 0.0

    def start(self) -> None:
        self._stop.clear()
        self._woken.set()
        self._thread = threading.Thread(target=self._work, name="embedding")
        self._thread.start()

    def wake(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        """Return when no more are being made."""
        self._stop.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        failed = False
        while not self._stop.is_set():
            self._woken.wait(AGAIN if failed else None)
            self._woken.clear()
            failed = not self._stop.is_set() and not self._embed(failed)

    def _embed(self, said: bool) -> bool:
        """Make what is missing. False where that could not be done, which is logged where it was not said before, and
        while another process does it: what it leaves is made here."""
        chores = self._engine.store.chores
        try:
            if not self._engine.unfinished():
                return True
            if not chores.take(CHORE):
                return False
            try:
                self._engine.embed(lambda *_: self._hold(), self._stop)
            finally:
                chores.leave(CHORE)
        except TurnwiseError as error:
            if not said:
                log.error("Vectors are not being made: %s %s", error, error.hint)
            return False
        except Exception:
            log.exception("Vectors are not being made")
            return False
        return True

    def _hold(self) -> None:
        """Say now and then that this process is at work on it."""
        if time.monotonic() > self._held + HELD:
            self._held = time.monotonic()
            self._engine.store.chores.take(CHORE)
