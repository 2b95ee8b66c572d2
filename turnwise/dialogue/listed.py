"""Listed: what "the second one" or "step 3" stands for, where an answer has just given a list or a table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.dialogue.citing import AGAIN
from turnwise.dialogue.spelling import Slip
from turnwise.english import NUMBER_WORDS
from turnwise.text import content_stems, is_content, one_line, sentences, stem, without_citations
from turnwise.types import Message

LOOKED_BACK = 3  # answers that may have given the list
LONGEST = 4000  # characters of an answer that are looked at
LONGEST_NAME, LONGEST_ITEM = 6, 80  # words of what an item is called by, characters of one that has no name

_NUMBERS = NUMBER_WORDS[:10]
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_PLACES = {word: place for words in (_NUMBERS, _ORDINALS) for place, word in enumerate(words, 1)} | {"last": -1}
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


def as_named(message: str, history: Sequence[Message]) -> tuple[str, list[Slip]]:
    """A message with what it counts off named, and which that was: "how long is the second one?" after a table of
    walks. It stays as it is where no list was given of late, or not one of so many items."""
    found = next((found for found in (_NTH.search(message), _NUMBERED.search(message)) if found), None)
    if not found or re.search(r"[.?!]\s", message[: found.start()]):  # it may count what it names itself
        return message, []
    answers = [place for place in range(len(history) - 1, -1, -1) if history[place].role == "assistant"]
    for place in answers[:LOOKED_BACK]:
        listed = items(history[place].content)
        if len(listed) > 1:
            asked = history[place - 1].content if place else ""
            end = found.end() if found.re is _NUMBERED else _end(message, found, asked)
            named = _named(listed, found[1].lower()) if end else ""
            typed = message[found.start() : end]
            if not named:
                return message, []
            meant = _called(named) or f"{typed}, “{one_line(named, LONGEST_ITEM).rstrip(' .')}”"
            return message[: found.start()] + meant + message[end:], [Slip(typed, _called(named) or named)]
    return message, []


def items(answer: str) -> dict[int, str]:
    """What an answer lists, by number: its items, the rows of its table, or sentences such as "Home: two rooms."."""
    text = without_citations(answer[:LONGEST])
    if "|" in text:
        rows = [line.strip().strip("|").split(" | ")[0].strip() for line in text.splitlines() if line.startswith("|")]
        told = [row for row in rows if row.strip("-: ")]
        return dict(enumerate(told[1:], 1))  # the first are the heads
    lines = [found for line in text.splitlines() if (found := _ITEM.fullmatch(line))]
    if lines:
        numbers = [int(found[1] or 0) for found in lines]
        own = len({*numbers}) == len(numbers)
        return dict(
            zip(numbers if own else range(1, len(lines) + 1), (found[2].strip() for found in lines), strict=True)
        )
    said = (each.removeprefix(AGAIN) for each in sentences(text))
    return dict(enumerate((each for each in said if _called(each)), 1))


def _named(listed: dict[int, str], number: str) -> str:
    place = _PLACES.get(number) or int(re.sub(r"\D", "", number))
    return listed.get(max(listed) if place == -1 else place, "")


def _end(message: str, found: re.Match[str], asked: str) -> int:
    """Where what stands for an item ends: with its noun ("the second one", "the second walk" of the walks that were
    asked for), or before what goes on ("the second is", "does the second cover?"); 0 where it counts something else."""
    after = found[2] or ""
    if not after:
        return found.end() if _ENDS.match(message, found.end()) or message[found.end()] in ",;:)" else 0
    if _MEMBER.fullmatch(after) or stem(after) in content_stems(asked):
        return found.end()
    goes_on = not is_content(after) and after.lower() not in ("of", "one", "ones", "few")
    verb = _AUXILIARY.search(message, 0, found.start()) and _ENDS.match(message, found.end())
    return found.end(1) if goes_on or verb else 0


def _called(item: str) -> str:
    """The name of an item: all of a short one that is no sentence, else what stands before its colon."""
    name = _NAME.match(item + ("" if item.endswith(".") else ": "))
    found = name[1].strip() if name else ""
    return found if 0 < len(found.split()) <= LONGEST_NAME else ""
