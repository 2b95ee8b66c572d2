"""Scores how well passages answer a question, with BERT-type ONNX models that read both together."""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.models.sessions import load_model
from turnwise.models.weights import OWN, OWN_HINT, Weights, own_weights, pinned_reranker
from turnwise.text import content_stems, sentences, stem, words

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from turnwise.types import Passage

MIN_PIECE_CHARS = 60  # shorter sentences are joined
MAX_PIECE_CHARS = 200
MAX_PIECES = 64  # per passage
CHARS_PER_TOKEN = 4.3  # on average
CACHED_PASSAGES = 4096
CACHED_TITLES = 1024
CACHED_SCORES = 8192  # of question and passage: a common question is read once

_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"\(?\bhttps?://[^\s)\]>]+\)?")


@dataclass(frozen=True, slots=True)
class Room:
    """The most tokens that a model reads of question and passage together, of the question, and of the passage's title
    and heading; and its tokens for the start, and for the end of either part."""

    tokens: int
    question: int
    title: int
    start: int = 101  # of bert-base-uncased
    end: int = 102


STUDENT = Room(tokens=112, question=28, title=14)
TEACHER = Room(tokens=224, question=48, title=24)
FOREIGN = Room(tokens=128, question=56, title=14, start=0, end=2)  # of a message with what was said before it


# --- choosing what to read of a passage --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pieces:
    """A passage in pieces of one or a few sentences, in order, with the stems of the words in each."""

    texts: tuple[str, ...]
    stems: tuple[frozenset[str], ...]
    sizes: tuple[int, ...]


@lru_cache(maxsize=CACHED_PASSAGES)
def pieces(text: str) -> Pieces:
    """Joins short sentences and splits long ones between words; URLs are left out."""
    found: list[str] = []
    for sentence in sentences(_ADDRESS.sub(" ", text)) or [text]:
        for part in _parts(" ".join(sentence.split())):
            if found and len(found[-1]) < MIN_PIECE_CHARS and len(found[-1]) + len(part) < MAX_PIECE_CHARS:
                found[-1] += " " + part
            else:
                found.append(part)
    del found[MAX_PIECES:]
    stems = tuple(frozenset(map(stem, _WORD.findall(each.lower()))) for each in found)
    return Pieces(tuple(found), stems, tuple(len(each) + 1 for each in found))


def _parts(sentence: str) -> list[str]:
    if len(sentence) <= MAX_PIECE_CHARS:
        return [sentence]
    count = math.ceil(len(sentence) / MAX_PIECE_CHARS)
    target = len(sentence) / count
    parts, start = [], 0
    for number in range(1, count):
        at = sentence.rfind(" ", start + 1, round(number * target))
        end = at if at > start else round(number * target)
        parts.append(sentence[start:end].strip())
        start = end
    return [part for part in (*parts, sentence[start:].strip()) if part]


def rarity(question: str, passages: Sequence[Pieces]) -> dict[str, float]:
    """The weight of each word of the question, by its stem: higher if fewer of the passages have it."""
    stems = [frozenset().union(*each.stems) for each in passages]
    return {
        key: math.log1p(len(stems) / (1 + sum(key in each for each in stems)))
        for key in sorted(content_stems(question))
    }


def choose(passage: Pieces, weights: Mapping[str, float], room: float) -> list[int]:
    """The pieces to read, in order, if not all fit into `room` characters: first those with the rarest words of the
    question, preferring words that no chosen piece has; then the pieces after them, then the start of the passage."""
    if not _is_cut(passage, room):
        return list(range(len(passage.texts)))
    candidates = {number: shared for number, each in enumerate(passage.stems) if (shared := weights.keys() & each)}
    chosen: list[int] = []
    covered: set[str] = set()

    def worth(number: int) -> tuple[float, int]:
        return sum(weights[key] * (0.25 if key in covered else 1.0) for key in candidates[number]), -number

    def take(number: int) -> bool:
        nonlocal room
        fits = 0 <= number < len(passage.texts) and number not in chosen and passage.sizes[number] <= room
        if fits or not chosen:
            chosen.append(number)
            room -= passage.sizes[number]
        return fits

    while candidates:
        best = max(candidates, key=worth)
        if take(best):
            covered |= candidates[best]
        del candidates[best]
    for number in (*(each + 1 for each in tuple(chosen)), *range(len(passage.texts))):
        take(number)
    return sorted(chosen)


def _is_cut(passage: Pieces, room: float) -> bool:
    """Whether not all pieces fit into `room` characters."""
    return sum(passage.sizes) > room


def room_for_text(room: Room, question: int, title: int) -> float:
    """The number of characters of the text that fit beside the tokens of the question and the title."""
    return (room.tokens - 3 - question - title) * CHARS_PER_TOKEN


def title_line(title: str, heading: str) -> str:
    """The line in front of a passage's text: its headings, the nearest first because the line may be cut, then the
    title."""
    parts = [*reversed(heading.split(" > ")), title]
    return " ".join(": ".join(part for part in parts if part).split())


def _title_line(passage: Passage, asked_words: Collection[str]) -> str:
    """The same, with the authors in front if the question names one of them."""
    line, reference = title_line(passage.title, passage.heading), passage.reference
    return f"{reference}: {line}" if reference is not None and reference.is_named(asked_words) else line


# --- scoring -----------------------------------------------------------------------------------------------------


