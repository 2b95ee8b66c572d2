"""What a turn works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from turnwise.config import Settings
from turnwise.guard.limits import RateLimiter
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.turn.condense import QueryCondenser
from turnwise.turn.planner import QueryPlanner
from turnwise.turn.suggest import Answers
from turnwise.turn.understand import Senses
from turnwise.types import ChatModel, ConversationStore, Index, Reranker, Tool


@dataclass(frozen=True, slots=True)
class Parts:
    """The models are asked in order until one answers."""

    settings: Settings
    index: Index
    store: ConversationStore
    guard: GuardrailPipeline
    models: Sequence[ChatModel]
    senses: Senses = field(default_factory=Senses)
    condenser: QueryCondenser = field(default_factory=QueryCondenser)
    reranker: Reranker | None = None
    tools: Sequence[Tool] = ()
    planner: QueryPlanner = field(default_factory=QueryPlanner)
    answers: Answers | None = None  # judges whether the library answers a suggested question
    limits: RateLimiter | None = None

    def has_pinned_vectors(self) -> bool:
        """Whether documents have the embedder that messages are compared with, so that its thresholds fit them."""
        return self.senses.embedder is None or self.senses.embedder.name == self.index.embedder.name
