"""Words and phrases that the questions about tables share."""

from __future__ import annotations

import re

from turnwise.extractive.statements import stems_of
from turnwise.text import stem

# Words that ask for rows but do not say which.
FORM_STEMS = frozenset(
    map(
        stem,
        """list show give print name see tell need buy sell sold stock serve offer available choose order come kind type
        sort different various every full complete whole entire menu table currently contain include option
        choice total altogether together""".split(),
    )
)
# Words for any row, whatever the table is about.
ANY_ROW_STEMS = frozenset(map(stem, "thing item product anything something".split()))
LAST_SIGNS = re.compile(r"\W+\Z")  # of a question
# Groups of people, each with the words that documents and questions use for it.
PEOPLE = {
    group: re.compile(rf"\b(?:{pattern})\b", re.I)
    for group, pattern in (
        ("child", r"kids?|child(?:ren)?|juniors?|youths?|infants?|toddlers?|under[- ]?1?\ds?"),
        ("student", r"students?|pupils?"),
        ("senior", r"seniors?|pensioners?|oaps?|concessions?|retired people|retirees|over[- ]?[56]\ds?|[56]\d(?=\+)"),
        ("adult", r"adults?|grown[- ]?ups?"),
    )
}
NEGATION = re.compile(r"\b(?:not|no|without|except|besides|other than|apart from|neither|nor)\b|n['’]t\b|-free\b", re.I)
ASKS_WHY_OR_HOW = re.compile(r"(?:(?:and|so|but),? )?(?:why|how (?!much\b))", re.I)


def without_people(text: str) -> str:
    """A text without the words for groups of people."""
    for pattern in PEOPLE.values():
        text = pattern.sub(" ", text)
    return text


def column_stems(column: str) -> frozenset[str]:
    """The stems of a column name, which may be written like_this."""
    return stems_of(column.replace("_", " "))
