"""Turns as rows of a table, the same in every database."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from turnwise.conversation import Turn
from turnwise.types import Source

TITLE_LENGTH = 100


def to_turn(row: Mapping[str, Any]) -> Turn:
    shown = json.loads(row["shown"] or "{}")
    return Turn(
        prompt=row["prompt"],
        response=row["response"],
        timestamp=row["created_at"],
        number=row["number"],
        status=row["status"],
        sources=tuple(Source.from_dict(source) for source in json.loads(row["sources"] or "[]")),
        record=json.loads(row["record"] or "{}"),
        error=json.loads(row["error"] or "null"),
        evidence=tuple(Source.from_dict(source) for source in shown.get("evidence", ())),
        note=shown.get("note", ""),
    )


def dump_shown(shown: Iterable[Source], note: str) -> str | None:
    """What a model was shown with a prompt; nothing where it was shown nothing."""
    evidence = [dataclasses.asdict(source) for source in shown]
    return dump({"evidence": evidence, "note": note}) if evidence or note else None


def dump(value: Any) -> str | None:
    """JSON in plain ASCII. A value in a trace that JSON does not know is kept as its text: it must not cost a turn."""
    return None if value is None else json.dumps(value, default=str)


def title(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"
