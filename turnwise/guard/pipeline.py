"""The rails around an exchange, usable alone: what may come in, what documents may say, and what may go out."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from turnwise.conversation import Conversation, Turn
from turnwise.guard.exchange import ExchangeRail
from turnwise.guard.injection import InjectionRail
from turnwise.guard.limits import Decision
from turnwise.guard.output import OutputGuard
from turnwise.guard.preset import GuardPreset, load_guard
from turnwise.guard.reading import read
from turnwise.guard.running import run_rails
from turnwise.guard.shape import check_shape
from turnwise.guard.verdict import SEVERITY, Action, Case, Finding, GuardResult, Rail, Span
from turnwise.types import Embedder, Message

log = logging.getLogger(__name__)
LONGEST = 100_000  # characters of a message, where nobody says otherwise
SUSPECT = 0.2  # score of an earlier message from which the slow rail reads it again


class GuardrailPipeline:
    """Judges messages, passages and answers offline. Rails lower a risk; they do not promise to stop every attack.

    Given a conversation, it judges the exchange and keeps its turns: an allowed message becomes a prompt that waits, a
    blocked one is recorded as blocked, a checked answer completes the turn. With `keep_turns` off that is the caller's.
    """

    def __init__(
        self,
        preset: GuardPreset | str = "general",
        *,
        max_message: int = LONGEST,
        embedder: Embedder | None = None,
        rails: Iterable[Rail] = (),
        keep_turns: bool = True,
    ) -> None:
        self.preset = load_guard(preset) if isinstance(preset, str) else preset
        self._max_message = max_message
        self._keep_turns = keep_turns
        self._input: tuple[Rail, ...] = (*_input_rails(self.preset, embedder), *rails)

    @classmethod
    def from_preset(cls, name: str, **options: Any) -> GuardrailPipeline:
        """The pipeline that a preset describes: customer_service, tutor, academic, strict, general, off, or a file."""
        return cls(load_guard(name), **options)

    def check_input(self, content: str, conversation: Conversation | None = None) -> GuardResult:
        """Judge a message. Raises InputError where it cannot be read at all: empty, too long, not text."""
        if content is None:
            raise ValueError("There is nothing to check: content is None.")
        check_shape(content, self._max_message)
        if conversation is None:
            return self.judge_input(content)
        by_hand = _waits(conversation, content)  # the caller has added this prompt already
        if not (allowed := conversation.check_rate_limit(another=not by_hand)):
            result = _limited(content, allowed)
        else:
            earlier = Conversation(turns=conversation.turns[:-1] if by_hand else conversation.turns)
            blocked, places = earlier.refused(waiting=True)
            result = self.judge_input(content, earlier.messages(waiting=True), blocked, places=places)
        result = dataclasses.replace(result, conversation_id=conversation.id)
        if by_hand or (self._keep_turns and allowed):  # what is over the limit was never taken in
            _record(conversation, result, by_hand)
        return result

    async def acheck_input(self, content: str, conversation: Conversation | None = None) -> GuardResult:
        return await asyncio.to_thread(self.check_input, content, conversation)

    def judge_input(
        self,
        content: str,
        history: Sequence[Message] = (),
        blocked: Sequence[str] = (),
        trusted: bool = True,
        places: Sequence[int] = (),
    ) -> GuardResult:
        """Judge a message by what was said before it, and keep nothing. See `Case` for what the others are."""
        return self.open_input(content).within(history, blocked, trusted, places)

    def open_input(self, content: str) -> InputCheck:
        """Judge a message by itself; what was said before it can follow. Raises InputError as `check_input` does."""
        check_shape(content, self._max_message)
        case = Case(read(content))
        alone = [rail for rail in self._input if not getattr(rail, "reads_history", False)]
        found = run_rails(alone, case, self.preset.deadline)
        return InputCheck(self, case, [self._watched("input", each) for each in found])

    def judge_exchange(self, case: Case, found: Sequence[Finding]) -> GuardResult:
        """What these findings and the rails that read the history come to."""
        reading = [rail for rail in self._input if getattr(rail, "reads_history", False)]
        return self._result("input", case.text, [*found, *run_rails(reading, case, self.preset.deadline)])

    def open_output(self, citable: Collection[int]) -> OutputGuard:
        """A guard for one streamed answer that may cite these numbers."""
        return OutputGuard(citable)

    def _result(self, side: Any, content: str, findings: Sequence[Finding]) -> GuardResult:
        findings = [self._watched(side, each) for each in findings]
        action: Action = max((each.action for each in findings), key=SEVERITY.__getitem__, default="allow")
        acting = [each for each in findings if each.action != "allow"]
        shadow = action if self.preset.shadow else None
        if shadow:
            for each in acting:
                _log_watched(each, each.action)
        return GuardResult(
            pipeline_type=side,
            action="allow" if shadow else action,
            sanitized=content if shadow else cleaned(content, findings),
            details={each.rail: each for each in findings},
            warnings=tuple(each.reason for each in acting if each.action in ("warn", "redact")),
            reasons=tuple(each.reason for each in acting if each.action == "block"),
            shadow=shadow,
        )

    def _watched(self, side: str, found: Finding) -> Finding:
        """The finding, or of a rail that only watches: the same without its action, which is told in its facts."""
        options = self.preset.options(SIDE.get(side, side), found.rail) or {}
        if not options.get("shadow") or "shadow" in found.facts:
            return found
        if found.action != "allow":
            _log_watched(found, found.action)
        return dataclasses.replace(found, action="allow", facts={**found.facts, "shadow": found.action})


@dataclasses.dataclass(frozen=True, slots=True)
class InputCheck:
    """A message that was judged by itself."""

    pipeline: GuardrailPipeline
    case: Case
    found: Sequence[Finding]

    @property
    def sanitized(self) -> str:
        """The text as it may be kept: with what is to be redacted taken out."""
        watching = self.pipeline.preset.shadow
        return self.case.text if watching else cleaned(self.case.text, self.found)

    def within(
        self,
        history: Sequence[Message] = (),
        blocked: Sequence[str] = (),
        trusted: bool = True,
        places: Sequence[int] = (),
    ) -> GuardResult:
        """The result in the light of what was said before; see `Case`."""
        case = dataclasses.replace(self.case, history=history, blocked=blocked, places=places, trusted=trusted)
        return self.pipeline.judge_exchange(case, self.found)


SIDE = {"document": "documents"}  # what the presets call the side of a result


def cleaned(content: str, findings: Iterable[Finding]) -> str:
    """The text without what these findings ask to take out."""
    return redacted(content, [span for each in findings if each.action == "redact" for span in each.spans])


def _log_watched(found: Finding, action: Action) -> None:
    log.info("only watching: %s would %s (%.2f of %.2f)", found.rail, action, found.score, found.threshold)


def _limited(content: str, decision: Decision) -> GuardResult:
    error = decision.error()
    return GuardResult(
        "input", "block", content, {}, reasons=(str(error).rstrip("."),), retry_after=decision.retry_after
    )


def redacted(text: str, spans: Iterable[Span]) -> str:
    """The text with these parts taken out, each named by what it was."""
    pieces, end = [], 0
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if span.start < end:  # inside another, or overlapping it
            end = max(end, span.end)
            continue
        pieces += [text[end : span.start], f"[{span.kind} removed]"]
        end = span.end
    return "".join([*pieces, text[end:]])


def _waits(conversation: Conversation, content: str) -> bool:
    last = conversation.turns[-1] if conversation.turns else None
    return last is not None and last.status == "pending" and last.prompt == content


def _record(conversation: Conversation, result: GuardResult, by_hand: bool) -> None:
    """Keep the prompt as it may be kept: without what was redacted, and a blocked one as blocked."""
    turn = conversation.turns.pop() if by_hand else Turn("")
    if result.blocked:
        noted = {**turn.metadata, "reasons": list(result.reasons)}
        conversation.add_turn(result.sanitized, None, turn.timestamp, noted, "blocked")
    else:
        conversation.add_turn(result.sanitized, None, turn.timestamp, turn.metadata)


def _input_rails(preset: GuardPreset, embedder: Embedder | None) -> list[Rail]:
    rails: list[Rail] = []
    if (options := preset.options("input", "injection")) is not None:
        rails.append(InjectionRail(options, embedder))
    if (options := preset.options("input", "exchange")) is not None:
        rails.append(ExchangeRail(options, refused=_refused_by(tuple(rails))))
    return rails


def _refused_by(rails: Sequence[Rail]) -> Callable[[str, float], bool]:
    """Whether one of these rails blocks a text by itself. The rail on injection, which is slow, is spared what is
    plainly none by its score."""

    def refused(text: str, score: float) -> bool:
        case = Case(read(text))
        asked = [rail for rail in rails if score >= SUSPECT or rail.name != "injection"]
        return any(rail.check(case).action == "block" for rail in asked)

    return refused
