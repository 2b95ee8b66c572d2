"""The topic rails: topics that must not be discussed, by phrase, and topics that a conversation should stay on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnwise.guard.reading import TextReading
from turnwise.guard.stream import AnswerContext, Reader, StreamHit
from turnwise.guard.verdict import Action, Case, Fails, Finding, Span
from turnwise.text import stem, stem_or_beginning
from turnwise.types import Embedder

MAX_WORD_CHARS = 60  # the rest of a longer word is ignored
DEFAULT_THRESHOLD = 0.55  # cosine similarity to the nearest description, below which a message is off topic
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"  # scripts without spaces: each character counts as a word
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_PART = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+\*?")

WordForms = tuple[str, str]  # a case-folded word, and its stem


class Phrases:
    """Topics and the phrases for each. A word matches in all its inflections, a word that ends in * with any ending."""

    def __init__(self, topics: Mapping[str, Sequence[str]]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
        self._by_prefix: list[tuple[tuple[str, ...], str]] = []  # phrases whose first word ends in *
        for topic, phrases in topics.items():
            if not isinstance(phrases, list | tuple) or not all(isinstance(each, str) for each in phrases):
                raise ValueError(f'the topic {topic!r} should be a list of phrases, such as ["refund", "chargeback*"]')
            for phrase in phrases:
                parts = tuple(stem_or_beginning(part) for part in _PART.findall(phrase))
                if parts:
                    (self._by_prefix if parts[0].endswith("*") else self._by_first[parts[0]]).append((parts, topic))
        entries = [*self._by_prefix, *(each for entries in self._by_first.values() for each in entries)]
        self.max_words = max((len(parts) for parts, _ in entries), default=0)

    def __bool__(self) -> bool:
        return self.max_words > 0

    def find(self, text: str) -> list[Span]:
        """The spans in which a text names a topic; the kind of each is the topic."""
        words = list(_words(text))
        forms = [form for _, _, form in words]
        spans: list[Span] = []
        for at in range(len(words)):
            if (found := self.at(forms, at)) and (not spans or words[at][0] >= spans[-1].end):
                spans.append(Span(words[at][0], words[at + found[0] - 1][1], found[1]))
        return spans

    def at(self, forms: Sequence[WordForms], place: int) -> tuple[int, str] | None:
        """The number of words and the topic of the longest phrase that starts here."""
        matches = [
            each for each in self._starting_with(forms[place]) if _matches(each[0], forms[place : place + len(each[0])])
        ]
        return max(((len(parts), topic) for parts, topic in matches), default=None)

    def begins(self, forms: Sequence[WordForms]) -> bool:
        """Whether these words may still become a phrase."""
        return any(
            len(parts) > len(forms) and _matches(parts[: len(forms)], forms)
            for parts, _ in self._starting_with(forms[0])
        )

    def _starting_with(self, word: WordForms) -> Iterator[tuple[tuple[str, ...], str]]:
        yield from self._by_first.get(word[1], ())
        yield from (each for each in self._by_prefix if word[0].startswith(each[0][0][:-1]))


class TopicsRail:
    """Acts on messages and answers that name a topic which must not be discussed."""

    name = "topics"

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.fails: Fails = options.get("fails", "open")
        self.action: Action = options.get("action", "block")
        self._blocked = Phrases(options.get("blocked", {}))

    def check(self, case: Case) -> Finding:
        spans = self._spans(case.reading)
        if not spans:
            return Finding(self.name, reason="nothing found")
        topics = dict.fromkeys(span.kind for span in spans)
        reason = f"{', '.join(topics)} {'is' if len(topics) == 1 else 'are'} not discussed here"
        return Finding(self.name, self.action, 1.0, 0.5, reason, spans, "found")

    def _spans(self, reading: TextReading) -> tuple[Span, ...]:
        """Where a message names a topic: in the original, or else in the first of its other forms that does."""
        if found := self._blocked.find(reading.original):
            return tuple(found)
        for view in reading.views:
            if found := self._blocked.find(view.text):
                return tuple(Span(*reading.place(view, each.start, each.end), each.kind) for each in found)
        return ()

    def open(self, context: AnswerContext) -> Reader | None:  # noqa: ARG002
        return TopicReader(self._blocked) if self._blocked else None

    def spans(self, text: str, context: AnswerContext) -> list[Span]:  # noqa: ARG002
        return self._blocked.find(text)


class TopicReader:
    """Looks for phrases in a stream, and holds back words that may still become one."""

    def __init__(self, phrases: Phrases) -> None:
        self._phrases = phrases
        self._text = ""
        self._at = 0

    def feed(self, piece: str, final: bool) -> tuple[list[StreamHit], int]:
        self._text += piece
        words = list(_words(self._text))
        unfinished = bool(words) and not final and words[-1][1] == len(self._text)
        begun = words.pop()[0] if unfinished else len(self._text)
        forms = [form for _, _, form in words]
        hits: list[StreamHit] = []
        place = 0
        settled = begun
        while place < len(words):
            if not final and self._phrases.begins(forms[place : place + self._phrases.max_words]):
                settled = words[place][0]
                break
            found = self._phrases.at(forms, place)
            if found:
                start, end = words[place][0], words[place + found[0] - 1][1]
                hits.append(StreamHit(self._at + start, self._at + end, found[1], f"[{found[1]} removed]"))
            place += found[0] if found else 1
        self._text, self._at = self._text[settled:], self._at + settled
        return hits, self._at


class OffTopicRail:
    """Warns if a message is about none of the topics of a preset, by phrase or by similarity to descriptions of them.
    Follow-ups are not judged, because they are about what was said before."""

    name = "off_topic"
    reads_history = True

    def __init__(self, options: Mapping[str, Any], embedder: Embedder | None = None) -> None:
        self.fails: Fails = options.get("fails", "open")
        self.action: Action = options.get("action", "warn")
        self._topics = Phrases({"allowed": options.get("topics", ())})
        self._about = tuple(options.get("about", ()))
        self._threshold = float(options.get("threshold", DEFAULT_THRESHOLD))
        self._embedder = embedder
        self._vectors: Any = None

    def check(self, case: Case) -> Finding:
        similarity = self._similarity(case.text)
        if not (self._topics or similarity is not None):
            return Finding(self.name, reason="there is nothing to judge by", state="skipped")
        if case.history or self._topics.find(case.text) or (similarity or 0.0) >= self._threshold:
            return Finding(self.name, score=similarity or 0.0, threshold=self._threshold, reason="nothing found")
        reason = "the message is about none of the topics of this assistant"
        return Finding(self.name, self.action, similarity or 0.0, self._threshold, reason, state="found")

    def _similarity(self, text: str) -> float | None:
        if not self._about or self._embedder is None:
            return None
        if self._vectors is None:
            self._vectors = self._embedder.embed_passages(list(self._about))
        return float((self._vectors @ self._embedder.embed_query(text)).max())


def _words(text: str) -> Iterator[tuple[int, int, WordForms]]:
    """The words of a text, as (start, end, forms)."""
    for found in _WORD.finditer(text):
        word = found[0][:MAX_WORD_CHARS].casefold()
        yield *found.span(), (word, stem(word))


def _matches(parts: Sequence[str], forms: Sequence[WordForms]) -> bool:
    return len(parts) == len(forms) and all(
        word.startswith(part[:-1]) if part.endswith("*") else word_stem == part
        for part, (word, word_stem) in zip(parts, forms, strict=True)
    )
