"""The clients that people have, as they are: OpenAI's own, LangChain's and LlamaIndex's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
import pytest

from tests.server.scripted import BERT, Client, answers, fails_midway, refuses, serving
from turnwise.config import Settings
from turnwise.types import Message

if TYPE_CHECKING:  # they take seconds to import, in every process that collects the tests
    from langchain_core.messages import BaseMessage
    from langchain_openai import ChatOpenAI
    from llama_index.core.llms import ChatMessage
    from llama_index.llms.openai_like import OpenAILike

TEXT = "BERT hides words [1]."
ASKED: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is BERT?"},
    {"role": "assistant", "content": "A model."},
    {"role": "user", "content": "How is it trained?"},
]
HISTORY = (Message("system", "Be brief."), Message("user", "What is BERT?"), Message("assistant", "A model."))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("clients")) as client:
        yield client


@pytest.fixture
def client(server: Client) -> Client:
    server.engine.script = answers
    return server


def honoured(client: Client) -> bool:
    """Whether the last request had all that was said."""
    request = client.engine.requests[-1]
    return (request.message, request.history) == ("How is it trained?", HISTORY)


# --- openai ------------------------------------------------------------------------------------------------------


@pytest.fixture
def sdk(client: Client) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{client.address}/v1", api_key="none", max_retries=0) as sdk:
        yield sdk


def test_openai_asks_and_streams(client: Client, sdk: openai.OpenAI) -> None:
    whole = sdk.chat.completions.create(
        model="turnwise", messages=ASKED, max_completion_tokens=9, temperature=0, user="ada", seed=1, stop=["x"], n=1
    )
    assert whole.choices[0].message.content == TEXT
    assert (whole.model_extra or {})["sources"][0]["title"] == BERT.title
    assert honoured(client)
    assert client.engine.requests[-1].user == "ada"

    chunks = list(
        sdk.chat.completions.create(
            model="turnwise", messages=ASKED, stream=True, stream_options={"include_usage": True}
        )
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == TEXT
    assert (chunks[-2].model_extra or {})["sources"][0]["title"] == BERT.title
    assert chunks[-1].usage == whole.usage
    assert honoured(client)


def test_openai_asks_and_streams_without_waiting(client: Client) -> None:
    async def work() -> tuple[str | None, str, Any]:
        async with openai.AsyncOpenAI(base_url=f"{client.address}/v1", api_key="none", max_retries=0) as sdk:
            whole = await sdk.chat.completions.create(model="turnwise", messages=ASKED)
            streamed = await sdk.chat.completions.create(model="turnwise", messages=ASKED, stream=True)
            chunks = [chunk async for chunk in streamed]
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
            return whole.choices[0].message.content, text, (chunks[-1].model_extra or {})["sources"]

    whole, streamed, sources = asyncio.run(work())
    assert whole == streamed == TEXT
    assert sources[0]["title"] == BERT.title
    assert honoured(client)


def test_openais_own_helper_gathers_a_stream(sdk: openai.OpenAI) -> None:
    with sdk.chat.completions.stream(model="turnwise", messages=ASKED) as stream:
        assert stream.get_final_completion().choices[0].message.content == TEXT


def test_openai_finds_the_model(sdk: openai.OpenAI) -> None:
    assert [model.id for model in sdk.models.list()] == ["turnwise"]
    assert sdk.models.retrieve("turnwise").owned_by == "turnwise"
    with pytest.raises(openai.NotFoundError, match="The one there is is called turnwise"):
        sdk.models.retrieve("gpt-9")


@pytest.mark.parametrize("stream", [True, False])
def test_openai_raises_what_went_wrong(client: Client, sdk: openai.OpenAI, stream: bool) -> None:
    client.engine.script = refuses
    with pytest.raises(openai.UnprocessableEntityError, match="The message is empty"):
        sdk.chat.completions.create(model="turnwise", messages=ASKED, stream=stream)


def test_openai_raises_what_went_wrong_midway(client: Client, sdk: openai.OpenAI) -> None:
    client.engine.script = fails_midway
    with pytest.raises(openai.APIError, match="The model said nothing"):
        list(sdk.chat.completions.create(model="turnwise", messages=ASKED, stream=True))
    with pytest.raises(openai.InternalServerError, match="The model said nothing"):
        sdk.chat.completions.create(model="turnwise", messages=ASKED)


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({"n": 2}, "One answer"),
        ({"response_format": {"type": "json_object"}}, "not json_object"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required"}, "no tools"),
    ],
)
def test_openai_is_told_what_cannot_be_had(sdk: openai.OpenAI, asked: dict[str, Any], word: str) -> None:
    with pytest.raises(openai.BadRequestError, match=word):
        sdk.chat.completions.create(model="turnwise", messages=ASKED, **asked)


@pytest.mark.parametrize(
    "asked",
    [
        {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "auto"},
        {"response_format": {"type": "text"}, "max_tokens": 5, "logprobs": False, "parallel_tool_calls": False},
        {"metadata": {"a": "b"}, "store": False, "service_tier": "auto", "reasoning_effort": "low"},
    ],
)
def test_what_openai_may_send_besides_changes_nothing(sdk: openai.OpenAI, asked: dict[str, Any]) -> None:
    answer = sdk.chat.completions.create(model="turnwise", messages=ASKED, **asked)
    assert answer.choices[0].message.content == TEXT


def test_openai_is_let_in_by_its_key(tmp_path: Path) -> None:
    with serving(tmp_path, settings=Settings(access="keys")) as client:
        key, secret = client.engine.store.keys.create("k", "acme", ["papers"])
        for given, allowed in ((secret, True), ("tw_wrong", False)):
            with openai.OpenAI(base_url=f"{client.address}/v1", api_key=given, max_retries=0) as sdk:
                if allowed:
                    sdk.chat.completions.create(model="turnwise", messages=ASKED)
                    assert [model.id for model in sdk.models.list()] == ["turnwise"]
                else:
                    with pytest.raises(openai.AuthenticationError):
                        sdk.chat.completions.create(model="turnwise", messages=ASKED)
                    with pytest.raises(openai.AuthenticationError):
                        sdk.models.list()
        request = client.engine.requests[-1]
        assert (request.reach.tenant, request.reach.collections, request.key) == ("acme", ("papers",), key.id)


def test_openai_asks_once_with_a_key_of_its_own(client: Client, sdk: openai.OpenAI) -> None:
    asked = len(client.engine.requests)
    headers = {"Idempotency-Key": "from-openai"}
    first, second = (
        sdk.chat.completions.create(model="turnwise", messages=ASKED, extra_headers=headers) for _ in range(2)
    )
    assert first == second
    assert len(client.engine.requests) == asked + 1


# --- LangChain ---------------------------------------------------------------------------------------------------


@pytest.fixture
def spoken() -> list[BaseMessage]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    said = [SystemMessage("Be brief."), HumanMessage("What is BERT?"), AIMessage("A model.")]
    return [*said, HumanMessage("How is it trained?")]


@pytest.fixture
def langchain(client: Client) -> ChatOpenAI:
    from langchain_openai import ChatOpenAI

    address: Any = f"{client.address}/v1"
    return ChatOpenAI(base_url=address, api_key="none", model="turnwise", max_retries=0, stream_usage=True)  # type: ignore[arg-type]


def test_langchain_asks(client: Client, langchain: ChatOpenAI, spoken: list[BaseMessage]) -> None:
    answer = langchain.invoke(spoken)
    assert answer.content == TEXT
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["total_tokens"] > 0
    assert answer.response_metadata["finish_reason"] == "stop"
    assert honoured(client)


def test_langchain_streams(client: Client, langchain: ChatOpenAI, spoken: list[BaseMessage]) -> None:
    chunks = list(langchain.stream(spoken))
    assert "".join(str(chunk.content) for chunk in chunks) == TEXT
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert whole.usage_metadata is not None
    assert honoured(client)


def test_langchain_works_without_waiting(client: Client, langchain: ChatOpenAI, spoken: list[BaseMessage]) -> None:
    async def work() -> tuple[Any, str]:
        whole = await langchain.ainvoke(spoken)
        return whole.content, "".join([str(chunk.content) async for chunk in langchain.astream(spoken)])

    assert asyncio.run(work()) == (TEXT, TEXT)
    assert honoured(client)


def test_langchain_raises_what_went_wrong(client: Client, langchain: ChatOpenAI) -> None:
    client.engine.script = refuses
    with pytest.raises(openai.UnprocessableEntityError, match="The message is empty"):
        langchain.invoke("")
    client.engine.script = fails_midway
    with pytest.raises(openai.APIError, match="The model said nothing"):
        list(langchain.stream("What is BERT?"))


# --- LlamaIndex --------------------------------------------------------------------------------------------------


@pytest.fixture
def told() -> list[ChatMessage]:
    from llama_index.core.llms import ChatMessage, MessageRole

    return [
        ChatMessage(role=MessageRole.SYSTEM, content="Be brief."),
        ChatMessage(role=MessageRole.USER, content="What is BERT?"),
        ChatMessage(role=MessageRole.ASSISTANT, content="A model."),
        ChatMessage(role=MessageRole.USER, content="How is it trained?"),
    ]


@pytest.fixture
def llama(client: Client) -> OpenAILike:
    from llama_index.llms.openai_like import OpenAILike

    return OpenAILike(
        model="turnwise", api_base=f"{client.address}/v1", api_key="none", is_chat_model=True, max_retries=0
    )


def test_llama_index_asks(client: Client, llama: OpenAILike, told: list[ChatMessage]) -> None:
    answer = llama.chat(told)
    assert answer.message.content == TEXT
    raw: Any = answer.raw
    assert raw.model_extra["sources"][0]["title"] == BERT.title
    assert honoured(client)


def test_llama_index_streams(client: Client, llama: OpenAILike, told: list[ChatMessage]) -> None:
    answers_ = list(llama.stream_chat(told))
    assert "".join(answer.delta or "" for answer in answers_) == TEXT
    assert answers_[-1].message.content == TEXT
    raw: Any = answers_[-1].raw
    assert raw.model_extra["sources"][0]["title"] == BERT.title
    assert honoured(client)


def test_llama_index_works_without_waiting(client: Client, llama: OpenAILike, told: list[ChatMessage]) -> None:
    async def work() -> tuple[Any, str]:
        whole = await llama.achat(told)
        streamed = await llama.astream_chat(told)
        return whole.message.content, "".join([answer.delta or "" async for answer in streamed])

    assert asyncio.run(work()) == (TEXT, TEXT)
    assert honoured(client)


def test_llama_index_raises_what_went_wrong(client: Client, llama: OpenAILike, told: list[ChatMessage]) -> None:
    client.engine.script = refuses
    with pytest.raises(openai.UnprocessableEntityError, match="The message is empty"):
        llama.chat(told)
