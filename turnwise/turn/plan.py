"""Plan: what the turn does. Search, once or for each question; call tools; give the last answer another form; or just
reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from turnwise.dialogue.citing import just_abstained
from turnwise.dialogue.earlier import mentions, sentences_about
from turnwise.dialogue.intent import is_answerable, is_courtesy, objection, read_intent
from turnwise.dialogue.language import read_languages, says
from turnwise.dialogue.listed import place_of
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

MAX_MESSAGES_READ = 1000  # only the latest messages of the user are read again to leave out what asks nothing
MAX_QUESTIONS = 6  # of a message; later ones are not answered
MAX_LISTED = 30  # questions in a list of all that the user asked
TOOL_FOR_INTENT = {"arithmetic": "calculator", "data": "database"}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a message means: its place in the conversation, the standalone question, and the search query."""

    understood: Understanding
    condensed: Condensed
    search: SearchQuery


def plan_without_search(message: str, history: Sequence[Message], meaning: Meaning) -> QueryPlan | None:
    """The plan for a message that the conversation itself answers, or that needs no answer; None for any other."""
    understood = meaning.understood
    language, operation = understood.language, understood.operation
    if meaning.condensed.method == "caller":
        return None
    match understood.intent:
        case "social":
            unknown = operation == "sure" and just_abstained(history)
            return _say(message, says(language, "sure_unknown" if unknown else operation), "a courtesy needs no search")
        case "recall":
            about = read_intent(message, language).about
            return _recall(message, operation, about, history, language, meaning.search.where)
        case "reform" if not any(each.role == "assistant" and each.content.strip() for each in history):
            reply = "no_quiz" if operation == "quiz" else "nothing_to_reform"
            return _say(message, says(language, reply), "nothing was said yet")
        case "reform":
            return QueryPlan("", message, (Step("reform", operation),), "the last answer has all that is needed")
        case _:
            return None


def plan_without_calculator(message: str, meaning: Meaning) -> QueryPlan:
    """The plan for a sum if there is no tool to calculate it."""
    words = says(meaning.understood.language, "arithmetic")
    return _say(message, words, "a sum needs a calculator, and there is none")


def _say(message: str, words: str, reason: str) -> QueryPlan:
    return QueryPlan("", message, (Step("say", words),), reason)


# --- what is asked ------------------------------------------------------------------------------------------------


def questions_to_answer(meaning: Meaning) -> tuple[str, ...]:
    """The questions of a message that are answered; each stands alone."""
    return _all_questions(meaning)[:MAX_QUESTIONS]


def unanswered_notice(meaning: Meaning, plan: QueryPlan) -> str:
    """What the user should know about questions that the plan has no steps for."""
    count = len(_all_questions(meaning))
    parts = [step for step in plan.steps if step.tool != "answer" and not step.role]
    if count <= MAX_QUESTIONS or len(parts) < MAX_QUESTIONS:
        return ""
    return f"Only the first {MAX_QUESTIONS} of {count} questions were answered."


def _all_questions(meaning: Meaning) -> tuple[str, ...]:
    condensed = meaning.condensed
    if condensed.method == "caller":
        return (condensed.query,)
    return questions(condensed.query, meaning.understood.language)


def analyze_form(message: str, meaning: Meaning, parts: Sequence[str], steps: Sequence[Step]) -> QueryAnalysis:
    """What the form of a message tells. `steps` are those of its parts; the sides of a comparison and the other
    readings of the message are searched for as well."""
    compared = next((both for part in parts if (both := compared_sides(part))), ())
    readings = meaning.condensed.candidates if len(parts) == 1 else ()
    unanswered = max(0, len(_all_questions(meaning)) - MAX_QUESTIONS)
    only_first = f", of which the first {len(parts)} are answered" if unanswered else ""
    reasons = [f"it asks {len(parts) + unanswered} things{only_first}"] if len(parts) > 1 else []
    reasons += [f"the {step.tool} takes “{one_line(step.input)}”" for step in steps if step.tool != "rag"]
    if compared:
        reasons.append(f"a comparison: also one search each for “{'” and “'.join(compared)}”")
    if readings:
        reasons.append(f"it has other readings: also searched as “{'” and “'.join(readings)}”")
    all_steps = [*steps, *(Step("rag", side, role="side") for side in compared)]
    all_steps += [Step("rag", reading, role="reading") for reading in readings]
    as_written = (message,) if len(parts) == 1 else parts
    tools = (_tool_needed(part, step, meaning) for part, step in zip(as_written, steps, strict=True))
    return QueryAnalysis(
        "simple" if len(all_steps) == 1 else "complex",
        tuple(dict.fromkeys(tools)),
        (*parts, *compared, *readings),
        "; ".join(reasons) or "one search answers it",
        tuple(all_steps),
    )


