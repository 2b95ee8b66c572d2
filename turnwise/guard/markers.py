"""The ways in which models write citations, brought into one on the stream: [1, 2], 【1】, [Source 1] and [1, p. 3]
as [1][2]."""

from __future__ import annotations

import re
from collections.abc import Collection

LONGEST = 40  # characters from bracket to bracket that may be a citation
WIDEST = 10  # sources that one may name

_NUMBERS = r"#?\d{1,4}(?:(?: ?, and | and | ?[,;&–-] ?)#?\d{1,4})*"
_PLACE = r"(?: ?[,;:] ?| )(?:pp?\.? ?|pages? )\d{1,5}(?: ?[–-] ?\d{1,5})?"  # where in the source
_INNER = rf" ?\^?(?:(?:sources?|evidence|passages?|documents?|refs?)[.:]? )?({_NUMBERS})(?:†[^\]】\n]*|{_PLACE})? ?"
# Not after a word, an equals sign, a bracket or the parenthesis of a call: there it is part of a program.
_MARKER = re.compile(
    rf"(?<![\w=`\[])(?<!= )(?<!\w\()(?:\[\[{_INNER}\]\]|\[{_INNER}\]|[【［]{_INNER}[】］])(?!\()", re.I
)
_RANGE = re.compile(r"(\d+)(?: ?[–-] ?#?(\d+))?")
# What has begun at the end of the text and may still become one of these, and what may still turn out to be a link.
_OPEN = re.compile(rf"(?:\[\[?|[【［])[^\[\]【】［］\n]{{0,{LONGEST}}}[\]】］]{{0,2}}$")


class Markers:
    """Takes an answer piece by piece and gives it back with its citations as [1][2], none of them split. Where none of
    the numbers is `citable`, brackets are left as they are."""

    def __init__(self, citable: Collection[int]) -> None:
        self._citable = citable
        self._held = ""
        self._before = ""  # the last two characters that are no longer held

    def feed(self, piece: str) -> str:
        self._held += piece
        opened = _OPEN.search(self._held)
        return self._given(opened.start() if opened else len(self._held))

    def close(self) -> str:
        return self._given(len(self._held))

    def _given(self, cut: int) -> str:
        before, ready, self._held = self._before, self._held[:cut], self._held[cut:]
        self._before = (before + ready)[-2:]
        return _MARKER.sub(self._plain, before + ready)[len(before) :]

    def _plain(self, marker: re.Match[str]) -> str:
        numbers: list[int] = []
        for found in _RANGE.finditer(next(filter(None, marker.groups()))):
            first, last = int(found[1]), int(found[2] or found[1])
            numbers += range(first, min(last, first + WIDEST) + 1)
        known = any(number in self._citable for number in numbers)
        if len(marker[0]) > LONGEST or len(numbers) > WIDEST or not known:
            return marker[0]
        return "".join(f"[{number}]" for number in dict.fromkeys(numbers))
