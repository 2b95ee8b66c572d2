"""What an OpenAI-compatible endpoint sends, read piece by piece: a stream of events, or the whole answer at once."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

DONE = "[DONE]"
LENGTH = "length"  # why an answer ended that had no more tokens
LONGEST = 4_000_000  # bytes of one event, or of an answer that is not streamed


class Unreadable(ValueError):
    """Not in the form of this API: a web page, broken JSON."""


class Complaint(Exception):
    """An error in place of words, in the endpoint's own."""


async def pieces(chunks: AsyncIterator[bytes]) -> AsyncGenerator[tuple[str, str], None]:
    """Pieces of the answer, each with the reason why it ended there (empty until it does; DONE where none is given).

    What the headers say of the kind is not looked at: servers and proxies often get it wrong.
    """
    rest, body, streamed = b"", b"", False
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                streamed = True
                yield read(line[5:])
            elif not streamed:
                body += line
        if len(rest) + len(body) > LONGEST:
            raise Unreadable("no end of line")
    if rest.startswith(b"data:"):
        yield read(rest[5:])
    elif not streamed:
        yield read(body + rest)


def read(event: bytes) -> tuple[str, str]:
    """The text of one event and the reason for an end. Thoughts sent in a field of their own are no part of it."""
    event = event.strip()
    if event.startswith(DONE.encode()):
        return "", DONE
    if not event or event.startswith(b":"):
        return "", ""
    try:
        said = json.loads(event)
    except (ValueError, RecursionError) as error:
        raise Unreadable("a web page" if event.startswith(b"<") else "not JSON") from error
    if isinstance(said, dict) and said.get("error"):
        raise Complaint(words_of(said["error"]))
    try:
        choice = (said.get("choices") or [{}])[0]  # without choices, it only counts tokens
        reason, content = (
            choice.get("finish_reason"),
            (choice.get("delta") or choice.get("message") or {}).get("content"),
        )
    except (AttributeError, TypeError, KeyError) as error:
        raise Unreadable("not of the expected form") from error
    return _text(content), reason if isinstance(reason, str) else ""


def _text(content: Any) -> str:
    """The words of a message: a text, or parts of which those of the kind "text" are words."""
    if isinstance(content, list):
        kept = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(text for text in kept if isinstance(text, str))
    if content is None or isinstance(content, str):
        return content or ""
    raise Unreadable(f"words of type {type(content).__name__}")


def words_of(error: Any) -> str:
    """What an error object says went wrong, on one line; nothing where it is a page for browsers."""
    said = (error.get("message") or error.get("detail") or "") if isinstance(error, dict) else error
    text = str(said or "").strip()
    return "" if text.startswith("<") else " ".join(text.split())[:300]
