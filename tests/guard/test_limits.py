"""Rate limits: the same decisions in memory, SQLite and Redis, whatever clocks, processes and servers do."""

from __future__ import annotations

import asyncio
import itertools
import logging
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openai
import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.scripted import Client
from tests.services import RedisServer
from turnwise.app import build
from turnwise.config import Settings
from turnwise.errors import ConfigError, LimitsUnavailable, TooManyRequests
from turnwise.guard.limit_stores import RedisStore, SqliteStore, rate_limiter
from turnwise.guard.limits import STORE_RETRY_SECONDS, LimitStore, MemoryStore, RateLimiter, admit
from turnwise.limits import Limit
from turnwise.server.caller import address_of
from turnwise.server.run import running
from turnwise.types import TurnRequest

SECOND = 1_000_000
ANN = {"user": "ann"}


class Clock:
    """A clock in microseconds that the test sets."""

    def __init__(self, now: int = 1_800_000_000 * SECOND) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class Model:
    """The definition of a limit: no window has more messages than the burst and what comes back during it."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.taken: list[int] = []

    def allows(self, now: int) -> bool:
        counted = enumerate(reversed(self.taken), 2)
        return all(number <= self.limit.burst + (now - start) / self.limit.interval for number, start in counted)


@pytest.fixture(params=["memory", "sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LimitStore]:
    """An empty store of each kind, on its own clock."""
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        redis.Redis.from_url(server.url).flushall()
        opened: LimitStore = RedisStore(server.url, timeout=5)
    else:
        opened = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "limits.db")
    yield opened
    opened.close()


# --- limits as text ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "limit", "spoken"),
    [
        ("30/minute", Limit(30, "minute", 30), "30 messages a minute"),
        ("5/second", Limit(5, "second"), "5 messages a second"),
        (" 1000 / Day ", Limit(1000, "day"), "1000 messages a day"),
        ("1 per hour", Limit(1, "hour"), "1 message an hour"),
        ("20/minute burst 5", Limit(20, "minute", 5), "20 messages a minute (5 at once)"),
    ],
)
def test_a_limit_is_read_from_text(text: str, limit: Limit, spoken: str) -> None:
    assert Limit.parse(text) == limit
    assert limit.description == spoken
    assert Limit.parse(str(limit)) == limit


@pytest.mark.parametrize(
    "text",
    ["", "30", "/minute", "-1/minute", "0/minute", "1.5/minute", "30/fortnight", "30/minute burst", "30/minute burst 0",
     "30/minute burst -1", "1000001/second", "٣/minute", "30/minute; 5/second", "9" * 5000 + "/day"],
)  # fmt: skip
def test_what_is_no_limit_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Limit.parse(text)
    assert "Write 30/minute" in raised.value.hint or "Use 1 to 1,000,000" in raised.value.hint
    assert len(str(raised.value)) < 200


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'limit_user': “often” is not a rate limit"):
        rate_limiter({"user": "often"}, "memory", tmp_path / "limits.db")
    with pytest.raises(ConfigError, match="'limits_store' cannot be 'postgres'") as raised:
        rate_limiter({}, "postgres://ann:secret@host/", tmp_path / "limits.db")
    assert "secret" not in str(raised.value) + raised.value.hint
    assert rate_limiter({"user": "", "address": " "}, "memory", tmp_path / "limits.db") is None


# --- the sum ---------------------------------------------------------------------------------------------------------

LIMITS = st.builds(
    Limit, st.integers(1, 7), st.sampled_from(["second", "minute"]), st.one_of(st.just(0), st.integers(1, 9))
)
STEPS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 3 * SECOND), st.sampled_from([0, 0, SECOND, 20 * SECOND, 60 * SECOND])),
        st.sampled_from(["ann", "bob"]),
        st.sampled_from(["here", "there"]),
    ),
    max_size=60,
)


@given(LIMITS, LIMITS, STEPS)
def test_as_many_pass_as_the_limit_says_and_what_is_refused_costs_nothing(
    of_user: Limit, of_address: Limit, steps: list[tuple[int, str, str]]
) -> None:
    clock = Clock()
    limiter = RateLimiter({"user": of_user, "address": of_address}, MemoryStore(clock=clock))
    models = {each: Model(of_user) for each in ("ann", "bob")} | {each: Model(of_address) for each in ("here", "there")}
    for wait, user, address in steps:
        clock.now += wait
        expected = models[user].allows(clock.now) and models[address].allows(clock.now)
        decision = limiter.hit({"user": user, "address": address})
        assert decision.allowed == expected
        if expected:
            models[user].taken.append(clock.now)
            models[address].taken.append(clock.now)
        else:
            assert 0 < decision.retry_after * SECOND <= max(of_user.interval, of_address.interval)


@given(LIMITS, STEPS)
def test_who_waits_as_long_as_told_passes_and_not_sooner(limit: Limit, steps: list[tuple[int, str, str]]) -> None:
    clock = Clock()
    limiter = RateLimiter({"user": limit}, MemoryStore(clock=clock))
    for wait, *_ in steps:
        clock.now += wait
        decision = limiter.hit(ANN)
        if decision.allowed:
            assert decision.remaining is not None
            assert decision.remaining < limit.burst
            continue
        clock.now += round(decision.retry_after * SECOND) - 1
        assert not limiter.hit(ANN).allowed
        clock.now += 1
        assert limiter.hit(ANN).allowed


@settings(max_examples=25)
@given(of_user=LIMITS, of_address=LIMITS, steps=STEPS)
def test_sqlite_and_memory_decide_alike(
    of_user: Limit,
    of_address: Limit,
    steps: list[tuple[int, str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    clock, limits = Clock(), {"user": of_user, "address": of_address}
    kept = SqliteStore(tmp_path_factory.mktemp("limits") / "limits.db", clock=clock)
    in_memory, in_file = RateLimiter(limits, MemoryStore(clock=clock)), RateLimiter(limits, kept)
    for wait, user, address in steps:
        clock.now += wait
        keys = {"user": user, "address": address}
        assert in_memory.hit(keys) == in_file.hit(keys)
    kept.close()


def test_redis_makes_the_same_sum(redis_server: RedisServer) -> None:
    """With long intervals, during which the server's clock hardly moves."""
    for number, (count, burst) in enumerate(itertools.product((1, 3, 7), (1, 2, 5))):
        limits = {"user": Limit(count, "day", burst), "address": Limit(2, "day", 3)}
        theirs = RateLimiter(limits, RedisStore(redis_server.url, timeout=5))
        ours = RateLimiter(limits, MemoryStore(clock=Clock()))
        for user in "aabbcabc":
            keys = {"user": f"{user}{number}", "address": f"{user}{number}"}
            here, there = ours.hit(keys), theirs.hit(keys)
            assert (here.allowed, here.kind, here.remaining) == (there.allowed, there.kind, there.remaining)
            assert there.retry_after == pytest.approx(here.retry_after, abs=10)
        theirs.close()


