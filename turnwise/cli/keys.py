"""`turnwise keys`: who may call the server, and what each may see and do."""

from __future__ import annotations

import dataclasses
import re
import time
from datetime import UTC, datetime
from typing import get_args

import click

from turnwise.cli.guard import Ordered
from turnwise.cli.place import Place, as_json, placed
from turnwise.cli.screen import remark, say, say_json
from turnwise.errors import NotFound
from turnwise.types import Key, Permission

HOUR = 3600.0
UNITS = {"h": HOUR, "d": 24 * HOUR, "w": 7 * 24 * HOUR, "y": 365 * 24 * HOUR}
LONGEST = 100 * UNITS["y"]


def _end(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """The moment at which a key ends that is good for so long ("30d")."""
    if value is None:
        return None
    read = re.fullmatch(r"([1-9]\d{0,5})([hdwy])", value.strip())
    if not read or (seconds := int(read[1]) * UNITS[read[2]]) > LONGEST:
        raise click.BadParameter(f"{value!r} is no time such as 12h, 30d, 8w or 1y.")
    return time.time() + seconds


@click.group(cls=Ordered)
def keys() -> None:
    """Say who may call the server, and what each may see."""


@keys.command()
@click.argument("name")
@click.option(
    "--tenant", metavar="NAME", default="", help="Whose it is. Tenants see nothing of each other's [default: yours]."
)
@click.option(
    "--collection", "collections", metavar="NAME", multiple=True, help="Only this collection; may be repeated."
)
@click.option(
    "--may",
    type=click.Choice(get_args(Permission)),
    default="ask",
    show_default=True,
    help="ask: talk. edit: change documents too. manage: see the dashboard too.",
)
@click.option("--expires", "expires_at", metavar="TIME", callback=_end, help="When it ends: 12h, 30d, 8w, 1y.")
@as_json
@placed(sample=True)
def create(
    place: Place,
    name: str,
    tenant: str,
    collections: tuple[str, ...],
    may: Permission,
    expires_at: float | None,
    as_json: bool,
) -> None:
    """Make a key. It is shown once: only a hash of it is kept.

    From the first key on, `turnwise serve` lets nobody in without one. A running server notices within seconds.
    """
    for each in (name, tenant, *collections):
        if not each.isprintable() or len(each) > 200:
            raise click.UsageError(f"{each[:40]!r} cannot be a name: printable characters, 200 at most.")
    if not name.strip():
        raise click.UsageError("A key has a name, to tell it from others.")
    with place.open(create=True) as engine:
        key, secret = engine.store.keys.create(name, tenant, collections, may, expires_at)
    if as_json:
        say_json({**dataclasses.asdict(key), "secret": secret})
        return
    say(secret)
    remark(f"This is the key of {_whose(key)}. It is not shown again; it may {_allowed(key)}.")
    remark("Send it with each request as Authorization: Bearer KEY; the page asks for it. In a shell:")
    remark('    curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8000/api/me')
    remark(f"To end it: turnwise keys revoke {key.id}{place.options()}")


@keys.command("list")
@as_json
@placed(sample=True)
def list_keys(place: Place, as_json: bool) -> None:
    """List the keys, those that have ended too."""
    with place.open() as engine:
        found = engine.store.keys.all()
    for key in found:
        if as_json:
            say_json({**dataclasses.asdict(key), "valid": key.is_valid(time.time())})
            continue
        say(f"{key.id}  {_whose(key)}")
        say(f"   {key.hint}…, may {_allowed(key)}; {_life(key)}", dim=True)
    if not found and not as_json:
        say("There are no keys. On this machine anyone may come in; elsewhere `turnwise serve` does not listen.")


@keys.command()
@click.argument("key_id", metavar="ID")
@as_json
@placed(sample=True)
def revoke(place: Place, key_id: str, as_json: bool) -> None:
    """End a key, at once: what is being streamed to its holder stops too."""
    with place.open() as engine:
        if not engine.store.keys.revoke(key_id):
            raise NotFound(f"There is no key {key_id}.", "`turnwise keys list` names them.")
    if as_json:
        say_json({"revoked": key_id})
    else:
        say(f"Revoked: {key_id}")


def _whose(key: Key) -> str:
    return f"{key.name} ({key.tenant})" if key.tenant else key.name


def _allowed(key: Key) -> str:
    return f"{key.may}, in {' and '.join(key.collections)} only" if key.collections else key.may


def _life(key: Key) -> str:
    """When it was made and last used, and when it ends or has ended."""
    if key.revoked_at is not None:
        return f"revoked {_day(key.revoked_at)}"
    used = f"last used {_day(key.last_used_at)}" if key.last_used_at else "not used yet"
    if key.expires_at is None:
        return f"made {_day(key.created_at)}, {used}"
    ends = "ended" if key.expires_at <= time.time() else "ends"
    return f"made {_day(key.created_at)}, {used}, {ends} {_day(key.expires_at)}"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
