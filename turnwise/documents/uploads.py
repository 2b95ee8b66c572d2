"""Uploaded documents: their names, and the sources under which an index stores them."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

from turnwise.documents.files import storable_name

UPLOAD = "upload:"
MAX_NAME_CHARS = 200

_DIRECTION_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def upload_name(name: str) -> str:
    """A file name that is safe to store and show: without folders and invisible characters."""
    last = re.split(r"[/\\]", storable_name(name))[-1]
    visible = "".join(
        c for c in _DIRECTION_MARKS.sub("", last) if unicodedata.category(c) not in ("Cc", "Zl", "Zp")
    ).strip()
    stem, dot, ending = visible.rpartition(".")
    return (
        f"{stem[: MAX_NAME_CHARS - len(ending) - 1]}{dot}{ending}"
        if dot and len(ending) < 20
        else visible[:MAX_NAME_CHARS]
    )


def upload_source(name: str, tenant: str = "", attached: str = "", collection: str = "") -> str:
    """The source of an uploaded document, unique to its tenant, conversation and collection if given."""
    if not (tenant or attached or collection):
        return UPLOAD + upload_name(name)
    tenant, attached, collection = (quote(storable_name(each), safe="") for each in (tenant, attached, collection))
    owner = f"{tenant}@{collection}" if collection else tenant
    return f"{UPLOAD}{owner}/{attached}/{upload_name(name)}"


def is_attached(source: str) -> bool:
    """Whether a source is of a document that is attached to a conversation, which alone can use it."""
    _, _, attached = source.rpartition("/")[0].rpartition("/")
    return is_upload(source) and bool(attached)


def is_upload(source: str) -> bool:
    return source.startswith(UPLOAD)
