"""Intent: what a message asks for, where its form alone tells it. The phrases are data: see languages/*.toml."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple, cast

from turnwise.dialogue.language import CODES, LONGEST, matches, read_language
from turnwise.sums.read import read_sum
from turnwise.types import Intent


class Reading(NamedTuple):
    """An intent with what of it and why, or none where the message is a plain question to the documents.

    `about` is what the message names: of a correction what is meant, of a memory what is looked for, of a translation
    its language, of a sum "that". `wrong` is what a correction rejects, `rest` the question that follows a reference to
    earlier, and `claimed` whether the message says itself that it was said ("earlier you mentioned ...").
    """

    intent: Intent | None = None
    operation: str = ""
    reason: str = ""
    about: str = ""
    wrong: str = ""
    rest: str = ""
    claimed: bool = False


_REASONS = {
    "social": "a courtesy, not a question",
    "reform": "asks for the last answer in another form",
    "recall": "asks about this conversation",
    "clarify": "corrects how the last question was understood",
    "refer_back": "returns to what was said earlier",
    "data": "asks for figures of a table",
}
_OF_THE_LIBRARY = "asks what the library holds"
_QUESTION = re.compile(
    r"^(?:what|how|why|who|whom|whose|when|where|which|is|are|was|were|do|does|did|can|could|will|would|should|tell|"
    r"explain|describe|show|give|compare)\b",
    re.I,
)
_NOT_MEANT = re.compile(r"^(?:well|by|for(?! (?:the|an?|my|our) )|as|to be|it|nothing|that|this|business|good)\b", re.I)
_COURTESY = re.compile(
    r"^(?:(?:many |great,? |ok(?:ay)?,? )?(?:thanks|thank you|thx|cheers)(?: (?:a lot|so much|very much|again))?"
    r"|ok(?:ay)?|great|i see|got it)[,.!;:]+\s+",
    re.I,
)
_ASKS = r"(?=(?:what|how|why|who|when|where|which|is|are|do|does|did|can|could)['’]?s? \w)"
_CHATTER = re.compile(
    r"^(?:(?:hey|hi|hello|hiya)(?: there)?[,.!]* )?(?:(?:so|ok|okay|well|um+|uh+|just),? ){0,3}"
    r"(?:(?:i (?:was|am)|i['’]m|was) (?:just )?wondering|i (?:just )?wonder|(?:just )?(?:a )?quick question|"
    r"i have a (?:quick )?question|(?:hey|hi|hello|hiya)(?: there)?)[,.:;!]* (?:so,? )?" + _ASKS,
    re.I,
)
_OUTBURST = re.compile(
    r"^(?:(?:u+gh+|a+r+gh+|wtf|ffs|(?:this|that|it)(?:['’]s| is) (?:so |really |just |still )?"
    r"(?:useless|pointless|frustrating|annoying|ridiculous|not helpful|not working))[,.;:! ]{1,9}){1,3}" + _ASKS,
    re.I,
)
_ANEW = re.compile(
    r"^(?:(?:ok(?:ay)?|so|well|now|right),? )?(?:(?:a )?(?:new|another|different|next) (?:question|topic|subject)"
    r"|(?:please )?(?:ignore|forget|never ?mind) (?:what i (?:said|asked|wrote)(?: before| so far)?|that|"
    r"(?:my|the) (?:last|previous) (?:question|message)))\s?[,.:;!–-]+\s+(?:but |and )?(?=\S)",
    re.I,
)


def read_intent(message: str, code: str | None = None) -> Reading:
    """The intent of a message in a language (default: the one it shows)."""
    if len(message) > 4 * LONGEST:
        return Reading()
    return _read(message, read_language(message) if code is None else code)


def asks_documents(message: str) -> bool:
    """Whether a message says what it wants to know: no courtesy, re-forming, memory or sum, no bare "that's wrong"."""
    reading = read_intent(message)
    bare = reading.intent == "clarify" and not reading.about
    return reading.intent not in ("social", "reform", "recall") and not bare and not is_sum(reading)


def is_sum(reading: Reading) -> bool:
    """Whether it is a sum of plain numbers, which leans on nothing that was said."""
    return reading.intent == "arithmetic" and reading.operation == "plain numbers"


def is_courtesy(message: str) -> bool:
    """Whether a message is a courtesy or an outburst, and asks nothing at all."""
    reading = read_intent(message)
    return reading.intent == "social" and reading.operation != "capabilities"


@lru_cache(maxsize=2048)
def _read(message: str, code: str) -> Reading:
    if sum_ := _arithmetic(message, code):
        return sum_
    for family, operation, found in matches(message, code):
        named = {name: (value or "").strip(" ,.;:") for name, value in found.groupdict().items()}
        about = named.get("instead") or named.get("about") or ""
        if family == "clarify" and operation == "instead" and _NOT_MEANT.match(about):
            continue
        if family in ("recall", "refer_back") and _QUESTION.match(about):
            continue
        reason = _OF_THE_LIBRARY if operation == "documents" else _REASONS[family]
        reading = Reading(cast(Intent, family), operation, reason, about)
        end = "?" if message.rstrip().endswith("?") else ""  # which the patterns do not see
        rest = named.get("rest") or ""
        if is_question(about):
            reading = reading._replace(about=about + end)
        claimed = bool(named.get("claimed"))
        return reading._replace(wrong=named.get("wrong", ""), rest=rest and rest + end, claimed=claimed)
    return Reading()


def without_courtesy(message: str) -> str:
    """The message without "Thanks. ", "New question: ", "This is useless, " or "Hey, so I was wondering " before its
    question."""
    text = message.strip()
    for opening in (_COURTESY, _ANEW, _OUTBURST, _CHATTER):
        text = opening.sub("", text) or text
    return text if text != message.strip() else message


def begins_anew(message: str) -> bool:
    """Whether a message says itself that it leaves what was talked about: "new question: who is the chair?"."""
    return bool(_ANEW.match(_COURTESY.sub("", message.strip())))


def is_question(text: str) -> bool:
    """Whether some words are a question or a request of their own, not just what one is about."""
    return bool(_QUESTION.match(text)) and len(text.split()) >= 3


def _arithmetic(message: str, code: str) -> Reading | None:
    """A sum and nothing else, of numbers alone or of the last answer's."""
    found = read_sum(message, code) if code in CODES else None
    if found is None:
        return None
    if not found.refers_back:
        return Reading("arithmetic", "plain numbers", "a sum to work out")
    return Reading("arithmetic", "of the last answer", "a sum to work out", "" if found.bare else "that")
