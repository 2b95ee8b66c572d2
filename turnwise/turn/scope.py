"""Scope: what the caller of a turn may see and use."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from turnwise.types import ConversationStore, Reach, Tool, TurnRequest


def with_attachments(reach: Reach, conversation_id: str | None, ancestors: Sequence[str]) -> Reach:
    """The caller's reach, plus what is attached to the conversation and to those it branched from."""
    attached = (conversation_id, *ancestors) if conversation_id else ()
    return dataclasses.replace(reach, conversations=tuple(dict.fromkeys((*reach.conversations, *attached))))


def store_for(request: TurnRequest, store: ConversationStore) -> ConversationStore:
    """The store as the caller sees it."""
    reach = request.reach
    return store.of(reach.tenant, reach.collections) if reach.tenant or reach.collections else store


def tools_for(request: TurnRequest, tools: Sequence[Tool]) -> Sequence[Tool]:
    """The tools the caller may use: those that read the library's own data are not offered to other tenants."""
    own = not request.reach.tenant
    return [tool for tool in tools if own or not getattr(tool, "of_library", False)]
