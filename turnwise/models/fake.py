"""A chat model whose answers come from a function."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable

from turnwise.types import Prompt


class FakeChat:
    """A chat model made of one function, for tests and demonstrations: no network, no weights, no surprises.

    The function gets the prompt and returns the answer, whole or in pieces. If it raises, the stream raises; an
    iterable that raises midway acts as a model that breaks off midway.

        model = FakeChat(lambda prompt: f"You asked: {prompt.question}")
        model = FakeChat(lambda prompt: ["Paris ", "is the capital ", "[1]."])

    `window` is its context window in tokens, and `count` counts the tokens of a text, if that matters.
    """

    name: str = "fake"

    def __init__(
        self,
        answer: Callable[[Prompt], str | Iterable[str]],
        window: int = 0,
        count: Callable[[str], int] | None = None,
    ) -> None:
        self._answer = answer
        self.window = window
        self.count = count

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        answer = self._answer(prompt)
        for piece in [answer] if isinstance(answer, str) else answer:
            yield piece
