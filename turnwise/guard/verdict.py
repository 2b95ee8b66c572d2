"""What rails say: a finding each, and together the result of a check."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from turnwise.guard.reading import Reading
from turnwise.types import Message

Action = Literal["allow", "warn", "redact", "block"]
SEVERITY: dict[Action, int] = {"allow": 0, "warn": 1, "redact": 2, "block": 3}
# found: it asks for its action; clear: it found nothing; failed, timed out: it did not get to judge; skipped: it had
# nothing to judge by, such as a conversation.
State = Literal["found", "clear", "failed", "timed out", "skipped"]
Fails = Literal["open", "closed"]  # what happens where a rail does not get to judge: the text passes, or is blocked


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the text that was judged, and what it is: an e-mail address, a command to drop the instructions."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rail found: the action it asks for, how sure it is, from where on it acts, and which words it means."""

    rail: str
    action: Action = "allow"
    score: float = 0.0
    threshold: float = 1.0
    reason: str = ""  # for a person, without a full stop
    spans: tuple[Span, ...] = ()
    state: State = "clear"
    fails: Fails = "open"
    latency_ms: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)  # what else explains it: trend, scores by turn, views read


@dataclass(frozen=True, slots=True)
class GuardResult:
    """What a check decided, and why. `sanitized` is the text as it may go on: with what is to be redacted taken out."""

    pipeline_type: Literal["input", "output", "document"]
    action: Action
    sanitized: str
    details: dict[str, Finding]
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    conversation_id: str | None = None
    shadow: Action | None = None  # what would have been done, where the pipeline only watches
    retry_after: float | None = None  # seconds, where a rate limit was the reason

    @property
    def blocked(self) -> bool:
        return self.action == "block"

    @property
    def why(self) -> str:
        """The reasons in one line."""
        return "; ".join(self.reasons or self.warnings) or "nothing found"

    @property
    def left_out(self) -> frozenset[int]:
        """The places, in a history that a caller sent, of messages that must not be read: attacks, with the answers to
        them, and answers that were never ours."""
        facts = [] if self.shadow else [each.facts for each in self.details.values() if "shadow" not in each.facts]
        return frozenset(place for each in facts for place in each.get("left_out", ()))

    @property
    def acted(self) -> dict[str, Finding]:
        """The findings as they were acted on. Where the pipeline only watches, none was, and the facts tell what each
        asked for."""
        if self.shadow is None:
            return self.details
        return {
            rail: dataclasses.replace(each, action="allow", facts={**each.facts, "shadow": each.action})
            if each.action != "allow"
            else each
            for rail, each in self.details.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the API prints them."""
        return {"blocked": self.blocked, **dataclasses.asdict(self)}


@dataclass(frozen=True, slots=True)
class Case:
    """What a rail is given to judge: a text, prepared once for all rails, and the exchange it belongs to.

    `history` is what was said before, oldest first; `trusted` says whether the assistant's messages in it are ours,
    kept by us, or only claimed by a caller. `blocked` are earlier prompts that were refused; `places` says of each how
    many messages of the history came before it, where that is known. `opens` says that nothing at all came before.
    """

    reading: Reading
    history: Sequence[Message] = ()
    blocked: Sequence[str] = ()
    trusted: bool = True
    places: Sequence[int] = ()
    opens: bool = False

    @property
    def text(self) -> str:
        return self.reading.original


class Rail(Protocol):
    """One check. What it raises, or that it takes too long, is reported as such and counts as `fails` says. One that
    judges by what was said before has a `reads_history` that is true; the others may run before that is known."""

    name: str
    fails: Fails

    def check(self, case: Case) -> Finding: ...
