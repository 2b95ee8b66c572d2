"""What a turn does to answer a message: its steps, their results, and the prompt for the answer."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from turnwise import plain
from turnwise.types.dialogue import ConversationState, Image, Message
from turnwise.types.search import Evidence, Hit, SearchQuery, Source, Term


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan: the tool, and its input.

    `tool` is "rag" (search the library), "calculator", "database" or a custom tool. "say" and "reform" need no tool:
    they say the given words, or put the last answer into the given form. "library" lists the documents. "answer" writes
    the answer from everything that was found, and comes last.
    """

    tool: str
    input: str = ""
    query: SearchQuery | None = None  # of a search: everything known about what to look for
    role: Literal["", "side", "reading"] = ""  # of a search: for one side of a comparison, or for another reading
    after: tuple[int, ...] = ()  # the positions of the steps that must be done first


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step: words for the answer, passages that can be cited, or what went wrong.

    A tool that reads data returns what it read as a passage with an id below 0, so that it is numbered and cited like a
    document.
    """

    text: str = ""
    hits: tuple[Hit, ...] = ()
    error: str = ""
    ms: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)  # the query that was run, the sum as it was understood

    @property
    def failed(self) -> bool:
        """Whether something went wrong and there is no text that explains it."""
        return bool(self.error) and not self.text

    def outline(self) -> dict[str, Any]:
        """A summary as JSON: the number of passages instead of the passages."""
        summary = {"text": self.text, "found": len(self.hits), "error": self.error, "ms": self.ms}
        return {**summary, "details": self.details}


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The steps that answer a query, and the results of those that are done. Steps that do not depend on one another
    run at the same time."""

    query_id: str
    query: str
    steps: tuple[Step, ...]
    reason: str = ""
    results: tuple[StepResult | None, ...] = ()  # by position; None while a step is not done
    chat_history: tuple[Message, ...] = ()

    @property
    def current_step(self) -> int:
        """The position of the first step that is not done, or the number of steps if all are."""
        return next((place for place in range(len(self.steps)) if self.result(place) is None), len(self.steps))

    @property
    def completed(self) -> bool:
        return self.current_step == len(self.steps)

    @property
    def searched(self) -> tuple[Step, ...]:
        """The searches of the library: those planned, and those that replace failed tools."""
        found = []
        for place, step in enumerate(self.steps):
            result = self.result(place)
            if step.tool == "rag":
                found.append(step)
            elif step.query and result and result.failed and not step.after:
                found.append(Step("rag", step.query.question, step.query))
        return tuple(found)

    def result(self, place: int) -> StepResult | None:
        return self.results[place] if place < len(self.results) else None

    def outline(self) -> dict[str, Any]:
        """A summary as JSON: the steps and their results, without the passages."""
        steps: list[dict[str, Any]] = []
        for place, step in enumerate(self.steps):
            steps.append({"tool": step.tool, "input": step.input, "after": list(step.after)})
            if result := self.result(place):
                steps[-1]["result"] = result.outline()
        return {"query_id": self.query_id, "query": self.query, "reason": self.reason, "steps": steps}

    def with_result(self, place: int, result: StepResult) -> QueryPlan:
        """The plan with one step done."""
        results = [self.result(each) for each in range(len(self.steps))]
        results[place] = result
        return dataclasses.replace(self, results=tuple(results))

    def to_dict(self) -> dict[str, Any]:
        """The whole plan as JSON values. `from_dict` makes the same plan from them."""
        return {**dataclasses.asdict(self), "current_step": self.current_step, "completed": self.completed}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> QueryPlan:
        """The plan that `to_dict` wrote, perhaps by way of JSON. Raises BadRequest for anything else."""
        given = stored if isinstance(stored, Mapping) else {"": stored}
        return plain.read(cls, {name: given[name] for name in given if name not in ("current_step", "completed")})

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str | bytes) -> QueryPlan:
        return cls.from_dict(plain.parse(text))


Complexity = Literal["simple", "complex"]


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """What it takes to answer a query: one search or more, which tools, and its sub-questions, each of which stands
    alone. `steps` is the same as the start of a plan."""

    complexity: Complexity
    required_tools: tuple[str, ...]
    sub_queries: tuple[str, ...]
    reasoning: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an answer may draw on: the messages for a language model, and the same as values for the extractive one."""

    messages: tuple[Message, ...]
    question: str  # as the user wrote it
    asked: tuple[str, ...]  # the same as questions that stand alone; several if the message asks several things
    evidence: tuple[Evidence, ...]
    said: tuple[str, ...]  # the assistant's earlier answers, oldest first
    sides: tuple[str, ...] = ()  # of a comparison
    added: tuple[Term, ...] = ()  # the words in `asked` that come from the conversation, and how likely they are meant
    found: tuple[str, ...] = ()  # results of tools, in words for the answer
    known: tuple[Source, ...] = ()  # what the conversation has already shown or cited
    shown: tuple[Source, ...] = ()  # the evidence that the messages show for the first time, as they show it
    note: str = ""  # what else the messages say together with the question
    form: str = ""  # if the last answer is to be put into another form: list, table, shorter, rewrite
    state: ConversationState | None = None
    language: str = "en"
    images: tuple[Image, ...] = ()  # shown with the question, to models that can see images
    details: dict[str, Any] = field(default_factory=dict)  # of the messages: tokens, window, share that was sent before
    reforms: str = ""  # with `form`: the question of the last answer, if a later question had none
    last_question: str = ""  # of the user before this one, as written
    before_last: tuple[str, ...] = ()  # what the user wrote before that, newest first
    narrowed: bool = False  # whether a filter left out a part of the library

    @property
    def citable(self) -> set[int]:
        """The numbers that have a source."""
        return {source.number for source in self.known} | {each.number for each in self.evidence}
