"""Generate: the answer, streamed from the first model that gives one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from turnwise.dialogue.opening import Opening
from turnwise.errors import ModelError, ModelGarbled, ModelTimeout, ModelUnavailable, TurnwiseError
from turnwise.text import CITATION, WholeCharacters
from turnwise.types import ChatModel, Cut, Prompt, QueryPlan

# Forms that the last answer can be given in. No model is asked for those that keep its sentences, because it could only
# change them. A model's shorter version is accepted if it still cites a source of the answer.
WORD_FOR_WORD_FORMS = ("list", "table", "repeat")
SHORTER_FORMS = ("shorter", "simpler")
CUT_NOTICES = {
    "length": "The answer was cut at max_tokens. Raise TURNWISE_MAX_TOKENS for longer ones.",
    "content_filter": "The answer is not whole: a content filter of the model’s provider cut it.",
}

log = logging.getLogger(__name__)


def only_quotes(model: ChatModel) -> bool:
    """Whether a model answers only with sentences of the documents."""
    return getattr(model, "quotes", False)


def _keeps_time(model: ChatModel) -> bool:
    """Whether a model gives up by itself when it takes too long; ours do, and know when they are thinking."""
    return getattr(model, "keeps_time", False) or only_quotes(model)


class Speech:
    """One answer being streamed. After iterating over its pieces, it knows which model spoke, why, and which failed. A
    model that says nothing for `timeout` seconds has failed."""

    def __init__(self, prompt: Prompt, plan: QueryPlan, models: Sequence[ChatModel], timeout: float) -> None:
        self._prompt = prompt
        self._timeout = timeout
        self._ready_text = "".join(step.input for step in plan.steps if step.tool == "say")
        if any(step.tool == "library" for step in plan.steps):
            self._ready_text = "".join(prompt.found)
        if prompt.images:  # only a model that can see them may answer
            models = [model for model in models if getattr(model, "sees", False)]
        self._word_for_word = prompt.form in WORD_FOR_WORD_FORMS and len(models) > 1 and not prompt.images
        self._models = models[-1:] if self._word_for_word else models
        self._failures: list[ModelError] = []
        self.cut = ""  # why the answer is not whole, if it is not
        self.speaker = ""
        self.quotes = False  # every word comes from the library or the conversation, none from a language model

    async def pieces(self) -> AsyncGenerator[str, None]:
        """If a model fails before its first word, the next one is asked; if it fails later, the turn fails."""
        if self._ready_text:
            self.speaker, self.quotes = "no model", True
            yield self._ready_text
            return
        for model in self._models:
            self.speaker, self.quotes = model.name, only_quotes(model)
            spoke = False
            try:
                async with _closing(self._stream_from(model)) as pieces:
                    async for piece in pieces:
                        spoke = spoke or bool(piece.strip())
                        self.cut = piece.why if isinstance(piece, Cut) else ""
                        yield piece
                if not spoke:
                    raise ModelGarbled(f"{model.name} sent an empty answer.", "Ask again, or try another model.")
                return
            except Exception as error:
                failure = _as_model_error(error, model.name, spoke)
                if spoke or model is self._models[-1]:
                    if isinstance(error, TurnwiseError) or self.quotes:  # what quotes is ours
                        raise
                    log.exception("%s broke", model.name)
                    raise failure from error
                log.warning("%s did not answer: %s", model.name, error, exc_info=failure is not error)
                self._failures.append(failure)

    def _stream_from(self, model: ChatModel) -> AsyncIterator[str]:
        """What a model says, checked if another one could answer instead."""
        if model is self._models[-1]:
            return self._heard(model)
        shorter = self._prompt.form in SHORTER_FORMS
        return _without_preamble(self._shorter_version(model) if shorter else self._heard(model), model.name)

    def _heard(self, model: ChatModel) -> AsyncIterator[str]:
        """What a model says, in whole characters and in time."""
        pieces = model.stream(self._prompt)
        return _whole(pieces if _keeps_time(model) else _in_time(pieces, model.name, self._timeout))

    async def _shorter_version(self, model: ChatModel) -> AsyncIterator[str]:
        """The last answer in fewer words, all at once: only then is it known whether the model kept the citations."""
        async with _closing(self._heard(model)) as stream:
            pieces = [piece async for piece in stream]
        text = "".join(pieces)
        before = set(CITATION.findall(self._prompt.said[-1]))
        if text.strip() and before and not before & set(CITATION.findall(text)):
            raise ModelGarbled(f"{model.name} left out the sources of the answer.", "Ask again, or try another model.")
        yield text
        if pieces and isinstance(last := pieces[-1], Cut):
            yield type(last)()

    @property
    def reason(self) -> str:
        if self._ready_text:
            return "nothing had to be found or written"
        if self._word_for_word:
            return "the last answer, word for word"
        return "; ".join(f"fell back: {error}" for error in self._failures) or "the model in use"

    @property
    def notice(self) -> str:
        """What the user should know: that the answer is incomplete, or that the model they chose did not answer and
        what they got instead."""
        return " ".join(filter(None, (self._instead, CUT_NOTICES.get(self.cut, ""))))

    @property
    def _instead(self) -> str:
        """Why the model they chose did not answer, and who did."""
        if not self._failures:
            return ""
        first, answers = self._failures[0], f"{self.speaker} answered instead."
        if self.quotes:
            answers = "This answer is made of sentences from the documents instead."
        return f"{str(first).rstrip('. ')}. {answers} {first.hint}".rstrip()


async def _whole(pieces: AsyncIterator[str]) -> AsyncGenerator[str, None]:
    """The pieces without halves of characters, which can neither be stored nor shown."""
    characters = WholeCharacters()
    async with _closing(pieces) as stream:
        async for piece in stream:
            text = characters.add(piece)
            yield type(piece)(text + characters.end()) if isinstance(piece, Cut) else text
    if rest := characters.end():
        yield rest


async def _in_time(pieces: AsyncIterator[str], name: str, seconds: float) -> AsyncGenerator[str, None]:
    """The pieces as they come. Raises ModelTimeout after so many seconds without a word; the reader's own time does not
    count."""
    clock, left = asyncio.get_running_loop().time, seconds
    async with _closing(pieces):
        stream = aiter(pieces)
        while True:
            asked = clock()
            try:
                async with asyncio.timeout(left):
                    piece = await anext(stream)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                if clock() - asked < left:  # the model's own
                    raise
                raise ModelTimeout(
                    f"{name} sent nothing for {seconds:g} seconds.", "Ask again, or raise TURNWISE_MODEL_TIMEOUT."
                ) from error
            left = seconds if piece.strip() else max(0.0, left - (clock() - asked))
            yield piece


async def _without_preamble(pieces: AsyncIterator[str], name: str) -> AsyncIterator[str]:
    """The answer without an "Okay, I understand" before it. Raises ModelGarbled if nothing follows."""
    opening, spoke = Opening(), False
    async with _closing(pieces) as stream:
        async for piece in stream:
            cut = isinstance(piece, Cut)
            text = opening.feed(piece) + (opening.close() if cut else "")
            spoke = spoke or bool(text.strip())
            yield type(piece)(text) if cut else text
    if rest := opening.close():
        yield rest
    elif opening.dropped and not spoke:
        raise ModelGarbled(f"{name} only said that it was ready.", "Ask again, or try another model.")


def _as_model_error(error: Exception, name: str, spoke: bool) -> ModelError:
    """Why a model did not answer, or not to the end. A model of the user's own may raise anything."""
    if isinstance(error, ModelError):
        return error
    if spoke:
        return ModelGarbled(f"The answer of {name} broke off ({type(error).__name__}).", "Ask again; see the log.")
    return ModelUnavailable(f"{name} broke ({type(error).__name__}).", "See the log.")


@asynccontextmanager
async def _closing(pieces: AsyncIterator[str]) -> AsyncIterator[AsyncIterator[str]]:
    """Close the stream of a model on exit, so that its connection is not held until garbage collection."""
    try:
        yield pieces
    finally:
        if close := getattr(pieces, "aclose", None):
            await close()
