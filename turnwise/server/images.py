"""Images that are sent with a message: as data: URLs, never as addresses, since the server fetches nothing."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable

from turnwise.errors import BadRequest
from turnwise.types import Image

MAX_IMAGES = 4
MAX_IMAGES_BYTES = 10_000_000  # of all images together; the request body has its own limit, max_body
_DATA_URL = re.compile(r"data:(image/[a-z]+);base64,", re.I)
_SIGNATURES = {  # the first bytes of each format, whatever an image claims to be
    "image/png": rb"\x89PNG\r\n\x1a\n",
    "image/jpeg": rb"\xff\xd8\xff",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF....WEBP",
}


def read_images(sent: Iterable[tuple[str, str]]) -> tuple[Image, ...]:
    """The images in (name, data: URL) pairs. Raises BadRequest if one cannot be accepted."""
    pairs = list(sent)
    if len(pairs) > MAX_IMAGES:
        raise BadRequest(f"A message takes at most {MAX_IMAGES} images, not {len(pairs)}.", "Send fewer.")
    images = tuple(_read_image(name, data) for name, data in pairs)
    if sum(len(image.data) for image in images) > MAX_IMAGES_BYTES:
        raise BadRequest(
            f"The images of a message are at most {MAX_IMAGES_BYTES // 1_000_000} MB together.", "Shrink them."
        )
    return images


def _read_image(name: str, sent: str) -> Image:
    head = _DATA_URL.match(sent)
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
    known = _SIGNATURES.get(media_type)
    if known is None or not re.match(known, data, re.S):
        raise BadRequest("An image is none of PNG, JPEG, WebP and GIF.", "Convert it to one of them.")
    return Image(name, media_type, data)
