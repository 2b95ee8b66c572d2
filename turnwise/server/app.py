"""The app: the API and the page over one engine."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

from turnwise.engine import Engine
from turnwise.server import problems
from turnwise.server.access import Access
from turnwise.server.analytics import analytics_router
from turnwise.server.conversations import conversations_router
from turnwise.server.documents import documents_router
from turnwise.server.gate import Gate
from turnwise.server.guard import guard_router
from turnwise.server.native import native_router
from turnwise.server.openai import openai_router
from turnwise.server.problems import Json

WEB = Path(__file__).parent.parent / "web"


def create_app(engine: Engine, host: str | None = None) -> FastAPI:
    """The API and the page over an engine. `host` is the address it will be reached under (default: the setting)."""
    gate = Middleware(Gate, host=host or engine.settings.host, max_body=engine.settings.max_body)
    # FastAPI's own /docs page loads scripts from elsewhere, which neither works offline nor passes our policy.
    app = FastAPI(title="Turnwise", version=version("turnwise"), docs_url=None, redoc_url=None, middleware=[gate])
    problems.install(app)
    access = app.state.access = Access(engine)
    app.include_router(native_router(engine, access))
    app.include_router(conversations_router(engine, access))
    app.include_router(documents_router(engine, access))
    app.include_router(guard_router(engine, access))
    app.include_router(analytics_router(engine, access))
    app.include_router(openai_router(engine, access))

    @app.get("/healthz", summary="Whether the server is up")
    async def healthz() -> Response:
        return Json({"status": "ok", "version": app.version})

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(WEB / "index.html")

    @app.get("/dashboard", include_in_schema=False)
    async def dashboard() -> Response:
        return FileResponse(WEB / "dashboard.html")

    app.mount("/web", StaticFiles(directory=WEB))
    return app
