"""The names that people import, and the first thing that they do with them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import turnwise
from turnwise.errors import LibraryNotFound
from turnwise.types import Reference

HERON = (
    "# Grey heron\n\nThe grey heron is a tall wading bird. The grey heron builds its nest in tall trees near water.\n"
)
STORK = "# White stork\n\nThe white stork is a bird of open fields. The white stork builds its nest on chimneys.\n"


def test_the_public_names() -> None:
    assert turnwise.__all__ == [
        "AnswerBlocked",
        "Answered",
        "Chat",
        "ChatModel",
        "ConfigError",
        "Conversation",
        "ConversationBusy",
        "ConversationError",
        "ConversationNotFound",
        "ConversationPhase",
        "ConversationState",
        "ConversationTracker",
        "DataError",
        "Delta",
        "DocumentError",
        "Embedder",
        "EmptyMessage",
        "Engine",
        "Failed",
        "FakeChat",
        "Filter",
        "GuardrailPipeline",
        "Image",
        "ImageNotSeen",
        "InputError",
        "LibraryError",
        "LibraryNotFound",
        "Message",
        "MessageBlocked",
        "MessageTooLong",
        "ModelError",
        "ModelGarbled",
        "ModelTimeout",
        "ModelUnavailable",
        "Prompt",
        "QueryAnalysis",
        "QueryAnalyzer",
        "QueryCondenser",
        "QueryPlan",
        "QueryPlanner",
        "Reply",
        "Reranker",
        "Settings",
        "Source",
        "TooManyRequests",
        "Tool",
        "ToolError",
        "Turn",
        "TurnEvent",
        "TurnFailed",
        "TurnRequest",
        "TurnwiseError",
        "bibliography",
        "tool",
    ]


def test_type_checkers_see_the_names_that_there_are() -> None:
    """They read the imports of a block that is never run; the names come from a table beside it."""
    tree = ast.parse(Path(turnwise.__file__).read_text())
    (block,) = (each for each in tree.body if isinstance(each, ast.If))
    seen = {
        (each.module, alias.name, alias.asname)
        for each in block.body
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }
    assert seen == {(f"turnwise.{module}", name, name) for name, module in turnwise._HOMES.items()}


def test_the_package_says_that_it_is_typed() -> None:
    assert Path(turnwise.__file__).with_name("py.typed").is_file()


def test_every_public_name_is_there_and_documented() -> None:
    assert [name for name in (*turnwise.__all__, "open") if not getattr(turnwise, name).__doc__] == []
    with pytest.raises(AttributeError, match="no attribute 'close'"):
        turnwise.close  # noqa: B018


def test_to_import_all_names_leaves_python_s_own() -> None:
    names: dict[str, object] = {}
    exec("from turnwise import *", names)
    assert "open" not in names
    assert names["Engine"] is turnwise.Engine


def test_importing_turnwise_imports_nothing_heavy() -> None:
    code = "import sys, turnwise; print(*sorted({'numpy', 'onnxruntime', 'openai', 'fastapi'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "\n"


def test_a_question_and_a_follow_up_on_two_documents(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "heron.md").write_text(HERON)
    (documents / "stork.md").write_text(STORK)
    with turnwise.open(tmp_path / "library", evidence=4) as engine:
        report = engine.add(documents)
        assert (report.added, report.failed) == (2, ())
        chat = engine.chat("birds")
        first = chat.ask("What is the grey heron?")
        second = chat.ask("Where does it build its nest?")
    assert "wading bird" in first.text
    assert "[1]" in first.text
    assert first.sources[0].title == "Grey heron"
    assert second.follow_up.is_follow_up
    assert "heron" in second.condensed_query
    assert "tall trees" in second.text

    with turnwise.open(tmp_path / "library") as engine:
        assert [turn.prompt for turn in engine.chat("birds").history.turns] == [
            "What is the grey heron?",
            "Where does it build its nest?",
        ]


def test_a_library_that_is_not_there_is_not_made_by_reading(tmp_path: Path) -> None:
    from turnwise.app import build
    from turnwise.config import Settings

    with pytest.raises(LibraryNotFound) as raised:
        build(Settings(library=str(tmp_path / "none")))
    assert "turnwise add" in raised.value.hint
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("reference", "cited"),
    [
        (Reference("v17", ("Vaswani, Ashish", "Shazeer, Noam", "Parmar, Niki"), 2017), "Vaswani et al. 2017"),
        (Reference("d", ("Devlin, Jacob", "Chang, Ming-Wei"), 2019), "Devlin and Chang 2019"),
        (Reference("h", ("Hinton, Geoffrey",)), "Hinton"),
        (Reference("k", (), 1999), "1999"),
        (Reference(), ""),
    ],
)
def test_a_reference_is_cited_as_in_a_text(reference: Reference, cited: str) -> None:
    assert str(reference) == cited
