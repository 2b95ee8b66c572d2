"""Tenants see nothing of each other: every route is tried with another tenant's ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.server.scripted import Answer
from tests.server.serving import Server, library

SECRET = b"# Zeppelin\n\nThe zeppelin of Acme leaves on Tuesday at nine."
WORD = b"zeppelin"
FILE = "zeppelin.md"
OWN = b"# Own\n\nWords of ours."
NOBODY = 10**9  # an id that no document and no passage has


@dataclass(frozen=True)
class Things:
    """What a tenant has, by the names of the parameters in the description of the API."""

    conversation_id: str
    document: int
    passage: int
    stream: str
    name: str  # of a collection
    attached: int

    def of(self, method: str, path: str) -> str:
        """The path with what is theirs in it."""
        return path.format(**self.named(method, path))

    def named(self, method: str, path: str) -> dict[str, Any]:
        """What stands for the parameters of a path."""
        by_id = self.attached if "/attachments/" in path else self.document
        return {
            "conversation_id": self.conversation_id,
            "document": FILE if method == "PUT" and not path.endswith("/trust") else by_id,
            "passage": self.passage,
            "stream": self.stream,
            "name": "turnwise" if path.startswith("/v1/") else self.name,
            "number": 1,
            "table": "totals",
        }


@dataclass(frozen=True)
class Case:
    """How a route is called. `hides`: with another tenant's ids it answers just as with ids that nobody has."""

    body: Any = None
    query: Callable[[Things], str] = lambda _: ""
    raw: bool = False  # the body is a file
    named: Callable[[Things], Any] = lambda _: None  # what of the body names something
    hides: bool = True


ASKED = {"message": "When does it leave?", "stream": False}
CASES: dict[tuple[str, str], Case] = {
    ("GET", "/api/conversations/{conversation_id}"): Case(),
    ("PATCH", "/api/conversations/{conversation_id}"): Case({"title": "Stolen"}),
    ("DELETE", "/api/conversations/{conversation_id}"): Case(),
    ("GET", "/api/conversations/{conversation_id}/export"): Case(query=lambda _: "?format=markdown"),
    ("POST", "/api/conversations/{conversation_id}/branch"): Case({"turn": 2}),
    ("GET", "/api/conversations/{conversation_id}/events"): Case(),
    ("GET", "/api/conversations/{conversation_id}/turns/{number}"): Case(),
    ("PUT", "/api/conversations/{conversation_id}/turns/{number}/feedback"): Case({"rating": "down"}),
    ("DELETE", "/api/conversations/{conversation_id}/turns/{number}/feedback"): Case(),
    ("DELETE", "/api/conversations/{conversation_id}/attachments/{document}"): Case(),
    ("GET", "/api/streams/{stream}"): Case(),
    ("DELETE", "/api/streams/{stream}"): Case(),
    ("GET", "/api/documents/{document}"): Case(),
    ("DELETE", "/api/documents/{document}"): Case(),
    ("POST", "/api/documents/{document}/reindex"): Case(),
    ("PUT", "/api/documents/{document}/trust"): Case(),
    ("DELETE", "/api/documents/{document}/trust"): Case(),
    ("DELETE", "/api/collections/{name}"): Case(),
    ("GET", "/api/passages/{passage}"): Case(query=lambda theirs: f"?conversation={theirs.conversation_id}"),
    ("POST", "/api/guard/input"): Case({"content": "Hi"}, named=lambda theirs: theirs.conversation_id),
    ("POST", "/api/guard/output"): Case({"content": "Hi"}, named=lambda theirs: theirs.conversation_id),
    # Ids are a tenant's own: with another's, one begins or changes something of one's own.
    ("POST", "/api/chat"): Case(ASKED, named=lambda theirs: theirs.conversation_id, hides=False),
    ("PUT", "/api/conversations/{conversation_id}/attachments/{document}"): Case(
        b"# Own\n\nWords.", raw=True, hides=False
    ),
    ("PUT", "/api/documents/{document}"): Case(OWN, raw=True, hides=False),
    ("POST", "/api/conversations"): Case({"id": "theirs", "turns": [{"prompt": "a"}]}, hides=False),
    # These name nothing: what they give is one's own.
    ("GET", "/api/conversations"): Case(query=lambda _: "?search=zeppelin", hides=False),
    ("GET", "/api/documents"): Case(query=lambda theirs: f"?search=zeppelin&collection={theirs.name}", hides=False),
    ("GET", "/api/collections"): Case(hides=False),
    ("GET", "/api/library"): Case(hides=False),
    ("GET", "/api/me"): Case(hides=False),
    ("GET", "/api/memory"): Case(query=lambda _: "?user=ada", hides=False),
    ("PUT", "/api/memory"): Case({"preferences": ["mine"]}, query=lambda _: "?user=ada", hides=False),
    ("DELETE", "/api/memory"): Case(query=lambda _: "?user=ada", hides=False),
    ("POST", "/api/analyze"): Case({"messages": [{"role": "user", "content": "When?"}]}, hides=False),
    ("POST", "/api/search"): Case({"query": "zeppelin"}, hides=False),
    ("GET", "/api/analytics"): Case(hides=False),
    ("GET", "/api/analytics/{table}.csv"): Case(hides=False),
    ("GET", "/v1/models"): Case(hides=False),
    ("GET", "/v1/models/{name}"): Case(hides=False),
    ("POST", "/v1/chat/completions"): Case({"messages": [{"role": "user", "content": "When?"}]}, hides=False),
}


