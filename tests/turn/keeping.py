"""A store whose profiles are kept in a dict, and can be made to fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from turnwise.types import ConversationStore


@dataclass
class KeptProfiles:
    kept: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    broken: bool = False
    puts: int = 0

    def profile(self, tenant: str, user: str) -> dict[str, Any] | None:
        self._work()
        return self.kept.get((tenant, user))

    def put(self, tenant: str, user: str, profile: dict[str, Any]) -> None:
        self._work()
        self.puts += 1
        self.kept[tenant, user] = profile

    def delete(self, tenant: str, user: str) -> bool:
        self._work()
        return self.kept.pop((tenant, user), None) is not None

    def _work(self) -> None:
        if self.broken:
            raise OSError("the disk is gone")


class WithProfiles:
    """A store with other profiles than its own."""

    def __init__(self, store: ConversationStore, profiles: KeptProfiles) -> None:
        self._store = store
        self.profiles = profiles

    def of(self, tenant: str, collections: Iterable[str] = ()) -> WithProfiles:
        return WithProfiles(self._store.of(tenant, collections), self.profiles)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
