"""Intent: what a message asks for, where its form alone tells it. The phrases are data: see languages/*.toml."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple, cast

from turnwise.dialogue.language import CODES, LONGEST, language, matches, read_language, tidy
from turnwise.types import Intent


class Reading(NamedTuple):
    """An intent with what of it and why, or none where the message is a plain question to the documents.

    `about` is what the message names: of a correction what is meant, of a memory what is looked for, of a translation
    its language. `wrong` is what a correction rejects, `rest` the question that follows a reference to earlier, and
    `claimed` whether the message says itself that it was said ("earlier you mentioned ...").
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
_QUESTION = re.compile(
    r"^(?:what|how|why|who|whom|whose|when|where|which|is|are|was|were|do|does|did|can|could|will|would|should|tell|"
    r"explain|describe|show|give|compare)\b",
    re.I,
)
_NOT_MEANT = re.compile(r"^(?:well|by|for|as|to be|it|nothing|that|this|business|good)\b", re.I)
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
        reading = Reading(cast(Intent, family), operation, _REASONS[family], about)
        end = "?" if message.rstrip().endswith("?") else ""  # which the patterns do not see
        rest = named.get("rest") or ""
        if is_question(about):
            reading = reading._replace(about=about + end)
        claimed = bool(named.get("claimed"))
        return reading._replace(wrong=named.get("wrong", ""), rest=rest and rest + end, claimed=claimed)
    return Reading()


def without_courtesy(message: str) -> str:
    """The message without "Thanks. ", "This is useless, " or "Hey, so I was wondering " before its question."""
    text = message.strip()
    for opening in (_COURTESY, _OUTBURST, _CHATTER):
        text = opening.sub("", text) or text
    return text if text != message.strip() else message


def is_question(text: str) -> bool:
    """Whether some words are a question or a request of their own, not just what one is about."""
    return bool(_QUESTION.match(text)) and len(text.split()) >= 3


# --- arithmetic ---------------------------------------------------------------------------------------------------

_NUMBER = r"(?:[$€£]\s?)?\d[\d,. ]{0,30}(?:\s?%|\s?percent|\s?per cent)?"
_SPOKEN_OPERATOR = r"plus|minus|times|multiplied by|divided by|over|mod|percent of|per cent of|% of|of|to the power of"
_SUM = re.compile(
    rf"(?P<opener>.{{0,60}}?)\s*(?P<sum>(?:the )?(?:square root of |sqrt ?|half of |\()*(?:{_NUMBER}|that|it|this)"
    rf"(?:\)*\s?(?:[+*×÷^]|\s[-−–/x]\s|\b(?:{_SPOKEN_OPERATOR})\b)\s?(?:the )?\(*(?:{_NUMBER}|that|it|this))*\)*"
    r"(?:\s?squared|\s?cubed)?)(?:\s?=)?",
    re.I,
)
_SPAN = re.compile(r"\d{4} [-−–/] \d{2,4}")  # of years
_OPERATOR = re.compile(rf"[+*×÷^]|\s[-−–/x]\s|\b(?:{_SPOKEN_OPERATOR})\b|square root|sqrt|half of|squared|cubed", re.I)


def _arithmetic(message: str, code: str) -> Reading | None:
    """A sum and nothing else: "2 + 2", "what is 15% of 80?", "how much is that times 3?". Not a date, not a range."""
    text = " ".join(message.split()).replace("'", "’").strip(" ?!.=")
    if code not in CODES or len(text) > 120 or not any(character.isdigit() for character in text):
        return None
    found = _SUM.fullmatch(text)
    if not found or not _OPERATOR.search(found["sum"]):
        return None
    opener = tidy(found["opener"])
    if opener and not language(code).arithmetic.fullmatch(opener):
        return None
    if not opener and _SPAN.fullmatch(found["sum"]):
        return None
    leans = bool(re.search(r"\b(?:that|it|this)\b", found["sum"], re.I))
    if leans and not opener:
        return None
    return Reading("arithmetic", "of the last answer" if leans else "plain numbers", "a sum to work out", found["sum"])
