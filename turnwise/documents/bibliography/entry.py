"""One work in a bibliography, whatever format it came in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from turnwise.types import Reference


@dataclass(frozen=True, slots=True)
class Entry:
    """One work in a bibliography, and the files it refers to, as written there."""

    key: str
    title: str
    authors: tuple[str, ...] = ()
    date: str = ""  # an ISO date, or only the year or month
    venue: str = ""  # the journal, book or publisher
    abstract: str = ""
    keywords: str = ""
    url: str = ""
    files: tuple[str, ...] = ()
    csl: dict[str, str] = field(default_factory=dict)  # other fields for citation styles, by their CSL names
    cut: bool = False  # not closed in its file, so that it may be incomplete

    @property
    def reference(self) -> Reference:
        csl = {**self.csl, **({"issued": self.date} if self.date else {})}
        return Reference(self.key, self.authors, int(self.date[:4]) if self.date else None, self.url, csl)

    @property
    def text(self) -> str:
        """The entry as a short document, for use if it has no file."""
        year = f" ({self.date[:4]})" if self.date else ""
        byline = f"{', '.join(self.authors)}{year}".strip()
        keywords = f"Keywords: {self.keywords}" if self.keywords else ""
        return "\n\n".join(part for part in (self.title, byline, self.venue, self.abstract, keywords) if part)


def family_first(name: str) -> str:
    """A name in any common order as "Family, Given"."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) >= 2:  # "von Family, Jr, Given"
        return f"{parts[0]}, {parts[-1]}".strip(", ")
    words = name.split()
    family = next((at for at, word in enumerate(words[:-1]) if at and word[:1].islower()), len(words) - 1)
    return f"{' '.join(words[family:])}, {' '.join(words[:family])}".strip(", ")


def url_of(url: str, doi: str) -> str:
    """The URL of a work, or else of its DOI."""
    address = re.sub(r"\\(.)", r"\1", url.strip("{} "))
    if address.startswith(("http://", "https://")):
        return address
    number = re.search(r"10\.\d{4,9}/\S+", doi)
    return f"https://doi.org/{number[0]}" if number else ""


def make_key(authors: Sequence[str], date: str, title: str) -> str:
    """Make a key for an entry without one: smith2020heron."""
    family = re.sub(r"\W", "", (authors[0] if authors else "").partition(",")[0])
    word = next((word for word in re.findall(r"\w+", title) if len(word) > 3), "")
    return f"{family}{date[:4]}{word}".lower() or "untitled"
