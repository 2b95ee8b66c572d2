"""The memory verbs: off until switched on, shown in full, and forgotten piece by piece or as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import turnwise
from turnwise.cli.verbs import turnwise as verbs

HERON = "# Grey heron\n\nThe grey heron is a tall wading bird. It builds its nest in tall trees near water.\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    (folder / "heron.md").write_text(HERON)
    with turnwise.open(folder / "library") as engine:
        engine.add(folder / "heron.md")
        engine.set_memory({"enabled": True})
        chat = engine.chat()
        chat.ask("Please keep answers short.")
        chat.ask("I know the grey heron very well. Where does it nest?")
    return folder / "library"


def memory(*arguments: str, library: Path) -> dict[str, Any]:
    """The one object that a verb prints."""
    done = CliRunner().invoke(verbs, ["memory", *arguments, "--library", str(library), "--json"])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_verbs_show_switch_and_forget(library: Path) -> None:
    shown = memory("show", library=library)
    assert shown["enabled"] is True
    assert shown["preferences"] == ["short answers"]
    assert [(each["topic"], each["level"]) for each in shown["topics"]] == [("grey heron", "advanced")]
    assert memory("off", library=library) == {**shown, "enabled": False}
    assert memory("on", library=library) == shown
    assert memory("forget", "Grey", "Heron", library=library) == {**shown, "topics": []}
    assert memory("forget", "unicorns", library=library)["error"]["code"] == "NotFound"
    assert memory("forget", library=library) == {"enabled": True, "preferences": [], "topics": []}
    assert memory("show", "--user", "ann", library=library)["enabled"] is False


def test_what_is_remembered_is_told_in_words(library: Path) -> None:
    with turnwise.open(library) as engine:
        engine.set_memory({"preferences": ["tables"], "topics": [{"topic": "grey heron", "level": "knows_basics"}]})
    told = CliRunner().invoke(verbs, ["memory", "show", "--library", str(library)]).output
    assert told.splitlines() == ["Memory is off.", "You prefer: tables", "grey heron: knows basics"]
