"""Documents as they are read, indexed and listed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Reference:
    """What a bibliography says of a document: the key it is cited by, its authors, its year and where it is found.

    An author is "Family, Given", or the name of a group. `csl` is what else a citation style needs, by the names of
    CSL: type, issued (an ISO date), container-title, volume, issue, page, publisher, DOI.
    """

    key: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    url: str = ""
    csl: dict[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        """As it is cited in a text: "Vaswani et al. 2017"."""
        families = self.families
        several = f"{families[0]} and {families[1]}" if len(families) == 2 else "".join(families[:1])
        by = f"{several} et al." if len(families) > 2 else several
        return " ".join(part for part in (by, str(self.year or "")) if part)

    @property
    def families(self) -> list[str]:
        """What its authors are called by."""
        return [author.split(",")[0].strip() for author in self.authors]

    def is_named(self, said: Collection[str]) -> bool:
        """Whether one of its authors is among some words, which are in small letters."""
        return any(each.lower().split()[-1] in said for each in self.families if each)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any] | None) -> Reference | None:
        """What `dataclasses.asdict` made of a reference, perhaps by way of JSON."""
        return None if stored is None else cls(**{**stored, "authors": tuple(stored["authors"])})


@dataclass(frozen=True, slots=True)
class Flag:
    """What the check for instructions to the assistant found in a text: how sure it is, and the words it means, where
    there are any. `by` names the check: a text that another one has looked at is looked at again."""

    by: str
    score: float = 0.0
    words: str = ""

    def __str__(self) -> str:
        """As an index keeps it; only one that found something has a bar in it."""
        return f"{self.by}|{self.score:.4f}|{self.words}" if self.words else self.by

    @classmethod
    def read(cls, kept: str | None) -> Flag | None:
        """What str() made of a flag; None where there is none."""
        if kept is None:
            return None
        by, _, found = kept.partition("|")
        score, _, words = found.partition("|")
        return cls(by, float(score), words) if words else cls(by)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A text that the readers of a document do not see, and where it is: "an HTML comment", "white text"."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage to be: `text` is the document's text from `start` to `end`; above a later part of a table, its header
    row. `flag` is what a check found in it, None where it was not looked at."""

    text: str
    heading: str = ""
    page: int | None = None
    start: int = 0
    end: int = 0
    flag: Flag | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was read, ready to go into an index. `digest` tells whether it has changed since.

    `date` is its own date where it has one, else the file's: an ISO date, or the beginning of one. `hidden` are the
    instructions to the assistant in what its readers do not see.
    """

    source: str  # the path or address it came from
    title: str
    digest: str
    chunks: tuple[Chunk, ...]
    collection: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    reference: Reference | None = None
    hidden: tuple[Hidden, ...] = ()
    tenant: str = ""  # whose it is; "" is the library's own
    attached: str = ""  # the conversation that it was dropped into, which alone may use it; "" for all of the tenant's

    @property
    def content(self) -> str:
        """A hash of what it says, which trust in it holds on to: its tags and the place it came from may change."""
        parts = [self.title, *(part for each in self.chunks for part in (each.heading, each.text))]
        parts += [part for each in self.hidden for part in (each.where, each.text)]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document of an index, as it is listed."""

    id: int
    source: str
    title: str
    passages: int
    added_at: float
    collection: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    reference: Reference | None = None
    hidden: tuple[Hidden, ...] = ()  # instructions to the assistant in what its readers do not see
    trusted: bool = False  # somebody has said that it is fine, whatever a check finds in it
    tenant: str = ""
    attached: str = ""
    pending: int = 0  # passages that have no vector yet


@dataclass(frozen=True, slots=True)
class Suspect:
    """A document in which a check has found instructions to the assistant: in passages, or where no reader sees it."""

    source: str
    title: str
    passages: tuple[tuple[int, Flag], ...] = ()  # by their positions
    hidden: tuple[Hidden, ...] = ()
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    documents: int
    passages: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be taken in, and why: the error's code, message and hint."""

    source: str
    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class AddReport:
    """What became of the files: how many documents were added, updated, unchanged; which were skipped or failed."""

    added: int
    updated: int
    unchanged: int
    passages: int  # in the added and updated documents
    skipped: tuple[str, ...]  # files met in folders whose kind cannot be read
    failed: tuple[Failure, ...]
    suspect: tuple[Suspect, ...] = ()  # documents that hold instructions to the assistant, and are not trusted
    unchecked: tuple[str, ...] = ()  # sources of those that are looked at for such after their vectors were made


Outcome = Literal["added", "updated", "unchanged"]
Progress = Callable[[str, int, int], None]  # what is being done ("reading", "embedding"), how much is done, of how much


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document, as it is indexed and cited. `start` and `end` are offsets in the document's text."""

    id: int
    document_id: int
    title: str
    source: str  # the path or address the document came from
    text: str
    heading: str = ""  # "Methods > Data"
    page: int | None = None
    start: int = 0
    end: int = 0
    position: int = 0  # among the passages of its document
    reference: Reference | None = None
    date: str = ""  # of the document
    flag: Flag | None = field(default=None, compare=False)  # None where no check has looked at it
    trusted: bool = field(default=False, compare=False)  # whether somebody has said that its document is fine

    @property
    def called(self) -> str:
        """Its document as people may call it: by its title, its authors and its year."""
        by = [*self.reference.families, str(self.reference.year or "")] if self.reference else []
        return f"{self.title} ({' '.join(filter(None, by))})" if any(by) else self.title
