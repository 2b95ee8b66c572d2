from __future__ import annotations

import gzip
import socket
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import urlsplit

import pytest
from pydantic import AfterValidator, BaseModel, Field, StringConstraints, ValidationError

from tests.server.scripted import Client, serving
from turnwise.config import Settings
from turnwise.server.gate import host_allowed
from turnwise.server.problems import of_validation

LIMIT = 20_000


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("refusals"), settings=Settings(max_body=LIMIT)) as client:
        yield client


USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        (b"{", 400, "not JSON"),
        (b"", 400, "no body"),
        (b"\xff\xfe\xfa", 400, "JSON"),
        (b"[" * 9000, 400, "JSON"),
        (b'{"message": ' + b"[" * 4000 + b"]" * 4000 + b"}", 400, "JSON"),
        (b'{"message": ' + b"9" * 5000 + b"}", 400, "JSON"),
        (b"[]", 422, "The body should be a JSON object."),
        (b"null", 422, "The body should be a JSON object."),
        (b'"hello"', 422, "body"),
        (b'{"message": NaN}', 422, "'message'"),
        (b'{"message": "\\ud800"}', 422, "'message' holds half"),
        ({}, 422, "'message' or 'messages'"),
        ({"message": "hi", "messages": [USER]}, 422, "'message' or 'messages'"),
        ({"message": 3}, 422, "'message'"),
        ({"message": "hi", "mesage": "x"}, 422, "no field 'mesage'"),
        ({"message": "hi", "stream": "maybe"}, 422, "'stream'"),
        ({"message": "hi", "conversation_id": "x" * 300}, 422, "'conversation_id' should be"),
        ({"message": "hi", "conversation_id": ""}, 422, "'conversation_id' should be"),
        ({"message": "hi", "conversation_id": "a/b"}, 422, "'conversation_id' should be"),
        ({"message": "hi", "conversation_id": "a\nforged line"}, 422, "'conversation_id' should be"),
        ({"messages": []}, 422, "from the user"),
        ({"messages": [{"role": "assistant", "content": "hi"}]}, 422, "from the user"),
        ({"messages": [{"role": "root", "content": "hi"}]}, 422, "'messages.0.role'"),
        ({"messages": [{"role": "user"}]}, 422, "'messages.0.content' is missing"),
        ({"messages": [USER], "conversation_id": "c"}, 422, "'conversation_id'"),
    ],
)
def test_a_body_that_cannot_be_used_is_refused_in_plain_words(
    client: Client, body: Any, status: int, word: str
) -> None:
    answer = client.post("/api/chat", body)
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["status"] == status
    assert word in answer.json["detail"]
    assert answer.json["hint"]
    assert b"Traceback" not in answer.body


def test_of_duplicate_keys_the_last_counts(client: Client) -> None:
    assert client.post("/api/chat", b'{"message": "a", "message": "b", "stream": false}').json["condensed_query"] == "b"


@pytest.mark.parametrize("headers", [{"content_encoding": "gzip"}, {"content_type": "text/plain"}])
def test_packed_or_other_bodies_are_refused(client: Client, headers: dict[str, str]) -> None:
    answer = client.post("/api/chat", gzip.compress(b'{"message": "hi"}'), **headers)
    assert answer.status == 415
    assert answer.json["hint"]


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json; charset=utf-8", 200),
        ("application/vnd.turnwise+json", 200),
        ("application/json; charset=utf-16", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
        ("nonsense;;;", 415),
    ],
)
def test_only_utf8_json_is_read(client: Client, content_type: str, status: int) -> None:
    answer = client.post("/api/chat", {"message": "hi", "stream": False}, content_type=content_type)
    assert answer.status == status


def test_ten_megabytes_are_refused_with_and_without_a_length(client: Client) -> None:
    big = b'{"message": "' + b"x" * 10_000_000 + b'"}'
    pieces = (big[start : start + 65536] for start in range(0, len(big), 65536))
    for body in (big, pieces):
        answer = client.post("/api/chat", body)
        assert answer.status == 413
        assert answer.json["code"] == "BodyTooLarge"


