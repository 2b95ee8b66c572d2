"""The words of texts and questions as every index stores them, so that all of them rank alike."""

from __future__ import annotations

import re
from collections.abc import Callable

from turnwise.text import content_words, folded, stems, words
from turnwise.types import Reference, SearchQuery

MOST_WORDS = 64  # of a question; a pasted page would make the search slow, and no better

_WORD = re.compile(r"[^\W_]+")
# Scripts without spaces between words; their pairs of characters stand for words.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)


def indexed_words(text: str) -> list[str]:
    """The words of a text in order: without case and accents, stemmed; in unspaced scripts every two characters."""
    return stems([piece for word in _WORD.findall(folded(text)) for piece in _pieces(word)])


def searched_text(title: str, heading: str, text: str, reference: Reference | None) -> str:
    """What a passage is found by: its text, its title and heading, and its authors and year."""
    return "\n".join((title, heading, *cited(reference), text))


def cited(reference: Reference | None) -> tuple[str, ...]:
    """The parts of a reference that its passages are found by."""
    return (*reference.authors, str(reference.year or "")) if reference else ()


def embedded_text(title: str, heading: str, text: str) -> str:
    """What the vector of a passage is made from."""
    place = " — ".join(part for part in (title, heading) if part)
    return f"{place}\n{text}" if place else text


def holds(search: str, title: str, source: str) -> bool:
    """Whether the title and source of a document together contain every word, possibly inside a longer one."""
    name = folded(f"{title}\n{source}")
    return all(word in name for word in folded(search).split())


def weighted_words(query: SearchQuery) -> dict[str, float]:
    """The words to search for with their weights: 1 for those of the question, less for those added to it."""
    return _word_weights(query, content_words) or _word_weights(query, words)


def _word_weights(query: SearchQuery, divide: Callable[[str], list[str]]) -> dict[str, float]:
    weights = {word: 1.0 for said in divide(query.literal) for word in indexed_words(said)}
    for term in sorted(query.added, key=lambda term: -term.weight):
        for word in (word for said in divide(term.text) for word in indexed_words(said)) if term.weight > 0 else ():
            weights.setdefault(word, min(term.weight, 1.0))
    return dict(list(weights.items())[:MOST_WORDS])


def _pieces(word: str) -> list[str]:
    if word.isascii() or not (runs := _UNSPACED.findall(word)):
        return [word]
    pairs = [run[i : i + 2] for run in runs for i in range(max(1, len(run) - 1))]
    return pairs + [rest for rest in _UNSPACED.split(word) if rest]
