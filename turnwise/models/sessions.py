"""Weights, opened: a tokenizer and a session of the runtime."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise.errors import WeightsError
from turnwise.models.weights import Weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def opened(weights: Weights, threads: int, hint: str) -> tuple[Tokenizer, Any]:
    """The tokenizer, which neither cuts nor pads, and the session, whose runs use so many threads (0: one a core)."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(weights.tokenizer))
        session = session_of(weights.model, threads)
    except Exception as error:  # both libraries raise bare exceptions of their own
        raise WeightsError(f"The weights in {weights.model.parent} cannot be loaded: {error}", hint) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, session


def session_of(model: Path, threads: int) -> Any:
    """A session of the runtime; safe to use from several threads at once."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read at import; without it the runtime reports to its maker
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads would eat a core
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
