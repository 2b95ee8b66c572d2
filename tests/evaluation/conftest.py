import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write rows to a file of the data folder, gzipped where its name says so; a text is written as it is."""

    def write(name: str, *rows: Any) -> Path:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder that `write` fills."""
    path = tmp_path / "data"
    path.mkdir()
    return path


@pytest.fixture
def asked() -> Callable[..., dict[str, Any]]:
    """A row of a question at a turn; its history alternates between user and assistant."""

    def asked(turn: int, question: str, *history: str, **fields: Any) -> dict[str, Any]:
        said = [{"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(history)]
        return {"id": f"made-up-{turn}", "turn": turn, "history": said, "question": question, **fields}

    return asked
