"""The shape rail: a message must be text, must not be empty, and must not be too long."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from typing import Any, get_args

from turnwise.errors import BadRequest, EmptyMessage, MessageTooLong, NotText
from turnwise.text import UNSTORABLE, clean, one_line
from turnwise.types import Filter, Image, Message, Role, TurnRequest

MAX_IMAGES = 4
MAX_IMAGE_BYTES = 10_000_000  # all images of a message together
MAX_IMAGE_NAME_CHARS = 80

_ID = re.compile(r"(?!\.{1,2}$)[!-.0-~]+")  # a client takes "." and ".." in an address for the folder and the one above
_DAY = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?", re.ASCII)
_IMAGE_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_INVISIBLE = {"Cf", "Cc", "Zs", "Zl", "Zp", "Mn", "Me"}


def check_shape(content: str, longest: int, what: str = "message") -> None:
    """Raise InputError if a text is too long, not text or empty. `what` names it in the error."""
    if not isinstance(content, str):
        raise NotText(f"A {what} is a string, not {type(content).__name__}.", "Send it as text.")
    if len(content) > longest:
        raise MessageTooLong(
            f"The {what} has {len(content):,} characters; at most {longest:,} are accepted.",
            "Shorten it, or add the long text to the library and ask about it.",
        )
    if not _is_text(content) and (found := UNSTORABLE.search(content)):
        raise NotText(
            f"The {what} holds a character that is not text (U+{ord(found[0]):04X} at position {found.start()}).",
            "Remove it and send it again.",
        )
    if all(unicodedata.category(character) in _INVISIBLE for character in content):
        raise EmptyMessage(f"The {what} is empty.", "Write a question.")


def _is_text(content: str) -> bool:
    """Whether all characters are text. Encoding a long text is much faster than searching it for surrogates."""
    try:
        return b"\x00" not in content.encode()
    except UnicodeEncodeError:
        return False


def check_types(request: TurnRequest) -> None:
    """Refuse a request whose parts are of kinds that nothing after it could read. The message is checked by itself."""
    for name in ("user", "query_id", "key", "address"):
        _require(getattr(request, name), str, name, "text")
    _require(request.condensed_query, str | None, "condensed_query", "text")
    check_history(request.history)
    check_filter(request.where)
    for each in request.images:
        _require(each, Image, "an image", "a turnwise.Image")


def check_history(history: Sequence[Message]) -> None:
    """Refuse a history that does not consist of messages of a role, with text."""
    for each in history:
        _require(each, Message, "a message of the history", 'a turnwise.Message, or {"role": …, "content": …}')
        _require(each.content, str, f"the content of a message of the {each.role}", "text")
        if each.role not in get_args(Role):
            raise BadRequest(f"{each.role!r} is no role of a message.", f"Use one of {', '.join(get_args(Role))}.")


def _require(given: Any, kind: Any, name: str, wanted: str) -> None:
    if not isinstance(given, kind):
        raise BadRequest(f"{name[0].upper()}{name[1:]} should be {wanted}, not {given!r:.80}.", f"Give it {wanted}.")


def check_request(request: TurnRequest, longest: int) -> None:
    """Check the rest of a request: its ids, its own query, and the dates of its filter."""
    if request.condensed_query:
        check_shape(request.condensed_query, longest, "condensed_query")
    check_conversation_id(request.conversation_id)
    if len(request.query_id) > 200 or UNSTORABLE.search(request.query_id):
        raise BadRequest("That query id cannot be used.", "Use at most 200 characters of text.")
    check_filter(request.where)


def check_images(images: Sequence[Image]) -> tuple[Image, ...]:
    """The images, each with the media type that its bytes show and a name on one line."""
    if len(images) > MAX_IMAGES:
        raise BadRequest(f"{len(images)} images are too many.", f"Send at most {MAX_IMAGES} with a message.")
    size = sum(len(each.data) for each in images)
    if size > MAX_IMAGE_BYTES:
        limit = f"{MAX_IMAGE_BYTES // 1_000_000} MB"
        raise MessageTooLong(
            f"The images add up to {size / 1_000_000:.1f} MB; at most {limit} are accepted.", "Send smaller ones."
        )
    return tuple(_checked_image(each, f"image {place}") for place, each in enumerate(images, 1))


def _checked_image(image: Image, default_name: str) -> Image:
    name = one_line(clean(image.name.encode("utf-8", "replace").decode()), MAX_IMAGE_NAME_CHARS) or default_name
    kind = image_type(image.data)
    if not kind:
        raise BadRequest(f"{name} is not an image that can be shown.", "Send a PNG, JPEG, WebP or GIF.")
    return Image(name, kind, image.data)


def image_type(data: bytes) -> str:
    """The media type of an image by its first bytes; empty if it is not one that models accept."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _IMAGE_SIGNATURES if data.startswith(start)), "")


def check_filter(where: Filter) -> None:
    """Refuse anything that is not a date: dates are compared as text, so it would silently match all documents or
    none."""
    _require(where, Filter, "a filter", "a turnwise.Filter")
    for name in ("source", "since", "until"):
        _require(
            getattr(where, name),
            str,
            f"`{name}` of a filter",
            'text, such as "2020-05"' if name != "source" else "text",
        )
    for name in ("collections", "tags"):
        for each in getattr(where, name):
            _require(each, str, f"each of the {name} of a filter", "text")
    for name, value in (("since", where.since), ("until", where.until)):
        if value and not _is_date(value):
            raise BadRequest(f"“{value}” ({name}) is not a date.", "Write 2020, 2020-05 or 2020-05-31.")


def check_count(count: int, name: str) -> None:
    """Refuse a number of results that is not a whole number of at least 1."""
    if type(count) is not int or count < 1:
        raise BadRequest(
            f"'{name}' should be a whole number of at least 1, not {count!r}.", "Leave it out for the default."
        )


def check_text(text: object, name: str) -> None:
    """Refuse what is no text."""
    _require(text, str, name, "text")


def _is_date(value: str) -> bool:
    parts = _DAY.fullmatch(value)
    try:
        return parts is not None and bool(date(int(parts[1]), int(parts[2] or 1), int(parts[3] or 1)))
    except ValueError:  # there is no such day
        return False


def check_conversation_id(conversation_id: str | None) -> None:
    if conversation_id is not None:
        _require(conversation_id, str, "a conversation id", "text")
    if conversation_id is None or (0 < len(conversation_id) <= 200 and _ID.fullmatch(conversation_id)):
        return
    raise BadRequest(
        "That conversation id cannot be used.",
        "Use 1 to 200 ASCII letters, digits or symbols, without spaces or slashes.",
    )
