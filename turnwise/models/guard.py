"""The trained part of the guard: whether a message attacks the assistant, and whether a passage gives it orders.

It has a fast linear network over n-grams, an encoder that reads the decisive parts, and a second encoder for messages
that are not English, which is also used if the first one is unsure about a short message. `quickly` uses the linear
network alone, for earlier messages.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwise.english import FEW_WORDS_CHARS, is_foreign
from turnwise.errors import WeightsError
from turnwise.models.ngrams import Linear
from turnwise.models.sessions import load_model
from turnwise.models.weights import OWN, OWN_HINT, own_weights

if TYPE_CHECKING:
    import numpy.typing as npt
    from tokenizers import Encoding, Tokenizer

log = logging.getLogger(__name__)

MAX_TOKENS = 256
SHORT_MESSAGE_CHARS = 400  # up to this length a message is read as a whole, beyond it in stretches
STRETCH_CHARS = 350
MAX_STRETCHES = 6  # the encoder reads those that are most suspicious to the linear network
FIRST_STRETCHES, HARMLESS_ODDS = 3, -1.5  # if the first ones are all below these odds plus the penalty, no more are
DECIDING_STRETCHES = 3  # the odds are the mean of the highest ones, because attacks show in more than one stretch
LENGTH_PENALTY = 0.7  # per e-fold of stretches: with more stretches, the most suspicious harmless one scores higher
PIECES_WEIGHT = 0.5  # of the linear network, relative to the encoder
DOUBT_ODDS = -2.5  # from here on the second encoder reads a short English message too: 1 in 10 harmless ones
SECOND_WEIGHT = 0.5  # of the second encoder then
OVERLAP_TOKENS = 64  # at least, between the windows of a long passage
SMOOTHED_TOKENS = 5  # over which the scores in a passage are averaged
CACHED_TEXTS = 64  # several rails check the same text
_BREAK = re.compile(r"[.!?。！？।\n]\s+")


class Suspicion(NamedTuple):
    """A probability from 0 to 1, and the stretch of the text that it is based on."""

    chance: float
    span: tuple[int, int]


class OnnxGuard:
    """The networks, loaded on first use, the one for other languages at the first message that needs it; safe to use
    from several threads at once."""

    def __init__(self, folder: Path = OWN, threads: int = 0) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: _Networks | None = None
        self._foreign: _Encoder | None = None
        self._second_failed = False  # then English is read without the second encoder
        self.odds = lru_cache(CACHED_TEXTS)(self._odds)

    def attack(self, text: str) -> Suspicion:
        """Whether a message is an attack."""
        return self._suspicion(text, kind_of(text))

    def opening(self, text: str) -> Suspicion:
        """Whether the first message of a conversation is an attack; it is calibrated to need less evidence."""
        kind = kind_of(text)
        few = len(text) <= FEW_WORDS_CHARS
        openings = {"attack": "opening", "foreign": "foreign_few" if few else "foreign_opening"}
        return self._suspicion(text, openings.get(kind, kind))

    def _suspicion(self, text: str, kind: str) -> Suspicion:
        odds, span = self.odds(text)
        return Suspicion(_probability(odds, self._networks().card[kind]), span)

    def quickly(self, texts: Sequence[str]) -> list[float]:
        """The probability that each text is an attack, by the linear network alone; many take little longer than
        one."""
        networks = self._networks()
        return [_probability(odds, networks.card["quick"]) for odds in networks.messages.scores(texts)]

    def _odds(self, text: str) -> tuple[float, tuple[int, int]]:
        """The uncalibrated log-odds that a message is an attack, and the stretch that they are based on."""
        networks, foreign = self._networks(), is_foreign(text)
        encoder = self._foreign_encoder() if foreign else networks.encoder
        if len(text) <= SHORT_MESSAGE_CHARS:
            by_pieces, span = networks.messages.score(text)
            by_encoder = encoder.read_message(text)
            in_doubt = not foreign and by_encoder + PIECES_WEIGHT * by_pieces > DOUBT_ODDS
            if in_doubt and (second := self._second_encoder()):
                by_encoder = (1 - SECOND_WEIGHT) * by_encoder + SECOND_WEIGHT * second.read_message(text)
            return by_encoder + PIECES_WEIGHT * by_pieces, span
        spans = stretches(text)
        pieces = networks.messages.scores([text[start:end] for start, end in spans])
        suspicious = np.argsort(pieces)[::-1][:MAX_STRETCHES]
        penalty = LENGTH_PENALTY * math.log(max(1.0, len(spans) / MAX_STRETCHES))
        by_stretch: list[float] = []
        with ThreadPoolExecutor(self._threads or os.cpu_count()) as pool:
            for part in (suspicious[:FIRST_STRETCHES], suspicious[FIRST_STRETCHES:]):
                if not by_stretch or max(by_stretch) - penalty >= HARMLESS_ODDS:
                    read = pool.map(encoder.read_message, [text[slice(*spans[at])] for at in part])
                    by_stretch += [odds + PIECES_WEIGHT * pieces[at] for odds, at in zip(read, part, strict=True)]
        span = spans[suspicious[int(np.argmax(by_stretch))]]
        return float(np.mean(sorted(by_stretch, reverse=True)[:DECIDING_STRETCHES])) - penalty, span

    def planted(self, texts: Sequence[str]) -> list[Suspicion]:
        """Whether passages contain an order to the assistant that reads them, and where."""
        networks = self._networks()
        if len(texts) < 2:
            return [_planted(text, networks) for text in texts]
        with ThreadPoolExecutor(self._threads or os.cpu_count()) as pool:
            return list(pool.map(lambda text: _planted(text, networks), texts))

    def _networks(self) -> _Networks:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._threads)
            return self._loaded

    def _foreign_encoder(self) -> _Encoder:
        with self._lock:
            if self._foreign is None:
                self._foreign = _encoder("guard_foreign", self._folder, self._threads)
            return self._foreign

    def _second_encoder(self) -> _Encoder | None:
        """The encoder for other languages, used for English too; None, with one warning, if it cannot be loaded."""
        if self._second_failed:
            return None
        try:
            return self._foreign_encoder()
        except WeightsError as error:
            self._second_failed = True
            log.warning("The guard reads English with one network instead of two: %s", error)
            return None


class _Encoder(NamedTuple):
    tokenizer: Tokenizer
    session: Any

    def read_message(self, text: str) -> float:
        """The encoder's log-odds that a text is an attack."""
        ids = np.array(self._encode(text).ids, np.int64)
        return float(self._read(ids[_kept_tokens(len(ids))], "attack")[0])

    def read_passage(self, text: str) -> tuple[list[tuple[int, int]], npt.NDArray[np.float32]]:
        """The spans of the tokens of a text, and the log-odds that each is part of an order. A token in two windows
        gets the higher odds."""
        encoding = self._encode(text)
        first, *inner, last = encoding.ids
        odds = np.full(len(inner), -np.inf, np.float32)
        for start, end in windows(len(inner)):
            in_window = self._read(np.array([first, *inner[start:end], last], np.int64), "planted")[1:-1]
            odds[start:end] = np.maximum(odds[start:end], in_window)
        return encoding.offsets[1:-1], odds

    def _encode(self, text: str) -> Encoding:
        encodable = text.encode("utf-8", "replace").decode("utf-8")  # encode() fails on lone surrogates
        return self.tokenizer.encode(encodable)

    def _read(self, ids: npt.NDArray[np.int64], output: str) -> npt.NDArray[np.float32]:
        return np.ravel(self.session.run([output], {"input_ids": ids[None]})[0])


