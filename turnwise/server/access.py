"""Who calls, and what they may see and do: the keys of the server, and whom it lets in without one."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field
from starlette.responses import Response

from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.errors import ConfigError, NotAllowed, TurnwiseError
from turnwise.server.caller import address_of
from turnwise.server.gate import is_loopback
from turnwise.server.problems import PROBLEMS, Json, log
from turnwise.types import ConversationStore, Key, Permission, Reach, TurnRequest

FRESH = 1.0  # seconds that what is known of a key is believed: so soon it ends after it was revoked
NOTED = 60.0  # seconds between two notes that a key was used

PERMISSIONS: tuple[Permission, ...] = get_args(Permission)  # each includes those before it

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    description="A key of this server, as `turnwise keys create` gives it. A server without keys takes none.",
)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose request it is: the tenant and the collections that it may see, and what it may do. Where the server is
    open, anyone is the library's own tenant and may do everything; `key` is what they sent, unchecked."""

    tenant: str = ""
    collections: tuple[str, ...] = ()  # none: all of the tenant's
    may: Permission = "manage"
    key_id: str = ""  # "" where the server is open
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
        """Whether the caller may see what another was answered: who may see all of what that one may."""
        own, theirs = set(self.collections), set(other.collections)
        return self.tenant == other.tenant and (not own or (bool(theirs) and theirs <= own))

    @property
    def counted(self) -> str:
        """What the rate limit of a key counts by: the key that was verified, else what was sent in its place."""
        return self.key_id or self.key

    def sends(self, request: TurnRequest, user: str) -> TurnRequest:
        """The request of a turn, with who calls and what they may see."""
        return replace(request, user=user, key=self.counted, address=self.address, reach=self.reach)


class Access:
    """Lets callers in by the keys of a store. `open` says that anyone may come in."""

    def __init__(self, engine: Engine) -> None:
        mode = engine.settings.access
        self.settings: Settings = engine.settings
        self.keys = engine.store.keys
        self.open = mode == "open" or (mode == "auto" and not self.keys.all())
        self._known: dict[str, tuple[Key, float]] = {}  # by the digest of the secret, with when it was looked up
        self._valid: dict[str, tuple[bool, float]] = {}  # by id
        self._noted: dict[str, float] = {}

    def require_safe(self, host: str) -> None:
        """Raise ConfigError where anyone could come in from elsewhere, and nobody has said that they may."""
        if self.open and self.settings.access != "open" and not is_loopback(host):
            raise ConfigError(
                f"Anyone who can reach {host} could read the library and its conversations, for there is no key yet.",
                "Make one with `turnwise keys create NAME`, or let anyone in with `turnwise serve --open`.",
            )

    def caller(self, permission: Permission) -> Callable[..., Awaitable[Caller]]:
        """A dependency of a route: the caller, where it has this permission. Raises NotAllowed."""

        async def calling(request: Request, credentials: Credentials) -> Caller:
            address = address_of(request, self.settings.proxies)
            secret = credentials.credentials.strip() if credentials else ""
            if self.open:
                return Caller(key=secret, address=address)
            key = await self.let_in(secret, permission)
            return Caller(key.tenant, key.collections, key.may, key.id, secret, address, key.name)

        return calling

    async def let_in(self, secret: str, permission: Permission) -> Key:
        """The key of this secret, where it is valid and has the permission. Raises NotAllowed."""
        if not secret:
            raise NotAllowed("This server asks for a key.", "Send the header Authorization: Bearer KEY.")
        digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        key, at = self._known.get(digest, (None, 0.0))
        if key is None or time.monotonic() > at + FRESH:
            key = await asyncio.to_thread(self.keys.find, secret)
        if key is None or not key.is_valid(time.time()):
            self._known.pop(digest, None)
            raise NotAllowed("This key does not open this server.", "It may be revoked or over; ask for another one.")
        self._remember(digest, key)
        if PERMISSIONS.index(key.may) < PERMISSIONS.index(permission):
            raise NotAllowed(f"This key may {key.may}; this needs one that may {permission}.", "Ask for one.", True)
        return key

    def valid(self, key_id: str) -> bool:
        """Whether a key still lets in, as it was within the last second. It may ask the store: not for an event loop.
        The key of an open server, "", always does."""
        if not key_id:
            return self.open
        known, at = self._valid.get(key_id, (False, 0.0))
        if time.monotonic() <= at + FRESH and at:
            return known
        key = self.keys.key(key_id)
        valid = key is not None and key.is_valid(time.time())
        self._valid[key_id] = (valid, time.monotonic())
        return valid

    def _remember(self, digest: str, key: Key) -> None:
        """Keep what was looked up for a moment, and note now and then, aside, that the key was used."""
        now = time.monotonic()
        known = self._known.get(digest)
        if known is None or now > known[1] + FRESH:
            self._known[digest] = (key, now)
        if now > self._noted.get(key.id, -NOTED) + NOTED:
            self._noted[key.id] = now
            asyncio.get_running_loop().run_in_executor(None, self._note, key.id)

    def _note(self, key_id: str) -> None:
        try:
            self.keys.used(key_id)
        except TurnwiseError as error:
            log.warning("It could not be noted that a key was used: %s", error)


class Me(BaseModel):
    """Who the caller is to this server."""

    open: bool = Field(description="Whether anyone may come in")
    name: str = Field(description="Of the key")
    tenant: str
    collections: list[str] = Field(description="Those that can be seen; none: all of the tenant's")
    may: Permission
    version: str


def me_router(access: Access) -> APIRouter:
    router = APIRouter(prefix="/api", responses=PROBLEMS)

    @router.get("/me", summary="Who I am here, and what I may do", responses={200: {"model": Me}})
    async def me(caller: Caller = Depends(access.caller("ask"))) -> Response:  # noqa: B008
        told = {"name": caller.name, "tenant": caller.tenant, "collections": caller.collections, "may": caller.may}
        return Json({"open": access.open, **told, "version": version("turnwise")})

    return router
