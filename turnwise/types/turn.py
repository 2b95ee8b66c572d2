"""A turn from outside: the request, the events while it runs, and the reply with its trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from turnwise.types.dialogue import ConversationState, FollowUp, Image, Message, as_messages
from turnwise.types.plan import QueryPlan, Step, StepResult
from turnwise.types.search import EVERYTHING, LIBRARY, Filter, Reach, Source


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A message and its history, as messages or as {"role": …, "content": …}. With a conversation id, the history comes
    from the store instead."""

    message: str
    history: tuple[Message, ...] = ()
    conversation_id: str | None = None
    condensed_query: str | None = None
    where: Filter = EVERYTHING  # the documents that may answer
    query_id: str = ""  # the caller's name for this question; generated if there is none
    user: str = ""  # who sent the message, with which key and from where: for rate limits
    key: str = field(default="", repr=False)
    address: str = ""
    reach: Reach = LIBRARY  # what they may see; a turn adds the attachments to its conversation
    images: tuple[Image, ...] = ()  # shown with the message
    crowded: Callable[[], bool] = field(default=lambda: False, repr=False, compare=False)  # whether others are waiting

    def __post_init__(self) -> None:
        object.__setattr__(self, "history", as_messages(self.history))


@dataclass(frozen=True, slots=True)
class StageTrace:
    """What a stage decided, why, how long it took, and the values behind the decision."""

    stage: str
    decision: str
    reason: str
    ms: float
    details: dict[str, Any] = field(default_factory=dict)


Trace = tuple[StageTrace, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of an answer, the numbers it cites, and whether the passages behind them support it."""

    text: str
    numbers: tuple[int, ...]
    supported: bool
    score: float  # 0 to 1


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a turn. `to_dict()` is the object that the API returns and `turnwise ask --json` prints."""

    conversation_id: str | None
    turn: int
    text: str
    sources: tuple[Source, ...]
    condensed_query: str
    follow_up: FollowUp
    state: ConversationState
    trace: Trace
    notice: str = ""  # what the reader should know about how the answer came about
    plan: QueryPlan | None = None
    claims: tuple[Claim, ...] = ()  # the sentences of the answer that state something, and whether they are supported
    suggestions: tuple[str, ...] = ()  # follow-up questions that the library can answer
    cut: str = ""  # why the answer is not whole: "length" or "content_filter"

    def to_dict(self) -> dict[str, Any]:
        plan = self.plan.outline() if self.plan else None
        return {**dataclasses.asdict(dataclasses.replace(self, plan=None)), "plan": plan}


@dataclass(frozen=True, slots=True)
class Accepted:
    """The turn was accepted. From now on it is in the store, if there is one."""

    conversation_id: str | None
    turn: int


@dataclass(frozen=True, slots=True)
class StageDone:
    stage: StageTrace


@dataclass(frozen=True, slots=True)
class Planned:
    """What the turn is going to do."""

    plan: QueryPlan


@dataclass(frozen=True, slots=True)
class StepDone:
    """A step of the plan was carried out."""

    place: int
    step: Step
    result: StepResult


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    reply: Reply


@dataclass(frozen=True)
class Failed:
    """The turn ended without an answer. `error` is a TurnwiseError as a dict, `status` its HTTP status. `cause` is the
    exception itself; it is not a field, so it is never compared, shown or serialised."""

    error: dict[str, Any]
    status: int
    trace: Trace
    cause: ClassVar[Exception | None] = None

    def caused_by(self, error: Exception) -> Failed:
        object.__setattr__(self, "cause", error)
        return self


TurnEvent = Accepted | StageDone | Planned | StepDone | Delta | Answered | Failed


class Cut(str):
    """The last piece of an answer that was cut at the maximum length: its words, if any."""

    __slots__ = ()
    why = "length"


class Filtered(Cut):
    """The last piece of an answer that the model's provider cut because of what it said."""

    __slots__ = ()
    why = "content_filter"
