"""What a message asks for, as far as its form shows. The phrases are data: see languages/*.toml."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple, cast

from turnwise.dialogue.going_on import going_on
from turnwise.dialogue.language import CODES, MAX_MESSAGE_CHARS, matches, read_language
from turnwise.sums.read import read_sum
from turnwise.types import Intent


class IntentReading(NamedTuple):
    """The intent of a message and why it was chosen; no intent for a plain question to the documents.

    `about` is what the message names: what a correction means, what a recall looks for, the language of a translation,
    or "that" for a sum of the last answer. `wrong` is what a correction rejects, `rest` the question after a reference
    to something earlier, and `claimed` whether the message says that it was mentioned ("earlier you said ...").
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
_REASONS_BY_OPERATION = {
    "documents": "asks what the library holds",
    "repeated": "says that it was told this before",
}
_QUESTION = re.compile(
    r"^(?:what|how|why|who|whom|whose|when|where|which|is|are|was|were|do|does|did|can|could|will|would|should|tell|"
    r"explain|describe|show|give|compare)\b",
    re.I,
)
_OTHER_ONE = re.compile(r"(?:the )?other(?: ones?)?|another one", re.I)  # names nothing
_NOT_MEANT = re.compile(
    r"^(?:well|by|for (?:it|that|this|you|me|us|him|her|them|real|sure|now|example|instance)|"
    r"as|to be|it|nothing|that|this|business|good)\b",
    re.I,
)
_OPENING = re.compile(r"\s*([^,.;:!。！，、]{1,30})(?:[,.;:!]+\s+|[。！，、]\s*)(?=\S)")  # may be a courtesy
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


def read_intent(message: str, code: str | None = None) -> IntentReading:
    """Returns the intent of a message. `code` is its language (default: detected)."""
    if len(message) > 4 * MAX_MESSAGE_CHARS:
        return IntentReading()
    code = read_language(message) if code is None else code
    reading, opening = _read_in_language(message, code), _OPENING.match(message)
    if reading.intent or not opening or _read_in_language(opening[1], code).intent != "social":
        return reading
    return _read_in_language(message[opening.end() :], code)  # "thanks! give me that as a list"


def asks_documents(message: str, language: str = "en") -> bool:
    """Whether a message asks the documents something, unlike a courtesy, a request to rephrase, a recall, a sum, a
    bare "that's wrong" or "didn't help". `language` is that of the conversation, for a message that does not show its
    own."""
    if going_on(message) in ("next", "failed"):
        return False
    reading = read_intent(message, read_language(message, default=language))
    return reading.intent not in ("social", "reform", "recall") and not _objects(reading) and not is_sum(reading)


def objection(message: str, code: str) -> str:
    """Returns what a message that only objects to the last answer says of it: "wrong", "repeated", or that the "other"
    one was meant. Returns "" for any other message."""
    reading = read_intent(message, code)
    return reading.operation if _objects(reading) else ""


def is_answerable(message: str, code: str) -> bool:
    """Whether a message is a question or a sum, unlike a courtesy, an objection, a request to rephrase, or a question
    about this conversation."""
    reading = read_intent(message, code)
    if reading.operation in ("capabilities", "documents"):
        return True
    return reading.intent not in ("social", "reform", "recall") and not _objects(reading)


def _objects(reading: IntentReading) -> bool:
    return reading.intent == "clarify" and not reading.about


def is_sum(reading: IntentReading) -> bool:
    """Whether it is a sum of plain numbers, which needs no context."""
    return reading.intent == "arithmetic" and reading.operation == "plain numbers"


def is_courtesy(message: str) -> bool:
    """Whether a message is only a courtesy or an outburst."""
    reading = read_intent(message)
    return reading.intent == "social" and reading.operation != "capabilities"


@lru_cache(maxsize=2048)
def _read_in_language(message: str, code: str) -> IntentReading:
    if sum_ := _arithmetic(message, code):
        return sum_
    for family, operation, found in matches(message, code):
        groups = {name: (value or "").strip(" ,.;:") for name, value in found.groupdict().items()}
        about = groups.get("instead") or groups.get("about") or ""
        if family == "clarify" and operation == "instead" and (_NOT_MEANT.match(about) or _OTHER_ONE.fullmatch(about)):
            continue
        if family in ("recall", "refer_back") and _QUESTION.match(about):
            continue
        reason = _REASONS_BY_OPERATION.get(operation) or _REASONS[family]
        reading = IntentReading(cast(Intent, family), operation, reason, about)
        end = "?" if message.rstrip().endswith("?") else ""  # stripped before matching
        rest = groups.get("rest") or ""
        if is_question(about):
            reading = reading._replace(about=about + end)
        claimed = bool(groups.get("claimed"))
        return reading._replace(wrong=groups.get("wrong", ""), rest=rest and rest + end, claimed=claimed)
    return IntentReading()


def without_courtesy(message: str) -> str:
    """Returns the message without a leading "Thanks. ", "New question: ", "This is useless, " or "Hey, so I was
    wondering "."""
    text = message.strip()
    for opening in (_COURTESY, _ANEW, _OUTBURST, _CHATTER):
        text = opening.sub("", text) or text
    return text if text != message.strip() else message


def begins_anew(message: str) -> bool:
    """Whether a message announces a new topic: "new question: who is the chair?"."""
    return bool(_ANEW.match(_COURTESY.sub("", message.strip())))


def is_question(text: str) -> bool:
    """Whether a text is a complete question or request, and not only its subject."""
    return bool(_QUESTION.match(text)) and len(text.split()) >= 3


def _arithmetic(message: str, code: str) -> IntentReading | None:
    """Reads a message that is only a sum, of plain numbers or of those in the last answer."""
    found = read_sum(message, code) if code in CODES else None
    if found is None:
        return None
    if not found.refers_back:
        return IntentReading("arithmetic", "plain numbers", "a sum to work out")
    operation = "of an amount" if found.amount else "of the last answer"
    return IntentReading("arithmetic", operation, "a sum to work out", "" if found.bare else "that")
