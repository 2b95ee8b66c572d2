"""Guard presets: files that say which rails run, at which threshold each acts, and what it does then."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from turnwise.errors import ConfigError, did_you_mean

PRESETS_DIR = resources.files("turnwise") / "guard" / "presets"
SIDES = ("input", "documents", "output")
ACTIONS = {
    "input": ("allow", "warn", "redact", "block"),
    "documents": ("warn", "drop"),
    "output": ("allow", "warn", "redact", "block"),
}

# The options of each rail and their types. Every rail also has the common ones.
_COMMON_OPTIONS: dict[str, type] = {"action": str, "fails": str, "shadow": bool}
_EXCHANGE_OPTIONS: dict[str, type] = dict.fromkeys(
    ("threshold", "lowered", "innocent", "decay", "gain", "blocked", "warn"), float
)
_TOPIC_OPTIONS: dict[str, type] = {"blocked": dict}
RAILS: dict[str, dict[str, dict[str, type]]] = {
    "input": {
        "injection": {"threshold": float, "warn": float},
        "exchange": _EXCHANGE_OPTIONS,
        "secrets": {"kinds": list},
        "pii": {"kinds": list, "regions": list},
        "topics": _TOPIC_OPTIONS,
        "off_topic": {"topics": list, "about": list, "threshold": float},
    },
    "documents": {"instructions": {"threshold": float}},
    "output": {
        "leak": {"canaries": list},
        "secrets": {"kinds": list, "everywhere": bool},
        "pii": {"kinds": list, "regions": list, "everywhere": bool},
        "links": {"hosts": list},
        "topics": _TOPIC_OPTIONS,
        "grounding": {"threshold": float},
    },
}
_TOP_LEVEL: dict[str, type] = {"name": str, "about": str, "shadow": bool, "deadline": float}
_TYPE_NAMES = {str: "a string", bool: "true or false", float: "a number", list: "a list", dict: "a table"}


@dataclass(frozen=True, slots=True)
class GuardPreset:
    """The contents of a preset file: the options of each rail, by side (input, documents, output) and name."""

    name: str
    about: str = ""
    shadow: bool = False  # check and log, but take no action
    deadline: float = 5.0  # seconds one rail may take
    rails: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    def options(self, side: str, rail: str) -> Mapping[str, Any] | None:
        """The options of a rail, or None if it does not run."""
        return self.rails.get(side, {}).get(rail)


def preset_names() -> list[str]:
    return sorted(each.name.removesuffix(".toml") for each in PRESETS_DIR.iterdir() if each.name.endswith(".toml"))


def load_guard(name: str) -> GuardPreset:
    """Load a preset by its name, or from a .toml file."""
    if name in preset_names():
        text = (PRESETS_DIR / f"{name}.toml").read_text(encoding="utf-8")
    elif name.endswith(".toml") and (path := Path(name).expanduser()).is_file():
        text = _read_file(path)
    else:
        known = f"Use one of {', '.join(preset_names())}, or your own .toml file."
        hint = f"{did_you_mean(name, preset_names())} {known}".lstrip()
        raise ConfigError(f"There is no guard preset {name!r}.", hint)
    try:
        contents = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"The guard preset {name} cannot be read: {error}", "Fix it, or copy one that works."
        ) from error
    return _preset(contents, name)


def _read_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The guard preset {path} cannot be read: {error}", "Fix it, or copy one that works."
        ) from error


def _preset(contents: dict[str, Any], source: str) -> GuardPreset:
    """Build a preset from the contents of a file. Unknown names are refused: a misspelt rail would never run."""
    rails = {side: contents.pop(side, {}) for side in SIDES}
    _check_names(contents, (*_TOP_LEVEL, *SIDES), source)
    for name, value in contents.items():
        _check_type(value, _TOP_LEVEL[name], name, source)
    for side, each in rails.items():
        _check_type(each, dict, side, source)
        _check_names(each, RAILS[side], f"[{side}] of {source}")
        for rail, options in each.items():
            _check_rail(side, rail, options, source)
    if not 0 < contents.get("deadline", 1) <= 60:
        raise ConfigError(
            f"'deadline' in {source} cannot be {contents['deadline']}.", "Set it to more than 0 and at most 60 seconds."
        )
    return GuardPreset(name=str(contents.pop("name", source)), rails=rails, **contents)


def _check_rail(side: str, rail: str, options: Any, source: str) -> None:
    where = f"[{side}.{rail}] of {source}"
    _check_type(options, dict, f"{side}.{rail}", source)
    types = {**_COMMON_OPTIONS, **RAILS[side][rail]}
    _check_names(options, types, where)
    for name, value in options.items():
        _check_type(value, types[name], name, where)
        if types[name] is list and not all(isinstance(each, str) for each in value):
            raise ConfigError(f"'{name}' in {where} should be a list of strings.", f"It is {value!r}.")
        if types[name] is float and not 0 <= value <= 1:
            raise ConfigError(f"'{name}' in {where} cannot be {value}.", "Use a number from 0 to 1.")
    for name, allowed in (("action", ACTIONS[side]), ("fails", ("open", "closed"))):
        if name in options and options[name] not in allowed:
            raise ConfigError(f"'{name}' in {where} cannot be {options[name]!r}.", f"Use {' or '.join(allowed)}.")


def _check_type(value: Any, kind: type, name: str, where: str) -> None:
    is_number = kind is float and isinstance(value, int) and not isinstance(value, bool)
    if not (is_number or isinstance(value, kind)):
        raise ConfigError(
            f"'{name}' in {where} should be {_TYPE_NAMES[kind]}, not {value!r}.", "Compare it with general.toml."
        )


def _check_names(names: Iterable[str], known: Iterable[str], where: str) -> None:
    known = list(known)
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known, f"There are: {', '.join(known)}.")
            raise ConfigError(f"Unknown '{name}' in {where}.", hint)
