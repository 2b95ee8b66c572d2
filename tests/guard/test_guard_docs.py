"""The examples in docs/GUARD.md run, and its lists are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.guard.preset import RAILS, preset_names
from turnwise.guard.running import MAX_HANGING_CHECKS

PAGE = (Path(__file__).parents[2] / "docs" / "GUARD.md").read_text(encoding="utf-8")
CODE = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(CODE) == 8
    names: dict[str, object] = {}
    for block in CODE:
        exec(compile(block, "GUARD.md", "exec"), names)
    shown = capsys.readouterr().out
    assert "It left our warehouse this morning.\n" in shown
    assert "['answered', 'blocked']\n" in shown
    assert "split over turns" in shown
    assert re.search(r"The limit is 1 message a minute in one conversation \d+", shown)


def test_every_rail_and_preset_is_on_the_page() -> None:
    sides = {(rail, side) for side, rails in RAILS.items() for rail in rails}
    rows = re.findall(r"^\| (\w+) \| ([a-z, ]+) \|", PAGE, re.M)
    listed = {(rail, side) for rail, told in rows for side in told.split(", ") if side in RAILS}
    assert listed - {("shape", "input")} == sides
    assert set(re.findall(r"^\| (\w+) \| [^|]*\|$", PAGE.partition("## Presets")[2], re.M)) >= set(preset_names())
    assert MAX_HANGING_CHECKS == 3, "the page says: after three checks"


def test_the_fields_on_the_page_are_those_of_a_result() -> None:
    result = GuardrailPipeline().check_input("What is BERT?")
    table = PAGE.partition("## What a check gives back")[2].partition("##")[0]
    fields = [name for row in re.findall(r"^\| (`.*?) \|", table, re.M) for name in re.findall(r"`(\w+)`", row)]
    assert len(fields) >= 11
    known = {*dir(result), *dir(result.details["injection"])}
    assert [name for name in fields if name not in known] == []
