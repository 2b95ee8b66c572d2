from __future__ import annotations

import asyncio
import dataclasses
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.datastructures import Headers

from tests.patience import until
from tests.server.scripted import Client, Following, ScriptedEngine, answers, serving
from turnwise.config import Settings
from turnwise.errors import ConfigError, NotAllowed
from turnwise.server import run
from turnwise.server.access import KEY_CACHE_SECONDS, Access, Caller
from turnwise.server.app import create_app, origins_of
from turnwise.server.gate import Gate
from turnwise.types import Key, Permission, Reach

KEYED = Settings(access="keys")
ASK = {"message": "What is BERT?", "stream": False}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server that asks for keys."""
    with serving(tmp_path_factory.mktemp("keyed"), settings=KEYED) as client:
        yield client


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ScriptedEngine]:
    engine = ScriptedEngine(tmp_path, answers)
    yield engine
    engine.database.close()


def made(client: Client, may: Permission = "ask", tenant: str = "", collections: tuple[str, ...] = ()) -> Any:
    return client.engine.store.keys.create(f"{may} of {tenant or 'ours'}", tenant, collections, may)


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def test_without_keys_anyone_on_this_machine_may_come_in(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        me = client.get("/api/me").json
        assert {name: me[name] for name in ("open", "tenant", "collections", "may")} == {
            "open": True,
            "tenant": "",
            "collections": [],
            "may": "manage",
        }
        client.post("/api/chat", ASK, **bearer("whatever"))
        assert client.engine.requests[-1].key == "whatever", "limits count what was sent, where nothing is checked"
        assert client.engine.requests[-1].reach == Reach()


def test_from_the_first_key_on_nobody_comes_in_without_one(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        _, secret = made(client, "manage", "acme")
    with serving(tmp_path) as client:
        assert client.get("/api/me").status == 401
        me = client.get("/api/me", **bearer(secret)).json
    assert (me["open"], me["tenant"], me["may"], me["name"]) == (False, "acme", "manage", "manage of acme")


def test_a_server_that_runs_closes_with_the_first_key(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.engine.store.accept("c", "one")
        assert client.get("/api/me").json["open"]
        with Following(client, "GET", "/api/conversations/c/events") as page:
            assert page.next()[0] == "turn"
            _, secret = made(client, "manage")
            until(lambda: client.get("/api/me").status == 401)
            assert client.get("/api/conversations").status == 401
            assert client.get("/api/me", **bearer(secret)).json["open"] is False
            told = page.until("error")
            assert (told["status"], page.raw()) == (401, b""), "who was let in before is sent away"


def test_a_server_that_is_open_by_choice_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.server.access.KEY_CACHE_SECONDS", 0.0)
    with serving(tmp_path, settings=Settings(access="open")) as client:
        made(client)
        assert client.get("/api/me").json["open"]


@pytest.mark.parametrize(
    "sent", ["", "Bearer", "Bearer ", "Bearer tw_wrong", "Basic dHdfOng=", "tw_", "Bearer \x7f", "bearer " + "x" * 5000]
)
def test_no_key_or_a_wrong_one_is_turned_away_the_same_way_everywhere(client: Client, sent: str) -> None:
    made(client)
    headers = {"authorization": sent} if sent else {}
    for path in ("/api/me", "/api/conversations", "/api/conversations/nobody", "/api/library", "/api/memory"):
        answer = client.get(path, **headers)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json["code"] == "NotAllowed"
        assert answer.json["hint"]
    assert client.post("/api/chat", ASK, **headers).status == 401
    told = client.get("/v1/models", **headers)
    assert told.status == 401
    assert told.json["error"]["code"]


def test_the_page_and_the_health_of_the_server_need_no_key(client: Client) -> None:
    for path in ("/", "/web/app.js", "/healthz", "/openapi.json"):
        assert client.get(path).status == 200


def test_a_key_says_who_asks_and_what_they_see(client: Client) -> None:
    key, secret = made(client, "ask", "acme", ("papers", "minutes"))
    assert client.post("/api/chat", ASK, **bearer(secret)).status == 200
    request = client.engine.requests[-1]
    assert request.key == key.id, "limits count the key that was verified, and the secret goes no further"
    assert request.reach == Reach("acme", ("papers", "minutes"))
    assert client.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}, **bearer(secret))
    assert client.engine.requests[-1].reach == Reach("acme", ("papers", "minutes"))


@pytest.mark.parametrize("ending", ["revoked", "expired"])
def test_a_key_that_has_ended_opens_nothing(client: Client, ending: str) -> None:
    keys = client.engine.store.keys
    key, secret = keys.create("short", expires_at=time.time() + 1.0 if ending == "expired" else None)
    assert client.get("/api/me", **bearer(secret)).status == 200
    if ending == "revoked":
        keys.revoke(key.id)
    until(lambda: client.get("/api/me", **bearer(secret)).status == 401, 2 * KEY_CACHE_SECONDS + 3)
    assert client.get("/api/me", **bearer(secret)).status == 401


@pytest.mark.parametrize(("may", "status"), [("ask", 403), ("edit", 404), ("manage", 404)])
def test_a_key_that_may_not_is_told_so(client: Client, may: Permission, status: int) -> None:
    _, secret = made(client, may)
    client.engine.remove_document = lambda *_: False  # type: ignore[attr-defined]
    answer = client.send("DELETE", "/api/documents/99", **bearer(secret))
    assert answer.status == status
    if status == 403:
        assert "may ask" in answer.json["detail"]
        assert "www-authenticate" not in answer.headers


def test_it_is_noted_that_a_key_was_used(client: Client) -> None:
    key, secret = made(client)
    assert client.engine.store.keys.key(key.id).last_used_at is None  # type: ignore[union-attr]
    client.get("/api/me", **bearer(secret))

    def used() -> bool:
        found = client.engine.store.keys.key(key.id)
        return found is not None and found.last_used_at is not None

    until(used)


def test_a_caller_can_be_logged_without_the_key() -> None:
    assert "secret" not in repr(Caller(key="tw_secret"))


def test_whether_a_key_is_still_good_is_known_within_a_second(engine: ScriptedEngine) -> None:
    engine.settings = KEYED
    access = Access(engine)
    key, secret = engine.store.keys.create("one")
    assert access.valid(key.id)
    assert not access.valid("nobody")
    assert not access.valid(""), "nobody came in without a key"
    engine.store.keys.revoke(key.id)
    until(lambda: not access.valid(key.id), KEY_CACHE_SECONDS + 2)
    with pytest.raises(NotAllowed):
        asyncio.run(access.let_in(secret, "ask"))


def test_who_came_in_without_a_key_stays_while_the_server_is_open(engine: ScriptedEngine) -> None:
    assert Access(engine).valid("")


def test_the_store_is_not_asked_again_at_once(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.settings = KEYED
    access = Access(engine)
    _, secret = engine.store.keys.create("one")
    asked: list[str] = []
    find = access.keys.find

    def counted(secret: str) -> Key | None:
        asked.append(secret)
        return find(secret)

    monkeypatch.setattr(access.keys, "find", counted)

    async def often() -> None:
        for _ in range(20):
            await access.let_in(secret, "ask")

    asyncio.run(often())
    assert len(asked) < 20


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_a_server_without_keys_listens_on_this_machine_only(engine: ScriptedEngine, host: str) -> None:
    with pytest.raises(ConfigError, match="no key yet") as refused:
        run.serve(engine, host=host, port=0)
    assert f"turnwise keys create NAME{engine.settings.named}`" in refused.value.hint
    assert "--open" in refused.value.hint


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_this_machine_is_safe(engine: ScriptedEngine, host: str) -> None:
    Access(engine).require_safe(host)


@pytest.mark.parametrize("mode", ["auto", "keys", "open"])
def test_with_a_key_or_when_told_to_it_listens_elsewhere(engine: ScriptedEngine, mode: str) -> None:
    engine.settings = Settings(access=mode)
    engine.store.keys.create("one")
    Access(engine).require_safe("0.0.0.0")
    assert Access(engine).open is (mode == "open")


def test_pages_of_other_sites_may_call_only_where_they_are_named(tmp_path: Path) -> None:
    named, other = "https://chat.example.org", "https://evil.example"
    with serving(tmp_path, settings=Settings(cors=f"{named}, http://localhost:3000", max_body=1000)) as client:
        wish = {
            "access_control_request_method": "POST",
            "access_control_request_headers": "authorization,idempotency-key",
        }
        preflight = client.send("OPTIONS", "/api/chat", origin=named, **wish)
        assert preflight.status == 200
        assert preflight.headers["access-control-allow-origin"] == named
        assert "access-control-allow-credentials" not in preflight.headers
        assert client.send("OPTIONS", "/api/chat", origin=other, **wish).status == 400

        answer = client.get("/api/me", origin=named)
        assert answer.headers["access-control-allow-origin"] == named
        assert "access-control-allow-origin" not in client.get("/api/me", origin=other).headers
        refused = client.post("/api/chat", {"message": "x" * 2000}, origin=named, sec_fetch_site="cross-site")
        assert refused.status == 413
        assert refused.headers["access-control-allow-origin"] == named, "such a page can read why"


def test_without_a_word_no_other_site_may_call(client: Client) -> None:
    answer = client.send("OPTIONS", "/api/chat", origin="https://a.example", access_control_request_method="POST")
    assert answer.status == 405
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("setting", ["*", "https://*.example.org", "example.org", "https://a.example/page", "null"])
def test_what_is_no_site_cannot_be_let_in(setting: str) -> None:
    with pytest.raises(ConfigError, match="no site"):
        origins_of(setting)


def test_sites_are_written_as_browsers_do() -> None:
    assert origins_of(" https://Chat.Example.org/ ,http://localhost:3000") == [
        "https://chat.example.org",
        "http://localhost:3000",
    ]
    assert origins_of("") == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_page_of_another_site_changes_nothing(tmp_path: Path, site: str, method: str) -> None:
    with serving(tmp_path) as client:
        answer = client.send(method, "/api/conversations/c", sec_fetch_site=site, origin="https://evil.example")
        assert answer.status == 403
        assert answer.json["code"] == "ForeignPage"
        assert client.send(method, "/api/conversations/c", sec_fetch_site="same-origin").status != 403


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", ""])
def test_nor_does_one_of_a_browser_that_only_names_it(tmp_path: Path, origin: str, method: str) -> None:
    with serving(tmp_path) as client:
        answer = client.send(method, "/api/conversations/c", origin=origin)
        assert (answer.status, answer.json["code"]) == (403, "ForeignPage")
        assert client.send(method, "/api/conversations/c", origin=client.address).status != 403, "our own page"
        assert client.send(method, "/api/conversations/c").status != 403, "no page at all"


@pytest.mark.parametrize(
    ("host", "origin", "let_in"),
    [
        ("chat.example.org", "https://chat.example.org", True),
        ("chat.example.org:443", "https://Chat.example.org", True),
        ("chat.example.org", "https://example.org", False),
        ("chat.example.org", "https://chat.example.org:8443", False),
        ("chat.example.org", "https://other.example", True),
    ],
)
def test_a_page_behind_a_proxy_is_ours_by_its_name(host: str, origin: str, let_in: bool) -> None:
    gate = Gate(cast(Any, None), "0.0.0.0", 1000, origins=["https://other.example"])
    refusal = gate._refusal("DELETE", "/api/conversations/c", Headers({"host": host, "origin": origin}))
    assert (refusal is None) is let_in


def test_the_description_says_where_a_key_is_needed(client: Client) -> None:
    told = client.get("/openapi.json").json
    (scheme,) = told["components"]["securitySchemes"].items()
    assert (scheme[1]["type"], scheme[1]["scheme"]) == ("http", "bearer")
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            if not re.match(r"/(api|v1)/", path):
                continue
            assert operation["security"] == [{scheme[0]: []}], f"{method} {path}"
            assert {"4XX", "5XX"} <= set(operation["responses"]), f"{method} {path}"


def test_settings_reach_the_server(engine: ScriptedEngine) -> None:
    engine.settings = dataclasses.replace(engine.settings, cors="nonsense")
    with pytest.raises(ConfigError, match="no site"):
        create_app(engine)
