"""Plan: what the turn does. Search, once or for each side of a comparison; re-form the last answer; or just speak."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.text import one_line
from turnwise.types import Condensed, Message, Plan, SearchQuery, Step, Understanding

READING = "another reading"  # of an ambiguous message: searched, and not a side of a comparison
_SIDE = r"([^,.?!]{2,60}?)"
_COMPARISONS = (
    re.compile(rf"\bbetween {_SIDE} and {_SIDE}\s*(?:[,.?!(]|$)", re.I),
    re.compile(rf"\bcompare[ds]? {_SIDE} (?:and|with|to|against) {_SIDE}\s*(?:[,.?!(]|$)", re.I),
    re.compile(
        rf"\b(?:does|do|is|are|did) {_SIDE} (?:compare[ds]?|differ(?:ent)?) (?:to|with|from) {_SIDE}\s*(?:[,.?!(]|$)",
        re.I,
    ),
    re.compile(
        rf"\b(?:do|does|are|is) {_SIDE} and {_SIDE} (?:differ|compare|relate|overlap|similar|connected|have)", re.I
    ),
    re.compile(rf"^(?:how (?:do|does|are) )?{_SIDE} (?:vs\.?|versus) {_SIDE}\s*(?:[,.?!(]|$)", re.I),
)
_GREETINGS = {
    "thanks": "You’re welcome. Ask on whenever you like.",
    "hello": "Hello. Ask me anything about the documents in this library.",
    "goodbye": "Goodbye. This conversation stays here for when you come back.",
    "acknowledged": "Good. What would you like to know next?",
}


def plan(history: Sequence[Message], understanding: Understanding, condensed: Condensed, query: SearchQuery) -> Plan:
    """The steps of this turn, in order. Steps of one plan do not depend on each other."""
    if condensed.method == "caller":
        return _searches(condensed, query)
    if understanding.intent == "social":
        return Plan((Step("say", detail=_GREETINGS[understanding.operation]),), "a courtesy needs no search")
    if understanding.intent == "recall":
        return Plan(
            (Step("say", detail=_recalled(understanding.operation, history)),), "the conversation itself answers"
        )
    if understanding.intent == "reform":
        if not any(each.role == "assistant" and each.content.strip() for each in history):
            return Plan(
                (Step("say", detail="There is no answer to re-form yet. Ask something first."),), "nothing was said"
            )
        return Plan((Step("reform", detail=understanding.operation),), "the last answer holds all that is needed")
    return _searches(condensed, query)


def _searches(condensed: Condensed, query: SearchQuery) -> Plan:
    sides = _sides(condensed.query)
    steps = (Step("search", query), *(Step("search", SearchQuery(side)) for side in sides))
    steps += tuple(Step("search", SearchQuery(other), detail=READING) for other in condensed.candidates)
    reasons = [f"a comparison: also one search each for “{'” and “'.join(sides)}”"] if sides else []
    if condensed.candidates:
        reasons.append(f"it has other readings: also searched as “{'” and “'.join(condensed.candidates)}”")
    return Plan(steps, "; ".join(reasons) or "one search answers it")


def _sides(question: str) -> tuple[str, ...]:
    for pattern in _COMPARISONS:
        found = pattern.search(question)
        if found:
            return found[1].strip(), found[2].strip()
    return ()


def _recalled(which: str, history: Sequence[Message]) -> str:
    asked = [one_line(each.content, 300) for each in history if each.role == "user"]
    if not asked:
        return "You have not asked anything yet; this is the beginning of our conversation."
    if which == "first":
        return f"Your first question was: “{asked[0]}”"
    if which == "last":
        return f"Your last question was: “{asked[-1]}”"
    return "So far you asked:\n\n" + "\n".join(f"{number}. {text}" for number, text in enumerate(asked, 1))
