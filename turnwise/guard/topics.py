"""Topics that are not talked about, by the phrases that name them, and topics that a conversation should keep to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnwise.guard.reading import TextReading
from turnwise.guard.stream import AnswerContext, Reader, StreamHit
from turnwise.guard.verdict import Action, Case, Fails, Finding, Span
from turnwise.text import stem
from turnwise.types import Embedder

LONGEST = 60  # characters of a word that count
FAR = 0.55  # cosine to the nearest description, below which a message is about something else
_SIGNS = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"  # of scripts without spaces: each is read as a word
_WORD = re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+")
_PART = re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+\*?")

Said = tuple[str, str]  # a word as it is written, and its stem


class Phrases:
    """Named topics and the phrases that stand for each: a word matches in all its inflections, one that ends in *
    whatever goes on from there."""

    def __init__(self, named: Mapping[str, Sequence[str]]) -> None:
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
        self._by_stem: list[tuple[tuple[str, ...], str]] = []  # that begin with a word that ends in *
        for topic, phrases in named.items():
            if not isinstance(phrases, list | tuple) or not all(isinstance(each, str) for each in phrases):
                raise ValueError(f'the topic {topic!r} should be a list of phrases, such as ["refund", "chargeback*"]')
            for phrase in phrases:
                parts = tuple(_part(part) for part in _PART.findall(phrase))
                if parts:
                    (self._by_stem if parts[0].endswith("*") else self._by_first[parts[0]]).append((parts, topic))
        entries = [*self._by_stem, *(each for several in self._by_first.values() for each in several)]
        self.longest = max((len(parts) for parts, _ in entries), default=0)  # words

    def __bool__(self) -> bool:
        return self.longest > 0

    def find(self, text: str) -> list[Span]:
        """Where a text names a topic, and which."""
        words = list(_read(text))
        forms = [form for _, _, form in words]
        spans: list[Span] = []
        for at in range(len(words)):
            if (found := self.at(forms, at)) and (not spans or words[at][0] >= spans[-1].end):
                spans.append(Span(words[at][0], words[at + found[0] - 1][1], found[1]))
        return spans

    def at(self, forms: Sequence[Said], place: int) -> tuple[int, str] | None:
        """How many words the longest phrase has that begins here, and its topic."""
        fits = [each for each in self._from(forms[place]) if _fit(each[0], forms[place : place + len(each[0])])]
        return max(((len(parts), topic) for parts, topic in fits), default=None)

    def begins(self, forms: Sequence[Said]) -> bool:
        """Whether these words may still become a phrase."""
        return any(len(parts) > len(forms) and _fit(parts[: len(forms)], forms) for parts, _ in self._from(forms[0]))

    def _from(self, word: Said) -> Iterator[tuple[tuple[str, ...], str]]:
        yield from self._by_first.get(word[1], ())
        yield from (each for each in self._by_stem if word[0].startswith(each[0][0][:-1]))


class TopicsRail:
    """Topics that are not talked about: what to do where a message, or an answer, names one."""

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
        reason = f"{', '.join(topics)} {'is' if len(topics) == 1 else 'are'} not talked about here"
        return Finding(self.name, self.action, 1.0, 0.5, reason, spans, "found")

    def _spans(self, reading: TextReading) -> tuple[Span, ...]:
        """Where a message names a topic: as it stands, or else in the first of its other forms in which it does."""
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
    """Follows the words of a text for as long as they may become a phrase."""

    def __init__(self, phrases: Phrases) -> None:
        self._phrases = phrases
        self._text = ""
        self._at = 0

    def feed(self, piece: str, final: bool) -> tuple[list[StreamHit], int]:
        self._text += piece
        words = list(_read(self._text))
        unfinished = bool(words) and not final and words[-1][1] == len(self._text)
        begun = words.pop()[0] if unfinished else len(self._text)
        forms = [form for _, _, form in words]
        hits: list[StreamHit] = []
        place = 0
        settled = begun
        while place < len(words):
            if not final and self._phrases.begins(forms[place : place + self._phrases.longest]):
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
    """A warning where a message is about none of the topics of a preset: by phrases, or by its likeness to descriptions
    of what is talked about. It says nothing of a follow-up, which is about what was said before."""

    name = "off_topic"
    reads_history = True

    def __init__(self, options: Mapping[str, Any], embedder: Embedder | None = None) -> None:
        self.fails: Fails = options.get("fails", "open")
        self.action: Action = options.get("action", "warn")
        self._topics = Phrases({"allowed": options.get("topics", ())})
        self._about = tuple(options.get("about", ()))
        self._threshold = float(options.get("threshold", FAR))
        self._embedder = embedder
        self._vectors: Any = None

    def check(self, case: Case) -> Finding:
        likeness = self._likeness(case.text)
        if not (self._topics or likeness is not None):
            return Finding(self.name, reason="there is nothing to judge by", state="skipped")
        if case.history or self._topics.find(case.text) or (likeness or 0.0) >= self._threshold:
            return Finding(self.name, score=likeness or 0.0, threshold=self._threshold, reason="nothing found")
        reason = "the message is about none of the topics of this assistant"
        return Finding(self.name, self.action, likeness or 0.0, self._threshold, reason, state="found")

    def _likeness(self, text: str) -> float | None:
        if not self._about or self._embedder is None:
            return None
        if self._vectors is None:
            self._vectors = self._embedder.embed_passages(list(self._about))
        return float((self._vectors @ self._embedder.embed_query(text)).max())


def _read(text: str) -> Iterator[tuple[int, int, Said]]:
    """The words of a text and where they stand."""
    for word in _WORD.finditer(text):
        said = word[0][:LONGEST].casefold()
        yield *word.span(), (said, stem(said))


def _part(word: str) -> str:
    return word.casefold() if word.endswith("*") else stem(word)


def _fit(parts: Sequence[str], said: Sequence[Said]) -> bool:
    return len(parts) == len(said) and all(
        word.startswith(part[:-1]) if part.endswith("*") else its_stem == part
        for part, (word, its_stem) in zip(parts, said, strict=True)
    )
