"""Reads who wrote a document and when from the line below its title: "Julia Brandt and Samuel Adeyemi. Sleep and
Light, 2021." Only a paragraph that contains nothing else counts."""

from __future__ import annotations

import re

from turnwise.types import Reference

MAX_BYLINE_CHARS = 300

_NAME_PART = r"(?:[A-ZÀ-ÖØ-ÞĀ-ž]\.(?:-?[A-ZÀ-ÖØ-ÞĀ-ž]\.)*|(?:d['’]|O['’]|al-)?[A-ZÀ-ÖØ-ÞĀ-ž][\w'’-]*\w)"
_PARTICLE = r"(?:van|von|vom|zu|zum|de|der|den|del|della|di|da|das|dos|du|la|le|el|al|bin|ibn|ten|ter|y|e)"
_NAME = rf"{_NAME_PART}(?: (?:{_PARTICLE} ){{0,2}}{_NAME_PART}){{1,3}}"
_SEPARATOR = r"(?:, and |, & |, | and | & |; )"
_YEAR = r"(?:19|20)\d\d"
_BYLINE = re.compile(
    rf"(?P<by>[Bb]y )?(?P<names>{_NAME}(?:{_SEPARATOR}{_NAME}){{0,29}})"
    # an optional journal, perhaps with a volume, between the names and the year
    rf"(?:[.:,\n]\s?(?P<journal>[A-ZÀ-ÖØ-ÞĀ-ž][^.!?\n]{{2,100}}?)(?:,? (?:vol\. ?)?\d{{1,4}}(?: ?\(\d{{1,3}}\))?)?"
    r"(?:[.,\n]|(?= ?\()))?"
    rf"[.,\n]? ?(?:\((?P<inner>{_YEAR})\)|(?:\d{{1,2}}\.? )?(?:[A-Z][a-z]{{2,8}} )?(?P<year>{_YEAR}))"
    r"(?:[,:;] ?[\d(): –-]{1,30})?\.?"
)
_SEPARATORS = re.compile(_SEPARATOR)
_FAMILY = re.compile(rf"(?P<given>.*?) (?P<family>(?:{_PARTICLE} )*\S+)")


def byline(text: str) -> Reference | None:
    """The authors and year from the first paragraph of a document, or None if it is not a byline.

    A single name needs a journal or a "by", because it could be a place."""
    first = text.strip().split("\n\n", 1)[0]
    found = _BYLINE.fullmatch(first) if len(first) <= MAX_BYLINE_CHARS else None
    if not found:
        return None
    names = _SEPARATORS.split(found["names"])
    if len(names) == 1 and not (found["by"] or found["journal"]):
        return None
    csl = {"container-title": found["journal"]} if found["journal"] else {}
    year = found["year"] or found["inner"]
    return Reference("", tuple(map(_family_first, names)), int(year), csl={**csl, "issued": year})


def is_byline(text: str) -> bool:
    """Whether a text is a byline and nothing else."""
    return "\n\n" not in text.strip() and byline(text) is not None


def _family_first(name: str) -> str:
    found = _FAMILY.fullmatch(name)
    return f"{found['family']}, {found['given']}" if found else name
