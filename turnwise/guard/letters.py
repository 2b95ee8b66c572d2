"""Statistics of which letters follow one another in languages with the Latin alphabet, from the frequent words of
twenty of them. They tell words of any such language from codes, and from words in ROT13."""

from __future__ import annotations

import codecs
import string
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from turnwise.dialogue.language import small_words
from turnwise.guard.vocabulary import WORDS

if TYPE_CHECKING:
    import numpy.typing as npt

    Odds = npt.NDArray[np.float64]

PAIR_PRIOR = 0.5  # initial count of each pair of letters, so that unseen pairs are not impossible

ROT13_TABLE = str.maketrans(string.ascii_letters, codecs.encode(string.ascii_letters, "rot13"))
_STROKED = str.maketrans("ıłøđŁØĐħŧ", "ilodLODht")


@lru_cache(maxsize=4096)
def base_letter(letter: str) -> str:
    """A Latin letter without its accent; any other character unchanged."""
    if letter < "\u00c0" or letter > "\u1eff" or "\u0250" <= letter < "\u1e00":
        return letter
    base = unicodedata.normalize("NFD", letter)[0].translate(_STROKED)
    return base if base.isascii() else letter


def bare(word: str) -> str:
    """A word in lower case, without accents."""
    return word.lower() if word.isascii() else "".join(map(base_letter, word)).lower()


@cache
def known_small_words() -> frozenset[str]:
    """The function words of languages with the Latin alphabet, without accents (disguises lose those) and without
    single consonants."""
    words = {word for word in map(bare, small_words()) if word.isascii() and word.isalpha()}
    return frozenset(word for word in words if len(word) > 1 or word in "aeio")


def fluency(words: str) -> float:
    """Average log-odds that the letters of words follow one another, compared with chance: above 0 for most words,
    below 0 for most codes."""
    letters = _numbers(f" {bare(words)} ")
    return float(_follow_table()[letters[:-1], letters[1:]].mean())


@lru_cache(maxsize=8192)
def follow_odds(before: str, after: str) -> float:
    """Log-odds that one letter comes after another, compared with chance. A space is the end of a word."""
    first, second = _numbers(bare(before))[0], _numbers(bare(after))[0]  # a letter may become two in lower case
    return float(_follow_table()[first, second])


def plain_odds(text: str) -> tuple[float, int]:
    """Log-odds that the words of a text, with spaces around them, are plain rather than ROT13, and the number of letter
    pairs this is based on. Accented letters are not turned, so they do not count."""
    letters = _numbers(text.lower())
    odds = _plain_table()[letters[:-1], letters[1:]]
    return float(odds.sum()), int(np.count_nonzero(odds))


def _numbers(text: str) -> npt.NDArray[np.uint8]:
    """The letters as 1 to 26, other ASCII characters as 0, and characters beyond ASCII as 27."""
    return _NUMBERS[np.frombuffer(text.encode("latin-1", "replace"), np.uint8)]


def _numbering() -> npt.NDArray[np.uint8]:
    numbers = np.zeros(256, np.uint8)
    numbers[97:123] = np.arange(1, 27)
    numbers[128:] = 27
    numbers[ord("?")] = 27  # characters beyond Latin-1 are encoded as this
    return numbers


_NUMBERS = _numbering()


@cache
def _pairs() -> Odds:
    """The log of how often one letter, or the end of a word, comes after another."""
    letters = _numbers(" ".join(["", *map(bare, WORDS), *known_small_words(), ""]))
    counts = np.full((28, 28), PAIR_PRIOR)
    np.add.at(counts, (letters[:-1], letters[1:]), 1)
    pairs: Odds = np.log(counts)
    return pairs


@cache
def _follow_table() -> Odds:
    pairs = _pairs()[:27, :27]
    chances = pairs - np.log(np.exp(pairs).sum(1, keepdims=True)) + np.log(27)
    return np.pad(chances, (0, 1))


@cache
def _plain_table() -> Odds:
    turned = np.array([0, *((np.arange(26) + 13) % 26 + 1), 27])
    odds: Odds = _pairs() - _pairs()[np.ix_(turned, turned)]
    odds[27], odds[:, 27] = 0, 0
    return odds
