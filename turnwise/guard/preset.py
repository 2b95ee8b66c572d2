"""Presets of the guard: files that say which rails run, from where on each acts and what it does then."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from turnwise.errors import ConfigError

FOLDER = resources.files("turnwise") / "guard" / "presets"
SIDES = ("input", "documents", "output")
ACTIONS = {
    "input": ("allow", "warn", "redact", "block"),
    "documents": ("warn", "drop"),
    "output": ("allow", "warn", "redact", "block"),
}

# What a preset may say of each rail, and of what kind it is. Every rail may have these three:
_EVERY: dict[str, type] = {"action": str, "fails": str, "shadow": bool}
_EXCHANGE: dict[str, type] = dict.fromkeys(
    ("threshold", "lowered", "innocent", "decay", "gain", "blocked", "warn"), float
)
_TOPICS: dict[str, type] = {"blocked": dict}
RAILS: dict[str, dict[str, dict[str, type]]] = {
    "input": {
        "injection": {"threshold": float, "warn": float},
        "exchange": _EXCHANGE,
        "secrets": {"kinds": list},
        "pii": {"kinds": list, "regions": list},
        "topics": _TOPICS,
        "off_topic": {"topics": list, "about": list, "threshold": float},
    },
    "documents": {"instructions": {"threshold": float}},
    "output": {
        "leak": {"canaries": list},
        "secrets": {"kinds": list, "everywhere": bool},
        "pii": {"kinds": list, "regions": list, "everywhere": bool},
        "links": {"hosts": list},
        "topics": _TOPICS,
        "grounding": {"threshold": float},
    },
}
_GENERAL: dict[str, type] = {"name": str, "about": str, "shadow": bool, "deadline": float}
_SPOKEN = {str: "a text", bool: "true or false", float: "a number", list: "a list", dict: "a table"}


@dataclass(frozen=True, slots=True)
class GuardPreset:
    """What a file of rails says: for each side of the exchange, the options of each rail by its name."""

    name: str
    about: str = ""
    shadow: bool = False  # judge and log, but do not act
    deadline: float = 5.0  # seconds that one rail may take
    rails: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    def options(self, side: str, rail: str) -> Mapping[str, Any] | None:
        """The options of a rail; None where it does not run."""
        return self.rails.get(side, {}).get(rail)


def preset_names() -> list[str]:
    return sorted(each.name.removesuffix(".toml") for each in FOLDER.iterdir() if each.name.endswith(".toml"))


def load_guard(name: str) -> GuardPreset:
    """A preset by its name, or from a file of one's own."""
    if name in preset_names():
        text, place = (FOLDER / f"{name}.toml").read_text(encoding="utf-8"), name
    elif name.endswith(".toml") and (path := Path(name).expanduser()).is_file():
        text, place = _read(path), name
    else:
        near = difflib.get_close_matches(name, preset_names(), n=1)
        meant = f"Did you mean '{near[0]}'? " if near else ""
        raise ConfigError(
            f"There is no guard preset {name!r}.",
            f"{meant}Take one of {', '.join(preset_names())}, or a .toml file of yours.",
        )
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"The guard preset {place} cannot be read: {error}", "Mend it, or copy one that works."
        ) from error
    return _preset(told, place)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The guard preset {path} cannot be read: {error}", "Mend it, or copy one that works."
        ) from error


def _preset(told: dict[str, Any], place: str) -> GuardPreset:
    """The preset that a file tells of. What it does not know is refused: a rail that is misspelt would never run."""
    rails = {side: told.pop(side, {}) for side in SIDES}
    _known(told, (*_GENERAL, *SIDES), place)
    for name, value in told.items():
        _fits(value, _GENERAL[name], name, place)
    for side, each in rails.items():
        _fits(each, dict, side, place)
        _known(each, RAILS[side], f"[{side}] of {place}")
        for rail, options in each.items():
            _rail(side, rail, options, place)
    if not 0 < told.get("deadline", 1) <= 60:
        raise ConfigError(f"'deadline' in {place} cannot be {told['deadline']}.", "Take seconds, from above 0 to 60.")
    return GuardPreset(name=str(told.pop("name", place)), rails=rails, **told)


def _rail(side: str, rail: str, options: Any, place: str) -> None:
    where = f"[{side}.{rail}] of {place}"
    _fits(options, dict, f"{side}.{rail}", place)
    kinds = {**_EVERY, **RAILS[side][rail]}
    _known(options, kinds, where)
    for name, value in options.items():
        _fits(value, kinds[name], name, where)
        if kinds[name] is list and not all(isinstance(each, str) for each in value):
            raise ConfigError(f"'{name}' in {where} should be a list of texts.", f"It holds {value!r}.")
        if kinds[name] is float and not 0 <= value <= 1:
            raise ConfigError(f"'{name}' in {where} cannot be {value}.", "Take a number from 0 to 1.")
    for name, allowed in (("action", ACTIONS[side]), ("fails", ("open", "closed"))):
        if name in options and options[name] not in allowed:
            raise ConfigError(f"'{name}' in {where} cannot be {options[name]!r}.", f"Take {' or '.join(allowed)}.")


def _fits(value: Any, kind: type, name: str, where: str) -> None:
    number = kind is float and isinstance(value, int) and not isinstance(value, bool)
    if not (number or isinstance(value, kind)):
        raise ConfigError(f"'{name}' in {where} should be {_SPOKEN[kind]}, not {value!r}.", "Compare it with general.")


def _known(found: Iterable[str], known: Iterable[str], where: str) -> None:
    known = list(known)
    for name in found:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(known)}."
            raise ConfigError(f"Unknown '{name}' in {where}.", hint)
