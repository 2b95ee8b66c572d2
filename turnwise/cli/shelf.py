"""`turnwise documents` and `turnwise trust`: list what a library holds, and clear flagged documents."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from turnwise.cli.place import Place, filter_as_typed, json_option, library_options, paths_argument
from turnwise.cli.screen import Bars, counted, named, remark, say, say_json
from turnwise.errors import DocumentError
from turnwise.types import Reach

if TYPE_CHECKING:
    from turnwise.engine import Engine
    from turnwise.types import Filter, Hidden, Suspect

MAX_LISTED = 10  # documents named one by one; the rest are only counted


@click.command()
@click.option("--tenant", metavar="NAME", default="", help="Documents that only this tenant can see.")
@click.option("--flagged", is_flag=True, help="Only those that seem to instruct the assistant, with the wording.")
@json_option
@library_options(sample=True)
def documents(place: Place, tenant: str, flagged: bool, as_json: bool) -> None:
    """List the documents in the library.

    --flagged lists those with instructions to the assistant, either in passages (which are left out of answers) or in
    places that readers do not see. Documents that have not been checked yet are checked first.
    """
    with place.open_without_model() as engine:
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
            marks = [f"in {each.collection}"] if each.collection else []
            marks += [f"tagged {', '.join(each.tags)}"] if each.tags else []
            say(named(each.title))
            say(f"   {', '.join([named(each.source), counted(each.passages, 'passage'), *marks])}", dim=True)
    if not listed and not as_json:
        say(_EMPTY)


_EMPTY = "The library is empty.\n  Add documents: turnwise add DOCUMENTS"


def warn_of_nothing(engine: Engine, where: Filter) -> None:
    """Say so if there is nothing to search: no documents, or none that match the filter."""
    first = engine.index.find_documents(limit=1)
    if not first:
        remark(_EMPTY)
    elif where and not engine.search(first[0].title, 1, where):
        documents = engine.index.documents()
        asked = {
            "collection": (where.collections, {each.collection for each in documents if each.collection}),
            "tag": (where.tags, {tag for each in documents for tag in each.tags}),
        }
        remark(f"No document matches{filter_as_typed(where)}.")
        for kind, (names, known) in asked.items():
            for name in sorted({*names} - known):
                some = ", ".join(sorted(known)[:MAX_LISTED])
                remark(f"  There is no {kind} “{name}”{f'; there is: {some}' if some else ''}.")


def _list_suspects(engine: Engine, suspects: Sequence[Suspect], as_json: bool) -> None:
    for each in suspects:
        if as_json:
            say_json(dataclasses.asdict(each))
            continue
        say(f"{named(each.source)}{'  (trusted)' if each.trusted else ''}")
        for place, flag in each.passages:
            say(f"   passage {place + 1}, {flag.score:.2f}: “{flag.words}”", dim=True)
        for hidden in each.hidden:
            say(f"   hidden, {_quote(hidden)}", dim=True)
    if not suspects and not as_json:
        say(f"Nothing is flagged{'' if engine.checks_documents else ': the current guard does not check documents'}.")


@click.command()
@paths_argument("DOCUMENT...")
@click.option("--undo", is_flag=True, help="No longer trust them.")
@json_option
@library_options(sample=False)
def trust(place: Place, paths: tuple[str, ...], undo: bool, as_json: bool) -> None:
    """Mark flagged documents as safe.

    Use it for documents that only seem to instruct the assistant: their passages are then used in answers again. The
    mark applies to a document's current content, even if it is added again; when it changes, it has to be trusted
    again.
    """
    with place.open_without_model() as engine:
        known = {document.source for document in engine.index.documents(None)}
        for path in paths:  # all before any is marked
            if not engine.has(path):
                raise unknown_document(path, known, "`turnwise documents --flagged` lists those that are flagged.")
        for path in paths:
            engine.trust(path, not undo)
    if as_json:
        say_json({"trusted" if not undo else "not_trusted": list(paths)})
    else:
        say("\n".join(f"{'No longer trusted' if undo else 'Trusted'}: {named(path)}" for path in paths))


def unknown_document(path: str, sources: Iterable[str], hint: str) -> DocumentError:
    """The error for a document that the library does not have. It suggests one with a similar name, if there is one."""
    names = {os.path.basename(source): source for source in sources}
    near = difflib.get_close_matches(os.path.basename(os.path.realpath(path)), names, n=1)
    return DocumentError(f"The library has no document {path}.", f"Did you mean {names[near[0]]}?" if near else hint)


def print_suspects(suspects: Sequence[Suspect]) -> None:
    """Print which newly added documents instruct the assistant, and where."""
    hidden = [f"{each.source}: {_quote(each.hidden[0])}" for each in suspects if each.hidden]
    if hidden:
        verb = "hides" if len(hidden) == 1 else "hide"
        say(f"{_count(hidden)} {verb} instructions to the assistant from readers:")
        _print_some(hidden)
    visible = [f"{each.source}: “{each.passages[0][1].words}”" for each in suspects if each.passages]
    if visible:
        verb = "instructs" if len(visible) == 1 else "instruct"
        say(f"{_count(visible)} {verb} the assistant; those passages are left out of answers:")
        _print_some(visible)
    if suspects:
        remark("If a document is safe: turnwise trust DOCUMENT   (turnwise documents --flagged lists them all)")


def _quote(hidden: Hidden) -> str:
    return f"{hidden.where}: “{hidden.text}”"


def _count(documents: Sequence[str]) -> str:
    return "1 document" if len(documents) == 1 else f"{len(documents):,} documents"


def _print_some(lines: Sequence[str]) -> None:
    for line in lines[:MAX_LISTED]:
        say(f"  {line}")
    if len(lines) > MAX_LISTED:
        say(f"  {len(lines) - MAX_LISTED:,} more")
