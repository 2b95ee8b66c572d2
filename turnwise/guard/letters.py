"""How letters follow one another in languages of Latin letters, by the frequent words of twenty of them: it tells words
of any such language from codes, and from words that are turned by 13 letters."""

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

UNSEEN = 0.5  # times that a pair of letters is taken to be seen beforehand

BY_13 = str.maketrans(string.ascii_letters, codecs.encode(string.ascii_letters, "rot13"))
_STROKED = str.maketrans("ıłøđŁØĐħŧ", "ilodLODht")


@lru_cache(maxsize=4096)
def base_letter(letter: str) -> str:
    """A Latin letter without its accent; any other sign as it is."""
    if letter < "\u00c0" or letter > "\u1eff" or "\u0250" <= letter < "\u1e00":
        return letter
    base = unicodedata.normalize("NFD", letter)[0].translate(_STROKED)
    return base if base.isascii() else letter


def bare(word: str) -> str:
    """A word in small letters, without accents."""
    return word.lower() if word.isascii() else "".join(map(base_letter, word)).lower()


@cache
def known_small_words() -> frozenset[str]:
    """The small words of languages of Latin letters, without accents, which disguises lose; no single consonants."""
    words = {word for word in map(bare, small_words()) if word.isascii() and word.isalpha()}
    return frozenset(word for word in words if len(word) > 1 or word in "aeio")


def fluency(words: str) -> float:
    """How much likelier than by chance the letters of words follow one another, on the average: log-odds, above 0 for
    most words and below for most codes."""
    letters = _numbers(f" {bare(words)} ")
    return float(_following()[letters[:-1], letters[1:]].mean())


@lru_cache(maxsize=8192)
def following(before: str, after: str) -> float:
    """How much likelier than by chance one letter comes after another, a blank being the end of a word: log-odds."""
    first, second = _numbers(bare(before))[0], _numbers(bare(after))[0]  # a letter may be two in small ones
    return float(_following()[first, second])


def turned_odds(text: str) -> tuple[float, int]:
    """The log-odds that the words of a text, with blanks around them, stand as they are rather than turned by 13
    letters, and how many pairs of letters tell it. A letter with an accent is not turned, and tells nothing."""
    letters = _numbers(text.lower())
    odds = _unturned()[letters[:-1], letters[1:]]
    return float(odds.sum()), int(np.count_nonzero(odds))


def _numbers(text: str) -> npt.NDArray[np.uint8]:
    """The letters as 1 to 26, what is no letter as 0, and signs beyond ASCII as 27."""
    return _NUMBERS[np.frombuffer(text.encode("latin-1", "replace"), np.uint8)]


def _numbering() -> npt.NDArray[np.uint8]:
    numbers = np.zeros(256, np.uint8)
    numbers[97:123] = np.arange(1, 27)
    numbers[128:] = 27
    numbers[ord("?")] = 27  # what any other sign is encoded as
    return numbers


_NUMBERS = _numbering()


@cache
def _pairs() -> Odds:
    """The log of how often one letter, or the end of a word, comes after another."""
    letters = _numbers(" ".join(["", *map(bare, WORDS), *known_small_words(), ""]))
    counts = np.full((28, 28), UNSEEN)
    np.add.at(counts, (letters[:-1], letters[1:]), 1)
    pairs: Odds = np.log(counts)
    return pairs


@cache
def _following() -> Odds:
    pairs = _pairs()[:27, :27]
    chances = pairs - np.log(np.exp(pairs).sum(1, keepdims=True)) + np.log(27)
    return np.pad(chances, (0, 1))


@cache
def _unturned() -> Odds:
    turned = np.array([0, *((np.arange(26) + 13) % 26 + 1), 27])
    odds: Odds = _pairs() - _pairs()[np.ix_(turned, turned)]
    odds[27], odds[:, 27] = 0, 0
    return odds
