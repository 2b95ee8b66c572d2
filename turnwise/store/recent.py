"""A cache of the ended turns of recent conversations. Ended turns do not change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from turnwise.conversation import Turn

MOST_TURNS = 10_000  # in all conversations together; the least recently used are dropped


class Recent:
    """Ended turns by the key of their conversation and its mark, which tells it from others with the same key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Any, tuple[str | None, tuple[Turn, ...]]] = OrderedDict()
        self._count = 0

    def turns(self, place: Any, mark: str | None) -> tuple[Turn, ...]:
        """The first turns of a conversation, as far as they are cached."""
        with self._lock:
            known, turns = self._kept.get(place, (None, ()))
        return turns if known == mark else ()

    def keep(self, place: Any, mark: str | None, turns: Sequence[Turn]) -> None:
        """Cache a conversation from its first turn up to the first that has not ended."""
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
