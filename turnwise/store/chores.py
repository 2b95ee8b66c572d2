"""Work on the library that only one process does at a time, on a lease: others take over if it dies or hangs."""

from __future__ import annotations

import time

from turnwise.store.owner import here, is_gone
from turnwise.store.sql import Sql

LEASE_SECONDS = 120.0  # whoever does the work takes it again from time to time

TABLE = "CREATE TABLE chores (name TEXT PRIMARY KEY, owner TEXT, held_until DOUBLE PRECISION)"


class Chores:
    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def take(self, name: str) -> bool:
        """Whether this process now holds the work, for a while. Returns False if another process does."""
        now = time.time()
        with self._sql.write(lock=f"chore {name}") as do:
            found = do("SELECT owner, held_until FROM chores WHERE name = ?", name).fetchone()
            # A lease that ends much later was taken before a clock was set back.
            held = found and now < found["held_until"] < now + 2 * LEASE_SECONDS
            if held and found["owner"] != here() and not is_gone(found["owner"]):
                return False
            do(
                "INSERT INTO chores (name, owner, held_until) VALUES (?, ?, ?) ON CONFLICT (name)"
                " DO UPDATE SET owner = excluded.owner, held_until = excluded.held_until",
                *(name, here(), now + LEASE_SECONDS),
            )
        return True

    def leave(self, name: str) -> None:
        """Release the work."""
        with self._sql.write() as do:
            do("DELETE FROM chores WHERE name = ? AND owner = ?", name, here())
