"""A server over a real library, and clients that come with keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from tests.server.scripted import Answer, Client
from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.server.run import running
from turnwise.types import Permission


class Server(Client):
    """Plain HTTP to a real server, with a key or without."""

    def __init__(self, address: str, engine: Engine, secret: str = "") -> None:
        super().__init__(address, cast(Any, engine))
        self.secret = secret

    def with_key(
        self, tenant: str = "", collections: tuple[str, ...] = (), may: Permission = "edit", name: str = "key"
    ) -> Server:
        """The same server for the holder of a new key."""
        _, secret = self.engine.store.keys.create(name, tenant, collections, may)
        return Server(self.address, self.engine, secret)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        key = {"authorization": f"Bearer {self.secret}"} if self.secret else {}
        return super().send(method, path, body, **key, **headers)

    def upload(self, path: str, data: bytes) -> Answer:
        return self.send("PUT", path, data, content_type="application/octet-stream")


@contextmanager
def library(folder: Path, **settings: Any) -> Iterator[Server]:
    with build(Settings(library=str(folder), **settings), create=True) as engine, running(engine) as address:
        yield Server(address, engine)
