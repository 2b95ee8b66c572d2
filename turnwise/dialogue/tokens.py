"""Token counts, and the space in a model's context window.

The estimate needs no vocabulary and fits those in common use; it is a few tokens too high rather than too low.
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
WINDOW = 8192  # tokens, if the size of the model's window is not known
MIN_WINDOW = 1024  # tokens; a smaller window has no room for a conversation
FRAME = 8  # tokens around each message: its role, its start and its end
CUT = " […] "  # marks omitted text

# Most vocabularies split a text in the same places: words, camelCase humps, digits, punctuation, whitespace. A space
# belongs to the word after it; before a number it is a token of its own.
_WORD = re.compile(r"[A-Z]?[a-z]+")
_CAPITALS = re.compile(r"[A-Z]+(?![a-z])")
_DIGITS = re.compile(r" ?[0-9]+")
_MARKS = re.compile(r"[!-/:-@\[-`{-~]+")
_BLANKS = re.compile(r"[^\S ]\s*| \s+| $")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
# A short word is one token, and each further letter adds a little in English, for which most vocabularies were made,
# and more in other languages, names and codes. The share of very common words shows how English a text is.
SHORT_LETTERS, LONG_LETTERS = 4, 12
ENGLISH, OTHER, OVERLONG = 0.18, 0.45, 0.6  # tokens per letter: in English, elsewhere, beyond LONG_LETTERS
COMMON_SHARE = 0.25  # of very common words in an English text
CAPITAL, MARK, MARKS, BLANK = 0.5, 0.6, 0.4, 0.05  # tokens per capital, per mark, per run of marks, per blank
# Tokens per non-ASCII character, by the first code point of a range: accented Latin (two rows), phonetic, Greek,
# Cyrillic, Hebrew and Arabic, Indic, Thai and others, dashes and quotes, symbols, Chinese and Japanese, Korean, full
# width, emoji.
_RANGE_STARTS = (0x80, 0x100, 0x250, 0x370, 0x400, 0x590, 0x900, 0xE00, 0x2000, 0x2100, 0x2E80, 0xAC00, 0xFF00, 0x10000)
_RANGE_TOKENS = (1.4, 2.0, 2.0, 1.45, 0.9, 1.4, 1.5, 2.0, 1.3, 2.2, 1.25, 1.6, 1.3, 3.0)


@lru_cache(maxsize=4096)
def tokens(text: str) -> int:
    """Estimates the number of tokens of a text, for models that do not report it."""
    words = _WORD.findall(text)
    common = sum(map(STOP_WORDS.__contains__, map(str.lower, words)))
    letter = OTHER - (OTHER - ENGLISH) * min(1.0, common / (COMMON_SHARE * len(words) or 1))
    marks, blanks = _MARKS.findall(text), _BLANKS.findall(text)
    total: float = sum(count * _word_tokens(size, letter) for size, count in Counter(map(len, words)).items())
    total += sum(max(1.0, CAPITAL * len(run)) for run in _CAPITALS.findall(text))
    total += sum(map(len, _DIGITS.findall(text)))
    total += MARKS * len(marks) + MARK * sum(map(len, marks))
    total += sum(run.count("\n") + (run[-1] != "\n") + BLANK * len(run) for run in blanks)
    total += len(_CONTROLS.findall(text))
    if not text.isascii():
        total += sum(count * _character_tokens(each) for each, count in Counter(text).items() if not each.isascii())
    return math.ceil(total)


def _word_tokens(size: int, letter: float) -> float:
    return 1 + letter * max(0, min(size, LONG_LETTERS) - SHORT_LETTERS) + OVERLONG * max(0, size - LONG_LETTERS)


def _character_tokens(character: str) -> float:
    return _RANGE_TOKENS[bisect_right(_RANGE_STARTS, ord(character)) - 1]


@dataclass(frozen=True, slots=True)
class Budget:
    """What fits a model's window, with room for the answer, and how the model counts tokens.

    At most `messages` earlier messages are sent in full.
    """

    window: int = WINDOW
    answer: int = 2000
    messages: int = 20
    count: Count = tokens

    @property
    def room(self) -> int:
        """Tokens for all messages together."""
        return max(self.window, MIN_WINDOW) - min(self.answer, longest_answer(self.window))

    def size(self, messages: Iterable[Message]) -> int:
        return sum(self.count(each.content) + FRAME for each in messages)

    def shortened(self, text: str, most: int) -> str:
        """Returns the text, without its middle if it has more than `most` tokens, or "" if not even its ends fit."""
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
    """Returns the most tokens an answer may have: half of a window, or a quarter of a small one, to leave room for the
    conversation."""
    return max(window, MIN_WINDOW) // (4 if window < WINDOW else 2)


def _without_middle(text: str, left: int) -> str:
    tail = left // 3
    return text[: left - tail].rstrip() + CUT + text[len(text) - tail :].lstrip()
