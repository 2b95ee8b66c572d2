"""The rails around a turn, usable alone: what may come in, and what may go out while it streams."""

from __future__ import annotations

from collections.abc import Collection

from turnwise.guard.injection import injection
from turnwise.guard.output import OutputGuard
from turnwise.guard.shape import check_shape
from turnwise.types import Verdict


class GuardrailPipeline:
    """Judges messages and answers offline. These rails lower a risk; they do not promise to stop every attack."""

    def __init__(self, max_message: int) -> None:
        self._max_message = max_message

    def check_input(self, content: str) -> Verdict:
        """Allow or block a message. Raises InputError where it cannot be read at all: empty, too long, not text."""
        check_shape(content, self._max_message)
        return injection(content)

    def open_output(self, citable: Collection[int]) -> OutputGuard:
        """A guard for one streamed answer that may cite these numbers."""
        return OutputGuard(citable)