# --- every store -----------------------------------------------------------------------------------------------------


def test_a_burst_passes_and_then_one_at_a_time(store: LimitStore) -> None:
    limiter = RateLimiter({"user": Limit.parse("20/second burst 3")}, store)
    decisions = [limiter.hit(ANN) for _ in range(4)]
    assert [each.allowed for each in decisions] == [True, True, True, False]
    assert decisions[0].remaining == 2
    assert decisions[3].remaining == 0
    assert (decisions[3].kind, str(decisions[3].limit)) == ("user", "20/second burst 3")
    assert 0 < decisions[3].retry_after <= 0.05
    time.sleep(decisions[3].retry_after + 0.001)
    assert limiter.hit(ANN).allowed


def test_all_kinds_are_looked_at_and_none_is_counted_where_one_refuses(store: LimitStore) -> None:
    limiter = RateLimiter({"user": Limit(2, "day"), "address": Limit(1, "day")}, store)
    assert limiter.hit({"user": "ann", "address": "here"}).allowed
    for _ in range(5):
        refused = limiter.hit({"user": "ann", "address": "here"})
        assert (refused.allowed, refused.kind) == (False, "address")
    assert limiter.hit({"user": "ann", "address": "there"}).allowed, "the refused ones cost the user nothing"
    assert limiter.hit({"user": "ann", "address": "elsewhere"}).kind == "user"
    assert limiter.hit({"user": "bob", "address": "elsewhere"}).allowed, "nor the address"


