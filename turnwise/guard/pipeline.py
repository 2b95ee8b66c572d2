"""The guardrails around a conversation, usable on their own: checks on messages, on documents and on answers."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any

from turnwise.conversation import Conversation, Turn
from turnwise.errors import BadRequest, ConfigError
from turnwise.guard import planted
from turnwise.guard.answers import answer_rails, check_answer, check_grounding, content_rails, seen_text
from turnwise.guard.documents import MIN_FLAG_SCORE, InstructionRail, Sieve
from turnwise.guard.exchange import MIN_SUSPECT_SCORE, ExchangeRail, rule_score
from turnwise.guard.injection import Classifier, InjectionRail, suspicion
from turnwise.guard.output import OutputGuard
from turnwise.guard.planted import Detect
from turnwise.guard.preset import GuardPreset, load_guard
from turnwise.guard.private import PrivateRail, masked, without_marks
from turnwise.guard.reading import TextReading, read
from turnwise.guard.running import run_rails
from turnwise.guard.shape import check_shape, check_text
from turnwise.guard.stating import only_states
from turnwise.guard.stream import AnswerContext, SeenText, StreamRail
from turnwise.guard.verdict import SEVERITY, Action, Case, Finding, GuardResult, Rail, Span
from turnwise.limits import Decision
from turnwise.types import LIBRARY, Embedder, Index, Message, Reach, Source

log = logging.getLogger(__name__)
DETECTOR_VERSION = "orders-8"  # kept with each passage's flag; passages flagged by another version are checked again
DEFAULT_MAX_MESSAGE_CHARS = 100_000
# Messages of one conversation are checked one at a time; otherwise each could pass the same rate limit at once.
_CONVERSATION_LOCKS = tuple(threading.Lock() for _ in range(64))


class GuardrailPipeline:
    """Checks messages, passages and answers offline. Rails lower a risk; they do not promise to stop every attack.

    Given a conversation, it judges each message in context and keeps the turns: an allowed message becomes a pending
    prompt, a blocked one is recorded as blocked, and a checked answer completes the turn. With `keep_turns` off, adding
    turns is left to the caller.
    """

    def __init__(
        self,
        preset: GuardPreset | str = "general",
        *,
        max_message: int = DEFAULT_MAX_MESSAGE_CHARS,
        embedder: Embedder | None = None,
        classifier: Classifier | None = None,
        rails: Iterable[Rail] = (),
        keep_turns: bool = True,
    ) -> None:
        self.preset = load_guard(preset) if isinstance(preset, str) else preset
        if not isinstance(self.preset, GuardPreset):
            raise BadRequest(f"{preset!r:.80} is no guard preset.", "Give its name, such as general, or a .toml file.")
        self._max_message = max_message
        self._keep_turns = keep_turns
        self._embedder = embedder
        classifier = default_classifier() if classifier is None else classifier
        rails = tuple(map(_checked_rail, rails))
        try:
            self._output: tuple[StreamRail, ...] = tuple(answer_rails(self.preset))
            self._input: tuple[Rail, ...] = (*_input_rails(self.preset, embedder, classifier), *rails)
        except ValueError as error:
            raise ConfigError(
                f"The guard preset {self.preset.name}: {error}.", "Compare it with general.toml."
            ) from error
        options = self.preset.options("documents", "instructions")
        # The rail for documents, or None if they are not checked.
        self.instructions = None
        if options is not None:
            self.instructions = InstructionRail(options, _detector(classifier), DETECTOR_VERSION, self.preset.shadow)

    @classmethod
    def from_preset(cls, name: str, **options: Any) -> GuardrailPipeline:
        """A pipeline from a preset: customer_service, tutor, academic, strict, general, off, or the path of a file."""
        return cls(load_guard(name), **options)

    def check_input(self, content: str, conversation: Conversation | None = None) -> GuardResult:
        """Check a message. Raises InputError if it cannot be read at all: empty, too long, or not text."""
        if content is None:
            raise ValueError("There is nothing to check: content is None.")
        check_shape(content, self._max_message)
        if conversation is None:
            return self.judge_input(content)
        with _CONVERSATION_LOCKS[hash(conversation.id) % len(_CONVERSATION_LOCKS)]:
            return self._check_and_record(content, conversation)

    def _check_and_record(self, content: str, conversation: Conversation) -> GuardResult:
        """Check the next message of a conversation, and record it."""
        by_hand = _is_pending(conversation, content)  # the caller has already added this prompt
        if not (allowed := conversation.check_rate_limit(another=not by_hand)):
            result = _rate_limited(content, allowed)
        else:
            earlier = Conversation(turns=conversation.turns[:-1] if by_hand else conversation.turns)
            blocked, places = earlier.refused(waiting=True)
            result = self.judge_input(content, earlier.messages(waiting=True), blocked, places=places)
        result = dataclasses.replace(result, conversation_id=conversation.id)
        if by_hand or (self._keep_turns and allowed):  # a message over the limit was never accepted
            _record_prompt(conversation, result, by_hand)
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
        """Check a message after the given history, without recording it. See `Case` for the other parameters."""
        return self.open_input(content).within(history, blocked, trusted, places)

    def open_input(self, content: str) -> InputCheck:
        """Check a message on its own; call `within` on the result to judge it in its history. Raises InputError as
        `check_input` does."""
        check_shape(content, self._max_message)
        case = Case(read(content))
        rails = [rail for rail in self._input if not getattr(rail, "reads_history", False)]
        own = [rail for rail in rails if isinstance(rail, InjectionRail)]  # if it redacts
        findings = run_rails([rail for rail in rails if rail not in own], case, self.preset.deadline)
        findings = [self._apply_shadow("input", each) for each in findings]
        attacks = run_rails(own, _without_redacted(case, findings), self.preset.deadline)
        return InputCheck(self, case, [*(self._apply_shadow("input", each) for each in attacks), *findings])

    def clean_history(self, history: Sequence[Message]) -> tuple[Message, ...]:
        """A history sent by a caller, with secrets and personal data redacted from the user's messages as they would be
        from a new message. The caller sends earlier messages with each request as they were written."""
        rails = [rail for rail in self._input if isinstance(rail, PrivateRail) and self._redacts(rail)]
        if not rails:
            return tuple(history)
        return tuple(self._redact_message(each, rails) if each.role == "user" else each for each in history)

    def _redacts(self, rail: PrivateRail) -> bool:
        shadow = self.preset.shadow or (self.preset.options("input", rail.name) or {}).get("shadow", False)
        return rail.action == "redact" and not shadow

    def _redact_message(self, message: Message, rails: Sequence[Rail]) -> Message:
        text = message.content
        kept = apply_redactions(text, run_rails(rails, Case(TextReading(text, text, (), {})), self.preset.deadline))
        return message if kept == text else dataclasses.replace(message, content=kept)

    def judge_exchange(self, case: Case, found: Sequence[Finding]) -> GuardResult:
        """Run the rails that read the history, and combine their findings with those already `found`."""
        rails = [rail for rail in self._input if getattr(rail, "reads_history", False)]
        own = [rail for rail in rails if isinstance(rail, InjectionRail | ExchangeRail)]
        exchange = self._judge_readings(own, _without_redacted(case, found))
        exchange += run_rails([rail for rail in rails if rail not in own], case, self.preset.deadline)
        if not case.trusted:
            exchange = [_leave_out_if_unjudged(each, len(case.history)) for each in exchange]
        return self._result("input", case.text, [*found, *exchange])

    def _judge_readings(self, rails: Sequence[Rail], case: Case) -> list[Finding]:
        """What these rails find if they do not read the marks of earlier redactions. In a history sent by a caller the
        marks may be typed, to hide words: such a history is also read as it is, and the worse finding counts."""
        unmarked = _without_marks(case)
        findings = run_rails(rails, unmarked, self.preset.deadline)
        if case.trusted or unmarked == case:
            return findings
        return [*map(_worse, findings, run_rails(rails, case, self.preset.deadline))]

    def check_output(
        self,
        content: str,
        conversation: Conversation | None = None,
        *,
        sources: Sequence[Source] = (),
        system_prompt: str = "",
        canaries: Sequence[str] = (),
    ) -> GuardResult:
        """Check an answer: what may be shown of it, and what each rail found. Text from the sources or from the user's
        own messages is not a leak. If sources are given, the answer may cite only those, and sentences that they do not
        support produce a warning."""
        if content is None:
            raise ValueError("There is nothing to check: content is None.")
        check_text(content, "an answer")
        prompts = [turn.prompt for turn in conversation.turns if turn.prompt] if conversation else []
        context = AnswerContext(system_prompt, tuple(canaries), seen_text(sources, *prompts))
        text, findings = check_answer(content, self._output, self.preset, context, sources)
        findings += check_grounding(content, sources, self.preset, self._embedder)
        result = self._result("output", content, findings)
        sanitized = content if result.shadow else text
        result = dataclasses.replace(
            result,
            sanitized="" if result.blocked else sanitized,
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
        """A guard for one streamed answer that may cite these numbers. `allowed_text` is what the reader has already
        seen, such as the evidence and the user's own messages; repeating it is not a leak."""
        return OutputGuard(citable, self._output, AnswerContext(system_prompt, tuple(canaries), SeenText(allowed_text)))

    def found_in(self, answer: OutputGuard) -> list[Finding]:
        """What the rails found in a streamed answer that has ended. For a rail in shadow mode, the facts say what it
        would have done, and that is logged."""
        return [self._apply_stream_shadow(each) for each in answer.findings()]

    def _apply_stream_shadow(self, finding: Finding) -> Finding:
        options = self.preset.options("output", finding.rail) or {}
        shadow = self.preset.shadow or options.get("shadow", False)
        if not shadow or finding.state != "found":
            return finding
        action = options.get("action", "redact")
        _log_shadow(finding, action)
        return dataclasses.replace(finding, action="allow", facts={**finding.facts, "shadow": action})

    def check_passage(self, text: str) -> GuardResult:
        """Check a passage of a document. It is blocked, that is, left out, if it gives the assistant instructions."""
        if text is None:
            raise ValueError("There is nothing to check: text is None.")
        check_text(text, "a passage")
        rails = (self.instructions,) if self.instructions is not None else ()
        return self._result("document", text, run_rails(rails, Case(read(text)), self.preset.deadline))

    def open_library(self, index: Index, reach: Reach = LIBRARY) -> Sieve:
        """The library as one turn may read it: only what is within reach, and no passages that give the assistant
        instructions."""
        return Sieve(index, self.instructions, reach)

    def _result(self, side: Any, content: str, findings: Sequence[Finding]) -> GuardResult:
        findings = [self._apply_shadow(side, each) for each in findings]
        action: Action = max((each.action for each in findings), key=SEVERITY.__getitem__, default="allow")
        acting = [each for each in findings if each.action != "allow"]
        shadow = action if self.preset.shadow else None
        if shadow:
            for each in acting:
                _log_shadow(each, each.action)
        return GuardResult(
            pipeline_type=side,
            action="allow" if shadow else action,
            sanitized=content if shadow else apply_redactions(content, findings),
            details={each.rail: each for each in findings},
            warnings=tuple(each.reason for each in acting if each.action in ("warn", "redact")),
            reasons=tuple(each.reason for each in acting if each.action == "block"),
            shadow=shadow,
        )

    def _apply_shadow(self, side: str, finding: Finding) -> Finding:
        """The finding; for a rail in shadow mode, the action is moved to its facts."""
        options = self.preset.options(PRESET_SIDES.get(side, side), finding.rail) or {}
        if not options.get("shadow") or "shadow" in finding.facts:
            return finding
        if finding.action != "allow":
            _log_shadow(finding, finding.action)
        return dataclasses.replace(finding, action="allow", facts={**finding.facts, "shadow": finding.action})


