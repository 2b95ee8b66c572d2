"""The followup and condense suites on little made-up files, with stand-ins for the stages and with the stages."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from turnwise.config import Settings
from turnwise.errors import BadRequest
from turnwise.evaluation import suites
from turnwise.evaluation.report import table
from turnwise.evaluation.run import run
from turnwise.turn.understand import Senses
from turnwise.types import Message

Write = Callable[..., Path]
Asked = Callable[..., dict[str, Any]]


@pytest.fixture
def simple_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A follow-up is what says "it"; condensing then adds the first message said."""

    def understand(message: str, _history: tuple[Message, ...], _settings: Settings, _senses: Senses) -> Any:
        return SimpleNamespace(follow_up=SimpleNamespace(is_follow_up="it" in message.split()))

    def condense(message: str, history: tuple[Message, ...], understanding: Any) -> Any:
        added = f" {history[0].content}" if understanding.follow_up.is_follow_up else ""
        return SimpleNamespace(query=message + added)

    monkeypatch.setattr(suites, "understand", understand)
    monkeypatch.setattr(suites, "condense_stage", condense)


@pytest.mark.usefixtures("simple_stages")
def test_followup_counts_the_turns_after_the_first(write: Write, folder: Path, asked: Asked) -> None:
    write(
        "followup/mine.jsonl",
        asked(1, "is it first", needs_context=True),  # not counted
        asked(2, "why is it", "rain", "water", needs_context=True),
        asked(3, "why is snow", "rain", "water", needs_context=True),
        asked(4, "what is fog", "rain", "water", needs_context=False),
        asked(5, "how is it that fog is wet", "rain", "water", needs_context=False),
    )
    write("rewrite/yours.jsonl.gz", asked(2, "is it wet", "rain", needs_context=True, rewrite="is rain wet"))
    assert run("followup", folder) == {
        "followup/mine": {"n": 4, "accuracy": 0.5, "precision": 0.5, "recall": 0.5, "f1": 0.5},
        "rewrite/yours": {"n": 1, "accuracy": 1.0, "precision": 1.0, "recall": 1.0, "f1": 1.0},
    }


@pytest.mark.usefixtures("simple_stages")
def test_a_turn_that_is_no_follow_up_shifts_the_topic(write: Write, folder: Path) -> None:
    talk = {"turns": ["hello", "is it late", "do you like tea", "yes"], "shift": [False, False, True, False]}
    write("followup/chat.jsonl", talk)
    assert run("followup", folder) == {
        "followup/chat": {"n": 3, "accuracy": 0.6667, "precision": 0.5, "recall": 1.0, "f1": 0.6667}
    }


def test_in_a_talk_the_turn_in_question_is_always_the_users() -> None:
    assert suites.history_before(["a", "b", "c"], 2) == (Message("user", "a"), Message("assistant", "b"))
    assert suites.history_before(["a", "b", "c"], 1) == (Message("assistant", "a"),)


@pytest.mark.usefixtures("simple_stages")
def test_condense_compares_what_was_added(write: Write, folder: Path, asked: Asked) -> None:
    write(
        "rewrite/mine.jsonl",
        asked(1, "is it first", needs_context=True, rewrite="is rain first"),  # not counted
        asked(2, "is it wet", "cold rain", "water", needs_context=True, rewrite="is rain in spring wet"),
        asked(3, "why snow", "cold rain", "water", needs_context=True, rewrite="why snow on mountains"),
        asked(4, "what is fog", "cold rain", "water", needs_context=False, rewrite="what is fog"),
        asked(5, "how is it that fog is wet", "cold rain", needs_context=False, rewrite="how is it that fog is wet"),
    )
    figures = run("condense", folder)["rewrite/mine"]
    times = figures.pop("p50_ms"), figures.pop("p95_ms")
    assert 0 <= times[0] <= times[1]
    assert figures == {
        "n": 4,
        "added_term_recall": 0.3333,  # rain, of rain, spring and mountain
        "added_term_precision": 0.25,  # of cold and rain, twice
        "added_term_f1": 0.2857,
        "rouge1_recall": 0.775,  # 3/5, 2/4, 1 and 1
        "false_change_rate": 0.5,
        "switched": 0,
        "switched_change_rate": 0.0,
    }


