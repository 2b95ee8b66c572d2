"""Who wrote a document and when, by the line below its title: "Julia Brandt and Samuel Adeyemi. Sleep and Light,
2021." Only a paragraph that says nothing else is taken for one."""

from __future__ import annotations

import re

from turnwise.types import Reference

LONGEST = 300  # characters

_PART = r"(?:[A-ZÀ-ÖØ-ÞĀ-ž]\.(?:-?[A-ZÀ-ÖØ-ÞĀ-ž]\.)*|(?:d['’]|O['’]|al-)?[A-ZÀ-ÖØ-ÞĀ-ž][\w'’-]*\w)"
_OF = r"(?:van|von|vom|zu|zum|de|der|den|del|della|di|da|das|dos|du|la|le|el|al|bin|ibn|ten|ter|y|e)"
_NAME = rf"{_PART}(?: (?:{_OF} ){{0,2}}{_PART}){{1,3}}"
_SEVERAL = r"(?:, and |, & |, | and | & |; )"
_YEAR = r"(?:19|20)\d\d"
_BYLINE = re.compile(
    rf"(?P<by>[Bb]y )?(?P<names>{_NAME}(?:{_SEVERAL}{_NAME}){{0,29}})"
    # the journal, with a volume perhaps, between the names and the year
    rf"(?:[.:,\n]\s?(?P<journal>[A-ZÀ-ÖØ-ÞĀ-ž][^.!?\n]{{2,100}}?)(?:,? (?:vol\. ?)?\d{{1,4}}(?: ?\(\d{{1,3}}\))?)?"
    r"(?:[.,\n]|(?= ?\()))?"
    rf"[.,\n]? ?(?:\((?P<inner>{_YEAR})\)|(?:\d{{1,2}}\.? )?(?:[A-Z][a-z]{{2,8}} )?(?P<year>{_YEAR}))"
    r"(?:[,:;] ?[\d(): –-]{1,30})?\.?"
)
_JOINT = re.compile(_SEVERAL)
_FAMILY = re.compile(rf"(?P<given>.*?) (?P<family>(?:{_OF} )*\S+)")


def byline(text: str) -> Reference | None:
    """What the first paragraph of a document says, where that is who wrote it and when; one name alone needs a journal
    or a "by": it may be a place."""
    first = text.strip().split("\n\n", 1)[0]
    found = _BYLINE.fullmatch(first) if len(first) <= LONGEST else None
    if not found:
        return None
    names = _JOINT.split(found["names"])
    if len(names) == 1 and not (found["by"] or found["journal"]):
        return None
    csl = {"container-title": found["journal"]} if found["journal"] else {}
    year = found["year"] or found["inner"]
    return Reference("", tuple(map(_inverted, names)), int(year), csl={**csl, "issued": year})


def is_byline(text: str) -> bool:
    """Whether a text says nothing but who wrote something and when."""
    return "\n\n" not in text.strip() and byline(text) is not None


def _inverted(name: str) -> str:
    found = _FAMILY.fullmatch(name)
    return f"{found['family']}, {found['given']}" if found else name
