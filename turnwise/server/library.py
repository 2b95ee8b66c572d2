"""What the library holds and who answers from it, as the page and the greeting say it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from turnwise.engine import Engine
from turnwise.types import LIBRARY, Reach

EXAMPLES = 4
MOST_TITLES = 1000  # a library of more documents is too large to read all its titles for a few examples


def describe_library(engine: Engine, reach: Reach | None = None) -> dict[str, Any]:
    """Counts of documents, passages and passages without a vector, within reach where there is one; who answers, and
    from where ("" when offline)."""
    counts = engine.index.counts(reach)
    return {
        "documents": counts.documents,
        "passages": counts.passages,
        "pending": counts.passages - counts.vectors,
        "model": engine.model_name,
        "offline": not engine.settings.endpoint,
        "local": engine.settings.local,
        "host": urlsplit(engine.settings.endpoint).netloc.rpartition("@")[2],
    }


def example_questions(engine: Engine, reach: Reach = LIBRARY) -> list[str]:
    """A few questions to start with, about documents from all over the library."""
    if not 0 < engine.index.counts(reach).documents <= MOST_TITLES:
        return []
    titles = sorted({document.title for document in engine.index.documents(reach)})
    step = max(1, len(titles) // EXAMPLES)
    return [f"What is “{title}” about?" for title in titles[::step][:EXAMPLES]]
