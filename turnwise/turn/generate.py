"""Generate: the answer as it is spoken, by the first model that speaks."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence

from turnwise.errors import ModelError, ModelGarbled
from turnwise.types import ChatModel, Prompt, QueryPlan

log = logging.getLogger(__name__)


class Speech:
    """One answer being spoken. Iterate over its pieces; afterwards it knows who spoke, why, and who could not."""

    def __init__(self, prompt: Prompt, plan: QueryPlan, models: Sequence[ChatModel]) -> None:
        self._prompt = prompt
        self._words = "".join(step.input for step in plan.steps if step.tool == "say")
        self._models = models
        self._silent: list[ModelError] = []
        self.speaker = ""

    async def pieces(self) -> AsyncIterator[str]:
        """A model that fails before its first word makes room for the next; one cut off later has failed the turn."""
        if self._words:
            self.speaker = "no model"
            yield self._words
            return
        for model in self._models:
            self.speaker = model.name
            spoke = False
            try:
                async for piece in model.stream(self._prompt):
                    spoke = spoke or bool(piece.strip())
                    yield piece
                if not spoke:
                    raise ModelGarbled(f"{model.name} sent an empty answer.", "Ask again, or try another model.")
                return
            except ModelError as error:
                if spoke or model is self._models[-1]:
                    raise
                log.warning("%s did not answer: %s", model.name, error)
                self._silent.append(error)

    @property
    def reason(self) -> str:
        if self._words:
            return "nothing had to be found or written"
        return "; ".join(f"fell back: {error}" for error in self._silent) or "the model in use"

    @property
    def notice(self) -> str:
        """What a reader should know: that the model they chose did not answer, and what they got instead."""
        if not self._silent:
            return ""
        return f"{self._silent[0]} This answer is made of sentences from the documents instead. {self._silent[0].hint}"
