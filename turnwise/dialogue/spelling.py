"""Words that were mistyped, read as what the library has: "graident descent" as "gradient descent".

A word is mended where neither English nor the library has it and the library has one that differs by a single slip: a
letter left out, doubled or wrong, or two in the wrong order. What is in quotation marks or looks like code stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from turnwise.text import STOP_WORDS

LONGEST = 300  # characters of a message that is read for slips: what was pasted is left as it is
MOST = 4  # words that are mended in a message; one that is full of strange words is in a language we do not know
SHORT = 5  # letters: below, only a slip in a function word is mended, for too many words are near each other
NAME = 6  # letters from which a capitalised word is mended, which may be a name that nobody knows

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Words as they are typed, with no digit, underscore, sign of an address or other letters around them.
_WORD = re.compile(r"(?<![\w@/\\.'’&-])[A-Za-z]{3,24}(?![\w@/\\'’&-]|\.\w)", re.A)
_ENDING = re.compile(r"(?:(?<=..)(?:ie)?s|(?:er|or)s?|i?ed|ing|l?y)$")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“]*“|`[^`]*`|(?<!\w)['‘][^'’]*['’](?!\w)")

# Which of these words stand in the library, and in how many passages.
Held = Callable[[Sequence[str]], Mapping[str, int]]


class Slip(NamedTuple):
    typed: str
    meant: str


def respelled(message: str, held: Held, is_english: Callable[[str], bool]) -> tuple[str, list[Slip]]:
    """The message with its slips mended, and which they were."""
    if len(message) > LONGEST:
        return message, []
    quoted = [found.span() for found in _QUOTED.finditer(message)]
    strange = {
        found: found[0].lower()
        for found in _WORD.finditer(message)
        if not (found[0].isupper() or _is_word(found[0].lower(), is_english))
        and not any(start <= found.start() < end for start, end in quoted)
    }
    unknown = dict.fromkeys(strange.values())
    known = held([*unknown]) if unknown else {}
    if len(unknown) - len(known) > MOST:
        return message, []
    text, slips = message, list[Slip]()
    for found, word in reversed(strange.items()):
        is_name = found[0][0].isupper() and found.start() > 0
        if word in known or (is_name and len(word) < NAME):
            continue
        if meant := _meant(word, held, is_english, is_name):
            meant = meant.capitalize() if found[0][0].isupper() else meant
            text = text[: found.start()] + meant + text[found.end() :]
            slips.insert(0, Slip(found[0], meant))
    return text, slips


def _meant(word: str, held: Held, is_english: Callable[[str], bool], is_name: bool) -> str:
    """What was meant by a word that nobody knows; empty where that is nothing in sight. A wrong letter is the least
    likely slip, not the first of a word, and in a name it makes another name."""
    slips = [*_swapped(word), *_longer(word), *(_shorter(word) if len(word) >= SHORT else ())]
    function = next((each for each in slips if len(each) > 2 and each in STOP_WORDS), "")
    if function or len(word) < SHORT:
        return function
    wrong = [] if is_name else [each for each in _replaced(word) if each[0] == word[0]]
    counts = [held(list(dict.fromkeys(group))) for group in (slips, wrong)]
    english = [{each: count for each, count in group.items() if is_english(each)} for group in counts]
    likeliest = next((group for group in (*english, *counts) if group), {})
    return max(likeliest, key=lambda each: (each[0] == word[0], likeliest[each], each), default="")


def _is_word(word: str, is_english: Callable[[str], bool]) -> bool:
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
    return (word[:at] + word[at + 1 :] for at in range(len(word)))


def _longer(word: str) -> Iterator[str]:
    return (word[:at] + letter + word[at:] for at in range(len(word) + 1) for letter in _LETTERS)


def _replaced(word: str) -> Iterator[str]:
    return (word[:at] + letter + word[at + 1 :] for at in range(len(word)) for letter in _LETTERS)
