"""Compose: everything an answerer gets to see. Evidence numbered for the conversation, and the messages for a model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from turnwise.config import Settings
from turnwise.dialogue.citing import Locate, abstains, cited_points, has_no_more, to_source, with_sources
from turnwise.dialogue.intent import objection, read_intent
from turnwise.dialogue.language import courtesies, read_language
from turnwise.dialogue.telling import PastTurn, longest_question, transcripts, turns_of
from turnwise.dialogue.tokens import WINDOW, Budget, tokens
from turnwise.dialogue.writing import last_question, questions_newest_first
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
MAX_CITATION_NUMBER = 5000  # a larger number cannot be one of our citations: text that a caller sent may contain any
LONG_ANSWER_CHARS = 1000  # after a longer answer, the next one should be shorter
MAX_TOPICS = 8  # named in the note on the conversation
EVIDENCE_DIVISOR = 4  # the evidence of one turn takes at most a quarter of the space for messages
EARLIER_QUESTIONS = 5  # an answerer is given as many of what the user wrote before
RECENT_MESSAGES = 100  # an answerer is given the answers among these, so as not to repeat them


def compose(
    message: str,
    history: Sequence[Message],
    plan: QueryPlan,
    hits: Sequence[Hit],
    locate: Locate,
    budget: Budget,
    *,
    understood: Understanding,
    images: Sequence[Image] = (),
    typed: str = "",
) -> Prompt:
    """The prompt of this turn. A source that was shown or cited before keeps its number; a new one gets the next. A
    model is shown the message as it was `typed`, if that differs."""
    typed = typed or message
    known = _known_so_far(history, typed, locate, budget)
    silent = any(step.tool in ("say", "library") for step in plan.steps)  # no model is asked
    visible_images = () if silent else tuple(images)
    form = next((step.input for step in plan.steps if step.tool == "reform"), "")
    last, answered = _answer_to_reform(history, locate) if form else (None, "")
    evidence = _evidence_of(last) if last else _numbered(hits, known.sources, _highest_number(history))
    asked = tuple(step.input for step in plan.searched if not step.role) or (message,)
    tool_results = tuple(result.text for result in plan.results if result and result.text)
    note = "" if form or silent else _note(asked, tool_results, understood.state)
    current = _question_and_note(known, evidence, _with_image_names(note, visible_images), budget)
    messages = (*known.messages, *current.asked())
    return Prompt(
        messages=messages,
        question=message,
        asked=asked,
        evidence=evidence,
        known=known.sources,
        shown=current.evidence,
        note=current.note,
        said=(last.content,) if last and form != "quiz" else _recent_answers(history),
        added=tuple(term for step in plan.searched if step.query and not step.role for term in step.query.added),
        form=form,
        sides=tuple(step.input for step in plan.steps if step.role == "side"),
        found=tool_results,
        state=understood.state,
        language=understood.language,
        images=visible_images,
        details={
            "messages": len(messages),
            "tokens": budget.size(messages),
            "window": budget.window,
            "question_cut": known.question != typed,
            "snippets_added": len(current.evidence),
            "turns_in_short": known.shortened_turns,
            **_reused(messages, known, budget),
        },
        reforms=answered,
        last_question=last_question(history),
        before_last=tuple(islice(questions_newest_first(history), 1, EARLIER_QUESTIONS)),
    )


def messages_sent(history: Sequence[Message], asked: Message, locate: Locate, budget: Budget) -> tuple[Message, ...]:
    """The messages that a model was sent for a stored message, which has the evidence and note it was shown with."""
    known = _known_so_far(history, asked.content, locate, budget)
    current = PastTurn(known.question, asked.evidence, asked.note, opens=not known.turns)
    return (*known.messages, *current.asked())


def budget_for(model: ChatModel, settings: Settings) -> Budget:
    """What fits into the model in use: the window that is set, or the one the model states, or the default."""
    window = settings.context_tokens or getattr(model, "window", 0) or WINDOW
    answer = getattr(model, "max_tokens", 0) or settings.max_tokens
    return Budget(window, answer, settings.history_messages, getattr(model, "count", None) or tokens)


def how_composed(prompt: Prompt) -> str:
    """How the prompt was put together, for the trace."""
    short = "; earlier turns were shortened" if prompt.details["compacted"] else ""
    cut = "; the middle of the question was left out" if prompt.details["question_cut"] else ""
    return f"numbered for the whole conversation{short}{cut}"


def readable_by_user(prompt: Prompt) -> str:
    """What an answer may contain without leaking anything: what was said, and the passages it may rest on."""
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
    """What identifies a passage: its id, or its text if a tool read it (all of those have ids below 0)."""
    return passage_id if passage_id >= 0 else text


def _highest_number(history: Sequence[Message]) -> int:
    """The highest number in use, including those of sources that were shown but never cited."""
    answers = (each.content for each in history if each.role == "assistant")
    numbers = (int(number) for answer in answers for number in CITATION.findall(answer))
    cited = (number for number in numbers if number <= MAX_CITATION_NUMBER)
    shown = (source.number for each in history for source in (*each.evidence, *each.sources))
    return max((*cited, *shown), default=0)


def _recent_answers(history: Sequence[Message]) -> tuple[str, ...]:
    return tuple(each.content for each in history[-RECENT_MESSAGES:] if each.role == "assistant")


def _answer_to_reform(history: Sequence[Message], locate: Locate) -> tuple[Message | None, str]:
    """The answer that "that" means, with its sources: the last one to a question. Replies to courtesies and objections,
    and answers that say nothing was found, count only if there is no other. If the last question had no answer, the
    question that this one answers comes with it, because the user may mean the other."""
    answers: list[tuple[str, Message]] = []
    asked, language = "", "en"
    for each in history:
        if each.role == "user":
            asked, language = each.content, read_language(each.content, default=language)
        elif each.content.strip() and (not answers or _replies_to_question(each.content, asked, language)):
            answers.append((asked, each))
    if not answers:
        return None, ""
    answered = [each for each in answers if not abstains(each[1].content)]
    asked, answer = (answered or answers)[-1]
    last = answers[-1][1].content
    unanswered = bool(answered) and abstains(last) and not has_no_more(last)
    return with_sources(answer, locate), asked if unanswered else ""


def _replies_to_question(reply: str, asked: str, language: str) -> bool:
    """Whether a reply is more than one to a courtesy or an objection, or that something cannot be done. "You already
    said that", "not that one" and "what did you say about tickets?" may be met with what the documents say, which has a
    citation; "that's wrong" is met with a citation of what was said before."""
    reading, kind = read_intent(asked, language), objection(asked, language)
    intent = reading.intent
    if intent == "social" or kind == "wrong" or reading.operation == "quiz" or reply in courtesies():
        return False
    return bool(CITATION.search(reply)) if intent == "recall" or kind else True


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


def cited_sources(text: str, prompt: Prompt) -> tuple[Source, ...]:
    """The sources an answer cites, in order, each with the first words that cite it."""
    passages = {source.number: _to_passage(source) for source in prompt.known}
    passages |= {each.number: each.passage for each in prompt.evidence}
    found: dict[int, Source] = {}
    for number, quote in cited_points(text):
        if number in passages and number not in found:
            found[number] = to_source(number, passages[number], quote)
    return tuple(found.values())


# --- messages -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _KnownSoFar:
    """The conversation up to the current question, as a model is sent it."""

    turns: Sequence[PastTurn]
    question: str  # the current one, without its middle if it is too long
    space: int  # tokens for all messages but the system prompt
    messages: tuple[Message, ...]  # the system prompt and the earlier turns
    messages_last_time: tuple[Message, ...]  # the same, as sent with the last question
    visible: set[int]  # numbers of the sources that these messages show
    shortened_turns: int

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(source for turn in self.turns for source in (*turn.evidence, *turn.sources))


def _known_so_far(history: Sequence[Message], question: str, locate: Locate, budget: Budget) -> _KnownSoFar:
    """Nothing before the current question changes from turn to turn, so that a provider finds it in its cache."""
    system = Message("system", system_prompt())
    space = budget.room - budget.size([system])
    turns = turns_of(history, locate, space, budget)
    question = budget.shortened(question, longest_question(space))
    before, now = transcripts(turns, question, space, budget)
    messages, last_time = (system, *now.messages()), (system, *before.messages())
    return _KnownSoFar(turns, question, space, messages, last_time, now.visible, now.short)


def _question_and_note(known: _KnownSoFar, evidence: Sequence[Evidence], note: str, budget: Budget) -> PastTurn:
    """The current turn: the question, the note, and the evidence that earlier messages do not show, cut to fit."""
    passages = {each.number: each.passage for each in evidence if each.number not in known.visible}
    new = tuple(to_source(number, passage, "") for number, passage in passages.items())
    left = budget.room - budget.size(known.messages)
    turn = PastTurn(known.question, new, note, opens=not known.turns)
    return _fitted(turn, left, known.space // EVIDENCE_DIVISOR, budget)


def _fitted(turn: PastTurn, space: int, share: int, budget: Budget) -> PastTurn:
    """The current turn in the space that is left: the question, then the note, then as many passages as fit there and
    into the share of one turn, best first. If they do not all fit, a passage that takes more than half of it loses its
    middle."""
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


def _reused(messages: Sequence[Message], known: _KnownSoFar, budget: Budget) -> dict[str, Any]:
    """The share of the tokens that were also the start of the last prompt, and whether any of that is now shortened.
    If the caller keeps the history, what was sent along with the last question is not known."""
    last = known.turns[-1] if known.turns else None
    before = [*known.messages_last_time, *(last.asked() if last and last.kept else ())]
    same = [each for each, _ in takewhile(lambda pair: pair[0] == pair[1], zip(messages, before, strict=False))]
    share = budget.size(same) / budget.size(messages) if last else 0.0
    return {"reused": round(share, 3), "compacted": len(same) < len(before)}


# --- the note on the conversation ---------------------------------------------------------------------------------


def _note(asked: Sequence[str], tool_results: Sequence[str], state: ConversationState) -> str:
    """What follows the evidence: tool results, the questions one by one, and the state of the conversation."""
    texts = _context_texts()
    results = _bullets(texts["worked_out"], tool_results)
    several = _bullets(texts["several"], asked) if len(asked) > 1 else ""
    return "\n\n".join(filter(None, (results, several, context_section(state))))


def _with_image_names(note: str, images: Sequence[Image]) -> str:
    """The note, after the names of the images: it is stored with the turn, and they are not."""
    if not images:
        return note
    names = ", ".join(f"[image: {each.name}]" for each in images)
    return "\n\n".join(filter(None, (_fill(_context_texts()["images"], {"names": names}), note)))


def _bullets(opening: str, items: Sequence[str]) -> str:
    return "\n".join([opening, *(f"- {item}" for item in items)]) if items else ""


def context_section(state: ConversationState) -> str:
    """The state of the conversation and what it means for the answer, as a note; empty if there is nothing to say."""
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
    if state.last_response_length > LONG_ANSWER_CHARS:
        lines.append(texts["long"])
    if state.turn > 1:
        lines[:0] = _state_lines(state, texts)
    if not lines:
        return ""
    values = {
        "turn": state.turn,
        "topic": state.topic,
        "topics": ", ".join(state.topics[-MAX_TOPICS:]),
        "scaffolding": ", ".join(state.scaffolding),
        "questions": " ".join(f"“{each}”" for each in state.open_questions),
    }
    return _bullets(texts["opening"], [_fill(line, values) for line in lines])


def _state_lines(state: ConversationState, texts: Mapping[str, str]) -> list[str]:
    where = f"{texts['where']} {texts['topic']}" if state.topic else texts["where"]
    parts = {"topics": len(state.topics) > 1, "scaffolding": state.scaffolding, "open": state.open_questions}
    return [where, *(texts[name] for name, applies in parts.items() if applies)]


def _fill(line: str, values: Mapping[str, object]) -> str:
    return re.sub(r"\{(\w+)\}", lambda name: str(values.get(name[1], name[0])), line)


@lru_cache(maxsize=1)
def _context_texts() -> dict[str, str]:
    return tomllib.loads((PROMPTS / "context.toml").read_text(encoding="utf-8"))
