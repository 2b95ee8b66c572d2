"""A chat model behind any OpenAI-compatible endpoint: OpenAI, Ollama, LM Studio, vLLM, llama.cpp, OpenRouter."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import logging
import random
import re
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from turnwise.errors import (
    ConfigError,
    ImageNotSeen,
    ModelError,
    ModelGarbled,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
)
from turnwise.models.breaker import Breaker
from turnwise.models.thoughts import Spoken
from turnwise.models.wire import DONE, FILTERED, LENGTH, Complaint, Unreadable, pieces, words_of
from turnwise.types import Cut, Filtered, Image, Message, Prompt

if TYPE_CHECKING:
    from openai import APIError, APIStatusError, AsyncAPIResponse, AsyncOpenAI

CONNECT_SECONDS = 5.0
KEPT_SECONDS = 30.0  # an idle connection is kept this long for the next question
DRAIN_SECONDS = 0.1  # for a stream to close after it has said it is done, so that its connection can be kept
ENDED_SECONDS = 1.0  # for an answer that has ended to be called done; some servers never do
RETRIES = 2
LETTERS, SPARE = 8, 400  # most characters read per token, and in addition: a server may never stop
THOUGHTS = 4  # times as much may be thought as said
FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0  # seconds; the longest wait before the first retry, and before any retry
PASSING = (408, 409, 429)  # refusals that may pass in a moment
HINTS = {
    400: "Check TURNWISE_MODEL, and shorten the message if it is long.",
    401: "Set OPENAI_API_KEY to a valid key of this provider.",
    403: "Check that your key may use this model.",
    404: "Check TURNWISE_MODEL, and that OPENAI_BASE_URL is the provider's API address (it often ends in /v1).",
    429: "Wait a little and ask again, or raise your limit with the provider.",
}
OTHER_HINT = "Ask again; if it keeps failing, look at the provider's status page or the server's log."
CUTS = {LENGTH: Cut, FILTERED: Filtered}
STRICT_HOSTS = ("api.openai.com", ".openai.azure.com")  # known to accept only OpenAI's own parameters
_IMAGE_WORD = re.compile(r"\b(?:images?|image_url|vision|multi-?modal|mmproj)\b", re.I)
_UNKNOWN_PARAMETER = re.compile(r"\b(?:extra|unknown|unrecogni[sz]ed|unsupported|unexpected|not permitted)\b", re.I)

log = logging.getLogger(__name__)


def sampling_extras(top_k: int, repeat_penalty: float) -> dict[str, Any]:
    """The parameters that many servers have and OpenAI does not; one that is 0 is not sent.

    Servers have two names for the penalty: each ignores or refuses the one it does not know.
    """
    penalty = {"repeat_penalty": repeat_penalty, "repetition_penalty": repeat_penalty} if repeat_penalty else {}
    return {**({"top_k": top_k} if top_k else {}), **penalty}


class OpenAIChat:
    """Streams answers from the endpoint at `base_url`. With no model named, it takes the first one offered there.

    `extras` are parameters that OpenAI does not have: they are sent to endpoints that may know them. A `breaker` may be
    shared by everything that uses the same endpoint. With `proxies` off, the proxies of the environment are ignored.
    With `alternating`, consecutive messages of one role are sent as one; otherwise only if the endpoint insists. A
    model that `sees` is sent the images of a prompt with its last message.
    """

    keeps_time = True

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        model: str,
        *,
        temperature: float = 0.35,
        top_p: float = 0.9,
        max_tokens: int = 2000,
        timeout: float = 60.0,
        extras: Mapping[str, Any] | None = None,
        breaker: Breaker | None = None,
        name: str = "",
        proxies: bool = True,
        alternating: bool = False,
        sees: bool = False,
    ) -> None:
        self._host = _host(base_url)
        self._base_url = base_url
        self._api_key = _usable_key(api_key)
        self._model = model
        self._extras = {} if self._host.endswith(STRICT_HOSTS) else dict(extras or {})
        self._parameters = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, **self._extras}
        self._longest = LETTERS * max_tokens + SPARE
        self._timeout = timeout
        self._breaker = breaker or Breaker()
        self._proxies = proxies
        self._prefilled = False  # whether the model has been seen to think without saying so
        self._alternating = alternating
        self.sees = sees
        # A client belongs to the event loop it first ran in; the server and synchronous callers have one each.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[AsyncOpenAI, AsyncGenerator[None, None]]]
        self._clients = WeakKeyDictionary()
        self._spare: AsyncOpenAI | None = None
        self.name = name or f"{model or 'the first model'} at {self._host}"

    def prepare(self) -> None:
        """Make the client for the first event loop that asks: that is slow, and need not wait for a question."""
        self._spare = self._new_client()

    def stream(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        """The answer in pieces, without the thoughts that some models write before it. Raises a ModelError.

        It ends in a `Cut` if the model ran out of tokens or did not stop by itself, or its provider stopped it.
        """
        return self._said(prompt, self._longest)

    async def _said(self, prompt: Prompt, longest: int, small: bool = False) -> AsyncGenerator[str, None]:
        """In a `small` task an empty answer is no failure of the endpoint: thoughts may use up all of the few words."""
        spoken, ended, thought, left = Spoken(self._prefilled), "", 0, longest
        with self._breaker.call(self.name):
            async with aclosing(self._deltas(prompt)) as deltas:
                async for delta, reason in deltas:
                    ended = ended or reason if reason in ("", DONE) else reason
                    text = spoken.add(delta)[:left]
                    if spoken.began:
                        left -= max(1, len(text))
                    else:
                        thought += max(1, len(delta))  # an event without words may be a thought too
                    if text:
                        yield text
                    if left <= 0:
                        ended = LENGTH
                        break
                    if thought > THOUGHTS * longest:
                        raise self._silent(LENGTH)
            if left > 0 and (text := spoken.end(cut=ended in CUTS)[:left]):
                yield text
            self._prefilled = spoken.prefilled
            if spoken.began and ended in CUTS:
                yield CUTS[ended]()
            if not spoken.began and not (small and ended):
                raise self._silent(ended)
            if not ended:
                raise self._cut_off()
        if not spoken.began:
            raise self._silent(ended)

    async def rewrite(self, messages: Sequence[Message], limit: int) -> str:
        """The reply to these messages, of which little more than `limit` characters are read. Raises a ModelError."""
        reply = ""
        longest = max(self._longest, limit + 1)
        async with aclosing(self._said(Prompt(tuple(messages), "", (), (), ()), longest, small=True)) as spoken:
            async for piece in spoken:
                reply += piece
                if len(reply) > limit:
                    break
        return reply

    # --- one answer, perhaps tried several times ----------------------------------------------------------------------

    async def _deltas(self, prompt: Prompt) -> AsyncGenerator[tuple[str, str], None]:
        """The pieces as they were sent, each with the reason why the answer ended (empty until it did).

        What may fail only for a moment is tried again within the time limit, but never once a piece has arrived.
        """
        if "openai" not in sys.modules:  # a second's work: not while other answers wait
            await asyncio.to_thread(self.prepare)
        from openai import APIError

        clock = asyncio.get_running_loop().time
        deadline, tried, begun, ended = clock() + self._timeout, 0, False, False
        while True:
            try:
                async with aclosing(self._attempt(prompt)) as deltas:
                    while True:
                        async with asyncio.timeout_at(deadline):
                            delta = await anext(deltas, None)
                        if delta is None:
                            return
                        yield delta
                        begun, ended = True, ended or bool(delta[1])
                        deadline = clock() + (min(ENDED_SECONDS, self._timeout) if ended else self._timeout)
            except TimeoutError:
                if ended:
                    return
                raise ModelTimeout(
                    f"{self.name} sent nothing for {self._timeout:g} seconds.",
                    "Ask again, or raise TURNWISE_MODEL_TIMEOUT.",
                ) from None
            except (APIError, _Dropped) as error:
                if ended:
                    return
                tried += 1
                wait = None if begun or tried > RETRIES else waiting_time(error, tried)
                if wait is None or clock() + wait >= deadline:
                    told = self._told(error)  # the provider's own words may quote the key
                    raise (self._unseen(told) if prompt.images and _speaks_of_images(error) else told) from None
            await asyncio.sleep(wait)

    async def _attempt(self, prompt: Prompt) -> AsyncGenerator[tuple[str, str], None]:
        client = await self._client()
        self._model = self._model or await self._first_model(client)
        async with AsyncExitStack() as stack:
            response = await self._request(client, prompt, stack)
            chunks = await stack.enter_async_context(aclosing(_unbroken(response)))
            deltas = await stack.enter_async_context(aclosing(pieces(chunks)))
            try:
                async for text, reason in deltas:
                    yield text, reason
                    if reason == DONE:
                        await _drain(chunks)
                        return
            except Unreadable as error:
                raise ModelGarbled(f"{self.name} sent something unreadable ({error}).", HINTS[404]) from None
            except Complaint as error:
                raise self._refusal(str(error)) from None

    async def _request(self, client: AsyncOpenAI, prompt: Prompt, stack: AsyncExitStack) -> AsyncAPIResponse[Any]:
        """Ask for the answer, giving up one by one the parameters that this endpoint does not take."""
        import openai

        while True:
            messages = in_turns(prompt.messages) if self._alternating else prompt.messages
            parameters = self._parameters
            asking = client.chat.completions.with_streaming_response.create(
                model=self._model,
                messages=as_sent(messages, prompt.images if self.sees else ()),  # type: ignore[arg-type]
                stream=True,
                extra_body=parameters,
            )
            try:
                return await stack.enter_async_context(asking)
            except (openai.BadRequestError, openai.UnprocessableEntityError, openai.InternalServerError) as error:
                if not self._alternating and "alternate" in words_of(error.body):
                    self._alternating = True
                    continue
                about_images = prompt.images and _IMAGE_WORD.search(words_of(error.body))
                fewer = None
                if error.status_code < 500 and not about_images:
                    fewer = without_rejected(parameters, self._extras, error)
                if fewer is None:
                    raise
                dropped = ", ".join(sorted(parameters.keys() - fewer.keys()))
                log.warning("%s does not take %s: from now on it is asked without.", self.name, dropped)
                self._parameters = fewer

    async def _first_model(self, client: AsyncOpenAI) -> str:
        import openai

        try:
            offered = [model.id for model in (await client.models.list()).data]
        except (openai.NotFoundError, AttributeError, TypeError, ValueError):
            offered = []
        if not offered:
            raise ModelRefused(
                f"{self._host} does not say which models it has.", "Set TURNWISE_MODEL to the name of one."
            )
        self.name = f"{offered[0]} at {self._host}"
        return offered[0]

    # --- the client ---------------------------------------------------------------------------------------------------

    async def _client(self) -> AsyncOpenAI:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            client, self._spare = self._spare or self._new_client(), None
            keeper = self._kept(client, loop)
            await anext(keeper)
            self._clients[loop] = client, keeper
        return self._clients[loop][0]

    async def _kept(self, client: AsyncOpenAI, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None, None]:
        """Closes the client's connections when its event loop ends: a loop closes the generators that it has begun."""
        try:
            yield
        finally:
            self._clients.pop(loop, None)
            await client.close()

    def _new_client(self) -> AsyncOpenAI:
        import openai

        limits = openai.DEFAULT_CONNECTION_LIMITS
        return openai.AsyncOpenAI(
            base_url=self._base_url,
            api_key=self._api_key or "none",  # local servers want none, the client insists on one
            timeout=openai.Timeout(None, connect=CONNECT_SECONDS),
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                trust_env=self._proxies,
                limits=type(limits)(
                    max_connections=limits.max_connections,
                    max_keepalive_connections=limits.max_keepalive_connections,
                    keepalive_expiry=KEPT_SECONDS,
                ),
            ),
        )

    # --- what went wrong ----------------------------------------------------------------------------------------------

    def _told(self, error: APIError | _Dropped) -> ModelError:
        import openai

        if isinstance(error, _Dropped):
            return self._cut_off()
        if isinstance(error, openai.APIConnectionError):
            return ModelUnavailable(
                f"{self._host} cannot be reached.", "Start the model's server, or check OPENAI_BASE_URL."
            )
        status = error.status_code if isinstance(error, openai.APIStatusError) else 0
        return self._refusal(words_of(error.body), status)

    def _refusal(self, said: str, status: int = 0) -> ModelError:
        if self._api_key:
            said = said.replace(self._api_key, "(key)")
        kind = ModelRefused if 400 <= status < 500 and status not in PASSING else ModelUnavailable
        return kind(
            f"{self.name} refused{f' ({status})' if status else ''}{f': {said}' if said else '.'}",
            HINTS.get(status, OTHER_HINT),
        )

    def _unseen(self, refusal: ModelError) -> ImageNotSeen:
        return ImageNotSeen(
            f"The images could not be looked at. {refusal}",
            "Set TURNWISE_MODEL to a model that can see, or ask without the images.",
        )

    def _cut_off(self) -> ModelGarbled:
        return ModelGarbled(f"The answer of {self.name} broke off.", OTHER_HINT)

    def _silent(self, ended: str) -> ModelGarbled:
        hint = OTHER_HINT if ended else HINTS[404]
        if ended == LENGTH:
            hint = "Raise TURNWISE_MAX_TOKENS: the model spent them all on thinking."
        return ModelGarbled(f"{self.name} sent an empty answer.", hint)