def test_who_has_none_of_the_limited_kinds_passes(store: LimitStore) -> None:
    limiter = RateLimiter({"user": Limit(1, "day")}, store)
    for _ in range(3):
        decision = limiter.hit({"user": "", "conversation": "c", "unheard of": "x"})
        assert (decision.allowed, decision.limit, decision.remaining) == (True, None, None)


def test_odd_ids_are_ids(store: LimitStore) -> None:
    limiter = RateLimiter({"user": Limit(1, "day")}, store)
    for user in ("\ud800", "a\x00b", "x" * 100_000, "{}:*\n", "🙂", "' OR 1=1"):
        assert limiter.hit({"user": user}).allowed
        assert not limiter.hit({"user": user}).allowed


def test_threads_share_what_there_is(store: LimitStore) -> None:
    limiter = RateLimiter({"user": Limit(40, "day"), "key": Limit(100, "day")}, store)
    with ThreadPoolExecutor(8) as pool:
        decisions = list(pool.map(lambda _: limiter.hit({"user": "ann", "key": "k"}), range(80)))
    assert sum(each.allowed for each in decisions) == 40


def test_all_addresses_of_an_ipv6_network_are_one_and_mapped_ipv4_is_ipv4(store: LimitStore) -> None:
    limiter = RateLimiter({"address": Limit(1, "day")}, store)
    told = [
        "2001:db8::1",
        "2001:db8::ffff:1",
        "2001:db8:0:1::1",
        "::ffff:10.0.0.1",
        "10.0.0.1",
        "10.0.0.2",
        "::1",
        "unix:",
    ]
    allowed = [limiter.hit({"address": address}).allowed for address in told]
    assert allowed == [True, False, True, True, False, True, True, True]


def test_no_store_ever_holds_a_key(tmp_path: Path, redis_server: RedisServer) -> None:
    secret = "sk-0123456789abcdef"
    for kept in (SqliteStore(tmp_path / "limits.db"), RedisStore(redis_server.url, timeout=5)):
        RateLimiter({"key": Limit(1, "day")}, kept).hit({"key": secret})
        kept.close()
    assert not [file for file in tmp_path.iterdir() if secret.encode() in file.read_bytes()]
    keys = redis.Redis.from_url(redis_server.url).keys("*limit:key:*")
    assert keys
    assert not [key for key in keys if secret.encode() in key]


# --- clocks ----------------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(limit=LIMITS, jumps=st.lists(st.integers(-100_000, 100_000), max_size=20))
def test_a_clock_that_jumps_locks_nobody_out_for_longer_than_a_message_takes(
    tmp_path_factory: pytest.TempPathFactory, limit: Limit, jumps: list[int]
) -> None:
    clock = Clock()
    kept = SqliteStore(tmp_path_factory.mktemp("limits") / "limits.db", clock=clock)
    limiter = RateLimiter({"user": limit}, kept)
    for jump in jumps:
        clock.now += jump * SECOND
        decisions = [limiter.hit(ANN) for _ in range(limit.burst + 1)]
        assert not decisions[-1].allowed
        assert all(each.retry_after * SECOND <= limit.interval for each in decisions)
        clock.now += limit.interval
        assert limiter.hit(ANN).allowed
    kept.close()


