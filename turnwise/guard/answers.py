"""The rails for the content of messages and answers, built from a preset, and the check of a complete answer."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from turnwise.guard.leak import LeakRail
from turnwise.guard.links import LinkRail
from turnwise.guard.output import OutputGuard
from turnwise.guard.preset import GuardPreset
from turnwise.guard.private import pii_rail, secrets_rail
from turnwise.guard.stream import AnswerContext, SeenText, StreamRail
from turnwise.guard.topics import OffTopicRail, TopicsRail
from turnwise.guard.verdict import Action, Finding, Rail
from turnwise.types import Embedder, Source

log = logging.getLogger(__name__)

_INPUT_RAILS: dict[str, Callable[[Mapping[str, Any]], Rail]] = {
    "secrets": secrets_rail,
    "pii": pii_rail,
    "topics": TopicsRail,
}
_OUTPUT_RAILS: dict[str, Callable[[Mapping[str, Any]], StreamRail]] = {
    "leak": LeakRail,
    "secrets": secrets_rail,
    "pii": pii_rail,
    "links": LinkRail,
    "topics": TopicsRail,
}


def content_rails(preset: GuardPreset, embedder: Embedder | None) -> list[Rail]:
    """The rails for the content of a message: secrets, personal data, topics."""
    rails: list[Rail] = [
        make(options) for name, make in _INPUT_RAILS.items() if (options := preset.options("input", name)) is not None
    ]
    if (options := preset.options("input", "off_topic")) is not None:
        rails.append(OffTopicRail(options, embedder))
    return rails


def answer_rails(preset: GuardPreset) -> list[StreamRail]:
    """The rails for answers. A rail in shadow mode lets everything pass."""
    rails: list[StreamRail] = []
    for name, make in _OUTPUT_RAILS.items():
        options = preset.options("output", name)
        if options is not None and options.get("action") != "allow":
            shadow = preset.shadow or options.get("shadow", False)
            rails.append(make({**options, "action": "warn", "fails": "open"} if shadow else options))
    return rails


def check_answer(
    content: str, rails: Sequence[StreamRail], preset: GuardPreset, context: AnswerContext, sources: Sequence[Source]
) -> tuple[str, list[Finding]]:
    """A complete answer as it may be shown, and what each rail found, with spans."""
    guard = OutputGuard({source.number for source in sources} or None, rails, context)
    text = guard.feed(content) + guard.close()
    findings = []
    by_name = {rail.name: rail for rail in rails}
    for finding in guard.findings():
        if finding.state == "found":
            options = preset.options("output", finding.rail) or {}
            start = time.perf_counter()
            spans = tuple(by_name[finding.rail].spans(content, context))
            latency_ms = round((time.perf_counter() - start) * 1000, 3)
            action = options.get("action", by_name[finding.rail].action)  # the configured one, even in shadow mode
            finding = dataclasses.replace(finding, action=action, spans=spans, latency_ms=latency_ms)
        findings.append(finding)
    return "" if guard.blocked else text, findings


def check_grounding(
    content: str, sources: Sequence[Source], preset: GuardPreset, embedder: Embedder | None
) -> list[Finding]:
    """What the grounding rail finds, if it is on and there are sources to check the answer against."""
    options = preset.options("output", "grounding")
    if options is None or not sources:
        return []
    from turnwise.guard.grounding import GroundingRail

    rail = GroundingRail(options, embedder)
    try:
        return [rail.judge(content, sources)]
    except Exception as error:
        log.exception("the rail grounding failed")
        action: Action = "block" if rail.fails == "closed" else "allow"
        reason = f"the rail grounding failed ({type(error).__name__})"
        return [Finding(rail.name, action, reason=reason, state="failed", fails=rail.fails)]


def seen_text(sources: Sequence[Source], *others: str) -> SeenText:
    """The text that the reader of an answer has already seen: the sources, and the other texts."""
    return SeenText("\n".join([*(f"{each.title}\n{each.source}\n{each.text}" for each in sources), *others]))