def in_turns(messages: Iterable[Message]) -> list[Message]:
    """The messages, those of one role that follow one another as one: the templates of some models take no others."""
    taken: list[Message] = []
    for each in messages:
        if taken and taken[-1].role == each.role:
            taken[-1] = Message(each.role, f"{taken[-1].content}\n\n{each.content}")
        else:
            taken.append(Message(each.role, each.content))
    return taken


def as_sent(messages: Sequence[Message], images: Sequence[Image]) -> list[dict[str, Any]]:
    """The messages as the API takes them; images go with the user's last one, as data: addresses."""
    sent: list[dict[str, Any]] = [{"role": each.role, "content": each.content} for each in messages]
    last = next((each for each in reversed(sent) if each["role"] == "user"), None)
    if images and last:
        shown = (f"data:{each.media_type};base64,{base64.b64encode(each.data).decode()}" for each in images)
        parts = [{"type": "image_url", "image_url": {"url": url}} for url in shown]
        last["content"] = [{"type": "text", "text": last["content"]}, *parts]
    return sent


def _speaks_of_images(error: Exception) -> bool:
    """Whether a request with images was refused for them: it was not as expected, or that is what is said."""
    import openai

    if not isinstance(error, openai.APIStatusError):
        return False
    return error.status_code in (400, 413, 415, 422) or bool(_IMAGE_WORD.search(words_of(error.body)))


