"""Generate: the answer as it is spoken, by the first model that speaks."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from turnwise.dialogue.opening import Opening
from turnwise.errors import ModelError, ModelGarbled
from turnwise.text import CITATION
from turnwise.types import ChatModel, Cut, Prompt, QueryPlan

# Another form of the last answer. Where its sentences stay as they are no model is asked, which could only change them;
# where they become fewer, a model's words are taken if they still cite what the answer rested on.
WORD_FOR_WORD = ("list", "table", "repeat")
IN_FEWER_WORDS = ("shorter", "simpler")
CUT_SHORT = "The answer was cut at max_tokens. Raise TURNWISE_MAX_TOKENS for longer ones."

log = logging.getLogger(__name__)


def quotes(model: ChatModel) -> bool:
    """Whether a model only says what the documents say, in their words."""
    return getattr(model, "quotes", False)


class Speech:
    """One answer being spoken. Iterate over its pieces; afterwards it knows who spoke, why, and who could not."""

    def __init__(self, prompt: Prompt, plan: QueryPlan, models: Sequence[ChatModel]) -> None:
        self._prompt = prompt
        self._words = "".join(step.input for step in plan.steps if step.tool == "say")
        if any(step.tool == "library" for step in plan.steps):
            self._words = "".join(prompt.found)
        if prompt.images:  # what cannot see has nothing to say of them
            models = [model for model in models if getattr(model, "sees", False)]
        self._word_for_word = prompt.form in WORD_FOR_WORD and len(models) > 1 and not prompt.images
        self._models = models[-1:] if self._word_for_word else models
        self._silent: list[ModelError] = []
        self._cut = False
        self.speaker = ""
        self.quotes = False  # whether the words are the library's or the conversation's own

    async def pieces(self) -> AsyncGenerator[str, None]:
        """A model that fails before its first word makes room for the next; one cut off later has failed the turn."""
        if self._words:
            self.speaker, self.quotes = "no model", True
            yield self._words
            return
        for model in self._models:
            self.speaker, self.quotes = model.name, quotes(model)
            spoke = False
            try:
                async with _closing(self._said_by(model)) as said:
                    async for piece in said:
                        spoke = spoke or bool(piece.strip())
                        self._cut = isinstance(piece, Cut)
                        yield piece
                if not spoke:
                    raise ModelGarbled(f"{model.name} sent an empty answer.", "Ask again, or try another model.")
                return
            except ModelError as error:
                if spoke or model is self._models[-1]:
                    raise
                log.warning("%s did not answer: %s", model.name, error)
                self._silent.append(error)

    def _said_by(self, model: ChatModel) -> AsyncIterator[str]:
        """What a model says, looked through where there is another to answer in its place."""
        if model is self._models[-1]:
            return model.stream(self._prompt)
        fewer = self._prompt.form in IN_FEWER_WORDS
        return _to_the_point(self._still_cited(model) if fewer else model.stream(self._prompt), model.name)

    async def _still_cited(self, model: ChatModel) -> AsyncIterator[str]:
        """The last answer as the model puts it, whole, since only then it is known to have kept the citations."""
        async with _closing(model.stream(self._prompt)) as said:
            pieces = [piece async for piece in said]
        text = "".join(pieces)
        before = set(CITATION.findall(self._prompt.said[-1]))
        if text.strip() and before and not before & set(CITATION.findall(text)):
            raise ModelGarbled(f"{model.name} left out what the answer rests on.", "Ask again, or try another model.")
        yield text
        if pieces and isinstance(pieces[-1], Cut):
            yield Cut()

    @property
    def reason(self) -> str:
        if self._words:
            return "nothing had to be found or written"
        if self._word_for_word:
            return "the last answer, word for word"
        return "; ".join(f"fell back: {error}" for error in self._silent) or "the model in use"

    @property
    def notice(self) -> str:
        """What a reader should know: that the answer is not whole, or that the model they chose did not answer, and
        what they got instead."""
        if self._cut:
            return CUT_SHORT
        if not self._silent:
            return ""
        return f"{self._silent[0]} This answer is made of sentences from the documents instead. {self._silent[0].hint}"


async def _to_the_point(pieces: AsyncIterator[str], name: str) -> AsyncIterator[str]:
    """The answer without an "Okay, I understand" before it; where nothing follows, there is none."""
    opening, spoke = Opening(), False
    async with _closing(pieces) as said:
        async for piece in said:
            last = isinstance(piece, Cut)
            text = opening.feed(piece) + (opening.close() if last else "")
            spoke = spoke or bool(text.strip())
            yield Cut(text) if last else text
    if rest := opening.close():
        yield rest
    elif opening.dropped and not spoke:
        raise ModelGarbled(f"{name} only said that it was ready.", "Ask again, or try another model.")


@asynccontextmanager
async def _closing(pieces: AsyncIterator[str]) -> AsyncIterator[AsyncIterator[str]]:
    """Close the stream of a model when it is left, so that a connection is not held until it is collected."""
    try:
        yield pieces
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
