"""Loads weights: a tokenizer and an ONNX Runtime session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise.errors import WeightsError
from turnwise.models.weights import Weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def load_model(weights: Weights, threads: int, hint: str) -> tuple[Tokenizer, Any]:
    """The tokenizer, without truncation or padding, and the session, which uses `threads` threads (0: one per core)."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(weights.tokenizer))
        session = session_of(weights.model, threads)
    except Exception as error:  # both libraries raise their own bare exceptions
        raise WeightsError(f"The weights in {weights.model.parent} cannot be loaded: {error}", hint) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, session


def session_of(model: Path, threads: int) -> Any:
    """An ONNX Runtime session; safe to use from several threads at once."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read at import; otherwise the runtime sends telemetry to its vendor
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # otherwise idle threads occupy a core
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
