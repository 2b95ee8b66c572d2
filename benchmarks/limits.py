"""What it costs to count a message against its rate limits, by store.

    python benchmarks/limits.py [--hits 5000]

A hit is counted for a conversation, a user, a key and an address, or is refused by the first of them. Redis is a server
started on this machine; it is left out if it is not installed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.services import CannotInstall, redis
from turnwise.guard.limit_stores import RedisStore, SqliteStore
from turnwise.guard.limits import LimitStore, MemoryStore, RateLimiter
from turnwise.limits import LIMIT_SCOPES, Limit

USERS = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hits", type=int, default=5000)
    hits = parser.parse_args().hits
    print(f"{'a hit, microseconds':24} {'mean':>7} {'p50':>7} {'p95':>7}")
    with ExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        stores: dict[str, LimitStore] = {"memory": MemoryStore(), "sqlite": SqliteStore(Path(folder) / "limits.db")}
        try:
            stores["redis"] = RedisStore(opened.enter_context(redis()).url)
        except CannotInstall as reason:
            print(reason, file=sys.stderr)
        for name, store in stores.items():
            allowed = RateLimiter({kind: Limit(1_000_000, "day") for kind in LIMIT_SCOPES}, store, fail_closed=True)
            refusing = {kind: Limit(1_000_000, "day") for kind in LIMIT_SCOPES} | {"conversation": Limit(1, "day")}
            show(f"{name}, allowed", allowed, hits)
            show(f"{name}, refused", RateLimiter(refusing, store, fail_closed=True), hits)
            store.close()


def show(title: str, limiter: RateLimiter, hits: int) -> None:
    took = []
    for number in range(hits):
        who = {kind: f"{title.partition(',')[0]} {number % USERS}" for kind in limiter.limits}
        start = time.perf_counter()
        limiter.hit(who)
        took.append((time.perf_counter() - start) * 1e6)
    took.sort()
    print(f"{title:24} {sum(took) / hits:7.1f} {took[hits // 2]:7.1f} {took[hits * 95 // 100]:7.1f}")


if __name__ == "__main__":
    main()
