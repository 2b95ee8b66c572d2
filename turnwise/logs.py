"""Every log line of a turn says whose turn it is: conversation, user and number, also from threads at work on it; and
every line of a request of the server which request that was."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

LONGEST = 80  # characters of an id in a log line
FRAMES = 30  # of a traceback that are told, the innermost ones

T = TypeVar("T")


@dataclass(slots=True)
class Label:
    """Whose turn it is. The number is filled in when the turn has one."""

    conversation_id: str | None = None
    user_id: str | None = None
    turn: int | None = None

    def __str__(self) -> str:
        told = (
            f"conversation={_in_line(self.conversation_id)}",
            f"user={_in_line(self.user_id)}",
            f"turn={self.turn or '-'}",
        )
        return f"[{' '.join(told)}]"


@dataclass(slots=True)
class Request:
    """A request of the server: what its lines say of it. The label is that of its turn, once there is one."""

    id: str
    method: str
    path: str
    label: Label | None = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)  # those by which a trace is continued


_LABEL: ContextVar[Label | None] = ContextVar("turnwise_turn", default=None)
_REQUEST: ContextVar[Request | None] = ContextVar("turnwise_request", default=None)


def request() -> Request | None:
    """The request that is being answered here, if any."""
    return _REQUEST.get()


@contextmanager
def requested(request: Request) -> Iterator[None]:
    """Log lines written meanwhile, here and in tasks and threads begun here, belong to that request."""
    token = _REQUEST.set(request)
    try:
        yield
    finally:
        _REQUEST.reset(token)


@contextmanager
def labelled(label: Label) -> Iterator[None]:
    """Log lines written meanwhile, here and in threads with this context, belong to that turn."""
    token = _LABEL.set(label)
    try:
        yield
    finally:
        _LABEL.reset(token)


async def of_turn(label: Label, events: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The same events, each made under the label; whoever takes them keeps the context that they have. The request that
    they are made for has the label from now on."""
    if asked := request():
        asked.label = label
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
    """Gives every record `conversation_id`, `user_id`, `turn` and `request_id` ("-" where there is none) and the first
    three as `of_turn` (nothing outside of turns), for any formatter. Add it to a handler."""

    def filter(self, record: logging.LogRecord) -> bool:
        asked = request()
        label = _LABEL.get() or (asked.label if asked else None)
        known = label or Label()
        record.conversation_id, record.user_id = _in_line(known.conversation_id), _in_line(known.user_id)
        record.turn = known.turn or "-"
        record.of_turn = f" {label}" if label else ""
        record.request_id = _in_line(asked.id if asked else None)
        return True


class TextLines(logging.Formatter):
    """A line a record, and the places of an error beneath it. What an error says is told only where that is wanted: it
    may quote what somebody wrote."""

    converter = staticmethod(time.gmtime)

    def __init__(self, whole_errors: bool = False) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s%(of_turn)s", "%Y-%m-%dT%H:%M:%SZ")
        self._whole_errors = whole_errors

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return super().formatException(ei) if self._whole_errors else "\n".join(_places(ei))


class JsonLines(logging.Formatter):
    """A JSON object a record: time, level, logger and message, and what is known of its turn and its request."""

    def __init__(self, whole_errors: bool = False) -> None:
        super().__init__()
        self._whole_errors = whole_errors

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        told: dict[str, Any] = {
            "time": f"{at}.{int(record.msecs):03}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        known = vars(record)
        for name in ("conversation_id", "user_id", "turn", "request_id", "method", "path", "status", "ms"):
            if known.get(name, "-") != "-":
                told[name] = known[name]
        if record.exc_info and record.exc_info[0]:
            told["error"] = self.formatException(record.exc_info) if self._whole_errors else _places(record.exc_info)
        return json.dumps(told, ensure_ascii=False, default=str).encode("utf-8", "replace").decode()


@contextmanager
def log_lines(form: str, level: int = logging.INFO, whole_errors: bool = False) -> Iterator[None]:
    """Write what is logged meanwhile to stderr, in lines of this form ("text" or "json"): of Turnwise from a level on,
    of others their warnings."""
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


def _places(error: tuple[type[BaseException], BaseException, TracebackType | None] | Any) -> list[str]:
    """What kind of error it was and where, innermost last, without what it says."""
    frames = traceback.extract_tb(error[2])[-FRAMES:]
    return [*(f"{each.filename}:{each.lineno} in {each.name}" for each in frames), error[0].__name__]


def _in_line(name: str | None) -> str:
    """An id as it may stand in a line of a log: it can neither end the line nor pass for another field."""
    shown = "".join(sign if sign.isprintable() and sign not in " =[]" else "_" for sign in name or "-")
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
