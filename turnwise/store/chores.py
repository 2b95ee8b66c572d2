"""Work on the library that one process does at a time, on a lease: who died or fell silent leaves it to others."""

from __future__ import annotations

import time

from turnwise.store.owner import here, is_gone
from turnwise.store.sql import Sql

LEASE = 120.0  # seconds; who is at work takes it again from time to time

TABLE = "CREATE TABLE chores (name TEXT PRIMARY KEY, owner TEXT, held_until DOUBLE PRECISION)"


class Chores:
    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def take(self, name: str) -> bool:
        """Whether the work is this process's from now on, for a while. False where another is at it."""
        now = time.time()
        with self._sql.write(lock=f"chore {name}") as do:
            found = do("SELECT owner, held_until FROM chores WHERE name = ?", name).fetchone()
            held = found and now < found["held_until"] < now + 2 * LEASE  # further ahead: a clock was set back since
            if held and found["owner"] != here() and not is_gone(found["owner"]):
                return False
            do(
                "INSERT INTO chores (name, owner, held_until) VALUES (?, ?, ?) ON CONFLICT (name)"
                " DO UPDATE SET owner = excluded.owner, held_until = excluded.held_until",
                *(name, here(), now + LEASE),
            )
        return True

    def leave(self, name: str) -> None:
        """Let others have the work."""
        with self._sql.write() as do:
            do("DELETE FROM chores WHERE name = ? AND owner = ?", name, here())
