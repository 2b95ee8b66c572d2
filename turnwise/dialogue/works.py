"""Resolves "both papers" or "the second study" where the conversation, or the library, has just two works with authors
and years."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from turnwise.dialogue.questions import compared_sides
from turnwise.dialogue.spelling import Slip
from turnwise.types import Message, Reference

_WORK = r"(?:stud(?:y|ies)|(?:paper|publication|essay)s?)"  # an experiment may be one of several in a paper
_BOTH = re.compile(
    rf"\b(?:both(?: of)?(?: the| these| those)?|(?:the|these|those) (?:two|2)) {_WORK}\b|\beach(?: of the)? {_WORK}\b"
    r"|\beach(?=\W*$)",
    re.I,
)
_ONE = re.compile(
    rf"\bthe (?:(?P<first>first|1st|original|earlier|older)|(?P<second>second|2nd|later|newer|more recent|new)"
    rf"|(?P<other>other)) {_WORK}\b",
    re.I,
)
_OF_ONE = {"were": "was", "are": "is", "do": "does", "have": "has"}
Works = Callable[[], Sequence[Reference]]


def name_works(message: str, history: Sequence[Message], works: Works) -> tuple[str, list[Slip]]:
    """Returns the message with the authors of the works it refers to, and what was replaced. What is asked of both, but
    does not compare them, becomes a question about each. It stays as it is unless there are just two `works`."""
    both, one = _BOTH.search(message), _ONE.search(message)
    if not (both or one):
        return message, []
    older, newer = _by_year(works())
    if not older or any(each.lower() in message.lower() for each in (older, newer)):
        return message, []
    if one:
        meant = older if one["first"] else newer if one["second"] else _other(older, newer, history)
        return (_with(message, one, _called(meant)), [Slip(one[0], _called(meant))]) if meant else (message, [])
    assert both is not None
    if both[0].lower() == "each" and not _names(_last_question(history), older, newer):
        return message, []
    together = f"{older} and {newer}"
    compared = _with(message, both, together)
    if compared_sides(compared):
        return compared, [Slip(both[0], together)]
    end = re.sub(
        r"\b(were|are|do|have)\b", lambda verb: _OF_ONE[verb[0].lower()], message.rstrip(" ?.!"), count=1, flags=re.I
    )
    both = _BOTH.search(end) or both
    return " ".join(f"{_with(end, both, _called(each))}?" for each in (older, newer)), [Slip(both[0], together)]


def _by_year(works: Sequence[Reference]) -> tuple[str, str]:
    """Returns the first authors of the older and of the newer of two works; empty if that does not tell them apart."""
    dated = sorted((each.year, each.families[0]) for each in works if each.year and each.families)
    if len(dated) != 2 or len(works) != 2 or len({year for year, _ in dated}) < 2 or dated[0][1] == dated[1][1]:
        return "", ""
    return dated[0][1], dated[1][1]


def _other(older: str, newer: str, history: Sequence[Message]) -> str:
    """Returns the work that was not spoken of last; empty if both were, or neither."""
    for text in (_last_question(history), _cited_last(history)):
        named = [each for each in (older, newer) if each.lower() in text.lower()]
        if named:
            return (newer if named == [older] else older) if len(named) == 1 else ""
    return ""


def _last_question(history: Sequence[Message]) -> str:
    return next((each.content for each in reversed(history) if each.role == "user"), "")


def _cited_last(history: Sequence[Message]) -> str:
    """Returns the authors of the works that the last answer with sources cites."""
    sources = next((each.sources for each in reversed(history) if each.sources), ())
    return " ".join(family for each in sources if each.reference for family in each.reference.families[:1])


def _names(text: str, *families: str) -> bool:
    return all(each.lower() in text.lower() for each in families)


def _called(family: str) -> str:
    return f"the {family} study"


def _with(message: str, found: re.Match[str], name: str) -> str:
    return message[: found.start()] + name + message[found.end() :]