class _Networks(NamedTuple):
    messages: Linear
    encoder: _Encoder
    card: dict[str, Any]


def _planted(text: str, networks: _Networks) -> Suspicion:
    offsets, odds = networks.encoder.read_passage(text)
    if not len(odds):
        return Suspicion(0.0, (0, 0))
    kernel = np.ones(min(SMOOTHED_TOKENS, len(odds)))
    smooth = np.convolve(odds, kernel, "same") / np.convolve(np.ones(len(odds)), kernel, "same")
    best = int(np.argmax(smooth))
    first, last = best, best
    while first > 0 and smooth[first - 1] > 0:
        first -= 1
    while last + 1 < len(smooth) and smooth[last + 1] > 0:
        last += 1
    return Suspicion(_probability(float(smooth[best]), networks.card["planted"]), (offsets[first][0], offsets[last][1]))


def windows(count: int) -> list[tuple[int, int]]:
    """The windows in which `count` tokens are read, spread evenly, each overlapping the one before by OVERLAP_TOKENS or
    more."""
    room = MAX_TOKENS - 2
    if count <= room:
        return [(0, count)]
    steps = -(-(count - room) // (room - OVERLAP_TOKENS))
    return [(start, start + room) for start in ((count - room) * step // steps for step in range(steps + 1))]


def _kept_tokens(count: int) -> npt.NDArray[np.int64]:
    """Which tokens of a very long message are read: its start, as two thirds of MAX_TOKENS, and its end."""
    if count <= MAX_TOKENS:
        return np.arange(count)
    head = MAX_TOKENS * 2 // 3
    return np.concatenate([np.arange(head), np.arange(count - (MAX_TOKENS - head), count)])


def kind_of(text: str) -> str:
    """Which calibration applies to a message: it depends on its length, and on the encoder that reads it."""
    long = "_long" if len(text) > SHORT_MESSAGE_CHARS else ""
    return f"foreign{long}" if is_foreign(text) else f"attack{long}"


def stretches(text: str) -> list[tuple[int, int]]:
    """The spans of a text in stretches of whole sentences, of the length the network reads best; a longer sentence is
    cut."""
    ends = [*(found.end() for found in _BREAK.finditer(text)), len(text)]
    spans: list[tuple[int, int]] = []
    start, last = 0, 0
    for end in ends:
        if end - start > STRETCH_CHARS and last > start:
            spans.append((start, last))
            start = last
        while end - start > STRETCH_CHARS * 3 // 2:
            spans.append((start, start + STRETCH_CHARS))
            start += STRETCH_CHARS
        last = end
    return [*spans, (start, len(text))] if start < len(text) else spans


def _probability(odds: float, scale: Sequence[float]) -> float:
    """The calibrated probability: the odds times a slope, plus an offset, through a sigmoid."""
    return float(1 / (1 + np.exp(-(odds * scale[0] + scale[1]))))


def _load(folder: Path, threads: int) -> _Networks:
    encoder = _encoder("guard", folder, threads)
    try:
        card = json.loads((folder / "guard.json").read_text(encoding="utf-8"))
        with np.load(folder / "guard.npz") as stored:
            messages = Linear(stored["weights"] * stored["scale"], float(stored["bias"]))
    except (OSError, ValueError, KeyError) as error:
        raise WeightsError(f"The guard in {folder} cannot be loaded: {error}", OWN_HINT) from error
    return _Networks(messages, encoder, card["calibration"])


def _encoder(name: str, folder: Path, threads: int) -> _Encoder:
    return _Encoder(*load_model(own_weights(name, folder), threads, OWN_HINT))
