"""`turnwise copy`: copies a library from a folder to PostgreSQL."""

from __future__ import annotations

import dataclasses

import click

from turnwise.cli.place import Place, json_option, library_options
from turnwise.cli.screen import Bars, counted, say, say_json
from turnwise.config import without_password


@click.command()
@click.option("--to", metavar="URL", required=True, help="The database: postgres://USER:PASSWORD@HOST/NAME.")
@json_option
@library_options(sample=False)
def copy(place: Place, to: str, as_json: bool) -> None:
    """Copy a library from a folder to PostgreSQL.

    Documents, vectors and conversations keep their ids, so citations stay valid. An interrupted copy continues where
    it stopped; at the end both sides are compared. The folder is not changed.
    """
    from turnwise.transfer import copy as copy_library

    if place.database:
        raise click.UsageError("Only a library in a folder can be copied; name it with --library.")
    settings, _ = place.settings()
    with Bars() as bars:
        copied = copy_library(settings, to, bars)
    if as_json:
        say_json(dataclasses.asdict(copied))
    else:
        counts = [
            counted(copied.documents, "document"),
            counted(copied.passages, "passage"),
            counted(copied.vectors, "vector"),
            counted(copied.conversations, "conversation"),
        ]
        turns = counted(copied.turns, "turn")
        say(f"{', '.join(counts)} and {turns} are in {without_password(to)}, the same as in the folder.")
        say("Use it with --database, or set TURNWISE_DATABASE.")