class _Dropped(Exception):
    """The connection broke while the answer came."""


async def _unbroken(response: AsyncAPIResponse[Any]) -> AsyncGenerator[bytes, None]:
    chunks = response.iter_bytes()
    try:
        async for chunk in chunks:
            yield chunk
    except Exception as error:  # of whichever HTTP library the client stands on
        raise _Dropped from error
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()
            await asyncio.sleep(0)  # for those beneath it: the loop closes them when they are let go of


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    with suppress(TimeoutError, _Dropped):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in chunks:
                pass


def waiting_time(error: Exception, tried: int) -> float | None:
    """Seconds to wait before trying again: what the endpoint asks for, otherwise a random part of a time that doubles,
    so that many who failed together do not come back together. None if trying again is of no use."""
    import openai

    longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (tried - 1))
    if isinstance(error, _Dropped | openai.APIConnectionError):
        return random.uniform(0, longest)
    if not isinstance(error, openai.APIStatusError):
        return None
    headers = error.response.headers
    if headers.get("x-should-retry") == "false" or not (error.status_code in PASSING or error.status_code >= 500):
        return None
    asked_for = retry_after(headers)
    return random.uniform(0, longest) if asked_for is None else asked_for + random.uniform(0, 0.1 * asked_for)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that an endpoint asks to wait, or None if it does not say."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(ValueError):
            if (seconds := float(headers.get(name, "")) * unit) >= 0:
                return seconds
    with suppress(ValueError, TypeError):
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, date.timestamp() - time.time())
    return None


