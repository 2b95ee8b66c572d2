"""Run a suite: the one function behind `turnwise eval`."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

from turnwise.config import Settings
from turnwise.errors import BadRequest
from turnwise.evaluation.suites import Product, Progress, condense, followup

MAX_MESSAGE_CHARS = 1_000_000  # for the guard suite: obfuscation makes texts long
SUITES = ("followup", "condense", "retrieval", "answer", "repetition", "guard")
REPETITION_FIGURES = ("n", "repeating_turns", "definition_openings")


def run(
    suite: str,
    data: Path,
    *,
    cache: Path | None = None,
    only: tuple[str, ...] = (),
    progress: Progress = lambda _task, _done, _total: None,
    settings: Settings | None = None,
) -> dict[str, Any]:
    """The figures of a suite on the files of a folder, keyed by file and metric, as `--json` prints them.

    `only` names parts to run (rewrite/cast20, cast20 or rewrite). `cache` is the folder for indexed collections, which
    makes a second run fast and lets an interrupted one continue.
    """
    settings = settings or Settings()
    if suite == "all":
        names = [each for each in SUITES if each != "repetition"]  # its figures are part of `answer`
        return {each: run(each, data, cache=cache, only=only, progress=progress, settings=settings) for each in names}
    from turnwise.app import embedder_of, guard_of, passage_embedder, pinned_embedder, reranker_of, senses_of

    if suite == "guard":
        from turnwise.evaluation.guard import guard

        embedder = pinned_embedder(settings)
        rails = guard_of(dataclasses.replace(settings, max_message=MAX_MESSAGE_CHARS), embedder)
        return _round(guard(data, only, progress, rails, embedder))
    embedder = embedder_of(settings)
    product = Product(settings, senses_of(settings, embedder), reranker_of(settings))
    if suite == "followup":
        return _round(followup(data, only, progress, product))
    if suite == "condense":
        return _round(condense(data, only, progress, product))
    if suite == "retrieval":
        from turnwise.evaluation.retrieval import retrieval

        return _round(
            retrieval(data, only, progress, cache or cache_folder(), passage_embedder(settings, embedder), product)
        )
    if suite in ("answer", "repetition"):
        from turnwise.evaluation.answer import answer

        figures = answer(data, only, progress, cache or cache_folder(), passage_embedder(settings, embedder), product)
        if suite == "repetition":
            talks = {name: part for name, part in figures.items() if "repeating_turns" in part}
            figures = {name: {each: part[each] for each in REPETITION_FIGURES} for name, part in talks.items()}
        return _round(figures)
    raise BadRequest(f"There is no suite {suite!r}.", f"The suites are {', '.join(SUITES)}, transcripts and all.")


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turnwise" / "eval"


def _round(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _round(value) if isinstance(value, dict) else round(value, 4) if isinstance(value, float) else value
        for name, value in figures.items()
    }
