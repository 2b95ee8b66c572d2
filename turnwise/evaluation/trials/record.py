"""Writes test files: updates expectations with what was seen, and turns stored conversations into tests."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from turnwise.conversation import Conversation, Turn
from turnwise.evaluation.trials.expect import TITLES
from turnwise.evaluation.trials.hold import Held, Outcome
from turnwise.evaluation.trials.script import load, yaml

DEFAULT_NAMES = ("follow_up", "condensed", "searched", "cites", "phase", "topic")  # for a turn without expectations


def update(path: Path, outcomes: Sequence[Outcome]) -> int:
    """Replace expectations that failed with what was seen, and add some to turns without any. Returns the number of
    turns changed. Comments and expectations that hold are not touched."""
    content = load(path)
    talks = content.get("conversations", [content])
    changed = 0
    for talk, outcome in zip(talks, outcomes, strict=True):
        for held in outcome.turns:
            index = held.number - 1
            if isinstance(talk["turns"][index], str):
                talk["turns"][index] = CommentedMap(ask=talk["turns"][index])
            changed += _update_turn(talk["turns"][index], held)
    if changed:
        out = io.StringIO()
        yaml().dump(content, out)
        path.write_text(out.getvalue(), encoding="utf-8")
    return changed


def _update_turn(turn: CommentedMap, held: Held) -> bool:
    """Update the expectations of a turn. Returns whether they changed."""
    if held.asked.checks and not held.misses:
        return False
    names = [check.name for check in held.misses] or list(DEFAULT_NAMES)
    if held.error:
        names = ["blocked"] if held.seen["blocked"] else ["error"]
    expected = turn.setdefault("expect", CommentedMap())
    before = dict(expected)
    if held.error:
        for check in held.misses:
            expected.pop(check.name, None)
    for name in names:
        value = _expectation(name, held.seen)
        if value is not None:
            expected[name] = value
    return dict(expected) != before


def _expectation(name: str, seen: dict[str, Any]) -> Any:
    """What was seen, written as an expectation; None if there is nothing to write."""
    value = seen[name]
    match name:
        case "cites":
            return _flow(seen[TITLES]) if seen[TITLES] else False
        case "searched":
            return bool(value)
        case "confidence":
            return f">= {value:.2f}"
        case "latency":
            return f"< {max(100, round(value * 2, -2)):.0f} ms"
        case "answer":
            return str(value)
        case _:
            return _flow(value) if isinstance(value, list) else value


def _flow(values: Sequence[str]) -> CommentedSeq:
    sequence = CommentedSeq(values)
    sequence.fa.set_flow_style()
    return sequence


def from_conversation(conversation: Conversation, library: str) -> str:
    """A stored conversation as a test file that expects what was seen. A search query that the user edited is what the
    product should have come up with, so it is an expectation, not an input."""
    content = CommentedMap(name=conversation.metadata.get("title") or conversation.id)
    if library:
        content["library"] = library
    content["turns"] = CommentedSeq()
    turns = [turn for turn in conversation.turns if turn.prompt is not None and turn.status != "pending"]
    for index, turn in enumerate(turns):
        if index + 1 < len(turns) and _is_edited(turns[index + 1]) and turns[index + 1].prompt == turn.prompt:
            continue  # it was asked again with an edited query
        content["turns"].append(_as_test(turn))
    out = io.StringIO()
    yaml().dump(content, out)
    return out.getvalue()


def _as_test(turn: Turn) -> CommentedMap:
    expected = CommentedMap()
    if turn.status == "blocked":
        expected["blocked"] = True
    elif turn.status == "answered" and turn.record:
        follow_up, state = turn.record["follow_up"], turn.record["state"]
        expected["follow_up"] = follow_up["is_follow_up"]
        expected["condensed"] = turn.record["condensed_query"]
        if _is_edited(turn):
            expected.yaml_add_eol_comment("edited by hand", "condensed")
        expected["searched"] = bool(_stage(turn, "retrieve").get("details", {}).get("searches"))
        titles = list(dict.fromkeys(source.title for source in turn.sources))
        expected["cites"] = _flow(titles) if titles else False
        expected["phase"], expected["topic"] = state["phase"], state["topic"]
    asked = CommentedMap(ask=turn.prompt)
    if expected:
        asked["expect"] = expected
    return asked


def _is_edited(turn: Turn) -> bool:
    """Whether the user edited the search query."""
    return bool(_stage(turn, "condense").get("decision") == "caller")


def _stage(turn: Turn, name: str) -> dict[str, Any]:
    return next((dict(stage) for stage in turn.record.get("trace", ()) if stage["stage"] == name), {})
