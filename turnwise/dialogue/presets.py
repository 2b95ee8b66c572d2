"""Presets: files with the topics of a conversation and guidance for answers, which users can copy and edit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from turnwise.errors import ConfigError, did_you_mean

FOLDER = Path(__file__).parents[1] / "presets"

# The tables of a preset and their keys; None if the author chooses the keys.
_TEXTS = ("name", "about")
_TABLES: dict[str, tuple[str, ...] | None] = {"topics": None, "signs": ("advanced",), "guidance": None}
_GUIDANCE: dict[str, tuple[str, ...]] = {
    "turn": ("first", "early", "later"),
    "phase": ("exploring", "understanding", "applying", "debugging", "reviewing"),
    "topic": ("same", "returning", "new"),
    "knowledge": ("confused", "knows_basics", "advanced"),
    "mood": ("confused", "frustrated"),
    "other": ("variation", "mathematics"),
}


@dataclass(frozen=True, slots=True)
class Preset:
    """The topics with their phrases, the words of advanced users, and the guidance texts by kind and value, such as
    guidance["phase"]["debugging"]."""

    name: str
    about: str = ""
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    advanced: tuple[str, ...] = ()
    guidance: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def advice(self, kind: str, value: str, topic: str) -> str:
        """Returns the text for this value, or "" if the preset has none or it needs a topic and there is none."""
        text = self.guidance.get(kind, {}).get(value, "")
        return "" if "{topic}" in text and not topic else text.replace("{topic}", topic)


def preset_names() -> list[str]:
    """Returns the names of the bundled presets."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_preset(name_or_path: str) -> Preset:
    """Loads a bundled preset by name, or one from a file."""
    if name_or_path in preset_names():
        return _bundled(name_or_path)
    path = Path(name_or_path).expanduser()
    if not path.is_file():
        known = ", ".join(preset_names())
        message = f"There is no preset '{name_or_path}', and no such file."
        raise ConfigError(message, f"There are: {known}. {did_you_mean(path.stem, preset_names())}".rstrip())
    return _load(path)


@lru_cache(maxsize=16)
def _bundled(name: str) -> Preset:
    return _load(FOLDER / f"{name}.toml")


def _load(path: Path) -> Preset:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"The preset {path} cannot be read: {error}", "Fix it, or copy one that works.") from error
    return _validated(values, path)


# --- validation ---------------------------------------------------------------------------------------------------


def _validated(values: dict[str, Any], path: Path) -> Preset:
    _check_keys(values, (*_TEXTS, *_TABLES), str(path))
    name, about = (_text(values.get(key, ""), key, path) for key in _TEXTS)
    tables = {key: _table(values.get(key, {}), key, path) for key in _TABLES}
    for key, known in _TABLES.items():
        if known is not None:
            _check_keys(tables[key], known, f"[{key}] of {path}")
    _check_keys(tables["guidance"], _GUIDANCE, f"[guidance] of {path}")
    return Preset(
        name or path.stem,
        about,
        {topic: _phrases(phrases, topic, path) for topic, phrases in tables["topics"].items()},
        _phrases(tables["signs"].get("advanced", []), "advanced", path),
        {kind: _advice(table, kind, path) for kind, table in tables["guidance"].items()},
    )


def _advice(value: Any, kind: str, path: Path) -> dict[str, str]:
    table = _table(value, f"guidance.{kind}", path)
    _check_keys(table, _GUIDANCE[kind], f"[guidance.{kind}] of {path}")
    texts = {key: _text(text, f"guidance.{kind}.{key}", path) for key, text in table.items()}
    for key, text in texts.items():
        if other := [each for each in re.findall(r"\{(\w*)\}", text) if each != "topic"]:
            message = f"'{key}' in [guidance.{kind}] of {path} holds {{{other[0]}}}."
            raise ConfigError(message, "Only {topic} is filled in.")
    return texts


def _phrases(value: Any, key: str, path: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and re.search(r"\w", each) for each in value):
        raise ConfigError(f"'{key}' in {path} should be a list of phrases, not {value!r}.", 'Such as ["refund"].')
    return tuple(value)


def _table(value: Any, key: str, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"'{key}' in {path} should be a table, not {value!r}.", f"Write [{key}] on a line above.")
    return value


def _text(value: Any, key: str, path: Path) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"'{key}' in {path} should be a text, not {value!r}.", "Put it in quotation marks.")
    return value


def _check_keys(found: Iterable[str], known: Iterable[str], where: str) -> None:
    known = list(known)
    for key in found:
        if key not in known:
            hint = did_you_mean(key, known, f"There are: {', '.join(known)}.")
            raise ConfigError(f"Unknown key '{key}' in {where}.", hint)
