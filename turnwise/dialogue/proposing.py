"""Parses and checks the steps that a language model plans for a message."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from turnwise.dialogue.rewriting import missing_word, part_fault, without_thoughts
from turnwise.types import Message, Step

MAX_REPLY_CHARS = 4000
MAX_STEPS = 6
MAX_BRACES = 8  # of a reply, tried as the start of its JSON
RESULT = re.compile(r"\{(\d{1,2})\}")  # in a step's input: the result of an earlier step, counted from 1

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
    """Raised for a plan that may not be used; the message says why."""


def may_need_steps(message: str, tools: bool) -> bool:
    """Whether the form of a message suggests more than one step or, if there are `tools`, a tool call."""
    text = _OPENS.sub("", message.strip())
    return bool(_SEVERAL.search(text) or (tools and _FIGURES.search(text)))


def parse_plan(
    reply: str, question: str, seen: Sequence[Message], tools: Collection[str], language: str
) -> tuple[Step, ...]:
    """Returns the steps of a reply. They may only use known tools and words of the conversation, may only wait for
    earlier steps, and together must cover the question; anything else raises `Refused`. The indices in `after` start
    at 0, as in a plan."""
    if len(reply) > MAX_REPLY_CHARS:
        raise Refused("it is too long")
    steps = tuple(_step(each, index, tools) for index, each in enumerate(_step_list(reply)))
    for step in steps:
        if wrong := part_fault(question, seen, RESULT.sub("", step.input).strip(), language):
            raise Refused(f"{wrong} (in “{step.input[:60]}”)")
    if missing := missing_word(question, [step.input for step in steps], language):
        raise Refused(f"it drops “{missing}”")
    return steps


def _step_list(reply: str) -> list[Any]:
    steps = _json(without_thoughts(reply)).get("steps")
    if not isinstance(steps, list) or not steps:
        raise Refused("it has no list of steps")
    if len(steps) > MAX_STEPS:
        raise Refused(f"it has more than {MAX_STEPS} steps")
    return steps


def _json(text: str) -> dict[str, Any]:
    """Returns the first JSON object with steps in a text."""
    decode = json.JSONDecoder().raw_decode
    for brace in [found.start() for found in re.finditer(r"\{", text)][:MAX_BRACES]:
        try:
            value, _ = decode(text, brace)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and "steps" in value:
            return value
    raise Refused("it has no JSON with steps")


def _step(value: Any, index: int, tools: Collection[str]) -> Step:
    fields = value if isinstance(value, dict) else {}
    tool, text, after = fields.get("tool"), fields.get("input"), fields.get("after") or []
    if not isinstance(tool, str) or not isinstance(text, str) or not text.strip():
        raise Refused("a step is not of the form requested")
    if tool not in tools:
        raise Refused(f"there is no tool “{tool[:40]}”")
    after = after if isinstance(after, list) else [after]
    waits = [*after, *(int(number) for number in RESULT.findall(text))]
    if not all(type(number) is int and 1 <= number <= index for number in waits):
        raise Refused("a step waits for one that does not come before it")
    return Step(tool, text.strip(), after=tuple(sorted({number - 1 for number in waits})))
