from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from turnwise.errors import ModelTimeout
from turnwise.models.fake import FakeChat
from turnwise.types import ChatModel, Prompt

PROMPT = Prompt((), question="Why?", asked=(), evidence=(), said=())


async def collect(model: ChatModel) -> list[str]:
    return [piece async for piece in model.stream(PROMPT)]


def test_it_says_what_the_function_returns_whole_or_in_pieces() -> None:
    assert asyncio.run(collect(FakeChat(lambda prompt: f"{prompt.question} Because."))) == ["Why? Because."]
    assert FakeChat(lambda _: "").name == "fake"
    assert asyncio.run(collect(FakeChat(lambda _: ["Because", "."]))) == ["Because", "."]


def test_it_raises_what_the_function_raises_also_midway() -> None:
    def breaks_off(prompt: Prompt) -> Iterator[str]:
        yield "Because"
        raise ModelTimeout(prompt.question)

    async def read() -> None:
        pieces = FakeChat(breaks_off).stream(PROMPT)
        assert await anext(pieces) == "Because"
        with pytest.raises(ModelTimeout, match="Why"):
            await anext(pieces)

    asyncio.run(read())
