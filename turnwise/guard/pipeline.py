"""The rails around an exchange, usable alone: what may come in, what documents may say, and what may go out."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import logging
import queue
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from turnwise.conversation import Conversation, Turn
from turnwise.guard.answers import answer_rails, content_rails, grounded, judged, seen
from turnwise.guard.documents import InstructionRail, Sieve
from turnwise.guard.injection import InjectionRail
from turnwise.guard.output import OutputGuard
from turnwise.guard.preset import GuardPreset, load_guard
from turnwise.guard.reading import read
from turnwise.guard.shape import check_shape
from turnwise.guard.stream import Allowed, Shown, StreamRail
from turnwise.guard.verdict import SEVERITY, Action, Case, Finding, GuardResult, Rail, Span
from turnwise.types import Embedder, Index, Message, Source

log = logging.getLogger(__name__)
LONGEST = 100_000  # characters of a message, where nobody says otherwise


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
        self._embedder = embedder
        self._output: tuple[StreamRail, ...] = tuple(answer_rails(self.preset))
        self._input: tuple[Rail, ...] = (*_input_rails(self.preset, embedder), *rails)
        options = self.preset.options("documents", "instructions")
        # The rail on documents; None where they are not checked.
        self.instructions = None if options is None else InstructionRail(options, shadow=self.preset.shadow)

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
        earlier = conversation.turns[:-1] if by_hand else conversation.turns
        refused = [turn.prompt for turn in earlier if turn.status == "blocked" and turn.prompt is not None]
        history = Conversation(conversation.id, turns=earlier).messages()
        result = dataclasses.replace(self.judge_input(content, history, refused), conversation_id=conversation.id)
        if self._keep_turns or by_hand:
            _record(conversation, result, content, by_hand)
        return result

    async def acheck_input(self, content: str, conversation: Conversation | None = None) -> GuardResult:
        return await asyncio.to_thread(self.check_input, content, conversation)

    def judge_input(
        self, content: str, history: Sequence[Message] = (), blocked: Sequence[str] = (), trusted: bool = True
    ) -> GuardResult:
        """Judge a message by what was said before it, and keep nothing."""
        case = Case(read(content), history, blocked, trusted)
        return self._result("input", content, run_rails(self._input, case, self.preset.deadline))

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

    def check_passage(self, text: str) -> GuardResult:
        """Judge a passage of a document: blocked is one that is left out, for it gives the assistant instructions."""
        if text is None:
            raise ValueError("There is nothing to check: text is None.")
        rails = (self.instructions,) if self.instructions is not None else ()
        return self._result("document", text, run_rails(rails, Case(read(text)), self.preset.deadline))

    def open_library(self, index: Index) -> Sieve:
        """The library as one turn may read it: without passages that give the assistant instructions."""
        return Sieve(index, self.instructions)

    def _result(self, side: Any, content: str, findings: Sequence[Finding]) -> GuardResult:
        action: Action = max((each.action for each in findings), key=SEVERITY.__getitem__, default="allow")
        acting = [each for each in findings if each.action != "allow"]
        shadow = action if self.preset.shadow else None
        if shadow and shadow != "allow":
            log.info("only watching: would %s because %s", shadow, "; ".join(each.reason for each in acting))
        taken = [span for each in findings if each.action == "redact" for span in each.spans]
        return GuardResult(
            pipeline_type=side,
            action="allow" if shadow else action,
            sanitized=content if shadow else redacted(content, taken),
            details={each.rail: each for each in findings},
            warnings=tuple(each.reason for each in acting if each.action in ("warn", "redact")),
            reasons=tuple(each.reason for each in acting if each.action == "block"),
            shadow=shadow,
        )


def run_rails(rails: Sequence[Rail], case: Case, deadline: float) -> list[Finding]:
    """What each rail finds, in order. They run in a thread of their own: one that hangs is left behind at its deadline,
    and those after it go on in another."""
    findings: list[Finding] = []
    while len(findings) < len(rails):
        done: queue.SimpleQueue[Finding] = queue.SimpleQueue()
        left = rails[len(findings) :]
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(_work, left, case, done), daemon=True).start()
        for rail in left:
            try:
                findings.append(done.get(timeout=deadline))
            except queue.Empty:
                log.warning("the rail %s was cut off after %g seconds", rail.name, deadline)
                findings.append(_unjudged(rail, "timed out", f"did not answer in {deadline:g} seconds", deadline))
                break
    return findings


def _work(rails: Sequence[Rail], case: Case, done: queue.SimpleQueue[Finding]) -> None:
    for rail in rails:
        start = time.perf_counter()
        try:
            found = rail.check(case)
        except Exception as error:
            log.exception("the rail %s failed", rail.name)
            found = _unjudged(rail, "failed", f"failed ({type(error).__name__})", 0.0)
        took = (time.perf_counter() - start) * 1000
        done.put(dataclasses.replace(found, fails=rail.fails, latency_ms=round(took, 3)))


def _unjudged(rail: Rail, state: Any, why: str, seconds: float) -> Finding:
    action = "block" if rail.fails == "closed" else "allow"
    reason = f"the rail {rail.name} {why}"
    return Finding(rail.name, action, reason=reason, state=state, fails=rail.fails, latency_ms=seconds * 1000)  # type: ignore[arg-type]


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


def _record(conversation: Conversation, result: GuardResult, content: str, by_hand: bool) -> None:
    """Keep the prompt as it may be kept: the sanitized text of one that may go on, and a blocked one as blocked."""
    turn = conversation.turns.pop() if by_hand else Turn(content)
    if result.blocked:
        noted = {**turn.metadata, "reasons": list(result.reasons)}
        conversation.add_turn(content, None, turn.timestamp, noted, "blocked")
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


def _input_rails(preset: GuardPreset, embedder: Embedder | None) -> list[Rail]:
    rails: list[Rail] = []
    if (options := preset.options("input", "injection")) is not None:
        rails.append(InjectionRail(options, embedder))
    return [*rails, *content_rails(preset, embedder)]
