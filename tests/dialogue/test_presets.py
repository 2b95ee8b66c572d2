"""Presets: the bundled ones, a user's own, and the errors for an invalid file."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.dialogue.presets import FOLDER, load_preset, preset_names
from turnwise.errors import ConfigError


def test_the_presets_that_come_with_turnwise() -> None:
    assert preset_names() == ["academic", "general", "support", "tutor"]
    for name in preset_names():
        preset = load_preset(name)
        assert preset.name == name
        assert preset.about.endswith(".")
        assert preset.guidance["mood"]["frustrated"]


def test_the_tutor_ships_the_nine_topics() -> None:
    assert list(load_preset("tutor").topics) == [
        "gradient descent",
        "backpropagation",
        "neural networks",
        "classification",
        "regression",
        "clustering",
        "loss functions",
        "activations",
        "overfitting",
    ]


def test_a_preset_is_a_file_to_copy_and_edit(tmp_path: Path) -> None:
    own = tmp_path / "botany.toml"
    text = (FOLDER / "tutor.toml").read_text(encoding="utf-8")
    own.write_text(text.replace('name = "tutor"', 'name = "botany"').replace('"clustering" =', '"roses" ='))
    preset = load_preset(str(own))
    assert preset.name == "botany"
    assert "roses" in preset.topics
    assert preset.guidance == load_preset("tutor").guidance


def test_every_part_may_be_left_out(tmp_path: Path) -> None:
    own = tmp_path / "bare.toml"
    own.write_text("")
    preset = load_preset(str(own))
    assert (preset.name, preset.topics, preset.advice("phase", "exploring", "x")) == ("bare", {}, "")


def test_advice_speaks_of_the_topic_and_is_left_out_where_it_needs_one_that_is_not_there() -> None:
    tutor = load_preset("tutor")
    assert "{" not in tutor.advice("topic", "same", "dropout")
    assert "dropout" in tutor.advice("topic", "same", "dropout")
    assert tutor.advice("topic", "same", "") == ""
    assert tutor.advice("mood", "frustrated", "")


@pytest.mark.parametrize(
    ("toml", "message", "hint"),
    [
        ("nam = 'x'", "Unknown key 'nam' in ", "Did you mean 'name'?"),
        ("[guidance.moods]\nconfused = 'x'", "Unknown key 'moods' in [guidance] of ", "Did you mean 'mood'?"),
        ("[guidance.phase]\ndebuging = 'x'", "Unknown key 'debuging' in ", "Did you mean 'debugging'?"),
        ("[signs]\nexpert = ['x']", "Unknown key 'expert' in [signs] of ", "There are: advanced."),
        ("[topics]\nroses = 'rose'", "'roses' in ", 'Such as ["refund"].'),
        ("[topics]\nroses = ['!?']", "'roses' in ", 'Such as ["refund"].'),
        ("topics = ['rose']", "'topics' in ", "Write [topics] on a line above."),
        ("about = 3", "'about' in ", "Put it in quotation marks."),
        ("[guidance.turn]\nfirst = 'On {subject}.'", "'first' in [guidance.turn] of ", "Only {topic} is filled in."),
        ("name = ", "The preset ", "Fix it, or copy one that works."),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, toml: str, message: str, hint: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(toml)
    with pytest.raises(ConfigError) as raised:
        load_preset(str(own))
    assert str(raised.value).startswith(message)
    assert raised.value.hint == hint


@pytest.mark.parametrize("name", ["tutr", "tutr.toml"])
def test_a_preset_that_is_not_there_lists_those_that_are(name: str) -> None:
    with pytest.raises(ConfigError, match=f"There is no preset '{name}'") as raised:
        load_preset(name)
    assert raised.value.hint == "There are: academic, general, support, tutor. Did you mean 'tutor'?"


def test_the_setting_names_the_preset_of_an_engine(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no preset 'none'"):
        build(Settings(library=str(tmp_path), preset="none"), create=True)
