"""Resolves "the second one" or "step 3" after an answer with a list or a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from turnwise.dialogue.citing import abstains, without_again
from turnwise.dialogue.language import CODES, language
from turnwise.dialogue.spelling import Slip
from turnwise.dialogue.writing import last_question
from turnwise.english import NUMBER_WORDS
from turnwise.text import content_stems, is_content, one_line, sentences, stem, without_citations
from turnwise.types import Message

MAX_SEARCHED_ANSWERS = 5  # the newest ones, searched for the list
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
    rf"\b(?:step|stage|phase|point|item|option|number|row|tip) (\d{{1,2}}|{'|'.join(_NUMBERS)})\b(?![.:,]\d)", re.I
)
_STEP = (
    rf"(?:the (?:{'|'.join(_ORDINALS)}|\d{{1,2}}(?:st|nd|rd|th))(?: (?:step|stage|phase|one))?"
    rf"|(?:step|stage|phase) (?:\d{{1,2}}|{'|'.join(_NUMBERS)}))"
)
_AFTER_STEP = re.compile(
    r"(?:(?:and|ok|okay|so|then),? )*what(?:['’]?s| is| comes| happens| do i do) (?:next )?after "
    rf"(?:(?P<step>{_STEP})|(?:the )?(?P<named>[\w’' -]{{3,40}}?))\s*[?.!]*",
    re.I,
)
_SOME = re.compile(
    r"\bthe (first|last|other) (two|three|four|[2-4])\b(?: (of (?:them|these|those)\b|[^\W\d_]+))?", re.I
)
_MEMBER = re.compile(r"one|step|stage|phase|item|point|option|row|entry|bullet|tip|reason|of \w+", re.I)
_AUXILIARY = re.compile(r"\b(?:do|does|did|can|could|will|would|should|must|may|might) $", re.I)
_ENDS = re.compile(r"\s*[?.!]*\s*$")
_ITEM = re.compile(r"[ \t]{0,8}(?:[-*•]|(\d{1,3})[.)])[ \t]+(\S.*)")
_BEFORE_DETAIL = re.compile(r", | \(| [-–—] ")
_RUN = re.compile(r": ((?:[^,:.;]{1,60}, )+[^,:.;]{0,60}?,? ?\b(?:and|or) [^,:.;]{1,60})\.?$")
_NAME = re.compile(r"\**([^:|.?!\n]{1,60}?)\**:\s")


def name_listed_items(message: str, history: Sequence[Message]) -> tuple[str, list[Slip]]:
    """Returns the message with the name of the list item it refers to ("how long is the second one?"), and what was
    replaced. It stays as it is if there is no recent list, or none with that many items."""
    if following := _next_step(message, history):
        return following, [Slip(message, following)]
    if (some := _SOME.search(message)) and (meant := _several(message, some, history)):
        return meant, [Slip(some[0], meant)]
    found = next((found for found in (_NTH.search(message), _NUMBERED.search(message)) if found), None)
    if not found or re.search(r"[.?!]\s", message[: found.start()]):  # it may refer to its own first sentence
        return message, []
    said = range(len(history) - 1, -1, -1)
    answers = [index for index in said if history[index].role == "assistant" and not abstains(history[index].content)]
    for index in answers[:MAX_SEARCHED_ANSWERS]:
        listed = listed_items(history[index].content)
        if len(listed) > 1:
            asked = history[index - 1].content if index else ""
            end = found.end() if found.re is _NUMBERED else _reference_end(message, found, asked)
            item = _item_at(listed, found[1]) if end else ""
            typed = message[found.start() : end]
            if not item:
                return message, []
            meant = _item_name(item) or f"{typed}, “{_shown(item)}”"
            return message[: found.start()] + meant + message[end:], [Slip(typed, _item_name(item) or item)]
    return message, []


def _next_step(message: str, history: Sequence[Message]) -> str:
    """Returns a question for the step of a recent list after the one that the message names; empty if there is none."""
    asked = _AFTER_STEP.fullmatch(message.strip())
    if not asked:
        return ""
    for listed in _lists(history):
        number = _step_named(asked, listed)
        if 0 < number < len(_ORDINALS) and number + 1 in listed:
            return f"what is the {_ORDINALS[number]} step, “{_shown(listed[number + 1])}”"
    return ""


def _step_named(asked: re.Match[str], listed: dict[int, str]) -> int:
    """Returns the number of the step in a list that a message names by its number or its words; 0 if none."""
    if asked["step"]:
        return max(map(place_of, re.findall(r"\w+", asked["step"])))
    named = content_stems(asked["named"])
    steps = [place for place, item in listed.items() if named and named <= content_stems(item)]
    return steps[0] if len(steps) == 1 else 0


def _several(message: str, found: re.Match[str], history: Sequence[Message]) -> str:
    """Returns the message with the names of the items that "the last two" means; empty if there are no such."""
    count, noun, last = place_of(found[2]), found[3] or "", last_question(history)
    asked = content_stems(" ".join(each.content for each in history if each.role == "user"))
    if noun and not _MEMBER.fullmatch(noun.removesuffix("s")) and stem(noun) not in asked:
        return ""
    which, items = found[1].lower(), list(next(_lists(history), {}).values())
    if which == "other":
        items = [each for each in items if _item_name(each).lower() not in last.lower()]
    chosen = items[:count] if which == "first" else items[-count:]
    if len(chosen) != count or (which == "other" and len(items) != count):
        return ""
    if not content_stems(message.replace(found[0], "")):  # it asks for nothing else
        return f"what are {found[0].removesuffix(noun).strip()}, “{'” and “'.join(map(_shown, chosen))}”"
    names = list(map(_item_name, chosen))
    together = f"{', '.join(names[:-1])} and {names[-1]}"
    return message[: found.start()] + together + message[found.end() :] if all(names) else ""


def _lists(history: Sequence[Message]) -> Iterator[dict[int, str]]:
    """Yields the lists of the newest answers that have any."""
    answers = [each.content for each in reversed(history) if each.role == "assistant" and not abstains(each.content)]
    yield from (listed for each in answers[:MAX_SEARCHED_ANSWERS] if len(listed := listed_items(each)) > 1)


def _shown(item: str) -> str:
    return one_line(item, MAX_ITEM_CHARS).rstrip(" .")


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
    told = list(map(without_again, sentences(text)))
    named = [each for each in told if _item_name(each)]
    if len(told) == 1 and (run := _RUN.search(told[0])):  # "Parts of a lock: gates, a chamber and a sluice"
        named = [each for each in re.split(r",? (?:and|or) |, ", run[1].rstrip(" .")) if each]
    return dict(enumerate(named, 1))


def place_of(ordinal: str, code: str = "en") -> int:
    """Returns the number that a word such as "second", "2nd" or "2" stands for in a language; -1 for "last", and 0 for
    any other word."""
    numbers = (language(code).ordinals if code in CODES else {}) or _NUMBERS_BY_WORD
    return numbers.get(ordinal.lower()) or int(re.sub(r"\D", "", ordinal) or 0)


def _item_at(listed: dict[int, str], ordinal: str) -> str:
    number = place_of(ordinal)
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
    if len(found.split()) > MAX_NAME_WORDS or not (found or item.endswith(".")):
        found = _BEFORE_DETAIL.split(found or item)[0].strip("* ")  # "a gate of oak, which opens to the sea"
    return found if 0 < len(found.split()) <= MAX_NAME_WORDS else ""
