"""The app: the API and the page over one engine."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.errors import ConfigError
from turnwise.server import (
    analytics,
    attachments,
    collections,
    conversations,
    documents,
    guard,
    library,
    me,
    memory,
    native,
    openai,
    passages,
    problems,
    turns,
)
from turnwise.server.access import Access
from turnwise.server.embedding import Embedding
from turnwise.server.gate import Gate
from turnwise.server.live import Live
from turnwise.server.operations import Operations
from turnwise.server.uploads import Uploads

WEB = Path(__file__).parent.parent / "web"
ROUTERS = (
    native.router,
    conversations.router,
    turns.router,
    attachments.router,
    collections.router,
    documents.router,
    passages.router,
    library.router,
    memory.router,
    guard.router,
    analytics.router,
    openai.router,
    me.router,
)


def create_app(engine: Engine, host: str | None = None) -> FastAPI:
    """The API and the page over an engine. `host` is the address it will be reached under (default: the setting)."""
    access, embedding = Access(engine), Embedding(engine)
    uploads, operations = Uploads(engine, embedding), Operations(engine)
    live = operations.live = Live(engine, access.valid, operations.observed)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        embedding.start()
        operations.start()
        try:
            yield
        finally:
            await live.drain()  # in case the server has not done so
            await asyncio.to_thread(embedding.stop)
            await asyncio.to_thread(operations.stop)

    # FastAPI's own /docs page loads scripts from elsewhere, which neither works offline nor passes our policy.
    app = FastAPI(
        title="Turnwise",
        version=version("turnwise"),
        docs_url=None,
        redoc_url=None,
        middleware=[operations.middleware(), *middleware(engine.settings, host or engine.settings.host)],
        lifespan=lifespan,
    )
    app.state.engine, app.state.access, app.state.live = engine, access, live
    app.state.uploads, app.state.embedding = uploads, embedding
    problems.install(app)
    for router in (*ROUTERS, operations.router()):
        app.include_router(router)

    @app.head("/", include_in_schema=False)
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(WEB / "index.html")

    @app.head("/dashboard", include_in_schema=False)
    @app.get("/dashboard", include_in_schema=False)
    async def dashboard() -> Response:
        return FileResponse(WEB / "dashboard.html")

    app.mount("/web", StaticFiles(directory=WEB))
    return app


def middleware(settings: Settings, host: str) -> list[Middleware]:
    """The middleware in front of every route. Pages of other sites may call only if they are named, and never with
    cookies: there are none."""
    origins = origins_of(settings.cors)
    gate = Middleware(
        Gate, host=host, max_body=settings.max_body, max_upload=settings.max_upload, origins=frozenset(origins)
    )
    if not origins:
        return [gate]
    # Outside the gate, so that such a page can read why it was turned away.
    cors = Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "X-Request-ID"],
        expose_headers=[
            "Content-Disposition",
            "Idempotent-Replayed",
            "Retry-After",
            "WWW-Authenticate",
            "X-Request-ID",
        ],
        allow_credentials=False,
    )
    return [cors, gate]


def origins_of(setting: str) -> list[str]:
    """The sites that a setting names, as a browser writes them. Raises ConfigError."""
    origins = [each.strip().lower().removesuffix("/") for each in setting.split(",") if each.strip()]
    for each in origins:
        if not re.fullmatch(r"https?://[^\s/*?#@]+", each):
            raise ConfigError(
                f"'cors' names {each!r}, which is no site.",
                "Name each as https://chat.example.org, with its port where it has one. There is no way to name all.",
            )
    return origins
