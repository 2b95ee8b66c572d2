"""Requests with an Idempotency-Key: each is answered once, and its answer is repeated for a day."""

from __future__ import annotations

import json
import time
from typing import Any

from turnwise.errors import KeyReused, RequestInFlight
from turnwise.store.owner import here, is_gone
from turnwise.store.rows import dump, hashed
from turnwise.store.sql import Sql

KEPT_SECONDS = 86_400.0
MAX_ANSWER_SECONDS = 900.0  # a request claimed longer ago than this has failed

TABLE = (
    "CREATE TABLE requests (name TEXT PRIMARY KEY, digest TEXT, owner TEXT, claimed_at DOUBLE PRECISION, answer TEXT)"
)
BY_TIME = "CREATE INDEX requests_by_time ON requests (claimed_at)"


class Requests:
    """Requests with a key, by tenant. A claim belongs to a process: if it dies, others can claim its requests."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def claim(self, tenant: str, key: str, digest: str) -> dict[str, Any] | None:
        """None if the request is new, and from now on this process's to answer; the answer if it has one. Raises
        RequestInFlight while another caller is answering it, and KeyReused if the key came with another digest."""
        name, now = hashed(tenant, key), time.time()
        with self._sql.write(lock=f"request {name}") as do:
            do("DELETE FROM requests WHERE claimed_at < ?", now - KEPT_SECONDS)
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
            if not is_gone(found["owner"]) and now - found["claimed_at"] < MAX_ANSWER_SECONDS:
                raise RequestInFlight("The same request is being answered.", "Wait for it, then send it again.")
            do("UPDATE requests SET owner = ?, claimed_at = ? WHERE name = ?", here(), now, name)
            return None

    def complete(self, tenant: str, key: str, answer: dict[str, Any]) -> None:
        """Store the answer to a request that this process claimed."""
        with self._sql.write() as do:
            do(
                "UPDATE requests SET answer = ? WHERE name = ? AND owner = ? AND answer IS NULL",
                *(dump(answer), hashed(tenant, key), here()),
            )

    def release(self, tenant: str, key: str) -> None:
        """Allow the same request to be sent again, because it failed."""
        with self._sql.write() as do:
            do(
                "DELETE FROM requests WHERE name = ? AND owner = ? AND answer IS NULL",
                *(hashed(tenant, key), here()),
            )
