"""Normalizes the citations in a streamed answer: [1, 2], 【1】, [Source 1] and [1, p. 3] become [1][2]."""

from __future__ import annotations

import re
from collections.abc import Collection

MAX_MARKER_CHARS = 40  # from bracket to bracket
MAX_MARKER_SOURCES = 10

_NUMBERS = r"#?\d{1,4}(?:(?: ?, and | and | ?[,;&–-] ?)#?\d{1,4})*"
_PAGES = r"(?: ?[,;:] ?| )(?:pp?\.? ?|pages? )\d{1,5}(?: ?[–-] ?\d{1,5})?"
_INNER = rf" ?\^?(?:(?:sources?|evidence|passages?|documents?|refs?)[.:]? )?({_NUMBERS})(?:†[^\]】\n]*|{_PAGES})? ?"
# Not after a word, an equals sign, a bracket or the parenthesis of a call: there it is part of code.
_MARKER = re.compile(
    rf"(?<![\w=`\[])(?<!= )(?<!\w\()(?:\[\[{_INNER}\]\]|\[{_INNER}\]|[【［]{_INNER}[】］])(?!\()", re.I
)
_RANGE = re.compile(r"(\d+)(?: ?[–-] ?#?(\d+))?")
# The end of the text so far, if it may still become a citation, or turn out to be a link.
_OPEN = re.compile(rf"(?:\[\[?|[【［])[^\[\]【】［］\n]{{0,{MAX_MARKER_CHARS}}}[\]】］]{{0,2}}$")


class Markers:
    """Takes an answer piece by piece and returns it with its citations as [1][2], none of them split. Brackets in which
    no number is `citable` are left as they are."""

    def __init__(self, citable: Collection[int]) -> None:
        self._citable = citable
        self._held = ""
        self._before = ""  # the last two released characters

    def feed(self, piece: str) -> str:
        self._held += piece
        opened = _OPEN.search(self._held)
        return self._release(opened.start() if opened else len(self._held))

    def close(self) -> str:
        return self._release(len(self._held))

    def _release(self, cut: int) -> str:
        before, ready, self._held = self._before, self._held[:cut], self._held[cut:]
        self._before = (before + ready)[-2:]
        return _MARKER.sub(self._normalize, before + ready)[len(before) :]

    def _normalize(self, marker: re.Match[str]) -> str:
        numbers: list[int] = []
        for found in _RANGE.finditer(next(filter(None, marker.groups()))):
            first, last = int(found[1]), int(found[2] or found[1])
            numbers += range(first, min(last, first + MAX_MARKER_SOURCES) + 1)
        known = any(number in self._citable for number in numbers)
        if len(marker[0]) > MAX_MARKER_CHARS or len(numbers) > MAX_MARKER_SOURCES or not known:
            return marker[0]
        return "".join(f"[{number}]" for number in dict.fromkeys(numbers))
