"""The turns of conversations that go on, as they were last read: what has ended does not change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from turnwise.conversation import Turn

MOST_TURNS = 10_000  # of all conversations together; those that were longest silent are let go


class Recent:
    """Ended turns by the key of their conversation and its mark, which no other conversation has under that key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Any, tuple[str | None, tuple[Turn, ...]]] = OrderedDict()
        self._count = 0

    def turns(self, place: Any, mark: str | None) -> tuple[Turn, ...]:
        """The first turns of a conversation, as far as they are known."""
        with self._lock:
            known, turns = self._kept.get(place, (None, ()))
        return turns if known == mark else ()

    def keep(self, place: Any, mark: str | None, turns: Sequence[Turn]) -> None:
        """Know a conversation from its first turn on, up to the first that has not ended."""
        ended = tuple(turns)
        for at, turn in enumerate(turns):
            if turn.status == "pending":
                ended = ended[:at]
                break
        with self._lock:
            self._count += len(ended) - len(self._kept.pop(place, (None, ()))[1])
            self._kept[place] = mark, ended
            while self._count > MOST_TURNS:
                _, (_, gone) = self._kept.popitem(last=False)
                self._count -= len(gone)
