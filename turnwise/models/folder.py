"""The folder of an embedder of the user's, as sentence-transformers and its exporters lay it out: where its files are,
and how it makes one vector of a text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from turnwise.errors import WeightsError
from turnwise.models.weights import Weights

HINT = "Set `embedder` to a folder with model.onnx (or onnx/model.onnx) and tokenizer.json, or leave it empty."
OTHER = "Choose another model, or leave `embedder` empty."
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
MODULES = "modules.json"
POOLING = Path("1_Pooling", "config.json")
PROMPTS = "config_sentence_transformers.json"
FIRST_TOKEN, MEAN = "cls", "mean"
QUERY_PROMPTS = ("query", "web_search_query")
PASSAGE_PROMPTS = ("document", "passage", "corpus")
T = TypeVar("T", list, dict)  # type: ignore[type-arg]


@dataclass(frozen=True, slots=True)
class Manner:
    """How a text becomes a vector: from its first token or the mean of all, and what is put before it. As the pinned
    embedder does it, unless the folder says otherwise."""

    mean: bool = False
    query_prefix: str = QUERY_PREFIX
    passage_prefix: str = ""


def folder_weights(folder: Path) -> Weights:
    """The weights in the folder; their hashes are not pinned."""
    models = (folder / "model.onnx", folder / "onnx" / "model.onnx")
    model = next((each for each in models if each.is_file()), None)
    if model is None:
        raise WeightsError(f"The embedder's folder {folder} has no model.onnx.", HINT)
    if not (folder / "tokenizer.json").is_file():
        raise WeightsError(f"The embedder's folder {folder} has no tokenizer.json.", HINT)
    return Weights(model, folder / "tokenizer.json")


def folder_manner(folder: Path) -> Manner:
    """What its files say of it. Raises WeightsError if one cannot be read, or asks for what an embedder cannot do."""
    if any(str(each.get("type")).endswith(".Dense") for each in _read(folder / MODULES, list)):
        raise WeightsError(
            f"{folder / MODULES} asks for a dense layer behind the model, which is not supported.", OTHER
        )
    pooling = _pooling(folder / POOLING)
    prompts = _read(folder / PROMPTS, dict)
    if not prompts:
        return Manner(pooling == MEAN)
    given = prompts.get("prompts") or {}
    query, passage = (
        next((given[name] for name in names if isinstance(given.get(name), str)), "")
        for names in (QUERY_PROMPTS, PASSAGE_PROMPTS)
    )
    return Manner(pooling == MEAN, query, passage)


def _pooling(file: Path) -> str:
    """FIRST_TOKEN, also where nothing is said, or MEAN."""
    config = _read(file, dict)
    flags = {"pooling_mode_cls_token": FIRST_TOKEN, "pooling_mode_mean_tokens": MEAN}
    asked = {flags.get(name, name) for name, on in config.items() if name.startswith("pooling_mode_") and on is True}
    asked |= {str(config["pooling_mode"])} if "pooling_mode" in config else set()
    if len(asked) > 1 or not asked <= {FIRST_TOKEN, MEAN}:
        raise WeightsError(
            f"{file} asks for {' and '.join(sorted(asked))}, not for the first token or the mean.", OTHER
        )
    return next(iter(asked), FIRST_TOKEN)


def _read(file: Path, kind: type[T]) -> T:
    """The object in a JSON file; an empty one if there is no file."""
    if not file.is_file():
        return kind()
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"{file} cannot be read: {error}", HINT) from error
    return found if isinstance(found, kind) else kind()
