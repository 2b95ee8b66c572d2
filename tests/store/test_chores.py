"""Work that one process does at a time: who is at it keeps it, and who is gone or silent leaves it to others."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests.store.conftest import Open
from turnwise.store import chores
from turnwise.types import ConversationStore

OTHER = """
import sys
from pathlib import Path
place = sys.argv[1]
if place.startswith("postgres:"):
    from turnwise.postgres import Database
    from turnwise.store.postgres import PostgresStore
    store = PostgresStore(Database(place))
else:
    from turnwise.sqlite import Database
    from turnwise.store.embedded import EmbeddedStore
    store = EmbeddedStore(Database(Path(place)))
for line in sys.stdin:
    done = store.chores.take("embedding") if line == "take\\n" else store.chores.leave("embedding")
    print(done, flush=True)
"""


class Other:
    """The same store in another process."""

    def __init__(self, place: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", OTHER, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def do(self, said: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{said}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def test_one_process_is_at_it_until_it_leaves_or_dies(place: str, store: ConversationStore) -> None:
    other = Other(place)
    try:
        assert store.chores.take("embedding")
        assert store.chores.take("embedding"), "it stays ours"
        assert other.do("take") == "False"
        assert other.do("leave") == "None"
        assert other.do("take") == "False", "nobody takes it from us by leaving"
        store.chores.leave("embedding")
        assert other.do("take") == "True"
        assert not store.chores.take("embedding")
        assert store.chores.take("another chore")
    finally:
        other.kill()
    assert store.chores.take("embedding"), "the other is gone"


def test_who_is_silent_for_long_has_left_it(
    place: str, store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Other(place)
    try:
        assert other.do("take") == "True"
        assert not store.chores.take("embedding")
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + chores.LEASE_SECONDS + 1)
        assert store.chores.take("embedding")
        monkeypatch.setattr(time, "time", lambda: now - 1e6)
        assert store.chores.take("embedding")
    finally:
        other.kill()


def test_of_many_that_want_it_at_once_one_gets_it(place: str, open_store: Open) -> None:
    open_store()
    others = [Other(place) for _ in range(3)]
    try:
        assert sorted(each.do("take") for each in others) == ["False", "False", "True"]
    finally:
        for each in others:
            each.kill()