def _tool_needed(part: str, step: Step, meaning: Meaning) -> str:
    """The tool that a part calls for, even if it is missing and a search has to do."""
    if step.tool != "rag" or meaning.condensed.method == "caller":
        return step.tool
    return TOOL_FOR_INTENT.get(read_intent(part, meaning.understood.language).intent or "", "rag")


def plan_from(message: str, meaning: Meaning, analysis: QueryAnalysis) -> QueryPlan:
    """The steps of an analysis, each with its full search query, and the answer as the last step."""
    steps = [
        replace(step, query=_search_query(question, step, meaning))  # a tool's is searched if the tool fails
        for question, step in zip(analysis.sub_queries, analysis.steps, strict=True)
    ]
    steps.append(Step("answer", after=tuple(range(len(steps)))))
    return QueryPlan("", message, tuple(steps), analysis.reasoning)


def _search_query(question: str, step: Step, meaning: Meaning) -> SearchQuery:
    """The search for a question: with the help of the conversation if it is the whole message, alone if a part."""
    condensed, search = meaning.condensed, meaning.search
    if question == condensed.query and not step.role:
        return search
    unsure = condensed.method == "literal" and not step.role  # the added words may be meant, but no question has them
    return SearchQuery(question, search.added if unsure else (), where=search.where)


# --- memories -----------------------------------------------------------------------------------------------------


def _recall(
    message: str, which: str, about: str, history: Sequence[Message], language: str, where: Filter
) -> QueryPlan:
    """What was asked or said, word for word. What was never said is searched for in the library."""
    if which == "documents":
        step = Step("library", query=SearchQuery("", where=where))
        return QueryPlan("", message, (step,), "the library itself answers")
    reason = "the conversation itself answers"
    said_by_user = [each.content for each in history if each.role == "user"]
    old, recent = said_by_user[:-MAX_MESSAGES_READ], said_by_user[-MAX_MESSAGES_READ:]
    languages = read_languages(recent)
    asked = [*old, *(text for text, code in zip(recent, languages, strict=True) if is_answerable(text, code))]
    if which == "said":
        said = sentences_about(about, history)
        if not said:
            steps = (Step("rag", about, SearchQuery(about, where=where)), Step("answer", after=(0,)))
            return QueryPlan("", message, steps, f"nothing was said about “{about}” yet, so it is searched")
        return _say(message, _as_list(says(language, "said", about=about), said, "- "), reason)
    if not asked:
        return _say(message, says(language, "nothing_asked"), reason)
    if which == "asked":
        matches = [history[place].content for place in mentions(about, history, "user")]
        if not matches:
            return _say(message, says(language, "not_asked", about=about), reason)
        return _say(message, _as_list(says(language, "asked", about=about), matches[-MAX_LISTED:], "- "), reason)
    if which in ("first", "last"):
        text = asked[0] if which == "first" else _last_question(recent, languages)
        return _say(message, says(language, which, text=one_line(text, 300)), reason)
    opening = "all"
    if which in ("numbered", "before"):
        number = place_of(about, language) if which == "numbered" else len(asked) - 1
        if 0 < number <= len(asked):
            text = one_line(asked[number - 1], 300)
            return _say(message, says(language, which, number=str(number), text=text), reason)
        opening = "fewer"
    unlisted = len(asked) - MAX_LISTED
    words = says(language, opening) + (" " + says(language, "earlier", count=str(unlisted)) if unlisted > 0 else "")
    return _say(message, _as_list(words, asked[-MAX_LISTED:], "", max(0, unlisted) + 1), reason)


def _last_question(messages: Sequence[str], languages: Sequence[str]) -> str:
    """The last message that asks for something, which may be a question about the conversation itself."""
    newest_first = reversed(list(zip(messages, languages, strict=True)))
    asking = (text for text, code in newest_first if not is_courtesy(text) and not objection(text, code))
    return next(asking, messages[-1])


def _as_list(opening: str, items: Sequence[str], bullet: str, number: int = 1) -> str:
    """A list with this bullet, or numbered from `number` if it is empty."""
    lines = (f"{bullet or f'{place}. '}{one_line(item, 300)}" for place, item in enumerate(items, number))
    return opening + "\n\n" + "\n".join(lines)
