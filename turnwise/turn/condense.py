"""Condense: the message as a question that stands alone, made only of words that were said."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from turnwise.config import Settings
from turnwise.dialogue.earlier import corrected_question, returning_question
from turnwise.dialogue.intent import asks_documents, read_intent, without_courtesy
from turnwise.dialogue.predicted import by_model
from turnwise.dialogue.questions import complete_questions, join_questions, split_questions
from turnwise.dialogue.rewriting import MAX_REPLY_CHARS, build_request, clean_reply, fault
from turnwise.dialogue.rules import by_last_question, by_rules
from turnwise.dialogue.signs import only_names, opens_subject
from turnwise.dialogue.window import MAX_MESSAGE_CHARS, window
from turnwise.errors import TurnwiseError
from turnwise.text import content_words, one_line, sentences, stem, words
from turnwise.types import (
    EVERYTHING,
    Condensed,
    Filter,
    FollowUp,
    Intent,
    Message,
    Prediction,
    Rewriter,
    Role,
    SearchQuery,
    Term,
    Understanding,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
LEANING: frozenset[Intent] = frozenset({"follow_up", "clarify", "refer_back"})  # the intents that lean on what was said
REWRITTEN = 0.8  # how much a word counts that a language model added
REMEMBERED = 256  # condensed messages that are kept
# What was asked before counts in the search the more, the surer a follow-up is, and fully from the second of these on.
TALK_FROM, TALK_FULLY, TALK_LEAST = 0.1, 0.4, 0.4
RECENT, MOST_ASKED, LONGEST_ASKED = 20, 8, 200  # messages looked at for that, questions taken, characters of each


@dataclass(frozen=True, slots=True)
class Asked:
    """All that condensing a message looks at, and nothing else: two that are equal have the same result."""

    message: str
    said: tuple[tuple[Role, str], ...]  # the window of the history
    intent: Intent
    confidence: float
    why: str
    language: str
    prediction: Prediction | None

    @property
    def seen(self) -> list[Message]:
        return [Message(role, content) for role, content in self.said]


class _Remembered(Generic[T]):
    """What came of the last messages that were condensed. The one that was not asked for longest goes first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Asked, T] = OrderedDict()
        self._lock = Lock()

    def get(self, asked: Asked) -> T | None:
        with self._lock:
            if asked in self._kept:
                self._kept.move_to_end(asked)
            return self._kept.get(asked)

    def put(self, asked: Asked, found: T) -> T:
        with self._lock:
            self._kept[asked] = found
            if len(self._kept) > REMEMBERED:
                self._kept.popitem(last=False)
        return found


class QueryCondenser:
    """Makes a message a question that stands alone: the trained model's reading where there is one, the rules' beneath
    it, and a language model's above both where one is given and what it writes can be trusted.

        condensed = await QueryCondenser().condense(message, history, understanding)

    It may be shared by many conversations and threads.
    """

    def __init__(self, rewriter: Rewriter | None = None, timeout: float = 3.0) -> None:
        self._rewriter = rewriter
        self._timeout = timeout
        self._embedded: _Remembered[Condensed] = _Remembered()
        self._replies: _Remembered[str] = _Remembered()

    async def condense(
        self, message: str, history: Sequence[Message], understanding: Understanding, given: str | None = None
    ) -> Condensed:
        """The standalone question. What the caller gives wins; a message that stands alone comes out unchanged."""
        ready = _given_or_alone(message, understanding, given)
        if ready is not None:
            return ready
        asked = _asked(message, history, understanding)
        found = self._embedded.get(asked)
        if found is None:
            found = self._embedded.put(asked, _embedded(asked))
        if self._rewriter is not None and asked.language and asked.said:
            found = await self._rewritten(self._rewriter, asked, found)
        return _with_rest(found, message, understanding)

    async def _rewritten(self, rewriter: Rewriter, asked: Asked, embedded: Condensed) -> Condensed:
        """The language model's question if it passes every gate; else the embedded one, which says what was wrong."""
        reply = self._replies.get(asked)
        if reply is None:
            messages = build_request(_instructions(), asked.message, asked.seen)
            try:
                async with asyncio.timeout(self._timeout):
                    reply = (await rewriter.rewrite(messages, MAX_REPLY_CHARS))[: MAX_REPLY_CHARS + 1]
            except TimeoutError:
                return _refused(embedded, f"it took longer than {self._timeout:g} seconds")
            except TurnwiseError as error:
                return _refused(embedded, str(error))
            except Exception:
                log.exception("%s broke while rewriting", rewriter.name)
                return _refused(embedded, "it broke")
            self._replies.put(asked, reply)
        question = clean_reply(reply)
        if wrong := fault(asked.message, asked.seen, question, asked.language):
            return _refused(embedded, wrong, reply)
        own = {stem(word) for word in words(asked.message)}
        added = tuple(Term(word, REWRITTEN) for word in dict.fromkeys(content_words(question)) if stem(word) not in own)
        return Condensed(question, added, "llm", f"{asked.why}; {rewriter.name} rewrote it")


