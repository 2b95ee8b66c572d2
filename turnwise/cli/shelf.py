"""The verbs about what a library holds: its documents, those that instruct the assistant, which are fine."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from turnwise.cli.place import Place, as_json, placed
from turnwise.cli.screen import Bars, remark, say, say_json
from turnwise.errors import DocumentError
from turnwise.types import Reach

if TYPE_CHECKING:
    from turnwise.engine import Engine
    from turnwise.types import Hidden, Suspect

SHOWN = 10  # documents that are named one by one; more are counted


@click.command()
@click.option("--tenant", metavar="NAME", default="", help="Those of this tenant, which no others see.")
@click.option("--flagged", is_flag=True, help="Only those that instruct the assistant, with the words that do.")
@as_json
@placed(sample=True)
def documents(place: Place, tenant: str, flagged: bool, as_json: bool) -> None:
    """List the documents of the library.

    With --flagged, those in which a check found instructions to the assistant: in passages, which are left out of
    answers, or where no reader sees them. What was added before there was a check is checked first.
    """
    with place.open() as engine:
        if flagged:
            with Bars() as bars:
                suspects = engine.suspects(bars)
            _list_suspects(engine, suspects, as_json)
            return
        listed = engine.index.documents(Reach(tenant))
    for each in listed:
        if as_json:
            say_json(dataclasses.asdict(each))
        else:
            say(each.title)
            say(f"   {each.source}, {each.passages:,} {'passage' if each.passages == 1 else 'passages'}", dim=True)
    if not listed and not as_json:
        say("The library is empty.")


def _list_suspects(engine: Engine, suspects: Sequence[Suspect], as_json: bool) -> None:
    for each in suspects:
        if as_json:
            say_json(dataclasses.asdict(each))
            continue
        say(f"{each.source}{'  (trusted)' if each.trusted else ''}")
        for place, flag in each.passages:
            say(f"   passage {place + 1}, {flag.score:.2f}: “{flag.words}”", dim=True)
        for told in each.hidden:
            say(f"   hidden, {quoted(told)}", dim=True)
    if not suspects and not as_json:
        say(f"Nothing is flagged{'' if engine.checks_documents else ': the guard in force does not check documents'}.")


@click.command()
@click.argument("paths", metavar="DOCUMENT...", nargs=-1, required=True)
@click.option("--undo", is_flag=True, help="Take it back.")
@as_json
@placed(sample=False)
def trust(place: Place, paths: tuple[str, ...], undo: bool, as_json: bool) -> None:
    """Say that documents are fine although they seem to instruct the assistant.

    Their passages then answer as all others do. That holds for what a document says now, also when it is added again;
    when it changes, it has to be said again.
    """
    with place.open() as engine:
        known = {document.source for document in engine.index.documents(None)}
        for path in paths:
            if not engine.trust(path, not undo):
                raise _unknown(path, known)
    if as_json:
        say_json({"trusted" if not undo else "not_trusted": list(paths)})
    else:
        say("\n".join(f"{'No longer trusted' if undo else 'Trusted'}: {path}" for path in paths))


def _unknown(path: str, known: set[str]) -> DocumentError:
    names = {os.path.basename(source): source for source in known}
    near = difflib.get_close_matches(os.path.basename(path), names, n=1)
    hint = f"Did you mean {names[near[0]]}?" if near else "turnwise documents --flagged names those that are flagged."
    return DocumentError(f"The library has no document {path}.", hint)


def tell_suspects(suspects: Sequence[Suspect]) -> None:
    """Say which documents that were just added instruct the assistant, and where."""
    hiding = [f"{each.source}: {quoted(each.hidden[0])}" for each in suspects if each.hidden]
    if hiding:
        say(f"{_several(hiding)} {'hides' if len(hiding) == 1 else 'hide'} instructions to the assistant from readers:")
        _tell_some(hiding)
    speaking = [f"{each.source}: “{each.passages[0][1].words}”" for each in suspects if each.passages]
    if speaking:
        said = "instructs" if len(speaking) == 1 else "instruct"
        say(f"{_several(speaking)} {said} the assistant; those passages are left out of answers:")
        _tell_some(speaking)
    if suspects:
        remark("Where a document is fine: turnwise trust DOCUMENT   (turnwise documents --flagged lists all of them)")


def quoted(told: Hidden) -> str:
    return f"{told.where}: “{told.text}”"


def _several(documents: Sequence[str]) -> str:
    return "1 document" if len(documents) == 1 else f"{len(documents):,} documents"


def _tell_some(lines: Sequence[str]) -> None:
    for line in lines[:SHOWN]:
        say(f"  {line}")
    if len(lines) > SHOWN:
        say(f"  {len(lines) - SHOWN:,} more")
