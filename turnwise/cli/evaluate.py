"""`turnwise eval`: measures the stages of a turn on public data or on the user's own conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from turnwise.cli.place import Place, json_option, library_options
from turnwise.cli.screen import Bars, remark, say, say_json


@click.command("eval")
@click.argument("suite", metavar="SUITE")
@click.option(
    "--data", "folder", metavar="PATH", required=True, type=click.Path(path_type=Path), help="Data file or folder."
)
@click.option("--only", metavar="A,B", multiple=True, help="Only these files or folders in the data.")
@click.option(
    "--cache", metavar="DIR", type=click.Path(path_type=Path), help="Keep indexed collections here between runs."
)
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="For transcripts: write an HTML page here, worst turns first.",
)
@json_option
@library_options(sample=True)
def evaluate(
    place: Place,
    suite: str,
    folder: Path,
    only: tuple[str, ...],
    cache: Path | None,
    report: Path | None,
    as_json: bool,
) -> None:
    """Measure quality on public data or your own conversations.

    SUITE is followup, condense, retrieval, answer, repetition, guard, or all. These suites bring their own documents
    and do not use --library.

    With the suite transcripts, --data is a file or folder of conversations (JSONL, or exports). Every turn is searched
    for in your library in three ways: by its own words, by the condensed question, and as in a real turn.
    """
    if suite == "transcripts":
        _transcripts(place, folder, report, as_json)
        return
    if report:
        raise click.UsageError("--report only works with the suite transcripts.")
    from turnwise.evaluation.run import run

    settings, _ = place.settings()
    parts = tuple(part.strip() for part in ",".join(only).split(",") if part.strip())
    with Bars() as bars:
        figures = run(suite, folder, cache=cache, only=parts, progress=bars, settings=settings)
    if as_json:
        say_json(figures)
    elif suite == "all":
        for name, part in figures.items():
            say(f"{name}\n{_format(name, part)}\n")
    else:
        say(_format(suite, figures))


def _format(suite: str, figures: dict[str, Any]) -> str:
    from turnwise.evaluation.report import table, tree

    return tree(figures) if suite == "guard" else table(figures)


def _transcripts(place: Place, path: Path, report: Path | None, as_json: bool) -> None:
    from turnwise.evaluation.page import page
    from turnwise.evaluation.report import tree
    from turnwise.evaluation.transcripts import evaluate, read

    conversations = read(path)
    with place.open() as engine, Bars() as bars:
        findings = evaluate(engine, conversations, bars)
    figures = findings.figures()
    if as_json:
        say_json(figures)
    else:
        say(tree(figures))
    if report:
        report.write_text(page(findings, path.name), encoding="utf-8")
        remark(f"Wrote the turns, worst first, to {report}.")
