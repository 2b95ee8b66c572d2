"""English words: the roughly twenty thousand that are single tokens in the pinned tokenizer."""

from __future__ import annotations

import json
from functools import lru_cache

from turnwise.models.weights import pinned_weights


def is_english(word: str) -> bool:
    """Whether this is a common English word, name or abbreviation, in lower case."""
    return word in _words()


@lru_cache(maxsize=1)
def _words() -> frozenset[str]:
    vocabulary = json.loads(pinned_weights().tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    return frozenset(word for word in vocabulary if word.isalpha())
