"""What came of the tests: for people, for build servers (JUnit) and for programs (JSON)."""

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

LONGEST = 160  # characters of a value that is shown
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def told(path: Path, outcome: Outcome) -> Iterator[str]:
    """One conversation in lines: whether it passed, and what did not hold with the trace beside it."""
    yield f"{'ok  ' if outcome.passed else 'FAIL'}  {outcome.talk.name}"
    for held in outcome.turns:
        if held.misses:
            yield from _missed(path, held)


def _missed(path: Path, held: Held) -> Iterator[str]:
    place = f"{path}:{held.asked.line}" if held.asked.line else str(path)
    yield f"      turn {held.number}: {one_line(held.asked.ask, 90)}   ({place})"
    for check in held.misses:
        yield f"        {check.name}"
        yield f"          expected  {shown(check.value)}"
        yield f"          was       {shown(held.seen[check.name])}"
    if held.error:
        yield f"        {held.error['code']}: {one_line(held.error['message'], LONGEST)}"
    yield "        trace"
    widest = max((len(stage.stage) for stage in held.trace), default=0)
    for stage in held.trace:
        reason = f" — {one_line(stage.reason, LONGEST)}" if stage.reason else ""
        yield f"          {stage.stage:{widest}}  {stage.ms:7.1f} ms  {stage.decision}{reason}"


def shown(value: Any) -> str:
    if isinstance(value, str):
        return f"“{one_line(value, LONGEST)}”" if value else "nothing"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "nothing"}[value]
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return ", ".join(shown(each) for each in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{way.replace('_', ' ')} {shown(each)}" for way, each in value.items())
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
    """A JUnit file: a suite a file, a case a conversation."""
    root = ElementTree.Element("testsuites", name="turnwise test")
    for path in dict.fromkeys(path for path, _ in results):
        of_file = [outcome for each, outcome in results if each == path]
        failures = sum(not outcome.passed for outcome in of_file)
        suite = ElementTree.SubElement(
            root, "testsuite", name=str(path), tests=str(len(of_file)), failures=str(failures)
        )
        for outcome in of_file:
            seconds = sum(held.seen["latency"] for held in outcome.turns) / 1000
            case = ElementTree.SubElement(
                suite, "testcase", classname=path.stem, name=_xml(outcome.talk.name), time=f"{seconds:.3f}"
            )
            if not outcome.passed:
                missed = [check.name for held in outcome.turns for check in held.misses]
                failure = ElementTree.SubElement(case, "failure", message=_xml(f"does not hold: {', '.join(missed)}"))
                failure.text = _xml("\n".join(told(path, outcome)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
