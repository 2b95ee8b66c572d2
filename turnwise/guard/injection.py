"""The injection rail, first form: plain commands to drop the instructions. Quoting or asking about one passes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from turnwise.guard.verdict import Case, Fails, Finding
from turnwise.types import Embedder

_QUOTED = re.compile(r"[\"“«„][^\"”»“]{0,400}[\"”»“]|(?<!\w)['‘][^'’]{0,400}['’](?!\w)|`[^`]{0,400}`")
_BEGINS = r"(?:^|[.!?:;,\n] ?|\b(?:please|now|just|then|you (?:must|should|will|can)|you to|let['’]s) )"
_COMMAND = re.compile(
    rf"{_BEGINS}(?:ignore|disregard|forget|override|bypass) (?:all |any |every |the |your |of |these |those )*"
    r"(?:previous|prior|above|earlier|preceding|existing|original|initial|system) "
    r"(?:instructions?|prompts?|rules?|directions?|guidelines?|messages?)",
    re.I,
)
_LEAK = re.compile(
    rf"{_BEGINS}(?:reveal|print|show|output|repeat|tell|give) (?:me |us )?"
    r"(?:your |the )(?:(?:full|entire|exact|hidden|secret|original) )*"
    r"(?:system prompt|system message|initial instructions)",
    re.I,
)


class InjectionRail:
    """Commands to drop the instructions, to play without rules, or to give away what is hidden."""

    name = "injection"

    def __init__(self, options: Mapping[str, Any], embedder: Embedder | None = None) -> None:  # noqa: ARG002
        self.fails: Fails = options.get("fails", "open")
        self._action = options.get("action", "block")

    def check(self, case: Case) -> Finding:
        text = unicodedata.normalize("NFKC", case.text)
        text = "".join(character for character in text if unicodedata.category(character) != "Cf")
        own_words = _QUOTED.sub(" ", text)
        in_lines = "\n".join(" ".join(line.split()) for line in own_words.splitlines() if line.strip())
        readings = (in_lines, in_lines.replace("\n", " "))  # a command may begin on a new line, or be broken over lines
        for pattern, meaning in (
            (_COMMAND, "asks to drop the instructions"),
            (_LEAK, "asks for the hidden instructions"),
        ):
            for found in filter(None, map(pattern.search, readings)):
                reason = f"“{found[0].strip(' .,:;!?')}” {meaning}"
                return Finding(self.name, self._action, 1.0, 0.5, reason, state="found")
        return Finding(self.name, reason="nothing found")
