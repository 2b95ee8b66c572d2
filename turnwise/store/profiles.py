"""What is remembered about users across their conversations: JSON, by tenant and user."""

from __future__ import annotations

import json
import time
from typing import Any

from turnwise.store.rows import dump, hashed
from turnwise.store.sql import Sql
from turnwise.text import storable

TABLE = (
    "CREATE TABLE profiles (name TEXT PRIMARY KEY, tenant TEXT, user_id TEXT, profile TEXT,"
    " changed_at DOUBLE PRECISION)"
)


class UserProfiles:
    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def profile(self, tenant: str, user: str) -> dict[str, Any] | None:
        """What is remembered about a user, or None if nothing is."""
        rows = self._sql.rows("SELECT profile FROM profiles WHERE name = ?", hashed(tenant, user))
        return json.loads(rows[0]["profile"]) if rows else None

    def put(self, tenant: str, user: str, profile: dict[str, Any]) -> None:
        """Remember this about a user, replacing what was remembered before."""
        with self._sql.write() as do:
            do(
                "INSERT INTO profiles (name, tenant, user_id, profile, changed_at) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET profile = excluded.profile, changed_at = excluded.changed_at",
                *(hashed(tenant, user), tenant, storable(user), dump(profile), time.time()),
            )

    def delete(self, tenant: str, user: str) -> bool:
        """Forget a user. Returns False if nothing was remembered."""
        with self._sql.write() as do:
            return bool(do("DELETE FROM profiles WHERE name = ?", hashed(tenant, user)).rowcount)
