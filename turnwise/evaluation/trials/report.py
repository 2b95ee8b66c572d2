"""Test results as text, JUnit XML and JSON."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from turnwise.evaluation.trials.hold import Held, Outcome
from turnwise.text import one_line

MAX_VALUE_CHARS = 160
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def outcome_lines(path: Path, outcome: Outcome) -> Iterator[str]:
    """One conversation as text: whether it passed, and which checks failed, with the trace."""
    yield f"{'ok  ' if outcome.passed else 'FAIL'}  {outcome.talk.name}"
    for held in outcome.turns:
        if held.misses:
            yield from _failure_lines(path, held)


def _failure_lines(path: Path, held: Held) -> Iterator[str]:
    location = f"{path}:{held.asked.line}" if held.asked.line else str(path)
    yield f"      turn {held.number}: {one_line(held.asked.ask, 90)}   ({location})"
    for check in held.misses:
        yield f"        {check.name}"
        yield f"          expected  {format_value(check.value)}"
        yield f"          was       {format_value(held.seen[check.name])}"
    if held.error:
        yield f"        {held.error['code']}: {one_line(held.error['message'], MAX_VALUE_CHARS)}"
        yield f"          {one_line(held.error['hint'], MAX_VALUE_CHARS)}"
    if held.trace:
        yield "        trace"
    widest = max((len(stage.stage) for stage in held.trace), default=0)
    for stage in held.trace:
        reason = f" — {one_line(stage.reason, MAX_VALUE_CHARS)}" if stage.reason else ""
        yield f"          {stage.stage:{widest}}  {stage.ms:7.1f} ms  {stage.decision}{reason}"


def format_value(value: Any) -> str:
    if isinstance(value, str):
        return f"“{one_line(value, MAX_VALUE_CHARS)}”" if value else "nothing"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "nothing"}[value]
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return ", ".join(format_value(each) for each in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{way.replace('_', ' ')} {format_value(each)}" for way, each in value.items())
    return str(value)


def as_json(path: Path, outcome: Outcome) -> dict[str, Any]:
    turns = [
        {
            "turn": held.number,
            "ask": held.asked.ask,
            "line": held.asked.line,
            "misses": [
                {"name": check.name, "expected": _plain(check.value), "was": held.seen[check.name]}
                for check in held.misses
            ],
            "error": held.error,
            "trace": [dataclasses.asdict(stage) for stage in held.trace] if held.misses else [],
        }
        for held in outcome.turns
    ]
    return {"file": str(path), "conversation": outcome.talk.name, "passed": outcome.passed, "turns": turns}


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def junit(results: Sequence[tuple[Path, Outcome]]) -> str:
    """A JUnit report: one suite per file, one case per conversation."""
    root = ElementTree.Element("testsuites", name="turnwise test")
    for path in dict.fromkeys(path for path, _ in results):
        outcomes = [outcome for each, outcome in results if each == path]
        failures = sum(not outcome.passed for outcome in outcomes)
        suite = ElementTree.SubElement(
            root, "testsuite", name=str(path), tests=str(len(outcomes)), failures=str(failures)
        )
        for outcome in outcomes:
            seconds = sum(held.seen["latency"] for held in outcome.turns) / 1000
            case = ElementTree.SubElement(
                suite, "testcase", classname=path.stem, name=_xml(outcome.talk.name), time=f"{seconds:.3f}"
            )
            if not outcome.passed:
                missed = [check.name for held in outcome.turns for check in held.misses]
                failure = ElementTree.SubElement(case, "failure", message=_xml(f"failed: {', '.join(missed)}"))
                failure.text = _xml("\n".join(outcome_lines(path, outcome)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
