"""The documents' rail: passages that give the assistant instructions, and a library without them."""

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
from turnwise.types import EVERYTHING, LIBRARY, Filter, Flag, Hit, Index, Passage, Reach, SearchQuery

log = logging.getLogger(__name__)

THRESHOLD = 0.5
FLOOR = 0.2  # a lower score is kept as nothing found
LONGEST_WORDS = 200  # characters of the words that are kept
DEEPEST = 160  # passages that a search asks for, at most, in place of those that are left out


class InstructionRail:
    """Passages that speak to the assistant instead of to their readers: commands, notes to an AI, tokens of roles."""

    name = "instructions"

    def __init__(
        self, options: Mapping[str, Any], detect: Detect = planted.detect, by: str = planted.NAME, shadow: bool = False
    ) -> None:
        self.fails: Fails = options.get("fails", "open")
        self.threshold = float(options.get("threshold", THRESHOLD))
        self.drops = options.get("action", "drop") != "warn" and not shadow
        self._action = options.get("action", "drop")
        self._detect = detect
        self.by = by

    def check(self, case: Case) -> Finding:
        """What is found in one passage: to be left out is the action `block` of a result."""
        ((score, (start, end)),) = self._detect([case.text])
        if score < self.threshold:
            return Finding(self.name, "allow", score, self.threshold, "nothing found")
        action = "warn" if self._action == "warn" else "block"
        reason = f"“{_words(case.text, start, end)}” is an instruction to the assistant"
        span = Span(start, end, "an instruction to the assistant")
        return Finding(self.name, action, score, self.threshold, reason, (span,), "found")  # type: ignore[arg-type]

    def inspect(self, texts: Sequence[str]) -> list[Flag]:
        """What is found in many texts at once, as an index keeps it."""
        found = zip(texts, self._detect(texts), strict=True)
        return [
            Flag(self.by, round(score, 4), _words(text, start, end)) if score >= FLOOR else Flag(self.by)
            for text, (score, (start, end)) in found
        ]

    def is_suspect(self, passage: Passage) -> bool:
        """Whether a passage that was looked at is to be left out, or warned of."""
        return passage.flag is not None and not passage.trusted and passage.flag.score >= self.threshold

    def among(self, passages: Iterable[tuple[int, Flag]]) -> tuple[tuple[int, Flag], ...]:
        """Those of the flags that are high enough to act on."""
        return tuple((place, flag) for place, flag in passages if flag.score >= self.threshold)

    def looked_at(self, index: Index, passages: Sequence[Passage]) -> list[Passage]:
        """The passages with their flags. Those that this check has not looked at are looked at now, which is kept."""
        fresh = [each for each in passages if each.id > 0 and (each.flag is None or each.flag.by != self.by)]
        if not fresh:
            return list(passages)
        flags = self.inspect([with_heading(each.heading, each.text) for each in fresh])
        found = {each.id: flag for each, flag in zip(fresh, flags, strict=True)}
        try:
            index.put_flags(found)
        except LibraryError:  # a library that cannot be written to, or not now: it is looked at again next time
            log.debug("what was found in %d passages could not be kept", len(found), exc_info=True)
        return [dataclasses.replace(each, flag=found.get(each.id, each.flag)) for each in passages]


class Sieve:
    """A library as one turn may read it: only what is within reach, whatever is asked for, and passages that instruct
    the assistant are left out of what it gives, and others take their place. `left_out` are those, best first; `on_top`
    says whether one of them was the best of a search."""

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
            kept = self._sifted([hit.passage for hit in hits])
            if hits and hits[0].passage.id in self.left_out:
                self.on_top = True
            if len(kept) >= k or len(hits) < wanted or wanted >= DEEPEST:
                return [
                    dataclasses.replace(hit, passage=kept[hit.passage.id]) for hit in hits if hit.passage.id in kept
                ][:k]
            wanted = min(2 * wanted, DEEPEST)

    def locate(self, sentence: str) -> Passage | None:
        return self._one(self._index.locate(sentence, self._reach))

    def held(self, words: Sequence[str]) -> dict[str, int]:
        return self._index.held(words, self._reach)

    def passage(self, passage_id: int) -> Passage | None:
        return self._one(self._index.passage(passage_id, self._reach))

    def around(self, passage: Passage, reach: int = 1) -> list[Passage]:
        if self._index.passage(passage.id, self._reach) is None:
            return []
        return list(self._sifted(self._index.around(passage, reach)).values())

    def terms(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self._index.terms(self._reach)

    def titles(self, limit: int, where: Filter = EVERYTHING) -> tuple[list[str], int]:
        """What the first documents of the collections that are looked at are called, and how many there are."""
        asked = where.collections
        if asked and self._reach.collections:
            asked = tuple(each for each in asked if each in self._reach.collections)
            if not asked:
                return [], 0
        reach = dataclasses.replace(self._reach, collections=asked) if asked else self._reach
        listed = self._index.find_documents(limit=limit, reach=reach)
        return [each.title or each.source for each in listed], self._index.counts(reach).documents

    @property
    def reason(self) -> str:
        """What a trace says about the passages that were left out; empty if none were."""
        passages = self.left_out.values()
        titles = ", ".join(dict.fromkeys(f"“{each.title}”" for each in passages))
        several = "1 more was" if len(passages) == 1 else f"{len(passages)} more were"
        return f"; {several} left out, for they instruct the assistant: {titles}" if passages else ""

    def in_detail(self) -> dict[str, Any]:
        """The suspect passages for the trace: where they are, the words in question and how sure that is."""
        return {"left_out": _suspected(self.left_out), "warned": _suspected(self.warned)}

    def _one(self, passage: Passage | None) -> Passage | None:
        return next(iter(self._sifted([passage]).values()), None) if passage is not None else None

    def _sifted(self, passages: Sequence[Passage]) -> dict[int, Passage]:
        if self._rail is None:
            return {each.id: each for each in passages}
        kept = {}
        for each in self._rail.looked_at(self._index, passages):
            if not self._rail.is_suspect(each):
                kept[each.id] = each
            elif self._rail.drops:
                self.left_out.setdefault(each.id, each)
            else:
                self.warned.setdefault(each.id, each)
                kept[each.id] = each
        return kept


def _suspected(passages: Mapping[int, Passage]) -> list[dict[str, Any]]:
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


def _words(text: str, start: int, end: int) -> str:
    """The words that are meant, with what follows them in their line: what is commanded."""
    line_end = text.find("\n", end)
    rest = text[end : line_end if line_end >= 0 else len(text)]
    return one_line(text[start:end] + rest, LONGEST_WORDS) or one_line(text, LONGEST_WORDS)
