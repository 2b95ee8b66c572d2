"""Plan: what the turn does. Search, once or for each side of a comparison; re-form the last answer; or just speak."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.dialogue.earlier import mentions, sentences_about
from turnwise.dialogue.intent import is_courtesy, read_intent
from turnwise.dialogue.language import says
from turnwise.text import one_line
from turnwise.types import Condensed, Filter, Message, QueryPlan, SearchQuery, Step, Understanding

LOOKED_AT = 1000  # messages of the user that are read again for courtesies, the latest
LISTED = 30  # questions that a memory of all lists at most

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


def plan(
    message: str, history: Sequence[Message], understanding: Understanding, condensed: Condensed, query: SearchQuery
) -> QueryPlan:
    """The steps of this turn."""
    language, operation = understanding.language, understanding.operation
    if condensed.method == "caller":
        return _searches(message, condensed, query)
    match understanding.intent:
        case "social":
            return _say(message, says(language, operation), "a courtesy needs no search")
        case "recall":
            return _recall(message, operation, read_intent(message, language).about, history, language, query.where)
        case "reform" if not any(each.role == "assistant" and each.content.strip() for each in history):
            return _say(message, says(language, "nothing_to_reform"), "nothing was said")
        case "reform":
            return QueryPlan("", message, (Step("reform", operation),), "the last answer holds all that is needed")
        case "arithmetic" if operation == "plain numbers":
            return _say(message, says(language, "arithmetic"), "a sum needs a calculator, and there is none")
        case _:
            return _searches(message, condensed, query)


def _say(message: str, words: str, reason: str) -> QueryPlan:
    return QueryPlan("", message, (Step("say", words),), reason)


def _searches(message: str, condensed: Condensed, query: SearchQuery) -> QueryPlan:
    sides = _sides(condensed.query)
    steps = [Step("rag", condensed.query, query)]
    steps += [Step("rag", side, SearchQuery(side, where=query.where), "side") for side in sides]
    readings = condensed.candidates
    steps += [Step("rag", other, SearchQuery(other, where=query.where), "reading") for other in readings]
    steps.append(Step("answer", after=tuple(range(len(steps)))))
    reasons = [f"a comparison: also one search each for “{'” and “'.join(sides)}”"] if sides else []
    if condensed.candidates:
        reasons.append(f"it has other readings: also searched as “{'” and “'.join(condensed.candidates)}”")
    return QueryPlan("", message, tuple(steps), "; ".join(reasons) or "one search answers it")


def _sides(question: str) -> tuple[str, ...]:
    for pattern in _COMPARISONS:
        found = pattern.search(question)
        if found:
            return found[1].strip(), found[2].strip()
    return ()


# --- memories -----------------------------------------------------------------------------------------------------


def _recall(
    message: str, which: str, about: str, history: Sequence[Message], language: str, where: Filter
) -> QueryPlan:
    """What was asked or said, in the words it was said with. What was never said is looked for in the library."""
    remembered = "the conversation itself answers"
    said_by_user = [each.content for each in history if each.role == "user"]
    old, recent = said_by_user[:-LOOKED_AT], said_by_user[-LOOKED_AT:]  # of a very long talk not all is read again
    asked = [*old, *(text for text in recent if not is_courtesy(text))]
    if which == "said":
        said = sentences_about(about, history)
        if not said:
            steps = (Step("rag", about, SearchQuery(about, where=where)), Step("answer", after=(0,)))
            return QueryPlan("", message, steps, f"nothing was said about “{about}” yet, so it is searched")
        return _say(message, _listed(says(language, "said", about=about), said, "- "), remembered)
    if not asked:
        return _say(message, says(language, "nothing_asked"), remembered)
    if which == "asked":
        found = [history[place].content for place in mentions(about, history, "user")]
        if not found:
            return _say(message, says(language, "not_asked", about=about), remembered)
        return _say(message, _listed(says(language, "asked", about=about), found[-LISTED:], "- "), remembered)
    if which in ("first", "last"):
        return _say(
            message, says(language, which, text=one_line(asked[0 if which == "first" else -1], 300)), remembered
        )
    before = len(asked) - LISTED
    opening = says(language, "all") + (" " + says(language, "earlier", count=str(before)) if before > 0 else "")
    return _say(message, _listed(opening, asked[-LISTED:], "", max(0, before) + 1), remembered)


def _listed(opening: str, items: Sequence[str], bullet: str, number: int = 1) -> str:
    lines = (f"{bullet or f'{place}. '}{one_line(item, 300)}" for place, item in enumerate(items, number))
    return opening + "\n\n" + "\n".join(lines)
