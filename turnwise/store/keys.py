"""API keys: who they belong to, and what they allow. A key is shown once, when it is created, and stored as a hash."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterable
from typing import Any, get_args

from turnwise.errors import BadRequest
from turnwise.store.rows import dump, tenant_name
from turnwise.store.sql import Sql
from turnwise.text import storable
from turnwise.types import Key, Permission

KEY_PREFIX = "tw_"
HINT_CHARS = 7  # the part of a key that is stored in clear text
NOTE_INTERVAL_SECONDS = 60.0

TABLE = (
    "CREATE TABLE api_keys (id TEXT PRIMARY KEY, digest TEXT UNIQUE, name TEXT, tenant TEXT, collections TEXT,"
    " may TEXT, created_at DOUBLE PRECISION, expires_at DOUBLE PRECISION, revoked_at DOUBLE PRECISION,"
    " last_used_at DOUBLE PRECISION, hint TEXT)"
)


class Keys:
    """The keys of a library, for all tenants."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self._noted: dict[str, float] = {}  # when this process last recorded the use of a key

    def create(
        self,
        name: str,
        tenant: str = "",
        collections: Iterable[str] = (),
        may: Permission = "ask",
        expires_at: float | None = None,
    ) -> tuple[Key, str]:
        """A new key and its secret, which is stored only as a hash and never shown again."""
        if not name.strip() or storable(name) != name:
            raise BadRequest("A key needs a name.", "Say whose it is, or what for.")
        if may not in get_args(Permission):
            raise BadRequest(f"A key cannot be for {may!r}.", f"Choose one of {', '.join(get_args(Permission))}.")
        secret = KEY_PREFIX + secrets.token_urlsafe(32)
        made = Key(
            secrets.token_hex(6),
            " ".join(name.split()),
            tenant_name(tenant),
            tuple(collections),
            may,
            time.time(),
            expires_at,
            hint=secret[:HINT_CHARS],
        )
        with self._sql.write() as do:
            do(
                "INSERT INTO api_keys (id, digest, name, tenant, collections, may, created_at, expires_at, hint)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *(made.id, _digest(secret), made.name, made.tenant, dump(made.collections), may),
                *(made.created_at, expires_at, made.hint),
            )
        return made, secret

    def find(self, secret: str) -> Key | None:
        """The key with this secret, valid or not, or None if there is none."""
        return self._one("SELECT * FROM api_keys WHERE digest = ?", _digest(secret))

    def key(self, key_id: str) -> Key | None:
        return self._one("SELECT * FROM api_keys WHERE id = ?", storable(key_id))

    def all(self) -> list[Key]:
        """Every key, in order of creation."""
        return [_key(row) for row in self._sql.rows("SELECT * FROM api_keys ORDER BY created_at, id")]

    def revoke(self, key_id: str) -> bool:
        """Revoke a key. Returns False if there is no such key."""
        with self._sql.write() as do:
            found = do(
                "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", time.time(), storable(key_id)
            )
            return bool(found.rowcount)

    def used(self, key_id: str) -> None:
        """Record that a key was used now, at most once a minute."""
        now = time.time()
        if now - self._noted.get(key_id, 0.0) < NOTE_INTERVAL_SECONDS:
            return
        with self._sql.write() as do:
            do("UPDATE api_keys SET last_used_at = ? WHERE id = ?", now, storable(key_id))
        self._noted[key_id] = now

    def _one(self, statement: str, value: str) -> Key | None:
        rows = self._sql.rows(statement, value)
        return _key(rows[0]) if rows else None


def _key(row: dict[str, Any]) -> Key:
    values = {name: value for name, value in row.items() if name != "digest"}
    return Key(**{**values, "collections": tuple(json.loads(row["collections"]))})


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
