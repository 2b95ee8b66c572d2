"""Stores for allowances that several processes share: a SQLite file for one machine, Redis for many."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from turnwise.errors import ConfigError, LibraryError, LimitsUnavailable
from turnwise.guard.limits import MAX_KEYS, LimitStore, MemoryStore, RateLimiter
from turnwise.limits import Limit, Spent, spend
from turnwise.sqlite import Database

SQLITE_TIMEOUT_SECONDS = 2.0  # how long the file may be locked by others
REDIS_TIMEOUT_SECONDS = 0.2
TIDY_EVERY = 1000  # messages after which allowances that are whole again are deleted from a SQLite file

# The same calculation as `spend`, in one step on the server and by its clock.
REDIS_SCRIPT = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local found, answer, back, refused = redis.call('MGET', unpack(KEYS)), {}, {}, false
for place = 1, #KEYS do
    local interval, whole = tonumber(ARGV[place * 2 - 1]), tonumber(ARGV[place * 2])
    local held = tonumber(found[place] or now) or now
    local after = math.min(math.max(held, now), now + whole) + interval
    local wait = math.max(0, after - whole - now)
    refused = refused or wait > 0
    back[place] = held > now + whole and now + whole or nil  -- the clock was set back
    answer[place] = {after, wait, wait > 0 and 0 or math.floor((now + whole - after) / interval)}
end
for place, each in ipairs(answer) do
    local kept = not refused and each[1] or back[place]
    if kept then
        redis.call('SET', KEYS[place], string.format('%.0f', kept), 'PX', math.ceil((kept - now) / 1000) + 1)
    end
end
return answer
"""


def rate_limiter(limits: Mapping[str, str], store: str, file: Path, fail_closed: bool = False) -> RateLimiter | None:
    """The limiter for these settings: limits as text by kind, and the store (memory, sqlite, redis://…). None if no
    limit is set."""
    parsed = {kind: _limit(kind, text) for kind, text in limits.items() if text.strip()}
    opened = _store(store, file)
    return RateLimiter(parsed, opened, fail_closed) if parsed else None


def _limit(kind: str, text: str) -> Limit:
    try:
        return Limit.parse(text)
    except ConfigError as error:
        raise ConfigError(f"'limit_{kind}': {error}", error.hint) from error


def _store(store: str, file: Path) -> LimitStore:
    if store == "memory":
        return MemoryStore()
    if store == "sqlite":
        return SqliteStore(file)
    if store.startswith(("redis://", "rediss://")):
        return RedisStore(store)
    scheme = store.partition("://")[0]  # the rest may contain a password
    raise ConfigError(f"'limits_store' cannot be {scheme!r}.", "Set it to memory, sqlite or redis://HOST:PORT.")


class SqliteStore:
    """Allowances in a file that the processes of one machine share, measured on the system clock."""

    def __init__(self, file: Path, max_keys: int = MAX_KEYS, clock: Callable[[], int] | None = None) -> None:
        self._database = Database(file, patience=SQLITE_TIMEOUT_SECONDS)
        self._max_keys = max_keys
        self._clock = clock or (lambda: time.time_ns() // 1000)
        self._table_ready = False
        self._takes = 0
        self._longest = 0

    def take(self, asked: Sequence[tuple[str, Limit]]) -> list[Spent]:
        try:
            return self._take(asked)
        except (LibraryError, OSError) as error:
            self._table_ready = False  # the file may have been deleted
            raise LimitsUnavailable(f"The rate limits cannot be kept: {error}", getattr(error, "hint", "")) from error

    def _take(self, asked: Sequence[tuple[str, Limit]]) -> list[Spent]:
        if not self._table_ready:
            self._create_table()
        with self._database.write() as tx:
            now = self._clock()  # after the lock is taken; an earlier time would look like a clock set back
            marks = ",".join("?" * len(asked))
            found = dict(
                map(tuple, tx.execute(f"SELECT * FROM allowances WHERE name IN ({marks})", [name for name, _ in asked]))
            )
            spent = [spend(found.get(name, now), now, limit) for name, limit in asked]
            refused = any(each.wait for each in spent)
            tx.executemany(
                "INSERT INTO allowances VALUES (?, ?) ON CONFLICT DO UPDATE SET whole_at = excluded.whole_at",
                [
                    (name, each.whole_at if not refused else now + limit.whole)
                    for (name, limit), each in zip(asked, spent, strict=True)
                    if not refused or found.get(name, now) > now + limit.whole  # the clock was set back
                ],
            )
            self._longest = max(self._longest, *(limit.whole for _, limit in asked))
            self._takes += 1
            if self._takes % TIDY_EVERY == 0:
                tx.execute(
                    "DELETE FROM allowances WHERE whole_at NOT BETWEEN ? AND ? OR name IN"
                    " (SELECT name FROM allowances ORDER BY whole_at DESC LIMIT -1 OFFSET ?)",
                    (now, now + self._longest, self._max_keys),
                )
            return spent

    def _create_table(self) -> None:
        self._database.path.parent.mkdir(parents=True, exist_ok=True)
        with self._database.write() as tx:
            tx.execute(
                "CREATE TABLE IF NOT EXISTS allowances (name TEXT PRIMARY KEY, whole_at INTEGER NOT NULL) WITHOUT ROWID"
            )
            tx.execute("CREATE INDEX IF NOT EXISTS allowances_whole_at ON allowances (whole_at)")
        self._table_ready = True

    def close(self) -> None:
        self._database.close()


class RedisStore:
    """Allowances in Redis, shared by many machines and measured on its clock. Redis expires those that are whole
    again."""

    def __init__(self, url: str, timeout: float = REDIS_TIMEOUT_SECONDS) -> None:
        try:
            import redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError as error:
            raise ConfigError("'limits_store' needs the Redis client.", 'pip install "turnwise[redis]"') from error
        place = urlsplit(url)
        try:
            self.name = f"{place.hostname or 'localhost'}:{place.port or 6379}"
            self._client = redis.Redis.from_url(
                url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=Retry(NoBackoff(), 0)
            )
        except ValueError as error:
            raise ConfigError(f"'limits_store' cannot be used: {error}.", "Write redis://HOST:PORT.") from error
        self._script = self._client.register_script(REDIS_SCRIPT)
        self._failures = (redis.RedisError, OSError)

    def take(self, asked: Sequence[tuple[str, Limit]]) -> list[Spent]:
        names = [f"{{turnwise}}:limit:{name}" for name, _ in asked]  # the braces keep them on one node of a cluster
        numbers = [number for _, limit in asked for number in (limit.interval, limit.whole)]
        try:
            answer: Any = self._script(names, numbers)
        except self._failures as error:
            raise LimitsUnavailable(
                f"The rate limits in Redis at {self.name} cannot be reached: {error}.", "Check that it runs."
            ) from error
        return [Spent(*each) for each in answer]

    def close(self) -> None:
        self._client.close()
