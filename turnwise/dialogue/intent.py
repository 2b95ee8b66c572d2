"""Intent: what a message asks for, where its form alone tells it."""

from __future__ import annotations

import re

from turnwise.types import Intent

_THANKS = (
    r"(?:many |no,? |yes,? |ok(?:ay)?,? |great,? |perfect,? )?(?:thanks|thank you|thx|cheers)"
    r"(?: (?:a lot|so much|very much|again))?"
)
_SOCIAL: dict[str, re.Pattern[str]] = {
    "thanks": re.compile(
        rf"{_THANKS}\b(?!.*(?:\?|\b(?:what|how|why|who|when|where|which|can|could|tell|give)\b)).{{0,80}}", re.I
    ),
    "hello": re.compile(r"(?:hello|hi|hey|good (?:morning|afternoon|evening))(?: there)?[\s.!,]*", re.I),
    "goodbye": re.compile(r"(?:good ?bye|bye(?: bye)?|see you(?: later)?)[\s.!]*", re.I),
    "acknowledged": re.compile(
        r"(?:ok(?:ay)?|cool|great|nice|perfect|got it|i see|makes sense|understood)[\s.!]*", re.I
    ),
}
_COURTESY = re.compile(rf"^(?:{_THANKS}|ok(?:ay)?|great|i see|got it)[,.!;:]+\s+", re.I)
_LAST = r"(?:that|this|it|the (?:last |previous )?answer|your (?:last |previous )?answer|the above)"
_PUT = r"(?:give|show|write|put|turn|make|format|list)(?: me)?"
_ASK = r"(?:please |can you |could you |now )*"
_REFORM: dict[str, re.Pattern[str]] = {
    "list": re.compile(
        rf"{_ASK}(?:{_PUT} {_LAST} (?:to me )?)?(?:in|as|into|to)?\s*(?:an? )?"
        r"(?:bullet(?:ed)? |numbered )?(?:list|bullet points|bullets|points)(?: please)?[\s.!?]*"
        rf"|{_ASK}list {_LAST}[\s.!?]*",
        re.I,
    ),
    "table": re.compile(
        rf"{_ASK}(?:{_PUT} {_LAST} (?:to me )?)?(?:in|as|into|to)?\s*(?:an? )?table(?: please)?[\s.!?]*",
        re.I,
    ),
    "shorter": re.compile(
        rf"{_ASK}(?:make {_LAST} )?(?:shorter|briefer|more concise)(?: please)?[\s.!?]*"
        rf"|{_ASK}(?:shorten|summari[sz]e|condense) {_LAST}(?: please)?[\s.!?]*"
        r"|tl;?dr[\s.!?]*|in (?:short|brief)[\s.!?]*",
        re.I,
    ),
    "rewrite": re.compile(
        rf"{_ASK}(?:translate|rephrase|reword|simplify|rewrite) {_LAST}\b.*"
        rf"|{_ASK}(?:make|say) {_LAST} (?:simpler|in .+)",
        re.I | re.S,
    ),
}
_SO = (
    r"(?:(?:so|and|sorry|wait|hey|please),? )?(?:(?:can|could) you )?(?:(?:tell|remind) me,? )?"
    r"(?:do you (?:remember|recall) )?"
)
_NOW = r"(?: (?:again|please|so far|today|in this conversation|in our conversation|you))*[\s?.!]*"
_RECALL: dict[str, re.Pattern[str]] = {
    "first": re.compile(
        rf"{_SO}what (?:did i ask(?: you)?(?: about)? first|was (?:my|the) (?:very )?first (?:question|thing)"
        rf"(?: (?:that )?i asked)?){_NOW}|{_SO}what my first question was{_NOW}",
        re.I,
    ),
    "last": re.compile(
        rf"{_SO}what (?:did i (?:just )?ask(?: you)? (?:last|before(?: that| this)?|just now)|did i just ask|"
        rf"was my (?:last|previous) question){_NOW}",
        re.I,
    ),
    "all": re.compile(
        rf"{_SO}what (?:have we (?:talked|discussed|spoken)(?: about)?|did we (?:talk about|discuss)|have i asked|"
        rf"questions did i ask|did i ask){_NOW}",
        re.I,
    ),
}


def read_intent(message: str) -> tuple[Intent | None, str, str]:
    """The intent, what of it, and the reason; no intent where the message is a question to the documents."""
    text = " ".join(message.split())
    families: tuple[tuple[Intent, dict[str, re.Pattern[str]], str], ...] = (
        ("social", _SOCIAL, "a courtesy, not a question"),
        ("reform", _REFORM, "asks for the last answer in another form"),
        ("recall", _RECALL, "asks about this conversation"),
    )
    for intent, patterns, reason in families:
        for operation, pattern in patterns.items():
            if pattern.fullmatch(text):
                return intent, operation, reason
    return None, "", ""


def without_courtesy(message: str) -> str:
    """The message without "Thanks. " before it."""
    return _COURTESY.sub("", message.strip()) or message
