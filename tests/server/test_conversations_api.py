from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.scripted import BERT, Client, serving
from tests.server.serving import library
from turnwise.config import Settings
from turnwise.conversation import Conversation
from turnwise.types import Ending


class Server(Client):
    """A server whose conversations the test writes down itself."""

    def say(self, conversation_id: str, *prompts: str, user: str = "") -> None:
        for prompt in prompts:
            number = self.engine.store.accept(conversation_id, prompt, user).turns[-1].number
            self.engine.store.finish(conversation_id, number, Ending("answered", f"About {prompt} [1].", [BERT]))

    def turns(self, conversation_id: str) -> list[str]:
        return [turn["prompt"] for turn in self.get(f"/api/conversations/{conversation_id}").json["turns"]]

    def ids(self, query: str = "") -> list[str]:
        return [each["id"] for each in self.get(f"/api/conversations{query}").json["conversations"]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as client:
        client.engine.remove_attachments = lambda *_: 0  # type: ignore[method-assign]
        yield Server(client.address, client.engine)


def test_conversations_are_listed_latest_first_and_found_by_their_words(server: Server) -> None:
    server.say("one", "herons", "fish")
    server.say("two", "owls", user="ada")
    listed = server.get("/api/conversations").json["conversations"]
    assert [(each["id"], each["title"], each["user"], each["turns"]) for each in listed] == [
        ("two", "owls", "ada", 1),
        ("one", "herons", "", 2),
    ]
    assert server.ids("?search=HERONS") == ["one"]
    assert server.ids("?search=herons%20fish") == ["one"]
    assert server.ids("?search=herons%20owls") == []
    assert server.ids("?search=a%00b") == []
    assert "fish" in server.get("/api/conversations?search=fish").json["conversations"][0]["snippet"]
    assert server.ids("?user=ada") == ["two"]
    assert server.ids("?user=") == ["one"]
    assert server.ids(f"?before={listed[0]['last_activity']!r}") == ["one"]
    assert server.ids("?limit=1") == ["two"]


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "before=nan", "before=inf", "before=-1"])
def test_a_list_that_cannot_be_is_a_problem(server: Server, query: str) -> None:
    answer = server.get(f"/api/conversations?{query}")
    assert answer.status == 422
    assert answer.json["code"] == "InvalidField"


def test_a_conversation_is_renamed_and_deleted(server: Server) -> None:
    server.say("one", "herons")
    renamed = server.send("PATCH", "/api/conversations/one", {"title": " Wading birds "})
    assert (renamed.status, renamed.json) == (200, {"id": "one", "title": "Wading birds"})
    assert server.get("/api/conversations/one").json["title"] == "Wading birds"
    assert server.send("DELETE", "/api/conversations/one").status == 204
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"title": "x"}),
        ("DELETE", "", None),
        ("GET", "/export", None),
        ("POST", "/branch", {"turn": 1}),
        ("GET", "/turns/1", None),
        ("PUT", "/turns/1/feedback", {"rating": "up"}),
        ("DELETE", "/turns/1/feedback", None),
    ):
        answer = server.send(method, f"/api/conversations/one{path}", body)
        assert (answer.status, answer.json["code"]) == (404, "ConversationNotFound"), f"{method} {path}"


@pytest.mark.parametrize("title", ["", "   ", "x" * 201, "a\u0000b", 7, None])
def test_a_title_that_is_none_is_refused(server: Server, title: Any) -> None:
    server.say("one", "herons")
    assert server.send("PATCH", "/api/conversations/one", {"title": title}).status == 422
    assert server.send("PATCH", "/api/conversations/one", b'{"title": "\\ud800"}').status == 422
    assert server.get("/api/conversations/one").json["title"] == "herons"


def test_a_branch_has_the_turns_before_one_and_goes_its_own_way(server: Server) -> None:
    server.say("one", "herons", "fish", "rivers")
    answer = server.post("/api/conversations/one/branch", {"turn": 3})
    assert answer.status == 201
    branch = answer.json["id"]
    assert server.turns(branch) == ["herons", "fish"]
    server.say(branch, "lakes")
    assert server.turns(branch) == ["herons", "fish", "lakes"]
    assert server.turns("one") == ["herons", "fish", "rivers"]
    assert server.get(f"/api/conversations/{branch}").json["ancestors"] == ["one"]


@pytest.mark.parametrize("turn", [0, -1, 2**63, "1x", None, 10**400])
def test_a_branch_needs_the_number_of_a_turn(server: Server, turn: Any) -> None:
    server.say("one", "herons")
    assert server.post("/api/conversations/one/branch", {"turn": turn}).status == 422


