"""The rails around an exchange, usable alone: what may come in, what documents may say, and what may go out."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any

from turnwise.conversation import Conversation, Turn
from turnwise.errors import ConfigError
from turnwise.guard import planted
from turnwise.guard.answers import answer_rails, content_rails, grounded, judged, seen
from turnwise.guard.documents import FLOOR, InstructionRail, Sieve
from turnwise.guard.exchange import SUSPECT, ExchangeRail, rule_score
from turnwise.guard.injection import Classifier, InjectionRail, suspicion
from turnwise.guard.limits import Decision
from turnwise.guard.output import OutputGuard
from turnwise.guard.planted import Detect
from turnwise.guard.preset import GuardPreset, load_guard
from turnwise.guard.private import PrivateRail
from turnwise.guard.reading import Reading, read
from turnwise.guard.running import run_rails
from turnwise.guard.shape import check_shape
from turnwise.guard.stating import only_states
from turnwise.guard.stream import Allowed, Shown, StreamRail
from turnwise.guard.verdict import SEVERITY, Action, Case, Finding, GuardResult, Rail, Span
from turnwise.types import LIBRARY, Embedder, Index, Message, Reach, Source

log = logging.getLogger(__name__)
ORDERS = "orders-5"  # the name of what looks for orders in passages; of another, they are looked at again
LONGEST = 100_000  # characters of a message, where nobody says otherwise
# Messages of one conversation are judged one after the other: of many at once, each would find room under its limit.
_TURN = tuple(threading.Lock() for _ in range(64))


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
        classifier: Classifier | None = None,
        rails: Iterable[Rail] = (),
        keep_turns: bool = True,
    ) -> None:
        self.preset = load_guard(preset) if isinstance(preset, str) else preset
        self._max_message = max_message
        self._keep_turns = keep_turns
        self._embedder = embedder
        classifier = trained() if classifier is None else classifier
        rails = tuple(map(_whole, rails))
        try:
            self._output: tuple[StreamRail, ...] = tuple(answer_rails(self.preset))
            self._input: tuple[Rail, ...] = (*_input_rails(self.preset, embedder, classifier), *rails)
        except ValueError as error:
            raise ConfigError(f"The guard preset {self.preset.name}: {error}.", "Compare it with general.") from error
        options = self.preset.options("documents", "instructions")
        # The rail on documents; None where they are not checked.
        self.instructions = None
        if options is not None:
            self.instructions = InstructionRail(options, _orders(classifier), ORDERS, self.preset.shadow)

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
        with _TURN[hash(conversation.id) % len(_TURN)]:
            return self._taken(content, conversation)

    def _taken(self, content: str, conversation: Conversation) -> GuardResult:
        """Judge the next message of a conversation, and record it."""
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

    def clean_history(self, history: Sequence[Message]) -> tuple[Message, ...]:
        """A history that a caller sent, as it may be read: the secrets and personal data that would be taken out of the
        user's message now are taken out of the earlier ones, which come back with each request as they were written."""
        rails = [rail for rail in self._input if isinstance(rail, PrivateRail) and self._takes_out(rail)]
        if not rails:
            return tuple(history)
        return tuple(self._clean(each, rails) if each.role == "user" else each for each in history)

    def _takes_out(self, rail: PrivateRail) -> bool:
        watches = self.preset.shadow or (self.preset.options("input", rail.name) or {}).get("shadow", False)
        return rail.action == "redact" and not watches

    def _clean(self, message: Message, rails: Sequence[Rail]) -> Message:
        text = message.content
        kept = cleaned(text, run_rails(rails, Case(Reading(text, text, (), {})), self.preset.deadline))
        return message if kept == text else dataclasses.replace(message, content=kept)

    def judge_exchange(self, case: Case, found: Sequence[Finding]) -> GuardResult:
        """What these findings and the rails that read the history come to."""
        reading = [rail for rail in self._input if getattr(rail, "reads_history", False)]
        exchange = run_rails(reading, case, self.preset.deadline)
        if not case.trusted:
            exchange = [_unread(each, len(case.history)) for each in exchange]
        return self._result("input", case.text, [*found, *exchange])

    def check_output(
        self,
        content: str,
        conversation: Conversation | None = None,
        *,
        sources: Sequence[Source] = (),
        system_prompt: str = "",
        canaries: Sequence[str] = (),
    ) -> GuardResult:
        """Judge an answer: what of it may be shown, and what each rail found. What stands in the sources, or in what
        the user wrote, is no leak. With sources, it may cite only those, and what they do not bear out is warned of."""
        if content is None:
            raise ValueError("There is nothing to check: content is None.")
        asked = [turn.prompt for turn in conversation.turns if turn.prompt] if conversation else []
        shown = Shown(system_prompt, tuple(canaries), seen(sources, *asked))
        text, findings = judged(content, self._output, self.preset, shown, sources)
        findings += grounded(content, sources, self.preset, self._embedder)
        result = self._result("output", content, findings)
        changed = content if result.shadow else text
        result = dataclasses.replace(
            result,
            sanitized="" if result.blocked else changed,
            conversation_id=conversation.id if conversation else None,
        )
        if conversation is not None:
            _record_answer(conversation, result, content, self._keep_turns)
        return result

    async def acheck_output(
        self, content: str, conversation: Conversation | None = None, **options: Any
    ) -> GuardResult:
        return await asyncio.to_thread(self.check_output, content, conversation, **options)

    def open_output(
        self,
        citable: Collection[int],
        system_prompt: str = "",
        canaries: Sequence[str] = (),
        allowed_text: str = "",
    ) -> OutputGuard:
        """A guard for one streamed answer that may cite these numbers. What stands in `allowed_text`, the evidence and
        what the user wrote, is no leak."""
        return OutputGuard(citable, self._output, Shown(system_prompt, tuple(canaries), Allowed(allowed_text)))

    def found_in(self, answer: OutputGuard) -> list[Finding]:
        """What the rails found in a streamed answer that has ended. Of one that only watches, its facts tell what it
        would have done, which is logged."""
        return [self._asked(each) for each in answer.findings()]

    def _asked(self, found: Finding) -> Finding:
        options = self.preset.options("output", found.rail) or {}
        watches = self.preset.shadow or options.get("shadow", False)
        if not watches or found.state != "found":
            return found
        action = options.get("action", "redact")
        _log_watched(found, action)
        return dataclasses.replace(found, action="allow", facts={**found.facts, "shadow": action})

    def check_passage(self, text: str) -> GuardResult:
        """Judge a passage of a document: blocked is one that is left out, for it gives the assistant instructions."""
        if text is None:
            raise ValueError("There is nothing to check: text is None.")
        rails = (self.instructions,) if self.instructions is not None else ()
        return self._result("document", text, run_rails(rails, Case(read(text)), self.preset.deadline))

    def open_library(self, index: Index, reach: Reach = LIBRARY) -> Sieve:
        """The library as one turn may read it: what is within reach, without passages that give the assistant
        instructions."""
        return Sieve(index, self.instructions, reach)

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


