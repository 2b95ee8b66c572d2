"""Tools and searches to plan with in a test."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from turnwise.types import Message, StepResult

_SHARE = re.compile(r"(\d+)\s?(?:%|percent) of (\S*\d+|that)", re.I)


class Percent:
    """A calculator that knows percentages, also "of that": of the last number that was said."""

    name = "calculator"
    about = "works out percentages"

    def __init__(self) -> None:
        self.read_of: list[str] = []

    async def read(self, question: str, history: Sequence[Message]) -> str:
        self.read_of.append(question)
        found = _SHARE.search(question)
        said = re.findall(r"\d+", " ".join(each.content for each in history))
        if not found or (found[2] == "that" and not said):
            return ""
        return f"{found[1]}% of {said[-1] if found[2] == 'that' else found[2]}"

    async def run(self, given: str) -> StepResult:
        share, whole = map(int, re.findall(r"\d+", given))
        return StepResult(f"{given} is {share * whole / 100:g}.", details={"sum": given})


class Takes:
    """A tool that takes every question, and does with it what it is told."""

    about = "takes everything"

    def __init__(self, name: str, does: Callable[[str], StepResult]) -> None:
        self.name = name
        self._does = does

    async def read(self, question: str, history: Sequence[Message]) -> str:  # noqa: ARG002
        return question

    async def run(self, given: str) -> StepResult:
        return self._does(given)
