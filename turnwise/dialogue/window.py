"""The part of a conversation that a message is read with. Its size is bounded, however long the conversation is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from turnwise.dialogue.citing import without_unknown
from turnwise.dialogue.intent import asks_documents, read_intent, without_courtesy
from turnwise.dialogue.language import conversation_language, courtesies
from turnwise.dialogue.signs import opens_subject
from turnwise.dialogue.topics import plain_text
from turnwise.text import is_specific, message_stems, stem, words, words_like
from turnwise.types import Message

if TYPE_CHECKING:
    from turnwise.types import Vectors

Embed = Callable[[str], "Vectors"]

RECENT_MESSAGES = 20
MAX_RECALLED_MESSAGES = 4  # older messages added because they share a word with the new one
MAX_SEARCHED_MESSAGES = 2000  # older messages searched for those words
MAX_RECALL_WORDS = 8
MAX_MESSAGE_CHARS = 1200  # the rest of a message is ignored
SAME_TOPIC_COSINE = 0.5  # 95 % of unrelated questions are below it
COMPARED_QUESTIONS = 4


# Words that reach across topics: a comparison, several things, or something said before.
_ACROSS = re.compile(
    r"\b(?:compar\w+|diff\w*|overlap\w*|relat\w+|similar\w*|versus|vs|both|either|neither|between|two|three|they|them|"
    r"their|these|those|earlier|before|previous\w*|back|again|first|former|latter|other|same|common|than|instead)\b",
    re.I,
)


def window(message: str, history: Sequence[Message], since: int = 0) -> list[Message]:
    """Returns at most 25 messages in order: the recent ones from index `since` on, the first question, and older turns
    that share a specific word with the message, if no recent message has that word."""
    start, language = max(0, len(history) - RECENT_MESSAGES), conversation_language(history)
    kept = _recalled_indices(message, history, start) if start else set()
    first = next((index for index in range(start) if _asks(history[index], language)), None)
    if first is not None and not since:
        kept.add(first)
    recent = range(max(start, since), len(history))
    kept.update(index for index in recent if history[index].role != "user" or _asks(history[index], language))
    return [prose for index in sorted(kept) if (prose := _as_prose(history[index])).content]


def last_change(message: str, history: Sequence[Message], embed: Embed | None = None) -> int:
    """Returns the index of the last question that opened a new subject: it shares no word with earlier questions and,
    if `embed` is given, is far from them in meaning. Returns 0 if there is none or if the message spans topics."""
    if _ACROSS.search(message):
        return 0
    start, language = max(0, len(history) - RECENT_MESSAGES), conversation_language(history)
    asked = [index for index in range(start, len(history)) if _asks(history[index], language)]
    for number in range(len(asked) - 1, 0, -1):
        question, *before = (
            without_courtesy(history[index].content[:MAX_MESSAGE_CHARS]) for index in (asked[number], *asked[:number])
        )
        if read_intent(question).intent is None and opens_subject(question) and _unrelated(question, before, embed):
            return asked[number]
    return 0


def _unrelated(question: str, before: Sequence[str], embed: Embed | None) -> bool:
    if message_stems(question) & set().union(*map(message_stems, before)):
        return False
    if embed is None:
        return True
    return all(float(embed(question) @ embed(text)) < SAME_TOPIC_COSINE for text in before[-COMPARED_QUESTIONS:])


def _as_prose(message: Message) -> Message:
    text = message.content
    return Message(message.role, text[:MAX_MESSAGE_CHARS] if message.role == "user" else prose_of(text))


@lru_cache(maxsize=512)  # the next turn asks for all but the last of these again
def prose_of(answer: str) -> str:
    """Returns the prose of an answer, without markup, citations and our courtesies, and without paragraphs that say
    something is not known, because they name things nobody asked about."""
    known = without_unknown(answer).split("\n\n")
    return plain_text("\n\n".join(part for part in known if part.strip() not in courtesies()))


def _asks(message: Message, language: str) -> bool:
    """Whether the message asks the documents something; "thanks" and "no, that's wrong" leave nothing to refer to."""
    return message.role == "user" and asks_documents(message.content, language)


def _recalled_indices(message: str, history: Sequence[Message], start: int) -> set[int]:
    """Returns the indices before `start` where specific words of the message were last used, with both messages of
    each turn."""
    recent = [each.content[:MAX_MESSAGE_CHARS].lower() for each in history[start:]]
    own = dict.fromkeys(stem(word) for word in words(message[:MAX_MESSAGE_CHARS]) if is_specific(word))
    wanted = [key for key in own if not any(_has_stem(text, key) for text in recent)][:MAX_RECALL_WORDS]
    found: set[int] = set()
    for index in range(start - 1, max(-1, start - 1 - MAX_SEARCHED_MESSAGES), -1):
        if not wanted or len(found) >= MAX_RECALLED_MESSAGES:
            break
        text = history[index].content[:MAX_MESSAGE_CHARS].lower()
        present = {key for key in wanted if _has_stem(text, key)}
        if present:
            wanted = [key for key in wanted if key not in present]
            found |= {index, _partner(history, index)}
    return {index for index in found if index < start}


def _has_stem(text: str, key: str) -> bool:
    """Whether a lower-case text has a word with this stem. The substring test spares most texts from tokenizing."""
    return key.removesuffix("i") in text and any(stem(word) == key for word in words_like(key, text))


def _partner(history: Sequence[Message], index: int) -> int:
    """Returns the index of a question's answer or an answer's question, or `index` itself if it has none."""
    other = index + 1 if history[index].role == "user" else index - 1
    paired = 0 <= other < len(history) and {history[index].role, history[other].role} == {"user", "assistant"}
    return other if paired else index
