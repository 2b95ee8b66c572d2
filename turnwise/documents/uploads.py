"""Documents that were sent, not found: what they are called, and under which source an index keeps them."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

from turnwise.documents.files import storable

UPLOAD = "upload:"
LONGEST_NAME = 200  # characters

_UNSEEN = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # these turn the direction of what is shown


def upload_name(name: str) -> str:
    """The name of a file as it may be kept and shown: without the folders it was in, and with nothing unseen in it."""
    last = re.split(r"[/\\]", storable(name))[-1]
    seen = "".join(c for c in _UNSEEN.sub("", last) if unicodedata.category(c) not in ("Cc", "Zl", "Zp")).strip()
    stem, dot, ending = seen.rpartition(".")
    return f"{stem[: LONGEST_NAME - len(ending) - 1]}{dot}{ending}" if dot and len(ending) < 20 else seen[:LONGEST_NAME]


def upload_source(name: str, tenant: str = "", attached: str = "") -> str:
    """The source of a document that was sent, which is no other's: those of a tenant or a conversation say so."""
    if not tenant and not attached:
        return UPLOAD + upload_name(name)
    return f"{UPLOAD}{quote(storable(tenant), safe='')}/{quote(storable(attached), safe='')}/{upload_name(name)}"


def is_upload(source: str) -> bool:
    return source.startswith(UPLOAD)
