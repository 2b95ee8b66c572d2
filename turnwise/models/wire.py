"""Reads what an OpenAI-compatible endpoint sends: a stream of events, or the whole answer at once."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

DONE = "[DONE]"
LENGTH = "length"  # the finish_reason when the token limit was reached
FILTERED = "content_filter"  # when the provider did not let it go on
MAX_EVENT_BYTES = 4_000_000  # also of an answer that is not streamed


class Unreadable(ValueError):
    """The response is not in the format of this API: a web page, broken JSON."""


class Complaint(Exception):
    """The endpoint sent an error; the message is its own."""


async def pieces(chunks: AsyncIterator[bytes]) -> AsyncGenerator[tuple[str, str], None]:
    """Pieces of the answer, each with the reason it ended (empty until it does; DONE if none is given). A piece without
    words is a sign that the model is at work; an event that is none is left out, so that silence is told from it.

    The content type in the headers is ignored, because servers and proxies often get it wrong.
    """
    rest, body, streamed = b"", b"", False
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                streamed = True
                if any(piece := read(line[5:])) or at_work(line[5:]):
                    yield piece
            elif not streamed:
                body += line
        if len(rest) + len(body) > MAX_EVENT_BYTES:
            raise Unreadable("no end of line")
    if rest.startswith(b"data:"):
        yield read(rest[5:])
    elif not streamed:
        yield read(body + rest)


def read(event: bytes) -> tuple[str, str]:
    """The text of one event and the finish reason. Thoughts sent in a separate field are not part of the text."""
    event = event.strip()
    if event.startswith(DONE.encode()):
        return "", DONE
    if not event or event.startswith(b":"):
        return "", ""
    try:
        value = json.loads(event)
    except (ValueError, RecursionError) as error:
        raise Unreadable("a web page" if event.startswith(b"<") else "not JSON") from error
    if isinstance(value, dict) and value.get("error"):
        raise Complaint(words_of(value["error"]))
    try:
        choice = (value.get("choices") or [{}])[0]  # an event without choices only counts tokens
        reason, content = (
            choice.get("finish_reason"),
            (choice.get("delta") or choice.get("message") or {}).get("content"),
        )
    except (AttributeError, TypeError, KeyError) as error:
        raise Unreadable("not in the expected format") from error
    return _text(content), reason if isinstance(reason, str) else ""


def at_work(event: bytes) -> bool:
    """Whether an event without words shows that the model is at work: it thinks, or reads the prompt."""
    try:
        value = json.loads(event)
        choice = (value.get("choices") or [{}])[0]
        delta = choice.get("delta") or {}
        return any(delta[name] for name in delta if name != "role") or bool(value.get("prompt_progress"))
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError):
        return False


def _text(content: Any) -> str:
    """The text of a message, which is a string or a list of parts, some of type "text"."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    if content is None or isinstance(content, str):
        return content or ""
    raise Unreadable(f"words of type {type(content).__name__}")


def words_of(error: Any) -> str:
    """The message of an error object on one line; empty if it is an HTML page."""
    message = (error.get("message") or error.get("detail") or "") if isinstance(error, dict) else error
    text = str(message or "").strip()
    return "" if text.startswith("<") else " ".join(text.split())[:300]
