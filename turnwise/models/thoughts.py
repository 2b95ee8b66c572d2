"""Removes the thoughts that some models write before they answer."""

from __future__ import annotations

import codecs

OPEN, CLOSE = "<think>", "</think>"


class Spoken:
    """Turns the pieces of an answer into readable text: no block of thoughts at the start, no split characters.

    Only the start is searched: later on, "<think>" is a word in an answer about models that think.
    """

    def __init__(self) -> None:
        self.began = False
        self._held = ""
        # A provider may send the two surrogates of an emoji in two pieces; this decoder joins them.
        self._characters = codecs.getincrementaldecoder("utf-16-le")("replace")

    def add(self, piece: str) -> str:
        text = self._characters.decode(piece.encode("utf-16-le", "surrogatepass"))
        if self.began:
            return text
        self._held = _after_thoughts(self._held + text)
        if OPEN.startswith(self._held[: len(OPEN)]):
            return ""
        return self._release()

    def end(self) -> str:
        """The text held back because it could have started a block of thoughts, but did not."""
        return "" if self.began or self._held.startswith(OPEN) else self._release()

    def _release(self) -> str:
        text, self._held = self._held, ""
        self.began = bool(text)
        return text


def _after_thoughts(text: str) -> str:
    """The text without the blocks it starts with. Of a block that is still open, only the end that may become its
    closing tag is kept."""
    text = text.lstrip()
    while text.startswith(OPEN):
        _, closed, rest = text.partition(CLOSE)
        if not closed:
            return OPEN + text[len(OPEN) :][-len(CLOSE) :]
        text = rest.lstrip()
    return text
