"""What a person did to a question to make it stand alone, told word by word of the question."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from turnwise.models.condenser import AFTER, JOINTS, KEEP, REPLACE, Word
from turnwise.text import is_content

_WORDS = re.compile(r"[^\W_]+")
_POINTING = frozenset(
    "it its he him his she her hers they them their theirs this that these those one ones there both itself".split()
)


def edits(rewrite: str, words: Sequence[Word]) -> list[int] | None:
    """By word: KEEP, REPLACE, or AFTER + the joint; None where the rewrite is no such edit of the question."""
    before = [word.text.lower() for word in words]
    after = [match[0].lower() for match in _WORDS.finditer(rewrite.replace("'s", "").replace("’s", ""))]
    tags = [KEEP] * len(before)
    for kind, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        put = after[k:m]
        if kind == "equal":
            continue
        if not any(map(is_content, put)):
            if any(map(is_content, before[i:j])):
                return None
            continue  # a small word changed
        if kind == "replace" and j - i <= 2 and any(word in _POINTING for word in before[i:j]):
            at = next(index for index in range(i, j) if before[index] in _POINTING)
            tags[at] = REPLACE
        elif kind == "insert" and i > 0:
            joint = next((word for word in put[:1] if word in JOINTS), "")
            tags[i - 1] = AFTER + JOINTS.index(joint)
        elif kind == "insert":
            return None  # before the first word
        elif kind == "replace" and not any(map(is_content, before[i:j])) and i > 0:
            joint = next((word for word in put[:1] if word in JOINTS), "")
            tags[i - 1] = AFTER + JOINTS.index(joint)
        else:
            return None
    return tags
