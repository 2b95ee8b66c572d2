"""Resolves "the second one" or "step 3" after an answer with a list or a table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.dialogue.citing import without_again
from turnwise.dialogue.language import CODES, language
from turnwise.dialogue.spelling import Slip
from turnwise.english import NUMBER_WORDS
from turnwise.text import content_stems, is_content, one_line, sentences, stem, without_citations
from turnwise.types import Message

MAX_SEARCHED_ANSWERS = 3  # the newest ones, searched for the list
MAX_ANSWER_CHARS = 4000
MAX_NAME_WORDS = 6
MAX_ITEM_CHARS = 80  # of an item without a name

_NUMBERS = NUMBER_WORDS[:10]
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_NUMBERS_BY_WORD = {word: number for words in (_NUMBERS, _ORDINALS) for number, word in enumerate(words, 1)} | {
    "last": -1
}
_NTH = re.compile(
    rf"\bthe ({'|'.join(_ORDINALS)}|last|\d{{1,2}}(?:st|nd|rd|th))\b"
    r"(?: (of (?:them|these|those)\b|[^\W\d_]+))?",
    re.I,
)
_NUMBERED = re.compile(
    rf"\b(?:step|point|item|option|number|row|tip) (\d{{1,2}}|{'|'.join(_NUMBERS)})\b(?![.:,]\d)", re.I
)
_MEMBER = re.compile(r"one|step|item|point|option|row|entry|bullet|tip|reason|of \w+", re.I)
_AUXILIARY = re.compile(r"\b(?:do|does|did|can|could|will|would|should|must|may|might) $", re.I)
_ENDS = re.compile(r"\s*[?.!]*\s*$")
_ITEM = re.compile(r"[ \t]{0,8}(?:[-*•]|(\d{1,3})[.)])[ \t]+(\S.*)")
_NAME = re.compile(r"\**([^:|.?!\n]{1,60}?)\**:\s")


def name_listed_items(message: str, history: Sequence[Message]) -> tuple[str, list[Slip]]:
    """Returns the message with the name of the list item it refers to ("how long is the second one?"), and what was
    replaced. It stays as it is if there is no recent list, or none with that many items."""
    found = next((found for found in (_NTH.search(message), _NUMBERED.search(message)) if found), None)
    if not found or re.search(r"[.?!]\s", message[: found.start()]):  # it may refer to its own first sentence
        return message, []
    answers = [index for index in range(len(history) - 1, -1, -1) if history[index].role == "assistant"]
    for index in answers[:MAX_SEARCHED_ANSWERS]:
        listed = listed_items(history[index].content)
        if len(listed) > 1:
            asked = history[index - 1].content if index else ""
            end = found.end() if found.re is _NUMBERED else _reference_end(message, found, asked)
            item = _item_at(listed, found[1]) if end else ""
            typed = message[found.start() : end]
            if not item:
                return message, []
            meant = _item_name(item) or f"{typed}, “{one_line(item, MAX_ITEM_CHARS).rstrip(' .')}”"
            return message[: found.start()] + meant + message[end:], [Slip(typed, _item_name(item) or item)]
    return message, []


def listed_items(answer: str) -> dict[int, str]:
    """Returns what an answer lists, by number: items, table rows, or sentences such as "Home: two rooms."."""
    text = without_citations(answer[:MAX_ANSWER_CHARS])
    if "|" in text:
        rows = [line.strip().strip("|").split(" | ")[0].strip() for line in text.splitlines() if line.startswith("|")]
        filled = [row for row in rows if row.strip("-: ")]
        return dict(enumerate(filled[1:], 1))  # without the header
    lines = [found for line in text.splitlines() if (found := _ITEM.fullmatch(line))]
    if lines:
        numbers = [int(found[1] or 0) for found in lines]
        distinct = len({*numbers}) == len(numbers)
        return dict(
            zip(numbers if distinct else range(1, len(lines) + 1), (found[2].strip() for found in lines), strict=True)
        )
    named = map(without_again, sentences(text))
    return dict(enumerate((each for each in named if _item_name(each)), 1))


def number_of(ordinal: str, code: str = "en") -> int:
    """Returns the number that a word such as "second", "2nd" or "2" stands for in a language; -1 for "last", and 0 for
    any other word."""
    numbers = (language(code).ordinals if code in CODES else {}) or _NUMBERS_BY_WORD
    return numbers.get(ordinal.lower()) or int(re.sub(r"\D", "", ordinal) or 0)


def _item_at(listed: dict[int, str], ordinal: str) -> str:
    number = number_of(ordinal)
    return listed.get(max(listed) if number == -1 else number, "")


def _reference_end(message: str, found: re.Match[str], asked: str) -> int:
    """Returns where the reference to an item ends: after its noun ("the second one", or "the second walk" if walks were
    asked for), or before a verb ("the second is", "does the second cover?"). Returns 0 if it counts something else."""
    after = found[2] or ""
    if not after:
        return found.end() if _ENDS.match(message, found.end()) or message[found.end()] in ",;:)" else 0
    if _MEMBER.fullmatch(after) or stem(after) in content_stems(asked):
        return found.end()
    goes_on = not is_content(after) and after.lower() not in ("of", "one", "ones", "few")
    verb = _AUXILIARY.search(message, 0, found.start()) and _ENDS.match(message, found.end())
    return found.end(1) if goes_on or verb else 0


def _item_name(item: str) -> str:
    """Returns the name of an item: all of it if it is short and not a sentence, or else the part before its colon."""
    name = _NAME.match(item + ("" if item.endswith(".") else ": "))
    found = name[1].strip() if name else ""
    return found if 0 < len(found.split()) <= MAX_NAME_WORDS else ""
