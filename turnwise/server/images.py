"""Pictures as they are sent with a message: data: URLs, never addresses, for the server fetches nothing."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable

from turnwise.errors import BadRequest
from turnwise.types import Image

MOST = 4
LARGEST = 10_000_000  # bytes, together; the body that carries them has its own limit, max_body
_DATA = re.compile(r"data:(image/[a-z]+);base64,", re.I)
_BEGINNINGS = {  # by which a picture is known, whatever it says it is
    "image/png": rb"\x89PNG\r\n\x1a\n",
    "image/jpeg": rb"\xff\xd8\xff",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF....WEBP",
}


def read_images(sent: Iterable[tuple[str, str]]) -> tuple[Image, ...]:
    """The pictures behind (name, data: URL) pairs. Raises BadRequest where one cannot be taken."""
    pairs = list(sent)
    if len(pairs) > MOST:
        raise BadRequest(f"A message takes at most {MOST} images, not {len(pairs)}.", "Send fewer.")
    images = tuple(_read(name, data) for name, data in pairs)
    if sum(len(image.data) for image in images) > LARGEST:
        raise BadRequest(f"The images of a message are at most {LARGEST // 1_000_000} MB together.", "Shrink them.")
    return images


def _read(name: str, sent: str) -> Image:
    head = _DATA.match(sent)
    if head is None:
        raise BadRequest(
            "An image is sent as a data: URL; this server fetches nothing from elsewhere.",
            "Send data:image/png;base64,… (or jpeg, webp, gif).",
        )
    media_type = head[1].lower().replace("image/jpg", "image/jpeg")
    try:
        data = base64.b64decode(sent[head.end() :], validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequest("The data of an image is not base64.", "Send data:image/png;base64,…") from error
    known = _BEGINNINGS.get(media_type)
    if known is None or not re.match(known, data, re.S):
        raise BadRequest("An image is none of PNG, JPEG, WebP and GIF.", "Convert it to one of them.")
    return Image(name, media_type, data)
