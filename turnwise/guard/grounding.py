"""The grounding rail: warns if sentences of an answer are not borne out by its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnwise.dialogue.claims import verify
from turnwise.guard.verdict import Action, Fails, Finding, Span
from turnwise.types import Embedder, Source


class GroundingRail:
    """Acts if the share of sentences that are not borne out reaches the threshold; by default, if there is any."""

    name = "grounding"

    def __init__(self, options: Mapping[str, Any], embedder: Embedder | None = None) -> None:
        self.fails: Fails = options.get("fails", "open")
        self.action: Action = options.get("action", "warn")
        self._threshold = float(options.get("threshold", 0.0))
        self._embedder = embedder

    def judge(self, text: str, sources: Sequence[Source]) -> Finding:
        claims = verify(text, sources, (), self._embedder)
        unsupported = [claim.text for claim in claims if not claim.supported]
        score = len(unsupported) / len(claims) if claims else 0.0
        if not unsupported or score < self._threshold:
            return Finding(self.name, score=score, threshold=self._threshold, reason="nothing found", fails=self.fails)
        verb = "are" if len(unsupported) > 1 else "is"
        reason = f"{len(unsupported)} of {len(claims)} sentences {verb} not borne out by the sources"
        places = [(at, sentence) for sentence in unsupported if (at := text.find(sentence)) >= 0]
        spans = tuple(Span(at, at + len(sentence), "ungrounded claim") for at, sentence in places)
        facts = {"ungrounded": unsupported}
        return Finding(self.name, self.action, score, self._threshold, reason, spans, "found", self.fails, facts=facts)