def test_an_answer_is_judged_and_the_judgement_taken_back(server: Server) -> None:
    server.say("one", "herons", "fish")
    path = "/api/conversations/one/turns/2"
    given = server.send("PUT", f"{path}/feedback", {"rating": "down", "comment": "Too short."})
    assert given.status == 200
    assert server.get(path).json["feedback"] == given.json
    assert (given.json["rating"], given.json["comment"]) == ("down", "Too short.")
    first, second = server.get("/api/conversations/one").json["turns"]
    assert (first["feedback"], second["feedback"]) == (None, given.json)
    assert server.send("DELETE", f"{path}/feedback").status == 204
    assert server.get(path).json["feedback"] is None
    assert server.send("PUT", "/api/conversations/one/turns/9/feedback", {"rating": "up"}).status == 404
    for bad in ({"rating": "meh"}, {}, {"rating": "up", "comment": "x" * 2001}, {"rating": "up", "more": 1}):
        assert server.send("PUT", f"{path}/feedback", bad).status == 422


@pytest.mark.parametrize(("number", "status"), [("1", 200), ("2", 404), ("0", 422), ("x", 422), ("9" * 30, 422)])
def test_one_turn_is_read_by_its_number(server: Server, number: str, status: int) -> None:
    server.say("one", "herons")
    answer = server.get(f"/api/conversations/one/turns/{number}")
    assert answer.status == status
    if status == 200:
        assert answer.json["prompt"] == "herons"
        assert 'data-number="1"' in answer.json["html"]


def test_what_is_taken_out_comes_in_again_the_same(server: Server) -> None:
    server.say("one", "herons", "fish", user="ada")
    server.send("PATCH", "/api/conversations/one", {"title": "Wading birds"})
    server.send("PUT", "/api/conversations/one/turns/1/feedback", {"rating": "up"})
    taken = server.get("/api/conversations/one/export")
    assert taken.headers["content-disposition"].startswith('attachment; filename="Wading birds.json"')
    assert Conversation.from_dict(taken.json).get_turn_count() == 2

    put = server.post("/api/conversations", taken.json)
    assert put.status == 201
    assert put.json["id"] != "one", "that id is taken"
    again = server.get(f"/api/conversations/{put.json['id']}").json
    first = server.get("/api/conversations/one").json
    for name in ("title", "user", "turns", "created_at"):
        assert again[name] == first[name], name

    server.send("DELETE", "/api/conversations/one")
    assert server.post("/api/conversations", taken.json).json["id"] == "one", "that id is free"


def test_a_conversation_can_be_read_as_markdown(server: Server) -> None:
    server.say("one", "What is a heron?")
    server.send("PATCH", "/api/conversations/one", {"title": "Wäding „birds“/2"})
    taken = server.get("/api/conversations/one/export?format=markdown")
    assert taken.headers["content-type"].startswith("text/markdown")
    name = taken.headers["content-disposition"]
    assert 'filename="Wding birds2.md"' in name
    assert f"filename*=UTF-8''{quote('Wäding birds2')}.md" in name
    text = taken.body.decode()
    assert "What is a heron?" in text
    assert "About What is a heron?" in text
    assert "BERT" in text
    assert server.get("/api/conversations/one/export?format=pdf").status == 422


def test_messages_from_elsewhere_become_turns(server: Server) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "What is a heron?", "created_at": 1700000000},
        {"role": "assistant", "content": "A bird.", "metadata": {"scaffolding": "hint"}},
        {"role": "user", "content": "And an owl?"},
        {"role": "user", "content": "Well?"},
    ]
    put = server.post("/api/conversations", {"title": "Birds", "messages": messages})
    assert put.status == 201
    found = server.get(f"/api/conversations/{put.json['id']}").json
    assert found["title"] == "Birds"
    assert [(turn["prompt"], turn["response"], turn["status"]) for turn in found["turns"]] == [
        (None, "Hello.", "answered"),
        ("What is a heron?", "A bird.", "answered"),
        ("And an owl?", None, "interrupted"),
        ("Well?", None, "interrupted"),
    ]
    assert found["turns"][1]["timestamp"] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC).timestamp()


TURN = {"prompt": "a", "response": "b"}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"turns": []},
        {"messages": []},
        {"messages": [{"role": "system", "content": "x"}]},
        {"turns": [TURN], "messages": [{"role": "user", "content": "x"}]},
        {"turns": [7]},
        {"turns": [{"prompt": 7}]},
        {"turns": [{**TURN, "status": "odd"}]},
        {"turns": [{**TURN, "sources": [{"number": 1}]}]},
        {"turns": [{**TURN, "timestamp": "yesterday"}]},
        {"turns": [{**TURN, "timestamp": 1e300}]},
        {"turns": [{**TURN, "surprise": 1}]},
        {"turns": [TURN], "created_at": "x"},
        {"turns": [TURN] * 10_001},
        {"turns": [TURN], "title": "x" * 201},
        b'{"turns": [{"prompt": "\\ud800"}]}',
        b'{"turns": [{"prompt": "a", "record": {"\\ud800": 1}}]}',
        b'{"turns": [{"prompt": "a\\u0000b"}]}',
        b'{"turns": [{"prompt": "a", "record": {"x": NaN}}]}',
        b'{"turns": [{"prompt": "a", "record": {"x": 1e999}}]}',
        b'{"turns": [{"prompt": "a", "record": {"x": ' + b"[" * 200 + b"]" * 200 + b"}}]}",
        b'{"turns": [{"prompt": "a", "record": {"x": ' + b"[" * 90_000,
        b'{"messages": [{"role": "user", "content": "a", "metadata": {"x": "\\ud800"}}]}',
        b'{"turns": [{"prompt": "a", "number": ' + b"9" * 5000 + b"}]}",
    ],
)
def test_what_is_no_conversation_is_refused_and_nothing_is_kept(server: Server, body: Any) -> None:
    answer = server.post("/api/conversations", body)
    assert answer.status in (400, 422), answer.body
    assert answer.json["hint"]
    assert server.ids() == []


