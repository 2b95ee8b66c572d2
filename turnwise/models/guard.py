"""The trained part of the guard: whether a message attacks the assistant, and whether a passage gives it orders.

Networks of our own: a linear one over pieces of text, which reads anything in a moment, and an encoder that reads what
is decisive; another one for messages that are not English, which is asked too where the first is not sure of a short
one. `quickly` is the linear one alone, for what was said before.
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

from turnwise.errors import WeightsError
from turnwise.models.ngrams import Linear
from turnwise.models.sessions import opened
from turnwise.models.weights import OWN, OWN_HINT, own_weights

if TYPE_CHECKING:
    import numpy.typing as npt
    from tokenizers import Encoding, Tokenizer

log = logging.getLogger(__name__)

MAX_TOKENS = 256
SHORT = 400  # characters of a message that is judged as a whole; a longer one is judged by its stretches
STRETCH = 350
READ = 6  # stretches of a long message that the encoder reads: those that are most suspicious to the linear network
FIRST, HONEST = 3, -1.5  # where the first so many are below these odds, the others are not read: none is worse
COUNTED = 3  # of them that decide: a long message is an attack where more than one of its stretches is
MANY = 0.7  # what their odds lose with each e-fold of stretches: of many honest ones the most suspicious are more so
PIECES = 0.5  # how much the linear network counts beside the encoder
DOUBT = -2.5  # odds of a short English message from which on the second encoder reads it too: 1 of 10 honest ones
SECOND = 0.5  # how much it counts then beside the first
OVERLAP = 64  # tokens of a long passage that are read with what stands before them and again with what follows
SMOOTH = 5  # tokens over which the score of a passage is averaged
CACHED = 64  # texts, for rails that judge the same one; what was said long ago is remembered by its score elsewhere
_WORD = re.compile(r"[^\W\d_]+")
ENGLISH = frozenset(
    "the a an of to in on at for from with by and or but if is are was were be been do does did have has had can could"
    " will would should may might must not no i you he she it we they me my your his her its our their this that"
    " these those what which who how when where why there here as so than then please about into out up all any"
    " some".split()
)
_BREAK = re.compile(r"[.!?。！？।\n]\s+")


class Suspicion(NamedTuple):
    """How likely, from 0 to 1, and which stretch of the text speaks for it."""

    chance: float
    span: tuple[int, int]


class OnnxGuard:
    """The networks, read at the first text, the one for other languages at the first message that needs it; safe to use
    from several threads at once."""

    def __init__(self, folder: Path = OWN, threads: int = 0) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: _Networks | None = None
        self._foreign: _Encoder | None = None
        self._alone = False  # whether English is read without the second encoder, which could not be loaded
        self.odds = lru_cache(CACHED)(self._odds)

    def attack(self, text: str) -> Suspicion:
        """Whether a message is an attack."""
        return self._taken(text, kind_of(text))

    def opening(self, text: str) -> Suspicion:
        """Whether a message that opens a conversation is one, of which one need not be so sure."""
        kind = kind_of(text)
        return self._taken(text, "opening" if kind == "attack" else kind)

    def _taken(self, text: str, kind: str) -> Suspicion:
        odds, span = self.odds(text)
        return Suspicion(_chance(odds, self._networks().card[kind]), span)

    def quickly(self, texts: Sequence[str]) -> list[float]:
        """How likely each of these is an attack, by its pieces alone; many take little longer than one."""
        networks = self._networks()
        return [_chance(odds, networks.card["quick"]) for odds in networks.messages.scores(texts)]

    def _odds(self, text: str) -> tuple[float, tuple[int, int]]:
        """The log-odds that a message is an attack, as they come, and the stretch that speaks for it."""
        networks, foreign = self._networks(), is_foreign(text)
        encoder = self._foreign_encoder() if foreign else networks.encoder
        if len(text) <= SHORT:
            by_pieces, span = networks.messages.score(text)
            said = encoder.read_message(text)
            if not foreign and said + PIECES * by_pieces > DOUBT and (second := self._second_encoder()):
                said = (1 - SECOND) * said + SECOND * second.read_message(text)
            return said + PIECES * by_pieces, span
        spans = stretches(text)
        pieces = networks.messages.scores([text[start:end] for start, end in spans])
        read = np.argsort(pieces)[::-1][:READ]
        by_stretch: list[float] = []
        with ThreadPoolExecutor(self._threads or os.cpu_count()) as pool:
            for some in (read[:FIRST], read[FIRST:]):
                if not by_stretch or max(by_stretch) >= HONEST:
                    by_encoder = pool.map(encoder.read_message, [text[slice(*spans[at])] for at in some])
                    by_stretch += [odds + PIECES * pieces[at] for odds, at in zip(by_encoder, some, strict=True)]
        span = spans[read[int(np.argmax(by_stretch))]]
        chosen = MANY * math.log(max(1.0, len(spans) / READ))
        return float(np.mean(sorted(by_stretch, reverse=True)[:COUNTED])) - chosen, span

    def planted(self, texts: Sequence[str]) -> list[Suspicion]:
        """Whether passages hold an order for the assistant that reads them, and where it stands."""
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
        """The same for English, which can do without it: a file that is missing or damaged is told once."""
        if self._alone:
            return None
        try:
            return self._foreign_encoder()
        except WeightsError as error:
            self._alone = True
            log.warning("the guard reads English with one network instead of two: %s", error)
            return None


class _Encoder(NamedTuple):
    tokenizer: Tokenizer
    session: Any

    def read_message(self, text: str) -> float:
        """The log-odds of the encoder that a text is an attack."""
        ids = np.array(self._encoded(text).ids, np.int64)
        return float(self._read(ids[_kept(len(ids))], "attack")[0])

    def read_passage(self, text: str) -> tuple[list[tuple[int, int]], npt.NDArray[np.float32]]:
        """Where the tokens of a text stand, and the log-odds of each to be part of an order: of one that is read twice,
        at the end of a window and at the start of the next, the higher ones."""
        encoding = self._encoded(text)
        first, *inner, last = encoding.ids
        said = np.full(len(inner), -np.inf, np.float32)
        for start, end in windows(len(inner)):
            by_token = self._read(np.array([first, *inner[start:end], last], np.int64), "planted")[1:-1]
            said[start:end] = np.maximum(said[start:end], by_token)
        return encoding.offsets[1:-1], said

    def _encoded(self, text: str) -> Encoding:
        encodable = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate would make the tokenizer raise
        return self.tokenizer.encode(encodable)

    def _read(self, ids: npt.NDArray[np.int64], output: str) -> npt.NDArray[np.float32]:
        return np.ravel(self.session.run([output], {"input_ids": ids[None]})[0])


class _Networks(NamedTuple):
    messages: Linear
    encoder: _Encoder
    card: dict[str, Any]


def _planted(text: str, networks: _Networks) -> Suspicion:
    offsets, said = networks.encoder.read_passage(text)
    if not len(said):
        return Suspicion(0.0, (0, 0))
    run = np.ones(min(SMOOTH, len(said)))
    smooth = np.convolve(said, run, "same") / np.convolve(np.ones(len(said)), run, "same")
    best = int(np.argmax(smooth))
    first, last = best, best
    while first > 0 and smooth[first - 1] > 0:
        first -= 1
    while last + 1 < len(smooth) and smooth[last + 1] > 0:
        last += 1
    return Suspicion(_chance(float(smooth[best]), networks.card["planted"]), (offsets[first][0], offsets[last][1]))


def windows(count: int) -> list[tuple[int, int]]:
    """So many tokens as windows of what is read at once, spread evenly, each with OVERLAP or more of the one before."""
    room = MAX_TOKENS - 2
    if count <= room:
        return [(0, count)]
    steps = -(-(count - room) // (room - OVERLAP))
    return [(start, start + room) for start in ((count - room) * step // steps for step in range(steps + 1))]


def _kept(count: int) -> npt.NDArray[np.int64]:
    """Which tokens of a message with very many are read: the first two thirds of the room, and the end."""
    if count <= MAX_TOKENS:
        return np.arange(count)
    head = MAX_TOKENS * 2 // 3
    return np.concatenate([np.arange(head), np.arange(count - (MAX_TOKENS - head), count)])


def kind_of(text: str) -> str:
    """How the odds of a message are to be taken: by its length, and by the encoder that reads it."""
    long = "_long" if len(text) > SHORT else ""
    return f"foreign{long}" if is_foreign(text) else f"attack{long}"


def is_foreign(text: str) -> bool:
    """Whether a message is plainly not English: in other letters, or of some length without English function words."""
    text = text[:2000]
    if not text.isascii():
        letters = [letter for letter in text if letter.isalpha()]
        if sum(not letter.isascii() for letter in letters) > 0.1 * len(letters):
            return True
    words = _WORD.findall(text.lower())
    return len(words) > 5 and sum(map(ENGLISH.__contains__, words)) < 0.15 * len(words)


def stretches(text: str) -> list[tuple[int, int]]:
    """A text in stretches of whole sentences, as long as the network reads best; a longer sentence is cut."""
    ends = [*(found.end() for found in _BREAK.finditer(text)), len(text)]
    spans: list[tuple[int, int]] = []
    start, last = 0, 0
    for end in ends:
        if end - start > STRETCH and last > start:
            spans.append((start, last))
            start = last
        while end - start > STRETCH * 3 // 2:
            spans.append((start, start + STRETCH))
            start += STRETCH
        last = end
    return [*spans, (start, len(text))] if start < len(text) else spans


def _chance(odds: float, scale: Sequence[float]) -> float:
    """The odds as they were calibrated: times a slope, plus an offset."""
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
    return _Encoder(*opened(own_weights(name, folder), threads, OWN_HINT))
