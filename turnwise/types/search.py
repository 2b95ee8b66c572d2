"""What a search asks for, within whose reach, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.types.documents import Passage, Reference


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents a search looks at: those of one of the collections, with all the tags, whose source fits the
    pattern ("*/papers/*"), dated from `since` to `until` (ISO dates or beginnings of them, both included). What is
    empty does not count."""

    collections: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    source: str = ""
    since: str = ""
    until: str = ""

    def __bool__(self) -> bool:
        return self != EVERYTHING


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Reach:
    """What of an index somebody may see, whatever they ask for: the documents of a tenant ("" is the library's own), of
    these only some collections where any are named, and what was attached to their conversations."""

    tenant: str = ""
    collections: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()  # a conversation, and those that it branched from


LIBRARY = Reach()


@dataclass(frozen=True, slots=True)
class Term:
    """A word added to a search from the conversation, and how much it counts beside a literal word (0 to 1)."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to look for: the words the user wrote, the words added to them, and the whole question for the vectors.

    `talk` is what the user asked before with this message, whose own ranking counts `talk_weight` beside the others.
    """

    literal: str
    added: tuple[Term, ...] = ()
    dense: str = ""
    talk: str = ""
    talk_weight: float = 0.0
    where: Filter = EVERYTHING  # what was attached to a conversation passes every filter
    reach: Reach = LIBRARY

    @property
    def question(self) -> str:
        return self.dense or self.literal


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search found. `similarity` is the cosine to the question, None while it has no vector."""

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
    """What a reader sees behind a citation: where it stands, the passage, and the sentence the answer rests on."""

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
        """What `dataclasses.asdict` made of a source, perhaps by way of JSON."""
        return cls(**{**stored, "reference": Reference.from_dict(stored.get("reference"))})
