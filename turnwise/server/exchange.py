"""Conversations that are imported from elsewhere, and exported as files."""

from __future__ import annotations

import dataclasses
import math
import re
import time
import uuid
from typing import Any, Self
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, model_validator

from turnwise.conversation import Conversation, Turn, moment
from turnwise.errors import BadRequest, ConversationError, NotText
from turnwise.server.bodies import ChatMessage, Text, plain_id
from turnwise.text import UNSTORABLE
from turnwise.types import ConversationStore

MAX_TURNS = 10_000
MAX_DEPTH = 64  # nesting levels of an imported conversation
MAX_TITLE_LENGTH = 200
RESERVED_METADATA = ("title", "ancestors")  # set by the store alone


class ConversationBody(BaseModel):
    """A conversation that was written elsewhere: an export of one (`turns`), or the `messages` that were exchanged."""

    model_config = ConfigDict(extra="forbid")

    id: Text | None = Field(None, description="The id it should have; it gets another where that is taken")
    title: Text = Field("", max_length=MAX_TITLE_LENGTH)
    user_id: Text | None = None
    turns: list[dict[str, Any]] | None = Field(None, max_length=MAX_TURNS, description="As an export has them")
    messages: list[ChatMessage] | None = Field(None, max_length=2 * MAX_TURNS)
    metadata: dict[str, Any] | None = None
    created_at: str | float | None = Field(None, description="ISO 8601, or seconds since 1970")
    last_activity: str | float | None = None
    rate_limit: Text | None = None

    @model_validator(mode="after")
    def one_form(self) -> Self:
        if (self.turns is None) == (self.messages is None):
            raise ValueError("Send either the 'turns' of an export or 'messages'.")
        return self

    def to_conversation(self) -> tuple[Conversation, str]:
        """The conversation as it can be stored, and its title. Raises BadRequest or NotText."""
        told = self.model_dump(exclude={"title", "messages", "rate_limit"})
        _check(told)
        told["turns"] = told["turns"] or []
        found = Conversation.from_dict(told)
        turns = found.turns if self.messages is None else turns_of(self.messages)
        if not turns:
            raise BadRequest("There is nothing in this conversation.", "Send one that has turns.")
        kept = [_imported_turn(turn, number) for number, turn in enumerate(turns, 1)]
        noted = {name: value for name, value in found.metadata.items() if name not in RESERVED_METADATA}
        title = self.title or str(found.metadata.get("title") or "")[:MAX_TITLE_LENGTH]
        times = (found.created_at, found.last_activity) if self.messages is None else (None, None)
        return Conversation(found.id, found.user_id, noted, kept, *times), title


def take_in(store: ConversationStore, body: ConversationBody) -> str:
    """Store a conversation that was written elsewhere; returns the id that it is stored under."""
    conversation, title = body.to_conversation()
    if not _is_plain(conversation.id):
        conversation.id = uuid.uuid4().hex
    try:
        store.put(conversation, title)
    except ConversationError:
        conversation.id = uuid.uuid4().hex
        store.put(conversation, title)
    return conversation.id


def turns_of(messages: list[ChatMessage]) -> list[Turn]:
    """Messages as turns: each from the user begins one, and what the assistant says next is its answer."""
    turns: list[Turn] = []
    for message in messages:
        _check({"content": message.content, "metadata": message.metadata})
        said = message.to_message()
        at = moment(time.time() if said.at is None else said.at)
        if said.role == "user":
            turns.append(Turn(said.content, timestamp=at))
        elif said.role == "assistant":
            begun = turns.pop() if turns and turns[-1].response is None else Turn(None, timestamp=at)
            turns.append(
                dataclasses.replace(begun, response=said.content, sources=said.sources, metadata=said.metadata)
            )
    return turns


def _imported_turn(turn: Turn, number: int) -> Turn:
    """A turn with its number here. Nobody is working on one that comes from elsewhere, so none is pending."""
    status = "interrupted" if turn.status == "pending" else turn.status
    return dataclasses.replace(turn, number=number, status=status)


def _is_plain(conversation_id: str) -> bool:
    try:
        plain_id(conversation_id)
    except ValueError:
        return False
    return True


def _check(value: Any, depth: int = 0) -> None:
    """Raise if anything in it cannot be stored: invalid text, an infinite number, or nested too deeply."""
    if depth > MAX_DEPTH:
        raise BadRequest("The conversation is nested too deeply.", "Send what an export gave.")
    if isinstance(value, str):
        if UNSTORABLE.search(value):
            raise NotText("The conversation holds characters that are no text.", "Take NULs and halves of them out.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise BadRequest(f"{value} is no number that can be kept.", "Send what an export gave.")
    elif isinstance(value, dict):
        for name, each in value.items():
            _check(name, depth + 1)
            _check(each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            _check(each, depth + 1)


def attachment(name: str, ending: str) -> dict[str, str]:
    """The header that makes a browser save a response as a file of this name."""
    stem = re.sub(r"[^\w .-]+", "", name).strip(" .")[:80] or "conversation"
    plain = stem.encode("ascii", "ignore").decode().strip() or "conversation"
    return {
        "Content-Disposition": f"attachment; filename=\"{plain}.{ending}\"; filename*=UTF-8''{quote(stem)}.{ending}"
    }
