"""The rails for answers, and what they make of a whole one."""

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
from turnwise.guard.stream import Allowed, Shown, StreamRail
from turnwise.guard.topics import OffTopicRail, TopicsRail
from turnwise.guard.verdict import Action, Finding, Rail
from turnwise.types import Embedder, Source

log = logging.getLogger(__name__)

_INPUT: dict[str, Callable[[Mapping[str, Any]], Rail]] = {
    "secrets": secrets_rail,
    "pii": pii_rail,
    "topics": TopicsRail,
}
_OUTPUT: dict[str, Callable[[Mapping[str, Any]], StreamRail]] = {
    "leak": LeakRail,
    "secrets": secrets_rail,
    "pii": pii_rail,
    "links": LinkRail,
    "topics": TopicsRail,
}


def content_rails(preset: GuardPreset, embedder: Embedder | None) -> list[Rail]:
    """The rails for what a message holds: secrets, personal data, topics."""
    rails: list[Rail] = [
        make(options) for name, make in _INPUT.items() if (options := preset.options("input", name)) is not None
    ]
    if (options := preset.options("input", "off_topic")) is not None:
        rails.append(OffTopicRail(options, embedder))
    return rails


def answer_rails(preset: GuardPreset) -> list[StreamRail]:
    """The rails for answers. One that only watches lets everything pass."""
    rails: list[StreamRail] = []
    for name, make in _OUTPUT.items():
        options = preset.options("output", name)
        if options is not None and options.get("action") != "allow":
            watching = preset.shadow or options.get("shadow", False)
            rails.append(make({**options, "action": "warn", "fails": "open"} if watching else options))
    return rails


def judged(
    content: str, rails: Sequence[StreamRail], preset: GuardPreset, shown: Shown, sources: Sequence[Source]
) -> tuple[str, list[Finding]]:
    """A whole answer as it may be shown, and what each rail found, with the places."""
    guard = OutputGuard({source.number for source in sources} or None, rails, shown)
    text = guard.feed(content) + guard.close()
    findings = []
    by_name = {rail.name: rail for rail in rails}
    for found in guard.findings():
        if found.state == "found":
            options = preset.options("output", found.rail) or {}
            start = time.perf_counter()
            spans = tuple(by_name[found.rail].spans(content, shown))
            took = round((time.perf_counter() - start) * 1000, 3)
            asked = options.get("action", by_name[found.rail].action)  # also of one that only watches
            found = dataclasses.replace(found, action=asked, spans=spans, latency_ms=took)
        findings.append(found)
    return "" if guard.blocked else text, findings


def grounded(content: str, sources: Sequence[Source], preset: GuardPreset, embedder: Embedder | None) -> list[Finding]:
    """What the grounding rail finds, where it runs and there are sources to hold the answer against."""
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


def seen(sources: Sequence[Source], *others: str) -> Allowed:
    """What the reader of an answer has seen: the sources, and what else is given."""
    return Allowed("\n".join([*(f"{each.title}\n{each.source}\n{each.text}" for each in sources), *others]))
