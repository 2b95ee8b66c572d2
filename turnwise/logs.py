"""Logging with context: log lines of a turn carry its conversation, user and number, also those from its threads. Lines
of a server request carry the request id."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

MAX_ID_CHARS = 80
MAX_FRAMES = 30  # innermost frames shown of a traceback

T = TypeVar("T")


@dataclass(slots=True)
class Label:
    """Identifies a turn in the log. The number is filled in once the turn has one."""

    conversation_id: str | None = None
    user_id: str | None = None
    turn: int | None = None
    warnings: list[str] = field(default_factory=list)  # what did not work and was done without, for the trace

    def __str__(self) -> str:
        conversation, user = _safe_id(self.conversation_id), _safe_id(self.user_id)
        return f"[conversation={conversation} user={user} turn={self.turn or '-'}]"


@dataclass(slots=True)
class Request:
    """Identifies a server request in the log. The label is that of its turn, once there is one."""

    id: str
    method: str
    path: str
    label: Label | None = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)  # those that continue a trace


_LABEL: ContextVar[Label | None] = ContextVar("turnwise_turn", default=None)
_REQUEST: ContextVar[Request | None] = ContextVar("turnwise_request", default=None)


def request() -> Request | None:
    """The current request, if any."""
    return _REQUEST.get()


def requested(request: Request) -> AbstractContextManager[None]:
    """Attribute log lines to this request, including those from tasks and threads started inside."""
    return _set(_REQUEST, request)


def labelled(label: Label) -> AbstractContextManager[None]:
    """Attribute log lines to this turn, including those from threads that run in this context."""
    return _set(_LABEL, label)


def done_without(log: logging.Logger, what: str) -> None:
    """Warn of an error that is being handled, in the log and in the trace of the turn that it was met in."""
    log.warning("%s", what, exc_info=True)
    if (label := _LABEL.get()) and what not in label.warnings:
        label.warnings.append(what)


@contextmanager
def _set(variable: ContextVar[T | None], value: T) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


async def of_turn(label: Label, events: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The same events, each produced under the label; the consumer's own context does not change. The current request
    gets the label too."""
    if current := request():
        current.label = label
    try:
        while True:
            with labelled(label):
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
            yield event
    finally:
        with labelled(label):
            await events.aclose()


class TurnFilter(logging.Filter):
    """Adds `conversation_id`, `user_id`, `turn` and `request_id` to every record ("-" if unknown), and the first three
    together as `of_turn` (empty outside of turns), for use in any formatter. Add it to a handler."""

    def filter(self, record: logging.LogRecord) -> bool:
        current = request()
        label = _LABEL.get() or (current.label if current else None)
        known = label or Label()
        record.conversation_id, record.user_id = _safe_id(known.conversation_id), _safe_id(known.user_id)
        record.turn = known.turn or "-"
        record.of_turn = f" {label}" if label else ""
        record.request_id = _safe_id(current.id if current else None)
        return True


class TextLines(logging.Formatter):
    """One line per record, followed by the stack of an error. The error's message is only shown with `whole_errors`,
    because it may quote what a user wrote."""

    converter = staticmethod(time.gmtime)

    def __init__(self, whole_errors: bool = False) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s%(of_turn)s", "%Y-%m-%dT%H:%M:%SZ")
        self._whole_errors = whole_errors

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return super().formatException(ei) if self._whole_errors else "\n".join(_error_places(ei))


class JsonLines(logging.Formatter):
    """One JSON object per record: time, level, logger and message, and the known fields of its turn and request."""

    def __init__(self, whole_errors: bool = False) -> None:
        super().__init__()
        self._whole_errors = whole_errors

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{at}.{int(record.msecs):03}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        known = vars(record)
        for name in ("conversation_id", "user_id", "turn", "request_id", "method", "path", "status", "ms"):
            if known.get(name, "-") != "-":
                line[name] = known[name]
        if record.exc_info and record.exc_info[0]:
            line["error"] = (
                self.formatException(record.exc_info) if self._whole_errors else _error_places(record.exc_info)
            )
        return json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "replace").decode()


@contextmanager
def log_lines(form: str, level: int, whole_errors: bool) -> Iterator[None]:
    """Log to stderr in this format ("text" or "json"): Turnwise from this level up, other libraries their warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(TurnFilter())
    handler.setFormatter(JsonLines(whole_errors) if form == "json" else TextLines(whole_errors))
    root, ours = logging.getLogger(), logging.getLogger("turnwise")
    before = root.handlers, ours.handlers, root.level, ours.level
    root.handlers, ours.handlers = [handler], []
    root.setLevel(logging.WARNING)
    ours.setLevel(level)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        root.handlers, ours.handlers = before[:2]
        root.setLevel(before[2])
        ours.setLevel(before[3])
        logging.captureWarnings(False)


def _error_places(error: tuple[type[BaseException], BaseException, TracebackType | None] | Any) -> list[str]:
    """The stack of an error, innermost last, and its type, but not its message."""
    frames = traceback.extract_tb(error[2])[-MAX_FRAMES:]
    return [*(f"{each.filename}:{each.lineno} in {each.name}" for each in frames), error[0].__name__]


def _safe_id(name: str | None) -> str:
    """An id that is safe in a log line: it can neither end the line nor look like another field."""
    safe = "".join(char if char.isprintable() and char not in " =[]" else "_" for char in name or "-")
    return safe if len(safe) <= MAX_ID_CHARS else safe[: MAX_ID_CHARS - 1] + "…"