@dataclasses.dataclass(frozen=True, slots=True)
class InputCheck:
    """A message that has been checked on its own, without its history."""

    pipeline: GuardrailPipeline
    case: Case
    findings: Sequence[Finding]

    @property
    def sanitized(self) -> str:
        """The text as it may be stored: with redactions applied."""
        shadow = self.pipeline.preset.shadow
        return self.case.text if shadow else apply_redactions(self.case.text, self.findings)

    def within(
        self,
        history: Sequence[Message] = (),
        blocked: Sequence[str] = (),
        trusted: bool = True,
        places: Sequence[int] = (),
    ) -> GuardResult:
        """The result for this message after what was said before; see `Case`."""
        case = dataclasses.replace(self.case, history=history, blocked=blocked, places=places, trusted=trusted)
        return self.pipeline.judge_exchange(case, self.findings)


CHECKED = "checked"  # in the record of a turn that is pending
PRESET_SIDES = {"document": "documents"}  # the side of a result, as presets spell it


def _checked_rail(rail: Rail) -> Rail:
    """The rail, if it has everything a rail needs. A missing part would otherwise only show when the rail fails."""
    usable = isinstance(getattr(rail, "name", None), str) and callable(getattr(rail, "check", None))
    if not usable or getattr(rail, "fails", None) not in ("open", "closed"):
        raise TypeError(f"{rail!r} is not a rail: it needs a name, check(case), and fails, either 'open' or 'closed'.")
    return rail


