"""What requests carry: messages, filters, times, pictures; read as leniently as is safe, refused in plain words."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from turnwise.server.images import MAX_IMAGES, read_images
from turnwise.types import ConversationState, Filter, Hit, Message, Role, Source, TurnRequest

MILLISECONDS_FROM = 1e11  # larger numbers are milliseconds: as seconds they would lie beyond the year 5138
MAX_HITS = 50  # passages found by one search
MAX_SOURCE_NUMBER = 9999  # citations have no more digits


def whole_characters(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PydanticCustomError("lone_surrogate", "holds half of a character (a lone surrogate)") from error
    return text


def without_nul(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("nul", "holds a NUL, which is no text")
    return text


def plain_id(text: str) -> str:
    if not (0 < len(text) <= 200 and text.isprintable() and "/" not in text):
        raise PydanticCustomError("plain_id", "should be 1 to 200 printable characters without a slash")
    return text


def moment(value: Any) -> float | None:
    """A time as seconds since 1970; None if there is none, or if it cannot be one: negative, infinite, not a number."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            read = datetime.fromisoformat(value.strip())
            return max(0.0, (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()) or None
        except (ValueError, OverflowError) as error:
            raise PydanticCustomError("moment", "should be a number of seconds or a time in ISO 8601") from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("moment", "should be a number of seconds or a time in ISO 8601")
    if not 0 <= value < 1e15:  # also false for NaN
        return None
    return value / 1000 if value > MILLISECONDS_FROM else float(value)


Moment = Annotated[float | None, BeforeValidator(moment)]
Text = Annotated[str, AfterValidator(whole_characters)]
Line = Annotated[Text, AfterValidator(without_nul), StringConstraints(max_length=200)]
ConversationId = Annotated[Text, AfterValidator(plain_id)]


class ChatMessage(BaseModel):
    """A message of a history that the caller keeps. An assistant's may carry the sources it was returned with, and
    what its writer noted about it: {"scaffolding": "hint"}."""

    model_config = ConfigDict(extra="ignore")

    role: Role
    content: Text
    sources: Any = None
    created_at: Moment = Field(None, description="Seconds or milliseconds since 1970, or ISO 8601 (else UTC)")
    metadata: Any = None

    def to_message(self) -> Message:
        noted = self.metadata if isinstance(self.metadata, dict) else {}
        return Message(self.role, self.content, read_sources(self.sources), self.created_at, noted)


class AnalyzeBody(BaseModel):
    """A conversation that the caller keeps; its last message is the one to be understood."""

    model_config = ConfigDict(extra="forbid")

    messages: list[ChatMessage]

    @model_validator(mode="after")
    def ends_with_the_user(self) -> Self:
        if not self.messages or self.messages[-1].role != "user":
            raise ValueError("The last of 'messages' must be from the user.")
        return self

    def to_request(self) -> TurnRequest:
        *history, last = (message.to_message() for message in self.messages)
        return TurnRequest(last.content, tuple(history))


class FilterBody(BaseModel):
    """Which documents may answer; see `turnwise.types.Filter`."""

    model_config = ConfigDict(extra="forbid")

    collections: list[Text] = []
    tags: list[Text] = []
    source: Text = ""
    since: Text = ""
    until: Text = ""

    def to_filter(self) -> Filter:
        return Filter(tuple(self.collections), tuple(self.tags), self.source, self.since, self.until)


class SearchBody(BaseModel):
    """What to look for, and among which documents."""

    model_config = ConfigDict(extra="forbid")

    query: Text = Field(description="Words or a question, taken as they are: no conversation is looked at")
    limit: int = Field(6, ge=1, le=MAX_HITS, description="Most passages")
    filter: FilterBody = FilterBody()
    user: Text = Field("", description="Who looks for it, for the rate limit of a user")

    def to_request(self) -> TurnRequest:
        return TurnRequest(self.query, where=self.filter.to_filter())


class Found(BaseModel):
    """What a search found, the best first, as `turnwise search --json` prints it."""

    hits: list[Hit]
    left_out: int = Field(description="Passages that are not shown, for they seem to instruct the assistant")


class Analyzed(BaseModel):
    """What a message is to its conversation."""

    turn: int
    intent: str
    operation: str
    language: str
    reason: str
    is_follow_up: bool
    type: str
    confidence: float
    threshold: float
    signals: dict[str, float]
    topic_changed: bool
    previous_topic: str
    keywords: list[str]
    enhanced_query: str = Field(description="The message as a question that stands alone")
    added_terms: dict[str, float]
    state: ConversationState


class ImageBody(BaseModel):
    """A picture to be seen with the message."""

    model_config = ConfigDict(extra="forbid")

    name: Text = Field("", max_length=500)
    data: str = Field(description="A data: URL of a PNG, JPEG, WebP or GIF: data:image/png;base64,…")


class ChatBody(BaseModel):
    """A question: `message` for a conversation kept here, or `messages` for one the caller keeps."""

    model_config = ConfigDict(extra="forbid")

    message: Text | None = None
    conversation_id: ConversationId | None = None
    messages: list[ChatMessage] | None = None
    condensed_query: Text | None = None
    filter: FilterBody = FilterBody()
    query_id: ConversationId | None = Field(None, description="The caller's name for this question, in its plan")
    user: Text = Field("", description="Whose message it is, for the rate limit of a user")
    images: list[ImageBody] = Field([], description=f"At most {MAX_IMAGES}; all of the body has to keep to max_body")
    style: Text = Field("", description="A citation style by its name, such as apa: then the reply has a bibliography")
    stream: StrictBool = True

    @model_validator(mode="after")
    def one_kind(self) -> Self:
        if (self.message is None) == (self.messages is None):
            raise ValueError("Send either 'message' or 'messages'.")
        if self.messages is not None and self.conversation_id is not None:
            raise ValueError("'conversation_id' goes with 'message'; with 'messages' nothing is kept here.")
        if self.messages is not None and (not self.messages or self.messages[-1].role != "user"):
            raise ValueError("The last of 'messages' must be from the user.")
        return self

    def to_request(self) -> TurnRequest:
        query, where, name = self.condensed_query or None, self.filter.to_filter(), self.query_id or ""
        images = read_images((image.name, image.data) for image in self.images)
        if self.messages is not None:
            *history, last = (message.to_message() for message in self.messages)
            return TurnRequest(last.content, tuple(history), None, query, where, name, images=images)
        kept = self.conversation_id or uuid.uuid4().hex
        return TurnRequest(self.message or "", (), kept, query, where, name, images=images)


def read_sources(value: Any) -> tuple[Source, ...]:
    """The sources that a caller sent back to us; those that are not in our format are left out."""
    sources: list[Source] = []
    for item in value if isinstance(value, list) else []:
        try:
            source = _source.validate_python(item)
        except ValidationError:
            continue
        if 0 < source.number <= MAX_SOURCE_NUMBER:
            sources.append(source)
    return tuple(sources)


_source = TypeAdapter(Source)
