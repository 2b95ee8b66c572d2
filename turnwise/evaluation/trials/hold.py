"""Runs the conversations of a test with the real product, over the documents that the test names."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from turnwise.app import build, build_sample
from turnwise.config import Settings, data_folder, load
from turnwise.engine import Engine, end_of
from turnwise.errors import ConfigError, DocumentError, TurnwiseError
from turnwise.evaluation.trials.expect import Check, observed
from turnwise.evaluation.trials.script import SAMPLE, Asked, Script, Talk
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore
from turnwise.types import Ending, Failed, Filter, Reply, Trace, TurnRequest


@dataclass(frozen=True, slots=True)
class Held:
    """A turn that was run: what was seen, and which of its checks failed."""

    asked: Asked
    number: int
    seen: dict[str, Any]
    trace: Trace
    misses: tuple[Check, ...]
    error: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A conversation that was run."""

    talk: Talk
    turns: tuple[Held, ...]
    opened: bool = True  # whether its documents and its library could be used

    @property
    def passed(self) -> bool:
        return not any(turn.misses for turn in self.turns)


def settings_for(script: Script, settings: Settings) -> Settings:
    """The current settings, overridden by those in the file."""
    try:
        known, _ = load(script.settings, environment={}, file=None) if script.settings else (Settings(), [])
    except ConfigError as error:
        raise ConfigError(f"{script.path}: {error}", error.hint) from error
    return replace(settings, **{name: getattr(known, name) for name in script.settings})


@contextmanager
def library_of(script: Script, settings: Settings) -> Iterator[Engine]:
    """The product over the documents of a test. Its conversations are kept apart from the library's own and deleted
    afterwards, as are documents that the file names."""
    settings = settings_for(script, settings)
    script_folder = script.path.parent
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        tables = [str(script_folder / each) if "://" not in each else each for each in script.data]
        if script.library == SAMPLE:
            sample = str(data_folder() / "sample")
            engine = build_sample(replace(settings, library=sample, database=""), tables=tables)
        elif script.documents:
            engine = build(replace(settings, library=str(folder / "library"), database=""), create=True, tables=tables)
            report = engine.add(*(script_folder / each for each in script.documents))
            if report.failed:
                engine.close()
                raise DocumentError(report.failed[0].message, report.failed[0].hint)
        elif script.library:
            engine = build(replace(settings, library=str(script_folder / script.library), database=""), tables=tables)
        else:
            engine = build(settings, tables=tables)
        stack.enter_context(engine)
        conversations = Database(folder / "conversations.db")
        stack.callback(conversations.close)
        yield engine.keeping(EmbeddedStore(conversations))


def hold_file(script: Script, settings: Settings) -> Iterator[Outcome]:
    """Run every conversation of a file over the library that it names. All fail if that cannot be opened, or a document
    cannot be read."""
    with ExitStack() as stack:
        try:
            engine = stack.enter_context(library_of(script, settings))
        except TurnwiseError as error:
            yield from (_not_held(talk, error) for talk in script.talks)
        else:
            yield from hold(script, engine)


def _not_held(talk: Talk, error: TurnwiseError) -> Outcome:
    seen = {"error": error.code, "latency": 0.0}
    return Outcome(talk, (Held(talk.turns[0], 1, seen, (), (Check("error", ""),), error.to_dict()),), opened=False)


def hold(script: Script, engine: Engine) -> Iterator[Outcome]:
    """Run every conversation of a file, one after the other."""
    with asyncio.Runner() as runner:
        for talk in script.talks:
            yield runner.run(_hold(talk, engine, uuid.uuid4().hex))


async def _hold(talk: Talk, engine: Engine, conversation_id: str) -> Outcome:
    turns: list[Held] = []
    answers: list[str] = []
    for number, asked in enumerate(talk.turns, 1):
        if asked.says is not None:
            engine.store.accept(conversation_id, asked.ask)
            engine.store.finish(conversation_id, number, Ending("answered", asked.says))
            answers.append(asked.says)
            continue
        end = await _run_turn(engine, asked, conversation_id)
        seen = observed(end, answers)
        misses = tuple(check for check in asked.checks if not check.holds(seen))
        error = end.error if isinstance(end, Failed) else None
        if error and not any(check.name in ("blocked", "error") for check in asked.checks):
            misses = (*misses, Check("error", ""))  # every turn is expected to finish, unless the test says otherwise
        turns.append(Held(asked, number, seen, end.trace, misses, error))
        if isinstance(end, Reply):
            answers.append(end.text)
    return Outcome(talk, tuple(turns))


async def _run_turn(engine: Engine, asked: Asked, conversation_id: str) -> Reply | Failed:
    where = Filter(collections=asked.collections)
    return await end_of(engine.stream(TurnRequest(asked.ask, (), conversation_id, asked.query, where)))