@dataclass
class World:
    server: Server
    acme: Server
    other: Server
    theirs: Things
    nobodys: Things = field(default_factory=lambda: Things("nobody", NOBODY, NOBODY, "f" * 32, "nothing", NOBODY))

    def call(self, method: str, path: str, things: Things, by: Server) -> Answer:
        case = CASES[method, path]
        body = case.body
        if (named := case.named(things)) is not None:
            body = {**body, "conversation_id": named}
        where = f"{things.of(method, path)}{case.query(things)}"
        return by.upload(where, body) if case.raw else by.send(method, where, body)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with library(tmp_path_factory.mktemp("tenancy"), access="keys") as server:
        acme, other = server.with_key("acme", may="manage"), server.with_key("other", may="manage")
        document = acme.upload("/api/documents/zeppelin.md?collection=flights", SECRET).json["id"]
        attached = acme.upload("/api/conversations/theirs/attachments/zeppelin.md", SECRET).json["id"]
        asked = {"message": "When does the zeppelin leave?", "conversation_id": "theirs", "user": "ada"}
        events = dict(acme.post("/api/chat", asked).events)
        acme.send("PUT", "/api/conversations/theirs/turns/1/feedback", {"rating": "up"})
        acme.send("PUT", "/api/memory?user=ada", {"enabled": True, "preferences": ["zeppelin"]})
        passage = events["answer"]["sources"][0]["passage_id"]
        stream = events["accepted"]["stream"]
        yield World(server, acme, other, Things("theirs", document, passage, stream, "flights", attached))


def operations(server: Server) -> set[tuple[str, str]]:
    told = server.get("/openapi.json").json["paths"]
    return {
        (method.upper(), path) for path, each in told.items() for method in each if path.startswith(("/api/", "/v1/"))
    }


def test_every_route_is_tried(world: World) -> None:
    assert operations(world.server) == set(CASES), "a route that is new, or gone: say here how it is called"


def kept(world: World) -> list[Any]:
    """All that Acme has, as it sees it."""
    paths = ("/api/conversations", "/api/conversations/theirs", "/api/documents", "/api/collections")
    return [world.acme.get(path).json for path in (*paths, "/api/memory?user=ada")]


@pytest.mark.parametrize(("method", "path"), [route for route, case in CASES.items() if case.hides])
def test_what_is_anothers_is_as_if_it_were_not_there(world: World, method: str, path: str) -> None:
    before = kept(world)
    hidden = world.call(method, path, world.theirs, world.other)
    unknown = world.call(method, path, world.nobodys, world.other)
    assert hidden.status == unknown.status == 404
    told, expected = (
        without_ids(answer.body, things, method, path)
        for answer, things in ((hidden, world.theirs), (unknown, world.nobodys))
    )
    assert told == expected
    same = [name for name in hidden.headers if name not in ("date", "content-length", "x-request-id")]
    assert {name: hidden.headers[name] for name in same} == {name: unknown.headers[name] for name in same}
    assert kept(world) == before


