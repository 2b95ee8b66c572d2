"""A chat model that runs in this process: any GGUF file, through llama.cpp. An extra: turnwise[local]."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import os
import re
import secrets
import threading
import urllib.request
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from turnwise.errors import ConfigError, ModelUnavailable, WeightsError
from turnwise.models.openai_chat import OpenAIChat, sampling_extras
from turnwise.models.weights import chat_weights, check_chat_weights
from turnwise.types import Message, Prompt

RUNTIME = "xllamacpp"
WINDOW_TOKENS = 8192  # or fewer if the model has a smaller window
BATCH_TOKENS = 64  # of a prompt; a reader who disconnects is noticed after each batch
MAX_ANSWER_TOKENS = 512  # by default: a small model that says more goes round in circles
MAX_CONNECTIONS = 32  # HTTP threads, for requests that wait and for those that count tokens
COUNT_TIMEOUT_SECONDS = 5.0

# Role markers of chat templates. In the text of users or documents they must not look like the start of a message.
_ROLE_MARKS = re.compile(
    r"<(?=\|[^<>|\s]{1,40}\|>|｜[^<>｜]{1,40}｜>|/?(?:s|bos|eos|start_of_turn|end_of_turn)>|</?SYS>>)|\[(?=/?INST\])"
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The model in memory, and its clients for answers and for rewrites."""

    server: Any
    key: str
    answers: OpenAIChat
    rewrites: OpenAIChat

    def ask(self, path: str, body: Any = None) -> Any:
        """Call an endpoint of llama.cpp about the model itself."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.server.listening_address}{path}", data, headers)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=COUNT_TIMEOUT_SECONDS
        ) as response:
            return json.load(response)


class LocalChat:
    """Answers with the weights in a GGUF file; without a path, with SmolLM2-135M-Instruct, whose hash is pinned.

    The model is loaded on first use. It writes one answer at a time; others wait. `window` is the number of tokens that
    prompt and answer may have together, and `count` counts the tokens of a text. llama.cpp listens on this machine
    only, and requires a key that is generated at each start.
    """

    keeps_time = True

    def __init__(
        self,
        path: Path | None = None,
        *,
        temperature: float = 0.35,
        top_p: float = 0.9,
        max_tokens: int = MAX_ANSWER_TOKENS,
        timeout: float = 60.0,
        top_k: int = 50,
        repeat_penalty: float = 1.15,
        threads: int = 0,
        window: int = WINDOW_TOKENS,
    ) -> None:
        if importlib.util.find_spec(RUNTIME) is None:
            raise ConfigError("A local model needs llama.cpp.", "Install it: pip install 'turnwise[local]'")
        self._pinned = path is None
        self._path = chat_weights() if path is None else path.expanduser()
        if not self._path.is_file():
            raise ConfigError(
                f"There is no model at {self._path}.", "Set `model` to the path of a GGUF file, or to local."
            )
        self._sampling: dict[str, Any] = {
            "temperature": temperature,
            "top_p": top_p,
            "timeout": timeout,
            "extras": {
                **sampling_extras(top_k, repeat_penalty),
                "return_progress": True,  # keeps the connection from timing out while a long prompt is read
            },
        }
        self._threads = threads or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self.name = f"{self._path.stem} on this machine"
        self.window = window
        self.max_tokens = min(max_tokens, window // 2)
        self.count = lru_cache(maxsize=1024)(self._count)  # the texts of a conversation are counted again every turn

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        """The answer in pieces. Raises a ModelError."""
        loaded = await asyncio.to_thread(self.prepare)
        async with aclosing(loaded.answers.stream(replace(prompt, messages=harmless(prompt.messages)))) as pieces:
            async for piece in pieces:
                yield piece

    async def rewrite(self, messages: Sequence[Message], limit: int) -> str:
        """The reply to these messages, cut off a little after `limit` characters."""
        loaded = await asyncio.to_thread(self.prepare)
        return await loaded.rewrites.rewrite(harmless(messages), limit)

    def prepare(self) -> _Loaded:
        """The model, loaded if it is not yet. Raises ModelUnavailable."""
        with self._lock:
            if self._loaded is None:
                log.info("Loading %s; the first answer waits for it.", self._path.name)
                self._loaded = self._load()
                log.info("%s is loaded.", self._path.name)
            return self._loaded

    def _load(self) -> _Loaded:
        import xllamacpp

        if self._pinned:
            try:
                check_chat_weights()
            except WeightsError as error:
                raise ModelUnavailable(str(error), error.hint) from error
        key = secrets.token_urlsafe(32)
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self._path)
        parameters.n_ctx = self.window
        parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = self._threads
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        parameters.api_keys = [key]
        parameters.n_threads_http = MAX_CONNECTIONS
        parameters.cache_ram_mib = 0  # the last conversation stays in the model itself
        parameters.offline = True
        parameters.ui = parameters.endpoint_slots = parameters.warmup = False
        parameters.verbosity = 0
        try:
            server = xllamacpp.Server(parameters)
        except RuntimeError as error:
            hint = "Check that it is a complete GGUF file of a chat model, and that it fits into memory."
            raise ModelUnavailable(f"{self._path} cannot be loaded.", hint) from error
        rewrites = self._chat(server, key, temperature=0.2, max_tokens=150)
        loaded = _Loaded(server, key, self._chat(server, key), rewrites)
        with suppress(OSError, ValueError, LookupError, TypeError):  # if it does not report its window
            self.window = min(self.window, int(loaded.ask("/v1/models")["data"][0]["meta"]["n_ctx_train"]))
        self.max_tokens = min(self.max_tokens, self.window // 2)
        return replace(loaded, answers=self._chat(server, key))

    def _chat(self, server: Any, key: str, **other: Any) -> OpenAIChat:
        address, sampling = f"{server.listening_address}/v1", {**self._sampling, "max_tokens": self.max_tokens, **other}
        return OpenAIChat(address, key, self.name, name=self.name, proxies=False, alternating=True, **sampling)

    def _count(self, text: str) -> int:
        """The number of tokens in a text; a high estimate if the model cannot be loaded."""
        try:
            return len(self.prepare().ask("/tokenize", {"content": text, "parse_special": False})["tokens"])
        except (ModelUnavailable, OSError, ValueError, LookupError):
            return len(text.encode(errors="replace")) // 2 + 1


def harmless(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with any role markers in their text broken up."""
    return tuple(Message(each.role, _ROLE_MARKS.sub(r"\g<0> ", each.content)) for each in messages)
