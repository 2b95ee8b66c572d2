"""What a message says about how all answers should be, and what should be forgotten about the user.

Only whole sentences about every answer count: "keep answers short" and "always keep it short", but not "keep it short",
which is about the next answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from turnwise.text import sentences

MAX_MESSAGE_CHARS = 2000  # longer messages are not searched for wishes
SHORT, LISTS = "short answers", "bullet points"

_LANGUAGES = (
    "English|German|French|Spanish|Portuguese|Italian|Dutch|Polish|Russian|Ukrainian|Turkish|Arabic|Hindi|Chinese|"
    "Japanese|Korean|Swedish|Danish|Norwegian|Finnish|Greek|Czech|Hungarian|Romanian|Hebrew|Vietnamese|Thai|Indonesian"
)
_ALWAYS = r"(?:from now on|in (?:the )?future|going forward|for the future|always|in general|generally|by default)"
_BEFORE = (
    rf"(?:(?:please|hi|hello|hey|ok|okay|and|also|so|but|thanks|by the way|note that|(?:please )?remember(?: that)?|"
    rf"can you|could you|would you|will you|you should|try to|make sure to|i want you to|i(?: would|['’]d) like you to|"
    rf"{_ALWAYS}),? ){{0,5}}"
)
_AFTER = rf"(?:,? (?:please|thanks|thank you|if possible|if you can|when you can|ok|okay|{_ALWAYS})){{0,3}}"
_ANSWERS = r"(?:(?:all )?(?:your |the |my )?(?:answers|replies|responses|explanations))"
_LIKE = r"i(?: would|['’]d)? (?:really |usually |generally |always |much |rather )?(?:prefer|like|love|want|need)"
_RATHER = r"i (?:really |usually |generally |always |much )?(?:prefer|like|love)"  # "I want" may be for one answer


def _of_answers(kinds: str) -> str:
    """Returns a pattern for wishes about all answers: "keep answers short", "I prefer short answers"."""
    return (
        rf"(?:keep|make|write) {_ANSWERS} (?:very |rather |as )?(?:{kinds})(?: as possible)?"
        rf"|(?:give|send|write)(?: me)? (?:only |just )?(?:{kinds}) {_ANSWERS}"
        rf"|{_LIKE} (?:to (?:get|have|see) )?(?:very |rather )?(?:{kinds}) {_ANSWERS}"
        rf"|{_LIKE} {_ANSWERS} (?:to be )?(?:very |rather )?(?:{kinds})"
        rf"|{_ANSWERS} should be (?:very |rather )?(?:{kinds})"
    )


_BRIEF = r"short|shorter|brief|briefer|concise|succinct|to the point"
_LONG = r"long|longer|detailed|more detailed|in-depth|thorough|comprehensive"
_EASY = r"simple|simpler|easy|plain|non-technical|easy to understand"
_EXACT = r"technical|precise|rigorous|formal|more technical|expert-level"
_ANSWER = r"(?:answer|reply|respond|write)(?: to)?(?: me)?"
_PROSE = r"(?:prose|full sentences|running text|paragraphs)"
_SIMPLY = rf"(?:simply|in (?:{_EASY}) (?:terms|words|language|english))"
_WITH = r"(?:concrete |worked |practical |more |some |code )?examples"
_POINTS = r"(?:bullet[- ]?points|bullets|bullet(?:ed)? lists|lists)"

# The wish, its group (only the newest wish of a group is kept), a pattern for all answers, and a pattern that counts
# only with "always" or "from now on".
_KINDS: tuple[tuple[str, str, str, str], ...] = (
    (
        SHORT,
        "length",
        _of_answers(_BRIEF),
        rf"{_ANSWER} (?:briefly|concisely)|be (?:{_BRIEF})|keep (?:it|things) (?:{_BRIEF})",
    ),
    (
        "detailed answers",
        "length",
        _of_answers(_LONG),
        rf"(?:{_ANSWER}|explain(?: it| things)?) in (?:more )?detail|be (?:thorough|detailed)",
    ),
    (
        LISTS,
        "form",
        rf"{_RATHER} (?:{_ANSWERS} (?:in|as|with) )?{_POINTS}|give(?: me)? {_ANSWERS} (?:in|as|with) {_POINTS}",
        rf"(?:{_ANSWER} (?:in|as|with|using)|use) {_POINTS}",
    ),
    ("tables", "form", rf"{_RATHER} (?:{_ANSWERS} (?:in|as|with) )?tables", rf"(?:{_ANSWER} (?:in|with)|use) tables"),
    ("running text", "form", rf"{_RATHER} (?:{_ANSWERS} (?:in|as) )?{_PROSE}", rf"{_ANSWER} in {_PROSE}"),
    (
        "examples",
        "examples",
        rf"{_RATHER} (?:{_ANSWERS} with )?{_WITH}|i learn (?:best )?(?:by|from|with|through) {_WITH}",
        rf"(?:give|show|include|use|add)(?: me)? {_WITH}",
    ),
    (
        "simple explanations",
        "depth",
        rf"{_of_answers(_EASY)}|explain (?:things|everything)(?: to me)? {_SIMPLY}|{_RATHER} (?:{_EASY}) words",
        rf"explain (?:it|this|that)(?: to me)? {_SIMPLY}|use (?:{_EASY}) (?:words|language|terms)",
    ),
    ("technical explanations", "depth", _of_answers(_EXACT), r"be (?:technical|precise|rigorous)"),
    (
        "answers in {}",
        "language",
        rf"(?:{_ANSWER}|(?:speak|talk)(?: to me)?) in (?P<tongue>{_LANGUAGES})"
        rf"|{_LIKE} {_ANSWERS} (?:to be )?in (?P<spoken>{_LANGUAGES})",
        r"(?!)",
    ),
)

_PATTERNS = [
    (wish, group, re.compile(rf"{_BEFORE}(?:{plain}){_AFTER}", re.I), re.compile(rf"{_BEFORE}(?:{once}){_AFTER}", re.I))
    for wish, group, plain, once in _KINDS
]
_ENDS = ' .!…"“”'
_REQUEST = re.compile(r"(?:please,? )?(?:can|could|would|will) you ", re.I)
_MEANT_FOR_ALL = re.compile(rf"\b{_ALWAYS}\b", re.I)
_JOINED = re.compile(r",? (?:and|with|but with|plus) ", re.I)

_FORGET_ALL = re.compile(
    rf"{_BEFORE}(?:forget|erase|delete|clear)(?: (?:everything|all|anything|whatever))?(?: (?:that|what))?"
    r"(?: (?:you (?:(?:have )?(?:learned|stored|noted)|know|remember) )?about me| me| your memory of me| my profile)"
    rf"{_AFTER}",
    re.I,
)
_FORGET_PREFERENCES = re.compile(
    rf"{_BEFORE}(?:forget|erase|delete|clear) (?:all )?(?:of )?my preferences{_AFTER}", re.I
)
_OFF = re.compile(
    rf"{_BEFORE}(?:(?:stop|quit) remembering(?: (?:me|things|anything|everything|what i \w+))?(?: about me)?"
    r"|(?:do not|don['’]?t|never) remember (?:me|anything|things|anything about me|things about me)(?: any ?more)?"
    rf"|(?:turn|switch) (?:off (?:your |the )?memory|(?:your |the )?memory off)){_AFTER}",
    re.I,
)
_FORGET_ONE = re.compile(
    rf"{_BEFORE}(?:forget (?:that )?i (?:\w+ ){{0,2}}?(?P<verb>prefer|like|want|know|understand)"
    rf"|i (?:(?:do not|don['’]?t) (?P<other>prefer|like|want|need)|no longer (?P<late>prefer|like|want|need)))"
    rf" (?P<what>.{{1,100}}?)(?: any ?more| any longer)?{_AFTER}",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """The user's wishes in a message."""

    preferences: tuple[tuple[str, str], ...] = ()  # group and wish
    forgets: tuple[str, ...] = ()  # preferences, and topics the user knows
    forgets_preferences: bool = False
    forgets_all: bool = False
    turns_off: bool = False
    only: bool = False  # the message says nothing else

    @property
    def any_forgetting(self) -> bool:
        return bool(self.forgets) or self.forgets_preferences or self.forgets_all or self.turns_off


