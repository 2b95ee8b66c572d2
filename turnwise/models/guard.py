"""The trained part of the guard: whether a message attacks the assistant, and whether a passage was given orders for it.

Two networks of our own: a linear one over pieces of text, which reads anything in a moment, and an encoder that reads
what is decisive. `quick` is the first alone, for what was said before and as a sieve.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwise.errors import WeightsError
from turnwise.models.ngrams import Linear
from turnwise.models.sessions import opened
from turnwise.models.weights import OWN, OWN_HINT, own_weights

if TYPE_CHECKING:
    import numpy.typing as npt
    from tokenizers import Tokenizer

MAX_TOKENS = 256
HEAD, MIDDLE, TAIL = 700, 400, 400  # characters of a long text that are read: its start, what is suspicious, its end
SMOOTH = 5  # tokens over which the score of a passage is averaged
CACHED = 2048


class Suspicion(NamedTuple):
    """How likely, from 0 to 1, and which stretch of the text speaks for it."""

    chance: float
    span: tuple[int, int]


class OnnxGuard:
    """The networks, read at the first text; safe to use from several threads at once."""

    def __init__(self, folder: Path = OWN, threads: int = 0) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: _Networks | None = None
        self.quick = lru_cache(CACHED)(self._quick)

    def _quick(self, text: str) -> Suspicion:
        """Whether a message is an attack, by its pieces alone."""
        networks = self._networks()
        odds, span = networks.messages.score(text)
        return Suspicion(_chance(odds, networks.card["quick"]), span)

    def attack(self, text: str) -> Suspicion:
        """Whether a message is an attack."""
        networks = self._networks()
        odds, span = networks.messages.score(text)
        decisive = text if len(text) <= HEAD + MIDDLE + TAIL else _decisive(text, span)
        said = networks.read(decisive, "attack")[1][0]
        words = min(1.0, len(text) / networks.card["long"])
        return Suspicion(_chance(said - words * networks.card["long_odds"], networks.card["attack"]), span)

    def planted(self, texts: Sequence[str]) -> list[Suspicion]:
        """Whether passages hold an order for the assistant that reads them, and where it stands."""
        return [self._planted(text) for text in texts]

    def _planted(self, text: str) -> Suspicion:
        networks = self._networks()
        odds, span = networks.passages.score(text)
        if odds < networks.card["sieve"]:
            return Suspicion(0.0, span)
        offsets, said = networks.read(text, "planted")
        if not len(said):
            return Suspicion(0.0, span)
        run = np.ones(min(SMOOTH, len(said)))
        smooth = np.convolve(said, run, "same") / np.convolve(np.ones(len(said)), run, "same")
        best = int(np.argmax(smooth))
        first, last = best, best
        while first > 0 and smooth[first - 1] > 0:
            first -= 1
        while last + 1 < len(smooth) and smooth[last + 1] > 0:
            last += 1
        return Suspicion(_chance(float(smooth[best]), networks.card["planted"]), (offsets[first][0], offsets[last][1]))

    def _networks(self) -> _Networks:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._threads)
            return self._loaded


class _Networks(NamedTuple):
    messages: Linear
    passages: Linear
    tokenizer: Tokenizer
    session: Any
    card: dict[str, Any]

    def read(self, text: str, output: str) -> tuple[list[tuple[int, int]], npt.NDArray[np.float32]]:
        """What the encoder says of a text, and where the tokens stand that it says it of."""
        encodable = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate would make the tokenizer raise
        encoding = self.tokenizer.encode(encodable)
        kept = _kept(len(encoding.ids))
        ids = np.array([encoding.ids], np.int64)[:, kept]
        said = self.session.run([output], {"input_ids": ids})[0].ravel()
        inner = kept[1:-1]
        return [encoding.offsets[at] for at in inner], said[1:-1] if output == "planted" else said


def _kept(count: int) -> npt.NDArray[np.int64]:
    """Which tokens of a long text are read: the first two thirds of the room, and the end."""
    if count <= MAX_TOKENS:
        return np.arange(count)
    head = MAX_TOKENS * 2 // 3
    return np.concatenate([np.arange(head), np.arange(count - (MAX_TOKENS - head), count)])


def _decisive(text: str, span: tuple[int, int]) -> str:
    start = max(HEAD, min(span[0], len(text) - TAIL - MIDDLE))
    return f"{text[:HEAD]} {text[start : start + MIDDLE]} {text[-TAIL:]}"


def _chance(odds: float, scale: Sequence[float]) -> float:
    """The odds as they were calibrated: times a slope, plus an offset."""
    return float(1 / (1 + np.exp(-(odds * scale[0] + scale[1]))))


def _load(folder: Path, threads: int) -> _Networks:
    weights = own_weights("guard", folder)
    try:
        card = json.loads((folder / "guard.json").read_text(encoding="utf-8"))
        with np.load(folder / "guard.npz") as stored:
            messages, passages = (
                Linear(stored[f"{name}_weights"] * stored[f"{name}_scale"], float(stored[f"{name}_bias"]))
                for name in ("messages", "passages")
            )
    except (OSError, ValueError, KeyError) as error:
        raise WeightsError(f"The guard in {folder} cannot be loaded: {error}", OWN_HINT) from error
    tokenizer, session = opened(weights, threads, OWN_HINT)
    return _Networks(messages, passages, tokenizer, session, card["calibration"])
