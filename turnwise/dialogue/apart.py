"""Words that exclude each other: the winter festival is not the summer festival."""

from __future__ import annotations

import re

_RIVAL_GROUPS = tuple(
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
        "single several",
        "single multiple",
        "small medium large",
        "red blue green yellow orange purple brown grey black white",
        "indoor outdoor",
        "early late",
        "undergraduate graduate postgraduate",
        "domestic international",
        "northern southern eastern western",
        "north south east west",
    )
)
RIVAL_WORD = re.compile(rf"\b({'|'.join(sorted(frozenset().union(*_RIVAL_GROUPS)))})\b", re.I)


def rivals(word: str) -> frozenset[str]:
    """Returns the words that a word excludes."""
    return frozenset().union(*(words - {word.lower()} for words in _RIVAL_GROUPS if word.lower() in words))
