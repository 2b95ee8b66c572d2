"""English number words, months and weekdays, in lower case and in order; and whether a message is English at all."""

import re
from functools import lru_cache

NUMBER_WORDS = tuple("one two three four five six seven eight nine ten eleven twelve".split())  # the first is 1
MONTHS = tuple("january february march april may june july august september october november december".split())
WEEKDAYS = tuple("monday tuesday wednesday thursday friday saturday sunday".split())
NUMBER_WORD = "|".join(NUMBER_WORDS)

# Words for people, as alternatives of a pattern.
MEN = "son|husband|father|dad|brother|boy|boyfriend|grandfather|grandson|uncle|nephew"
WOMEN = "daughter|wife|mother|mum|mom|sister|girl|girlfriend|grandmother|granddaughter|aunt|niece"
OTHERS = "kid|child|baby|partner|friend|boss|colleague|neighbou?r|teacher|tutor|student|pupil|doctor|manager|head"

FEW_WORDS_CHARS = 40  # up to this length a message says little by itself, above all if it is not English
_CACHED_TEXTS = 64  # several rails check the same text
_WORD = re.compile(r"[^\W\d_]+")
_FUNCTION_WORDS = frozenset(
    "the a an of to in on at for from with by and or but if is are was were be been do does did have has had can could"
    " will would should may might must not no i you he she it we they me my your his her its our their this that"
    " these those what which who how when where why there here as so than then please about into out up all any"
    " some".split()
)


def number_of(word: str) -> int:
    """The number that digits or one of the number words stand for."""
    return int(word) if word.isdigit() else NUMBER_WORDS.index(word.lower()) + 1


@lru_cache(_CACHED_TEXTS)
def is_foreign(text: str) -> bool:
    """Whether a message is clearly not English: in another script, or of some length without English function words."""
    text = text[:2000]
    if not text.isascii():
        letters = [letter for letter in text if letter.isalpha()]
        if sum(not letter.isascii() for letter in letters) > 0.1 * len(letters):
            return True
    words = _WORD.findall(text.lower())
    return len(words) > 5 and sum(map(_FUNCTION_WORDS.__contains__, words)) < 0.15 * len(words)
