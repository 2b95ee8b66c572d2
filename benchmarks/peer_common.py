"""Shared by benchmarks/peers.py and the systems it compares: the passages and turns, one embedder, one local model."""

from __future__ import annotations

import asyncio
import hashlib
import json
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.evaluation import data
from turnwise.models.embedder import OnnxEmbedder, QuickEmbedder
from turnwise.text import clean
from turnwise.types import Message

if TYPE_CHECKING:
    from turnwise.types import Vectors

DOMAINS = ("clapnq", "cloud", "fiqa")
BEST = 5  # passages per turn
CANDIDATES = 15  # passages for a re-ranker, if there is one
LONGEST = 160  # characters of a condensed question; the rest is cut off
SEED = 8
FOLLOW_UP = "how is it paid out?"
BEFORE = (
    Message("user", "What is a dividend?"),
    Message("assistant", "A dividend is a share of a company's profit that goes to those who hold its stock."),
)


@dataclass(frozen=True, slots=True)
class Turn:
    """A later turn of a conversation, and the passages that answer it. `rewrite` is the question rewritten to stand
    alone by a larger model, Mixtral-8x7B; it comes with the data."""

    conversation: str
    question: str
    rewrite: str
    history: tuple[Message, ...]
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class Task:
    """The input of every system: the same passages, and the same turns in the order of their conversations."""

    entries: tuple[data.Entry, ...]
    turns: tuple[Turn, ...]


Find = Callable[[str, Sequence[Message]], list[str]]  # from a question and its history to ids, best first


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which a system searches for a turn. `asks`: it condenses with the language model. `turn` is timed
    instead if a turn does more than that search. `given`: it searches for the rewrite that comes with the data."""

    name: str
    find: Find
    asks: bool = False
    turn: Find | None = None
    given: bool = False


@dataclass(frozen=True, slots=True)
class System:
    """A system that has been built: its ways of searching, the default one first, and its own packages."""

    ways: tuple[Way, ...]
    packages: tuple[str, ...]


def chosen_task(folder: Path, passages: int) -> Task:
    """The later turns of three MTRAG domains, and one collection of the passages that answer them and of passages drawn
    at random from the same domains; it is the same each time."""
    collection = next(each for each in data.collections(folder) if each.corpora)
    asked = [
        query for query in data.passage_queries(collection.turns) if query.asked.turn > 1 and query.domain in DOMAINS
    ]
    entries = {entry.id: entry for domain in DOMAINS for entry in data.entries(collection.corpora[domain])}
    wanted = {passage for query in asked for passage in query.relevant}
    others = sorted(entries.keys() - wanted)
    kept = (wanted & entries.keys()) | set(Random(SEED).sample(others, min(passages - len(wanted), len(others))))
    turns = [_turn(query) for query in asked]
    place = {name: order for order, name in enumerate(_shuffled({turn.conversation for turn in turns}))}
    turns.sort(key=lambda turn: (place[turn.conversation], len(turn.history)))
    return Task(tuple(entries[passage] for passage in sorted(kept)), tuple(turns))


def _turn(query: data.PassageQuery) -> Turn:
    asked = query.asked
    return Turn(_conversation(query), asked.question, asked.rewrite or asked.question, asked.history, query.relevant)


def _conversation(query: data.PassageQuery) -> str:
    opening = query.asked.history[0].content if query.asked.history else query.asked.question
    return f"{query.domain} {hashlib.sha256(opening.encode()).hexdigest()[:12]}"


def _shuffled(names: set[str]) -> list[str]:
    ordered = sorted(names)
    Random(SEED).shuffle(ordered)
    return ordered


def kept_task(cache: Path, folder: Path, passages: int) -> Task:
    """The task, cached on first use."""
    path = cache / f"task-{passages}-{SEED}.pickle"
    if not path.is_file():
        path.write_bytes(pickle.dumps(chosen_task(folder, passages)))
    task: Task = pickle.loads(path.read_bytes())
    return task


def passage_text(entry: data.Entry) -> str:
    """The text of a passage that every system embeds: its title and its text."""
    title = entry.title.strip()
    body = clean(entry.text.strip().removeprefix(title).strip() or entry.text)
    title = clean(entry.title)
    return f"{title}\n{body}" if title else body


class SameEmbedder:
    """Turnwise's embedder; passage vectors are cached."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self._questions = OnnxEmbedder()
        self._ours = QuickEmbedder(self._questions)
        self._file = cache / "vectors.npz"
        self._kept: dict[str, Vectors] = {}
        if self._file.is_file():
            stored = np.load(self._file)
            self._kept = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))
        self.name, self.dimension = self._ours.name, self._ours.dimension
        self.embed_query = self._ours.embed_query

    def forget(self) -> None:
        """Clear the cache of embedded questions."""
        self._questions._cached_query.cache_clear()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        new = list(dict.fromkeys(text for text in texts if _key(text) not in self._kept))
        for start in range(0, len(new), 256):
            some = new[start : start + 256]
            self._kept |= zip(map(_key, some), self._ours.embed_passages(some), strict=True)
            np.savez(self._file, keys=np.array(list(self._kept)), vectors=np.array(list(self._kept.values())))
        return np.array([self._kept[_key(text)] for text in texts], dtype=np.float32)


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


@dataclass(slots=True)
class SameModel:
    """SmolLM2-135M-Instruct in this process, called as Turnwise calls it. Its replies are cached with the time each
    took; `owed` is the wall-clock and processor time of the cached replies of a turn."""

    cache: Path
    threads: int
    owed: tuple[float, float] = (0.0, 0.0)
    live: bool = False  # ask even if a reply is cached
    _model: Any = None
    _kept: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self._file.is_file():
            rows = map(json.loads, self._file.read_text(encoding="utf-8").splitlines())
            self._kept = {row["key"]: row for row in rows}

    @property
    def _file(self) -> Path:
        return self.cache / "replies.jsonl"

    def reply(self, messages: Sequence[Message]) -> str:
        key = _key(json.dumps([(each.role, each.content) for each in messages]))
        if self.live or key not in self._kept:
            clock, processor = time.perf_counter(), time.process_time()
            text = self._said(messages)
            row = {"key": key, "text": text, "clock": time.perf_counter() - clock}
            row["processor"] = time.process_time() - processor
            self._kept[key] = row
            if self.live:
                return text
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
            return text
        row = self._kept[key]
        self.owed = self.owed[0] + row["clock"], self.owed[1] + row["processor"]
        return str(row["text"])

    def _said(self, messages: Sequence[Message]) -> str:
        from turnwise.models.local import LocalChat

        if self._model is None:
            self._model = LocalChat(threads=self.threads, timeout=600)
            self._model.prepare()
        return asyncio.run(self._model.rewrite(messages, LONGEST)).strip() or "?"
