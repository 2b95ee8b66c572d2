"""Rewriting by a language model: what it is asked, and whether its reply may be searched for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from turnwise.dialogue.function_words import FUNCTION_CHARACTERS, FUNCTION_WORDS
from turnwise.text import (
    HAN,
    KANA,
    KANA_AND_HAN,
    STOP_WORDS,
    content_stems,
    is_specific,
    one_line,
    sentences,
    stem,
    words,
)
from turnwise.types import Message

QUOTED = 600  # characters of each earlier message that the model is shown
LONGEST_REPLY = 1000  # characters that are read of a reply; one that is longer is no question
LONGEST = 300  # characters of a question
MOST_WORDS = 45

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
# Words about the conversation itself, which a question that stands alone has no use for.
_OF_THE_TALK = frozenset(
    map(stem, "earlier mention mentioned said say back meant mean previous latter former two another".split())
)


def request(
    instructions: str, message: str, seen: Sequence[Message], wanted: str = "Standalone question"
) -> tuple[Message, Message]:
    """What the model is asked. The conversation stands inside one message, every line of it a JSON string: whatever was
    said, it can neither end its quotation nor speak as anyone."""
    said = "\n".join(f"{each.role}: {_quoted(each.content)}" for each in seen if each.role != "system")
    return Message("system", instructions), Message(
        "user", f"Conversation:\n{said}\n\nLast message:\nuser: {_quoted(message)}\n\n{wanted}:"
    )


def _quoted(text: str) -> str:
    return json.dumps(one_line(text, QUOTED), ensure_ascii=False)


def cleaned(reply: str) -> str:
    """A reply without thoughts, labels and quotation marks around it."""
    text = without_thoughts(reply[: 4 * LONGEST_REPLY])
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
    """Why a question may not be searched for in place of the message; empty where it may."""
    if wrong := _unfit(message, question, language):
        return wrong
    asks = all(_asks(sentence, language) or sentence in message for sentence in sentences(question))
    if not asks and not _says_as(message, question, language):
        return "it is no question or request"
    own, new = _units(message, language), _units(question, language)
    if dropped := own - new - _OF_THE_TALK:
        return f"it drops “{_spelled(dropped, message)}”"
    if not own and 2 * len(_plain(message) & _plain(question)) < len(_plain(message)):
        return "it is not the message any more"
    return _invented(message, seen, question, language) or ("" if new - own else "it adds nothing")


def part_fault(message: str, seen: Sequence[Message], part: str, language: str = "en") -> str:
    """Why some words may not be searched for as a part of what the message asks; empty where they may."""
    return _unfit(message, part, language) or _invented(message, seen, part, language)


def left_out(question: str, parts: Sequence[str], language: str = "en") -> str:
    """A word of a question that says what it is about, and that none of its parts has; empty where there is none."""
    specific = {stem(word) for word in words(question) if is_specific(word)} if language == "en" else None
    own = _units(question, language) if specific is None else _units(question, language) & specific
    missing = own.difference(*(_units(part, language) for part in parts))
    return _spelled(missing, question) if missing else ""


def _unfit(message: str, question: str, language: str) -> str:
    """Why some words are no question to the documents, whatever they ask."""
    if not question:
        return "it is empty"
    if len(question) > LONGEST or len(words(question)) > max(MOST_WORDS, 2 * len(words(message))):
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
    return f"nobody said “{_spelled(invented, question)}”" if invented else ""


def _opens(pattern: re.Pattern[str], question: str, message: str) -> bool:
    """Whether a question opens in a way that the message does not."""
    found = pattern.match(question)
    return found is not None and not message.strip().lower().startswith(found[0].lower())


def _asks(sentence: str, language: str) -> bool:
    """Whether a sentence is a question or a request; outside English a question mark tells it."""
    text = sentence.rstrip("\"'”’) ")
    return text.endswith(_QUESTION_MARKS) or (language == "en" and bool(_ASKS.match(text) or _REQUESTS.match(text)))


def _says_as(message: str, question: str, language: str) -> bool:
    """Whether a message that is no question itself ("I want to know its price") was rewritten as what it is."""
    opening, own = ([word.lower() for word in words(text)[:3]] for text in (question, message))
    return not _asks(message, language) and len(own) == 3 and opening == own and len(sentences(question)) == 1


# --- words --------------------------------------------------------------------------------------------------------

_UNSPACED = KANA_AND_HAN + "\uf900-\ufaff"
_UNIT = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_HIRAGANA = re.compile("[\u3040-\u309f]")


@lru_cache(maxsize=512)
def _units(text: str, language: str) -> frozenset[str]:
    """What of a text says something: the stems of its content words; where words are not set apart, its characters."""
    if language == "en":
        return frozenset(content_stems(text))
    small = FUNCTION_WORDS.get(language, frozenset()) | FUNCTION_CHARACTERS
    units = (unit for unit in _UNIT.findall(text) if unit.lower() not in small and not _HIRAGANA.match(unit))
    return frozenset(map(stem, units))


def _plain(text: str) -> set[str]:
    return {word.lower() for word in words(text)}


def _spelled(stems: frozenset[str], text: str) -> str:
    """A missing or invented word as the text writes it."""
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
    """Whether a question keeps to the message's script, and most of its small words to the message's language."""
    scripts = [name for name, pattern in _SCRIPTS.items() if pattern.search(message)]
    found = [name for name, pattern in _SCRIPTS.items() if len(pattern.findall(question)) * 3 > len(question)]
    if any(name not in scripts for name in found) or any(not _SCRIPTS[name].search(question) for name in scripts):
        return False
    spoken = [word.lower() for word in words(question)]
    counts = {
        name: sum(word in small for word in spoken) for name, small in (FUNCTION_WORDS | {"en": STOP_WORDS}).items()
    }
    return counts.get(language, len(spoken)) >= max(counts.values())
