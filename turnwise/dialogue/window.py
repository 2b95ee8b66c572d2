"""Window: the part of a conversation that a message is read with, of the same size at turn 5 and at turn 500."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from turnwise.dialogue.citing import abstains
from turnwise.dialogue.intent import asks_documents, read_intent, without_courtesy
from turnwise.dialogue.language import courtesies
from turnwise.dialogue.signs import opens_subject
from turnwise.dialogue.topics import plain
from turnwise.text import is_specific, message_stems, stem, words, words_like
from turnwise.types import Message

if TYPE_CHECKING:
    from turnwise.types import Vectors

Embed = Callable[[str], "Vectors"]

RECENT = 20  # messages
CALLED_BACK = 4  # earlier messages that the words of the message call back at most
SEARCHED = 2000  # earlier messages that are searched for those words
CALLING = 8  # words that may call back
LONGEST = 1200  # characters of a message that are looked at
NEAR = 0.5  # cosine from which two questions are of one conversation; of unrelated ones 95 % are below it
LOOKED_BACK = 4  # questions that are compared


# What a message may say that reaches across topics: a comparison, several things, or something before.
_ACROSS = re.compile(
    r"\b(?:compar\w+|diff\w*|overlap\w*|relat\w+|similar\w*|versus|vs|both|either|neither|between|two|three|they|them|"
    r"their|these|those|earlier|before|previous\w*|back|again|first|former|latter|other|same|common|than|instead)\b",
    re.I,
)


def window(message: str, history: Sequence[Message], since: int = 0) -> list[Message]:
    """At most 25 messages, in the order they were said: the recent ones from `since` on, the first question, and the
    earlier turns that the message calls back to, by a word that was not said since."""
    start = max(0, len(history) - RECENT)
    kept = _called_back(message, history, start) if start else set()
    first = next((position for position in range(start) if _asks(history[position])), None)
    if first is not None and not since:
        kept.add(first)
    recent = range(max(start, since), len(history))
    kept.update(place for place in recent if history[place].role != "user" or _asks(history[place]))
    return [said for place in sorted(kept) if (said := _prose(history[place])).content]


def last_change(message: str, history: Sequence[Message], embed: Embed | None = None) -> int:
    """The place of the last question that opened a subject of its own, none of whose words had been asked about before
    and, where that can be told, far from all that was meant; 0 where there was none, or the message reaches across."""
    if _ACROSS.search(message):
        return 0
    asked = [place for place in range(max(0, len(history) - RECENT), len(history)) if _asks(history[place])]
    for number in range(len(asked) - 1, 0, -1):
        question, *before = (
            without_courtesy(history[place].content[:LONGEST]) for place in (asked[number], *asked[:number])
        )
        if read_intent(question).intent is None and opens_subject(question) and _apart(question, before, embed):
            return asked[number]
    return 0


def _apart(question: str, before: Sequence[str], embed: Embed | None) -> bool:
    if message_stems(question) & set().union(*map(message_stems, before)):
        return False
    return embed is None or all(float(embed(question) @ embed(text)) < NEAR for text in before[-LOOKED_BACK:])


def _prose(message: Message) -> Message:
    """The message, of an answer what it tells."""
    return Message(message.role, message.content[:LONGEST] if message.role == "user" else told(message.content))


@lru_cache(maxsize=512)  # the next turn asks for all but the last of these again
def told(answer: str) -> str:
    """What an answer tells: without its markup and citations, of which nothing is to be copied, without our courtesies,
    and without the paragraphs that say that something is not known, for they name what nobody asked for."""
    kept = (each for each in answer.split("\n\n") if not abstains(each) and each.strip() not in courtesies())
    return plain("\n\n".join(kept))


def _asks(message: Message) -> bool:
    """Whether it is a question to the documents: "thanks" and "no, that's wrong" leave nothing to refer to."""
    return message.role == "user" and asks_documents(message.content)


def _called_back(message: str, history: Sequence[Message], start: int) -> set[int]:
    """The places before `start` where specific words of the message were last said, each with the rest of its turn."""
    recent = [each.content[:LONGEST].lower() for each in history[start:]]
    own = dict.fromkeys(stem(word) for word in words(message[:LONGEST]) if is_specific(word))
    wanted = [key for key in own if not any(_says(text, key) for text in recent)][:CALLING]
    found: set[int] = set()
    for position in range(start - 1, max(-1, start - 1 - SEARCHED), -1):
        if not wanted or len(found) >= CALLED_BACK:
            break
        text = history[position].content[:LONGEST].lower()
        said = {key for key in wanted if _says(text, key)}
        if said:
            wanted = [key for key in wanted if key not in said]
            found |= {position, _partner(history, position)}
    return {position for position in found if position < start}


def _says(text: str, key: str) -> bool:
    """Whether a lower-case text has a word of this stem. Few texts hold its letters, so few are taken apart."""
    return key.removesuffix("i") in text and any(stem(word) == key for word in words_like(key, text))


def _partner(history: Sequence[Message], position: int) -> int:
    """The place of the answer to a question, or of the question to an answer; of neither, the place itself."""
    other = position + 1 if history[position].role == "user" else position - 1
    paired = 0 <= other < len(history) and {history[position].role, history[other].role} == {"user", "assistant"}
    return other if paired else position
