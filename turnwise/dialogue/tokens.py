"""Room in a model's window: how many tokens a text is, and what is free.

The estimate needs no vocabulary and holds for those in common use: it is rather a few tokens too many than too few.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
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

# Models cut a text at much the same places: words, the humps of camelCase, digits, marks, blanks. A space goes with the
# word after it; before a number it stands alone.
_WORD = re.compile(r"[A-Z]?[a-z]+")
_CAPITALS = re.compile(r"[A-Z]+(?![a-z])")
_DIGITS = re.compile(r" ?[0-9]+")
_MARKS = re.compile(r"[!-/:-@\[-`{-~]+")
_BLANKS = re.compile(r"[^\S ]\s*| \s+| $")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
# A short word is one token. Each further letter adds to that: little in English, which most vocabularies were made for,
# more in another language, in names and in codes. The share of the commonest words tells how English a text is.
SHORT, LONG = 4, 12  # letters of a word
ENGLISH, STRANGE, BEYOND = 0.18, 0.45, 0.6  # tokens a letter: in English, in anything else, past a long word
COMMON = 0.25  # of the words of an English text are among the commonest
CAPITAL, MARK, MARKS, BLANK = 0.5, 0.6, 0.4, 0.05  # tokens a letter, a mark, a run of marks, a blank
# Tokens a character beyond ASCII is, from this code on: accented Latin (two rows), phonetic, Greek, Cyrillic, Hebrew
# and Arabic, Indic, Thai and others, dashes and quotes, symbols, Chinese and Japanese, Korean, full width, emoji.
_FROM = (0x80, 0x100, 0x250, 0x370, 0x400, 0x590, 0x900, 0xE00, 0x2000, 0x2100, 0x2E80, 0xAC00, 0xFF00, 0x10000)
_TOKENS = (1.4, 2.0, 2.0, 1.45, 0.9, 1.4, 1.5, 2.0, 1.3, 2.2, 1.25, 1.6, 1.3, 3.0)


@lru_cache(maxsize=4096)
def tokens(text: str) -> int:
    """About how many tokens a text is, where the model does not say."""
    words = _WORD.findall(text)
    common = sum(map(STOP_WORDS.__contains__, map(str.lower, words)))
    letter = STRANGE - (STRANGE - ENGLISH) * min(1.0, common / (COMMON * len(words) or 1))
    marks, blanks = _MARKS.findall(text), _BLANKS.findall(text)
    total: float = sum(count * _of_word(size, letter) for size, count in Counter(map(len, words)).items())
    total += sum(max(1.0, CAPITAL * len(run)) for run in _CAPITALS.findall(text))
    total += sum(map(len, _DIGITS.findall(text)))
    total += MARKS * len(marks) + MARK * sum(map(len, marks))
    total += sum(run.count("\n") + (run[-1] != "\n") + BLANK * len(run) for run in blanks)
    total += len(_CONTROLS.findall(text))
    if not text.isascii():
        total += sum(count * _of_character(each) for each, count in Counter(text).items() if not each.isascii())
    return math.ceil(total)


def _of_word(size: int, letter: float) -> float:
    return 1 + letter * max(0, min(size, LONG) - SHORT) + BEYOND * max(0, size - LONG)


def _of_character(character: str) -> float:
    return _TOKENS[bisect_right(_FROM, ord(character)) - 1]


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
        return max(self.window, SMALLEST) - min(self.answer, longest_answer(self.window))

    def size(self, messages: Iterable[Message]) -> int:
        return sum(self.count(each.content) + FRAME for each in messages)

    def shortened(self, text: str, most: int) -> str:
        """The text, its middle left out where it has more tokens than that; empty where not even its ends fit."""
        if self.count(text) <= most:
            return text
        fits, too_long = 0, len(text)
        while too_long - fits > 1:
            tried = (fits + too_long) // 2
            if self.count(_without_middle(text, tried)) <= most:
                fits = tried
            else:
                too_long = tried
        return _without_middle(text, fits) if fits else ""


def longest_answer(window: int) -> int:
    """The tokens of a window that an answer may have: less of a small one, which would hold no conversation else."""
    return max(window, SMALLEST) // (4 if window < WINDOW else 2)


def _without_middle(text: str, left: int) -> str:
    tail = left // 3
    return text[: left - tail].rstrip() + CUT + text[len(text) - tail :].lstrip()
