"""Words of which one rules the others out: the winter festival is not the summer festival."""

from __future__ import annotations

import re

_APART = tuple(
    frozenset(line.split())
    for line in (
        "spring summer autumn winter",
        "annual monthly weekly daily",
        "yearly monthly weekly daily",
        "morning afternoon evening night",
        "first second third fourth fifth",
        "adult child student senior",
        "adult children student senior",
        "adult youth student senior",
        "adult junior student senior",
        "single double twin triple",
        "small medium large",
        "red blue green yellow black white",
        "indoor outdoor",
        "undergraduate graduate postgraduate",
        "domestic international",
        "northern southern eastern western",
        "north south east west",
    )
)
RIVAL_WORD = re.compile(rf"\b({'|'.join(sorted(frozenset().union(*_APART)))})\b", re.I)


def rivals(word: str) -> frozenset[str]:
    """The words that a word rules out."""
    return frozenset().union(*(words - {word.lower()} for words in _APART if word.lower() in words))
