"""Presets of the guard: files that say which rails run, from where on each acts and what it does then."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
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


@dataclass(frozen=True, slots=True)
class GuardPreset:
    """What a file of rails says: for each side of the exchange, the options of each rail by its name."""

    name: str
    about: str = ""
    shadow: bool = False  # judge and log, but do not act
    deadline: float = 0.5  # seconds that one rail may take
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
    elif name.endswith(".toml") and Path(name).is_file():
        text, place = Path(name).read_text(encoding="utf-8"), name
    else:
        raise ConfigError(
            f"There is no guard preset {name!r}.", f"Take one of {', '.join(preset_names())}, or a .toml file of yours."
        )
    try:
        return _preset(tomllib.loads(text), place)
    except (tomllib.TOMLDecodeError, ValueError, TypeError) as error:
        raise ConfigError(
            f"The guard preset {place} cannot be read: {error}", "Compare it with general.toml."
        ) from error


def _preset(read: dict[str, Any], place: str) -> GuardPreset:
    rails = {side: read.pop(side, {}) for side in SIDES}
    for side, each in rails.items():
        for rail, options in each.items():
            if (action := options.get("action", "warn")) not in ACTIONS[side]:
                raise ValueError(f"[{side}.{rail}] has the action {action!r}; it can be {', '.join(ACTIONS[side])}")
    return GuardPreset(name=str(read.pop("name", place)), rails=rails, **read)
