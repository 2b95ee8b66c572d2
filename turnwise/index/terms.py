"""The titles and headings of a library, for each reach."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from turnwise.types import Reach

MOST_TITLES = 1000  # documents whose titles name topics
MOST_HEADINGS = 2000  # passages whose headings do
REMEMBERED_REACHES = 32  # reaches

Terms = tuple[tuple[str, ...], tuple[str, ...]]  # titles, headings


class RememberedTerms:
    """The terms of recent reaches. Returns the same objects until the library changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Reach, tuple[Hashable, Terms]] = OrderedDict()

    def get(self, reach: Reach, version: Hashable, read: Callable[[], Terms]) -> Terms:
        """The terms in that version of the library."""
        with self._lock:
            known = self._known.get(reach)
            if known is None or known[0] != version:
                known = self._known[reach] = version, read()
            self._known.move_to_end(reach)
            while len(self._known) > REMEMBERED_REACHES:
                self._known.popitem(last=False)
            return known[1]


def and_those(terms: Terms, more: Terms) -> Terms:
    """Both sets of terms together, each heading once."""
    return terms[0] + more[0], tuple(dict.fromkeys(terms[1] + more[1]))
