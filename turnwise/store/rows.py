"""Conversations and turns as rows, the same in every database."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from turnwise.conversation import Conversation, Turn
from turnwise.errors import BadRequest
from turnwise.types import Source

TITLE_CHARS = 100
SNIPPET_CHARS = 120  # a third of them before the word that was found
DIVIDER = "\x1f"  # between the name of a tenant and the tenant's own id of a conversation

_TENANT_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def tenant_name(tenant: str) -> str:
    """The name, if it is valid. Raises BadRequest if not; "" is the library's own tenant."""
    if tenant and not _TENANT_NAME.fullmatch(tenant):
        raise BadRequest(
            f"{tenant[:80]!r} cannot be the name of a tenant.", "Use 1 to 64 letters, digits, dots, dashes and _."
        )
    return tenant


def full_id(tenant: str, conversation_id: str) -> str:
    """The id under which a conversation of a tenant is stored. No two tenants share one."""
    return f"{tenant}{DIVIDER}{conversation_id}" if tenant or DIVIDER in conversation_id else conversation_id


def own_id(full: str) -> str:
    """The tenant's own id for a full one."""
    return full.partition(DIVIDER)[2] if DIVIDER in full else full


def hashed(tenant: str, name: str) -> str:
    """A primary key for a name of a tenant, because names can be longer than an index allows."""
    return hashlib.sha256(f"{tenant}{DIVIDER}{name}".encode("utf-8", "surrogatepass")).hexdigest()


def to_conversation(
    conversation_id: str, row: Mapping[str, Any], ancestors: Sequence[str], turns: Iterable[Turn]
) -> Conversation:
    noted = {"title": row["title"], "ancestors": list(ancestors)}
    return Conversation(
        conversation_id,
        user_id=row["user_id"] or None,
        metadata={**json.loads(row["metadata"] or "{}"), **noted},
        turns=turns,
        created_at=row["created_at"],
        last_activity=row["last_activity"],
    )


def to_turn(row: Mapping[str, Any], feedback: str | None = None, metadata: str | None = None) -> Turn:
    shown = json.loads(row["shown"] or "{}")
    given = {"feedback": json.loads(feedback)} if feedback else {}
    return Turn(
        prompt=row["prompt"],
        response=row["response"],
        timestamp=row["created_at"],
        metadata={**json.loads(metadata or "{}"), **given},
        number=row["number"],
        status=row["status"],
        sources=tuple(Source.from_dict(source) for source in json.loads(row["sources"] or "[]")),
        record=json.loads(row["record"] or "{}"),
        error=json.loads(row["error"] or "null"),
        evidence=tuple(Source.from_dict(source) for source in shown.get("evidence", ())),
        note=shown.get("note", ""),
    )


def dump_shown(shown: Iterable[Source], note: str) -> str | None:
    """What a model was shown with a prompt, or None if it was shown nothing."""
    evidence = [dataclasses.asdict(source) for source in shown]
    return dump({"evidence": evidence, "note": note}) if evidence or note else None


def dump(value: Any) -> str | None:
    """JSON in plain ASCII. A value in a trace that JSON cannot represent is stored as text: it must not fail a turn."""
    return None if value is None else json.dumps(value, default=str)


def title(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1] + "…"


def snippet(text: str, words: Sequence[str]) -> str:
    """The part of a text around the first of the words found in it, on one line."""
    line = " ".join(text.split())
    found = re.search("|".join(map(re.escape, words)), line, re.IGNORECASE)
    start = max(0, min((found.start() if found else 0) - SNIPPET_CHARS // 3, len(line) - SNIPPET_CHARS))
    if start:
        start = line.find(" ", start, start + 20) + 1 or start
    end = max(start + SNIPPET_CHARS, found.end() if found else 0)
    if end < len(line):
        space = line.rfind(" ", end - 20, end)
        end = space if space >= (found.end() if found else 1) else end
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
