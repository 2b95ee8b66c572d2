"""Words that were mistyped, read as what the library has: "graident descent" as "gradient descent".

A word is mended where neither English nor the library has it and the library has one, as it is written, that begins
alike and differs by a single slip: two letters in the wrong order, one left out or doubled, in a long word also one too
many or wrong. What is in quotation marks or looks like code stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from turnwise.text import STOP_WORDS

LONGEST = 300  # characters of a message that is read for slips: what was pasted is left as it is
MOST = 4  # words that are mended in a message; one that is full of strange words is in a language we do not know
# Letters from which a word may have two in the wrong order, lack one, or have another in its place: of short words too
# many are near each other. Below, only slips in function words are mended.
SHORT, MIDDLE, LONG = 5, 6, 7

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Words as they are typed, with no digit, underscore, sign of an address or other letters around them.
_WORD = re.compile(r"(?<![\w@/\\.'’&-])[A-Za-z][a-z]{2,23}(?![\w@/\\'’&(=\[{-]|\.\w)", re.A)
_ENDING = re.compile(r"(?:(?<=..)(?:ie)?s|(?:er|or)s?|i?ed|ing|l?y)$")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“]*“|`[^`]*`|(?<!\w)['‘][^'’]*['’](?!\w)")

Held = Callable[[Sequence[str]], Mapping[str, int]]
Known = Callable[[str], bool]


class Words(NamedTuple):
    """What is asked of one: which of these words stand in it in some form, and in how many passages; and whether a word
    stands there as it is."""

    held: Held
    writes: Known


class Slip(NamedTuple):
    typed: str
    meant: str


def respelled(message: str, library: Words, is_english: Known) -> tuple[str, list[Slip]]:
    """The message with its slips mended, and which they were."""
    if len(message) > LONGEST:
        return message, []
    quoted = [found.span() for found in _QUOTED.finditer(message)]
    strange = {
        found: found[0].lower()
        for found in _WORD.finditer(message)
        if not _is_word(found[0].lower(), is_english) and not any(start <= found.start() < end for start, end in quoted)
    }
    unknown = dict.fromkeys(strange.values())
    known = library.held([*unknown]) if unknown else {}
    if len(unknown) - len(known) > MOST:
        return message, []
    text, slips = message, list[Slip]()
    for found, word in reversed(strange.items()):
        is_name = found[0][0].isupper() and found.start() > 0
        if word in known or (is_name and len(word) < MIDDLE):
            continue
        if meant := _function_word(word) or _meant(word, library, is_english, is_name):
            meant = meant.capitalize() if found[0][0].isupper() else meant
            text = text[: found.start()] + meant + text[found.end() :]
            slips.insert(0, Slip(found[0], meant))
    return text, slips


def _function_word(word: str) -> str:
    slips = [*_swapped(word), *_longer(word), *(_shorter(word) if len(word) >= SHORT else ())]
    return next((each for each in slips if len(each) > 2 and each in STOP_WORDS), "")


def _meant(word: str, library: Words, is_english: Known, is_name: bool) -> str:
    """What was meant by a word that nobody knows; empty where that is nothing in sight. The likelier slips come first;
    a wrong letter in a name makes another name."""
    slips = [*_swapped(word)] if len(word) >= SHORT else []
    slips += [*_longer(word), *_undoubled(word)] if len(word) >= MIDDLE else []
    wrong = [*_shorter(word), *_replaced(word)] if len(word) >= LONG and not is_name else []
    for group in (slips, wrong):
        counts = library.held(list(dict.fromkeys(each for each in group if each[0] == word[0])))
        likely = sorted(counts, key=lambda each: (not is_english(each), -counts[each], each))
        if found := next(filter(library.writes, likely), ""):
            return found
    return ""


def _is_word(word: str, is_english: Known) -> bool:
    """Whether a word is English: by itself, with an ending, or as two that were written as one ("aswell", "login")."""
    if word in STOP_WORDS or is_english(word):
        return True
    if (ending := _ENDING.search(word)) and any(map(is_english, _without(word[: ending.start()]))):
        return True
    parts = ((word[:at], word[at:]) for at in range(2, len(word) - 1))
    return any({one, other} & STOP_WORDS and is_english(one) and is_english(other) for one, other in parts)


def _without(start: str) -> Iterator[str]:
    """What an ending may have been put to: "pointers", "specs", "mitigating", "bummer"."""
    yield from (start, f"{start}e", f"{start}y")
    if len(start) > 2 and start[-1] == start[-2]:
        yield start[:-1]


def _swapped(word: str) -> Iterator[str]:
    return (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1))


def _shorter(word: str) -> Iterator[str]:
    return (word[:at] + word[at + 1 :] for at in range(1, len(word) - 1))


def _undoubled(word: str) -> Iterator[str]:
    return (word[:at] + word[at + 1 :] for at in range(1, len(word)) if word[at] == word[at - 1])


def _longer(word: str) -> Iterator[str]:
    return (word[:at] + letter + word[at:] for at in range(len(word) + 1) for letter in _LETTERS)


def _replaced(word: str) -> Iterator[str]:
    return (word[:at] + letter + word[at + 1 :] for at in range(len(word)) for letter in _LETTERS)