def apply_redactions(content: str, findings: Iterable[Finding]) -> str:
    """The text without the spans that these findings redact."""
    return redact(content, [span for each in findings if each.action == "redact" for span in each.spans])


def _without_redacted(case: Case, found: Iterable[Finding]) -> Case:
    """The case without what is redacted from the message: keys and numbers can look like an attack to the networks.
    Positions do not change."""
    redacting = [each for each in found if each.action == "redact" and each.rail != InjectionRail.name]
    text = masked(case.text, [span for each in redacting for span in each.spans])
    return case if text == case.text else dataclasses.replace(case, reading=read(text))


def _without_marks(case: Case) -> Case:
    """The case without the marks of what was redacted from earlier messages."""
    history = [
        dataclasses.replace(each, content=plain) if (plain := without_marks(each.content)) != each.content else each
        for each in case.history
    ]
    return dataclasses.replace(case, history=history, blocked=[*map(without_marks, case.blocked)])


def _worse(one: Finding, other: Finding) -> Finding:
    """The more severe of two findings of a rail, leaving out of the history what either of them leaves out."""
    worse = max(one, other, key=lambda each: (SEVERITY[each.action], each.score))
    left_out = {place for each in (one, other) for place in each.facts.get("left_out", ())}
    return dataclasses.replace(worse, facts={**worse.facts, "left_out": sorted(left_out)}) if left_out else worse