def without_rejected(
    parameters: Mapping[str, Any], extras: Collection[str], error: APIStatusError
) -> dict[str, Any] | None:
    """The parameters without the one that the error names, or with its newer name; if it mentions unknown ones without
    naming them, without all that are not OpenAI's. None if it is about something else."""
    said = words_of(error.body)
    named = [name for name in parameters if name == error.param]
    named = named or [name for name in parameters if re.search(rf"\b{name}\b", said)]
    if not named and _UNKNOWN_PARAMETER.search(said):
        named = [name for name in extras if name in parameters]
        return {name: value for name, value in parameters.items() if name not in named} if named else None
    if not named:
        return None
    fewer = {name: value for name, value in parameters.items() if name != named[0]}
    if named[0] == "max_tokens" and "max_completion_tokens" in said:
        fewer["max_completion_tokens"] = parameters["max_tokens"]
    return fewer


def _host(base_url: str) -> str:
    """The host and port of an address, without the password that some addresses carry."""
    try:
        parts = urlsplit(base_url)
        if parts.scheme in ("http", "https") and parts.hostname:
            return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    except ValueError:
        pass
    hint = "Write it in full, such as http://localhost:11434/v1. `turnwise config` shows where it is set."
    raise ConfigError("The base_url of the language model is not an address.", hint)


def _usable_key(api_key: str | None) -> str:
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("OPENAI_API_KEY contains characters that no key has.", "Copy the whole key again.")
    return key
