"""Compose: all that an answerer gets to see. Evidence numbered for the conversation, and the messages for a model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from turnwise.dialogue.citing import Locate, cited_points, to_source, with_sources
from turnwise.dialogue.intent import read_intent
from turnwise.text import CITATION
from turnwise.types import ConversationState, Evidence, Hit, Message, Passage, Prompt, QueryPlan, Source, Understanding

PROMPTS = Path(__file__).parent / "prompts"
LONG = 1000  # characters of an answer after which the next should be shorter
MOST_TOPICS = 8  # topics that the note on the conversation names
RECENT = 100  # messages whose citations are kept track of


def compose(
    message: str,
    history: Sequence[Message],
    plan: QueryPlan,
    hits: Sequence[Hit],
    locate: Locate,
    most_messages: int,
    most_characters: int,
    understood: Understanding | None = None,
) -> Prompt:
    """The prompt of this turn. A source that was cited before keeps its number; a new one gets the next."""
    said = [with_sources(each, locate) for each in history[-RECENT:]]
    known = [source for each in (*history[:-RECENT], *said) for source in each.sources]
    form = next((step.input for step in plan.steps if step.tool == "reform"), "")
    state = understood.state if understood else None
    last = _last_answer((*history[:-RECENT], *said)) if form else None
    evidence = _evidence_of(last) if last else _numbered(hits, known, _highest(history))
    earlier = _trimmed(_told(said), most_messages, most_characters)
    shown = {number for told in earlier for number in told.shown}
    new = [(each.number, each.passage) for each in evidence if each.number not in shown]
    # The note stands last and is sent once, so that all before it is the same in the next turn.
    current = _asked(message, new, first=not earlier, note=context_section(state) if state and not form else "")
    return Prompt(
        messages=(Message("system", system_prompt()), *(each for told in earlier for each in told.messages), *current),
        question=message,
        asked=tuple(step.input for step in plan.steps if step.tool == "rag" and not step.role) or (message,),
        evidence=evidence,
        known=tuple(known),
        said=(last.content,) if last else tuple(each.content for each in said if each.role == "assistant"),
        form=form,
        sides=tuple(step.input for step in plan.steps if step.role == "side"),
        found=tuple(result.text for result in plan.results if result and result.text),
        state=state,
        language=understood.language if understood else "en",
    )


@lru_cache(maxsize=1)
def system_prompt() -> str:
    return (PROMPTS / "system.txt").read_text(encoding="utf-8").strip()


# --- numbers ------------------------------------------------------------------------------------------------------


def _numbered(hits: Sequence[Hit], known: Iterable[Source], highest: int) -> tuple[Evidence, ...]:
    numbers = {source.passage_id: source.number for source in known}
    evidence = []
    for hit in hits:
        if hit.passage.id not in numbers:
            highest += 1
            numbers[hit.passage.id] = highest
        evidence.append(Evidence(numbers[hit.passage.id], hit))
    return tuple(evidence)


def _highest(history: Sequence[Message]) -> int:
    cited = (int(number) for each in history if each.role == "assistant" for number in CITATION.findall(each.content))
    return max(cited, default=0)


def _last_answer(said: Sequence[Message]) -> Message | None:
    """The answer that "that" means: the last to a question, not to a courtesy after it."""
    answers: list[Message] = []
    courtesy = False
    for each in said:
        if each.role == "user":
            courtesy = read_intent(each.content).intent in ("social", "recall")
        elif each.content.strip() and (not courtesy or not answers):
            answers.append(each)
    return answers[-1] if answers else None


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


def cited(text: str, prompt: Prompt, shown: Mapping[int, int]) -> tuple[Source, ...]:
    """The sources an answer cites, in order, under the numbers shown, each with the first words that rest on it."""
    passages = {source.number: _to_passage(source) for source in prompt.known}
    passages |= {shown[each.number]: each.passage for each in prompt.evidence if each.number in shown}
    found: dict[int, Source] = {}
    for number, quote in cited_points(text):
        if number in passages and number not in found:
            found[number] = to_source(number, passages[number], quote)
    return tuple(found.values())


# --- messages -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Told:
    """A turn as a model is told of it: the question, the evidence first cited in its answer, the answer."""

    messages: list[Message]
    shown: list[int]  # the numbers of that evidence


def _told(said: Sequence[Message]) -> list[Told]:
    turns: list[Told] = []
    shown: set[int] = set()
    for each in said:
        if each.role == "user":
            turns.append(Told([each], []))
        elif turns:
            new = [source for source in each.sources if source.number not in shown]
            question = turns[-1].messages[0].content
            if new and len(turns[-1].messages) == 1:
                passages = [(source.number, _to_passage(source)) for source in new]
                turns[-1] = Told(_asked(question, passages, first=len(turns) == 1), [source.number for source in new])
                shown.update(turns[-1].shown)
            turns[-1].messages.append(Message("assistant", each.content))
    return turns


def _asked(question: str, passages: Sequence[tuple[int, Passage]], first: bool, note: str = "") -> list[Message]:
    """The question; with the first its evidence, after a later one what is new as a message of its own."""
    shown = f"{'Evidence' if first else 'New evidence'}:\n\n{evidence_block(passages)}" if passages else ""
    added = "\n\n".join(filter(None, (shown, note)))
    if first or not added:
        return [Message("user", f"{question}\n\n{added}" if added else question)]
    return [Message("user", question), Message("user", added)]


def evidence_block(passages: Iterable[tuple[int, Passage]]) -> str:
    return "\n\n".join(f"[{number}] {_place(passage)}\n{passage.text}" for number, passage in passages)


def _place(passage: Passage) -> str:
    page = f"p. {passage.page}" if passage.page else ""
    return ", ".join(part for part in (passage.title, str(passage.reference or ""), passage.heading, page) if part)


def _trimmed(turns: list[Told], most_messages: int, most_characters: int) -> list[Told]:
    """The most recent whole turns that fit."""
    kept: list[Told] = []
    count = size = 0
    for told in reversed(turns):
        count += len(told.messages)
        size += sum(len(each.content) for each in told.messages)
        if count > most_messages or size > most_characters:
            break
        kept.insert(0, told)
    return kept


# --- the note on the conversation ---------------------------------------------------------------------------------


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
    return "\n".join([texts["opening"], *(f"- {_filled(line, values)}" for line in lines)])


def _standing(state: ConversationState, texts: Mapping[str, str]) -> list[str]:
    where = f"{texts['where']} {texts['topic']}" if state.topic else texts["where"]
    parts = {"topics": len(state.topics) > 1, "scaffolding": state.scaffolding, "open": state.open_questions}
    return [where, *(texts[name] for name, holds in parts.items() if holds)]


def _filled(line: str, values: Mapping[str, object]) -> str:
    return re.sub(r"\{(\w+)\}", lambda name: str(values.get(name[1], name[0])), line)


@lru_cache(maxsize=1)
def _context_texts() -> dict[str, str]:
    return tomllib.loads((PROMPTS / "context.toml").read_text(encoding="utf-8"))
