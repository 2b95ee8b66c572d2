"""A classifier that finds nothing: what the rails do by their rules alone, whatever the trained networks say."""

from __future__ import annotations

from collections.abc import Sequence

Found = tuple[float, tuple[int, int]]
NOTHING: Found = (0.0, (0, 0))


class Untrained:
    def attack(self, *_: object) -> Found:
        return NOTHING

    def quick(self, _: str) -> Found:
        return NOTHING

    def planted(self, texts: Sequence[str]) -> list[Found]:
        return [NOTHING for _ in texts]
