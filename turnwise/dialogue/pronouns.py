"""Finds the pronoun of a message that a phrase of the conversation can replace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from turnwise.dialogue.adverbials import TIMES
from turnwise.english import MEN, OTHERS, WOMEN
from turnwise.text import is_content, phrases, words
from turnwise.types import Message

_LINK = r"(?:about|to|for|with|at|in|on|by|from|if|when|why|how|and|or)"  # after "her" if that is not a possessive
_SINGULAR = r"(?:it|this|that|he|she|him)"
_PRONOUN = re.compile(
    rf"\b(?:about|of|is|was|are|were|does|did|do|like|than|for|with|on|from|to|by|can|could|would|will|should|has|had|"
    rf"have|in|how|why|when|and|if|while|once|because|until|unless)\s+({_SINGULAR}|they|them|these|those)\b"
    r"(?!\s+(?:there|that|(?:rain|snow)s?|comes to|(?:is|gets) (?:raining|snowing|dark|cold|hot|wet|late))\b)"
    r"|\b(it|they|them|him|her)\s*[?.!]?$|^(it|this|that|they|he|she)\b"
    rf"|\b(them|him|her)\s+(?={_LINK}\b)|\b(it)\s+(?:back|off|up|out|down|away)\b"
    r"|\b(?:need|get|buy|have|want|use|book|order|rent|borrow)\s+(one)\s*[?.!]?$",
    re.I,
)
_POSSESSIVE = re.compile(rf"\b(its|their|his|her)\b(?=\s+(?!{_LINK}\b)\w)", re.I)
_PLURAL = ("they", "them", "these", "those", "their")
_MALE, _FEMALE = ("he", "him", "his"), ("she", "her")
_PLURAL_NOUN = re.compile(r"[^suai]s$|people$|children$")
_KIN = re.compile(rf"(?:(?:my|our|your|the|an?) )?(?:other )?(?:{MEN}|{WOMEN}|{OTHERS})", re.I)
_OWN = re.compile(rf"\b(?:my|our) (?:{MEN}|{WOMEN}|{OTHERS})\b", re.I)  # "he" is "my son", whoever an answer names
_NO_PERSON = (  # a word of a name that looks like a person's
    r"Hall|Street|Road|Lane|Square|Park|Room|Centre|Center|School|University|College|Library|House|Building|Club|Hospital|"
    r"Museum|Bridge|River|Lake|Island|Valley|Hill|Mountain|Bay|City|Office|Day|Week|Prize|Award|Act|Plan|Team|Pool|Hotel|"
    r"Bar|Tea|Caf[eé]|Shop|Company|Institute|Association|Church|Station|Garden|Gardens|Morning|Evening|Note|Learning|York|"
    r"Kids|Children|Adults|Teens|Juniors|Seniors|Youths?|Beginners|Members|Students|Boys|Girls|Men|Women|Class|Course|Group|"
    r"New|Grand|Old|Great|North|South|East|West|Please|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
)
_GROUP = re.compile(  # is not "he"
    r"\b(?:kids|children|adults|teens|teenagers|juniors|seniors|youths?|toddlers|babies|beginners|members|students|pupils|"
    r"boys|girls|men|women|people|staff|group|team|class|club|course)$",
    re.I,
)
# One of these may be "he" in the next question: "when is judo for kids?", "can he come?"
_YOUNG = re.compile(
    r"\b(?:kids?|child(?:ren)?|teens?|teenagers?|juniors?|toddlers?|bab(?:y|ies)|boys|girls|pupils|under[ -]\d+s?)\b",
    re.I,
)
_ASKS_WHO = re.compile(
    r"\bwho(?:m|se|[’']s)?\b|\b(?:coach|teacher|trainer|instructor|tutor|leader|doctor|nurse)\b", re.I
)
_CAPITAL = r"(?-i:[A-Z])[\w’'-]+"
_OPENER = r"(?:the|an?|in|on|at|our|my|your|this|that|these|those|it|we|for|from|by|to|of|and|but|if|when|who|what|how)"
PERSON = re.compile(
    rf"(?<![\w’'-])(?:(?P<title>(?-i:Mrs?|Ms|Miss|Dr|Prof|Professor|Sir|Dame))\.? {_CAPITAL}(?: {_CAPITAL})?"
    rf"|(?:my|our|your|the|an?) (?P<kin>{MEN}|{WOMEN}|{OTHERS})\b"
    rf"|(?<!\bthe )(?<!\bat )(?<!\bin )(?!(?:{_OPENER}|{_NO_PERSON})\b){_CAPITAL} "
    rf"(?:(?-i:[A-Z])\. |(?:van|von|de|da|di) )?(?!(?:{_NO_PERSON})\b){_CAPITAL}(?![\w’'-]| {_CAPITAL}))",
    re.I,
)
_ASKED_WHO = re.compile(  # not "who is responsible?"
    rf"\b(?i:who)(?:(?:['’]s| is| was) (the [\w’'-]+|{_CAPITAL}(?: {_CAPITAL}){{0,2}})"
    r"| was (?!it|he|she)([a-z][\w’'-]+))\s*[?.!]*$"
)
_NOBODY = re.compile(r"(?:no|any|some|every)(?:body|one|thing)", re.I)
_LOOKALIKE = re.compile(r"\b(?:IT|US)\b")


class Pronoun(NamedTuple):
    """A pronoun in lower case, and where it is in its message."""

    text: str
    start: int
    end: int
    possessive: bool

    @property
    def plural(self) -> bool:
        return self.text in _PLURAL

    @property
    def personal(self) -> bool:
        return self.text in _MALE or self.text in _FEMALE


def find_pronoun(message: str) -> Pronoun | None:
    """Returns the pronoun that a phrase can replace. A pronoun after a sentence or clause that names something refers
    to that instead."""
    message = without_lookalikes(message)
    found = _POSSESSIVE.search(message) or _PRONOUN.search(message)
    if not found:
        return None
    group = found.lastindex or 0
    before = message[: found.start(group)]
    clause = max(before.rfind(mark) for mark in ".?!;,")
    if clause > 0 and phrases(before[:clause]):
        return None
    return Pronoun(found[group].lower(), *found.span(group), found.re is _POSSESSIVE)


def points_back(message: str) -> bool:
    """Whether the message has a pronoun that a phrase can replace."""
    return find_pronoun(message) is not None


def names_person(phrase: str) -> bool:
    return PERSON.fullmatch(phrase) is not None


def person_meant(pronoun: Pronoun, seen: Sequence[Message]) -> str:
    """Returns the person that "he" or "she" means, or "": the first one in the newest message with any. "Your child"
    in an answer means nobody."""
    other = WOMEN if pronoun.text in _MALE else MEN
    wrong = re.compile(rf"(?:{other}|{'mrs|ms|miss|dame' if pronoun.text in _MALE else 'mr|sir'})", re.I)
    if means_child(pronoun, seen):
        return ""
    last = next((each for each in reversed(seen) if each.role == "user"), None)
    kin = last if last and not pronoun.possessive and _OWN.search(last.content) else None
    for message in (*filter(None, [kin]), *reversed(seen)):
        if asked := _ASKED_WHO.search(message.content):
            return asked[1] or asked[2]
        for found in PERSON.finditer(message.content):
            own = message.role == "user" or not found["kin"]
            if own and not wrong.fullmatch(found["title"] or found["kin"] or ""):
                return found[0]
    return ""


def means_child(pronoun: Pronoun, seen: Sequence[Message]) -> bool:
    """Whether "he" or "she" is a child that nobody has named: in "can he come?" after "when is judo for kids?", whoever
    the answer names."""
    asked = next((each.content for each in reversed(seen) if each.role == "user"), "")
    named = PERSON.search(asked) or _ASKS_WHO.search(asked)
    return pronoun.personal and not pronoun.possessive and not named and bool(_YOUNG.search(asked))


def can_be_meant(message: str, phrase: str) -> bool:
    """Whether the message's pronoun can mean a phrase: "it" is neither a person nor a time such as "Sundays", and "he"
    has no number and is no group."""
    pronoun = find_pronoun(message)
    if not pronoun or pronoun.plural:
        return True
    if _NOBODY.fullmatch(phrase):
        return False
    if pronoun.personal:
        return not any(map(str.isdigit, phrase)) and not TIMES.fullmatch(phrase) and not _GROUP.search(phrase)
    rest = words(TIMES.sub(" ", phrase))
    is_time = TIMES.search(phrase) and not any(is_content(word) and not word[0].isdigit() for word in rest)
    return not is_time and not _KIN.fullmatch(phrase)


def agrees_in_number(message: str, phrase: str) -> bool:
    """Whether a phrase agrees in number with the message's pronoun, judged by its ending. A name ending in "s" may
    still be singular."""
    pronoun = find_pronoun(message)
    last = phrase.split()[-1:]
    plural = bool(last and _PLURAL_NOUN.search(last[0]))
    if pronoun and pronoun.plural:
        return plural
    return not plural or last[0][0].isupper()


def without_lookalikes(message: str) -> str:
    """Returns the message with HR and UK in place of IT and US, which are not pronouns unless all is in capitals."""
    return message if message.isupper() else _LOOKALIKE.sub(lambda found: {"IT": "HR", "US": "UK"}[found[0]], message)
