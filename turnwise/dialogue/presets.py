"""Presets: what a conversation is likely to be about and how to answer in it, as a file that people copy and edit."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from turnwise.errors import ConfigError

FOLDER = Path(__file__).parents[1] / "presets"

# What a preset may hold: its tables, and the keys of each; None where the keys are the writer's own.
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
    """The topics by name, each with its phrases; the words that show an advanced user; and the texts of guidance, by
    what they depend on and its value: guidance["phase"]["debugging"]."""

    name: str
    about: str = ""
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    advanced: tuple[str, ...] = ()
    guidance: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def advice(self, kind: str, value: str, topic: str) -> str:
        """The text for this value, about the topic; none where the preset has none, or it needs a topic that is not."""
        text = self.guidance.get(kind, {}).get(value, "")
        return "" if "{topic}" in text and not topic else text.replace("{topic}", topic)


def preset_names() -> list[str]:
    """The presets that come with Turnwise."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_preset(name_or_path: str) -> Preset:
    """The preset of that name, or the one in that file."""
    if name_or_path in preset_names():
        return _bundled(name_or_path)
    path = Path(name_or_path).expanduser()
    if not path.is_file():
        known = ", ".join(preset_names())
        message = f"There is no preset '{name_or_path}', and no such file."
        raise ConfigError(message, f"There are: {known}.{_near(path.stem)}")
    return _read(path)


@lru_cache(maxsize=16)
def _bundled(name: str) -> Preset:
    return _read(FOLDER / f"{name}.toml")


def _read(path: Path) -> Preset:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"The preset {path} cannot be read: {error}", "Mend it, or copy one that works.") from error
    return _checked(values, path)


def _near(name: str) -> str:
    near = difflib.get_close_matches(name, preset_names(), n=1)
    return f" Did you mean '{near[0]}'?" if near else ""


# --- from a file to a value ---------------------------------------------------------------------------------------


def _checked(values: dict[str, Any], path: Path) -> Preset:
    _keys(values, (*_TEXTS, *_TABLES), str(path))
    name, about = (_text(values.get(key, ""), key, path) for key in _TEXTS)
    tables = {key: _table(values.get(key, {}), key, path) for key in _TABLES}
    for key, known in _TABLES.items():
        if known is not None:
            _keys(tables[key], known, f"[{key}] of {path}")
    _keys(tables["guidance"], _GUIDANCE, f"[guidance] of {path}")
    return Preset(
        name or path.stem,
        about,
        {topic: _phrases(phrases, topic, path) for topic, phrases in tables["topics"].items()},
        _phrases(tables["signs"].get("advanced", []), "advanced", path),
        {kind: _advice(table, kind, path) for kind, table in tables["guidance"].items()},
    )


def _advice(value: Any, kind: str, path: Path) -> dict[str, str]:
    table = _table(value, f"guidance.{kind}", path)
    _keys(table, _GUIDANCE[kind], f"[guidance.{kind}] of {path}")
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


def _keys(found: Iterable[str], known: Iterable[str], where: str) -> None:
    known = list(known)
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(known)}."
            raise ConfigError(f"Unknown key '{key}' in {where}.", hint)
