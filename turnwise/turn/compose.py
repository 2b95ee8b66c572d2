"""Compose: all that an answerer gets to see. Evidence numbered for the conversation, and the messages for a model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from turnwise.config import Settings
from turnwise.dialogue.citing import Locate, abstains, cited_points, to_source, with_sources
from turnwise.dialogue.intent import read_intent
from turnwise.dialogue.telling import PastTurn, longest_question, transcripts, turns_of
from turnwise.dialogue.tokens import WINDOW, Budget, tokens
from turnwise.text import CITATION
from turnwise.types import (
    ChatModel,
    ConversationState,
    Evidence,
    Hit,
    Image,
    Message,
    Passage,
    Prompt,
    QueryPlan,
    Source,
    Understanding,
)

PROMPTS = Path(__file__).parent / "prompts"
PLAUSIBLE = 5000  # a number above is none that was given in a conversation
LONG = 1000  # characters of an answer after which the next should be shorter
MOST_TOPICS = 8  # topics that the note on the conversation names
SHARE = 4  # one part in so many of the space for messages is the most that the evidence of one turn takes
RECENT = 100  # messages whose answers an answerer is told, so as not to say them again


def compose(
    message: str,
    history: Sequence[Message],
    plan: QueryPlan,
    hits: Sequence[Hit],
    locate: Locate,
    budget: Budget,
    understood: Understanding | None = None,
    images: Sequence[Image] = (),
    typed: str = "",
) -> Prompt:
    """The prompt of this turn. A source that was shown or cited before keeps its number; a new one gets the next. A
    model is told the message as it was `typed`, where that is another."""
    system = Message("system", system_prompt())
    space = budget.room - budget.size([system])
    turns = turns_of(history, locate, space, budget)
    known = tuple(source for turn in turns for source in (*turn.evidence, *turn.sources))
    form = next((step.input for step in plan.steps if step.tool == "reform"), "")
    last = with_sources(found, locate) if form and (found := _last_answer(history)) else None
    evidence = _evidence_of(last) if last else _numbered(hits, known, _highest(history))
    asked = tuple(step.input for step in plan.searched if not step.role) or (message,)
    worked_out = tuple(result.text for result in plan.results if result and result.text)
    state = understood.state if understood else None

    # Nothing before the current question changes from turn to turn, and what goes with it is kept with the turn.
    typed = typed or message
    question = budget.shortened(typed, longest_question(space))
    before, telling = transcripts(turns, question, space, budget)
    silent = any(step.tool in ("say", "library") for step in plan.steps)  # no model is asked
    note = "" if form or silent else _note(asked, worked_out, state)
    if images and not silent:  # the note is kept with the turn, the images are not
        names = _filled(_context_texts()["images"], {"names": ", ".join(f"[image: {each.name}]" for each in images)})
        note = "\n\n".join(filter(None, (names, note)))
    passages = {each.number: each.passage for each in evidence if each.number not in telling.visible}
    new = tuple(to_source(number, passage, "") for number, passage in passages.items())
    earlier = (system, *telling.messages())
    left = budget.room - budget.size(earlier)
    current = _fitted(PastTurn(question, new, note, opens=not turns), left, space // SHARE, budget)
    messages = (*earlier, *current.asked())
    return Prompt(
        messages=messages,
        question=message,
        asked=asked,
        evidence=evidence,
        known=known,
        shown=current.evidence,
        note=current.note,
        said=(last.content,) if last else tuple(each.content for each in history[-RECENT:] if each.role == "assistant"),
        added=tuple(term for step in plan.searched if step.query and not step.role for term in step.query.added),
        form=form,
        sides=tuple(step.input for step in plan.steps if step.role == "side"),
        found=worked_out,
        state=state,
        language=understood.language if understood else "en",
        images=() if silent else tuple(images),
        details={
            "messages": len(messages),
            "tokens": budget.size(messages),
            "window": budget.window,
            "question_cut": question != typed,
            "snippets_added": len(current.evidence),
            "turns_in_short": telling.short,
            **_reused(messages, (system, *before.messages()), turns[-1] if turns else None, budget),
        },
    )


def sent(history: Sequence[Message], asked: Message, locate: Locate, budget: Budget) -> tuple[Message, ...]:
    """What a model was sent with a message that was kept with what it was shown, after this history."""
    system = Message("system", system_prompt())
    space = budget.room - budget.size([system])
    turns = turns_of(history, locate, space, budget)
    question = budget.shortened(asked.content, longest_question(space))
    _, telling = transcripts(turns, question, space, budget)
    current = PastTurn(question, asked.evidence, asked.note, opens=not turns)
    return (system, *telling.messages(), *current.asked())


def budget_for(model: ChatModel, settings: Settings) -> Budget:
    """What fits the model in use: as it is set, as the model says, else as most models have it."""
    window = settings.context_tokens or getattr(model, "window", 0) or WINDOW
    answer = getattr(model, "max_tokens", 0) or settings.max_tokens
    return Budget(window, answer, settings.history_messages, getattr(model, "count", None) or tokens)


def how_composed(prompt: Prompt) -> str:
    """What a trace says about how the prompt was put together."""
    short = "; what came before was put in short" if prompt.details["compacted"] else ""
    cut = "; the middle of the question was left out" if prompt.details["question_cut"] else ""
    return f"numbered for the whole conversation{short}{cut}"


def readable_by_user(prompt: Prompt) -> str:
    """What is no leak in an answer: what was said, and the passages it may rest on."""
    said = (each.content for each in prompt.messages if each.role != "system")
    passages = (f"{each.passage.title}\n{each.passage.source}\n{each.passage.text}" for each in prompt.evidence)
    known = (f"{each.title}\n{each.source}\n{each.text}" for each in prompt.known)
    return "\n".join([*said, *prompt.said, *prompt.found, *passages, *known, prompt.question])


@lru_cache(maxsize=1)
def system_prompt() -> str:
    return (PROMPTS / "system.txt").read_text(encoding="utf-8").strip()


# --- numbers ------------------------------------------------------------------------------------------------------


def _numbered(hits: Sequence[Hit], known: Iterable[Source], highest: int) -> tuple[Evidence, ...]:
    numbers = {_key(source.passage_id, source.text): source.number for source in known}
    evidence = []
    for hit in hits:
        key = _key(hit.passage.id, hit.passage.text)
        if key not in numbers:
            highest += 1
            numbers[key] = highest
        evidence.append(Evidence(numbers[key], hit))
    return tuple(evidence)


def _key(passage_id: int, text: str) -> int | str:
    """What tells passages apart: their id, but what tools read has none of its own (it is below 0)."""
    return passage_id if passage_id >= 0 else text


def _highest(history: Sequence[Message]) -> int:
    """The highest number that was given: also to what was shown and never cited."""
    said = (number for each in history if each.role == "assistant" for number in CITATION.findall(each.content))
    cited = (int(number) for number in said if int(number) <= PLAUSIBLE)  # a caller's text may hold any
    shown = (source.number for each in history for source in (*each.evidence, *each.sources))
    return max((*cited, *shown), default=0)


def _last_answer(said: Sequence[Message]) -> Message | None:
    """The answer that "that" means: the last to a question, not to a courtesy after it, nor that there is none, unless
    nothing else was said."""
    answers: list[Message] = []
    courtesy = False
    for each in said:
        if each.role == "user":
            courtesy = read_intent(each.content).intent in ("social", "recall")
        elif each.content.strip() and (not courtesy or not answers):
            answers.append(each)
    answered = [each for each in answers if not abstains(each.content)]
    return (answered or answers)[-1] if answers else None


def _evidence_of(answer: Message) -> tuple[Evidence, ...]:
    return tuple(Evidence(source.number, Hit(_to_passage(source), 0.0)) for source in answer.sources)


def _to_passage(source: Source) -> Passage:
    return Passage(
        source.passage_id,
        0,
        source.title,
        source.source,
        source.text,
        source.heading,
        source.page,
        reference=source.reference,
        date=source.date,
    )


def cited(text: str, prompt: Prompt) -> tuple[Source, ...]:
    """The sources an answer cites, in order, each with the first words that rest on it."""
    passages = {source.number: _to_passage(source) for source in prompt.known}
    passages |= {each.number: each.passage for each in prompt.evidence}
    found: dict[int, Source] = {}
    for number, quote in cited_points(text):
        if number in passages and number not in found:
            found[number] = to_source(number, passages[number], quote)
    return tuple(found.values())


# --- messages -----------------------------------------------------------------------------------------------------


def _fitted(turn: PastTurn, space: int, share: int, budget: Budget) -> PastTurn:
    """The current turn in the space that is left: the question, then the note, then as many passages as fit there and
    into the share of one turn, the best first. Where they do not all fit, one that takes more than half of that loses
    its middle."""
    if budget.size(turn.asked()) > space:
        left = space - budget.size(replace(turn, evidence=(), note="").asked())
        turn = replace(turn, note=budget.shortened(turn.note, left // 3))
    bare = budget.size(replace(turn, evidence=()).asked())
    space = min(space, bare + share)
    if budget.size(turn.asked()) <= space:
        return turn
    most = (space - bare) // 2 if len(turn.evidence) > 1 else space - bare
    passages = [replace(each, text=budget.shortened(each.text, most)) for each in turn.evidence]
    for count in range(len(passages), 0, -1):
        fitted = replace(turn, evidence=tuple(passages[:count]))
        if budget.size(fitted.asked()) <= space:
            return fitted
    return replace(turn, evidence=())


def _reused(
    messages: Sequence[Message], told: Sequence[Message], last: PastTurn | None, budget: Budget
) -> dict[str, Any]:
    """Which share of the tokens opened the prompt of the last turn too, and whether any of that is now told in short.
    Where the caller keeps the history, what went with the last question is not known."""
    before = [*told, *(last.asked() if last and last.kept else ())]
    same = [each for each, _ in takewhile(lambda pair: pair[0] == pair[1], zip(messages, before, strict=False))]
    share = budget.size(same) / budget.size(messages) if last else 0.0
    return {"reused": round(share, 3), "compacted": len(same) < len(before)}


# --- the note on the conversation ---------------------------------------------------------------------------------


def _note(asked: Sequence[str], worked_out: Sequence[str], state: ConversationState | None) -> str:
    """What stands after the evidence: what tools gave, the questions one by one, and where the conversation stands."""
    texts = _context_texts()
    found = _listed(texts["worked_out"], worked_out)
    several = _listed(texts["several"], asked) if len(asked) > 1 else ""
    return "\n\n".join(filter(None, (found, several, context_section(state) if state else "")))


def _listed(opening: str, items: Sequence[str]) -> str:
    return "\n".join([opening, *(f"- {item}" for item in items)]) if items else ""


def context_section(state: ConversationState) -> str:
    """Where the conversation stands and what follows for the answer, as a note; empty where that is nothing."""
    texts, lines = _context_texts(), list(state.guidance)
    confused = state.mood == "confused" or any(
        each.level == "confused" for each in state.knowledge if each.topic == state.topic
    )
    if confused:
        lines.append(texts["confused"])
    elif state.topic in state.covered:
        lines.append(texts["covered"])
    elif state.skip_introduction:
        lines.append(texts["introduced"])
    if state.last_response_length > LONG:
        lines.append(texts["long"])
    if state.turn > 1:
        lines[:0] = _standing(state, texts)
    if not lines:
        return ""
    values = {
        "turn": state.turn,
        "topic": state.topic,
        "topics": ", ".join(state.topics[-MOST_TOPICS:]),
        "scaffolding": ", ".join(state.scaffolding),
        "questions": " ".join(f"“{each}”" for each in state.open_questions),
    }
    return _listed(texts["opening"], [_filled(line, values) for line in lines])


def _standing(state: ConversationState, texts: Mapping[str, str]) -> list[str]:
    where = f"{texts['where']} {texts['topic']}" if state.topic else texts["where"]
    parts = {"topics": len(state.topics) > 1, "scaffolding": state.scaffolding, "open": state.open_questions}
    return [where, *(texts[name] for name, holds in parts.items() if holds)]


def _filled(line: str, values: Mapping[str, object]) -> str:
    return re.sub(r"\{(\w+)\}", lambda name: str(values.get(name[1], name[0])), line)


@lru_cache(maxsize=1)
def _context_texts() -> dict[str, str]:
    return tomllib.loads((PROMPTS / "context.toml").read_text(encoding="utf-8"))