def test_what_comes_from_elsewhere_claims_nothing_of_ours(server: Server) -> None:
    """Neither the attachments of another conversation, nor that somebody is at work on a turn."""
    body = {
        "id": "a/b",
        "metadata": {"ancestors": ["one"], "title": "Mine", "colour": "red"},
        "turns": [{**TURN, "number": 7}, {"prompt": "c", "status": "pending", "number": 2**80}],
    }
    put = server.post("/api/conversations", body)
    assert put.status == 201, put.body
    assert put.json["id"] != "a/b"
    found = server.get(f"/api/conversations/{put.json['id']}").json
    assert (found["ancestors"], found["title"]) == ([], "Mine")
    assert [(turn["number"], turn["status"]) for turn in found["turns"]] == [(1, "answered"), (2, "interrupted")]


def test_what_was_taken_in_can_hold_no_page_in_its_hands(server: Server) -> None:
    body = {"turns": [{"prompt": "<script>1</script>", "response": "<img src=x onerror=alert(1)> [x](javascript:1)"}]}
    put = server.post("/api/conversations", body)
    (turn,) = server.get(f"/api/conversations/{put.json['id']}").json["turns"]
    assert "<img" not in turn["html"]
    assert 'href="javascript' not in turn["html"]


def test_a_long_conversation_comes_back_from_its_export_although_it_is_larger_than_a_message(tmp_path: Path) -> None:
    body = {"id": "long", "turns": [{"prompt": "x" * 1000}] * 20}
    with serving(tmp_path, settings=Settings(max_body=10_000, max_upload=100_000)) as client:
        assert client.post("/api/conversations", body).status == 201
        again = client.post("/api/conversations", client.get("/api/conversations/long/export").body)
        assert again.status == 201, again.body
        assert client.get(f"/api/conversations/{again.json['id']}").json["turn_count"] == 20
        assert client.post("/api/conversations", {"turns": [{"prompt": "x" * 120_000}]}).status == 413
        assert client.post("/api/chat", {"message": "x" * 20_000}).status == 413


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def any_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("any")) as client:
        yield Server(client.address, client.engine)


@given(record=plain, metadata=plain, error=plain, prompt=st.text())
def test_whatever_is_sent_is_kept_or_refused_and_can_be_read(
    any_server: Server, record: Any, metadata: Any, error: Any, prompt: str
) -> None:
    turn = {"prompt": prompt, "response": "b", "record": record, "metadata": metadata, "error": error}
    put = any_server.post("/api/conversations", json.dumps({"turns": [turn]}).encode())
    assert put.status in (201, 400, 422), put.body
    if put.status == 201:
        assert any_server.get(f"/api/conversations/{put.json['id']}").status == 200
        assert any_server.get(f"/api/conversations/{put.json['id']}/export").status == 200
        assert any_server.get(f"/api/conversations/{put.json['id']}/export?format=markdown").status == 200


def test_memory_is_off_until_somebody_wants_it_and_can_be_erased(tmp_path: Path) -> None:
    with library(tmp_path) as server:
        nothing = {"enabled": False, "preferences": [], "topics": []}
        assert server.get("/api/memory?user=ada").json == nothing
        wanted = {
            "enabled": True,
            "preferences": ["Answer briefly."],
            "topics": [{"topic": "herons", "level": "confused", "evidence": "what is that?", "at": 1700000000.0}],
        }
        assert server.send("PUT", "/api/memory?user=ada", wanted).json == wanted
        assert server.get("/api/memory?user=ada").json == wanted
        assert server.get("/api/memory?user=bob").json == nothing
        assert server.get("/api/memory").json == nothing
        assert server.send("DELETE", "/api/memory?user=ada").status == 204
        assert server.get("/api/memory?user=ada").json == nothing
        assert server.send("DELETE", "/api/memory?user=ada").status == 204


@pytest.mark.parametrize(
    "body",
    [
        {"preferences": ["x"] * 51},
        {"preferences": ["x" * 201]},
        {"preferences": ["a\u0000b"]},
        {"topics": [{"topic": "x", "level": "wizard"}]},
        {"enabled": "perhaps"},
        {"more": 1},
        b'{"preferences": ["\\ud800"]}',
        b'{"topics": [{"topic": "x", "level": "unknown", "at": NaN}]}',
    ],
)
def test_memory_of_another_form_is_refused(server: Server, body: Any) -> None:
    assert server.send("PUT", "/api/memory", body).status == 422
