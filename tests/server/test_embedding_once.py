"""Of several servers over one library, one makes the missing vectors at a time."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.server.scripted import ScriptedEngine, answers
from turnwise.server import embedding
from turnwise.server.embedding import CHORE, Embedding
from turnwise.store.owner import _name, this_machine
from turnwise.types import Progress


class Waiting(ScriptedEngine):
    """Has passages without vectors, until they are made here."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, answers)
        self.index.waiting = 3  # type: ignore[attr-defined]
        self.made = threading.Event()
        self.looked = threading.Event()

    def pending(self) -> int:
        self.looked.set()
        return super().pending()

    def embed(self, progress: Progress | None = None, stop: threading.Event | None = None) -> int:  # noqa: ARG002
        assert progress
        progress("embedding", 0, 3)
        self.index.waiting = 0  # type: ignore[attr-defined]
        self.made.set()
        return 3


def test_a_server_leaves_them_to_another_that_is_at_it_and_makes_what_that_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "RETRY_SECONDS", 0.05)
    engine = Waiting(tmp_path)
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    making = Embedding(engine)
    try:
        with engine.database.write() as tx:
            held = (CHORE, f"{this_machine()}/{_name(other.pid)}", time.time() + 100)
            tx.execute("INSERT INTO chores VALUES (?, ?, ?)", held)
        making.start()
        for _ in range(3):
            engine.looked.clear()
            assert engine.looked.wait(10), "it looks again"
        assert not engine.made.is_set()
        other.kill()
        other.communicate()
        assert engine.made.wait(10)
    finally:
        making.stop()
        other.kill()
        other.communicate()
    assert list(engine.database.connection().execute("SELECT * FROM chores")) == [], "others may go on"
    engine.database.close()
