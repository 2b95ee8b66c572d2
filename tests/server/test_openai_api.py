from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from typing import Any

import openai
import pytest

from tests.server.scripted import BERT, Client, answers, breaks_midway, fails_midway, plans, refuses, reply_to, serving
from turnwise.types import Accepted, Answered, Delta, Message, TurnEvent, TurnRequest


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("openai")) as client:
        yield client


@pytest.fixture
def sdk(client: Client) -> Iterator[openai.OpenAI]:
    client.engine.script = answers
    with openai.OpenAI(base_url=f"{client.address}/v1", api_key="none", max_retries=0) as sdk:
        yield sdk


ASKED: list[Any] = [{"role": "user", "content": "What is BERT?"}]


def test_there_is_one_model(sdk: openai.OpenAI) -> None:
    assert [model.id for model in sdk.models.list()] == ["turnwise"]


def test_a_whole_completion_carries_the_sources_and_the_context(sdk: openai.OpenAI) -> None:
    completion = sdk.chat.completions.create(model="gpt-any", messages=ASKED, temperature=0.1, seed=3)
    assert completion.model == "gpt-any"
    assert completion.choices[0].message.content == "BERT hides words [1]."
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage is not None
    assert completion.usage.total_tokens > 0
    extra = completion.model_extra or {}
    assert extra["sources"][0]["title"] == "BERT"
    assert extra["condensed_query"] == "What is BERT?"
    assert extra["follow_up"]["is_follow_up"] is False
    assert extra["state"]["topic"] == "BERT"
    assert extra["conversation_id"] is None
    assert extra["suggestions"] == []


def test_a_streamed_completion_is_the_same_text_and_ends_with_the_context(sdk: openai.OpenAI) -> None:
    chunks = list(sdk.chat.completions.create(model="turnwise", messages=ASKED, stream=True))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "BERT hides words [1]."
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert (chunks[-1].model_extra or {})["sources"][0]["number"] == 1
    assert len({chunk.id for chunk in chunks}) == 1


@pytest.mark.parametrize("why", ["length", "content_filter"])
def test_an_answer_that_was_cut_says_so(sdk: openai.OpenAI, client: Client, why: str) -> None:
    async def cut(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        yield Accepted(None, 1)
        yield Delta("BERT hides")
        yield Answered(replace(reply_to(request, "BERT hides"), cut=why))

    client.engine.script = cut
    whole = sdk.chat.completions.create(model="turnwise", messages=ASKED)
    assert whole.choices[0].finish_reason == why
    chunks = list(sdk.chat.completions.create(model="turnwise", messages=ASKED, stream=True))
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None, why]


def test_a_plan_is_not_spoken_of(sdk: openai.OpenAI, client: Client) -> None:
    client.engine.script = plans
    chunks = list(sdk.chat.completions.create(model="turnwise", messages=ASKED, stream=True))
    assert [chunk.choices[0].delta.content for chunk in chunks] == ["BERT hides words [1].", None]
    assert "plan" not in (chunks[-1].model_extra or {})


def test_usage_comes_last_where_it_is_asked_for(sdk: openai.OpenAI) -> None:
    chunks = list(
        sdk.chat.completions.create(
            model="turnwise", messages=ASKED, stream=True, stream_options={"include_usage": True}
        )
    )
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None


def test_the_stream_ends_in_done(client: Client) -> None:
    answer = client.post("/v1/chat/completions", {"messages": ASKED, "stream": True})
    assert answer.body.endswith(b"data: [DONE]\n\n")


def test_the_whole_history_is_honoured(sdk: openai.OpenAI, client: Client) -> None:
    messages: list[Any] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is"}, {"type": "text", "text": "BERT?"}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": "42", "tool_call_id": "x"},
        {"role": "assistant", "content": "It hides words."},
        {"role": "user", "content": "Who hid them?"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot say."}]},
        {"role": "user", "content": "And GPT?"},
        {"role": "system", "content": "Cite."},
    ]
    sdk.chat.completions.create(model="turnwise", messages=messages, extra_body={"condensed_query": "What is GPT?"})
    request = client.engine.requests[-1]
    assert (request.message, request.condensed_query) == ("And GPT?", "What is GPT?")
    assert request.history == (
        Message("system", "Be brief."),
        Message("system", "Cite."),
        Message("user", "What is\nBERT?"),
        Message("assistant", "It hides words."),
        Message("user", "Who hid them?"),
        Message("assistant", "I cannot say."),
    )


def test_sources_sent_back_are_kept(client: Client) -> None:
    first = client.post("/v1/chat/completions", {"messages": ASKED}).json
    told = {"role": "assistant", "content": "BERT hides words [1].", "sources": first["sources"]}
    client.post("/v1/chat/completions", {"messages": [*ASKED, told, {"role": "user", "content": "More"}]})
    assert client.engine.requests[-1].history[-1].sources == (BERT,)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"messages": []}, 400),
        ({"messages": [{"role": "assistant", "content": "hi"}]}, 400),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, 400),
        ({"messages": [{"role": "user", "content": 3}]}, 422),
        ({}, 422),
        (b"{", 400),
    ],
)
def test_errors_have_openais_form(client: Client, body: Any, status: int) -> None:
    answer = client.post("/v1/chat/completions", body)
    assert answer.status == status
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json["error"]) == {"message", "type", "param", "code"}
    assert answer.json["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("stream", [True, False])
def test_a_refused_turn_raises_in_the_client(sdk: openai.OpenAI, client: Client, stream: bool) -> None:
    client.engine.script = refuses
    with pytest.raises(openai.UnprocessableEntityError, match=r"The message is empty\. Write a question\."):
        sdk.chat.completions.create(model="turnwise", messages=ASKED, stream=stream)


@pytest.mark.parametrize(("script", "said"), [(fails_midway, "said nothing"), (breaks_midway, "went wrong")])
def test_a_failure_midway_raises_in_the_client(sdk: openai.OpenAI, client: Client, script: Any, said: str) -> None:
    client.engine.script = script
    with pytest.raises(openai.APIError, match=said):
        list(sdk.chat.completions.create(model="turnwise", messages=ASKED, stream=True))
