"""The output rails, on the stream: only real sources can be cited, and no picture can carry data away."""

from __future__ import annotations

import re
from collections.abc import Collection

# A marker, a link or a picture that has begun and may still grow; while it does, the text is held back.
_OPEN = re.compile(r"!?\[[^\]\n]{0,300}$|!?\[[^\]\n]{0,300}\](?:\([^)\n]{0,2000})?$|!$| +$")
_PICTURE = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)")
_MARKER = re.compile(r" ?\[(\d{1,4})\](?!\()")
LONGEST_HELD = 2400


class OutputGuard:
    """Takes an answer piece by piece and gives back what may be shown; a citation is never split."""

    def __init__(self, citable: Collection[int]) -> None:
        self._citable = citable
        self._held = ""
        self.removed: list[str] = []

    def feed(self, piece: str) -> str:
        self._held += piece
        opened = _OPEN.search(self._held, max(0, len(self._held) - LONGEST_HELD))
        cut = opened.start() if opened else len(self._held)
        ready, self._held = self._held[:cut], self._held[cut:]
        return self._cleaned(ready)

    def close(self) -> str:
        ready, self._held = self._held, ""
        return self._cleaned(ready)

    def _cleaned(self, text: str) -> str:
        def picture(match: re.Match[str]) -> str:
            self.removed.append("a picture")
            return match[1]

        def marker(match: re.Match[str]) -> str:
            if int(match[1]) in self._citable:
                return match[0]
            self.removed.append(f"a citation of [{match[1]}], which is no source")
            return ""

        return _MARKER.sub(marker, _PICTURE.sub(picture, text))
