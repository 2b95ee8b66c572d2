"""What a search looks for, what it may see, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.types.documents import Passage, Reference


@dataclass(frozen=True, slots=True)
class Filter:
    """The documents to search: those in one of the collections, with all the tags, whose source matches the pattern
    ("*/papers/*"), dated from `since` to `until` (ISO dates or beginnings of them, both included). Empty fields are
    ignored."""

    collections: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    source: str = ""
    since: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        for name in ("collections", "tags"):  # a list, or a single name, is taken as what it means
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))

    def __bool__(self) -> bool:
        return self != EVERYTHING


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Reach:
    """The part of an index that a caller may see, whatever they ask for: the documents of a tenant ("" is the library's
    own), only those in some collections if any are given, and attachments to their conversations."""

    tenant: str = ""
    collections: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()  # a conversation, and those it branched from


LIBRARY = Reach()


@dataclass(frozen=True, slots=True)
class Term:
    """A word added to a search from the conversation, and its weight relative to a literal word (0 to 1)."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to search for: the words the user wrote, the words added to them, and the whole question for the vectors.

    `talk` is this message together with earlier questions. It has a ranking of its own, with the weight `talk_weight`.
    """

    literal: str
    added: tuple[Term, ...] = ()
    dense: str = ""
    talk: str = ""
    talk_weight: float = 0.0
    where: Filter = EVERYTHING  # attachments to a conversation pass every filter
    reach: Reach = LIBRARY

    @property
    def question(self) -> str:
        return self.dense or self.literal


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search found. `similarity` is its cosine to the question, or None while it has no vector."""

    passage: Passage
    score: float
    similarity: float | None = None
    lexical_rank: int | None = None
    dense_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A hit with the number under which the conversation cites it."""

    number: int
    hit: Hit

    @property
    def passage(self) -> Passage:
        return self.hit.passage


@dataclass(frozen=True, slots=True)
class Source:
    """What a reader sees behind a citation: the document, the passage, and the sentence that supports the answer."""

    number: int
    passage_id: int
    title: str
    source: str
    heading: str
    page: int | None
    text: str
    quote: str = ""
    reference: Reference | None = None
    date: str = ""  # of the document

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Source:
        """The source that `dataclasses.asdict` was called on, perhaps by way of JSON."""
        return cls(**{**stored, "reference": Reference.from_dict(stored.get("reference"))})