def test_a_clock_set_back_gives_no_more_than_the_limit(tmp_path: Path) -> None:
    clock = Clock()
    kept = SqliteStore(tmp_path / "limits.db", clock=clock)
    limiter = RateLimiter({"user": Limit(10, "minute")}, kept)
    allowed = 0
    for _ in range(100):
        allowed += sum(limiter.hit(ANN).allowed for _ in range(20))
        clock.now -= 5 * SECOND
    assert allowed == 10
    kept.close()


def test_redis_recovers_from_a_clock_that_was_set_back(redis_server: RedisServer) -> None:
    kept, client = RedisStore(redis_server.url, timeout=5), redis.Redis.from_url(redis_server.url)
    client.flushall()
    limiter = RateLimiter({"user": Limit(20, "second", 2)}, kept)
    assert limiter.hit(ANN).allowed
    (name,) = client.keys("*")
    client.set(name, "what is no number")
    assert limiter.hit(ANN).remaining == 1
    client.set(name, (time.time_ns() // 1000) + 86_400 * SECOND)  # as written by a clock a day ahead
    refused = limiter.hit(ANN)
    assert 0 < refused.retry_after <= 0.05
    time.sleep(0.06)
    assert limiter.hit(ANN).allowed
    kept.close()


# --- what is forgotten -----------------------------------------------------------------------------------------------


def test_memory_forgets_whom_it_need_not_remember() -> None:
    clock = Clock()
    kept = MemoryStore(max_keys=100, clock=clock)
    limiter = RateLimiter({"user": Limit(1, "minute")}, kept)
    for number in range(500):
        assert limiter.hit({"user": f"{number}"}).allowed
    assert len(kept) == 100
    assert not limiter.hit({"user": "499"}).allowed
    clock.now += 60 * SECOND
    for number in range(500, 600):
        limiter.hit({"user": f"{number}"})
    assert len(kept) == 100, "only those of the last minute"
    assert not limiter.hit({"user": "500"}).allowed


def test_sqlite_forgets_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.guard.limit_stores.TIDY_EVERY", 10)
    clock = Clock()
    kept = SqliteStore(tmp_path / "limits.db", max_keys=30, clock=clock)
    limiter = RateLimiter({"user": Limit(1, "minute")}, kept)

    def rows() -> int:
        with sqlite3.connect(tmp_path / "limits.db") as connection:
            return int(connection.execute("SELECT count(*) FROM allowances").fetchone()[0])

    for number in range(100):
        clock.now += 1
        limiter.hit({"user": f"{number}"})
    assert rows() == 30
    assert not limiter.hit({"user": "99"}).allowed
    clock.now += 120 * SECOND
    for number in range(10):
        limiter.hit({"user": f"later {number}"})
    assert rows() <= 10
    clock.now -= 86_400 * SECOND  # now all of them are in the future
    for number in range(10):
        limiter.hit({"user": f"earlier {number}"})
    assert rows() <= 10
    kept.close()


def test_redis_forgets_by_itself(redis_server: RedisServer) -> None:
    kept, client = RedisStore(redis_server.url, timeout=5), redis.Redis.from_url(redis_server.url)
    client.flushall()
    limiter = RateLimiter({"user": Limit(10, "second")}, kept)
    limiter.hit(ANN)
    assert 0 < client.pttl(client.keys("*")[0]) <= 101
    time.sleep(0.15)
    assert client.keys("*") == []
    kept.close()


# --- several processes -----------------------------------------------------------------------------------------------

HITS = """
import sys
from pathlib import Path
from turnwise.guard.limit_stores import SqliteStore
from turnwise.guard.limits import RateLimiter
from turnwise.limits import Limit
limiter = RateLimiter({"user": Limit(50, "day"), "address": Limit(1000, "day")}, SqliteStore(Path(sys.argv[1])), True)
sys.stdin.read()
print(sum(limiter.hit({"user": "ann", "address": "here"}).allowed for _ in range(40)))
"""


def test_processes_share_what_there_is(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HITS, str(tmp_path / "limits.db")]
    started = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        )
        for _ in range(4)
    ]
    for each in started:
        assert each.stdin
        each.stdin.close()
        each.stdin = None
    said = [each.communicate(timeout=60)[0] for each in started]
    assert sum(map(int, said)) == 50


