"""The rail for documents: finds passages that give the assistant instructions, and keeps them out of a turn."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from turnwise.errors import LibraryError
from turnwise.guard import planted
from turnwise.guard.planted import Detect
from turnwise.guard.verdict import Case, Fails, Finding, Span
from turnwise.text import one_line, with_heading
from turnwise.types import EVERYTHING, LIBRARY, Filter, Flag, Hit, Index, IndexFlags, Passage, Reach, SearchQuery

log = logging.getLogger(__name__)

DEFAULT_THRESHOLD = 0.5
MIN_FLAG_SCORE = 0.2  # a lower score is stored as nothing found
MAX_EXCERPT_CHARS = 200
MAX_SEARCH_RESULTS = 160  # how far a search goes to replace passages that are left out


class InstructionRail:
    """Finds passages that address the assistant instead of their readers: commands, notes to an AI, role tokens."""

    name = "instructions"

    def __init__(
        self, options: Mapping[str, Any], detect: Detect = planted.detect, by: str = planted.NAME, shadow: bool = False
    ) -> None:
        self.fails: Fails = options.get("fails", "open")
        self.threshold = float(options.get("threshold", DEFAULT_THRESHOLD))
        self.drops = options.get("action", "drop") != "warn" and not shadow
        self._action = options.get("action", "drop")
        self._detect = detect
        self.by = by

    def check(self, case: Case) -> Finding:
        """Check one passage. The action `block` means that it is left out."""
        ((score, (start, end)),) = self._detect([case.text])
        if score < self.threshold:
            return Finding(self.name, "allow", score, self.threshold, "nothing found")
        action = "warn" if self._action == "warn" else "block"
        reason = f"“{_excerpt(case.text, start, end)}” is an instruction to the assistant"
        span = Span(start, end, "an instruction to the assistant")
        return Finding(self.name, action, score, self.threshold, reason, (span,), "found")  # type: ignore[arg-type]

    def inspect(self, texts: Sequence[str]) -> list[Flag]:
        """Check many texts at once. Returns the flag of each, as an index stores it."""
        results = zip(texts, self._detect(texts), strict=True)
        return [
            Flag(self.by, round(score, 4), _excerpt(text, start, end)) if score >= MIN_FLAG_SCORE else Flag(self.by)
            for text, (score, (start, end)) in results
        ]

    def is_suspect(self, passage: Passage) -> bool:
        """Whether a passage that has been checked should be left out, or warned about."""
        return passage.flag is not None and not passage.trusted and passage.flag.score >= self.threshold

    def suspects(self, passages: Iterable[tuple[int, Flag]]) -> tuple[tuple[int, Flag], ...]:
        """The passages whose flags are high enough to act on."""
        return tuple((place, flag) for place, flag in passages if flag.score >= self.threshold)

    def with_flags(self, index: IndexFlags, passages: Sequence[Passage]) -> list[Passage]:
        """The passages with their flags. Passages that this detector has not checked yet are checked now, and their
        flags are stored in the index."""
        unchecked = [each for each in passages if each.id > 0 and (each.flag is None or each.flag.by != self.by)]
        if not unchecked:
            return list(passages)
        flags = self.inspect([with_heading(each.heading, each.text) for each in unchecked])
        new_flags = {each.id: flag for each, flag in zip(unchecked, flags, strict=True)}
        try:
            index.put_flags(new_flags)
        except LibraryError:  # the library is read-only or locked; the passages are checked again next time
            log.debug("the flags of %d passages could not be stored", len(new_flags), exc_info=True)
        return [dataclasses.replace(each, flag=new_flags.get(each.id, each.flag)) for each in passages]


class Sieve:
    """A library as one turn may read it. It only returns what is within reach, whatever is asked for, and leaves out
    passages that instruct the assistant, so that others take their place. `left_out` holds those passages, best first;
    `on_top` says whether one of them was the best result of a search."""

    def __init__(self, index: Index, rail: InstructionRail | None, reach: Reach = LIBRARY) -> None:
        self._index = index
        self._rail = rail
        self._reach = reach
        self.left_out: dict[int, Passage] = {}
        self.warned: dict[int, Passage] = {}
        self.on_top = False

    def search(self, query: SearchQuery, k: int) -> list[Hit]:
        query, wanted = dataclasses.replace(query, reach=self._reach), k
        while True:
            hits = self._index.search(query, wanted)
            kept = self._filter([hit.passage for hit in hits])
            if hits and hits[0].passage.id in self.left_out:
                self.on_top = True
            if len(kept) >= k or len(hits) < wanted or wanted >= MAX_SEARCH_RESULTS:
                return [
                    dataclasses.replace(hit, passage=kept[hit.passage.id]) for hit in hits if hit.passage.id in kept
                ][:k]
            wanted = min(2 * wanted, MAX_SEARCH_RESULTS)

    def locate(self, sentence: str) -> Passage | None:
        return self._filter_one(self._index.locate(sentence, self._reach))

    def held(self, words: Sequence[str]) -> dict[str, int]:
        return self._index.held(words, self._reach)

    def passage(self, passage_id: int) -> Passage | None:
        return self._filter_one(self._index.passage(passage_id, self._reach))

    def around(self, passage: Passage, each_side: int = 1) -> list[Passage]:
        if self._index.passage(passage.id, self._reach) is None:
            return []
        return list(self._filter(self._index.around(passage, each_side)).values())

    def terms(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self._index.terms(self._reach)

    def titles(self, limit: int, where: Filter = EVERYTHING) -> tuple[list[str], int]:
        """The titles of the first documents in the filtered collections, and the number of documents in them."""
        collections = where.collections
        if collections and self._reach.collections:
            collections = tuple(each for each in collections if each in self._reach.collections)
            if not collections:
                return [], 0
        reach = dataclasses.replace(self._reach, collections=collections) if collections else self._reach
        documents = self._index.find_documents(limit=limit, reach=reach)
        return [each.title or each.source for each in documents], self._index.counts(reach).documents

    @property
    def reason(self) -> str:
        """The note in a trace about passages that were left out; empty if none were."""
        passages = self.left_out.values()
        titles = ", ".join(dict.fromkeys(f"“{each.title}”" for each in passages))
        several = "1 more was" if len(passages) == 1 else f"{len(passages)} more were"
        return f"; {several} left out because they instruct the assistant: {titles}" if passages else ""

    def in_detail(self) -> dict[str, Any]:
        """The suspect passages for the trace: where they are, the words in question, and the score."""
        return {"left_out": _details(self.left_out), "warned": _details(self.warned)}

    def _filter_one(self, passage: Passage | None) -> Passage | None:
        return next(iter(self._filter([passage]).values()), None) if passage is not None else None

    def _filter(self, passages: Sequence[Passage]) -> dict[int, Passage]:
        if self._rail is None:
            return {each.id: each for each in passages}
        kept = {}
        for each in self._rail.with_flags(self._index, passages):
            if not self._rail.is_suspect(each):
                kept[each.id] = each
            elif self._rail.drops:
                self.left_out.setdefault(each.id, each)
            else:
                self.warned.setdefault(each.id, each)
                kept[each.id] = each
        return kept


def _details(passages: Mapping[int, Passage]) -> list[dict[str, Any]]:
    return [
        {
            "passage_id": each.id,
            "title": each.title,
            "source": each.source,
            "heading": each.heading,
            "score": each.flag.score if each.flag else 0.0,
            "words": each.flag.words if each.flag else "",
        }
        for each in passages.values()
    ]


def _excerpt(text: str, start: int, end: int) -> str:
    """The suspicious words with the rest of their line, which says what is being commanded."""
    line_end = text.find("\n", end)
    rest = text[end : line_end if line_end >= 0 else len(text)]
    return one_line(text[start:end] + rest, MAX_EXCERPT_CHARS) or one_line(text, MAX_EXCERPT_CHARS)
