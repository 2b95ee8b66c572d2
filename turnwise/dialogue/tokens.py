"""Room in a model's window: how many tokens a text is, and what is free.

The estimate needs no vocabulary and holds for those in common use: it is rather a few tokens too many than too few.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from turnwise.text import STOP_WORDS
from turnwise.types import Message

Count = Callable[[str], int]
WINDOW = 8192  # tokens, where nobody says how many a model takes
SMALLEST = 1024  # a smaller window holds no conversation
FRAME = 8  # tokens around each message: its role, its beginning and its end
CUT = " […] "  # where something was left out

# Models cut a text at much the same places: words, the humps of camelCase, digits, marks. A space goes with the word
# after it; before a number it stands alone.
_PIECE = re.compile(
    r"(?P<word>[A-Z]?[a-z]+)|(?P<capitals>[A-Z]+)|(?P<digits> ?[0-9]+)|(?P<space> (?=\S))|(?P<blank>\s+)"
    r"|(?P<marks>[!-/:-@\[-`{-~]+)|(?P<other>.)"
)
# A short word is one token. Each further letter adds to that: little in English, which most vocabularies were made for,
# more in another language, in names and in codes. The share of the commonest words tells how English a text is.
SHORT, LONG = 4, 12  # letters of a word
ENGLISH, STRANGE, BEYOND = 0.18, 0.45, 0.6  # tokens a letter: in English, in anything else, past a long word
COMMON = 0.25  # of the words of an English text are among the commonest
CAPITAL, MARK, MARKS, BLANK = 0.5, 0.6, 0.4, 0.05  # tokens a letter, a mark, a run of marks, a blank
# Tokens a character beyond ASCII is, from this code on: Latin with accents, phonetic, Greek, Cyrillic, Hebrew and
# Arabic, Indic, Thai and others, dashes and quotes, symbols, Chinese and Japanese, Korean, full width, emoji.
_SCRIPTS = (
    *((0x10000, 3.0), (0xFF00, 1.3), (0xAC00, 1.6), (0x2E80, 1.25), (0x2100, 2.2), (0x2000, 1.3), (0x0E00, 2.0)),
    *((0x0900, 1.5), (0x0590, 1.4), (0x0400, 0.9), (0x0370, 1.45), (0x0250, 2.0), (0x0100, 2.0), (0x0080, 1.4)),
)


@lru_cache(maxsize=4096)
def tokens(text: str) -> int:
    """About how many tokens a text is, where the model does not say."""
    pieces = [(piece.lastgroup, piece[0]) for piece in _PIECE.finditer(text)]
    words = [piece for kind, piece in pieces if kind == "word"]
    common = sum(word.lower() in STOP_WORDS for word in words)
    strange = max(0.0, 1 - common / (COMMON * len(words))) if words else 0.0
    letter = ENGLISH + (STRANGE - ENGLISH) * strange
    return math.ceil(sum(_cost(kind, piece, letter) for kind, piece in pieces))


def _cost(kind: str | None, piece: str, letter: float) -> float:
    size = len(piece)
    match kind:
        case "word":
            return 1 + letter * max(0, min(size, LONG) - SHORT) + BEYOND * max(0, size - LONG)
        case "capitals":
            return max(1.0, CAPITAL * size)
        case "digits":
            return size
        case "space":
            return 0
        case "blank":
            return piece.count("\n") + (piece[-1] != "\n") + BLANK * size
        case "marks":
            return MARKS + MARK * size
        case _:
            return next((cost for first, cost in _SCRIPTS if ord(piece) >= first), 1.0)


@dataclass(frozen=True, slots=True)
class Budget:
    """What fits a model: its window, of which room for the answer stays free, and how it counts.

    At most `messages` of what was said before are sent whole.
    """

    window: int = WINDOW
    answer: int = 2000
    messages: int = 20
    count: Count = tokens

    @property
    def room(self) -> int:
        """Tokens that all messages together may take."""
        window = max(self.window, SMALLEST)
        return window - min(self.answer, window // 2)

    def size(self, messages: Iterable[Message]) -> int:
        return sum(self.count(each.content) + FRAME for each in messages)

    def shortened(self, text: str, most: int) -> str:
        """The text, with its middle left out where it is longer than so many tokens."""
        if self.count(text) <= most:
            return text
        fits, too_long = 0, len(text)
        while too_long - fits > 1:
            tried = (fits + too_long) // 2
            if self.count(_without_middle(text, tried)) <= most:
                fits = tried
            else:
                too_long = tried
        return _without_middle(text, fits)


def _without_middle(text: str, left: int) -> str:
    tail = left // 3
    return text[: left - tail].rstrip() + CUT + text[len(text) - tail :].lstrip()
