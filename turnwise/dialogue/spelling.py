"""Corrects typos with the words of the library: "graident descent" becomes "gradient descent".

A word is corrected if neither English nor the library has it, and the library has one with the same first letter that
differs by a single slip: two letters swapped, one missing or doubled, or in a long word also one extra or wrong. A
missing apostrophe is added to "whats", "wont" and the like. Quoted text and code are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from turnwise.text import STOP_WORDS, words

MAX_MESSAGE_CHARS = 300  # longer messages are probably pasted text
MAX_UNKNOWN_WORDS = 4  # a message with more is probably in a language we do not know
# Short words are too similar to each other, so each kind of slip needs a minimum length. Shorter words are only
# corrected to function words.
MIN_SWAPPED_LETTERS, MIN_MISSING_LETTERS, MIN_WRONG_LETTERS = 5, 6, 7

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Words without digits, underscores, marks of an address or other letters around them.
_WORD = re.compile(r"(?<![\w@/\\.'’&-])[A-Za-z][a-z]{2,23}(?![\w@/\\'’&(=\[{-]|\.\w)", re.A)
_ENDING = re.compile(r"(?:(?<=..)(?:ie)?s|(?:er|or)s?|i?ed|ing|l?y)$")
# "wat is", "wen are": rare English words that are mistyped question words here. "Wen" is a name.
_OPENING = re.compile(
    r"\W*((?i:wat)|wen)(?= (?i:is|are|was|were|do|does|did|can|could|will|would|should|must|has|have)\b)"
)
_ITS_CLAUSE = "|".join(rf"(?<=\b{word} )" for word in ("if", "when", "while", "once", "because", "that", "says"))
_NO_APOSTROPHE = re.compile(  # "whats the fee", but not "the whys and hows of it"; "its a loaf", "if its taken away"
    r"(?<!\bthe )(?<![\w@/\\.'’&-])(?:what|who|where|when|how|why)s(?= (?!(?:and|or|of)\b)\S)"
    r"|(?<![\w@/\\.'’&-])(?:(?-i:[Hh]e|[Ss]he)s(?= [a-z])"
    r"|its(?= (?:an?|the|my|our|your|not|too|just|been|gone|broken|stuck|raining|snowing|being)\b)"
    rf"|(?:{_ITS_CLAUSE})its(?= [a-z]+(?: (?:away|off|on|up|out|down|by|in|at|to|before|after|during)\b|\W*$))"
    r"|(?:(?:do|does|did|is|are|was|were|has|have|had|could|would|should)n|(?<!\bthe )(?<!\ba )can"
    r"|(?<!\b(?:his|her|its|our) )(?<!\b(?:my|is) )(?<!\btheir )won)t\b(?! to\b))",
    re.I,
)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“]*“|`[^`]*`|(?<!\w)['‘][^'’]*['’](?!\w)")

IsWord = Callable[[str], bool]


class LibraryWords(NamedTuple):
    """Lookups in the words of a library."""

    held: Callable[[Sequence[str]], Mapping[str, int]]  # words found in any form, with their number of passages
    writes: IsWord  # whether a word occurs in exactly this form


class Slip(NamedTuple):
    typed: str
    meant: str


def correct_spelling(message: str, library: LibraryWords, is_english: IsWord) -> tuple[str, list[Slip]]:
    """Returns the message with its typos corrected, and the typos."""
    if len(message) > MAX_MESSAGE_CHARS:
        return message, []
    message, contractions = _with_apostrophes(message)
    quoted = [found.span() for found in _QUOTED.finditer(message)]
    opening = _OPENING.match(message)
    strange = {
        found: found[0].lower()
        for found in _WORD.finditer(message)
        if ((opening and found.start() == opening.start(1)) or not _is_word(found[0].lower(), is_english))
        and not any(start <= found.start() < end for start, end in quoted)
    }
    unknown = dict.fromkeys(strange.values())
    known = library.held([*unknown]) if unknown else {}
    if len(unknown) - len(known) > MAX_UNKNOWN_WORDS:
        return message, contractions
    text, slips = message, list[Slip]()
    for found, word in reversed(strange.items()):
        is_name = found[0][0].isupper() and found.start() > 0
        if word in known or (is_name and len(word) < MIN_MISSING_LETTERS):
            continue
        if meant := _function_word(word) or _library_word(word, library, is_english, is_name):
            meant = meant.capitalize() if found[0][0].isupper() else meant
            text = text[: found.start()] + meant + text[found.end() :]
            slips.insert(0, Slip(found[0], meant))
    return text, [*contractions, *slips]


def _with_apostrophes(message: str) -> tuple[str, list[Slip]]:
    """Returns the message with "what's" for "whats" and the like, and these contractions."""
    quoted = [found.span() for found in _QUOTED.finditer(message)]
    slips: list[Slip] = []
    for found in reversed([*_NO_APOSTROPHE.finditer(message)]):
        if not any(start <= found.start() < end for start, end in quoted):
            slips.insert(0, Slip(found[0], f"{found[0][:-1]}'{found[0][-1]}"))
            message = message[: found.start()] + slips[0].meant + message[found.end() :]
    return message, slips


def only_english(message: str, slips: Sequence[Slip], is_english: IsWord) -> bool:
    """Whether a corrected message has only English words and what its typos were meant to be."""
    meant = {slip.meant.lower() for slip in slips}
    return all(word in meant or _is_word(word, is_english) for word in map(str.lower, words(message)))


def _function_word(word: str) -> str:
    slips = [*_swapped(word), *_longer(word), *(_shorter(word) if len(word) >= MIN_SWAPPED_LETTERS else ())]
    return next((each for each in slips if len(each) > 2 and each in STOP_WORDS), "")


def _library_word(word: str, library: LibraryWords, is_english: IsWord, is_name: bool) -> str:
    """Returns the library's word that an unknown one was meant to be, or "". Likelier slips are tried first. Names are
    not corrected for a wrong letter, which makes another name."""
    slips = [*_swapped(word)] if len(word) >= MIN_SWAPPED_LETTERS else []
    slips += [*_longer(word), *_undoubled(word)] if len(word) >= MIN_MISSING_LETTERS else []
    wrong = [*_shorter(word), *_replaced(word)] if len(word) >= MIN_WRONG_LETTERS and not is_name else []
    for group in (slips, wrong):
        counts = library.held(list(dict.fromkeys(each for each in group if each[0] == word[0])))
        likely = sorted(counts, key=lambda each: (not is_english(each), -counts[each], each))
        if found := next(filter(library.writes, likely), ""):
            return found
    return ""


def _is_word(word: str, is_english: IsWord) -> bool:
    """Whether a word is English: by itself, with an ending, or as two words written as one ("aswell", "login")."""
    if word in STOP_WORDS or is_english(word):
        return True
    if (ending := _ENDING.search(word)) and any(map(is_english, _base_forms(word[: ending.start()]))):
        return True
    parts = ((word[:at], word[at:]) for at in range(2, len(word) - 1))
    return any({one, other} & STOP_WORDS and is_english(one) and is_english(other) for one, other in parts)


def _base_forms(start: str) -> Iterator[str]:
    """Yields the words an ending may have been added to: "pointers", "specs", "mitigating", "bummer"."""
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