def without_ids(body: bytes, things: Things, method: str, path: str) -> bytes:
    """The answer without the ids that were asked for."""
    asked = [value for name, value in things.named(method, path).items() if f"{{{name}}}" in path]
    for each in (*asked, CASES[method, path].named(things) or "-"):
        body = body.replace(f"{each!r}".encode(), b"ID").replace(f" {each} ".encode(), b" ID ")
        body = body.replace(f" {each}.".encode(), b" ID.")
    return body


@pytest.mark.parametrize(("method", "path"), [route for route, case in CASES.items() if not case.hides])
def test_what_is_ones_own_has_nothing_of_anothers(world: World, method: str, path: str) -> None:
    before = kept(world)
    stranger = world.server.with_key(re.sub(r"\W", "", f"stranger{method}{path}")[:64], may="manage")
    answer = world.call(method, path, world.theirs, stranger)
    assert answer.status in (200, 201, 204), answer.body
    assert WORD not in answer.body.lower().replace(FILE.encode(), b"")
    assert b"Tuesday" not in answer.body
    assert b"acme" not in answer.body
    assert kept(world) == before


def test_the_same_id_is_a_conversation_of_each_tenants_own(world: World) -> None:
    stranger = world.server.with_key("twin", may="ask")
    reply = stranger.post("/api/chat", {**ASKED, "conversation_id": "theirs"})
    assert reply.json["turn"] == 1, "it begins"
    assert [turn["prompt"] for turn in stranger.get("/api/conversations/theirs").json["turns"]] == [ASKED["message"]]
    assert stranger.send("DELETE", "/api/conversations/theirs").status == 204
    assert world.acme.get("/api/conversations/theirs").json["turn_count"] == 1


def test_what_there_is_can_be_reached_by_who_has_it_and_is_as_described(world: World) -> None:
    """The ids of the tests above are good ones: their owner is let in with them."""
    told = world.server.get("/openapi.json").json
    for (method, path), case in CASES.items():
        if method != "GET" or path.endswith("/events") or "/streams/" in path:
            continue
        answer = world.call(method, path, world.theirs, world.acme)
        assert answer.status == 200, path
        assert not case.hides or WORD in answer.body.lower(), path
        described = told["paths"][path]["get"]["responses"]["200"]["content"]
        schema = described.get(answer.headers["content-type"].partition(";")[0], {}).get("schema")
        if schema:
            jsonschema.validate(answer.json, {**schema, "components": told["components"]})


def test_what_one_tenant_asks_is_not_counted_against_another(tmp_path: Path) -> None:
    with library(tmp_path, access="keys", limit_conversation="1/hour", limit_user="2/hour") as server:
        acme, beta = server.with_key("acme"), server.with_key("beta")

        def ask(caller: Server, conversation_id: str) -> int:
            sent = {"message": "thanks!", "conversation_id": conversation_id, "user": "ada", "stream": False}
            return caller.send("POST", "/api/chat", sent).status

        assert [ask(acme, "one"), ask(acme, "one")] == [200, 429], "the conversation's"
        assert ask(beta, "one") == 200, "a conversation of the same id is another"
        assert [ask(acme, "two"), ask(acme, "three")] == [200, 429], "the user's"
        assert ask(beta, "two") == 200, "a user of the same name is another"


def test_the_metrics_of_all_tenants_are_no_single_tenants(world: World) -> None:
    assert world.server.with_key(may="manage").get("/metrics").status == 200
    for limited in (world.server.with_key("acme", may="manage"), world.server.with_key("", ("birds",), "manage")):
        refused = limited.get("/metrics")
        assert (refused.status, refused.json["code"]) == (403, "NotAllowed")
        assert limited.get("/api/analytics").status == 200, "what is theirs they see"
