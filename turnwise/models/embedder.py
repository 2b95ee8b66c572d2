"""Vectors of texts from a BERT-type ONNX model: the first token's, of length 1."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.errors import WeightsError
from turnwise.models.weights import Weights, folder_weights, pinned_weights, sha256

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from turnwise.types import Vectors

MAX_TOKENS = 256
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
CACHED_QUERIES = 512


class OnnxEmbedder:
    """An embedder that reads its weights at the first text. Without a folder it is the pinned bge-small-en-v1.5."""

    def __init__(self, folder: Path | None = None, threads: int = 0) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: _Model | None = None
        self._cached_query = lru_cache(CACHED_QUERIES)(self._embed_query)
        self.name = "bge-small-en-v1.5"
        self.dimension = 384
        if folder is not None:  # only its files know what it is called and how long its vectors are
            self.name = f"{folder.resolve().name}-{sha256(folder_weights(folder).model)[:8]}"
            self.dimension = len(self.embed_query(""))

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, of shape (dimension,) and read-only; the latest questions are remembered."""
        return self._cached_query(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text. Only a text's first MAX_TOKENS tokens count."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        # One at a time: the int8 model scales its activations over a whole batch, so a text's vector would depend on
        # its neighbours; on two cores batches of 4 to 16 gained a tenth at best, on short texts.
        for row, text in enumerate(texts):
            vectors[row] = self._model().embed(text)
        return vectors

    def _embed_query(self, text: str) -> Vectors:
        vector = self._model().embed(QUERY_PREFIX + text)
        vector.setflags(write=False)
        return vector

    def _model(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                weights = pinned_weights() if self._folder is None else folder_weights(self._folder)
                self._loaded = _load(weights, self._threads)
            return self._loaded


class _Model:
    """A tokenizer and a session; safe to use from several threads at once."""

    def __init__(self, tokenizer: Tokenizer, session: Any) -> None:
        self._tokenizer = tokenizer
        self._session = session
        self._inputs = {node.name for node in session.get_inputs()}

    def embed(self, text: str) -> Vectors:
        encodable = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate would make the tokenizer raise
        ids = np.array([self._tokenizer.encode(encodable).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {name: feed[name] for name in feed if name in self._inputs})[0]
        first: Vectors = output[0, 0].astype(np.float32)
        return first / np.float32(np.linalg.norm(first))


def _load(weights: Weights, threads: int) -> _Model:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read at import; without it the runtime reports to its maker
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads would eat a core
    try:
        tokenizer = Tokenizer.from_file(str(weights.tokenizer))
        session = onnxruntime.InferenceSession(weights.model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # both libraries raise bare exceptions of their own
        raise WeightsError(
            f"The weights in {weights.model.parent} cannot be loaded: {error}",
            "Set `embedder` to a folder with a BERT-type model.onnx and its tokenizer.json, or leave it empty.",
        ) from error
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return _Model(tokenizer, session)
