"""Every error Turnwise raises on purpose. Each says what happened and what to do next.

TurnwiseError
├── InputError              the message or the request cannot be used as it is
│   ├── EmptyMessage
│   ├── MessageTooLong
│   ├── NotText             NUL bytes, lone surrogates
│   ├── BadRequest          a body, an id or a role that does not have the expected form
│   ├── KeyReused           an Idempotency-Key that was already used for another request
│   ├── ImageNotSeen        an image, and no model that can see
│   └── MessageBlocked      a rail refused the message
│       └── AnswerBlocked   a rail stopped the answer to it
├── RequestInFlight         the same request (by its Idempotency-Key) is being answered
├── NotAllowed              the key is missing, wrong, revoked, or does not permit this
├── NotFound                nothing with that name that the caller may see
├── TooManyRequests         a rate limit was reached; `retry_after` says for how many seconds
├── Overloaded              too many messages are waiting for an answer; `retry_after` likewise
├── Interrupted             the answer was stopped before it was complete
│   └── ShuttingDown        because the server is being stopped
├── LimitsUnavailable       the rate limits could not be checked
├── ConfigError             a setting that is unknown or has a value it cannot have
├── ToolError               a function that cannot be a tool
├── LibraryError
│   ├── LibraryNotFound
│   ├── LibraryDamaged      the database cannot be read or written
│   └── LibraryUnavailable  the database cannot be reached, or the connection was lost
├── DocumentError           one document could not be read; the others go on
│   ├── UnsupportedDocument
│   ├── EncryptedDocument
│   └── UnreadableDocument
├── DataError               attached data cannot be read
│   └── QueryRefused        a query that is more than one SELECT from attached tables
├── ConversationError
│   ├── ConversationNotFound
│   └── ConversationBusy    another message of this conversation is still being answered
├── WeightsError            model weights are missing or are not the ones that were pinned
├── ModelError              the language model did not answer
│   ├── ModelUnavailable    unreachable, overloaded, or not asked for a while after failures
│   │   └── ModelRefused    a wrong key or name, a message it does not take
│   ├── ModelTimeout
│   └── ModelGarbled        an empty, cut off or unreadable answer
└── TurnFailed              in turnwise.engine: raised by Chat.ask; also of the class of the error that ended the turn
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any, ClassVar


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A hint about an unknown name: the known one that is most like it, or else another hint."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"Did you mean '{near[0]}'?" if near else otherwise


def first_line(error: BaseException) -> str:
    """The first line of what another library says about an error, or the name of its class."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


class TurnwiseError(Exception):
    """What happened (`str(error)`), what to do about it (`hint`), and a stable name for programs (`code`)."""

    _status: ClassVar[int] = 500

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def code(self) -> str:
        return type(self).__name__

    @property
    def status(self) -> int:
        """The HTTP status for this error."""
        return self._status

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code, "message": str(self), "hint": self.hint}


class InputError(TurnwiseError):
    """The message or the request cannot be used as it is."""

    _status = 422


class EmptyMessage(InputError):
    """The message holds no words."""


class MessageTooLong(InputError):
    """The message is longer than `max_message` allows."""

    _status = 413


class NotText(InputError):
    """The message is no string, or holds NUL bytes or lone surrogates."""


class BadRequest(InputError):
    """A body, an id or a role does not have the expected form."""

    _status = 400


class KeyReused(InputError):
    """An Idempotency-Key was already used for another request."""


class ImageNotSeen(InputError):
    """An image was sent, and no model can see it."""


class MessageBlocked(InputError):
    """A rail of the guard refused the message."""

    _status = 403


class AnswerBlocked(MessageBlocked):
    """A rail of the guard stopped the answer."""


class RequestInFlight(TurnwiseError):
    """The same request, by its Idempotency-Key, is still being answered. `retry_after` is how many seconds to wait."""

    _status = 409
    retry_after = 2.0


class NotAllowed(TurnwiseError):
    """A request without a key that is needed (401), or with one that does not permit this (403)."""

    _status = 401

    def __init__(self, message: str, hint: str = "", known: bool = False) -> None:
        super().__init__(message, hint)
        self.known = known

    @property
    def status(self) -> int:
        return 403 if self.known else 401


class NotFound(TurnwiseError):
    """There is nothing with that name that the caller may see."""

    _status = 404


class TooManyRequests(TurnwiseError):
    """A rate limit was reached. `retry_after` is how many seconds to wait."""

    _status = 429

    def __init__(self, message: str, retry_after: float) -> None:
        wait = max(1.0, retry_after)
        size, unit = next(each for each in ((3600, "hour"), (60, "minute"), (1, "second")) if wait > each[0] - 1)
        number = math.ceil(wait / size)
        super().__init__(message, f"Wait {number} {unit}{'' if number == 1 else 's'} and send it again.")
        self.retry_after = retry_after

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "retry_after": round(self.retry_after, 3)}


class Overloaded(TurnwiseError):
    """Too many messages are waiting for an answer. `retry_after` is how many seconds to wait."""

    _status = 503

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message, f"Send it again in {math.ceil(retry_after)} seconds.")
        self.retry_after = retry_after

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "retry_after": round(self.retry_after, 3)}


class Interrupted(TurnwiseError):
    """The answer was stopped before it was complete."""

    _status = 499  # what proxies use for a request whose client has gone

    def __init__(
        self, message: str = "The answer was stopped before it was complete.", hint: str = "Ask again."
    ) -> None:
        super().__init__(message, hint)


class ShuttingDown(Interrupted):
    """The answer was stopped because the server is shutting down."""

    _status = 503


class LimitsUnavailable(TurnwiseError):
    """The rate limits could not be checked."""

    _status = 503


class ConfigError(TurnwiseError):
    """A setting is unknown or has a value it cannot have."""

    _status = 400


class ToolError(TurnwiseError):
    """A function cannot be a tool."""

    _status = 400


class LibraryError(TurnwiseError):
    """The library cannot be used."""


class LibraryNotFound(LibraryError):
    """There is no library in that place."""

    _status = 404


class LibraryDamaged(LibraryError):
    """The library's database cannot be read or written."""

    _status = 503


class LibraryUnavailable(LibraryError):
    """The library's database cannot be reached, or the connection was lost."""

    _status = 503


class DocumentError(TurnwiseError):
    """A document could not be read."""

    _status = 422


class UnsupportedDocument(DocumentError):
    """A document is of a kind that cannot be read."""

    _status = 415


class EncryptedDocument(DocumentError):
    """A document is encrypted."""


class UnreadableDocument(DocumentError):
    """A document is damaged."""


class DataError(TurnwiseError):
    """Attached data cannot be read."""

    _status = 422


class QueryRefused(DataError):
    """A query is more than a single SELECT from attached tables."""


class ConversationError(TurnwiseError):
    """A conversation cannot be used this way."""

    _status = 409


class ConversationNotFound(ConversationError):
    """There is no conversation with that id."""

    _status = 404


class ConversationBusy(ConversationError):
    """Another message of this conversation is still being answered."""


class WeightsError(TurnwiseError):
    """Model weights are missing, or are not the ones that were pinned."""

    _status = 503


class ModelError(TurnwiseError):
    """The language model did not answer."""

    _status = 502


class ModelUnavailable(ModelError):
    """The model is unreachable or overloaded, or is not asked for a while after failures."""


class ModelRefused(ModelUnavailable):
    """The model refused the request: a wrong key or name, or a message it does not take."""


class ModelTimeout(ModelError):
    """The model took too long."""

    _status = 504


class ModelGarbled(ModelError):
    """The model's answer was empty, cut off or unreadable."""
