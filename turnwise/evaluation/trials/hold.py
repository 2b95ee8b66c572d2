"""The conversations of a test held for real: with the product as it is set, over the documents that the test names."""

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
from turnwise.engine import Engine
from turnwise.errors import DocumentError
from turnwise.evaluation.trials.expect import Check, observed
from turnwise.evaluation.trials.script import SAMPLE, Asked, Script, Talk
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore
from turnwise.types import Answered, Ending, Failed, Filter, Reply, Trace, TurnRequest


@dataclass(frozen=True, slots=True)
class Held:
    """A turn that was held: what was seen of it, and which of the checks do not hold."""

    asked: Asked
    number: int
    seen: dict[str, Any]
    trace: Trace
    misses: tuple[Check, ...]
    error: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A conversation that was held."""

    talk: Talk
    turns: tuple[Held, ...]

    @property
    def passed(self) -> bool:
        return not any(turn.misses for turn in self.turns)


def settings_for(script: Script, settings: Settings) -> Settings:
    """The settings in force, with those of the file above them."""
    known, _ = load(script.settings, environment={}, file=None) if script.settings else (Settings(), [])
    return replace(settings, **{name: getattr(known, name) for name in script.settings})


@contextmanager
def library_of(script: Script, settings: Settings) -> Iterator[Engine]:
    """The product over the documents of a test. What is said is kept apart from the library's own conversations, and is
    forgotten afterwards; so are documents that the file names."""
    chosen = settings_for(script, settings)
    beside = script.path.parent
    with ExitStack() as held:
        folder = Path(held.enter_context(TemporaryDirectory()))
        tables = [str(beside / each) if "://" not in each else each for each in script.data]
        if script.library == SAMPLE:
            home = str(data_folder() / "sample")
            engine = build_sample(replace(chosen, library=home, database=""), tables=tables)
        elif script.documents:
            engine = build(replace(chosen, library=str(folder / "library"), database=""), create=True, tables=tables)
            report = engine.add(*(beside / each for each in script.documents))
            if report.failed:
                engine.close()
                raise DocumentError(f"{report.failed[0].source}: {report.failed[0].message}", report.failed[0].hint)
        elif script.library:
            engine = build(replace(chosen, library=str(beside / script.library), database=""), tables=tables)
        else:
            engine = build(chosen, tables=tables)
        held.enter_context(engine)
        talks = Database(folder / "conversations.db")
        held.callback(talks.close)
        yield engine.keeping(EmbeddedStore(talks))


def hold(script: Script, engine: Engine) -> Iterator[Outcome]:
    """Every conversation of a file, one after the other."""
    with asyncio.Runner() as runner:
        for talk in script.talks:
            yield runner.run(_hold(talk, engine, uuid.uuid4().hex))


async def _hold(talk: Talk, engine: Engine, conversation_id: str) -> Outcome:
    turns: list[Held] = []
    said: list[str] = []
    for number, asked in enumerate(talk.turns, 1):
        if asked.says is not None:
            engine.store.accept(conversation_id, asked.ask)
            engine.store.finish(conversation_id, number, Ending("answered", asked.says))
            said.append(asked.says)
            continue
        end = await _asked(engine, asked, conversation_id)
        seen = observed(end, said)
        misses = tuple(check for check in asked.checks if not check.holds(seen))
        error = end.error if isinstance(end, Failed) else None
        if error and not any(check.name in ("blocked", "error") for check in asked.checks):
            misses = (*misses, Check("error", ""))  # nobody has to say that a turn should come to its end
        turns.append(Held(asked, number, seen, end.trace, misses, error))
        if isinstance(end, Reply):
            said.append(end.text)
    return Outcome(talk, tuple(turns))


async def _asked(engine: Engine, asked: Asked, conversation_id: str) -> Reply | Failed:
    where = Filter(collections=asked.collections)
    request = TurnRequest(asked.ask, (), conversation_id, asked.query, where)
    async for event in engine.stream(request):
        if isinstance(event, Answered):
            return event.reply
        if isinstance(event, Failed):
            return event
    raise AssertionError("a turn ends in Answered or Failed")
