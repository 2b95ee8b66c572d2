"""The verbs about what is remembered of you across conversations: see it, switch it on or off, have it forgotten."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import click

from turnwise.cli.place import Place, as_json, placed
from turnwise.cli.screen import remark, say, say_json
from turnwise.errors import NotFound

if TYPE_CHECKING:
    from turnwise.dialogue.profile import Profile

whose = click.option("--user", metavar="NAME", default="", help="Of this user of a server [default: you].")


@click.group()
def memory() -> None:
    """What is remembered of you across conversations.

    Nothing is, until you switch it on: how you like answers ("please keep answers short") and which topics you showed
    to know. It stays in the library, and each answer says what of it was used.
    """


@memory.command()
@whose
@as_json
@placed(sample=True)
def show(place: Place, user: str, as_json: bool) -> None:
    """Show all that is remembered."""
    with place.open() as engine:
        profile = engine.memory(user)
    _tell(profile, as_json)


@memory.command()
@whose
@as_json
@placed(sample=True)
def on(place: Place, user: str, as_json: bool) -> None:
    """Remember from now on, and use what is remembered."""
    with place.open() as engine:
        profile = engine.set_memory(dataclasses.replace(engine.memory(user), enabled=True), user)
    _tell(profile, as_json)


@memory.command()
@whose
@as_json
@placed(sample=True)
def off(place: Place, user: str, as_json: bool) -> None:
    """Remember and use nothing more; what was remembered stays until it is forgotten."""
    with place.open() as engine:
        profile = engine.set_memory(dataclasses.replace(engine.memory(user), enabled=False), user)
    _tell(profile, as_json)


@memory.command()
@click.argument("what", metavar="[TOPIC|PREFERENCE]", nargs=-1)
@whose
@as_json
@placed(sample=True)
def forget(place: Place, what: tuple[str, ...], user: str, as_json: bool) -> None:
    """Erase one topic or preference; without one, everything.

    Memory stays on or off as it is.
    """
    words = " ".join(what)
    with place.open() as engine:
        before = engine.memory(user)
        after = before.without(words) if words else dataclasses.replace(before, preferences=(), topics=())
        if words and after == before:
            raise NotFound(f"Nothing is remembered of “{words}”.", "turnwise memory show lists what is.")
        profile = engine.set_memory(after, user)
    _tell(profile, as_json)


def _tell(profile: Profile, as_json: bool) -> None:
    if as_json:
        say_json(profile.to_dict())
        return
    say(f"Memory is {'on' if profile.enabled else 'off'}.")
    for preference in profile.preferences:
        say(f"You prefer: {preference}")
    for topic in profile.topics:
        day = time.strftime("%Y-%m-%d", time.localtime(topic.at)) if topic.at else ""
        say(f"{topic.topic}: {topic.level.replace('_', ' ')}", end="")
        say("".join([f"  {day}" if day else "", f"  “{topic.evidence}”" if topic.evidence else ""]), dim=True)
    if not (profile.preferences or profile.topics):
        remark("Nothing is remembered.")
