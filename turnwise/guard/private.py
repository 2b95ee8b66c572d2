"""The rails for personal data and secrets, in messages and in answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from turnwise.guard.pii import PII_KINDS, REGIONS, checked_kinds, checked_regions, find_pii
from turnwise.guard.secrets import SECRET_KINDS, find_secrets
from turnwise.guard.stream import AnswerContext, Reader, WordReader
from turnwise.guard.verdict import Action, Case, Fails, Finding, Span

# What stands for a secret in the text that is judged. A number is neutral: a word such as "removed" is not.
STAND_IN = "12345"
_MARK = re.compile(rf"\[(?:{'|'.join(map(re.escape, (*SECRET_KINDS, *PII_KINDS)))}) removed\]")


class PrivateRail:
    """Warns about, redacts or blocks what `find` finds in a text. In an answer, repeating what the reader has already
    seen, in the evidence or in their own messages, is not a leak unless `everywhere` is set."""

    def __init__(
        self, name: str, find: Callable[[str], list[Span]], needs: re.Pattern[str], options: Mapping[str, Any]
    ) -> None:
        self.name = name
        self.fails: Fails = options.get("fails", "open")
        self.action: Action = options.get("action", "redact")
        self._find = find
        self._needs = needs
        self._everywhere = bool(options.get("everywhere", False))

    def check(self, case: Case) -> Finding:
        """Check a user's message."""
        spans = tuple(self._find(case.text))
        if not spans:
            return Finding(self.name, reason="nothing found")
        kinds = dict.fromkeys(span.kind for span in spans)
        reason = f"the message holds {', '.join(f'{_article(kind)} {kind}' for kind in kinds)}"
        return Finding(self.name, self.action, 1.0, 0.5, reason, spans, "found")

    def open(self, context: AnswerContext) -> Reader | None:
        return WordReader(self._find, lambda value: self._everywhere or not context.seen.holds(value), self._needs)

    def spans(self, text: str, context: AnswerContext) -> list[Span]:
        found = self._find(text)
        return [each for each in found if self._everywhere or not context.seen.holds(text[each.start : each.end])]


def pii_rail(options: Mapping[str, Any]) -> PrivateRail:
    kinds = checked_kinds(options.get("kinds"), PII_KINDS)
    regions = checked_regions(options.get("regions", REGIONS))
    return PrivateRail("pii", lambda text: find_pii(text, kinds, regions), re.compile(r"[\d@＠]"), options)


def secrets_rail(options: Mapping[str, Any]) -> PrivateRail:
    kinds = checked_kinds(options.get("kinds"), SECRET_KINDS)
    return PrivateRail(
        "secrets", lambda text: [span for span in find_secrets(text) if span.kind in kinds], re.compile(r"\S"), options
    )


def masked(text: str, spans: Iterable[Span]) -> str:
    """The text with a stand-in of the same length for each of these spans."""
    for span in spans:
        size = span.end - span.start
        text = text[: span.start] + STAND_IN[:size].ljust(size) + text[span.end :]
    return text


def without_marks(text: str) -> str:
    """The text with a stand-in of the same length for each mark of what was redacted, as in "[email address removed]".
    Anyone can type such a mark, so this is only for text that was redacted here."""
    if " removed]" not in text:
        return text
    return masked(text, [Span(*found.span(), "mark") for found in _MARK.finditer(text)])


def _article(kind: str) -> str:
    return "an" if kind[0] in "aeioAEIO" else "a"
