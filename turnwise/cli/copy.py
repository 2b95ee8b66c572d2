"""`turnwise copy`: a library from a folder to PostgreSQL."""

from __future__ import annotations

import dataclasses

import click

from turnwise.cli.place import Place, as_json, placed, without_password
from turnwise.cli.screen import Bars, say, say_json


@click.command()
@click.option("--to", metavar="URL", required=True, help="The database: postgres://USER:PASSWORD@HOST/NAME.")
@as_json
@placed(sample=False)
def copy(place: Place, to: str, as_json: bool) -> None:
    """Copy the library in a folder to PostgreSQL.

    Documents, vectors and conversations go there and keep their ids, so that citations hold. A copy that was broken off
    goes on where it stopped; at the end both sides are compared. The folder stays as it is.
    """
    from turnwise.transfer import copy as copy_library

    if place.database:
        raise click.UsageError("What is copied is a library in a folder; name it with --library.")
    settings, _ = place.settings()
    with Bars() as bars:
        copied = copy_library(settings, to, bars)
    if as_json:
        say_json(dataclasses.asdict(copied))
    else:
        say(
            f"{copied.documents:,} documents, {copied.passages:,} passages, {copied.vectors:,} vectors,"
            f" {copied.conversations:,} conversations and {copied.turns:,} turns are in {without_password(to)},"
            " and the same as in the folder."
        )
        say("Use it with --database, or set TURNWISE_DATABASE.")
