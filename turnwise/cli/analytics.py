"""`turnwise analytics`: a short summary of what people ask and what they find."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from turnwise.cli.place import Place, json_option, library_options
from turnwise.cli.screen import counted, remark, say, say_json

if TYPE_CHECKING:
    from turnwise.analytics import Report

SECONDS_PER_DAY = 86_400.0
MAX_ROWS = 5


@click.command()
@click.option("--days", metavar="N", type=click.IntRange(1), help="Only the last N days.")
@click.option("--tenant", metavar="NAME", default="", help="Tenant whose conversations to count [default: your own].")
@json_option
@library_options(sample=True)
def analytics(place: Place, days: int | None, tenant: str, as_json: bool) -> None:
    """Show what people ask, and what the library lacks.

    The /dashboard page of `turnwise serve` shows the same in full, with charts.
    """
    from turnwise.analytics import report as report_on
    from turnwise.types import Reach

    since = time.time() - days * SECONDS_PER_DAY if days else 0.0
    with place.open_without_model() as engine:
        report = report_on(engine.store.of(tenant).facts(since), engine.index.documents(Reach(tenant)))
    if as_json:
        say_json(report.to_dict())
    elif not report.totals["turns"]:
        say("No questions in this period." if days else "No questions yet.")
    else:
        _show(report)


def _show(report: Report) -> None:
    totals = report.totals
    say(f"{counted(totals['turns'], 'turn')} in {counted(totals['conversations'], 'conversation')}")
    say(
        f"   {_share(totals['follow_up_share'])} follow-ups, {counted(totals['context_switches'], 'change')} of topic",
        dim=True,
    )
    whole = next((row for row in report.latency if row["stage"] == "whole turn"), None)
    if whole:
        say(f"   50% are answered within {whole['p50']:,.0f} ms, 95% within {whole['p95']:,.0f} ms", dim=True)
    if totals["up"] + totals["down"]:
        say(f"   {totals['up']} answers were liked, {totals['down']} were not", dim=True)
    _list("Questions without an answer", [f"{row['count']}x  {row['question']}" for row in report.unanswered])
    _list("Most cited", [f"{row['turns']}x  {row['title']}" for row in report.cited])
    if totals["uncited"]:
        remark(f"{totals['uncited']:,} of {counted(totals['documents'], 'document')} not cited.")


def _list(title: str, lines: list[str]) -> None:
    if lines:
        say(f"\n{title}")
        for line in lines[:MAX_ROWS]:
            say(f"   {line}")
        if len(lines) > MAX_ROWS:
            say(f"   and {len(lines) - MAX_ROWS} more", dim=True)


def _share(part: Any) -> str:
    return "no" if part is None else f"{part:.0%}"