def test_a_body_of_just_the_limit_passes(client: Client) -> None:
    empty = b'{"message": "", "stream": false}'
    body = empty.replace(b'""', b'"' + b"x" * (LIMIT - len(empty)) + b'"')
    assert client.post("/api/chat", body).status == 200
    assert client.post("/api/chat", body + b" ").status == 413


def test_a_body_that_breaks_off_harms_nobody(client: Client) -> None:
    parts = urlsplit(client.address)
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        connection.sendall(
            b"POST /api/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: 500\r\n\r\n{"
        )
    assert client.get("/healthz").status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("POST", "/", 405), ("GET", "/api/chat", 405), ("DELETE", "/api/library", 405)],
)
def test_unknown_routes_and_methods_are_problems(client: Client, method: str, path: str, status: int) -> None:
    answer = client.send(method, path, b"{}" if method == "POST" else None)
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert path in answer.json["detail"]


def test_a_field_is_the_subject_of_its_complaint(client: Client) -> None:
    answer = client.send("PATCH", "/api/conversations/c", {"title": ""})
    assert answer.json["detail"] == "The field 'title' should have at least 1 character."


@pytest.mark.parametrize("path", ["/", "/dashboard", "/docs", "/web/app.js", "/healthz", "/readyz"])
def test_monitors_may_ask_for_the_status_alone(client: Client, path: str) -> None:
    asked, answered = client.send("HEAD", path), client.get(path)
    assert (asked.status, asked.body) == (answered.status, b"")
    assert asked.headers["content-length"] == answered.headers["content-length"]


@pytest.mark.parametrize("path", ["/web/../server/app.py", "/web/%2e%2e/server/app.py", "/web//etc/passwd"])
def test_only_the_pages_files_are_served(client: Client, path: str) -> None:
    assert client.get(path).status == 404


def test_every_answer_carries_the_security_headers(client: Client) -> None:
    for path in ("/", "/web/app.js", "/healthz", "/nothing", "/api/conversations"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert client.get("/api/conversations").headers["cache-control"] == "no-store"


def test_another_hosts_name_is_turned_away(client: Client) -> None:
    assert client.get("/api/conversations", host="localhost:1234").status == 200
    answer = client.get("/api/conversations", host="evil.example")
    assert answer.status == 421
    assert answer.json["code"] == "WrongHost"


@pytest.mark.parametrize(
    ("header", "host", "allowed"),
    [
        ("localhost", "127.0.0.1", True),
        ("127.0.0.1:8000", "127.0.0.1", True),
        ("[::1]:8000", "127.0.0.1", True),
        ("LOCALHOST:80", "localhost", True),
        ("", "127.0.0.1", False),
        ("evil.example:8000", "127.0.0.1", False),
        ("127.0.0.1.evil.example", "127.0.0.1", False),
        ("192.168.1.5:8000", "192.168.1.5", True),
        ("localhost", "192.168.1.5", False),
        ("anything", "0.0.0.0", True),
        ("anything", "::", True),
    ],
)
def test_which_names_a_server_answers_to(header: str, host: str, allowed: bool) -> None:
    assert host_allowed(header, host) is allowed


def test_the_length_of_a_text_is_told_in_characters() -> None:
    class Body(BaseModel):
        comment: Annotated[str, AfterValidator(str), StringConstraints(max_length=3)]
        tags: Annotated[list[str], Field(max_length=1)] = []

    def told(body: dict[str, Any]) -> str:
        with pytest.raises(ValidationError) as raised:
            Body.model_validate(body)
        return of_validation([{**each, "loc": ("body", *each["loc"])} for each in raised.value.errors()]).detail

    assert "3 characters" in told({"comment": "long"})
    assert "items" not in told({"comment": "long"})
    assert "1 item" in told({"comment": "", "tags": ["a", "b"]})
