"""Questions and sentences in the language of the full-text table, where any text is safe."""

from __future__ import annotations

import re
from collections.abc import Callable

from turnwise.text import content_words, stem, words
from turnwise.types import SearchQuery

MOST_WORDS = 64  # of a question; a pasted page would make the search slow and no better

_UNENCODABLE = re.compile("[\x00\ud800-\udfff]")


def weighted_matches(query: SearchQuery) -> list[tuple[float, str]]:
    """The words to look for as (weight, MATCH expression), a pair a weight. A word counts once, at its best weight."""
    weights = _weights(query, content_words) or _weights(query, words)
    expressions: dict[float, list[str]] = {}
    for word, weight in weights.values():
        expressions.setdefault(weight, []).append(f'"{word}"')
    return [(weight, " OR ".join(quoted)) for weight, quoted in expressions.items()]


def phrase_match(sentence: str, length: int = 12) -> str:
    """A MATCH expression for texts with the sentence's first words in a row."""
    opening = " ".join(_UNENCODABLE.sub(" ", sentence).split()[:length]).replace('"', '""')
    return f'text : "{opening}"'


def all_words_match(sentence: str) -> str:
    """A MATCH expression for texts that hold every word of the sentence, in any order."""
    return (
        " AND ".join(f'text : "{word}"' for word in words(_UNENCODABLE.sub(" ", sentence))[:MOST_WORDS]) or 'text : ""'
    )


def _weights(query: SearchQuery, divide: Callable[[str], list[str]]) -> dict[str, tuple[str, float]]:
    """By stem: the word and its weight."""
    weights = {stem(word): (word, 1.0) for word in divide(query.literal)}
    for term in sorted(query.added, key=lambda term: -term.weight):
        for word in divide(term.text) if term.weight > 0 else ():
            weights.setdefault(stem(word), (word, min(term.weight, 1.0)))
    return dict(list(weights.items())[:MOST_WORDS])
