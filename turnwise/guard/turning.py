"""Whether a text is turned by 13 letters, or backwards. English is known by its words, other languages by how their
letters follow one another, and by where their capitals and signs stand."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable

from turnwise.guard.letters import BY_13, turned_odds
from turnwise.guard.vocabulary import BACKWARDS, TURNED, WORDS, Tokens

LEAST_PAIRS = -12.0  # log-odds of all pairs of letters together, and of one of them, up to which a text is turned
LEAST_PAIR = -0.3
LEAST_AMONG_OTHERS = -3.0  # the same of all pairs where Latin words are few, among those of another script
LONG_WORD = 6  # letters of a word that is no other one by chance
ALONE = 3  # words from which one sign that stands the wrong way tells, where none stands the right way

_ENDS = ",:;?!)]}…。、।؟،"  # what stands after a word
_ENDS_OR_DOT = f".{_ENDS}"  # a dot stands before names of files as well
_BEGINS = "([{¿¡"


def gives_words_turned(words: set[str]) -> bool:
    """Whether these words, in small letters, are known ones once they are turned by 13 letters."""
    known, unread = _known(words)
    return _plainly(words & TURNED) or _gives(known, " ".join(unread).translate(BY_13).split())


def gives_words_backwards(words: set[str]) -> bool:
    known, unread = _known(words)
    return _plainly(words & BACKWARDS) or _gives(known, [word[::-1] for word in unread])


def looks_turned(tokens: Tokens, words: set[str]) -> bool:
    """Whether one of these words is a known one once it is turned by 13 letters, or the letters of them all rather
    follow one another as in a language that was turned so."""
    if any(len(word) >= LONG_WORD for word in words & TURNED):
        return True
    odds, pairs = turned_odds(f" {' '.join(words - WORDS)} ")
    least = LEAST_AMONG_OTHERS if tokens.in_other_script() else LEAST_PAIRS
    return odds < min(least, LEAST_PAIR * pairs)


def looks_backwards(text: str, tokens: Collection[str], words: set[str]) -> bool:
    """Whether what ends a word or a sentence stands before it, capitals are last, and vowel signs come first, in a text
    of these tokens and words that is no English."""
    if len(words) < 2 * len(words & WORDS):
        return False
    start = text.lstrip()[:3]
    wrong = int(start[:1] in _ENDS_OR_DOT and start[1:].isalpha())
    right = 0
    for token in tokens:
        word = token.strip(_ENDS_OR_DOT + _BEGINS)
        if len(word) < 2:
            continue
        wrong += (token[0] in _ENDS and token[1].isalpha()) + (token[-1] in _BEGINS)
        right += (token[-1] in _ENDS_OR_DOT) + (token[0] in _BEGINS)
        wrong += word[-1].isupper() and word[-2].islower()
        right += word[0].isupper() and word[1].islower()
        wrong += 2 * (unicodedata.category(word[0]) in ("Mn", "Mc"))
    return wrong > 2 * right + (len(tokens) < ALONE)


def _known(words: set[str]) -> tuple[int, set[str]]:
    """How many of the words are known, and the others where the text is no English as it stands."""
    known = words & WORDS
    return len(known), words - known if len(words) > 2 * len(known) else set()


def _gives(known: int, turned: Iterable[str]) -> bool:
    """Whether more than twice as many words are known once they are turned."""
    return sum(len(word) > 2 for word in WORDS.intersection(turned)) > 2 * known + 1


def _plainly(known: set[str]) -> bool:
    return len(known) > 1 and sum(map(len, known)) > 9
