"""Servers that the faults are tried on: in this process, or in one of their own that can be limited and ended."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from tests.server.serving import Server

CHEAP = {"GUARD": "off", "RERANK": "off", "SUGGESTIONS": "0", "FOLLOW_UP": "false"}


class Patient(Server):
    """Waits for its answers as long as a test may take: a busy machine is no fault."""

    def connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.address)
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)


class Started(Patient):
    """A server in a process of its own."""

    def __init__(self, address: str, process: subprocess.Popen[str]) -> None:
        super().__init__(address, cast(Any, None))
        self.process = process

    @property
    def pid(self) -> int:
        return self.process.pid


@contextmanager
def started(folder: Path, **settings: str) -> Iterator[Started]:
    """`turnwise serve` on a library, with little around a turn."""
    chosen = {f"TURNWISE_{name.upper()}": value for name, value in {**CHEAP, **settings}.items()}
    command = [sys.executable, "-c", "from turnwise.cli import main; main()", "serve", "--port", "0"]
    with (
        (folder.parent / "server.log").open("ab") as log,
        subprocess.Popen(
            [*command, "--library", str(folder)],
            stdout=subprocess.PIPE, stderr=log, text=True, cwd=Path(__file__).parents[2], env={**os.environ, **chosen},
        ) as process,
    ):  # fmt: skip
        try:
            assert process.stdout
            found = re.search(r"at (http://127\.0\.0\.1:\d+)", process.stdout.readline())
            assert found, (folder.parent / "server.log").read_text()
            yield Started(found[1], process)
        finally:
            process.kill()