def _whole(rail: Rail) -> Rail:
    """The rail, if it has all that one needs: what is missing would come to light only when it fails."""
    named = isinstance(getattr(rail, "name", None), str) and callable(getattr(rail, "check", None))
    if not named or getattr(rail, "fails", None) not in ("open", "closed"):
        raise TypeError(f"{rail!r} is no rail: it needs a name, check(case), and fails, which is 'open' or 'closed'.")
    return rail


def cleaned(content: str, findings: Iterable[Finding]) -> str:
    """The text without what these findings ask to take out."""
    return redacted(content, [span for each in findings if each.action == "redact" for span in each.spans])


def _unread(found: Finding, history: int) -> Finding:
    """The finding; where the rail on the exchange could not judge a history that is not ours, all of it is left out."""
    if found.rail != ExchangeRail.name or found.state not in ("failed", "timed out"):
        return found
    return dataclasses.replace(found, facts={**found.facts, "left_out": list(range(history))})


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


def _record_answer(conversation: Conversation, result: GuardResult, content: str, keep: bool) -> None:
    """Complete the turn that waits, or keep an answer that nobody asked for; of a blocked one, that it was blocked. An
    answer that the caller has added already is changed to what may be shown."""
    last = conversation.turns[-1] if conversation.turns else None
    waits = last is not None and last.status == "pending" and keep
    by_hand = last is not None and last.status == "answered" and last.response == content
    response, noted = result.sanitized, {"blocked": "output", "reasons": list(result.reasons)}
    if last is not None and result.blocked and (waits or by_hand):
        blocked = dataclasses.replace(last, response=None, status="blocked", metadata={**last.metadata, **noted})
        conversation.turns[-1] = blocked
    elif last is not None and by_hand:
        conversation.turns[-1] = dataclasses.replace(last, response=response)
    elif waits:
        conversation.add_response(response)
    elif keep and result.blocked:
        conversation.add_turn(None, None, None, noted, "blocked")
    elif keep:
        conversation.add_turn(None, response)


@cache
def trained() -> Classifier:
    """The networks that come with Turnwise; they are read at the first text."""
    from turnwise.models.guard import OnnxGuard

    return OnnxGuard()


def _orders(classifier: Classifier) -> Detect:
    """What finds orders to the assistant in passages: rules, and the networks where they can."""
    read = getattr(classifier, "planted", None)
    if read is None:
        return planted.detect

    def detect(texts: Sequence[str]) -> list[tuple[float, tuple[int, int]]]:
        by_networks = [
            (0.0, span) if score >= FLOOR and only_states(text, *span) else (score, span)
            for text, (score, span) in zip(texts, read(texts), strict=True)
        ]
        return [max(each) for each in zip(planted.detect(texts), by_networks, strict=True)]

    return detect


def _input_rails(preset: GuardPreset, embedder: Embedder | None, classifier: Classifier) -> list[Rail]:
    rails: list[Rail] = []
    if (options := preset.options("input", "injection")) is not None:
        rails.append(InjectionRail(options, classifier, embedder))
    rails += content_rails(preset, embedder)
    if (options := preset.options("input", "exchange")) is not None:
        rails.append(ExchangeRail(options, _quick(classifier), _refused_by(tuple(rails)), _full(classifier)))
    return rails


def _full(classifier: Classifier) -> Callable[[str], float]:
    return lambda text: suspicion(classifier, text)[0]


def _quick(classifier: Classifier) -> Callable[[Sequence[str]], list[float]] | None:
    """The quick half of the classifier, where it has one."""
    quickly = getattr(classifier, "quickly", None)
    if quickly is None:
        return None
    return lambda texts: [max(rule_score(text), each) for text, each in zip(texts, quickly(texts), strict=True)]


def _refused_by(rails: Sequence[Rail]) -> Callable[[str, float, Sequence[Message]], bool]:
    """Whether one of these rails blocks a text after what was said before. The rail on injection, which is slow, is
    spared what is plainly none by its score."""

    def refused(text: str, score: float, before: Sequence[Message]) -> bool:
        case = Case(read(text), before, trusted=False)
        blocking = [rail for rail in rails if getattr(rail, "action", "block") == "block"]
        asked = [rail for rail in blocking if score >= SUSPECT or rail.name != "injection"]
        return any(rail.check(case).action == "block" for rail in asked)

    return refused
