"""Tests written by the product: what a turn gave put into its expectations, and stored conversations as test files."""

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

RECORDED = ("follow_up", "condensed", "searched", "cites", "phase", "topic")  # of a turn of which nothing is expected


def update(path: Path, outcomes: Sequence[Outcome]) -> int:
    """Write what was seen in place of what does not hold, and beside every turn of which nothing was expected. Gives
    how many turns were changed; comments and all that holds stay as they are."""
    told = load(path)
    talks = told.get("conversations", [told])
    changed = 0
    for talk, outcome in zip(talks, outcomes, strict=True):
        for held in outcome.turns:
            place = held.number - 1
            if isinstance(talk["turns"][place], str):
                talk["turns"][place] = CommentedMap(ask=talk["turns"][place])
            changed += _recorded(talk["turns"][place], held)
    if changed:
        out = io.StringIO()
        yaml().dump(told, out)
        path.write_text(out.getvalue(), encoding="utf-8")
    return changed


def _recorded(turn: CommentedMap, held: Held) -> bool:
    if held.asked.checks and not held.misses:
        return False
    wanted = [check.name for check in held.misses] or list(RECORDED)
    if held.error:
        wanted = ["blocked"] if held.seen["blocked"] else ["error"]
    expected = turn.setdefault("expect", CommentedMap())
    before = dict(expected)
    if held.error:
        for check in held.misses:
            expected.pop(check.name, None)
    for name in wanted:
        value = _written(name, held.seen)
        if value is not None:
            expected[name] = value
    return dict(expected) != before


def _written(name: str, seen: dict[str, Any]) -> Any:
    """A value that was seen, as one would write that it is expected; None where there is nothing to write."""
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
    listed = CommentedSeq(values)
    listed.fa.set_flow_style()
    return listed


def from_conversation(conversation: Conversation, library: str) -> str:
    """A stored conversation as a test file: what was seen is expected. Where somebody wrote themselves what to search
    for, that is what the product should have found, so it is expected and not given."""
    told = CommentedMap(name=conversation.metadata.get("title") or conversation.id)
    if library:
        told["library"] = library
    told["turns"] = CommentedSeq()
    turns = [turn for turn in conversation.turns if turn.prompt is not None and turn.status != "pending"]
    for place, turn in enumerate(turns):
        if place + 1 < len(turns) and _edited(turns[place + 1]) and turns[place + 1].prompt == turn.prompt:
            continue  # it was asked again with other words to search for
        told["turns"].append(_as_test(turn))
    out = io.StringIO()
    yaml().dump(told, out)
    return out.getvalue()


def _as_test(turn: Turn) -> CommentedMap:
    expected = CommentedMap()
    if turn.status == "blocked":
        expected["blocked"] = True
    elif turn.status == "answered" and turn.record:
        follow_up, state = turn.record["follow_up"], turn.record["state"]
        expected["follow_up"] = follow_up["is_follow_up"]
        expected["condensed"] = turn.record["condensed_query"]
        if _edited(turn):
            expected.yaml_add_eol_comment("as it was edited by hand", "condensed")
        expected["searched"] = bool(_stage(turn, "retrieve").get("details", {}).get("searches"))
        titles = list(dict.fromkeys(source.title for source in turn.sources))
        expected["cites"] = _flow(titles) if titles else False
        expected["phase"], expected["topic"] = state["phase"], state["topic"]
    asked = CommentedMap(ask=turn.prompt)
    if expected:
        asked["expect"] = expected
    return asked


def _edited(turn: Turn) -> bool:
    """Whether the user wrote what was searched for."""
    return bool(_stage(turn, "condense").get("decision") == "caller")


def _stage(turn: Turn, name: str) -> dict[str, Any]:
    return next((dict(stage) for stage in turn.record.get("trace", ()) if stage["stage"] == name), {})
