"""Scores how well the words of sentences match a question, by vectors of word pieces: far quicker than a model that
reads both together, and good enough to choose what that one reads."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.errors import WeightsError
from turnwise.models.reranker import title_line
from turnwise.models.weights import OWN, OWN_HINT, own_weights
from turnwise.text import CONTEXT_BAR

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from turnwise.types import Passage

MAX_QUESTION = 28  # tokens
MAX_TITLE = 14
MAX_BEFORE = 24  # of the previous sentence
MAX_TEXT = 44
CACHED_TEXTS = 8192
CACHED_WORDS = 8192

_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")

Vectors = np.ndarray[Any, np.dtype[np.float32]]
Ids = np.ndarray[Any, np.dtype[np.int32]]


class WordMatcher:
    """Loads its weights on first use; safe to use from several threads."""

    def __init__(self, folder: Path = OWN) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    def scores(self, question: str, sentences: Sequence[Passage]) -> list[float]:
        """How well each sentence, given as the text of a passage, matches the question: higher is better."""
        return self._model().scores(question, sentences) if question and sentences else [0.0] * len(sentences)

    def _model(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder)
            return self._loaded


@dataclass(frozen=True, slots=True)
class Table:
    """A vector for each word piece: small whole numbers, and what to multiply them by."""

    values: np.ndarray[Any, np.dtype[np.int8]]
    scale: Vectors

    def __getitem__(self, ids: Ids) -> Vectors:
        return self.values[ids].astype(np.float32) * self.scale[ids, None]


class _Model:
    """A sentence scores the sum of two parts. Each piece of the question is compared with the piece of the sentence
    that is most like it; and the question as a whole with the sentence as a whole, to know that "when" asks for a day
    or an hour. Pieces have weights, and those of titles, headings and the previous sentence count less."""

    def __init__(self, tokenizer: Tokenizer, stored: dict[str, Any]) -> None:
        self._tokenizer = tokenizer
        self._alike, self._asked, self._told = (
            Table(stored[name], stored[f"{name}_scale"].astype(np.float32)) for name in ("alike", "asked", "told")
        )
        self._question_weights = stored["question_weights"].astype(np.float32)
        self._sentence_weights = stored["sentence_weights"].astype(np.float32)
        self._part_weights = np.array([stored["title_weight"], stored["before_weight"], 1.0], np.float32)
        self._vocabulary: dict[str, int] = tokenizer.get_vocab()
        self._pieces = lru_cache(CACHED_TEXTS)(self._read_pieces)
        self._tokens = lru_cache(CACHED_TEXTS)(self._read_tokens)  # sentences share a title, and are before one another
        self._split = lru_cache(CACHED_WORDS)(self._tokenize)

    def scores(self, question: str, sentences: Sequence[Passage]) -> list[float]:
        asked = self._tokens(question)[:MAX_QUESTION]
        if not len(asked):
            return [0.0] * len(sentences)
        read = [self._pieces(each.title, each.heading, each.text) for each in sentences]
        ids = np.concatenate([each for each, _ in read])
        worth = np.concatenate([each for _, each in read])
        starts = np.cumsum([0, *(len(each) for each, _ in read[:-1])])

        weights = self._question_weights[asked]
        weights = weights / weights.sum()
        different, which = np.unique(ids, return_inverse=True)  # most pieces are in several sentences
        # BLAS would use threads here, which takes longer than the work itself.
        alike = np.einsum("qd,td->qt", self._alike[asked], self._alike[different])[:, which] * worth
        by_pieces = weights @ np.maximum.reduceat(alike, starts, axis=1)

        shares = self._sentence_weights[ids] * worth
        whole = self._told[ids] @ (weights @ self._asked[asked])
        by_whole = np.add.reduceat(whole * shares, starts) / np.add.reduceat(shares, starts)
        return [float(each) for each in by_pieces + by_whole]

    def _read_pieces(self, title: str, heading: str, text: str) -> tuple[Ids, Vectors]:
        """The word pieces of a sentence, with those of its title and of the previous sentence in front, and what each
        counts; at least one."""
        before, _, own = text.rpartition(CONTEXT_BAR)
        parts = (
            self._tokens(title_line(title, heading))[:MAX_TITLE],
            self._tokens(before)[:MAX_BEFORE],
            self._tokens(own)[:MAX_TEXT],
        )
        ids, worth = np.concatenate(parts), np.repeat(self._part_weights, [len(part) for part in parts])
        return (ids, worth) if len(ids) else (np.zeros(1, np.int32), np.ones(1, np.float32))

    def _read_tokens(self, text: str) -> Ids:
        """The word pieces of a text. Most English words are one piece, and looking one up is quick."""
        if not (text.isascii() and text.isprintable()):
            return self._tokenize(text)
        found: list[int] = []
        for word in _WORD.findall(text.lower()):
            piece = self._vocabulary.get(word)
            found += self._split(word).tolist() if piece is None else (piece,)
        return np.array(found, np.int32)

    def _tokenize(self, text: str) -> Ids:
        encodable = text.encode("utf-8", "replace").decode("utf-8")  # no lone surrogates
        return np.array(self._tokenizer.encode(encodable, add_special_tokens=False).ids, np.int32)


def _load(folder: Path) -> _Model:
    from tokenizers import Tokenizer

    weights = own_weights("matcher", folder, ".npz")
    try:
        with np.load(weights.model) as stored:
            arrays = dict(stored)
        tokenizer = Tokenizer.from_file(str(weights.tokenizer))
    except Exception as error:  # both libraries raise their own bare exceptions
        raise WeightsError(f"The matcher in {folder} cannot be loaded: {error}", OWN_HINT) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _Model(tokenizer, arrays)
