"""Generate: the answer, streamed from the first model that gives one."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from turnwise.dialogue.opening import Opening
from turnwise.errors import ModelError, ModelGarbled, ModelUnavailable
from turnwise.text import CITATION
from turnwise.types import ChatModel, Cut, Prompt, QueryPlan

# Forms that the last answer can be given in. No model is asked for those that keep its sentences, because it could only
# change them. A model's shorter version is accepted if it still cites a source of the answer.
WORD_FOR_WORD_FORMS = ("list", "table", "repeat")
SHORTER_FORMS = ("shorter", "simpler")
CUT_SHORT_NOTICE = "The answer was cut at max_tokens. Raise TURNWISE_MAX_TOKENS for longer ones."

log = logging.getLogger(__name__)


def only_quotes(model: ChatModel) -> bool:
    """Whether a model answers only with sentences of the documents."""
    return getattr(model, "quotes", False)


class Speech:
    """One answer being streamed. After iterating over its pieces, it knows which model spoke, why, and which failed."""

    def __init__(self, prompt: Prompt, plan: QueryPlan, models: Sequence[ChatModel]) -> None:
        self._prompt = prompt
        self._ready_text = "".join(step.input for step in plan.steps if step.tool == "say")
        if any(step.tool == "library" for step in plan.steps):
            self._ready_text = "".join(prompt.found)
        if prompt.images:  # only a model that can see them may answer
            models = [model for model in models if getattr(model, "sees", False)]
        self._word_for_word = prompt.form in WORD_FOR_WORD_FORMS and len(models) > 1 and not prompt.images
        self._models = models[-1:] if self._word_for_word else models
        self._failures: list[ModelError] = []
        self._cut = False
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
                        self._cut = isinstance(piece, Cut)
                        yield piece
                if not spoke:
                    raise ModelGarbled(f"{model.name} sent an empty answer.", "Ask again, or try another model.")
                return
            except Exception as error:
                if spoke or model is self._models[-1]:
                    raise
                failure = _as_model_error(error, model.name)
                log.warning("%s did not answer: %s", model.name, error, exc_info=failure is not error)
                self._failures.append(failure)

    def _stream_from(self, model: ChatModel) -> AsyncIterator[str]:
        """What a model says, checked if another one could answer instead."""
        if model is self._models[-1]:
            return model.stream(self._prompt)
        shorter = self._prompt.form in SHORTER_FORMS
        return _without_preamble(self._shorter_version(model) if shorter else model.stream(self._prompt), model.name)

    async def _shorter_version(self, model: ChatModel) -> AsyncIterator[str]:
        """The last answer in fewer words, all at once: only then is it known whether the model kept the citations."""
        async with _closing(model.stream(self._prompt)) as stream:
            pieces = [piece async for piece in stream]
        text = "".join(pieces)
        before = set(CITATION.findall(self._prompt.said[-1]))
        if text.strip() and before and not before & set(CITATION.findall(text)):
            raise ModelGarbled(f"{model.name} left out the sources of the answer.", "Ask again, or try another model.")
        yield text
        if pieces and isinstance(pieces[-1], Cut):
            yield Cut()

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
        if self._cut:
            return CUT_SHORT_NOTICE
        if not self._failures:
            return ""
        first = self._failures[0]
        said = f"{str(first).rstrip('. ')}. This answer is made of sentences from the documents instead. {first.hint}"
        return said.rstrip()


async def _without_preamble(pieces: AsyncIterator[str], name: str) -> AsyncIterator[str]:
    """The answer without an "Okay, I understand" before it. Raises ModelGarbled if nothing follows."""
    opening, spoke = Opening(), False
    async with _closing(pieces) as stream:
        async for piece in stream:
            last = isinstance(piece, Cut)
            text = opening.feed(piece) + (opening.close() if last else "")
            spoke = spoke or bool(text.strip())
            yield Cut(text) if last else text
    if rest := opening.close():
        yield rest
    elif opening.dropped and not spoke:
        raise ModelGarbled(f"{name} only said that it was ready.", "Ask again, or try another model.")


def _as_model_error(error: Exception, name: str) -> ModelError:
    """Why a model did not answer. A model of the user's own may raise anything."""
    if isinstance(error, ModelError):
        return error
    return ModelUnavailable(f"{name} broke ({type(error).__name__}).", "See the log.")


@asynccontextmanager
async def _closing(pieces: AsyncIterator[str]) -> AsyncIterator[AsyncIterator[str]]:
    """Close the stream of a model on exit, so that its connection is not held until garbage collection."""
    try:
        yield pieces
    finally:
        if close := getattr(pieces, "aclose", None):
            await close()
