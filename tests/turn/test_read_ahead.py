"""What is read of a turn after its answer, so that the next message waits for less."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from talking import answered, said

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.extractive import ExtractiveAnswerer
from turnwise.guard.documents import Sieve
from turnwise.turn.parts import Parts
from turnwise.turn.run import READ_AHEAD_POOL
from turnwise.turn.understand import Senses
from turnwise.types import Embedder, TurnRequest

if TYPE_CHECKING:
    from turnwise.types import Vectors

FIRST, ANSWER = said("What is overfitting?", "Overfitting is learning the training data by heart. [1]")


class Watched:
    """An embedder that notes what it is asked."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.dimension = embedder.name, embedder.dimension
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Vectors:
        self.asked.append(text)
        return self._embedder.embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed_passages(texts)


class Broken(Watched):
    def embed_query(self, text: str) -> Vectors:
        if text == "no, I meant dropout":  # which a turn itself never embeds
            raise RuntimeError("no more memory")
        return super().embed_query(text)


def test_a_correction_is_embedded_once_it_is_answered(
    make_parts: Callable[..., Parts], extractive: ExtractiveAnswerer, sample_engine: Engine
) -> None:
    embedder = Watched(sample_engine.index.embedder)
    parts = dataclasses.replace(make_parts(extractive), senses=Senses(embedder))
    correction = TurnRequest("no, I meant dropout", history=(FIRST, ANSWER))
    answered(dataclasses.replace(correction, crowded=lambda: True), parts)
    READ_AHEAD_POOL.submit(lambda: None).result()
    assert correction.message not in embedder.asked  # others wait
    answered(correction, parts)
    READ_AHEAD_POOL.submit(lambda: None).result()  # comes after what was submitted before
    assert correction.message in embedder.asked


def test_a_turn_is_answered_where_it_cannot_be_read_ahead(
    make_parts: Callable[..., Parts], extractive: ExtractiveAnswerer, sample_engine: Engine
) -> None:
    parts = dataclasses.replace(make_parts(extractive), senses=Senses(Broken(sample_engine.index.embedder)))
    assert "dropout" in answered(TurnRequest("no, I meant dropout", history=(FIRST, ANSWER)), parts).text.lower()


def test_a_turn_is_taken_in_before_the_next_message(sample_engine: Engine) -> None:
    tracker, conversation = sample_engine._parts.senses.tracker, sample_engine.chat()
    before = tracker.folded
    conversation.ask("What is overfiting?")
    READ_AHEAD_POOL.submit(lambda: None).result()
    assert tracker.folded == before + 2
    second = TurnRequest("How do I prevent it?", conversation_id=conversation.id, crowded=lambda: True)
    sample_engine.run(sample_engine.answer(second))
    assert tracker.folded == before + 2  # what was said is known, its slips of the pen mended


def test_a_turn_is_read_ahead_though_its_library_is_closed(
    sample_library: Path, caplog: pytest.LogCaptureFixture
) -> None:
    busy = threading.Event()
    READ_AHEAD_POOL.submit(busy.wait, 30)
    with build(Settings(library=str(sample_library))) as engine:
        engine.chat().ask("What is overfitting?")
        tracker = engine._parts.senses.tracker
        folded = tracker.folded
    busy.set()
    READ_AHEAD_POOL.submit(lambda: None).result()
    assert tracker.folded == folded + 2
    assert not caplog.records


def test_the_terms_of_the_library_are_asked_for_once_a_turn(
    make_parts: Callable[..., Parts], extractive: ExtractiveAnswerer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Sieve] = []
    terms = Sieve.terms
    monkeypatch.setattr(Sieve, "terms", lambda library: asked.append(library) or terms(library))
    parts = make_parts(extractive)
    parts = dataclasses.replace(parts, settings=dataclasses.replace(parts.settings, suggestions=0))
    assert "BERT" in answered(TurnRequest("What is BERT?"), parts).text
    READ_AHEAD_POOL.submit(lambda: None).result()
    assert len(asked) == 1
