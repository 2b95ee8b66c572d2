"""Condense: turn the message into a standalone question, using only words that were said."""

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
from turnwise.text import content_words, one_line, sentences, stem, word_stems
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
DEPENDENT_INTENTS: frozenset[Intent] = frozenset({"follow_up", "clarify", "refer_back"})
REWRITTEN_WEIGHT = 0.8  # of a word that a language model added
CACHE_SIZE = 256  # condensed messages
# The surer a follow-up is, the more earlier questions count in the search: from the first confidence to the second, the
# share of their full weight rises from 0 to 1, but it is never below the minimum.
TALK_LOW_CONFIDENCE, TALK_FULL_CONFIDENCE, TALK_MIN_SHARE = 0.1, 0.4, 0.4
RECENT_MESSAGES = 20  # in which earlier questions are looked for
MAX_EARLIER_QUESTIONS = 8
MAX_EARLIER_QUESTION_CHARS = 200


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Everything that condensing a message depends on: equal inputs have equal results."""

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


class _Cache(Generic[T]):
    """The results for the last messages that were condensed; the least recently used is dropped first."""

    def __init__(self) -> None:
        self._results: OrderedDict[_Inputs, T] = OrderedDict()
        self._lock = Lock()

    def get(self, asked: _Inputs) -> T | None:
        with self._lock:
            if asked in self._results:
                self._results.move_to_end(asked)
            return self._results.get(asked)

    def put(self, asked: _Inputs, result: T) -> T:
        with self._lock:
            self._results[asked] = result
            if len(self._results) > CACHE_SIZE:
                self._results.popitem(last=False)
        return result


class QueryCondenser:
    """Turns a message into a standalone question: with the language model if there is one and its question passes the
    checks, otherwise with the small trained model, otherwise with the rules.

        condensed = await QueryCondenser().condense(message, history, understanding)

    One condenser can be shared by many conversations and threads.
    """

    def __init__(self, rewriter: Rewriter | None = None, timeout: float = 3.0) -> None:
        self._rewriter = rewriter
        self._timeout = timeout
        self._local: _Cache[Condensed] = _Cache()
        self._replies: _Cache[str] = _Cache()

    async def condense(
        self, message: str, history: Sequence[Message], understanding: Understanding, given: str | None = None
    ) -> Condensed:
        """The standalone question. A query that is given wins; a message that stands alone is returned unchanged."""
        ready = _given_or_standalone(message, understanding, given)
        if ready is not None:
            return ready
        asked = _inputs(message, history, understanding)
        condensed = self._local.get(asked)
        if condensed is None:
            condensed = self._local.put(asked, _condense_locally(asked))
        if self._rewriter is not None and asked.language and asked.said:
            condensed = await self._rewrite(self._rewriter, asked, condensed)
        return _with_other_questions(condensed, message, understanding)

    async def _rewrite(self, rewriter: Rewriter, asked: _Inputs, local: Condensed) -> Condensed:
        """The language model's question if it passes every check; otherwise the local one, with the reason."""
        reply = self._replies.get(asked)
        if reply is None:
            messages = build_request(_instructions(), asked.message, asked.seen)
            try:
                async with asyncio.timeout(self._timeout):
                    reply = (await rewriter.rewrite(messages, MAX_REPLY_CHARS))[: MAX_REPLY_CHARS + 1]
            except TimeoutError:
                return _with_refusal(local, f"it took longer than {self._timeout:g} seconds")
            except TurnwiseError as error:
                return _with_refusal(local, str(error))
            except Exception:
                log.exception("%s broke while rewriting", rewriter.name)
                return _with_refusal(local, "it broke")
            self._replies.put(asked, reply)
        question = clean_reply(reply)
        if wrong := fault(asked.message, asked.seen, question, asked.language):
            return _with_refusal(local, wrong, reply)
        own = word_stems(asked.message)
        new = (word for word in dict.fromkeys(content_words(question)) if stem(word) not in own)
        added = tuple(Term(word, REWRITTEN_WEIGHT) for word in new)
        return Condensed(question, added, "llm", f"{asked.why}; {rewriter.name} rewrote it")


def condense(
    message: str, history: Sequence[Message], understanding: Understanding, given: str | None = None
) -> Condensed:
    """The standalone question without a language model, a cache or async code."""
    ready = _given_or_standalone(message, understanding, given)
    if ready is not None:
        return ready
    condensed = _condense_locally(_inputs(message, history, understanding))
    return _with_other_questions(condensed, message, understanding)


