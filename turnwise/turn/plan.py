"""Plan: what the turn does. Search, once or for each thing that is asked; call tools; re-form the last answer; or just
speak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from turnwise.dialogue.earlier import mentions, sentences_about
from turnwise.dialogue.intent import is_courtesy, read_intent
from turnwise.dialogue.language import says
from turnwise.dialogue.questions import compared_sides, questions
from turnwise.text import one_line
from turnwise.types import (
    Condensed,
    Filter,
    Message,
    QueryAnalysis,
    QueryPlan,
    SearchQuery,
    Step,
    Understanding,
)

LOOKED_AT = 1000  # messages of the user that are read again for courtesies, the latest
MOST = 6  # questions of a message that are answered, the first
LISTED = 30  # questions that a memory of all lists at most
NEEDED = {"arithmetic": "calculator", "data": "database"}  # the tools that an intent asks for


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a message means: what it is to the conversation, the question it stands for, and what is searched."""

    understood: Understanding
    condensed: Condensed
    search: SearchQuery


def without_search(message: str, history: Sequence[Message], meaning: Meaning) -> QueryPlan | None:
    """The plan of a message that the conversation itself answers, or that needs no answer; None for any other."""
    understood = meaning.understood
    language, operation = understood.language, understood.operation
    if meaning.condensed.method == "caller":
        return None
    match understood.intent:
        case "social":
            return _say(message, says(language, operation), "a courtesy needs no search")
        case "recall":
            about = read_intent(message, language).about
            return _recall(message, operation, about, history, language, meaning.search.where)
        case "reform" if not any(each.role == "assistant" and each.content.strip() for each in history):
            return _say(message, says(language, "nothing_to_reform"), "nothing was said")
        case "reform":
            return QueryPlan("", message, (Step("reform", operation),), "the last answer holds all that is needed")
        case _:
            return None


def without_calculator(message: str, meaning: Meaning) -> QueryPlan:
    """The plan of a sum where no tool works sums out."""
    words = says(meaning.understood.language, "arithmetic")
    return _say(message, words, "a sum needs a calculator, and there is none")


def _say(message: str, words: str, reason: str) -> QueryPlan:
    return QueryPlan("", message, (Step("say", words),), reason)


# --- what is asked ------------------------------------------------------------------------------------------------


def asks(meaning: Meaning) -> tuple[str, ...]:
    """The questions of a message that are answered, each of which stands alone."""
    return _every(meaning)[:MOST]


def left_out(meaning: Meaning, plan: QueryPlan) -> str:
    """What a reader should know of the questions of a message that a plan has no steps for."""
    every = len(_every(meaning))
    parts = [step for step in plan.steps if step.tool != "answer" and not step.role]
    return f"Only the first {MOST} of {every} questions were answered." if every > MOST <= len(parts) else ""


def _every(meaning: Meaning) -> tuple[str, ...]:
    condensed = meaning.condensed
    if condensed.method == "caller":
        return (condensed.query,)
    return questions(condensed.query, meaning.understood.language)


def by_form(message: str, meaning: Meaning, parts: Sequence[str], steps: Sequence[Step]) -> QueryAnalysis:
    """What the form of a message tells. `steps` are those of its parts; the sides of a comparison and the other
    readings of a message are searched besides."""
    compared = next((found for part in parts if (found := compared_sides(part))), ())
    readings = meaning.condensed.candidates if len(parts) == 1 else ()
    more = max(0, len(_every(meaning)) - MOST)
    left = f", of which the first {len(parts)} are answered" if more else ""
    reasons = [f"it asks {len(parts) + more} things{left}"] if len(parts) > 1 else []
    reasons += [f"the {step.tool} takes “{one_line(step.input)}”" for step in steps if step.tool != "rag"]
    if compared:
        reasons.append(f"a comparison: also one search each for “{'” and “'.join(compared)}”")
    if readings:
        reasons.append(f"it has other readings: also searched as “{'” and “'.join(readings)}”")
    every = [*steps, *(Step("rag", side, role="side") for side in compared)]
    every += [Step("rag", reading, role="reading") for reading in readings]
    written = (message,) if len(parts) == 1 else parts
    tools = (_needed(part, step, meaning) for part, step in zip(written, steps, strict=True))
    return QueryAnalysis(
        "simple" if len(every) == 1 else "complex",
        tuple(dict.fromkeys(tools)),
        (*parts, *compared, *readings),
        "; ".join(reasons) or "one search answers it",
        tuple(every),
    )


def _needed(part: str, step: Step, meaning: Meaning) -> str:
    """The tool that a part takes, also where it is not there and a search has to do."""
    if step.tool != "rag" or meaning.condensed.method == "caller":
        return step.tool
    return NEEDED.get(read_intent(part, meaning.understood.language).intent or "", "rag")


def with_answer(message: str, meaning: Meaning, found: QueryAnalysis) -> QueryPlan:
    """The steps of an analysis, each search with all that is known of what to look for, and last the answer."""
    steps = [
        replace(step, query=_search(question, step, meaning))  # of a tool: what is searched where it fails
        for question, step in zip(found.sub_queries, found.steps, strict=True)
    ]
    steps.append(Step("answer", after=tuple(range(len(steps)))))
    return QueryPlan("", message, tuple(steps), found.reasoning)


def _search(question: str, step: Step, meaning: Meaning) -> SearchQuery:
    """What a search looks for: where it asks all that the message asks, the conversation helps; a part stands alone."""
    condensed, search = meaning.condensed, meaning.search
    if question == condensed.query and not step.role:
        return search
    unsure = condensed.method == "literal" and not step.role  # words that may be meant, and are in no question
    return SearchQuery(question, search.added if unsure else (), where=search.where)


# --- memories -----------------------------------------------------------------------------------------------------


def _recall(
    message: str, which: str, about: str, history: Sequence[Message], language: str, where: Filter
) -> QueryPlan:
    """What was asked or said, in the words it was said with. What was never said is looked for in the library."""
    if which == "documents":
        step = Step("library", query=SearchQuery("", where=where))
        return QueryPlan("", message, (step,), "the library itself answers")
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
