"""A real server over a copy of the sample library, with its rails on, that the faults are tried on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.talking_to import Patient
from tests.patience import until
from tests.server.serving import library


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, closed_library: Path) -> Iterator[Patient]:
    folder = tmp_path_factory.mktemp("faults") / "library"
    shutil.copytree(closed_library, folder)
    with library(folder, suggestions=0, limit_conversation="") as server:
        until(lambda: server.get("/readyz").status == 200, 120)
        yield Patient(server.address, server.engine)
