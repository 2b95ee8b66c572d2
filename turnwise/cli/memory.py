"""`turnwise memory`: what is remembered about a user across conversations."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import click

from turnwise.cli.guard import Ordered
from turnwise.cli.place import Place, json_option, library_options
from turnwise.cli.screen import remark, say, say_json
from turnwise.errors import NotFound

if TYPE_CHECKING:
    from turnwise.dialogue.profile import Profile

user_option = click.option("--user", metavar="NAME", default="", help="A user of the server [default: you].")


@click.group(cls=Ordered)
def memory() -> None:
    """Show or change what is remembered about you.

    Memory is off until you turn it on. It then remembers, across conversations, how you like answers ("please keep
    answers short") and which topics you know. It is stored in the library, and each answer says what it used.
    """


@memory.command()
@user_option
@json_option
@library_options(sample=True)
def show(place: Place, user: str, as_json: bool) -> None:
    """Show everything that is remembered."""
    with place.open_without_model() as engine:
        profile = engine.memory(user)
    _print_profile(profile, as_json)


@memory.command()
@user_option
@json_option
@library_options(sample=True)
def on(place: Place, user: str, as_json: bool) -> None:
    """Turn memory on."""
    _switch(place, user, True, as_json)


@memory.command()
@user_option
@json_option
@library_options(sample=True)
def off(place: Place, user: str, as_json: bool) -> None:
    """Turn memory off.

    Nothing more is remembered or used. What was remembered is kept until you run `turnwise memory forget`.
    """
    _switch(place, user, False, as_json)


def _switch(place: Place, user: str, enabled: bool, as_json: bool) -> None:
    with place.open_without_model() as engine:
        profile = engine.set_memory(dataclasses.replace(engine.memory(user), enabled=enabled), user)
    _print_profile(profile, as_json)


@memory.command()
@click.argument("what", metavar="[TOPIC|PREFERENCE]", nargs=-1)
@user_option
@json_option
@library_options(sample=True)
def forget(place: Place, what: tuple[str, ...], user: str, as_json: bool) -> None:
    """Erase one topic or preference, or everything.

    This does not turn memory on or off.
    """
    words = " ".join(what)
    with place.open_without_model() as engine:
        before = engine.memory(user)
        after = before.without(words) if words else dataclasses.replace(before, preferences=(), topics=())
        if words and after == before:
            raise NotFound(f"Nothing is remembered about “{words}”.", "`turnwise memory show` lists what is.")
        profile = engine.set_memory(after, user)
    _print_profile(profile, as_json)


def _print_profile(profile: Profile, as_json: bool) -> None:
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
