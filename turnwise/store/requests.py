"""Requests that came with an Idempotency-Key: each is answered once, and its answer is given again for a day."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

from turnwise.errors import KeyReused, RequestInFlight
from turnwise.store.owner import here, is_gone
from turnwise.store.rows import dump
from turnwise.store.sql import Sql

A_DAY = 86_400.0
LONGEST = 900.0  # seconds that an answer may take; who claimed a request before that came to nothing

TABLE = (
    "CREATE TABLE requests (name TEXT PRIMARY KEY, digest TEXT, owner TEXT, claimed_at DOUBLE PRECISION, answer TEXT)"
)
BY_TIME = "CREATE INDEX requests_by_time ON requests (claimed_at)"


class Requests:
    """Requests with a key, by tenant. A claim is of a process: one that died leaves its requests to others."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def claim(self, tenant: str, key: str, digest: str) -> dict[str, Any] | None:
        """None where the request is new, and now this process's to answer; the answer where it was given. Raises
        RequestInFlight while somebody is at work on it, KeyReused where the key came with another digest."""
        name, now = _name(tenant, key), time.time()
        with self._sql.write(lock=f"request {name}") as do:
            do("DELETE FROM requests WHERE claimed_at < ?", now - A_DAY)
            found = do("SELECT digest, owner, claimed_at, answer FROM requests WHERE name = ?", name).fetchone()
            if found is None:
                do(
                    "INSERT INTO requests (name, digest, owner, claimed_at) VALUES (?, ?, ?, ?)",
                    name,
                    digest,
                    here(),
                    now,
                )
                return None
            if found["digest"] != digest:
                raise KeyReused(
                    "This Idempotency-Key came with another request before.", "Use a new key for each request."
                )
            if found["answer"] is not None:
                answer: dict[str, Any] = json.loads(found["answer"])
                return answer
            if not is_gone(found["owner"]) and now - found["claimed_at"] < LONGEST:
                raise RequestInFlight("The same request is being answered.", "Wait for it, then send it again.")
            do("UPDATE requests SET owner = ?, claimed_at = ? WHERE name = ?", here(), now, name)
            return None

    def complete(self, tenant: str, key: str, answer: dict[str, Any]) -> None:
        """Keep the answer to a request that this process claimed."""
        with self._sql.write() as do:
            do(
                "UPDATE requests SET answer = ? WHERE name = ? AND owner = ? AND answer IS NULL",
                *(dump(answer), _name(tenant, key), here()),
            )

    def release(self, tenant: str, key: str) -> None:
        """Let the same request be sent again: it came to nothing."""
        with self._sql.write() as do:
            do(
                "DELETE FROM requests WHERE name = ? AND owner = ? AND answer IS NULL",
                *(_name(tenant, key), here()),
            )


def _name(tenant: str, key: str) -> str:
    """A hash, for keys may be longer than an index takes."""
    return hashlib.sha256(f"{tenant}\x1f{key}".encode("utf-8", "surrogatepass")).hexdigest()
