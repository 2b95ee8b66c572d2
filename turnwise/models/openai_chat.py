"""A chat model behind any OpenAI-compatible endpoint: OpenAI, Ollama, LM Studio, vLLM, llama.cpp, OpenRouter."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from turnwise.errors import ConfigError, ModelGarbled, ModelTimeout, ModelUnavailable
from turnwise.types import Message, Prompt

if TYPE_CHECKING:
    from openai import APIError, APIStatusError, AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

CONNECT_SECONDS = 5.0
RETRIES = 2
HINTS = {
    400: "Check TURNWISE_MODEL, and shorten the message if it is long.",
    401: "Set OPENAI_API_KEY to a valid key of this provider.",
    403: "Check that your key may use this model.",
    404: "Check TURNWISE_MODEL, and that OPENAI_BASE_URL is the provider's API address (it often ends in /v1).",
    429: "Wait a little and ask again, or raise your limit with the provider.",
}
OTHER_HINT = "Ask again; if it stays so, look at the provider's status page or the server's log."


class OpenAIChat:
    """Streams answers from the endpoint at `base_url`. With no model named, it takes the first one offered there."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        model: str,
        temperature: float = 0.35,
        top_p: float = 0.9,
        max_tokens: int = 2000,
        timeout: float = 60.0,
    ) -> None:
        self._host = _host(base_url)
        self._base_url = base_url
        self._api_key = _usable_key(api_key)
        self._model = model
        self._parameters: dict[str, Any] = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens}
        self._timeout = timeout
        # A client belongs to the event loop it first ran in; the server and plain code have one each.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = WeakKeyDictionary()
        self.name = f"{model or 'the first model'} at {self._host}"

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        """The answer in pieces, without the thoughts that some models write before it. Raises a ModelError."""
        spoken = _Spoken()
        finish_reason = ""
        async with aclosing(self._deltas(prompt)) as deltas:
            async for delta, reason in deltas:
                finish_reason = reason or finish_reason
                if text := spoken.add(delta):
                    yield text
        if text := spoken.end():
            yield text
        if not spoken.began:
            raise self._silent(finish_reason)
        if not finish_reason:
            raise self._cut_off()

    async def rewrite(self, messages: Sequence[Message], limit: int) -> str:
        """The reply to these messages, of which little more than `limit` characters are read. Raises a ModelError."""
        reply = ""
        async with aclosing(self.stream(Prompt(tuple(messages), "", (), (), ()))) as pieces:
            async for piece in pieces:
                reply += piece
                if len(reply) > limit:
                    break
        return reply

    async def _deltas(self, prompt: Prompt) -> AsyncGenerator[tuple[str, str], None]:
        """The pieces as they were sent, each with the reason why the answer ended (empty until it did)."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._timeout
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._open(prompt)
            async with response:
                while True:
                    async with asyncio.timeout_at(deadline):
                        delta = await self._next(response)
                    if delta is None:
                        return
                    yield delta
                    deadline = clock() + self._timeout
        except TimeoutError:
            raise ModelTimeout(
                f"{self.name} sent nothing for {self._timeout:g} seconds.",
                "Ask again, or raise TURNWISE_MODEL_TIMEOUT.",
            ) from None

    async def _open(self, prompt: Prompt) -> AsyncStream[ChatCompletionChunk]:
        import openai

        client = self._client()
        try:
            self._model = self._model or await self._first_model(client)
            return await self._create(client, prompt)
        except openai.APIError as error:
            raise self._unavailable(error) from None  # the provider's own words may quote the key

    def _client(self) -> AsyncOpenAI:
        import openai

        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = openai.AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._api_key or "none",  # local servers want none, the client insists on one
                timeout=openai.Timeout(None, connect=CONNECT_SECONDS),
                max_retries=RETRIES,
                # People think longer than a kept connection lives, and none may outlive its loop.
                default_headers={"Connection": "close"},
            )
        return self._clients[loop]

    async def _first_model(self, client: AsyncOpenAI) -> str:
        import openai

        try:
            offered = [model.id for model in (await client.models.list()).data]
        except (openai.NotFoundError, AttributeError, TypeError, ValueError):
            offered = []
        if not offered:
            raise ModelUnavailable(
                f"{self._host} does not say which models it has.", "Set TURNWISE_MODEL to the name of one."
            )
        self.name = f"{offered[0]} at {self._host}"
        return offered[0]

    async def _create(self, client: AsyncOpenAI, prompt: Prompt) -> AsyncStream[ChatCompletionChunk]:
        """Ask for the answer, giving up one by one the parameters that this model does not take."""
        import openai

        messages: list[Any] = [{"role": message.role, "content": message.content} for message in prompt.messages]
        parameters = self._parameters
        while True:
            try:
                response: AsyncStream[ChatCompletionChunk] = await client.chat.completions.create(
                    model=self._model, messages=messages, stream=True, **parameters
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                fewer = _without_rejected(parameters, error)
                if fewer is None:
                    raise
                self._parameters = parameters = fewer
            else:
                return response

    async def _next(self, response: AsyncStream[ChatCompletionChunk]) -> tuple[str, str] | None:
        import openai

        try:
            chunk = await anext(response, None)
            return None if chunk is None else _read(chunk)
        except openai.APIConnectionError:
            raise self._cut_off() from None
        except openai.APIError as error:
            raise self._unavailable(error) from None
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelGarbled(f"{self.name} sent something unreadable.", OTHER_HINT) from error

    def _unavailable(self, error: APIError) -> ModelUnavailable:
        import openai

        if isinstance(error, openai.APIConnectionError):
            return ModelUnavailable(
                f"{self._host} cannot be reached.", "Start the model's server, or check OPENAI_BASE_URL."
            )
        status = error.status_code if isinstance(error, openai.APIStatusError) else 0
        said = _provider_words(error)
        if self._api_key:
            said = said.replace(self._api_key, "(key)")
        return ModelUnavailable(
            f"{self.name} refused{f' ({status})' if status else ''}{f': {said}' if said else '.'}",
            HINTS.get(status, OTHER_HINT),
        )

    def _cut_off(self) -> ModelGarbled:
        return ModelGarbled(f"The answer of {self.name} broke off.", OTHER_HINT)

    def _silent(self, finish_reason: str) -> ModelGarbled:
        hint = OTHER_HINT if finish_reason else HINTS[404]
        if finish_reason == "length":
            hint = "Raise TURNWISE_MAX_TOKENS: the model spent them all on thinking."
        return ModelGarbled(f"{self.name} sent an empty answer.", hint)


class _Spoken:
    """Turns deltas into readable text: no block of thoughts at the start, no character cut in half.

    Only the start is searched: further on, "<think>" is a word of an answer about models that think.
    """

    OPEN, CLOSE = "<think>", "</think>"

    def __init__(self) -> None:
        self.began = False
        self._held = ""
        # A provider may send the two escapes of one emoji in two deltas; this decoder joins them.
        self._characters = codecs.getincrementaldecoder("utf-16-le")("replace")

    def add(self, delta: str) -> str:
        text = self._characters.decode(delta.encode("utf-16-le", "surrogatepass"))
        if self.began:
            return text
        self._held = self._after_thoughts(self._held + text)
        if self.OPEN.startswith(self._held[: len(self.OPEN)]):
            return ""
        return self._release()

    def end(self) -> str:
        """What was held back in case it became a block of thoughts, and did not."""
        return "" if self.began or self._held.startswith(self.OPEN) else self._release()

    def _after_thoughts(self, text: str) -> str:
        text = text.lstrip()
        while text.startswith(self.OPEN):
            _, closed, rest = text.partition(self.CLOSE)
            if not closed:
                return self.OPEN + text[len(self.OPEN) :][-len(self.CLOSE) :]
            text = rest.lstrip()
        return text

    def _release(self) -> str:
        text, self._held = self._held, ""
        self.began = bool(text)
        return text


def _read(chunk: ChatCompletionChunk) -> tuple[str, str]:
    if not chunk.choices:  # a chunk that only counts tokens
        return "", ""
    choice = chunk.choices[0]
    text = (choice.delta.content if choice.delta else None) or ""
    if not isinstance(text, str):
        raise TypeError(f"words of type {type(text).__name__}")
    return text, choice.finish_reason or ""


def _without_rejected(parameters: dict[str, Any], error: APIStatusError) -> dict[str, Any] | None:
    """The parameters less the one that the error names, or with its newer name; None where it names none of them."""
    said = _provider_words(error)
    named = [name for name in parameters if name == error.param] or [name for name in parameters if name in said]
    if not named:
        return None
    fewer = {name: value for name, value in parameters.items() if name != named[0]}
    if named[0] == "max_tokens" and "max_completion_tokens" in said:
        fewer["max_completion_tokens"] = parameters["max_tokens"]
    return fewer


def _provider_words(error: APIError) -> str:
    """What the provider says went wrong, on one line; nothing where it sent a page for browsers."""
    body: Any = error.body
    said = str(body.get("message") or body.get("detail") or "") if isinstance(body, dict) else str(body or "")
    return "" if said.startswith("<") else " ".join(said.split())[:300]


def _host(base_url: str) -> str:
    """The host and port of an address, without the password that some addresses carry."""
    try:
        parts = urlsplit(base_url)
        if parts.scheme in ("http", "https") and parts.hostname:
            return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    except ValueError:
        pass
    raise ConfigError("OPENAI_BASE_URL is not an address.", "Write it in full, such as http://localhost:11434/v1.")


def _usable_key(api_key: str | None) -> str:
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("OPENAI_API_KEY holds characters that no key has.", "Copy the whole key again.")
    return key
