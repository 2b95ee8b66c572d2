"""Every log line of a turn says whose turn it is: conversation, user and number, also from threads at work on it."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

LONGEST = 80  # characters of an id in a log line

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


_LABEL: ContextVar[Label | None] = ContextVar("turnwise_turn", default=None)


@contextmanager
def labelled(label: Label) -> Iterator[None]:
    """Log lines written meanwhile, here and in threads with this context, belong to that turn."""
    token = _LABEL.set(label)
    try:
        yield
    finally:
        _LABEL.reset(token)


async def of_turn(label: Label, events: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The same events, each made under the label; whoever takes them keeps the context that they have."""
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
    """Gives every record `conversation_id`, `user_id` and `turn` ("-" where there is none) and all three as
    `of_turn` (nothing outside of turns), for any formatter. Add it to a handler."""

    def filter(self, record: logging.LogRecord) -> bool:
        label = _LABEL.get()
        known = label or Label()
        record.conversation_id, record.user_id = _in_line(known.conversation_id), _in_line(known.user_id)
        record.turn = known.turn or "-"
        record.of_turn = f" {label}" if label else ""
        return True


def _in_line(name: str | None) -> str:
    """An id as it may stand in a line of a log: it can neither end the line nor pass for another field."""
    shown = "".join(sign if sign.isprintable() and sign not in " =[]" else "_" for sign in name or "-")
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
