"""`turnwise conversations` and `turnwise export`: list the stored conversations, and write one as Markdown or JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from turnwise.cli.place import Place, json_option, library_options
from turnwise.cli.screen import say, say_json
from turnwise.errors import ConversationNotFound

tenant_option = click.option("--tenant", metavar="NAME", default="", help="Conversations of this tenant of the server.")


@click.command()
@click.option("--search", metavar="WORDS", default="", help="Only those in which all these words occur.")
@click.option(
    "--limit", default=20, metavar="N", type=click.IntRange(1), help="Show at most N conversations [default: 20]."
)
@tenant_option
@json_option
@library_options(sample=True)
def conversations(place: Place, search: str, limit: int, tenant: str, as_json: bool) -> None:
    """List the conversations in the library.

    The most recent come first. `turnwise chat --conversation ID` continues one.
    """
    with place.open_without_model() as engine:
        listed = engine.store.of(tenant).conversations(limit, search)
    for each in listed:
        if as_json:
            say_json(each)
        else:
            say(each["title"] or "(no title)")
            say(f"   {_line(each)}", dim=True)
    if not listed and not as_json:
        say("No conversation has these words." if search.strip() else "There are no conversations yet.")


def _line(conversation: dict[str, Any]) -> str:
    turns, last = conversation["turns"], datetime.fromtimestamp(conversation["last_activity"])
    return f"{conversation['id']}, {turns:,} {'turn' if turns == 1 else 'turns'}, last active {last:%Y-%m-%d %H:%M}"


@click.command()
@click.argument("conversation", metavar="CONVERSATION")
@tenant_option
@json_option
@library_options(sample=True)
def export(place: Place, conversation: str, tenant: str, as_json: bool) -> None:
    """Write a conversation to stdout as Markdown.

    CONVERSATION is its id; `turnwise conversations` lists them. With --json it is complete, with what each turn was
    based on: `turnwise eval transcripts` and the API (POST /api/conversations) can read it.

    \b
    turnwise export ID > talk.md
    turnwise export ID --json > talk.json
    """
    with place.open_without_model() as engine:
        try:
            found = engine.store.of(tenant).conversation(conversation)
        except ConversationNotFound as error:
            raise ConversationNotFound(str(error), "`turnwise conversations` lists the ids.") from error
    if as_json:
        say_json(found.to_dict())
    else:
        say(found.to_markdown(), end="")
