"""Finds the pronoun of a message that a phrase of the conversation can replace."""

from __future__ import annotations

import re
from typing import NamedTuple

from turnwise.text import phrases

_LINK = r"(?:about|to|for|with|at|in|on|by|from|if|when|why|how|and|or)"  # after "her" if that is not a possessive
_SINGULAR = r"(?:it|this|that|he|she|him)"
_PRONOUN = re.compile(
    rf"\b(?:about|of|is|was|are|were|does|did|do|like|than|for|with|on|from|to|by|can|could|would|will|should|has|had|"
    rf"have|in|how|why|when|and)\s+({_SINGULAR}|they|them|these|those)\b(?!\s+(?:there|that)\b)"
    r"|\b(it|they|them|him|her)\s*[?.!]?$|^(it|this|that|they|he|she)\b"
    rf"|\b(them|him|her)\s+(?={_LINK}\b)",
    re.I,
)
_POSSESSIVE = re.compile(rf"\b(its|their|his|her)\b(?=\s+(?!{_LINK}\b)\w)", re.I)
_PLURAL = ("they", "them", "these", "those", "their")
_PLURAL_NOUN = re.compile(r"[^suai]s$|people$|children$")
_LOOKALIKE = re.compile(r"\b(?:IT|US)\b")


class Pronoun(NamedTuple):
    """A pronoun in lower case, and where it is in its message."""

    text: str
    start: int
    end: int
    possessive: bool

    @property
    def plural(self) -> bool:
        return self.text in _PLURAL


def find_pronoun(message: str) -> Pronoun | None:
    """Returns the pronoun that a phrase can replace. A pronoun after a sentence or clause that names something refers
    to that instead."""
    message = without_lookalikes(message)
    found = _POSSESSIVE.search(message) or _PRONOUN.search(message)
    if not found:
        return None
    group = found.lastindex or 0
    before = message[: found.start(group)]
    clause = max(before.rfind(mark) for mark in ".?!;,")
    if clause > 0 and phrases(before[:clause]):
        return None
    return Pronoun(found[group].lower(), *found.span(group), found.re is _POSSESSIVE)


def points_back(message: str) -> bool:
    """Whether the message has a pronoun that a phrase can replace."""
    return find_pronoun(message) is not None


def agrees_in_number(message: str, phrase: str) -> bool:
    """Whether a phrase agrees in number with the message's pronoun, judged by its ending. A name ending in "s" may
    still be singular."""
    pronoun = find_pronoun(message)
    last = phrase.split()[-1:]
    plural = bool(last and _PLURAL_NOUN.search(last[0]))
    if pronoun and pronoun.plural:
        return plural
    return not plural or last[0][0].isupper()


def without_lookalikes(message: str) -> str:
    """Returns the message with HR and UK in place of IT and US, which are not pronouns unless all is in capitals."""
    return message if message.isupper() else _LOOKALIKE.sub(lambda found: {"IT": "HR", "US": "UK"}[found[0]], message)
