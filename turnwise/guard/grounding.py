"""The grounding rail: a warning where sentences of an answer are not borne out by its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnwise.guard.verdict import Action, Fails, Finding, Span
from turnwise.turn.verify import verify
from turnwise.types import Embedder, Source


class GroundingRail:
    """It acts from that share of sentences on that are not borne out; without a threshold, where there is one."""

    name = "grounding"

    def __init__(self, options: Mapping[str, Any], embedder: Embedder | None = None) -> None:
        self.fails: Fails = options.get("fails", "open")
        self.action: Action = options.get("action", "warn")
        self._threshold = float(options.get("threshold", 0.0))
        self._embedder = embedder

    def judge(self, text: str, sources: Sequence[Source]) -> Finding:
        claims = verify(text, sources, (), self._embedder)
        strange = [claim for claim in claims if not claim.supported]
        score = len(strange) / len(claims) if claims else 0.0
        if not strange or score < self._threshold:
            return Finding(self.name, score=score, threshold=self._threshold, reason="nothing found", fails=self.fails)
        several = len(strange) > 1
        reason = f"{len(strange)} of {len(claims)} sentences {'are' if several else 'is'} not borne out by the sources"
        places = [(at, claim.text) for claim in strange if (at := text.find(claim.text)) >= 0]
        spans = tuple(Span(at, at + len(said), "ungrounded claim") for at, said in places)
        facts = {"ungrounded": [claim.text for claim in strange]}
        return Finding(self.name, self.action, score, self._threshold, reason, spans, "found", self.fails, facts=facts)
