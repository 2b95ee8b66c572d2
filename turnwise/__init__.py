"""Conversational RAG that still works on turn five.

import turnwise

engine = turnwise.open("library")
engine.add("papers/")
chat = engine.chat()
reply = chat.ask("What is BERT?")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

# isort: off
if TYPE_CHECKING:  # "X as X" tells type checkers that X is public here
    from turnwise.citations import bibliography as bibliography
    from turnwise.config import Settings as Settings
    from turnwise.conversation import (
        Conversation as Conversation,
        Turn as Turn,
    )
    from turnwise.dialogue.tracker import ConversationTracker as ConversationTracker
    from turnwise.engine import (
        Chat as Chat,
        Engine as Engine,
        TurnFailed as TurnFailed,
    )
    from turnwise.errors import (
        AnswerBlocked as AnswerBlocked,
        ConfigError as ConfigError,
        ConversationBusy as ConversationBusy,
        ConversationError as ConversationError,
        ConversationNotFound as ConversationNotFound,
        DataError as DataError,
        DocumentError as DocumentError,
        EmptyMessage as EmptyMessage,
        ImageNotSeen as ImageNotSeen,
        InputError as InputError,
        LibraryError as LibraryError,
        LibraryNotFound as LibraryNotFound,
        MessageBlocked as MessageBlocked,
        MessageTooLong as MessageTooLong,
        ModelError as ModelError,
        ModelGarbled as ModelGarbled,
        ModelTimeout as ModelTimeout,
        ModelUnavailable as ModelUnavailable,
        ToolError as ToolError,
        TooManyRequests as TooManyRequests,
        TurnwiseError as TurnwiseError,
    )
    from turnwise.guard.pipeline import GuardrailPipeline as GuardrailPipeline
    from turnwise.models.fake import FakeChat as FakeChat
    from turnwise.tools.function import tool as tool
    from turnwise.turn.condense import QueryCondenser as QueryCondenser
    from turnwise.turn.planner import (
        QueryAnalyzer as QueryAnalyzer,
        QueryPlanner as QueryPlanner,
    )
    from turnwise.types import (
        Answered as Answered,
        ChatModel as ChatModel,
        ConversationPhase as ConversationPhase,
        ConversationState as ConversationState,
        Delta as Delta,
        Embedder as Embedder,
        Failed as Failed,
        Filter as Filter,
        Image as Image,
        Message as Message,
        Prompt as Prompt,
        QueryAnalysis as QueryAnalysis,
        QueryPlan as QueryPlan,
        Reply as Reply,
        Reranker as Reranker,
        Source as Source,
        Tool as Tool,
        TurnEvent as TurnEvent,
        TurnRequest as TurnRequest,
    )
# isort: on

__version__ = "0.1.0"

# The public names by module, the same as above. Each is imported when it is first used.
_MODULES = {
    "citations": "bibliography",
    "config": "Settings",
    "conversation": "Conversation Turn",
    "dialogue.tracker": "ConversationTracker",
    "engine": "Chat Engine TurnFailed",
    "errors": (
        "AnswerBlocked ConfigError ConversationBusy ConversationError ConversationNotFound DataError DocumentError "
        "EmptyMessage ImageNotSeen InputError LibraryError LibraryNotFound MessageBlocked MessageTooLong "
        "ModelError ModelGarbled ModelTimeout ModelUnavailable TooManyRequests ToolError TurnwiseError"
    ),
    "guard.pipeline": "GuardrailPipeline",
    "models.fake": "FakeChat",
    "tools.function": "tool",
    "turn.condense": "QueryCondenser",
    "turn.planner": "QueryAnalyzer QueryPlanner",
    "types": (
        "Answered ChatModel ConversationPhase ConversationState Delta Embedder Failed Filter Image Message Prompt "
        "QueryAnalysis QueryPlan Reply Reranker Source Tool TurnEvent TurnRequest"
    ),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = sorted(_HOMES)  # not `open`, which "from turnwise import *" would put in place of Python's own


def open(
    library: str | Path,
    tools: Iterable[Tool | Callable[..., Any]] = (),
    *,
    model: str | Path | ChatModel | Sequence[ChatModel] | None = None,
    embedder: str | Path | Embedder | None = None,
    reranker: Reranker | None = None,
    **settings: Any,
) -> Engine:
    """Open the library in that folder or PostgreSQL database, and make it if it is not there. Settings given here
    override the file and the environment. `tools` are functions that a turn may call, see `turnwise.tool`; `data` may
    be a list of files with tables and addresses of databases.

    `model` and `embedder` are settings, or objects of your own: a `ChatModel`, or several that are tried in order, and
    an `Embedder`. `reranker` is a `Reranker` of your own, in place of the one that `rerank` names.
    """
    from turnwise.app import build, place_of
    from turnwise.config import load

    place = place_of(library)
    where = (
        {"database": place}
        if place.startswith(("postgres://", "postgresql://"))
        else {"library": place, "database": ""}
    )
    data: Any = "" if isinstance(settings.get("data", ""), str) else settings.pop("data")
    tables: Iterable[str | Path] = (data,) if isinstance(data, Path) else data or ()
    own: dict[str, Any] = {"reranker": reranker}
    for name, given in {"model": model, "embedder": embedder}.items():
        if isinstance(given, str | Path):
            settings[name] = str(given)
        else:
            own[name] = given
    engine = build(load({**where, **settings})[0], create=True, tables=tables, **own)
    for each in tools:
        engine.add_tool(each)
    return engine


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing turnwise stays fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'turnwise' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"turnwise.{_HOMES[name]}"), name)