@lru_cache(maxsize=2048)
def read_wishes(message: str) -> Wishes:
    """Returns the wishes of a message, if it is not too long."""
    if len(message) > MAX_MESSAGE_CHARS:
        return Wishes()
    found: list[tuple[str, str]] = []
    forgets: list[str] = []
    turns_off = forgets_all = forgets_preferences = False
    others = 0
    for text in sentences(message):
        sentence = text.strip(_ENDS + "?" * bool(_REQUEST.match(text)))
        if not sentence:
            continue
        if _OFF.fullmatch(sentence):
            turns_off = True
        elif _FORGET_ALL.fullmatch(sentence):
            forgets_all = True
        elif _FORGET_PREFERENCES.fullmatch(sentence):
            forgets_preferences = True
        elif wishes := _preferences_in(sentence):
            found += wishes
        elif forgotten := _forgotten_in(sentence):
            forgets += forgotten
        else:
            others += 1
    only = bool(found or forgets or turns_off or forgets_all or forgets_preferences) and not others
    return Wishes(tuple(found), tuple(forgets), forgets_preferences, forgets_all, turns_off, only)


def group_of(preference: str) -> str:
    """Returns the group of a preference, only one of which is kept. One in the user's own words is its own group."""
    fitting = (group for wish, group, *_ in _KINDS if preference == wish or _names_language(preference, wish))
    return next(fitting, preference)


def _names_language(preference: str, wish: str) -> bool:
    return "{}" in wish and bool(re.fullmatch(wish.format(f"(?:{_LANGUAGES})"), preference))


def _preferences_in(sentence: str) -> list[tuple[str, str]]:
    """Returns the preferences of a sentence: one, or several joined by "and" if all of them are recognized."""
    if whole := _one_wish(sentence, sentence):
        return [whole]
    first, *rest = _JOINED.split(sentence)
    parts = [_one_wish(first, sentence)]
    parts += [_one_wish(each, sentence) or _one_wish(f"I prefer {each}", "") for each in rest]
    return [each for each in parts if each] if rest and all(parts) else []


def _one_wish(text: str, sentence: str) -> tuple[str, str] | None:
    for_all = _MEANT_FOR_ALL.search(sentence)
    for wish, group, plain, once in _PATTERNS:
        if found := plain.fullmatch(text) or (once.fullmatch(text) if for_all else None):
            tongue = next((each for each in found.groupdict().values() if each), "")
            return group, wish.format(tongue.capitalize())
    return None


def _forgotten_in(sentence: str) -> list[str]:
    """Returns what a sentence takes back: "forget that I know BERT", "I no longer want short answers"."""
    found = _FORGET_ONE.fullmatch(sentence)
    if found is None:
        return []
    if found["verb"] and found["verb"].lower() in ("know", "understand"):
        return [found["what"].strip()]
    wish = _one_wish(f"I prefer {found['what']}", "")
    return [wish[1]] if wish else [found["what"].strip()] if found["verb"] else []
