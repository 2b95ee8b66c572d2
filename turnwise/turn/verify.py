"""Verify: which sentences of an answer are supported by the passages they cite; see `turnwise.dialogue.claims`."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from turnwise.dialogue.claims import verify
from turnwise.types import Claim, Embedder, Source

log = logging.getLogger(__name__)


def try_verify(
    text: str, sources: Sequence[Source], found: Sequence[str], embedder: Embedder | None, quotes: bool
) -> tuple[Claim, ...]:
    """Like `verify`, but returns no claims if it fails: the user has already read the answer."""
    try:
        return verify(text, sources, found, embedder, quotes)
    except Exception:
        log.exception("an answer could not be checked")
        return ()


def grounds(claims: Sequence[Claim], found: Sequence[str] = ()) -> str:
    """What the claims were compared with, for the trace."""
    if not claims:
        return "the answer states nothing"
    cites = any(claim.numbers for claim in claims)
    against = [*(["the words of the passages they cite"] if cites else []), *(["what the tools gave"] if found else [])]
    return f"by {' and '.join(against)}" if against else "they cite nothing"
