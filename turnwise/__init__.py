"""Conversational RAG that still works on turn five.

import turnwise

engine = turnwise.open("library")
engine.add("papers/")
chat = engine.chat()
reply = chat.ask("What is BERT?")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwise.citations import bibliography
    from turnwise.conversation import Conversation, Turn
    from turnwise.dialogue.tracker import ConversationTracker
    from turnwise.engine import Chat, Engine
    from turnwise.guard.pipeline import GuardrailPipeline
    from turnwise.models.fake import FakeChat
    from turnwise.tools.function import tool
    from turnwise.turn.condense import QueryCondenser
    from turnwise.turn.planner import QueryAnalyzer, QueryPlanner
    from turnwise.types import (
        ConversationPhase,
        ConversationState,
        Message,
        QueryAnalysis,
        QueryPlan,
        Reply,
        Source,
        Tool,
        TurnRequest,
    )

__version__ = "0.1.0"
__all__ = [
    "Chat",
    "Conversation",
    "ConversationPhase",
    "ConversationState",
    "ConversationTracker",
    "Engine",
    "FakeChat",
    "GuardrailPipeline",
    "Message",
    "QueryAnalysis",
    "QueryAnalyzer",
    "QueryCondenser",
    "QueryPlan",
    "QueryPlanner",
    "Reply",
    "Source",
    "Turn",
    "TurnRequest",
    "bibliography",
    "open",
    "tool",
]


def open(library: str | Path, tools: Iterable[Tool | Callable[..., Any]] = (), **settings: Any) -> Engine:
    """The library in that folder, or at that address of a PostgreSQL database; made if it is not there. Settings given
    here outrank the file and environment. `tools` are functions that a turn may call, see `turnwise.tool`; `data` may
    be a list: files of tables, addresses of databases."""
    from turnwise.app import build
    from turnwise.config import load

    place = str(library)
    where = (
        {"database": place}
        if place.startswith(("postgres://", "postgresql://"))
        else {"library": place, "database": ""}
    )
    data: Any = "" if isinstance(settings.get("data", ""), str) else settings.pop("data")
    tables: Iterable[str | Path] = (data,) if isinstance(data, Path) else data or ()
    engine = build(load({**where, **settings})[0], create=True, tables=tables)
    for each in tools:
        engine.add_tool(each)
    return engine


_HOMES = {
    "Chat": "engine",
    "Conversation": "conversation",
    "Turn": "conversation",
    "ConversationTracker": "dialogue.tracker",
    "Engine": "engine",
    "FakeChat": "models.fake",
    "GuardrailPipeline": "guard.pipeline",
    "QueryAnalyzer": "turn.planner",
    "QueryCondenser": "turn.condense",
    "QueryPlanner": "turn.planner",
    "tool": "tools.function",
    "bibliography": "citations",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that importing turnwise stays quick."""
    if name not in __all__:
        raise AttributeError(f"module 'turnwise' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"turnwise.{_HOMES.get(name, 'types')}"), name)
