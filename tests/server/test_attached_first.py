"""A conversation that begins with what is attached to it: it is there before its first question."""

from __future__ import annotations

from pathlib import Path

from tests.server.serving import library

NOTES = b"# Wombats\n\nThe droppings of a wombat are cubes."
PATH = "/api/conversations/new"


def test_it_is_there_from_the_first_attachment_on_and_is_named_by_its_first_question(tmp_path: Path) -> None:
    with library(tmp_path) as server:
        assert server.get(PATH).status == 404
        assert server.upload(f"{PATH}/attachments/wombats.md", NOTES).status == 201
        found = server.get(PATH).json
        assert (found["title"], found["turn_count"], found["turns"]) == ("", 0, [])
        assert [each["name"] for each in found["attachments"]] == ["wombats.md"]
        assert [each["id"] for each in server.get("/api/conversations").json["conversations"]] == ["new"]
        asked = {"message": "What shape are the droppings of a wombat?", "conversation_id": "new", "user": "ada"}
        assert "cubes" in server.post("/api/chat", {**asked, "stream": False}).json["text"]
        found = server.get(PATH).json
        assert (found["title"], found["user"], found["turn_count"]) == (asked["message"], "ada", 1)


def test_a_title_that_was_given_before_the_first_question_stays(tmp_path: Path) -> None:
    with library(tmp_path) as server:
        server.upload(f"{PATH}/attachments/wombats.md", NOTES)
        server.send("PATCH", PATH, {"title": "Marsupials"})
        server.post("/api/chat", {"message": "Cubes?", "conversation_id": "new", "stream": False})
        assert server.get(PATH).json["title"] == "Marsupials"


def test_what_was_attached_goes_with_it(tmp_path: Path) -> None:
    with library(tmp_path) as server:
        server.upload(f"{PATH}/attachments/wombats.md", NOTES)
        assert server.send("DELETE", PATH).status == 204
        assert server.get(PATH).status == 404
        assert server.engine.index.documents(None) == []


def test_a_file_that_cannot_be_read_begins_nothing(tmp_path: Path) -> None:
    with library(tmp_path) as server:
        assert server.upload(f"{PATH}/attachments/wombats.pdf", b"no pdf").status == 422
        assert server.get("/api/conversations").json["conversations"] == []
