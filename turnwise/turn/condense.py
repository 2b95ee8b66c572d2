"""Condense: the message as a question that stands alone, made only of words that were said."""

from __future__ import annotations

from collections.abc import Sequence

from turnwise.dialogue.earlier import asked_again, returned_to
from turnwise.dialogue.intent import read_intent
from turnwise.dialogue.rules import by_rules
from turnwise.types import Condensed, FollowUp, Message, SearchQuery, Term, Understanding


def condense(
    message: str, history: Sequence[Message], understanding: Understanding, given: str | None = None
) -> Condensed:
    """The standalone question. What the caller gives wins; a message that stands alone comes out unchanged."""
    if given is not None and given.strip():
        return Condensed(given.strip(), (), "caller", "the caller gave the query")
    reading = read_intent(message, understanding.language)
    if understanding.intent == "clarify" and (again := asked_again(message, reading, history, understanding.follow_up)):
        return again
    if understanding.intent == "refer_back" and (back := returned_to(reading, history, understanding.follow_up)):
        return back
    if understanding.intent not in ("follow_up", "clarify", "refer_back"):
        return Condensed(message, (), "literal", understanding.follow_up.reason)
    if understanding.language != "en":
        return _unwritten(message, understanding.follow_up)
    return by_rules(message, history, understanding.follow_up)


def _unwritten(message: str, follow_up: FollowUp) -> Condensed:
    """A follow-up in a language that the rules cannot write: as it stands, with what was talked about as words."""
    topic = follow_up.previous_topic
    terms = tuple(Term(word, round(follow_up.confidence, 2)) for word in topic.split())
    reason = f"{follow_up.reason}; it is searched as it stands" + (f", with “{topic}”" if topic else "")
    return Condensed(message, terms, "literal", reason)


def search_query(message: str, condensed: Condensed, added_weight: float) -> SearchQuery:
    """What is searched: the literal message, the added words at less weight, and the condensed question as a vector."""
    if condensed.method == "caller":
        return SearchQuery(condensed.query)
    added = tuple(Term(term.text, min(1.0, term.weight * added_weight)) for term in condensed.added)
    return SearchQuery(message, added, condensed.query)
