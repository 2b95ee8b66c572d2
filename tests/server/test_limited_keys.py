"""Keys that are limited to collections: what others were answered from elsewhere is not theirs to see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server.scripted import Answer, Following
from tests.server.serving import Server, library

BIRDS = b"# Birds\n\nSwallows eat flying insects, which they catch over open water."
FISH = b"# Fish\n\nThe pelagic salmon eat small herring, which they hunt at dusk."


@dataclass
class Held:
    server: Server
    whole: Server
    birds: Server
    stream: str  # of a turn of the whole library


def ask(caller: Server, message: str, conversation_id: str, stream: bool = False) -> Answer:
    return caller.post("/api/chat", {"message": message, "conversation_id": conversation_id, "stream": stream})


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    with library(tmp_path_factory.mktemp("limited"), access="keys") as server:
        whole, birds = server.with_key(may="manage"), server.with_key("", ("birds",), "manage")
        whole.upload("/api/documents/birds.md?collection=birds", BIRDS)
        whole.upload("/api/documents/fish.md?collection=fish", FISH)
        begun = dict(ask(whole, "What do pelagic salmon eat?", "fishy", stream=True).events)["accepted"]
        whole.send("PUT", "/api/conversations/fishy/turns/1/feedback", {"rating": "down", "comment": "pelagic"})
        whole.upload("/api/conversations/fishy/attachments/notes.md", b"# Notes\n\nPelagic means of the open sea.")
        ask(birds, "What do swallows eat?", "airy")
        yield Held(server, whole, birds, begun["stream"])


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/conversations/{id}", None),
        ("PATCH", "/api/conversations/{id}", {"title": "Mine"}),
        ("DELETE", "/api/conversations/{id}", None),
        ("GET", "/api/conversations/{id}/export", None),
        ("POST", "/api/conversations/{id}/branch", {"turn": 2}),
        ("GET", "/api/conversations/{id}/events", None),
        ("GET", "/api/conversations/{id}/turns/1", None),
        ("PUT", "/api/conversations/{id}/turns/1/feedback", {"rating": "up"}),
        ("DELETE", "/api/conversations/{id}/turns/1/feedback", None),
    ],
)
def test_a_conversation_beyond_its_collections_is_as_if_it_were_not_there(
    held: Held, method: str, path: str, body: object
) -> None:
    hidden, unknown = (held.birds.send(method, path.replace("{id}", each), body) for each in ("fishy", "nobody"))
    assert hidden.status == unknown.status == 404
    assert hidden.body.replace(b"fishy", b"ID") == unknown.body.replace(b"nobody", b"ID")
    assert held.whole.get("/api/conversations/fishy").json["turn_count"] == 1


def test_it_is_not_listed_found_or_counted(held: Held) -> None:
    assert [each["id"] for each in held.birds.get("/api/conversations").json["conversations"]] == ["airy"]
    assert held.birds.get("/api/conversations?search=salmon").json["conversations"] == []
    for path in ("/api/analytics", "/api/analytics/feedback.csv", "/api/analytics/unanswered.csv"):
        assert b"pelagic" not in held.birds.get(path).body.lower(), path
    assert held.birds.get("/api/analytics").json["totals"]["turns"] == 1
    assert held.whole.get("/api/analytics").json["totals"]["turns"] == 2


def test_nothing_is_added_to_it_or_read_through_it(held: Held) -> None:
    refused = ask(held.birds, "And what else?", "fishy")
    assert (refused.status, refused.json["code"]) == (404, "ConversationNotFound")
    attached = held.birds.upload("/api/conversations/fishy/attachments/mine.md", b"# Mine\n\nWords.")
    assert (attached.status, attached.json["code"]) == (404, "ConversationNotFound")
    theirs = held.whole.get("/api/conversations/fishy").json
    assert theirs["turn_count"] == 1
    assert [each["name"] for each in theirs["attachments"]] == ["notes.md"]
    number = theirs["attachments"][0]["id"]
    assert held.birds.send("DELETE", f"/api/conversations/fishy/attachments/{number}").status == 404
    assert len(held.whole.get("/api/conversations/fishy").json["attachments"]) == 1
    passage = next(
        each["passage_id"]
        for each in ask(held.whole, "What does pelagic mean?", "fishy").json["sources"]
        if "otes" in each["title"]
    )
    assert held.whole.get(f"/api/passages/{passage}?conversation=fishy").status == 200
    assert held.birds.get(f"/api/passages/{passage}?conversation=fishy").status == 404
    judged = held.birds.post("/api/guard/input", {"content": "Hi", "conversation_id": "fishy"})
    assert judged.status == 404
    analyzed = held.birds.post("/api/analyze", {"message": "And?", "conversation_id": "fishy"})
    assert analyzed.status in (404, 422)


def test_nor_is_its_stream_followed_or_stopped(held: Held) -> None:
    for method in ("GET", "DELETE"):
        hidden, unknown = (held.birds.send(method, f"/api/streams/{each}") for each in (held.stream, "f" * 32))
        assert hidden.status == unknown.status == 404
    assert held.whole.get(f"/api/streams/{held.stream}").status == 200


def test_an_import_under_its_id_gets_another(held: Held) -> None:
    taken = held.birds.post("/api/conversations", {"id": "fishy", "turns": [{"prompt": "a", "response": "b"}]})
    assert taken.status == 201
    assert taken.json["id"] != "fishy"
    assert held.birds.send("DELETE", f"/api/conversations/{taken.json['id']}").status == 204


def test_what_a_limited_key_asks_is_seen_by_who_sees_more_and_leaves_it_when_they_go_on(held: Held) -> None:
    birds, other = held.server.with_key("", ("birds",)), held.server.with_key("", ("fish",))
    ask(birds, "What do swallows eat?", "shared")
    assert held.birds.get("/api/conversations/shared").status == 200
    assert other.get("/api/conversations/shared").status == 404
    assert held.whole.get("/api/conversations/shared").status == 200
    ask(held.whole, "What do pelagic salmon eat?", "shared")
    assert held.birds.get("/api/conversations/shared").status == 404
    assert held.whole.get("/api/conversations/shared").json["turn_count"] == 2


def test_who_watches_a_conversation_that_goes_on_beyond_their_collections_is_sent_away(held: Held) -> None:
    ask(held.birds, "What do swallows eat?", "watched")
    with Following(
        held.birds, "GET", "/api/conversations/watched/events", authorization=f"Bearer {held.birds.secret}"
    ) as page:
        assert page.status == 200
        ask(held.whole, "What do pelagic salmon eat?", "watched")
        page.until("deleted")
        assert page.rest() == []


def test_who_does_not_see_a_conversation_does_not_use_up_what_may_be_said_in_it(tmp_path: Path) -> None:
    with library(tmp_path, access="keys", limit_conversation="2/minute") as server:
        whole, birds = server.with_key(), server.with_key("", ("birds",))
        assert ask(whole, "What is 1 + 1?", "theirs").status == 200
        assert [ask(birds, "Hi", "theirs").status for _ in range(2)] == [404, 404]
        assert ask(whole, "What is 1 + 2?", "theirs").status == 200
        assert ask(whole, "What is 1 + 3?", "theirs").status == 429


def test_a_name_that_is_taken_elsewhere_is_free_and_nothing_is_told_of_it(held: Held) -> None:
    def told(answer: Answer, name: str) -> tuple[int, list[tuple[str, object]]]:
        unlike = ("id", "added_at", "pending", "status")
        known = [each for each in answer.json.items() if each[0] not in unlike]
        return answer.status, [(key, str(value).replace(name, "NAME")) for key, value in known]

    here = "?collection=birds"
    for _ in range(2):  # the second time it is there, and unchanged
        taken, free = (held.birds.upload(f"/api/documents/{name}{here}", BIRDS) for name in ("fish.md", "none.md"))
        assert told(taken, "fish.md") == told(free, "none.md")
    assert (taken.status, taken.json["outcome"], taken.json["name"]) == (200, "unchanged", "fish.md")
    changed = held.birds.upload(f"/api/documents/birds.md{here}", BIRDS + b" They nest in barns.")
    assert changed.json["outcome"] == "updated"
    theirs = held.whole.get("/api/documents?collection=fish").json["documents"]
    assert [(each["name"], each["title"]) for each in theirs] == [("fish.md", "Fish")]
    for each in (taken, free):
        assert held.birds.send("DELETE", f"/api/documents/{each.json['id']}").status == 204
    assert len(held.whole.get("/api/documents?collection=fish").json["documents"]) == 1
