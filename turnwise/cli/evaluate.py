"""`turnwise eval`: the stages measured, on public data and on conversations of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from turnwise.cli.place import Place, as_json, placed
from turnwise.cli.screen import Bars, remark, say, say_json


@click.command("eval")
@click.argument("suite", metavar="SUITE")
@click.option(
    "--data", "folder", metavar="PATH", required=True, type=click.Path(path_type=Path), help="The data files."
)
@click.option("--only", metavar="A,B", default="", help="Only these files or folders of the data.")
@click.option(
    "--cache", metavar="DIR", type=click.Path(path_type=Path), help="Where indexed collections are kept between runs."
)
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Of transcripts: a page with the worst turns first.",
)
@as_json
@placed(sample=True)
def evaluate(
    place: Place, suite: str, folder: Path, only: str, cache: Path | None, report: Path | None, as_json: bool
) -> None:
    """Measure the stages on public data, or on conversations of your own.

    SUITE is followup, condense, retrieval, answer, repetition, guard, or all of them; these bring their own documents
    and leave --library alone. With transcripts, --data is a file or folder of conversations (JSONL, or exports), and
    every turn is searched for in your library: by its words alone, by the condensed question, and as a turn does.
    """
    if suite == "transcripts":
        _transcripts(place, folder, report, as_json)
        return
    if report:
        raise click.UsageError("--report goes with transcripts.")
    from turnwise.evaluation.report import table, tree
    from turnwise.evaluation.run import run

    settings, _ = place.settings()
    parts = tuple(part.strip() for part in only.split(",") if part.strip())
    with Bars() as bars:
        figures = run(suite, folder, cache=cache, only=parts, progress=bars, settings=settings)
    if as_json:
        say_json(figures)
    elif suite == "all":
        for name, found in figures.items():
            say(f"{name}\n{_shown(name, found, table, tree)}\n")
    else:
        say(_shown(suite, figures, table, tree))


def _shown(suite: str, figures: dict[str, Any], table: Any, tree: Any) -> str:
    return str((tree if suite == "guard" else table)(figures))


def _transcripts(place: Place, path: Path, report: Path | None, as_json: bool) -> None:
    from turnwise.evaluation.page import page
    from turnwise.evaluation.report import tree
    from turnwise.evaluation.transcripts import evaluate, read

    asked = read(path)
    with place.open() as engine, Bars() as bars:
        findings = evaluate(engine, asked, bars)
    figures = findings.figures()
    if as_json:
        say_json(figures)
    else:
        say(tree(figures))
    if report:
        report.write_text(page(findings, path.name), encoding="utf-8")
        remark(f"The turns, worst first, are in {report}.")