def _leave_out_if_unjudged(finding: Finding, messages: int) -> Finding:
    """The finding. If the exchange rail could not judge a history sent by a caller, all of the history is left out."""
    if finding.rail != ExchangeRail.name or finding.state not in ("failed", "timed out"):
        return finding
    return dataclasses.replace(finding, facts={**finding.facts, "left_out": list(range(messages))})


def _log_shadow(finding: Finding, action: Action) -> None:
    log.info("only watching: %s would %s (%.2f of %.2f)", finding.rail, action, finding.score, finding.threshold)


def _rate_limited(content: str, decision: Decision) -> GuardResult:
    error = decision.error()
    return GuardResult(
        "input", "block", content, {}, reasons=(str(error).rstrip("."),), retry_after=decision.retry_after
    )


def redact(text: str, spans: Iterable[Span]) -> str:
    """The text with each of these spans replaced by its kind, as in "[email address removed]"."""
    pieces, end = [], 0
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if span.start < end:  # inside another, or overlapping it
            end = max(end, span.end)
            continue
        pieces += [text[end : span.start], f"[{span.kind} removed]"]
        end = span.end
    return "".join([*pieces, text[end:]])


def _is_pending(conversation: Conversation, content: str) -> bool:
    """Whether the caller has added this prompt and it was not checked yet; once it was, the same is another message."""
    last = conversation.turns[-1] if conversation.turns else None
    return last is not None and last.status == "pending" and last.prompt == content and not last.record.get(CHECKED)


