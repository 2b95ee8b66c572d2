"""`turnwise analytics`: what people ask and what they find, in a few lines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from turnwise.cli.place import Place, as_json, placed
from turnwise.cli.screen import remark, say, say_json

if TYPE_CHECKING:
    from turnwise.analytics import Report

DAY = 86_400.0
FEW = 5


@click.command()
@click.option("--days", metavar="N", type=click.IntRange(1), help="Only the last so many days.")
@click.option("--tenant", metavar="NAME", default="", help="Whose conversations [default: yours].")
@as_json
@placed(sample=True)
def analytics(place: Place, days: int | None, tenant: str, as_json: bool) -> None:
    """Show what people ask, and what the library lacks.

    The same in full, with charts, is at /dashboard of `turnwise serve`.
    """
    from turnwise.analytics import report
    from turnwise.types import Reach

    since = time.time() - days * DAY if days else None
    with place.open() as engine:
        made = report(engine.store.of(tenant).facts(since or 0.0), engine.index.documents(Reach(tenant)))
    if as_json:
        say_json(made.to_dict())
    elif not made.totals["turns"]:
        say("Nothing was asked in this time." if days else "Nothing was asked yet.")
    else:
        _show(made)


def _show(made: Report) -> None:
    totals = made.totals
    say(f"{_count(totals['turns'], 'turn')} in {_count(totals['conversations'], 'conversation')}")
    say(
        f"   {_share(totals['follow_up_share'])} follow-ups, {_count(totals['context_switches'], 'change')} of topic",
        dim=True,
    )
    whole = next((row for row in made.latency if row["stage"] == "whole turn"), None)
    if whole:
        say(f"   half are answered within {whole['p50']:,.0f} ms, 95 of 100 within {whole['p95']:,.0f} ms", dim=True)
    if totals["up"] + totals["down"]:
        say(f"   {totals['up']} answers were liked, {totals['down']} were not", dim=True)
    _list("Questions without an answer", [f"{row['count']}x  {row['question']}" for row in made.unanswered])
    _list("Most cited", [f"{row['turns']}x  {row['title']}" for row in made.cited])
    if totals["uncited"]:
        remark(f"{_count(totals['uncited'], 'document')} of {totals['documents']} not cited.")


def _list(title: str, lines: list[str]) -> None:
    if lines:
        say(f"\n{title}")
        for line in lines[:FEW]:
            say(f"   {line}")
        if len(lines) > FEW:
            say(f"   and {len(lines) - FEW} more", dim=True)


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def _share(part: Any) -> str:
    return "no" if part is None else f"{part:.0%}"
