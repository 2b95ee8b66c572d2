"""A text prepared once for all rails."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    original: str


def read(text: str) -> Reading:
    return Reading(text)