@pytest.mark.usefixtures("simple_stages")
def test_opening_questions_stand_after_the_history_of_another_conversation(
    write: Write, folder: Path, asked: Asked
) -> None:
    write(
        "rewrite/mine.jsonl",
        asked(1, "is it late", rewrite="is it late"),
        asked(2, "why", "cold rain", "water", rewrite="why rain"),
        asked(1, "what is fog", rewrite="what is fog"),
        asked(2, "why", "warm tea", "sugar", rewrite="why tea"),
    )
    figures = run("condense", folder)["rewrite/mine"]
    assert (figures["switched"], figures["switched_change_rate"]) == (2, 0.5)  # what "it" is, of two


def test_a_part_can_be_named_in_full_by_file_or_by_folder() -> None:
    found = {"rewrite/a": 1, "rewrite/b": 2, "followup/a": 3}
    assert suites.select_parts(found, ()) == found
    assert suites.select_parts(found, ("rewrite/a",)) == {"rewrite/a": 1}
    assert suites.select_parts(found, ("a",)) == {"rewrite/a": 1, "followup/a": 3}
    assert suites.select_parts(found, ("rewrite", "followup/a")) == found
    with pytest.raises(BadRequest, match="no 'c'") as raised:
        suites.select_parts(found, ("a", "c"))
    assert "rewrite/a, rewrite/b, followup/a" in raised.value.hint


@pytest.mark.usefixtures("simple_stages")
def test_progress_is_told_of_every_turn(write: Write, folder: Path, asked: Asked) -> None:
    write("rewrite/mine.jsonl", *[asked(turn, "why", "rain", rewrite="why rain") for turn in (2, 3)])
    told: list[tuple[str, int, int]] = []
    run("condense", folder, progress=lambda *step: told.append(step))
    assert told == [("rewrite/mine", 0, 2), ("rewrite/mine", 1, 2), ("rewrite/mine", 2, 2)]


def test_the_products_own_stages_are_run(write: Write, folder: Path, asked: Asked) -> None:
    history = ("What is gradient descent?", "Gradient descent is a way to find the minimum of a function.")
    write(
        "rewrite/mine.jsonl",
        asked(2, "How fast is it?", *history, needs_context=True, rewrite="How fast is gradient descent?"),
        asked(2, "Who wrote Moby Dick?", *history, needs_context=False, rewrite="Who wrote Moby Dick?"),
    )
    assert run("followup", folder)["rewrite/mine"]["f1"] == 1.0
    figures = run("condense", folder)["rewrite/mine"]
    assert figures["added_term_recall"] == 1.0
    assert figures["false_change_rate"] == 0.0


def test_an_unknown_suite_is_refused(folder: Path) -> None:
    with pytest.raises(BadRequest, match="no suite 'poetry'"):
        run("poetry", folder)


def test_what_needs_no_vectors_imports_no_embedder() -> None:
    code = "import sys, turnwise.evaluation.run; print([m for m in ('onnxruntime', 'tokenizers') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


def test_the_table_has_a_line_a_file_and_way() -> None:
    assert table({"rewrite/a": {"n": 1200, "f1": 0.5, "p50_ms": 0.123}, "b": {"n": 3}}).splitlines() == [
        "               n     f1  p50_ms",
        "rewrite/a  1,200  0.500    0.12",
        "b              3               ",
    ]
    assert table({"doc2dial": {"last_turn": {"n": 3}, "turnwise": {"n": 3}}}).splitlines() == [
        "                    n",
        "doc2dial last_turn  3",
        "doc2dial turnwise   3",
    ]