def _record_prompt(conversation: Conversation, result: GuardResult, by_hand: bool) -> None:
    """Record the prompt with redactions applied; a blocked one is recorded as blocked."""
    turn = conversation.turns.pop() if by_hand else Turn("")
    if result.blocked:
        metadata = {**turn.metadata, "reasons": list(result.reasons)}
        conversation.add_turn(result.sanitized, None, turn.timestamp, metadata, "blocked")
    else:
        added = conversation.add_turn(result.sanitized, None, turn.timestamp, turn.metadata)
        conversation.turns[-1] = dataclasses.replace(added, record={CHECKED: True})


def _record_answer(conversation: Conversation, result: GuardResult, content: str, keep: bool) -> None:
    """Complete the pending turn, or record an answer without a prompt; a blocked answer is only recorded as blocked. An
    answer that the caller has already added is replaced by what may be shown."""
    last = conversation.turns[-1] if conversation.turns else None
    pending = last is not None and last.status == "pending" and keep
    by_hand = last is not None and last.status == "answered" and last.response == content
    response, notes = result.sanitized, {"blocked": "output", "reasons": list(result.reasons)}
    if last is not None and result.blocked and (pending or by_hand):
        blocked = dataclasses.replace(last, response=None, status="blocked", metadata={**last.metadata, **notes})
        conversation.turns[-1] = blocked
    elif last is not None and by_hand:
        conversation.turns[-1] = dataclasses.replace(last, response=response)
    elif pending:
        conversation.add_response(response)
    elif keep and result.blocked:
        conversation.add_turn(None, None, None, notes, "blocked")
    elif keep:
        conversation.add_turn(None, response)


@cache
def default_classifier() -> Classifier:
    """The networks that come with Turnwise; they are loaded when the first text is checked."""
    from turnwise.models.guard import OnnxGuard

    return OnnxGuard()


def _detector(classifier: Classifier) -> Detect:
    """A detector of instructions to the assistant in passages: rules, and the networks if the classifier has them."""
    score_passages = getattr(classifier, "planted", None)
    if score_passages is None:
        return planted.detect

    def detect(texts: Sequence[str]) -> list[tuple[float, tuple[int, int]]]:
        by_networks = [
            (0.0, span) if score >= MIN_FLAG_SCORE and only_states(text, *span) else (score, span)
            for text, (score, span) in zip(texts, score_passages(texts), strict=True)
        ]
        return [max(each) for each in zip(planted.detect(texts), by_networks, strict=True)]

    return detect


def _input_rails(preset: GuardPreset, embedder: Embedder | None, classifier: Classifier) -> list[Rail]:
    rails: list[Rail] = []
    if (options := preset.options("input", "injection")) is not None:
        rails.append(InjectionRail(options, classifier, embedder))
    rails += content_rails(preset, embedder)
    if (options := preset.options("input", "exchange")) is not None:
        rails.append(
            ExchangeRail(options, _fast_scorer(classifier), _blocked_by(tuple(rails)), _full_scorer(classifier))
        )
    return rails


def _full_scorer(classifier: Classifier) -> Callable[[str], float]:
    return lambda text: suspicion(classifier, text)[0]


def _fast_scorer(classifier: Classifier) -> Callable[[Sequence[str]], list[float]] | None:
    """The fast half of the classifier, or None if it has none."""
    quickly = getattr(classifier, "quickly", None)
    if quickly is None:
        return None
    return lambda texts: [max(rule_score(text), each) for text, each in zip(texts, quickly(texts), strict=True)]


def _blocked_by(rails: Sequence[Rail]) -> Callable[[str, float, Sequence[Message]], bool]:
    """A function that says whether one of these rails blocks a text after the messages before it. The injection rail,
    which is slow, is skipped if the score is too low for an attack."""

    def blocked(text: str, score: float, before: Sequence[Message]) -> bool:
        case = Case(read(text), before, trusted=False)
        blocking = [rail for rail in rails if getattr(rail, "action", "block") == "block"]
        asked = [rail for rail in blocking if score >= MIN_SUSPECT_SCORE or rail.name != "injection"]
        return any(rail.check(case).action == "block" for rail in asked)

    return blocked