# --- stores that fail ------------------------------------------------------------------------------------------------


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A Redis that the test may kill."""
    from tests import services

    try:
        with services.redis() as server:
            yield server
    except services.CannotInstall as reason:
        pytest.skip(str(reason))


class Seconds:
    """A clock in seconds, for retries of a store that failed."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_redis_killed_slow_and_back(own_redis: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    seconds = Seconds()
    patient = RedisStore(own_redis.url, timeout=1)  # a busy machine is not a failure
    limiter = RateLimiter({"user": Limit(3, "day")}, patient, clock=seconds)
    assert [limiter.hit(ANN).remaining for _ in range(2)] == [2, 1]

    own_redis.kill()
    assert [limiter.hit(ANN).allowed for _ in range(5)] == [True] * 3 + [False] * 2, "counted here meanwhile"
    for _ in range(5):
        seconds.now += STORE_RETRY_SECONDS
        limiter.hit(ANN)
    warnings = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warnings) == 1, "once a minute"
    assert f"Redis at 127.0.0.1:{own_redis.port}" in warnings[0].getMessage()
    assert "each process counts by itself" in warnings[0].getMessage()
    seconds.now += 60
    limiter.hit(ANN)
    assert len(caplog.records) == 2

    own_redis.start()
    assert not limiter.hit(ANN).allowed, "it rests"
    seconds.now += STORE_RETRY_SECONDS
    assert limiter.hit(ANN).remaining == 2, "it is back, and has forgotten"

    own_redis.halt()
    start = time.monotonic()
    assert not limiter.hit(ANN).allowed, "what was counted here"
    assert time.monotonic() - start < 20
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patient, "take", lambda _: pytest.fail("nobody else waits"))
        limiter.hit(ANN)
    own_redis.resume()
    seconds.now += STORE_RETRY_SECONDS
    assert limiter.hit(ANN).allowed
    limiter.close()


def test_redis_flushed(redis_server: RedisServer) -> None:
    client = redis.Redis.from_url(redis_server.url)
    limiter = RateLimiter({"user": Limit(1, "day")}, RedisStore(redis_server.url, timeout=5), fail_closed=True)
    client.flushall()
    assert [limiter.hit(ANN).allowed for _ in range(2)] == [True, False]
    client.flushall()
    client.script_flush()
    assert [limiter.hit(ANN).allowed for _ in range(2)] == [True, False], "it begins anew"
    limiter.close()


def test_a_limiter_that_fails_closed_refuses_and_recovers(own_redis: RedisServer) -> None:
    seconds = Seconds()
    limiter = RateLimiter({"user": Limit(3, "day")}, RedisStore(own_redis.url, timeout=5), True, seconds)
    assert limiter.hit(ANN).allowed
    own_redis.kill()
    for _ in range(2):
        with pytest.raises(LimitsUnavailable) as raised:
            limiter.hit(ANN)
        assert raised.value.status == 503
        assert raised.value.hint
    own_redis.start()
    seconds.now += STORE_RETRY_SECONDS
    assert limiter.hit(ANN).allowed
    limiter.close()


