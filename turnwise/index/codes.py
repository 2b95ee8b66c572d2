"""Vectors with a byte per number: a quarter of the memory, and precise enough to find what is then compared exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from turnwise.types import Vectors

    Integers = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float32]
    Bytes = npt.NDArray[np.int8]
    Truths = npt.NDArray[np.bool_]


class Rows(NamedTuple):
    """Vectors as codes, one per row: their numbers in the database, their passages, the codes, and the scales that turn
    the product of two codes into a cosine."""

    seqs: Integers
    passages: Integers
    codes: Bytes
    scales: Floats

    def at(self, which: slice | Integers | Truths) -> Rows:
        return Rows(self.seqs[which], self.passages[which], self.codes[which], self.scales[which])


def no_rows(dimension: int = 0) -> Rows:
    return made_room(0, dimension)


def made_room(rows: int, dimension: int) -> Rows:
    return Rows(
        np.empty(rows, dtype=np.int64),
        np.empty(rows, dtype=np.int64),
        np.empty((rows, dimension), dtype=np.int8),
        np.empty(rows, dtype=np.float32),
    )


def to_blob(vector: Vectors) -> bytes:
    """A vector as it is stored: in half precision, which moves a cosine by less than 0.001."""
    return vector.astype(np.float16).tobytes()


def from_blobs(blobs: list[bytes]) -> Vectors:
    """Stored vectors, one per row."""
    return np.frombuffer(b"".join(blobs), dtype=np.float16).reshape(len(blobs), -1).astype(np.float32)


def coded(vectors: Vectors) -> tuple[Bytes, Floats]:
    """Vectors as codes with their scales: the largest number of each vector becomes 127."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    codes = np.rint(vectors * (127 / np.maximum(largest, 1e-12)))
    lengths = np.sqrt(np.einsum("ij,ij->i", codes, codes))
    return codes.astype(np.int8), (1 / np.maximum(lengths, 1)).astype(np.float32)


def cosines(rows: Rows, question: Vectors) -> Floats:
    """How near each row is to the question, within about 0.005."""
    import numkong

    code, scale = coded(question[None])
    if not len(rows.seqs):
        return np.empty(0, dtype=np.float32)
    near: Floats = np.asarray(numkong.cdist(code, np.asarray(rows.codes), "dot"))[0].astype(np.float32)
    near *= rows.scales * scale[0]
    return near