def condense(
    message: str, history: Sequence[Message], understanding: Understanding, given: str | None = None
) -> Condensed:
    """The same without a language model and without a memory, for plain code."""
    ready = _given_or_alone(message, understanding, given)
    if ready is not None:
        return ready
    return _with_rest(_embedded(_asked(message, history, understanding)), message, understanding)


def search_query(
    message: str,
    history: Sequence[Message],
    understanding: Understanding,
    condensed: Condensed,
    settings: Settings,
    where: Filter = EVERYTHING,
) -> SearchQuery:
    """What is searched: the literal message, the added words at less weight, the condensed question as a vector, and,
    the more the message leans on the conversation, all that the user asked of late; in the documents of `where`."""
    if condensed.method == "caller":
        return SearchQuery(condensed.query, where=where)
    added = tuple(Term(term.text, min(1.0, term.weight * settings.added_weight)) for term in condensed.added)
    said = [each.content for each in history[-RECENT:] if each.role == "user" and asks_documents(each.content)]
    asked = [text[:LONGEST_ASKED] for text in said[-MOST_ASKED:]]
    leaning = (understanding.follow_up.confidence - TALK_FROM) / (TALK_FULLY - TALK_FROM)
    weight = settings.talk_weight * min(1.0, max(TALK_LEAST, leaning)) if understanding.intent != "clarify" else 0.0
    question = _question(message, understanding)
    talk = " ".join([*asked, question]) if asked else ""
    return SearchQuery(question, added, condensed.query, talk, weight, where)


def _given_or_alone(message: str, understanding: Understanding, given: str | None) -> Condensed | None:
    if given is not None and given.strip():
        return Condensed(given.strip(), (), "caller", "the caller gave the query")
    leaning = understanding.intent in LEANING
    first, *rest = pieces = _pieces(message, understanding)
    if rest and opens_subject(first) and ((whole := complete_questions(pieces)) != pieces or leaning):
        return Condensed(
            join_questions(whole), (), "rules", "its first question stands by itself, and those after it lean on that"
        )
    if leaning:
        return None
    return Condensed(_question(message, understanding), (), "literal", understanding.follow_up.reason)


def _pieces(message: str, understanding: Understanding) -> tuple[str, ...]:
    """The questions of a message as they are written. Where there are several, only the first leans on what was said
    before; the others lean on those before them."""
    question = _question(message, understanding)
    english = understanding.intent in ("new_question", "follow_up") and understanding.language == "en"
    if not english:
        return (question,)
    asked, said = split_questions(question), tuple(sentences(question))
    return said if len(asked) == 1 < len(said) and only_names(said[0]) else asked


def _with_rest(first: Condensed, message: str, understanding: Understanding) -> Condensed:
    """The first question of a message condensed, with the others that it asks."""
    rest = _pieces(message, understanding)[1:]
    if not rest:
        return first
    readings = (first.query, *first.candidates)
    query, *candidates = (join_questions(complete_questions((each, *rest))) for each in readings)
    return replace(first, query=query, candidates=tuple(candidates))


def _question(message: str, understanding: Understanding) -> str:
    """What is asked in a message, without the courtesy or the chatter before it."""
    return without_courtesy(message) if understanding.intent in ("new_question", "follow_up") else message


def _asked(message: str, history: Sequence[Message], understanding: Understanding) -> Asked:
    seen = understanding.seen or window(message, history)
    said = tuple((each.role, each.content[:MAX_MESSAGE_CHARS]) for each in seen)
    follow_up, prediction = understanding.follow_up, understanding.prediction
    first, *rest = _pieces(message, understanding)
    if rest and prediction:
        prediction = replace(prediction, edit=None)  # a place in the whole message
    return Asked(
        first,
        said,
        understanding.intent,
        follow_up.confidence,
        follow_up.reason,
        understanding.language,
        prediction,
    )


def _embedded(asked: Asked) -> Condensed:
    """The rules' reading, or the trained model's where it has read the message."""
    message, seen = asked.message, asked.seen
    follow_up = FollowUp(True, "pattern", asked.confidence, "", (), asked.why)
    if asked.intent != "follow_up" and (found := _of_earlier(asked, seen, follow_up)):
        return found
    if not asked.language:
        return Condensed(message, (), "literal", "its language is not known, so nothing is added")
    if asked.language != "en":
        return by_last_question(message, seen, asked.language)
    ruled = partial(by_rules, message, seen, follow_up)
    return by_model(message, seen, asked.prediction, follow_up, ruled) if asked.prediction else ruled()


def _of_earlier(asked: Asked, seen: Sequence[Message], follow_up: FollowUp) -> Condensed | None:
    """The question that a correction means, or the one about what a message goes back to."""
    reading = read_intent(asked.message, asked.language)
    if reading.intent != asked.intent:
        return None
    if asked.intent == "clarify":
        return corrected_question(asked.message, reading, seen, follow_up)
    return returning_question(reading, seen)


def _refused(embedded: Condensed, why: str, reply: str = "") -> Condensed:
    reason = f"{embedded.reason}; the language model’s rewrite was not taken: {why}"
    return replace(embedded, reason=reason, refused=one_line(reply, 120))


@lru_cache(maxsize=1)
def _instructions() -> str:
    return (Path(__file__).parent / "prompts" / "condense.txt").read_text(encoding="utf-8").strip()