def search_query(
    message: str,
    history: Sequence[Message],
    understanding: Understanding,
    condensed: Condensed,
    settings: Settings,
    where: Filter = EVERYTHING,
) -> SearchQuery:
    """What is searched for: the literal message, the added words at less weight, the condensed question as a vector,
    and the user's recent questions, which count more the surer a follow-up is; in the documents of `where`."""
    if condensed.method == "caller":
        return SearchQuery(condensed.query, where=where)
    added = tuple(Term(term.text, min(1.0, term.weight * settings.added_weight)) for term in condensed.added)
    recent = [each.content for each in history[-RECENT_MESSAGES:] if each.role == "user"]
    asked = [text for text in recent if asks_documents(text, understanding.language)][-MAX_EARLIER_QUESTIONS:]
    sureness = understanding.follow_up.confidence - TALK_LOW_CONFIDENCE
    share = min(1.0, max(TALK_MIN_SHARE, sureness / (TALK_FULL_CONFIDENCE - TALK_LOW_CONFIDENCE)))
    weight = settings.talk_weight * share if understanding.intent != "clarify" else 0.0
    question = _without_chatter(message, understanding)
    talk = " ".join([*(text[:MAX_EARLIER_QUESTION_CHARS] for text in asked), question]) if asked else ""
    return SearchQuery(question, added, condensed.query, talk, weight, where)


def _given_or_standalone(message: str, understanding: Understanding, given: str | None) -> Condensed | None:
    """The query from the caller, or the message if it stands alone; None if it needs the conversation."""
    if given is not None and given.strip():
        return Condensed(given.strip(), (), "caller", "the caller gave the query")
    depends = understanding.intent in DEPENDENT_INTENTS
    first, *rest = questions = _questions_in(message, understanding)
    if rest and opens_subject(first) and ((whole := complete_questions(questions)) != questions or depends):
        reason = "its first question stands alone, and the others refer to it"
        return Condensed(join_questions(whole), (), "rules", reason)
    if depends:
        return None
    return Condensed(_without_chatter(message, understanding), (), "literal", understanding.follow_up.reason)


def _questions_in(message: str, understanding: Understanding) -> tuple[str, ...]:
    """The questions of a message as they are written. If there are several, only the first can refer to what was said
    before; the others refer to those before them."""
    question = _without_chatter(message, understanding)
    english = understanding.intent in ("new_question", "follow_up") and understanding.language == "en"
    if not english:
        return (question,)
    asked, said = split_questions(question), tuple(sentences(question))
    return said if len(asked) == 1 < len(said) and only_names(said[0]) else asked


def _with_other_questions(first: Condensed, message: str, understanding: Understanding) -> Condensed:
    """The condensed first question of a message, together with its other questions."""
    rest = _questions_in(message, understanding)[1:]
    if not rest:
        return first
    readings = (first.query, *first.candidates)
    query, *candidates = (join_questions(complete_questions((each, *rest))) for each in readings)
    return replace(first, query=query, candidates=tuple(candidates))


def _without_chatter(message: str, understanding: Understanding) -> str:
    """What a message asks, without courtesies or chatter before it."""
    return without_courtesy(message) if understanding.intent in ("new_question", "follow_up") else message


def _inputs(message: str, history: Sequence[Message], understanding: Understanding) -> _Inputs:
    seen = understanding.seen or window(message, history)
    said = tuple((each.role, each.content[:MAX_MESSAGE_CHARS]) for each in seen)
    follow_up, prediction = understanding.follow_up, understanding.prediction
    first, *rest = _questions_in(message, understanding)
    if rest and prediction:
        prediction = replace(prediction, edit=None)  # its positions refer to the whole message
    return _Inputs(
        first,
        said,
        understanding.intent,
        follow_up.confidence,
        follow_up.reason,
        understanding.language,
        prediction,
    )


def _condense_locally(asked: _Inputs) -> Condensed:
    """The question by the small trained model if it has read the message, otherwise by the rules."""
    message, seen = asked.message, asked.seen
    follow_up = FollowUp(True, "pattern", asked.confidence, "", (), asked.why)
    if asked.intent != "follow_up" and (found := _from_earlier(asked, seen, follow_up)):
        return found
    if not asked.language:
        return Condensed(message, (), "literal", "its language is not known, so nothing is added")
    if asked.language != "en":
        return by_last_question(message, seen, asked.language)
    with_rules = partial(by_rules, message, seen, follow_up)
    return by_model(message, seen, asked.prediction, follow_up, with_rules) if asked.prediction else with_rules()


def _from_earlier(asked: _Inputs, seen: Sequence[Message], follow_up: FollowUp) -> Condensed | None:
    """The earlier question that a correction means, or a question about what the message goes back to."""
    reading = read_intent(asked.message, asked.language)
    if reading.intent != asked.intent:
        return None
    if asked.intent == "clarify":
        return corrected_question(asked.message, reading, seen, follow_up)
    return returning_question(reading, seen)


def _with_refusal(local: Condensed, why: str, reply: str = "") -> Condensed:
    reason = f"{local.reason}; the language model’s rewrite was refused: {why}"
    return replace(local, reason=reason, refused=one_line(reply, 120))


@lru_cache(maxsize=1)
def _instructions() -> str:
    return (Path(__file__).parent / "prompts" / "condense.txt").read_text(encoding="utf-8").strip()
