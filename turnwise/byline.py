"""Reads who wrote a document and when from the line below its title, "Julia Brandt and Samuel Adeyemi. Sleep and
Light, 2021." Only a paragraph that contains nothing else counts as a byline, or two of them: names, and a journal."""

from __future__ import annotations

import re
from functools import lru_cache

from turnwise.types import Reference

MAX_BYLINE_CHARS = 300

_NAME_PART = r"(?:[A-ZÀ-ÖØ-ÞĀ-ž]\.(?:-?[A-ZÀ-ÖØ-ÞĀ-ž]\.)*|(?:d['’]|O['’]|al-)?[A-ZÀ-ÖØ-ÞĀ-ž][\w'’-]*\w)"
_PARTICLE = r"(?:van|von|vom|zu|zum|de|der|den|del|della|di|da|das|dos|du|la|le|el|al|bin|ibn|ten|ter|y|e)"
_NAME = rf"{_NAME_PART}(?: (?:{_PARTICLE} ){{0,2}}{_NAME_PART}){{1,3}}"
_FAMILY_FIRST = rf"(?:{_PARTICLE} ){{0,2}}{_NAME_PART}, (?:[A-ZÀ-ÖØ-ÞĀ-ž]\.[ -]?){{1,4}}(?<! )"  # "van Dam, P. J."
_INITIALS = r"(?:(?:[A-ZÀ-ÖØ-ÞĀ-ž]\.[ -]?){1,4}(?<! )|[A-ZÀ-ÖØ-ÞĀ-ž]{1,3}\b)"
_INITIALS_LAST = rf"(?:{_PARTICLE} ){{0,2}}{_NAME_PART} {_INITIALS}"  # "van Dam PJ"
_SEPARATOR = r"(?:, and |, & |, | and | & |; )"
YEAR = r"(?:19|20)\d\d"
_JOURNAL = r"[A-ZÀ-ÖØ-ÞĀ-ž][^.!?\n]{2,100}?"
_IN_CAPITALS = r"[A-ZÀ-ÖØ-ÞĀ-ž][\w-]+(?: (?:[A-ZÀ-ÖØ-ÞĀ-ž][\w-]+|of|and|&|the|for|in|on|de)){0,11}"  # no sentence
_BYLINE = re.compile(
    r"(?:(?P<by>[Bb]y )|(?P<label>Authors?: ?))?"
    rf"(?P<names>{_INITIALS_LAST}(?:{_SEPARATOR}{_INITIALS_LAST}){{0,29}}|{_NAME}(?:{_SEPARATOR}{_NAME}){{0,29}}"
    rf"|{_FAMILY_FIRST}(?:{_SEPARATOR}{_FAMILY_FIRST}){{0,29}})"
    r"(?P<others>,? et al\.?)?"
    # an optional journal between the names and the year, perhaps with a volume
    rf"(?:(?:(?:[.:,\n]\s?| (?=[A-Z][^\n\d]{{1,99}} \d{{1,4}} ?\(\d))"
    rf"(?P<journal>{_JOURNAL})(?:,? (?:vol\. ?)?\d{{1,4}}(?: ?\(\d{{1,3}}\))?)?"
    r"(?:[.,\n]|(?= ?\()))?"
    r"[.,\n]? ?(?:Date: ?)?"
    rf"(?:\((?P<inner>{YEAR})\)|(?:\d{{1,2}}\.? )?(?:[A-Z][a-z]{{2,8}} )?(?P<year>{YEAR}))"
    r"(?:[,:;] ?(?:pp?\. ?)?[\d(): –-]{1,30})?"
    # or after the year, with a volume and pages or in capitals: anything else could be a sentence
    rf"|,? (?:\((?P<first>{YEAR})\)[.,:]?|(?P<then>{YEAR})[.,:])\s"
    rf"(?:(?P<numbered>{_JOURNAL}),? (?:vol\. ?)?\d[\d(): ,–-]{{0,30}}|(?P<titled>{_IN_CAPITALS})))?\.?"
    r"(?:[\s,;]{1,2}(?:doi:? ?|https?://)\S{1,100})?"
)
_SEPARATORS = re.compile(_SEPARATOR)
_FAMILY_FIRST_SEPARATORS = re.compile(rf"(?<=\.){_SEPARATOR}")
_FAMILY = re.compile(
    rf"(?P<before>(?:{_PARTICLE} ){{0,2}}{_NAME_PART}) (?P<initials>{_INITIALS})"
    rf"|(?P<given>.*?) (?P<family>(?:{_PARTICLE} )*\S+)"
)


def byline(text: str) -> Reference | None:
    """The authors and year from the first paragraph of a document, or its first two, or None if it is not a byline.

    Without a year it needs "Authors:". A single name needs that, a "by" or a journal, because it could be a place."""
    return next(filter(None, map(_read, _beginnings(text))), None)


def byline_paragraphs(text: str) -> int:
    """How many paragraphs at the beginning of a text are its byline."""
    return next((count for count, each in enumerate(_beginnings(text), 1) if _read(each)), 0)


def _beginnings(text: str) -> list[str]:
    """The first paragraph, and the first two if they are lines."""
    paragraphs = re.split(r"\n\s*\n", text.strip(), maxsplit=2)[:2]
    return paragraphs[:1] + (["\n".join(paragraphs)] if len(paragraphs) > 1 and "\n" not in "".join(paragraphs) else [])


@lru_cache(maxsize=1024)
def _read(first: str) -> Reference | None:
    found = _BYLINE.fullmatch(first) if len(first) <= MAX_BYLINE_CHARS else None
    if not found:
        return None
    names, year = found["names"], found["year"] or found["inner"] or found["first"] or found["then"]
    is_family_first = bool(re.match(_FAMILY_FIRST, names))
    authors = _FAMILY_FIRST_SEPARATORS.split(names) if is_family_first else _SEPARATORS.split(names)
    marked = is_family_first or found["by"] or found["label"] or found["others"]
    is_person = len(authors) > 1 or marked or found["journal"] or found["numbered"]
    if not is_person or not (year or found["label"]):
        return None
    journal = found["journal"] or found["numbered"] or found["titled"]
    csl = {"container-title": journal} if journal else {}
    dated = {"issued": year} if year else {}
    in_order = authors if is_family_first else map(_family_first, authors)
    return Reference("", tuple(in_order), int(year) if year else None, csl={**csl, **dated})


def is_byline(text: str) -> bool:
    """Whether a text is a byline and nothing else."""
    count = byline_paragraphs(text)
    return count > 0 and len(re.split(r"\n\s*\n", text.strip())) == count


def _family_first(name: str) -> str:
    found = _FAMILY.fullmatch(name)
    return f"{found['before'] or found['family']}, {found['initials'] or found['given']}" if found else name