def test_a_redis_that_refuses_us_is_no_reason_to_stop(own_redis: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    redis.Redis.from_url(own_redis.url).config_set("requirepass", "on this machine only")
    limiter = RateLimiter({"user": Limit(1, "day")}, RedisStore(own_redis.url.replace("//", "//:wrong-secret@")))
    assert [limiter.hit(ANN).allowed for _ in range(2)] == [True, False]
    assert len(caplog.records) == 1
    assert "wrong-secret" not in caplog.text
    limiter.close()


def test_a_file_that_is_broken_or_locked_is_no_reason_to_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwise.guard.limit_stores.SQLITE_TIMEOUT_SECONDS", 0.05)
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database" * 1000)
    limiter = RateLimiter({"user": Limit(1, "day")}, SqliteStore(broken))
    assert [limiter.hit(ANN).allowed for _ in range(2)] == [True, False]
    assert "broken.db" in caplog.text

    seconds = Seconds()
    limiter = RateLimiter({"user": Limit(2, "day")}, SqliteStore(tmp_path / "locked.db"), clock=seconds)
    assert limiter.hit(ANN).remaining == 1
    other = sqlite3.connect(tmp_path / "locked.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert limiter.hit(ANN).remaining == 1, "counted here meanwhile"
    other.execute("ROLLBACK")
    other.close()
    seconds.now += STORE_RETRY_SECONDS
    assert limiter.hit(ANN).remaining == 0
    limiter.close()


def test_the_client_of_redis_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigError) as raised:
        RedisStore("redis://localhost")
    assert raised.value.hint == 'pip install "turnwise[redis]"'


# --- a turn ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0, "1 second"), (0.01, "1 second"),
     (1.0, "1 second"), (1.2, "2 seconds"), (58.5, "59 seconds"), (59.5, "1 minute"),
     (61, "2 minutes"), (3599.5, "1 hour"), (86_400, "24 hours")],
)  # fmt: skip
def test_how_long_to_wait_is_said_in_words(seconds: float, said: str) -> None:
    assert TooManyRequests("Enough.", seconds).hint == f"Wait {said} and send it again."


def test_a_turn_is_counted_for_all_that_is_known_of_it() -> None:
    limiter = RateLimiter({"conversation": Limit(1, "day"), "key": Limit(3, "day")})
    request = TurnRequest("Hello", conversation_id="one", user="ann", key="secret", address="::1")
    assert "secret" not in repr(request)
    asyncio.run(admit(request, limiter))
    with pytest.raises(TooManyRequests) as raised:
        asyncio.run(admit(request, limiter))
    assert raised.value.status == 429
    assert raised.value.to_dict() == {
        "code": "TooManyRequests",
        "message": "The limit is 1 message a day in one conversation.",
        "hint": raised.value.hint,
        "retry_after": pytest.approx(86_400, abs=60),
    }
    assert raised.value.hint == "Wait 24 hours and send it again."
    for _ in range(9):
        asyncio.run(admit(request, None))


@pytest.fixture
def limited(sample_library: Path) -> Callable[..., Iterator[Client]]:
    """A real server with the sample library and these settings."""

    def limited(**changed: object) -> Iterator[Client]:
        with (
            build(Settings(library=str(sample_library), **changed)) as engine,  # type: ignore[arg-type]
            running(engine) as address,
        ):
            yield Client(address, engine)  # type: ignore[arg-type]

    return limited


HELLO = {"message": "Hello", "stream": False}
COMPLETION = {"messages": [{"role": "user", "content": "Hello"}]}


