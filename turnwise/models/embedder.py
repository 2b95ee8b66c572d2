"""Text vectors from a BERT-type ONNX model, of length 1."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.errors import ConfigError, LibraryError, TurnwiseError, WeightsError
from turnwise.models.folder import HINT, Manner, folder_manner, folder_weights
from turnwise.models.sessions import load_model
from turnwise.models.weights import OWN, PINNED_NAME, Weights, own_weights, pinned_weights, sha256

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from turnwise.types import Embedder, Vectors

MAX_TOKENS = 256
CACHED_QUERIES = 512


class OnnxEmbedder:
    """An embedder that loads its weights on first use. Without a folder, it is the pinned bge-small-en-v1.5."""

    def __init__(self, folder: Path | None = None, threads: int = 0) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: _Model | None = None
        self._cached_query = lru_cache(CACHED_QUERIES)(self._embed_query)
        self._manner = Manner()
        self.name = PINNED_NAME
        self.dimension = 384
        if folder is not None:  # its name and dimension depend on its files
            self._manner = folder_manner(folder)
            digest = sha256(folder_weights(folder).model)
            if self._manner != Manner():  # another manner makes other vectors
                digest = hashlib.sha256(f"{digest} {self._manner}".encode()).hexdigest()
            self.name = f"{folder.resolve().name}-{digest[:8]}"
            self.dimension = len(self.embed_query(""))

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, of shape (dimension,) and read-only; recent questions are cached."""
        return self._cached_query(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row per text. Only the first MAX_TOKENS tokens of a text count."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        # One at a time: the int8 model scales its activations over a whole batch, so a text's vector would depend on
        # the others in it. On two cores, batches of 4 to 16 were 10% faster at best, on short texts.
        for row, text in enumerate(texts):
            vectors[row] = self._model().embed(self._manner.passage_prefix + text)
        return vectors

    def _embed_query(self, text: str) -> Vectors:
        vector = self._model().embed(self._manner.query_prefix + text)
        vector.setflags(write=False)
        return vector

    def _model(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                weights = pinned_weights() if self._folder is None else folder_weights(self._folder)
                self._loaded = _load(weights, self._threads, self._manner.mean)
            return self._loaded


class QuickEmbedder:
    """Embeds questions with a full embedder, and passages with a small network trained to produce the same vectors in a
    quarter of the time. They are close enough that a library may hold passage vectors from both."""

    def __init__(self, questions: OnnxEmbedder, folder: Path = OWN, threads: int = 0) -> None:
        self.name = questions.name
        self.dimension = questions.dimension
        self.embed_query = questions.embed_query
        self._folder = folder
        self._threads = threads or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row per text. Only the first MAX_TOKENS tokens of a text count."""
        model = self._model()
        # One text per thread, each on one core: 25% faster than every text on all cores, and batches gain nothing.
        with ThreadPoolExecutor(self._threads) as pool:
            rows = list(pool.map(model.embed, texts))
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)

    def _model(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(own_weights("embedder", self._folder), threads=1)
            return self._loaded


class CheckedEmbedder:
    """An embedder of the user's own. Its vectors may be lists or arrays of any length: they are checked and scaled to
    length 1. The latest questions are remembered."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.dimension = embedder.dimension
        self._cached_query = lru_cache(CACHED_QUERIES)(self._embed_query)

    def embed_query(self, text: str) -> Vectors:
        return self._cached_query(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        try:
            vectors = self._embedder.embed_passages(texts)
        except TurnwiseError:
            raise
        except Exception as error:
            raise LibraryError(
                f"The embedder {self.name} broke ({type(error).__name__}).",
                "What was added can be searched by its words. Mend the embedder, then add it again.",
            ) from error
        return self._scaled(vectors, (len(texts), self.dimension))

    def _embed_query(self, text: str) -> Vectors:
        vector = self._scaled(self._embedder.embed_query(text), (self.dimension,))
        vector.setflags(write=False)
        return vector

    def _scaled(self, given: Any, shape: tuple[int, ...]) -> Vectors:
        try:
            vectors = np.array(given, dtype=np.float32)
        except (TypeError, ValueError):
            vectors = np.array(np.nan, dtype=np.float32)
        if vectors.shape != shape or not np.isfinite(vectors).all():
            raise ConfigError(
                f"The embedder {self.name} did not return finite numbers of shape {shape}.",
                "Return one vector of `dimension` numbers for each text.",
            )
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
        return np.divide(vectors, np.where(lengths > 0, lengths, 1), dtype=np.float32)


class _Model:
    """A tokenizer and a session; safe to use from several threads at once."""

    def __init__(self, tokenizer: Tokenizer, session: Any, mean: bool) -> None:
        self._tokenizer = tokenizer
        self._session = session
        self._mean = mean  # of all tokens; otherwise the first one
        self._inputs = {node.name for node in session.get_inputs()}

    def embed(self, text: str) -> Vectors:
        encodable = text.encode("utf-8", "replace").decode("utf-8")  # encode() fails on lone surrogates
        ids = np.array([self._tokenizer.encode(encodable).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {name: feed[name] for name in feed if name in self._inputs})[0]
        tokens = output[0].astype(np.float32)
        vector: Vectors = tokens.mean(axis=0) if self._mean else tokens[0]
        return vector / np.float32(np.linalg.norm(vector))


def _load(weights: Weights, threads: int, mean: bool = False) -> _Model:
    tokenizer, session = load_model(weights, threads, HINT)
    if len(session.get_outputs()[0].shape) != 3:
        raise WeightsError(f"{weights.model} does not give a vector for each token.", HINT)
    tokenizer.enable_truncation(MAX_TOKENS)
    return _Model(tokenizer, session, mean)
