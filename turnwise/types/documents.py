"""Documents as they are read, indexed and listed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Reference:
    """What a bibliography says about a document: the key it is cited by, its authors, its year and its address.

    An author is "Family, Given", or the name of a group. `csl` has what else a citation style needs, under the names
    of CSL: type, issued (an ISO date), container-title, volume, issue, page, publisher, DOI.
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
        """The family names of its authors."""
        return [author.split(",")[0].strip() for author in self.authors]

    def is_named(self, said: Collection[str]) -> bool:
        """Whether one of its authors is among these lower-case words."""
        return any(each.lower().split()[-1] in said for each in self.families if each)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any] | None) -> Reference | None:
        """The reference that `dataclasses.asdict` was called on, perhaps by way of JSON."""
        return None if stored is None else cls(**{**stored, "authors": tuple(stored["authors"])})


@dataclass(frozen=True, slots=True)
class Flag:
    """What a check for instructions to the assistant found in a text: how sure it is, and the words in question, if
    any. `by` is the name of the check. A text that only another check has read is read again."""

    by: str
    score: float = 0.0
    words: str = ""

    def __str__(self) -> str:
        """As an index stores it. Only a flag that found something contains a bar."""
        return f"{self.by}|{self.score:.4f}|{self.words}" if self.words else self.by

    @classmethod
    def read(cls, kept: str | None) -> Flag | None:
        """The flag that str() was called on, or None if there is none."""
        if kept is None:
            return None
        by, _, found = kept.partition("|")
        score, _, words = found.partition("|")
        return cls(by, float(score), words) if words else cls(by)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A text that readers of a document do not see, and where it is: "an HTML comment", "white text"."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A future passage: `text` is the text of the document from `start` to `end`; a later part of a table has the
    header row above it. `flag` is what a check found in it, or None if none has read it."""

    text: str
    heading: str = ""
    page: int | None = None
    start: int = 0
    end: int = 0
    flag: Flag | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document, ready to be added to an index. `digest` tells whether it has changed since.

    `date` is its own date if it has one, else that of the file: an ISO date, or the beginning of one. `hidden` are the
    instructions to the assistant in parts that readers do not see.
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
    tenant: str = ""  # that it belongs to; "" is the library's own
    attached: str = ""  # to this conversation, which alone can use it; "" for all of the tenant's

    @property
    def content(self) -> str:
        """A hash of what it says, which trust is tied to: its tags and its source may change."""
        parts = [self.title, *(part for each in self.chunks for part in (each.heading, each.text))]
        parts += [part for each in self.hidden for part in (each.where, each.text)]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document in an index, as listed."""

    id: int
    source: str
    title: str
    passages: int
    added_at: float
    collection: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    reference: Reference | None = None
    hidden: tuple[Hidden, ...] = ()  # instructions to the assistant that readers do not see
    trusted: bool = False  # marked as fine, whatever a check finds in it
    tenant: str = ""
    attached: str = ""
    pending: int = 0  # passages that have no vector yet


@dataclass(frozen=True, slots=True)
class Suspect:
    """A document in which a check found instructions to the assistant: in passages, or hidden from readers."""

    source: str
    title: str
    passages: tuple[tuple[int, Flag], ...] = ()  # with their positions
    hidden: tuple[Hidden, ...] = ()
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    documents: int
    passages: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be added, and why: the code, message and hint of the error."""

    source: str
    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class AddReport:
    """The result of adding files: how many documents were added, updated or unchanged; which were skipped or failed."""

    added: int
    updated: int
    unchanged: int
    passages: int  # in the added and updated documents
    skipped: tuple[str, ...]  # files in folders whose type is not supported
    failed: tuple[Failure, ...]
    suspect: tuple[Suspect, ...] = ()  # documents that contain instructions to the assistant, and are not trusted
    unchecked: tuple[str, ...] = ()  # sources of those that are checked only after their vectors are made


Outcome = Literal["added", "updated", "unchanged"]
Progress = Callable[[str, int, int], None]  # activity ("reading", "embedding"), how much is done, of how much


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document, as indexed and cited. `start` and `end` are offsets in the text of the document."""

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
    flag: Flag | None = field(default=None, compare=False)  # None if no check has read it
    trusted: bool = field(default=False, compare=False)  # whether its document is marked as fine

    @property
    def called(self) -> str:
        """A name for its document: its title, authors and year."""
        by = [*self.reference.families, str(self.reference.year or "")] if self.reference else []
        return f"{self.title} ({' '.join(filter(None, by))})" if any(by) else self.title
