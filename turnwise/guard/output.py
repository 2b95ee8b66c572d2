"""The output rails, on the stream: only real sources can be cited, and no picture can carry data away."""

from __future__ import annotations

import re
from collections.abc import Collection

# What has begun at the end of the text and may still become a citation or a tag; it is held back until it is clear.
_OPEN = re.compile(r"(?: ?\[[\[\]\d ]*| |<(?:im?)?)$", re.I)
_MARKER = re.compile(r" ?\[(\d{1,4})\](?!\()")
_PICTURE = re.compile(r"(?<=!)(?=\[)|(?<=<)(?=img)", re.I)
LONGEST_HELD = 200
DEEPEST = 20  # removing a citation may leave another, as in [[9]9]


class OutputGuard:
    """Takes an answer piece by piece and gives back what may be shown; a citation is never split."""

    def __init__(self, citable: Collection[int]) -> None:
        self._citable = citable
        self._held = ""
        self._last = ""  # the last character shown: "!" and "[" must not meet
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
        for _ in range(DEEPEST):
            before, text = text, _MARKER.sub(self._if_real, text)
            if text == before:
                break
        shown, pictures = _PICTURE.subn(" ", self._last + text)
        self.removed += ["a picture"] * pictures
        shown = shown[len(self._last) :]
        self._last = shown[-1:] or self._last
        return shown

    def _if_real(self, marker: re.Match[str]) -> str:
        if int(marker[1]) in self._citable:
            return marker[0]
        self.removed.append(f"a citation of [{marker[1]}], which is no source")
        return ""
