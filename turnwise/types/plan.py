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
    """One thing a plan does: who does it, and what it is given.

    `tool` is "rag" (search the library), "calculator", "database" or a tool of the user's; "say" and "reform" need none
    of them: they speak the words given, or put the last answer into the form given. "library" tells what documents
    there are. "answer" writes the answer from all that was found, and comes last.
    """

    tool: str
    input: str = ""
    query: SearchQuery | None = None  # of a search: all that is known of what to look for
    role: Literal["", "side", "reading"] = ""  # of a search: for one side of a comparison; for another reading
    after: tuple[int, ...] = ()  # the places of the steps that must be done first


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step gave: words that may stand in an answer, passages that can be cited, or what went wrong.

    A tool that reads data gives what it read as a passage of its own (an id below 0), so that it is numbered and cited
    as documents are.
    """

    text: str = ""
    hits: tuple[Hit, ...] = ()
    error: str = ""
    ms: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)  # the query that was run, the sum as it was read

    @property
    def failed(self) -> bool:
        """Whether something went wrong that no words of its own tell of."""
        return bool(self.error) and not self.text

    def outline(self) -> dict[str, Any]:
        """What a reader wants to know of it, as JSON: how many passages there are, and not the passages."""
        came = {"text": self.text, "found": len(self.hits), "error": self.error, "ms": self.ms}
        return {**came, "details": self.details}


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The steps that answer a query, and what those that are done have given. Steps that do not wait for one another
    run at the same time."""

    query_id: str
    query: str
    steps: tuple[Step, ...]
    reason: str = ""
    results: tuple[StepResult | None, ...] = ()  # by place; None while a step is not done
    chat_history: tuple[Message, ...] = ()

    @property
    def current_step(self) -> int:
        """The place of the first step that is not done; the number of steps where all are."""
        return next((place for place in range(len(self.steps)) if self.result(place) is None), len(self.steps))

    @property
    def completed(self) -> bool:
        return self.current_step == len(self.steps)

    @property
    def searched(self) -> tuple[Step, ...]:
        """The searches of the library: those that are planned, and those in place of tools that failed."""
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
        """What a reader wants to know of it, as JSON: the steps, and what came of them, without the passages."""
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
        """All of it, as values that JSON can hold; `from_dict` makes the same plan of them."""
        return {**dataclasses.asdict(self), "current_step": self.current_step, "completed": self.completed}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> QueryPlan:
        """The plan that `to_dict` wrote, perhaps by way of JSON. Raises BadRequest for anything else."""
        told = stored if isinstance(stored, Mapping) else {"": stored}
        return plain.read(cls, {name: told[name] for name in told if name not in ("current_step", "completed")})

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str | bytes) -> QueryPlan:
        return cls.from_dict(plain.parse(text))


Complexity = Literal["simple", "complex"]


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """What answering a query takes: one search or more, which tools, and the questions it is made of, each of which
    stands alone. `steps` is the same as the beginning of a plan."""

    complexity: Complexity
    required_tools: tuple[str, ...]
    sub_queries: tuple[str, ...]
    reasoning: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """All an answerer may use: the messages for a language model, and the same as values for the extractive one."""

    messages: tuple[Message, ...]
    question: str  # as the user wrote it
    asked: tuple[str, ...]  # the same as questions that stand alone; several where the message asks several things
    evidence: tuple[Evidence, ...]
    said: tuple[str, ...]  # the assistant's earlier answers, oldest first
    sides: tuple[str, ...] = ()  # of a comparison
    added: tuple[Term, ...] = ()  # the words in `asked` that the conversation gave, and how surely they are meant
    found: tuple[str, ...] = ()  # what tools gave, in words that may stand in the answer
    known: tuple[Source, ...] = ()  # what the conversation has shown or cited before
    shown: tuple[Source, ...] = ()  # the evidence that the messages show for the first time, as they show it
    note: str = ""  # what else the messages say with the question
    form: str = ""  # where the last answer is to be re-formed: list, table, shorter, rewrite
    state: ConversationState | None = None
    language: str = "en"
    images: tuple[Image, ...] = ()  # shown with the question, to models that can see
    details: dict[str, Any] = field(default_factory=dict)  # of the messages: tokens, window, share that was sent before

    @property
    def citable(self) -> set[int]:
        """The numbers behind which there is a source."""
        return {source.number for source in self.known} | {each.number for each in self.evidence}
