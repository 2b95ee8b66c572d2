"""What both indexes do with their rows in the same way."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from turnwise.errors import LibraryError, WeightsError
from turnwise.index.words import indexed_words
from turnwise.logs import done_without
from turnwise.types import Counts, DocumentInfo, Embedder, Flag, Hidden, Passage, Reference, Suspect

if TYPE_CHECKING:
    from turnwise.types import Vectors

log = logging.getLogger(__name__)

LOCATE_CANDIDATES = 1000  # passages with all words of a sentence that are searched for the sentence itself
LOCATE_BATCH = 50  # passages that are read at once for it

T = TypeVar("T")


class Row(Protocol):
    """A row of either database."""

    def __getitem__(self, name: str, /) -> Any: ...


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


def to_hidden(stored: str) -> tuple[Hidden, ...]:
    return tuple(Hidden(*each) for each in json.loads(stored))


def of_hidden(hidden: tuple[Hidden, ...]) -> str:
    return json.dumps([[each.where, each.text] for each in hidden], ensure_ascii=False)


def to_reference(stored: str | None) -> Reference | None:
    return Reference.from_dict(json.loads(stored)) if stored else None


def flags_by_document(rows: Iterable[Row]) -> dict[int, list[tuple[int, Flag]]]:
    """Flagged passages by the ids of their documents, each with its position."""
    found: dict[int, list[tuple[int, Flag]]] = {}
    for row in rows:
        found.setdefault(row["document_id"], []).append((row["position"], Flag.read(row["flag"]) or Flag("")))
    return found


def to_suspects(documents: Iterable[DocumentInfo], flags: Mapping[int, Iterable[tuple[int, Flag]]]) -> list[Suspect]:
    return [
        Suspect(each.source, each.title, tuple(flags.get(each.id, ())), each.hidden, each.trusted) for each in documents
    ]


def total(collections: Iterable[Counts]) -> Counts:
    counts = list(collections)
    return Counts(
        sum(each.documents for each in counts),
        sum(each.passages for each in counts),
        sum(each.vectors for each in counts),
    )


def first_with(sentence: str, passages: Iterable[Passage]) -> Passage | None:
    """The first passage that contains the sentence word for word, or else the first that contains all its words."""
    wanted, needed = " ".join(sentence.split()), set(indexed_words(sentence))
    with_all_words: Passage | None = None
    for passage in passages:
        if wanted in " ".join(passage.text.split()):
            return passage
        if with_all_words is None and needed <= set(indexed_words(passage.text)):
            with_all_words = passage
    return with_all_words


def require_embedder(stored: str, configured: str) -> None:
    """Raises LibraryError if the two differ: vectors of two embedders cannot be compared."""
    if stored != configured:
        raise LibraryError(
            f"This library was built with the embedder {stored}, and the one set is {configured}.",
            "Set `embedder` back to that one, or add your documents to a new library.",
        )


def query_vector(embedder: Embedder, question: str) -> Vectors | None:
    """The vector of a question; None if the embedder fails, for then its words alone can be searched for."""
    try:
        return embedder.embed_query(question)
    except WeightsError:
        raise
    except Exception:  # one of the user's own may raise anything
        done_without(log, f"the embedder {embedder.name} failed, so only words were searched for")
        return None
