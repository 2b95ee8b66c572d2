"""Asks a language model to rewrite a message, and checks whether its reply may be searched for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from turnwise.dialogue.language import CODES, word_list
from turnwise.dialogue.naming import FUNCTION_CHARACTERS
from turnwise.text import (
    HAN,
    KANA,
    KANA_AND_HAN,
    STOP_WORDS,
    content_stems,
    one_line,
    sentences,
    specific_stems,
    stem,
    words,
)
from turnwise.types import Message

MAX_QUOTED_CHARS = 600  # of each earlier message in the request
MAX_REPLY_CHARS = 1000  # a longer reply is not a question
MAX_QUESTION_CHARS = 300
MAX_QUESTION_WORDS = 45

_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.S | re.I)
_LABEL = re.compile(
    r"[*_#\s]{0,6}(?:(?:the|here is|here['’]s|your|standalone|stand-alone|rewritten|condensed|search|new|final)\s){0,4}"
    r"(?:question|query|request|rewrite|message|output|answer)[*_\s]{0,4}:[*_\s]{0,6}",
    re.I,
)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "`": "`", "「": "」", "**": "**", "```": "```"}
_ACKNOWLEDGES = re.compile(
    r"(?:ok(?:ay)?|sure|certainly|of course|absolutely|understood|got it|great|alright|yes|no|thanks?|thank you|sorry|"
    r"i(?:['’]m| am| understand| see| cannot| can['’]t| will| would| apologi[sz]e|['’]ll)?|as an ai|ready|hello|hi|"
    r"here (?:is|are)|let me)\b",
    re.I,
)
_ASKS_BACK = re.compile(
    r"\b(?:(?:would|do|did) you (?:like|want|need|mean|have)|(?:can|may|could|shall) i (?:help|assist|do)|"
    r"(?:can|could|would) you (?:please )?(?:clarify|specify|provide|rephrase|share|be more)|let me know|help you)\b",
    re.I,
)
_ASKS = re.compile(
    r"(?:(?:and|but|so|also|then),? ){0,2}(?:(?:in|for|to|at|of|by|with|from|on|under|since|until|about) )?"
    r"(?:what|who|whom|whose|which|when|where|why|how|is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|"
    r"shall|should|may|might|must)\b[^.]*$",
    re.I,
)
_REQUESTS = re.compile(
    r"(?:(?:and|but|so|also|then|please|now),? ){0,2}(?:tell|give|show|explain|describe|compare|contrast|list|name|"
    r"define|summari[sz]e|outline|discuss|elaborate|expand|continue|find|go|dig|keep|search|look|walk|help|provide|"
    r"translate|write|teach|more)\b",
    re.I,
)
_QUESTION_MARKS = ("?", "？", "؟", "か", "か。", "吗", "呢")
# Words about the conversation itself, which a standalone question can drop.
_CONVERSATION_WORDS = frozenset(
    map(stem, "earlier mention mentioned said say back meant mean previous latter former two another".split())
)


def build_request(
    instructions: str, message: str, seen: Sequence[Message], wanted: str = "Standalone question"
) -> tuple[Message, Message]:
    """Returns the messages for the model. The conversation goes into one message with every line as a JSON string, so
    that nothing in it can end its quotation or pose as another role."""
    conversation = "\n".join(f"{each.role}: {_quoted(each.content)}" for each in seen if each.role != "system")
    return Message("system", instructions), Message(
        "user", f"Conversation:\n{conversation}\n\nLast message:\nuser: {_quoted(message)}\n\n{wanted}:"
    )


def _quoted(text: str) -> str:
    return json.dumps(one_line(text, MAX_QUOTED_CHARS), ensure_ascii=False)


def clean_reply(reply: str) -> str:
    """Returns a reply without thoughts, labels and quotation marks around it."""
    text = without_thoughts(reply[: 4 * MAX_REPLY_CHARS])
    for _ in range(4):
        label = _LABEL.match(text)
        text = text[label.end() :].strip() if label else text
        for left, right in _QUOTES.items():
            if len(text) > len(left + right) and text.startswith(left) and text.endswith(right):
                text = text[len(left) : -len(right)].strip()
    return text


def without_thoughts(reply: str) -> str:
    return _THOUGHTS.sub("", reply).strip()


def fault(message: str, seen: Sequence[Message], question: str, language: str = "en") -> str:
    """Returns why a question may not replace the message, or "" if it may."""
    if wrong := _unfit(message, question, language):
        return wrong
    asks = all(_asks(sentence, language) or sentence in message for sentence in sentences(question))
    if not asks and not _same_statement(message, question, language):
        return "it is no question or request"
    own, new = _units(message, language), _units(question, language)
    if dropped := own - new - _CONVERSATION_WORDS:
        return f"it drops “{_as_spelled(dropped, message)}”"
    if not own and 2 * len(_lower_words(message) & _lower_words(question)) < len(_lower_words(message)):
        return "it is not the message any more"
    return _invented(message, seen, question, language) or ("" if new - own else "it adds nothing")


def part_fault(message: str, seen: Sequence[Message], part: str, language: str) -> str:
    """Returns why a text may not be searched for as a part of what the message asks, or "" if it may."""
    return _unfit(message, part, language) or _invented(message, seen, part, language)


def missing_word(question: str, parts: Sequence[str], language: str) -> str:
    """Returns a specific word of a question that none of its parts has, or ""."""
    specific = specific_stems(question) if language == "en" else None
    own = _units(question, language) if specific is None else _units(question, language) & specific
    missing = own.difference(*(_units(part, language) for part in parts))
    return _as_spelled(missing, question) if missing else ""


def _unfit(message: str, question: str, language: str) -> str:
    """Returns why a text cannot be a question to the documents, whatever it asks, or ""."""
    if not question:
        return "it is empty"
    if len(question) > MAX_QUESTION_CHARS or len(words(question)) > max(MAX_QUESTION_WORDS, 2 * len(words(message))):
        return "it is too long"
    if len(question.splitlines()) > 1:
        return "it is more than one line"
    if not _same_language(message, question, language):
        return "it is in another language"
    if _opens(_ACKNOWLEDGES, question, message):
        return "it replies instead of asking"
    if _ASKS_BACK.search(question) and not _ASKS_BACK.search(message):
        return "it asks the user instead of the documents"
    return ""


def _invented(message: str, seen: Sequence[Message], question: str, language: str) -> str:
    said = _units(message, language).union(*(_units(each.content, language) for each in seen))
    invented = _units(question, language) - said
    return f"nobody said “{_as_spelled(invented, question)}”" if invented else ""


def _opens(pattern: re.Pattern[str], question: str, message: str) -> bool:
    """Whether a question starts with the pattern and the message does not start the same way."""
    found = pattern.match(question)
    return found is not None and not message.strip().lower().startswith(found[0].lower())


def _asks(sentence: str, language: str) -> bool:
    """Whether a sentence is a question or a request; outside English only a question mark shows it."""
    text = sentence.rstrip("\"'”’) ")
    return text.endswith(_QUESTION_MARKS) or (language == "en" and bool(_ASKS.match(text) or _REQUESTS.match(text)))


def _same_statement(message: str, question: str, language: str) -> bool:
    """Whether a message that is not a question ("I want to know its price") was rewritten as the same statement."""
    opening, own = ([word.lower() for word in words(text)[:3]] for text in (question, message))
    return not _asks(message, language) and len(own) == 3 and opening == own and len(sentences(question)) == 1


# --- words --------------------------------------------------------------------------------------------------------

_UNSPACED = KANA_AND_HAN + "\uf900-\ufaff"
_UNIT = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_HIRAGANA = re.compile("[\u3040-\u309f]")


@lru_cache(maxsize=512)
def _units(text: str, language: str) -> frozenset[str]:
    """Returns the meaningful units of a text: the stems of content words, or characters in scripts without spaces."""
    if language == "en":
        return frozenset(content_stems(text))
    ignored = word_list(language, "function") | FUNCTION_CHARACTERS
    units = (unit for unit in _UNIT.findall(text) if unit.lower() not in ignored and not _HIRAGANA.match(unit))
    return frozenset(map(stem, units))


def _lower_words(text: str) -> set[str]:
    return {word.lower() for word in words(text)}


def _as_spelled(stems: frozenset[str], text: str) -> str:
    """Returns the first word of the text with one of these stems, as it is spelled there."""
    return next((word for word in _UNIT.findall(text) if stem(word) in stems), min(stems))


# --- language -----------------------------------------------------------------------------------------------------

_SCRIPTS = {
    "kana": re.compile(f"[{KANA}]"),
    "han": re.compile(f"[{HAN}]"),
    "hangul": re.compile("[\uac00-\ud7af]"),
    "cyrillic": re.compile("[\u0400-\u04ff]"),
    "arabic": re.compile("[\u0600-\u06ff]"),
    "hebrew": re.compile("[\u0590-\u05ff]"),
    "devanagari": re.compile("[\u0900-\u097f]"),
    "greek": re.compile("[\u0370-\u03ff]"),
    "thai": re.compile("[\u0e00-\u0e7f]"),
}


def _same_language(message: str, question: str, language: str) -> bool:
    """Whether a question is in the message's script, with most of its function words in the message's language."""
    scripts = [name for name, pattern in _SCRIPTS.items() if pattern.search(message)]
    found = [name for name, pattern in _SCRIPTS.items() if len(pattern.findall(question)) * 3 > len(question)]
    if any(name not in scripts for name in found) or any(not _SCRIPTS[name].search(question) for name in scripts):
        return False
    lowered = [word.lower() for word in words(question)]
    lists = {code: listed for code in CODES if (listed := word_list(code, "function"))} | {"en": STOP_WORDS}
    counts = {name: sum(word in listed for word in lowered) for name, listed in lists.items()}
    return counts.get(language, len(lowered)) >= max(counts.values())