class _Reader:
    """Loads its weights on first use; safe to use from several threads."""

    def __init__(self, folder: Path, threads: int) -> None:
        self._folder = folder
        self._threads = threads or min(4, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    def odds(self, question: str, sentences: Sequence[Passage]) -> list[float]:
        """The log-odds that each passage, a single sentence, answers the question."""
        return [odds for _, odds in self._model().read(question, sentences)] if sentences else []

    def _model(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> _Model:
        raise NotImplementedError


class OnnxReranker(_Reader):
    """The re-ranker, which judges single sentences too.

    It is the fast one that comes with the package, or with `quality` the larger one that it was distilled from, the
    pinned ms-marco-MiniLM-L-12-v2.
    """

    def __init__(self, quality: bool = False, folder: Path = OWN, threads: int = 0) -> None:
        super().__init__(folder, threads)
        self.name = "ms-marco-MiniLM-L-12-v2" if quality else "turnwise-reranker"
        self.reads = 15 if quality else 8  # for the small one, reading further down does not pay off
        self.trust = 1 / 30 if quality else 1 / 120
        self._quality = quality

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """How well each passage answers the question (a logit): higher is better."""
        return [score for score, _ in self._model().read(question, passages)] if passages else []

    def _load(self) -> _Model:
        weights = pinned_reranker() if self._quality else own_weights("reranker", self._folder)
        return _load(weights, TEACHER if self._quality else STUDENT, self._threads)


class ForeignJudge(_Reader):
    """Judges whether a sentence in another language than English answers a message, which is given with what was said
    before it (`in_context` in turnwise/extractive/foreign.py)."""

    def __init__(self, folder: Path = OWN, threads: int = 0) -> None:
        super().__init__(folder, threads)

    def _load(self) -> _Model:
        return _load(own_weights("judge_foreign", self._folder), FOREIGN, self._threads)


@dataclass(frozen=True, slots=True)
class Pair:
    """The input of the encoder: [CLS] the question [SEP] the title and the chosen pieces of the passage [SEP]."""

    ids: list[int]
    front: int  # number of tokens up to and including the first [SEP]

    @property
    def key(self) -> tuple[bytes, int]:
        return np.array(self.ids, dtype=np.int32).tobytes(), self.front


class _Model:
    def __init__(self, tokenizer: Tokenizer, session: Any, room: Room, threads: int) -> None:
        self._tokenizer = tokenizer
        self._session = session
        self._room = room
        self._inputs = {node.name for node in session.get_inputs()}
        self._pool = ThreadPoolExecutor(threads, "reranker")
        self._cached_score = lru_cache(CACHED_SCORES)(self._score)
        self._short_tokens = lru_cache(CACHED_TITLES)(self._tokens)  # of questions and titles

    def read(self, question: str, passages: Sequence[Passage]) -> list[tuple[float, float]]:
        """For each passage, its score among others, and the log-odds that it answers as a single sentence; the pinned
        model has one score for both."""
        # One pair at a time, on several threads: no padding, no score that depends on the other passages, and no slower
        # than batches. The longest come first, so that the threads end together.
        pairs = self.pairs(question, passages)
        order = sorted(range(len(pairs)), key=lambda number: -len(pairs[number].ids))
        keys = [pairs[number].key for number in order]
        found = dict(zip(order, self._pool.map(lambda key: self._cached_score(*key), keys), strict=True))
        return [found[number] for number in range(len(pairs))]

    def pairs(self, question: str, passages: Sequence[Passage]) -> list[Pair]:
        divided = [pieces(each.text) for each in passages]
        asked = self._short_tokens(question)[: self._room.question]
        asked_words = {word.lower() for word in words(question)}
        titles = [self._short_tokens(_title_line(each, asked_words))[: self._room.title] for each in passages]
        rooms = [room_for_text(self._room, len(asked), len(title)) for title in titles]
        weights = rarity(question, divided) if any(map(_is_cut, divided, rooms)) else {}
        texts = []
        for each, room in zip(divided, rooms, strict=True):
            chosen = choose(each, weights, room)
            texts.append(self._tokens(" ".join(each.texts[number] for number in chosen)))
        front = [self._room.start, *asked, self._room.end]
        left = self._room.tokens - len(front) - 1
        return [
            Pair([*front, *[*title, *text][:left], self._room.end], len(front))
            for title, text in zip(titles, texts, strict=True)
        ]

    def _tokens(self, text: str) -> list[int]:
        encodable = text.encode("utf-8", "replace").decode("utf-8")  # no lone surrogates
        return self._tokenizer.encode(encodable, add_special_tokens=False).ids

    def _score(self, tokens: bytes, front: int) -> tuple[float, float]:
        ids = np.frombuffer(tokens, dtype=np.int32).astype(np.int64).reshape(1, -1)
        types = np.zeros_like(ids)
        types[0, front:] = 1
        feed = {"ids": ids, "types": types, "front": np.array([front], dtype=np.int64)}
        feed |= {"input_ids": ids, "token_type_ids": types, "attention_mask": np.ones_like(ids)}
        outputs = self._session.run(None, {name: feed[name] for name in self._inputs})
        return float(outputs[0].reshape(-1)[0]), float(outputs[-1].reshape(-1)[0])


def _load(weights: Weights, room: Room, threads: int) -> _Model:
    tokenizer, session = load_model(weights, 1, OWN_HINT)  # _Model runs its own threads
    return _Model(tokenizer, session, room, threads)
