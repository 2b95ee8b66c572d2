"""Both stores against a model of what they keep, whatever is done to them in whatever order."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from turnwise.conversation import Conversation, Turn
from turnwise.errors import ConversationBusy, ConversationError, ConversationNotFound
from turnwise.postgres import Database as Postgres
from turnwise.sqlite import Database as Sqlite
from turnwise.store.embedded import EmbeddedStore
from turnwise.store.owner import this_machine
from turnwise.store.postgres import PostgresStore
from turnwise.types import Ending

TENANTS = ("", "acme", "zoo")
IDS = ("a", "b", "a\x1fb", "é%_'")
Place = tuple[str, str]


@dataclass
class Kept:
    """A turn as it should be."""

    prompt: str
    status: str = "pending"
    response: str | None = None
    feedback: dict[str, Any] | None = None
    number: int = 0


@dataclass
class Talk:
    title: str
    turns: list[Kept] = field(default_factory=list)
    ancestors: list[str] = field(default_factory=list)


class Store(RuleBasedStateMachine):
    """What is done to a store, and to a dictionary beside it."""

    make: Any  # opens an empty store
    shared: bool  # by several machines

    def __init__(self) -> None:
        super().__init__()
        self.context = self.make()
        self.store = self.context.__enter__()
        self.talks: dict[Place, Talk] = {}
        self.burnt: dict[Place, set[int]] = {}  # numbers of turns that were deleted while they were being answered

    def teardown(self) -> None:
        self.context.__exit__(None, None, None)

    place = st.tuples(st.sampled_from(TENANTS), st.sampled_from(IDS))
    text = st.text("abc é%_\u4e2d", min_size=1, max_size=12).filter(str.strip)

    @initialize()
    def nothing_there(self) -> None:
        assert all(self.store.of(tenant).conversations() == [] for tenant in TENANTS)

    @rule(place=place, prompt=text)
    def accept(self, place: Place, prompt: str) -> None:
        talk = self.talks.get(place)
        view = self.store.of(place[0])
        if talk and talk.turns and talk.turns[-1].status == "pending":
            with pytest.raises(ConversationBusy):
                view.accept(place[1], prompt)
            return
        accepted = view.accept(place[1], prompt)
        if talk is None:
            talk = self.talks[place] = Talk(" ".join(prompt.split()))
        number = talk.turns[-1].number + 1 if talk.turns else 1
        while number in self.burnt.get(place, ()):
            number += 1
        talk.turns.append(Kept(prompt, number=number))
        assert [turn.number for turn in accepted.turns] == [turn.number for turn in talk.turns]

    @rule(place=place, response=text, status=st.sampled_from(["answered", "failed", "blocked", "interrupted"]))
    def finish(self, place: Place, response: str, status: str) -> None:
        talk = self.talks.get(place)
        last = talk.turns[-1] if talk and talk.turns else None
        if last is None or last.status != "pending":
            with pytest.raises(ConversationError):
                self.store.of(place[0]).finish(place[1], last.number if last else 1, Ending(status, response))
            self.burnt.get(place, set()).discard(last.number if last else 1)
            return
        self.store.of(place[0]).finish(place[1], last.number, Ending(status, response, facts={"n": last.number}))
        last.status, last.response = status, response

    @rule(place=place, new=st.sampled_from(IDS), before=st.integers(0, 4))
    def branch(self, place: Place, new: str, before: int) -> None:
        target = (place[0], new)
        view, talk = self.store.of(place[0]), self.talks.get(place)
        if talk is None:
            with pytest.raises(ConversationNotFound):
                view.branch(place[1], before, new)
        elif target in self.talks:
            with pytest.raises(ConversationError):
                view.branch(place[1], before, new)
        else:
            view.branch(place[1], before, new)
            copied = [
                Kept(t.prompt, "interrupted" if t.status == "pending" else t.status, t.response, t.feedback, t.number)
                for t in talk.turns
                if t.number < before
            ]
            self.talks[target] = Talk(talk.title, copied, [place[1], *talk.ancestors])

    @rule(place=place, prompts=st.lists(text, max_size=3), title=text)
    def put(self, place: Place, prompts: list[str], title: str) -> None:
        brought = Conversation(place[1], turns=[Turn(prompt, "Answer") for prompt in prompts])
        if place in self.talks:
            with pytest.raises(ConversationError):
                self.store.of(place[0]).put(brought, title)
            return
        self.store.of(place[0]).put(brought, title)
        turns = [Kept(prompt, "answered", "Answer", number=n) for n, prompt in enumerate(prompts, 1)]
        self.talks[place] = Talk(" ".join(title.split()), turns)

    @rule(place=place)
    def delete(self, place: Place) -> None:
        talk = self.talks.pop(place, None)
        if talk is None:
            with pytest.raises(ConversationNotFound):
                self.store.of(place[0]).delete(place[1])
            return
        self.store.of(place[0]).delete(place[1])
        if talk.turns and talk.turns[-1].status == "pending":
            self.burnt.setdefault(place, set()).add(talk.turns[-1].number)

    @rule(place=place, title=text)
    def rename(self, place: Place, title: str) -> None:
        if place not in self.talks:
            with pytest.raises(ConversationNotFound):
                self.store.of(place[0]).rename(place[1], title)
            return
        self.store.of(place[0]).rename(place[1], title)
        self.talks[place].title = " ".join(title.split())

    @rule(place=place, number=st.integers(1, 4), feedback=st.none() | st.just({"rating": "up"}))
    def rate(self, place: Place, number: int, feedback: dict[str, Any] | None) -> None:
        turns = self.talks[place].turns if place in self.talks else []
        found = [turn for turn in turns if turn.number == number]
        if not found:
            with pytest.raises(ConversationNotFound):
                self.store.of(place[0]).rate(place[1], number, feedback)
            return
        self.store.of(place[0]).rate(place[1], number, feedback)
        found[0].feedback = feedback

    @rule()
    def interrupt(self) -> None:
        """The process dies with all that it was answering, and another goes on."""
        with self.store._sql.write() as do:
            do("UPDATE turns SET owner = ? WHERE status = 'pending'", f"{this_machine()}/1:2" if self.shared else "1:2")
        self.store._work.answering.clear()
        self.burnt.clear()
        for (tenant, name), talk in self.talks.items():
            if talk.turns and talk.turns[-1].status == "pending":
                assert self.store.of(tenant).conversation(name).turns[-1].status == "interrupted"
                talk.turns[-1].status = "interrupted"

    @rule(place=place)
    def read(self, place: Place) -> None:
        """Each is as it should be, and nobody else's."""
        talk = self.talks.get(place)
        view = self.store.of(place[0])
        if talk is None:
            with pytest.raises(ConversationNotFound):
                view.conversation(place[1])
            return
        found = view.conversation(place[1])
        assert found.metadata["title"] == talk.title
        assert found.metadata["ancestors"] == talk.ancestors
        assert [
            (turn.number, turn.prompt, turn.status, turn.response, turn.metadata.get("feedback"))
            for turn in found.turns
        ] == [(turn.number, turn.prompt, turn.status, turn.response, turn.feedback) for turn in talk.turns]

    @invariant()
    def lists_are_those_of_each_tenant(self) -> None:
        for tenant in TENANTS:
            listed = {each["id"]: each["turns"] for each in self.store.of(tenant).conversations()}
            expected = {name: len(talk.turns) for (whose, name), talk in self.talks.items() if whose == tenant}
            assert listed == expected

    @invariant()
    def standings_are_the_last_turns(self) -> None:
        for tenant in TENANTS:
            found = self.store.standings((tenant, name) for name in IDS)
            mine = {name: talk for (whose, name), talk in self.talks.items() if whose == tenant}
            lasts = {name: talk.turns[-1] if talk.turns else Kept("", "", number=0) for name, talk in mine.items()}
            assert {name: each[:2] for (_, name), each in found.items()} == {
                name: (last.number, last.status) for name, last in lasts.items()
            }


def try_out(make: Any, shared: bool, examples: int) -> None:
    class Tried(Store):
        pass

    Tried.make, Tried.shared = staticmethod(make), shared
    settings = hypothesis.settings(
        max_examples=examples, stateful_step_count=30, deadline=None, derandomize=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(Tried, settings=settings)


def test_the_store_in_a_file_keeps_what_the_model_keeps() -> None:
    @contextmanager
    def make() -> Iterator[EmbeddedStore]:
        with tempfile.TemporaryDirectory() as folder:
            database = Sqlite(Path(folder) / "library.db")
            yield EmbeddedStore(database)
            database.close()

    try_out(make, False, 30)


def test_the_store_in_postgres_keeps_what_the_model_keeps(postgres_url: str) -> None:
    database = Postgres(postgres_url)
    shared = PostgresStore(database)

    @contextmanager
    def make() -> Iterator[PostgresStore]:
        with database.write() as tx:
            tx.execute("TRUNCATE conversations, turns, turn_facts CASCADE")
        shared._work.answering.clear()
        shared._work.given_up.clear()
        yield shared

    try_out(make, True, 15)
    database.close()
