"""Removes what some models write before they answer: thoughts, and calls of tools that they were not given."""

from __future__ import annotations

import re

from turnwise.text import WholeCharacters

BLOCKS = ("think", "thinking", "tool_call")
OPEN = {f"<{name}>": f"</{name}>" for name in BLOCKS}
CLOSE = ("</think>", "</thinking>")  # alone, it ends thoughts that the template of the model has begun
START = 200  # characters: later on, "<think>" is a word in an answer about models that think
HELD = 300  # of an answer that begins as thoughts do

# Thoughts that a template has begun are text like any other until they end. They are known by how they begin.
_ALOUD = (
    *("okay, ", "okay so", "ok, ", "ok so", "alright, ", "hmm", "wait, ", "so, ", "so the user", "first, i "),
    *("the user", "i need to", "i should", "let me ", "let's ", "let’s ", "we need to", "we have to"),
)
_SURELY_ALOUD = re.compile(
    r"\b(?:the user|user['’]s|i need to|i should|we need to|let me (?:think|see|check|look|recall|start)|wait,)\b", re.I
)
_ENDS_A_SENTENCE = re.compile(r"(?:[.!?:…]\s*|\n\s*)\Z")
_ACKNOWLEDGES = re.compile(r"(?:ok|okay|sure|alright|well|yes|hm+|right|certainly|of course|got it)\W*", re.I)


class Spoken:
    """Turns the pieces of an answer into readable text: no blocks of thoughts at the start, no split characters.

    Words come out as they go in, but for what may be a tag, and for an answer that begins as thoughts do. With
    `prefilled` the model is known to think without saying so: nothing comes out before its thoughts end. It is set when
    a model turns out to; what it had said by then has been read.
    """

    def __init__(self, prefilled: bool = False) -> None:
        self.began = False
        self.prefilled = prefilled
        self._thought = False  # whether thoughts have ended that nothing had begun
        self._characters = WholeCharacters()
        self._said = ""  # the start of it
        self._held = ""  # words that may be thoughts
        self._tag = ""  # what may become a tag
        self._closing = ""  # the tag that ends the block we are in
        self._line_ended = True

    def add(self, piece: str) -> str:
        return self._read(self._characters.add(piece))

    def end(self, cut: bool = False) -> str:
        """The text held back because it could have been thoughts, but was not. An answer that was `cut` while a model
        that is known to think had not ended its thoughts has no text."""
        rest = self._read(self._characters.end())
        if self._closing or (self.prefilled and not self._thought and cut):
            return rest
        self.prefilled = self._thought
        left, self._held, self._tag = self._held + self._tag, "", ""
        self.began = self.began or bool(left.strip())
        return rest + left

    def _read(self, text: str) -> str:
        """Character by character, so that it does not matter how the text was cut into pieces."""
        if len(self._said) >= START and not (self._tag or self._closing or "<" in text):
            self._line_ended = _ends_line(text, self._line_ended)
            return text
        return "".join(map(self._step, text))

    def _step(self, character: str) -> str:
        if self._closing:
            self._tag = (self._tag + character)[-len(self._closing) :]
            if self._tag.lower() == self._closing:
                self._tag = self._closing = ""
            return ""
        if not self._tag and character != "<":
            return self._say(character)
        before, self._tag = (self._tag, "<") if character == "<" else ("", self._tag + character)
        tag = self._tag.lower()
        if tag in OPEN and self._may_open():
            self._tag, self._closing = "", OPEN[tag]
        elif tag in CLOSE and not self.began:
            self._tag = self._held = ""
            self.prefilled = self._thought = True
        elif tag in CLOSE and self._line_ended:
            self._tag, self.prefilled, self._thought = "", True, True
        elif not any(each.startswith(tag) for each in (*OPEN, *CLOSE)) or tag in (*OPEN, *CLOSE):
            before, self._tag = before + self._tag, ""
        return self._say(before) if before else ""

    def _may_open(self) -> bool:
        """Whether a tag that opens a block is one here, and no word of an answer."""
        before = self._said + self._held
        if len(before) >= START:
            return False
        return not before.strip() or bool(_ENDS_A_SENTENCE.search(before) or _ACKNOWLEDGES.fullmatch(before))

    def _say(self, text: str) -> str:
        if not self.began:
            self._held = (self._held + text).lstrip()
            if not self._held or (not self._thought and (self.prefilled or _may_be_thoughts(self._held))):
                return ""
            text, self._held, self.began = self._held, "", True
        self._said += text[: START - len(self._said)] if len(self._said) < START else ""
        self._line_ended = _ends_line(text, self._line_ended)
        return text


def _may_be_thoughts(text: str) -> bool:
    start = text.lower()
    if any(each.startswith(start) for each in _ALOUD):
        return True
    return start.startswith(_ALOUD) and (len(text) < HELD or bool(_SURELY_ALOUD.search(text[:HELD])))


def _ends_line(text: str, before: bool) -> bool:
    """Whether nothing but blanks stands on the line in which a text ends; `before`: where it began."""
    _, ended, last = text.rpartition("\n")
    return not last.strip() and (bool(ended) or before)
