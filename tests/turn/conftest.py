from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.extractive import ExtractiveAnswerer
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.models.matcher import WordMatcher
from turnwise.models.reranker import ForeignJudge, OnnxReranker
from turnwise.turn.parts import Parts
from turnwise.types import ChatModel, Message, Reply, TurnRequest


@pytest.fixture(scope="session")
def talk(sample_engine: Engine) -> Callable[..., tuple[Reply, ...]]:
    """Holds a conversation on the sample library and gives its replies. The same conversation is held only once."""

    @cache
    def talk(*messages: str) -> tuple[Reply, ...]:
        chat = sample_engine.chat()
        return tuple(chat.ask(message) for message in messages)

    return talk


@pytest.fixture(scope="session")
def tutor_engine(sample_library: Path) -> Iterator[Engine]:
    """An engine over the sample library with the preset of the machine-learning tutor."""
    with build(Settings(library=str(sample_library), preset="tutor")) as engine:
        yield engine


@pytest.fixture(scope="session")
def lesson(tutor_engine: Engine) -> Callable[..., tuple[Reply, ...]]:
    """As `talk`, with the tutor."""

    @cache
    def lesson(*messages: str) -> tuple[Reply, ...]:
        chat = tutor_engine.chat()
        return tuple(chat.ask(message) for message in messages)

    return lesson


@pytest.fixture(scope="session")
def talk_stateless(sample_engine: Engine) -> Callable[..., tuple[Reply, ...]]:
    """The same, for a caller that keeps the history itself: roles and contents, nothing else."""

    def talk_stateless(*messages: str) -> tuple[Reply, ...]:
        history: tuple[Message, ...] = ()
        replies = []
        for message in messages:
            replies.append(sample_engine.run(sample_engine.answer(TurnRequest(message, history))))
            history = (*history, Message("user", message), Message("assistant", replies[-1].text))
        return tuple(replies)

    return talk_stateless


@pytest.fixture(scope="session")
def extractive() -> ExtractiveAnswerer:
    return ExtractiveAnswerer(OnnxReranker(), WordMatcher(), ForeignJudge())


@pytest.fixture(scope="session")
def make_parts(sample_engine: Engine) -> Callable[..., Parts]:
    """The parts of a turn over the sample library, with the models and settings of a test's choice."""

    def make_parts(*models: ChatModel, **settings: Any) -> Parts:
        chosen = replace(sample_engine.settings, **settings)
        guard = GuardrailPipeline(max_message=chosen.max_message)
        return Parts(chosen, sample_engine.index, sample_engine.store, guard, models)

    return make_parts
