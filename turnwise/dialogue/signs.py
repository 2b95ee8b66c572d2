"""Signs in the words of a message that it depends on the conversation."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from turnwise.dialogue.adverbials import circumstance
from turnwise.dialogue.asked_again import compared_with, parallel, told_before
from turnwise.dialogue.going_on import going_on
from turnwise.dialogue.language import CODES, MAX_MESSAGE_CHARS, language, read_language, tidy, word_list
from turnwise.dialogue.pronouns import without_lookalikes
from turnwise.text import (
    content_stems,
    is_content,
    is_specific,
    message_stems,
    phrases,
    specific_stems,
    stem,
    word_stems,
    words,
)
from turnwise.types import Message

_PERSONAL = re.compile(
    r"\b(?:it|its|itself|they|them|their|theirs|themselves|he|him|his|himself|she|her|hers|herself)\b", re.I
)
_DEMONSTRATIVE = re.compile(
    r"\b(?:this|these|those|such)\b|^that\b|\bthat(?=\s*(?:[?.!,]|$))"
    r"|\b(?:about|of|is|was|does|did|do|like|than|for|with|on|from|after|before|in|to|at|why|how|by) that\b",
    re.I,
)
_ONE = re.compile(
    r"\b(?:which|this|that|another|other|first|second|third|last|next|any|each|better|best|popular|the|what) ones?\b"
    r"|\bones?\s*[?.!]?$",
    re.I,
)
_PLACE = re.compile(r"\b(?:there|here)\s*[?.!,]?$|\b(?:get|go|live|from|travel|visit) there\b", re.I)
_OPENING = re.compile(r"^(?:and|but|so|also|or|then|because|plus)\b", re.I)
_REPLY = re.compile(
    r"^(?:ok|okay|yes|yeah|no|nope|thanks|thank you|great|cool|interesting|wow|nice|i see|sure|oh|hmm|got it|right|"
    r"well)\b",
    re.I,
)
_OTHER = re.compile(
    r"\b(?:other|others|another|else|instead|same|also|as well|additional|further|alternatives?|rest|remaining|"
    r"previous|earlier|latter|former|both|either|neither|again|still|anymore)\b|\btoo\s*\?*$",
    re.I,
)
_COMPARISON = re.compile(
    r"\b(?:differences?|differ|compare[ds]?|comparison|overlap|relationship|related|relate|similarit\w+)\b", re.I
)
_TWO_SIDES = re.compile(r"\b(?:and|vs|versus|than|or)\b", re.I)
_DEFINITE = re.compile(r"\bthe ((?:[a-z-]+ ){0,3}[a-z-]+)\b(?:['’]s)?")
_SPECIFYING_WORDS = frozenset("of in for that who which between to on behind from with at by".split())
_NAMED = re.compile(
    r"^(?:(?:what|who)(?:['’]s| is| are| was| were) (?:an? )?|(?:tell me about|explain|define|describe|what does) )"
    r"(?!the |it\b|its\b|they\b|their\b|he\b|his\b|she\b|her\b|this\b|that\b|these\b|those\b|some |there\b|"
    r"your\b|more\b)"
    r"[\w\-. '’?!]+$"
    r"|^how (?:does|do|did) (?-i:[A-Z][\w-]*(?: [A-Z][\w-]*){0,3}) work\s*[?.!]*$",
    re.I,
)
_CONTINUE = re.compile(
    r"^(?:(?:and|but|so|ok|okay|yes|sure),? )?(?:please )?(?:can you |could you )?"
    r"(?:(?:give|show) me (?:an? |some )?examples?|(?:tell|give|show) me (?:some )?more(?: (?:details?|examples?|"
    r"information))?|more(?: (?:details?|examples?))?|"
    r"go on|go deeper|dig deeper|continue|keep going|elaborate|expand|explain (?:more|further)|why(?: not| so)?|how so|"
    r"how come|for example|such as|an example|what else|anything else|is that (?:all|it|everything)(?=\W*$)|"
    r"in what way|yes|what about|how about|what of|and)\b(?: (?:about|on|of|into) )?",
    re.I,
)
_BARE = re.compile(
    r"(?:(?:and|but|so|ok|okay|please|can you|could you),? ){0,3}"
    r"(?:explain|clarify|elaborate|expand|(?:(?:some |any )?(?:more |further )?details?))(?:,? please)?\s*[?.!]*",
    re.I,
)
_MORE_ABOUT = re.compile(r"\b(?:more|deeper|elaborate|expand)\b.* (?:about|on|of|into) $", re.I)  # names its subject
_ELLIPSIS = re.compile(
    r"(?:and )?(?:what|how) about\b|what of\b"
    r"|and (?!(?:what|how|why|who|when|where|which|is|are|do|does|did|can)\b)[^?]{1,60}\?$"
    r"|and (?:(?:for|in|on|at|with|of) )?(?:the|my|our|your|an?) [\w-]+(?: [\w-]+)?[.!]*$",  # typed without its "?"
    re.I,
)
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?:(?:Dr|Prof|Mrs?|Ms)\. )?[A-ZÀ-Þ][\w’'-]*(?: [A-ZÀ-Þ][\w’'-]*)*")

# The log-odds that each sign adds; fitted by training/fit_rules.py on public conversations with human labels.
BIAS = 0.12
WEIGHTS = {
    "personal": 3.74,
    "personal_after_name": 1.63,
    "personal_after_phrase": 2.38,
    "demonstrative": 1.36,
    "one": 1.19,
    "place": 2.12,
    "opening": 0.77,
    "reply": -1.36,
    "other": 1.11,
    "comparison": 1.52,
    "definite": 1.94,
    "definite_said_before": 0.43,
    "named": -1.46,
    "nothing_specific": 0.67,
    "one_specific": 0.73,
    "three_specific": -0.67,
    "name": -0.65,
    "asked_before": -1.05,
    "all_asked_before": -0.00,
    "answered_before": 0.16,
    "all_new": -0.05,
    "new_name": -0.45,
    "short": 0.21,
    "long": -1.23,
}
MAX_NAMING_WORDS = 5  # a question that only names its subject is no longer
POINTING = {"personal", "personal_after_name", "personal_after_phrase", "demonstrative", "one", "place", "comparison"}
POINTING |= {"other", "opening"}
_REASONS = {
    "personal": "“{}” refers to something said before",
    "personal_after_name": "“{}” may refer to something said before",
    "personal_after_phrase": "“{}” may refer to something said before",
    "demonstrative": "“{}” points back",
    "one": "“{}” stands for something said before",
    "place": "“{}” points to a place said before",
    "opening": "it begins with “{}”",
    "other": "“{}” presupposes what was said",
    "comparison": "it compares without naming both sides",
    "definite": "“{}” has not been introduced in the message",
    "nothing_specific": "it names nothing by itself",
    "one_specific": "it says little by itself",
    "short": "it is short",
}


@dataclass(frozen=True, slots=True)
class PatternSignal:
    """What the words of a message show: how likely it depends on the conversation, and why."""

    confidence: float
    reason: str
    pointing: bool  # a word refers to something before
    certain: bool = False  # such as "tell me more": no other signal is needed
    named: bool = False  # only "what is X?", with no word that refers back


def by_pattern(message: str, recent: Sequence[Message], code: str) -> PatternSignal:
    """Judges a message in the language `code` by its words."""
    if code != "en":
        return _by_phrases(message, code)
    said = set().union(*(message_stems(each.content) for each in recent))
    continued = _CONTINUE.match(message.strip())
    rest = message.strip()[continued.end() :] if continued else ""
    if bare := _BARE.fullmatch(message.strip()):
        return PatternSignal(0.85, f"“{bare[0]}” asks for more of what was said", pointing=True, certain=True)
    if going_on(message):
        return PatternSignal(0.9, f"“{message.strip()}” goes on from the last answer", pointing=True, certain=True)
    if compared_with(message):
        return PatternSignal(0.85, "it compares without naming both sides", pointing=True, certain=True)
    specific = set(filter(is_specific, words(rest)))
    more = bool(continued and _MORE_ABOUT.search(continued[0]) and content_stems(rest) <= said)  # about something named
    elliptic = _ELLIPSIS.match(message.strip()) and len(specific) <= 2 and len(_NAME.findall(rest)) <= 1
    if continued and (not specific or more or elliptic):
        reason = f"“{continued[0].strip()}” continues what was said"
        return PatternSignal(0.75 if specific and more else 0.85, reason, pointing=True, certain=True)
    if circumstance(message) and parallel(message, recent):
        return PatternSignal(0.85, "it says for whom the last question is", pointing=True, certain=True)
    if told := told_before(message, recent):
        return PatternSignal(0.85, f"it asks for one who said “{told}”", pointing=True, certain=True)
    asked = set().union(*(message_stems(each.content) for each in recent if each.role == "user"))
    found = signs(message, said, asked)
    confidence = 1 / (1 + math.exp(-BIAS - sum(WEIGHTS[name] for name in found)))
    confidence = round(min(0.95, max(0.05, confidence)), 2)
    pointing = bool(POINTING & found.keys())
    named = "named" in found and not pointing and len(words(message)) <= MAX_NAMING_WORDS
    return PatternSignal(confidence, _explain(found), pointing, named=named)


def asks_for_more(message: str) -> bool:
    """Whether a message names nothing and only asks for more: "tell me more", "go deeper"."""
    text = message.strip()
    return bool(_CONTINUE.match(text) or _BARE.fullmatch(text)) and not any(map(is_specific, words(text)))


def _by_phrases(message: str, code: str) -> PatternSignal:
    """Judges a message in another language by its phrases. One in a language without phrases stands alone."""
    if code not in CODES:
        return PatternSignal(0.05, "", pointing=False, certain=True)
    phrases_of, text = language(code), tidy(message)[:MAX_MESSAGE_CHARS]
    if going_on(message):
        return PatternSignal(0.9, f"“{text}” goes on from the last answer", pointing=True, certain=True)
    if any(pattern.fullmatch(text) for pattern in phrases_of.continues):
        return PatternSignal(0.85, f"“{text[:60]}” continues what was said", pointing=True, certain=True)
    pronoun = phrases_of.pronouns.search(text) if phrases_of.pronouns else None
    if pronoun:
        reason = f"“{pronoun[0].strip()}” refers to something said before"
        return PatternSignal(0.75, reason, pointing=True, certain=True)
    if _names_nothing(text, code):
        return PatternSignal(0.75, _REASONS["nothing_specific"], pointing=True, certain=True)
    return PatternSignal(0.2, "", pointing=False, certain=True)


def _names_nothing(text: str, code: str) -> bool:
    """Whether a message in another language has only small words and those for a price: "wie oft?", "cuánto vale"."""
    small = word_list(code, "function") | word_list(code, "price")
    return bool(small) and small.issuperset(_WORD.findall(text.lower()))


@lru_cache(maxsize=1024)
def opens_subject(message: str) -> bool:
    """Whether a message names its subject and refers to nothing before it."""
    if _CONTINUE.match(message.strip()) or read_language(message) != "en":
        return False
    found = signs(message, set(), set())
    return not found.keys() & {*POINTING, "definite", "nothing_specific"}


def stands_alone(message: str) -> bool:
    """Whether a message says something by itself, and nothing in it refers back except perhaps a "the"."""
    if _CONTINUE.match(message.strip()):
        return False
    found = signs(message, set(), set())
    return not found.keys() & {*POINTING, "nothing_specific"}


def only_names(message: str) -> bool:
    """Whether a message only asks for something by its name: "Define overfitting." """
    found = signs(message, set(), set())
    return "named" in found and not found.keys() & POINTING


def signs(message: str, said: set[str], asked: set[str]) -> dict[str, str]:
    """Returns the signs that a message depends on the conversation or stands alone, with the words that show each."""
    text = without_lookalikes(message).strip()
    found: dict[str, str] = {}

    def note(name: str, match: re.Match[str] | None) -> None:
        if match:
            found[name] = match[0].strip(" ?.!,")

    personal = _PERSONAL.search(text)
    before = text[: personal.start()] if personal else ""
    note(
        "personal_after_name" if _names(before) else "personal_after_phrase" if phrases(before) else "personal",
        personal,
    )
    note("demonstrative", _DEMONSTRATIVE.search(text))
    note("one", _ONE.search(text))
    note("place", _PLACE.search(text))
    note("opening", _OPENING.search(text))
    note("reply", _REPLY.search(text))
    note("other", _OTHER.search(text))
    if not _TWO_SIDES.search(text):
        note("comparison", _COMPARISON.search(text))
    definite = _bare_definite(text)
    if definite:
        found["definite"] = f"the {definite}"
        if word_stems(definite) & said:
            found["definite_said_before"] = ""
    note("named", _NAMED.search(text))

    specific = specific_stems(text)
    length = len(words(text))
    measured = {
        "nothing_specific": not specific,
        "one_specific": len(specific) == 1,
        "three_specific": len(specific) >= 3,
        "name": bool(_names(text)),
        "asked_before": bool(specific & asked),
        "all_asked_before": bool(specific) and specific <= asked,
        "answered_before": bool(specific & (said - asked)),
        "all_new": bool(specific) and not specific & said,
        "new_name": any(stem(name) not in said for name in _names(text)),
        "short": length <= 4,
        "long": length >= 12,
    }
    return found | {name: "" for name, holds in measured.items() if holds}


def _bare_definite(text: str) -> str:
    """Returns the noun after "the" if nothing says which one is meant: "the author", but not "the author of X"."""
    for match in _DEFINITE.finditer(text):
        following = match[1].split()
        noun = list(itertools.takewhile(is_content, following))
        after = "".join(following[len(noun) : len(noun) + 1] or text[match.end() :].split()[:1])
        named = after in _SPECIFYING_WORDS or after[:1].isupper()
        if noun and sum(map(is_specific, noun)) <= 1 and not named:
            return " ".join(noun)
    return ""


def _names(text: str) -> list[str]:
    """Returns the capitalized words that do not start a sentence."""
    return [
        match[0]
        for match in re.finditer(r"[^\W\d_][\w\-]*", text)
        if match[0][0].isupper()
        and match.start() > 0
        and is_content(match[0])
        and text[max(0, match.start() - 3) : match.start()].rstrip()[-1:] not in tuple(".!?")
    ]


def _explain(found: dict[str, str]) -> str:
    reasons = sorted((name for name in found if name in _REASONS), key=lambda name: -WEIGHTS[name])
    return _REASONS[reasons[0]].format(found[reasons[0]]) if reasons else ""