def test_the_server_answers_429_and_says_when_to_come_again(limited: Callable[..., Iterator[Client]]) -> None:
    for client in limited(limit_address="3/hour", limit_user="1/hour"):
        asked = {**HELLO, "conversation_id": "kept"}
        assert client.post("/api/chat", {**asked, "user": "ann"}).status == 200
        whole = client.post("/api/chat", {**asked, "user": "ann"})
        streamed = client.post("/api/chat", {**asked, "user": "ann", "stream": True})
        for refused in (whole, streamed):
            assert refused.status == 429
            assert refused.headers["content-type"] == "application/problem+json"
            assert 3500 < int(refused.headers["retry-after"]) <= 3600
            assert refused.json["code"] == "TooManyRequests"
            assert refused.json["detail"] == "The limit is 1 message an hour from one user."
            assert refused.json["retry_after"] == pytest.approx(3600, abs=100)
        assert len(client.get("/api/conversations/kept").json["turns"]) == 1, "what was refused is not in the history"

        assert client.post("/v1/chat/completions", {**COMPLETION, "user": "bob"}).status == 200
        for stream in (False, True):
            refused = client.post("/v1/chat/completions", {**COMPLETION, "user": "bob", "stream": stream})
            assert refused.status == 429
            assert int(refused.headers["retry-after"]) > 3500
            assert refused.json["error"]["code"] == "rate_limit_exceeded"
            assert "from one user" in refused.json["error"]["message"]
        assert client.post("/api/chat", HELLO).status == 200, "the third of this address"
        spoofed = client.post("/api/chat", HELLO, X_Forwarded_For="203.0.113.9")
        assert (spoofed.status, spoofed.json["detail"]) == (429, "The limit is 3 messages an hour from one address.")


def test_openais_client_knows_it_for_a_rate_limit(limited: Callable[..., Iterator[Client]]) -> None:
    for client in limited(limit_key="1/hour"):

        def ask(key: str, address: str = client.address) -> None:
            with openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0) as theirs:
                theirs.chat.completions.create(model="turnwise", messages=[{"role": "user", "content": "Hello"}])

        ask("key-one")
        with pytest.raises(openai.RateLimitError, match="with one key") as raised:
            ask("key-one")
        assert raised.value.code == "rate_limit_exceeded"
        assert int(raised.value.response.headers["retry-after"]) > 3500
        ask("key-two")


def test_behind_proxies_the_address_is_the_one_they_wrote(limited: Callable[..., Iterator[Client]]) -> None:
    for client in limited(limit_address="1/hour", proxies=1):
        assert client.post("/api/chat", HELLO, X_Forwarded_For="203.0.113.9").status == 200
        assert client.post("/api/chat", HELLO, X_Forwarded_For="198.51.100.1, 203.0.113.9").status == 429
        assert client.post("/api/chat", HELLO, X_Forwarded_For="198.51.100.1").status == 200


@pytest.mark.parametrize(
    ("proxies", "lines", "address"),
    [
        (0, ["203.0.113.9"], "10.0.0.1"),
        (1, [], "10.0.0.1"),
        (1, ["203.0.113.9"], "203.0.113.9"),
        (1, ["1.1.1.1", "2.2.2.2, 203.0.113.9"], "203.0.113.9"),
        (2, ["1.1.1.1, 203.0.113.9", "10.1.1.1"], "203.0.113.9"),
        (3, ["203.0.113.9, 10.1.1.1"], "10.0.0.1"),
        (1, ["203.0.113.9:4711"], "203.0.113.9"),
        (1, ["[2001:db8::1]:4711"], "2001:db8::1"),
        (1, ["2001:db8::1"], "2001:db8::1"),
        (1, ["unknown"], "10.0.0.1"),
        (1, ["", ","], "10.0.0.1"),
    ],
)
def test_x_forwarded_for_is_read_from_its_end(proxies: int, lines: list[str], address: str) -> None:
    from starlette.requests import Request

    headers = [(b"x-forwarded-for", line.encode()) for line in lines]
    request = Request({"type": "http", "headers": headers, "client": ("10.0.0.1", 1234)})
    assert address_of(request, proxies) == address


def test_several_servers_share_a_file(limited: Callable[..., Iterator[Client]], sample_library: Path) -> None:
    changed = {"limit_conversation": "2/hour", "limits_store": "sqlite"}
    try:
        for one in limited(**changed):
            for other in limited(**changed):
                asked = {**HELLO, "conversation_id": "shared"}
                statuses = [client.post("/api/chat", asked).status for client in (one, other, one, other)]
                assert statuses == [200, 200, 429, 429]
    finally:
        for file in sample_library.glob("limits.db*"):
            file.unlink()
