"""`turnwise keys`: API keys, and what each may see and do."""

from __future__ import annotations

import dataclasses
import re
import time
from datetime import UTC, datetime
from typing import get_args

import click

from turnwise.cli.guard import Ordered
from turnwise.cli.place import Place, json_option, library_options
from turnwise.cli.screen import remark, say, say_json
from turnwise.errors import NotFound
from turnwise.types import Key, Permission

HOUR = 3600.0
UNITS = {"h": HOUR, "d": 24 * HOUR, "w": 7 * 24 * HOUR, "y": 365 * 24 * HOUR}
MAX_LIFETIME_SECONDS = 100 * UNITS["y"]


def _expiry(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """The timestamp at which a key with this lifetime ("30d") expires."""
    if value is None:
        return None
    match = re.fullmatch(r"([1-9]\d{0,5})([hdwy])", value.strip())
    if not match or (seconds := int(match[1]) * UNITS[match[2]]) > MAX_LIFETIME_SECONDS:
        raise click.BadParameter(f"{value!r} is not a duration such as 12h, 30d, 8w or 1y.")
    return time.time() + seconds


@click.group(cls=Ordered)
def keys() -> None:
    """Manage the API keys of the server."""


@keys.command()
@click.argument("name")
@click.option(
    "--tenant",
    metavar="NAME",
    default="",
    help="Tenant that the key is for; tenants cannot see each other's data [default: your own].",
)
@click.option(
    "--collection", "collections", metavar="NAME", multiple=True, help="Only this collection; may be repeated."
)
@click.option(
    "--may",
    type=click.Choice(get_args(Permission)),
    default="ask",
    show_default=True,
    help="ask: ask questions. edit: also change documents. manage: also see the dashboard.",
)
@click.option(
    "--expires", "expires_at", metavar="TIME", callback=_expiry, help="Expire after this time: 12h, 30d, 8w, 1y."
)
@json_option
@library_options(sample=True)
def create(
    place: Place,
    name: str,
    tenant: str,
    collections: tuple[str, ...],
    may: Permission,
    expires_at: float | None,
    as_json: bool,
) -> None:
    """Create a key and show it once.

    Only a hash of the key is stored. From the first key on, `turnwise serve` lets nobody in without one; a server that
    is running notices within seconds.
    """
    for each in (name, tenant, *collections):
        if not each.isprintable() or len(each) > 200:
            raise click.UsageError(f"{each[:40]!r} cannot be a name: use at most 200 printable characters.")
    if not name.strip():
        raise click.UsageError("Give the key a name, to tell it from others.")
    with place.open_without_model(create=True) as engine:
        key, secret = engine.store.keys.create(name, tenant, collections, may, expires_at)
    if as_json:
        say_json({**dataclasses.asdict(key), "secret": secret})
        return
    say(secret)
    remark(f"This is the key of {_holder(key)}. It is not shown again; it may {_permission(key)}.")
    remark("Send it with each request as Authorization: Bearer KEY; the page asks for it. In a shell:")
    remark('    curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8000/api/me')
    remark(f"To revoke it: turnwise keys revoke {key.id}{place.options()}")


@keys.command("list")
@json_option
@library_options(sample=True)
def list_keys(place: Place, as_json: bool) -> None:
    """List all keys, including revoked and expired ones."""
    with place.open_without_model() as engine:
        stored = engine.store.keys.all()
    for key in stored:
        if as_json:
            say_json({**dataclasses.asdict(key), "valid": key.is_valid(time.time())})
            continue
        say(f"{key.id}  {_holder(key)}")
        say(f"   {key.hint}…, may {_permission(key)}; {_dates(key)}", dim=True)
    if not stored and not as_json:
        say("There are no keys: anyone on this machine may connect, and `turnwise serve` listens on no other address.")


@keys.command()
@click.argument("key_id", metavar="ID")
@json_option
@library_options(sample=True)
def revoke(place: Place, key_id: str, as_json: bool) -> None:
    """Revoke a key.

    This takes effect at once: answers that are being streamed to its holder stop too.
    """
    with place.open_without_model() as engine:
        if not engine.store.keys.revoke(key_id):
            raise NotFound(f"There is no key {key_id}.", "`turnwise keys list` shows the ids.")
    if as_json:
        say_json({"revoked": key_id})
    else:
        say(f"Revoked: {key_id}")


def _holder(key: Key) -> str:
    return f"{key.name} ({key.tenant})" if key.tenant else key.name


def _permission(key: Key) -> str:
    return f"{key.may}, in {' and '.join(key.collections)} only" if key.collections else key.may


def _dates(key: Key) -> str:
    """When a key was created, last used, and revoked or expired."""
    if key.revoked_at is not None:
        return f"revoked {_day(key.revoked_at)}"
    used = f"last used {_day(key.last_used_at)}" if key.last_used_at else "not used yet"
    if key.expires_at is None:
        return f"created {_day(key.created_at)}, {used}"
    expires = "expired" if key.expires_at <= time.time() else "expires"
    return f"created {_day(key.created_at)}, {used}, {expires} {_day(key.expires_at)}"


def _day(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d")
