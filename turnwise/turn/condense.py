"""Condense: the message as a question that stands alone, made only of words that were said."""

from __future__ import annotations

from collections.abc import Sequence

from turnwise.dialogue.earlier import asked_again, returned_to
from turnwise.dialogue.intent import read_intent
from turnwise.dialogue.rules import by_rules
from turnwise.types import Condensed, Message, SearchQuery, Term, Understanding


def condense(
    message: str, history: Sequence[Message], understanding: Understanding, given: str | None = None
) -> Condensed:
    """The standalone question. What the caller gives wins; a message that stands alone comes out unchanged."""
    if given is not None and given.strip():
        return Condensed(given.strip(), (), "caller", "the caller gave the query")
    reading = read_intent(message, understanding.language)
    if understanding.intent == "clarify" and (again := asked_again(reading, history, understanding.follow_up)):
        return again
    if understanding.intent == "refer_back" and (back := returned_to(reading, history, understanding.follow_up)):
        return back
    if understanding.intent not in ("follow_up", "clarify", "refer_back"):
        return Condensed(message, (), "literal", understanding.follow_up.reason)
    return by_rules(message, history, understanding.follow_up)


def search_query(message: str, condensed: Condensed, added_weight: float) -> SearchQuery:
    """What is searched: the literal message, the added words at less weight, and the condensed question as a vector."""
    if condensed.method == "caller":
        return SearchQuery(condensed.query)
    added = tuple(Term(term.text, min(1.0, term.weight * added_weight)) for term in condensed.added)
    return SearchQuery(message, added, condensed.query)
