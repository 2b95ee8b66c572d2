"""Arrays on disk, and weights that are kept as integers with scale and zero. No more than numpy."""

from __future__ import annotations

import lzma
from io import BytesIO
from pathlib import Path

import numpy as np

Weights = dict[str, np.ndarray]


def write(file: Path, arrays: Weights, preset: int = 6) -> None:
    file.write_bytes(compressed(arrays, preset))
    print(f"{file}: {file.stat().st_size / 2**20:.1f} MiB", flush=True)


def compressed(arrays: Weights, preset: int) -> bytes:
    packed = BytesIO()
    np.savez(packed, **arrays)
    return lzma.compress(packed.getvalue(), preset=preset)


def read(file: Path) -> Weights:
    """What `write` left, or the parts FILE.0, FILE.1... that such a file was divided into."""
    parts = (
        [file] if file.is_file() else sorted(file.parent.glob(f"{file.name}.*"), key=lambda part: int(part.suffix[1:]))
    )
    with np.load(BytesIO(lzma.decompress(b"".join(part.read_bytes() for part in parts)))) as packed:
        return {name: packed[name] for name in packed.files}


def plain(weights: Weights, name: str) -> np.ndarray:
    """A weight as float32, whether it was packed or not."""
    if name in weights:
        return weights[name].astype(np.float32)
    return (weights[f"{name}|values"].astype(np.float32) - weights[f"{name}|zero"]) * weights[f"{name}|scale"]


def by_row(weight: np.ndarray) -> tuple[np.ndarray, ...]:
    """A matrix as int8 with a scale for every row, and zeros."""
    scale = (np.abs(weight).max(1, keepdims=True) / 127 + 1e-12).astype(np.float32)
    return np.round(weight / scale).astype(np.int8), scale, np.zeros_like(scale, np.int8)


def mean(runs: list[Weights]) -> Weights:
    """The mean of the weights of several runs, packed as those of the first are."""
    weights: Weights = {}
    for name in {name.split("|")[0] for name in runs[0]}:
        value = np.mean([plain(run, name) for run in runs], 0)
        if f"{name}|values" in runs[0]:
            values, scale, zero = by_row(value)
            weights |= {f"{name}|values": values, f"{name}|scale": scale, f"{name}|zero": zero}
        else:
            weights[name] = value
    return weights
