"""The types rails work with: the case they judge, the finding of each rail, and the result of a check."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from turnwise.guard.reading import TextReading
from turnwise.types import Message

Action = Literal["allow", "warn", "redact", "block"]
SEVERITY: dict[Action, int] = {"allow": 0, "warn": 1, "redact": 2, "block": 3}
# found: the rail found something; clear: it found nothing; failed, timed out: it could not judge; skipped: it had
# nothing to judge by, such as a conversation.
State = Literal["found", "clear", "failed", "timed out", "skipped"]
Fails = Literal["open", "closed"]  # what happens if a rail cannot judge: the text passes (open) or is blocked (closed)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the checked text, and what it is, such as an email address or an attack on the assistant."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rail found: the action it asks for, its score, the threshold it acts from, and the words in question."""

    rail: str
    action: Action = "allow"
    score: float = 0.0
    threshold: float = 1.0
    reason: str = ""  # readable, without a full stop
    spans: tuple[Span, ...] = ()
    state: State = "clear"
    fails: Fails = "open"
    latency_ms: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)  # more details, such as the trend and the scores by turn


@dataclass(frozen=True, slots=True)
class GuardResult:
    """What a check decided, and why. `sanitized` is the text as it may be used, with redactions applied."""

    pipeline_type: Literal["input", "output", "document"]
    action: Action
    sanitized: str
    details: dict[str, Finding]
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    conversation_id: str | None = None
    shadow: Action | None = None  # in shadow mode, the action that would have been taken
    retry_after: float | None = None  # seconds, if the message was over a rate limit

    @property
    def blocked(self) -> bool:
        return self.action == "block"

    @property
    def why(self) -> str:
        """The reasons, or else the warnings, on one line."""
        return "; ".join(self.reasons or self.warnings) or "nothing found"

    @property
    def left_out(self) -> frozenset[int]:
        """Positions, in a history sent by a caller, of messages that must not be read: attacks with the answers to
        them, and answers that the assistant would not have given."""
        facts = [] if self.shadow else [each.facts for each in self.details.values() if "shadow" not in each.facts]
        return frozenset(place for each in facts for place in each.get("left_out", ()))

    @property
    def acted(self) -> dict[str, Finding]:
        """The findings as they were acted on. In shadow mode none were, and the facts say what each rail asked for."""
        if self.shadow is None:
            return self.details
        return {
            rail: dataclasses.replace(each, action="allow", facts={**each.facts, "shadow": each.action})
            if each.action != "allow"
            else each
            for rail, each in self.details.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the API returns them."""
        return {"blocked": self.blocked, **dataclasses.asdict(self)}


@dataclass(frozen=True, slots=True)
class Case:
    """What a rail judges: a text, read once for all rails, and the conversation it belongs to.

    `history` holds the earlier messages, oldest first. `trusted` says whether we kept that history ourselves; if not,
    it was sent by a caller and may be forged. `blocked` holds earlier prompts that were refused, and `places` says for
    each how many messages of the history came before it, if known.
    """

    reading: TextReading
    history: Sequence[Message] = ()
    blocked: Sequence[str] = ()
    trusted: bool = True
    places: Sequence[int] = ()

    @property
    def text(self) -> str:
        return self.reading.original


class Rail(Protocol):
    """One check. If it raises or takes too long, that is reported, and `fails` decides what happens. A rail that needs
    the history sets `reads_history` to true; the others may run before the history is loaded."""

    name: str
    fails: Fails

    def check(self, case: Case) -> Finding: ...
