"""Proposing: the steps that a language model plans for a message, and whether they may be taken."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from turnwise.dialogue.rewriting import left_out, part_fault, without_thoughts
from turnwise.types import Message, Step

LONGEST_REPLY = 4000  # characters that are read of a reply; a plan that is longer is none
MOST = 6  # steps of a plan
TRIED = 8  # braces of a reply that are tried as the beginning of its JSON
RESULT = re.compile(r"\{(\d{1,2})\}")  # in what a step is given: what an earlier one gave, counted from 1

_OPENS = re.compile(r"^(?:and|but|so|also|then|or),? ", re.I)
_SEVERAL = re.compile(
    r"\band (?:then|also|what|how|why|who|when|where|which|is|are|do|does|did|can|give|tell|explain|list|show)\b"
    r"|\b(?:after that|both|respectively|compar\w+|differ\w*|(?:more|less|\w+er) than|based on|given that|combined)\b"
    r"|\b(?:old|new|larg|small|high|low|cheap|bigg|long|short)e(?:r|st)\b|;|[?？؟].*[?？؟]",
    re.I | re.S,
)
_FIGURES = re.compile(
    r"\b(?:how (?:many|much|old|long|far)|average|median|total|sum|percent|per cent|ratio|times|twice|half|double)\b"
    r"|[%+×÷*]",
    re.I,
)


class Refused(Exception):
    """What a model proposed is not taken; the words say why."""


def may_need_steps(message: str, tools: bool = False) -> bool:
    """Whether the form of a message suggests more than one step or, where there are tools, one of them; that of a plain
    question does not."""
    text = _OPENS.sub("", message.strip())
    return bool(_SEVERAL.search(text) or (tools and _FIGURES.search(text)))


def proposed(
    reply: str, question: str, seen: Sequence[Message], tools: Collection[str], language: str = "en"
) -> tuple[Step, ...]:
    """The steps of a reply: known tools, given words that were said, each after steps before it, and all together what
    was asked. Raises Refused for anything else. The places in `after` count from 0, as in a plan."""
    if len(reply) > LONGEST_REPLY:
        raise Refused("it is too long")
    steps = tuple(_step(each, place, tools) for place, each in enumerate(_listed(reply)))
    for step in steps:
        if wrong := part_fault(question, seen, RESULT.sub("", step.input).strip(), language):
            raise Refused(f"{wrong} (in “{step.input[:60]}”)")
    if missing := left_out(question, [step.input for step in steps], language):
        raise Refused(f"it drops “{missing}”")
    return steps


def _listed(reply: str) -> list[Any]:
    steps = _json(without_thoughts(reply)).get("steps")
    if not isinstance(steps, list) or not steps:
        raise Refused("it has no list of steps")
    if len(steps) > MOST:
        raise Refused(f"it has more than {MOST} steps")
    return steps


def _json(text: str) -> dict[str, Any]:
    """The first object of JSON in a text, whatever stands around it."""
    read = json.JSONDecoder().raw_decode
    for brace in [found.start() for found in re.finditer(r"\{", text)][:TRIED]:
        try:
            value, _ = read(text, brace)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and "steps" in value:
            return value
    raise Refused("it is no JSON with steps")


def _step(value: Any, place: int, tools: Collection[str]) -> Step:
    told = value if isinstance(value, dict) else {}
    tool, given, after = told.get("tool"), told.get("input"), told.get("after") or []
    if not isinstance(tool, str) or not isinstance(given, str) or not given.strip():
        raise Refused("a step is not of the form that was asked for")
    if tool not in tools:
        raise Refused(f"there is no tool “{tool[:40]}”")
    after = after if isinstance(after, list) else [after]
    waits = [*after, *(int(number) for number in RESULT.findall(given))]
    if not all(type(number) is int and 1 <= number <= place for number in waits):
        raise Refused("a step waits for one that does not come before it")
    return Step(tool, given.strip(), after=tuple(sorted({number - 1 for number in waits})))
