"""Drops opening sentences of some models that are not an answer: "Okay, I understand. I'm ready to begin."."""

from __future__ import annotations

import re

MAX_SENTENCE_CHARS = 160

# Words that lead into such a sentence, and how it goes on. An answer may start with "Okay" or "I'm ready" too.
_LEADS = (
    *("okay", "ok", "alright", "all right", "sure", "certainly", "of course", "great", "absolutely", "thanks"),
    *("thank you", "understood", "got it", "noted", "yes", "hello", "hi"),
)
_CORES = (
    *("i understand", "i understood", "i have understood", "i've understood", "i have read", "i've read", "ready"),
    *(
        "i'm ready",
        "i am ready",
        "i'm here to",
        "i am here to",
        "how can i",
        "how may i",
        "i'm happy to",
        "i am happy to",
    ),
)
_LEAD = rf"(?:(?:{'|'.join(_LEADS)})\b[,.!—–-]*\s*)"
_GIVEN = (
    r"(?:(?:the|your|these|those|this|my|all)\s+){1,3}(?:\w+\s+)?(?:instructions?|tasks?|requests?|rules?|role|context|"
    r"guidelines?|requirements?|documents?|evidence|passages?|sources?)"
)
_READY = (
    r"ready\s+(?:to\s+(?:begin|start|help|assist|answer|go|proceed|continue)\b|for\s+(?:your|the)\b|when(?:ever)?\b"
    r"|and\b)[^.!?…:;\[\]\n]*|ready"
)
_UNDERSTOOD = (
    rf"(?:understand|(?:have |['’]ve )?(?:understood|read))(?:\s+{_GIVEN})?"
    r"(?:(?:,|\s+and|,\s+and)\s+I[^.!?…:;\[\]\n]*)?"
)
_OFFER = r"(?:I(?:['’]m| am) (?:here|happy) to (?:help|assist)|how (?:can|may) I (?:help|assist))\b[^.!?…:;\[\]\n]*"
_SAID = rf"(?:(?:I(?:['’]m| am) )?(?:{_READY})|I ?{_UNDERSTOOD}|{_OFFER})"
_ALONE = r"(?:okay|ok|alright|all right|understood|got it|noted)"
_END = r"(?:[.!?…]+|(?=\n))"
_SENTENCE = re.compile(rf"(?:{_LEAD}{{0,3}}{_SAID}|{_ALONE}){_END}(?=\s)\s*", re.I)
_ALL = re.compile(rf"(?:{_LEAD}{{0,3}}{_SAID}|{_ALONE})[.!?…]*\s*$", re.I)
_LED = re.compile(rf"{_LEAD}{{0,3}}", re.I)


class Opening:
    """Filters a streamed answer: drops sentences at its start that only say that the model has understood or is ready.
    Text that cannot become such a sentence is not held back."""

    def __init__(self) -> None:
        self._held = ""
        self._done = False
        self.dropped = False

    def feed(self, piece: str) -> str:
        if self._done:
            return piece
        self._held = (self._held + piece).lstrip()
        while found := _SENTENCE.match(self._held):
            self._held, self.dropped = self._held[found.end() :], True
        return "" if _undecided(self._held) else self._release()

    def close(self) -> str:
        if not self._done and (found := _ALL.match(self._held)):
            self._held, self.dropped = self._held[found.end() :], True
        return self._release()

    def _release(self) -> str:
        self._done = True
        text, self._held = self._held, ""
        return text


def _undecided(text: str) -> bool:
    """Whether the text may still become such a sentence: it starts like one and has not ended."""
    if len(text) > MAX_SENTENCE_CHARS:
        return False
    if _ALL.match(text):
        return True
    led = _LED.match(text)
    rest = " ".join(text[led.end() if led else 0 :].lower().replace("’", "'").split())
    if any(each.startswith(rest) for each in (*_LEADS, *_CORES)):
        return True
    return any(rest.startswith(each) for each in _CORES) and not re.search(r"[.!?…][^.!?…]|[:;\[\n].", rest)
