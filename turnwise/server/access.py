"""Who calls, and what they may see and do: the server's keys, and who is let in without one."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, get_args

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.errors import ConfigError, NotAllowed, TurnwiseError
from turnwise.server.caller import address_of
from turnwise.server.gate import is_loopback
from turnwise.server.problems import log
from turnwise.types import ConversationStore, Key, Permission, Reach, TurnRequest

KEY_CACHE_SECONDS = 1.0  # a revoked key stops working within this time
LAST_USED_SECONDS = 60.0  # the last use of a key is recorded at most this often

PERMISSIONS: tuple[Permission, ...] = get_args(Permission)  # each includes those before it

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    description="A key of this server, as `turnwise keys create` gives it. A server without keys takes none.",
)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request: their tenant, the collections they may see, and what they may do. On an open server anyone
    acts as the library's own tenant and may do everything; `key` is then whatever they sent, unchecked."""

    tenant: str = ""
    collections: tuple[str, ...] = ()  # empty: all of the tenant's
    may: Permission = "manage"
    key_id: str = ""  # "" if the server is open
    key: str = field(default="", repr=False)
    address: str = ""
    name: str = ""  # of the key

    @property
    def reach(self) -> Reach:
        return Reach(self.tenant, self.collections)

    def view(self, store: ConversationStore) -> ConversationStore:
        """The conversations that the caller may see."""
        return store.of(self.tenant, self.collections)

    def sees(self, other: Caller) -> bool:
        """Whether the caller may see another's answers: only if they may see everything that the other may."""
        own, theirs = set(self.collections), set(other.collections)
        return self.tenant == other.tenant and (not own or (bool(theirs) and theirs <= own))

    @property
    def counted(self) -> str:
        """What a key's rate limit counts by: the verified key, or whatever was sent in its place."""
        return self.key_id or self.key

    def sends(self, request: TurnRequest, user: str) -> TurnRequest:
        """The request for a turn, with the caller and what they may see filled in."""
        return replace(request, user=user, key=self.counted, address=self.address, reach=self.reach)


class Access:
    """Lets callers in by the keys in a store. While it is `open`, anyone may come in; with access="auto" that ends with
    the first key."""

    def __init__(self, engine: Engine) -> None:
        mode = engine.settings.access
        self.settings: Settings = engine.settings
        self.keys = engine.store.keys
        self.open = mode == "open" or (mode == "auto" and not self.keys.all())
        self._open_checked = time.monotonic()
        self._known: dict[str, tuple[Key, float]] = {}  # by the digest of the secret, with when it was looked up
        self._valid: dict[str, tuple[bool, float]] = {}  # by id
        self._noted: dict[str, float] = {}

    def check_open(self) -> bool:
        """Whether anyone may come in, at most a second out of date. May query the store: keep it off the event loop."""
        if self._open_is_stale():
            self.open = not self.keys.all()
            self._open_checked = time.monotonic()
        return self.open

    def require_safe(self, host: str) -> None:
        """Raise ConfigError if anyone could come in from another machine, and nobody has said that they may."""
        if self.open and self.settings.access != "open" and not is_loopback(host):
            raise ConfigError(
                f"Anyone who can reach {host} could read the library and its conversations: there is no key yet.",
                f"Make one for this library (`turnwise keys create NAME{self.settings.named}`), or let anyone in"
                " (`turnwise serve --open`).",
            )

    async def caller(self, request: Request, secret: str, permission: Permission) -> Caller:
        """Who sent a request, if they have this permission. Raises NotAllowed otherwise."""
        address = address_of(request, self.settings.proxies)
        if self._open_is_stale():
            await asyncio.to_thread(self.check_open)
        if self.open:
            return Caller(key=secret, address=address)
        key = await self.let_in(secret, permission)
        return Caller(key.tenant, key.collections, key.may, key.id, secret, address, key.name)

    async def let_in(self, secret: str, permission: Permission) -> Key:
        """The key with this secret, if it is valid and has the permission. Raises NotAllowed otherwise."""
        if not secret:
            raise NotAllowed("This server asks for a key.", "Send the header Authorization: Bearer KEY.")
        digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        key, at = self._known.get(digest, (None, 0.0))
        if key is None or time.monotonic() > at + KEY_CACHE_SECONDS:
            key = await asyncio.to_thread(self.keys.find, secret)
        if key is None or not key.is_valid(time.time()):
            self._known.pop(digest, None)
            raise NotAllowed("This key does not open this server.", "It may be revoked or over; ask for another one.")
        self._remember(digest, key)
        if PERMISSIONS.index(key.may) < PERMISSIONS.index(permission):
            raise NotAllowed(f"This key may {key.may}; this needs one that may {permission}.", "Ask for one.", True)
        return key

    def valid(self, key_id: str) -> bool:
        """Whether a key is still valid, at most a second out of date. "" stands for no key, which is valid while the
        server is open. May query the store: keep it off the event loop."""
        if not key_id:
            return self.check_open()
        known, at = self._valid.get(key_id, (False, 0.0))
        if time.monotonic() <= at + KEY_CACHE_SECONDS and at:
            return known
        key = self.keys.key(key_id)
        valid = key is not None and key.is_valid(time.time())
        self._valid[key_id] = (valid, time.monotonic())
        return valid

    def _open_is_stale(self) -> bool:
        return (
            self.open and self.settings.access == "auto" and time.monotonic() > self._open_checked + KEY_CACHE_SECONDS
        )

    def _remember(self, digest: str, key: Key) -> None:
        """Cache the key for a moment, and now and then record in the background that it was used."""
        now = time.monotonic()
        known = self._known.get(digest)
        if known is None or now > known[1] + KEY_CACHE_SECONDS:
            self._known[digest] = (key, now)
        if now > self._noted.get(key.id, -LAST_USED_SECONDS) + LAST_USED_SECONDS:
            self._noted[key.id] = now
            asyncio.get_running_loop().run_in_executor(None, self._record_use, key.id)

    def _record_use(self, key_id: str) -> None:
        try:
            self.keys.used(key_id)
        except TurnwiseError as error:
            log.warning("It could not be noted that a key was used: %s", error)


def _caller_who_may(permission: Permission) -> Callable[..., Awaitable[Caller]]:
    """A dependency of a route: the caller, if they have this permission."""

    async def caller(request: Request, credentials: Credentials) -> Caller:
        access: Access = request.app.state.access
        return await access.caller(request, credentials.credentials.strip() if credentials else "", permission)

    return caller


AskCaller = Annotated[Caller, Depends(_caller_who_may("ask"))]
EditCaller = Annotated[Caller, Depends(_caller_who_may("edit"))]
ManageCaller = Annotated[Caller, Depends(_caller_who_may("manage"))]
