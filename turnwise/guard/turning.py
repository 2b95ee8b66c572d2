"""Whether a text is in ROT13, or written backwards. English is recognised by its words, other languages by which
letters follow one another, and by where capitals and punctuation are."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable

from turnwise.guard.letters import ROT13_TABLE, plain_odds
from turnwise.guard.vocabulary import REVERSED_WORDS, ROT13_WORDS, WORDS, Tokens

# A text is ROT13 if its log-odds of being plain are below both: of all letter pairs together, and of a pair on average.
MAX_TOTAL_LOG_ODDS = -12.0
MAX_PAIR_LOG_ODDS = -0.3
MAX_TOTAL_LOG_ODDS_MIXED = -3.0  # if there are few Latin words among those of another script
MIN_CERTAIN_LETTERS = 6  # a word this long does not become another known word by chance
MIN_TOKENS = 3  # from this many on, one mark on the wrong side is enough if there is none on the right side

_CLOSING = ",:;?!)]}…。、।؟،"  # marks after a word
_CLOSING_OR_DOT = f".{_CLOSING}"  # a dot also starts the names of some files
_OPENING = "([{¿¡"


def gives_words_in_rot13(words: set[str]) -> bool:
    """Whether these lower-case words are known words in ROT13."""
    known, unknown = _split_known(words)
    return _are_certain(words & ROT13_WORDS) or _gives_more(known, " ".join(unknown).translate(ROT13_TABLE).split())


def gives_words_backwards(words: set[str]) -> bool:
    """Whether these lower-case words are known words backwards."""
    known, unknown = _split_known(words)
    return _are_certain(words & REVERSED_WORDS) or _gives_more(known, [word[::-1] for word in unknown])


def looks_like_rot13(tokens: Tokens, words: set[str]) -> bool:
    """Whether one of these words is a long known word in ROT13, or the letters follow one another as in a language in
    ROT13."""
    if any(len(word) >= MIN_CERTAIN_LETTERS for word in words & ROT13_WORDS):
        return True
    odds, pairs = plain_odds(f" {' '.join(words - WORDS)} ")
    limit = MAX_TOTAL_LOG_ODDS_MIXED if tokens.in_other_script() else MAX_TOTAL_LOG_ODDS
    return odds < min(limit, MAX_PAIR_LOG_ODDS * pairs)


def looks_backwards(text: str, tokens: Collection[str], words: set[str]) -> bool:
    """Whether closing punctuation comes before words, capitals come last and vowel signs first, in a text with these
    tokens and words that is not English."""
    if len(words) < 2 * len(words & WORDS):
        return False
    start = text.lstrip()[:3]
    wrong = int(start[:1] in _CLOSING_OR_DOT and start[1:].isalpha())
    right = 0
    for token in tokens:
        if token.isalpha() and token.islower():  # no punctuation, capitals or vowel signs
            continue
        word = token.strip(_CLOSING_OR_DOT + _OPENING)
        if len(word) < 2:
            continue
        wrong += (token[0] in _CLOSING and token[1].isalpha()) + (token[-1] in _OPENING)
        right += (token[-1] in _CLOSING_OR_DOT) + (token[0] in _OPENING)
        wrong += word[-1].isupper() and word[-2].islower()
        right += word[0].isupper() and word[1].islower()
        wrong += 2 * (unicodedata.category(word[0]) in ("Mn", "Mc"))
    return wrong > 2 * right + (len(tokens) < MIN_TOKENS)


def _split_known(words: set[str]) -> tuple[int, set[str]]:
    """The number of known words, and the unknown ones, or none of them if the text is already English."""
    known = words & WORDS
    return len(known), words - known if len(words) > 2 * len(known) else set()


def _gives_more(known: int, turned: Iterable[str]) -> bool:
    """Whether more than twice as many words are known after turning them."""
    return sum(len(word) > 2 for word in WORDS.intersection(turned)) > 2 * known + 1


def _are_certain(known: set[str]) -> bool:
    return len(known) > 1 and sum(map(len, known)) > 9
