"""The words of Turnwise: frozen values that pass from stage to stage, and the contracts that parts fulfil."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

from turnwise import plain

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from turnwise.conversation import Conversation, Turn, TurnStatus

    Vectors = npt.NDArray[np.float32]  # one row a text, each of length 1

Role = Literal["system", "user", "assistant"]


# --- what is read ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reference:
    """What a bibliography says of a document: the key it is cited by, its authors, its year and where it is found.

    An author is "Family, Given", or the name of a group. `csl` is what else a citation style needs, by the names of
    CSL: type, issued (an ISO date), container-title, volume, issue, page, publisher, DOI.
    """

    key: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    url: str = ""
    csl: dict[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        """As it is cited in a text: "Vaswani et al. 2017"."""
        families = self.families
        several = f"{families[0]} and {families[1]}" if len(families) == 2 else "".join(families[:1])
        by = f"{several} et al." if len(families) > 2 else several
        return " ".join(part for part in (by, str(self.year or "")) if part)

    @property
    def families(self) -> list[str]:
        """What its authors are called by."""
        return [author.split(",")[0].strip() for author in self.authors]

    def is_named(self, said: Collection[str]) -> bool:
        """Whether one of its authors is among some words, which are in small letters."""
        return any(each.lower().split()[-1] in said for each in self.families if each)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any] | None) -> Reference | None:
        """What `dataclasses.asdict` made of a reference, perhaps by way of JSON."""
        return None if stored is None else cls(**{**stored, "authors": tuple(stored["authors"])})


@dataclass(frozen=True, slots=True)
class Flag:
    """What the check for instructions to the assistant found in a text: how sure it is, and the words it means, where
    there are any. `by` names the check: a text that another one has looked at is looked at again."""

    by: str
    score: float = 0.0
    words: str = ""

    def __str__(self) -> str:
        """As an index keeps it; only one that found something has a bar in it."""
        return f"{self.by}|{self.score:.4f}|{self.words}" if self.words else self.by

    @classmethod
    def read(cls, kept: str | None) -> Flag | None:
        """What str() made of a flag; None where there is none."""
        if kept is None:
            return None
        by, _, found = kept.partition("|")
        score, _, words = found.partition("|")
        return cls(by, float(score), words) if words else cls(by)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A text that the readers of a document do not see, and where it is: "an HTML comment", "white text"."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage to be: `text` is the document's text from `start` to `end`; above a later part of a table, its header
    row. `flag` is what a check found in it, None where it was not looked at."""

    text: str
    heading: str = ""
    page: int | None = None
    start: int = 0
    end: int = 0
    flag: Flag | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was read, ready to go into an index. `digest` tells whether it has changed since.

    `date` is its own date where it has one, else the file's: an ISO date, or the beginning of one. `hidden` are the
    instructions to the assistant in what its readers do not see.
    """

    source: str  # the path or address it came from
    title: str
    digest: str
    chunks: tuple[Chunk, ...]
    collection: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    reference: Reference | None = None
    hidden: tuple[Hidden, ...] = ()
    tenant: str = ""  # whose it is; "" is the library's own
    attached: str = ""  # the conversation that it was dropped into, which alone may use it; "" for all of the tenant's

    @property
    def content(self) -> str:
        """A hash of what it says, which trust in it holds on to: its tags and the place it came from may change."""
        parts = [self.title, *(part for each in self.chunks for part in (each.heading, each.text))]
        parts += [part for each in self.hidden for part in (each.where, each.text)]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document of an index, as it is listed."""

    id: int
    source: str
    title: str
    passages: int
    added_at: float
    collection: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    reference: Reference | None = None
    hidden: tuple[Hidden, ...] = ()  # instructions to the assistant in what its readers do not see
    trusted: bool = False  # somebody has said that it is fine, whatever a check finds in it
    tenant: str = ""
    attached: str = ""
    pending: int = 0  # passages that have no vector yet


@dataclass(frozen=True, slots=True)
class Suspect:
    """A document in which a check has found instructions to the assistant: in passages, or where no reader sees it."""

    source: str
    title: str
    passages: tuple[tuple[int, Flag], ...] = ()  # by their positions
    hidden: tuple[Hidden, ...] = ()
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    documents: int
    passages: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be taken in, and why: the error's code, message and hint."""

    source: str
    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class AddReport:
    """What became of the files: how many documents were added, updated, unchanged; which were skipped or failed."""

    added: int
    updated: int
    unchanged: int
    passages: int  # in the added and updated documents
    skipped: tuple[str, ...]  # files met in folders whose kind cannot be read
    failed: tuple[Failure, ...]
    suspect: tuple[Suspect, ...] = ()  # documents that hold instructions to the assistant, and are not trusted
    unchecked: tuple[str, ...] = ()  # sources of those that are looked at for such after their vectors were made


Outcome = Literal["added", "updated", "unchanged"]
Progress = Callable[[str, int, int], None]  # what is being done ("reading", "embedding"), how much is done, of how much


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document, as it is indexed and cited. `start` and `end` are offsets in the document's text."""

    id: int
    document_id: int
    title: str
    source: str  # the path or address the document came from
    text: str
    heading: str = ""  # "Methods > Data"
    page: int | None = None
    start: int = 0
    end: int = 0
    position: int = 0  # among the passages of its document
    reference: Reference | None = None
    date: str = ""  # of the document
    flag: Flag | None = field(default=None, compare=False)  # None where no check has looked at it
    trusted: bool = field(default=False, compare=False)  # whether somebody has said that its document is fine

    @property
    def called(self) -> str:
        """Its document as people may call it: by its title, its authors and its year."""
        by = [*self.reference.families, str(self.reference.year or "")] if self.reference else []
        return f"{self.title} ({' '.join(filter(None, by))})" if any(by) else self.title


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents a search looks at: those of one of the collections, with all the tags, whose source fits the
    pattern ("*/papers/*"), dated from `since` to `until` (ISO dates or beginnings of them, both included). What is
    empty does not count."""

    collections: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    source: str = ""
    since: str = ""
    until: str = ""

    def __bool__(self) -> bool:
        return self != EVERYTHING


EVERYTHING = Filter()


@dataclass(frozen=True, slots=True)
class Reach:
    """What of an index somebody may see, whatever they ask for: the documents of a tenant ("" is the library's own), of
    these only some collections where any are named, and what was attached to their conversations."""

    tenant: str = ""
    collections: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()  # a conversation, and those that it branched from


LIBRARY = Reach()


@dataclass(frozen=True, slots=True)
class Term:
    """A word added to a search from the conversation, and how much it counts beside a literal word (0 to 1)."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to look for: the words the user wrote, the words added to them, and the whole question for the vectors.

    `talk` is what the user asked before with this message, whose own ranking counts `talk_weight` beside the others.
    """

    literal: str
    added: tuple[Term, ...] = ()
    dense: str = ""
    talk: str = ""
    talk_weight: float = 0.0
    where: Filter = EVERYTHING  # what was attached to a conversation passes every filter
    reach: Reach = LIBRARY

    @property
    def question(self) -> str:
        return self.dense or self.literal


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search found. `similarity` is the cosine to the question, None while it has no vector."""

    passage: Passage
    score: float
    similarity: float | None = None
    lexical_rank: int | None = None
    dense_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A hit with the number under which the conversation cites it."""

    number: int
    hit: Hit

    @property
    def passage(self) -> Passage:
        return self.hit.passage


@dataclass(frozen=True, slots=True)
class Source:
    """What a reader sees behind a citation: where it stands, the passage, and the sentence the answer rests on."""

    number: int
    passage_id: int
    title: str
    source: str
    heading: str
    page: int | None
    text: str
    quote: str = ""
    reference: Reference | None = None
    date: str = ""  # of the document

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Source:
        """What `dataclasses.asdict` made of a source, perhaps by way of JSON."""
        return cls(**{**stored, "reference": Reference.from_dict(stored.get("reference"))})


# --- what was said -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; an assistant's carries the sources it cited, where they are known.

    `at` is when it was said (seconds since 1970), None where that is not known. `metadata` is what the writer of an
    assistant message noted about it, such as {"scaffolding": "hint"}. `evidence` and `note` are what a model was shown
    with a user's message, where the turn was kept: with them, what was sent can be sent again to the letter.
    """

    role: Role
    content: str
    sources: tuple[Source, ...] = ()
    at: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    evidence: tuple[Source, ...] = ()
    note: str = ""


# --- what a turn decides -----------------------------------------------------------------------------------------


# new_question stands alone; follow_up leans on what was said; clarify corrects or narrows the last question ("no, I
# meant attachments"); reform wants the last answer in another form; recall asks about this conversation, or what
# documents there are; refer_back returns to something said earlier ("earlier you mentioned X"); social is a courtesy;
# arithmetic and data want a tool.
Intent = Literal[
    "new_question", "follow_up", "clarify", "reform", "recall", "refer_back", "social", "arithmetic", "data"
]
KnowledgeLevel = Literal["unknown", "confused", "knows_basics", "advanced"]
ResponseType = Literal["socratic", "example", "code", "math", "brief", "explanation", "clarification"]
Mood = Literal["neutral", "confused", "frustrated"]


class ConversationPhase(StrEnum):
    """What the user is doing with a topic, as their words show it."""

    EXPLORING = "exploring"  # what is it
    UNDERSTANDING = "understanding"  # how, why
    APPLYING = "applying"  # how do I; code, an example
    DEBUGGING = "debugging"  # an error, being stuck
    REVIEWING = "reviewing"  # back to what was said


@dataclass(frozen=True, slots=True)
class Edit:
    """Where the missing words of a message belong: in place of its text from `start` to `end` where `joint` is None,
    else after it, joined by that word; and how likely that is."""

    start: int
    end: int
    joint: str | None
    chance: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the trained condenser reads in a message: how likely it needs its context; the words said before that it may
    leave out, each as it was said with its probability, the likeliest first; and where they belong."""

    needs_context: float
    terms: tuple[tuple[str, float], ...] = ()
    edit: Edit | None = None


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Whether the message leans on the conversation, how that was seen, how sure we are, and on what it leans.

    `signals` holds what each way of seeing it gave (pattern, semantic, model: 0 to 1, those that ran). `topic_changed`
    says that the message leaves the topic that was in force.
    """

    is_follow_up: bool
    type: Literal["none", "pattern", "semantic"]
    confidence: float
    previous_topic: str
    keywords: tuple[str, ...]
    reason: str
    signals: dict[str, float] = field(default_factory=dict)
    topic_changed: bool = False


@dataclass(frozen=True, slots=True)
class TopicKnowledge:
    """What the user seems to know of a topic, and the words of theirs that showed it, with their turn; 0 is an earlier
    conversation."""

    topic: str
    level: KnowledgeLevel
    evidence: str = ""
    turn: int = 0


@dataclass(frozen=True, slots=True)
class ConversationState:
    """Where the conversation stands, read from all that was said up to and with the user's last message."""

    turn: int  # user messages so far, this one included
    topics: tuple[str, ...] = ()  # in order of first mention
    topic: str = ""  # what this message is about; of a follow-up, what was in force
    phase: ConversationPhase = ConversationPhase.EXPLORING
    covered: tuple[str, ...] = ()  # topics that an answer has treated
    knowledge: tuple[TopicKnowledge, ...] = ()
    open_questions: tuple[str, ...] = ()  # asked by the assistant and not answered
    scaffolding: tuple[str, ...] = ()  # from the metadata of assistant messages, oldest first
    last_response: ResponseType | None = None
    last_response_length: int = 0  # characters
    response_types: tuple[ResponseType, ...] = ()  # the most recent ones, oldest first
    skip_introduction: bool = False
    guidance: tuple[str, ...] = ()  # for the next answer
    mood: Mood = "neutral"
    mood_evidence: str = ""
    preferences: tuple[str, ...] = ()  # of the user for every answer, from earlier conversations


@dataclass(frozen=True, slots=True)
class Understanding:
    intent: Intent
    operation: str  # what of the intent; for "reform" list, table, shorter...; for "recall" first, last, all...
    follow_up: FollowUp
    state: ConversationState
    reason: str
    language: str = "en"  # ISO 639-1 code, "" where it is not known
    prediction: Prediction | None = None  # of the trained condenser, where there is one and it reads this language
    seen: tuple[Message, ...] = ()  # what of the conversation it is read with, where it may lean on it


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a message is to a conversation, without an answer to it. `to_dict()` is the object that the API prints."""

    turn: int
    understanding: Understanding
    condensed: Condensed
    threshold: float

    def to_dict(self) -> dict[str, Any]:
        understood, follow_up = self.understanding, self.understanding.follow_up
        return {
            "turn": self.turn,
            "intent": understood.intent,
            "operation": understood.operation,
            "language": understood.language,
            "reason": understood.reason,
            "is_follow_up": follow_up.is_follow_up,
            "type": follow_up.type,
            "confidence": follow_up.confidence,
            "threshold": self.threshold,
            "signals": follow_up.signals,
            "topic_changed": follow_up.topic_changed,
            "previous_topic": follow_up.previous_topic,
            "keywords": list(follow_up.keywords),
            "enhanced_query": self.condensed.query,
            "added_terms": {term.text: term.weight for term in self.condensed.added},
            "state": dataclasses.asdict(understood.state),
        }


@dataclass(frozen=True, slots=True)
class Condensed:
    """The message as a question that stands alone, with the words that were added and why.

    `candidates` are further readings of an ambiguous message, searched together with `query`. `refused` is what a
    language model proposed and was not taken, shortened; the reason says why.
    """

    query: str
    added: tuple[Term, ...]
    method: Literal["literal", "rules", "model", "llm", "caller"]
    reason: str
    candidates: tuple[str, ...] = ()
    refused: str = ""

    @property
    def changed(self) -> bool:
        return self.method != "literal"


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


# --- what a turn leaves behind -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StageTrace:
    """What one stage decided, why, how long it took, and the values behind the decision."""

    stage: str
    decision: str
    reason: str
    ms: float
    details: dict[str, Any] = field(default_factory=dict)


Trace = tuple[StageTrace, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of an answer, the numbers it cites, and whether the passages behind them bear it out."""

    text: str
    numbers: tuple[int, ...]
    supported: bool
    score: float  # 0 to 1


@dataclass(frozen=True, slots=True)
class Reply:
    """What a turn gives back. `to_dict()` is the object that the API and `turnwise ask --json` print."""

    conversation_id: str | None
    turn: int
    text: str
    sources: tuple[Source, ...]
    condensed_query: str
    follow_up: FollowUp
    state: ConversationState
    trace: Trace
    notice: str = ""  # what the reader should know about how the answer was made
    plan: QueryPlan | None = None
    claims: tuple[Claim, ...] = ()  # the sentences of the answer that state something, and whether they are borne out
    suggestions: tuple[str, ...] = ()  # questions that the library can answer next

    def to_dict(self) -> dict[str, Any]:
        plan = self.plan.outline() if self.plan else None
        return {**dataclasses.asdict(dataclasses.replace(self, plan=None)), "plan": plan}


@dataclass(frozen=True, slots=True)
class Accepted:
    """The turn was taken in; from here on it is in the store (where there is one)."""

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


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that is shown with a message: its name, its media type (image/png) and its bytes."""

    name: str
    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A message and the history before it. With a conversation id the history comes from the store instead."""

    message: str
    history: tuple[Message, ...] = ()
    conversation_id: str | None = None
    condensed_query: str | None = None
    where: Filter = EVERYTHING  # the documents that may answer
    query_id: str = ""  # the caller's name for this question; made where there is none
    user: str = ""  # whose message it is, with which key and from where: what rate limits are counted by
    key: str = field(default="", repr=False)
    address: str = ""
    reach: Reach = LIBRARY  # what they may see; a turn adds what is attached to its conversation
    images: tuple[Image, ...] = ()  # shown with the message
    crowded: Callable[[], bool] = field(default=lambda: False, repr=False, compare=False)  # whether others wait


# --- contracts ---------------------------------------------------------------------------------------------------


class Embedder(Protocol):
    """Who turns texts into vectors of length 1. A library remembers the name of the one it was built with."""

    name: str
    dimension: int

    def embed_query(self, text: str) -> Vectors:
        """One vector of shape (dimension,)."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors: ...


class Inspector(Protocol):
    """Looks for instructions to the assistant in texts; a score from `threshold` on counts. `by` names it."""

    by: str
    threshold: float

    def inspect(self, texts: Sequence[str]) -> list[Flag]: ...


class Condenser(Protocol):
    """The trained model that reads a conversation and a message in one pass."""

    def predict(self, message: str, history: Sequence[Message]) -> Prediction: ...


class Rewriter(Protocol):
    """The language model that may rewrite a message."""

    name: str

    async def rewrite(self, messages: Sequence[Message], limit: int) -> str:
        """The reply to these messages; it stops reading soon after `limit` characters."""
        ...


class Tool(Protocol):
    """Something a plan may call besides the search. Both calls are quick to give up: a turn waits for them.

    One whose `takes_any` is true is given what a language model plans for it, read or not.
    One whose `reads_history` is true is given a follow-up as it was written before it is given the whole question.
    One whose `of_library` is true reads what is the library's own, and is not given to other tenants.
    """

    name: str
    about: str  # what it is for, in a sentence that a language model reads when it plans

    async def read(self, question: str, history: Sequence[Message]) -> str:
        """The question as this tool takes it (a sum, a query), empty where it is not for this tool."""
        ...

    async def run(self, given: str) -> StepResult:
        """What comes of it. What goes wrong is said in the result's `error`, never raised."""
        ...


class Reranker(Protocol):
    """A model that reads a question and a passage together. `reads` is how many passages of a search it is given, the
    best first; `trust` is what a point of its scores counts beside the score of a search, which is a cosine and a
    little."""

    name: str
    reads: int
    trust: float

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        """How well each passage answers the question; higher is better."""
        ...


class Judge(Protocol):
    """A model that reads a question and a single sentence together."""

    def odds(self, question: str, sentences: Sequence[Passage]) -> list[float]:
        """How likely each sentence, as the text of a passage, answers the question (log-odds)."""
        ...


class Index(Protocol):
    """A library: documents in and out, and what a search of them finds. Safe for several threads and processes."""

    embedder: Embedder

    def put(self, documents: Iterable[Document]) -> list[Outcome]:
        """Put documents in, each in place of the one of its source unless the digest is the same; where the title and
        the chunks are, the vectors stay. Those of one call are on disk and searchable by their words when it
        returns."""
        ...

    def digest(self, source: str) -> str | None:
        """The digest of the document of that source, None where there is none."""
        ...

    def remove(self, source: str) -> bool:
        """Take a document out, everywhere. False where there is none of that source."""
        ...

    def search(self, query: SearchQuery, k: int) -> list[Hit]:
        """The best k passages by words and by meaning together. Passages without a vector are found by their words."""
        ...

    def locate(self, sentence: str, reach: Reach = LIBRARY) -> Passage | None:
        """The passage that holds this sentence: word for word, else all its words."""
        ...

    def held(self, words: Sequence[str], reach: Reach = LIBRARY) -> dict[str, int]:
        """Of these words those that a passage within reach has in some form; and in how many passages, of anybody's,
        that is."""
        ...

    def passage(self, passage_id: int, reach: Reach = LIBRARY) -> Passage | None: ...

    def around(self, passage: Passage, reach: int = 1) -> list[Passage]:
        """The passage with its neighbours in the document, as many on each side, in order."""
        ...

    def documents(self, reach: Reach | None = LIBRARY) -> list[DocumentInfo]:
        """The documents within reach, in order of source; every document there is where the reach is None."""
        ...

    def document(self, document_id: int | str, reach: Reach = LIBRARY) -> DocumentInfo | None:
        """The document of that id or of that source, None where there is none within reach."""
        ...

    def attachments(self, reach: Reach) -> list[DocumentInfo]:
        """The documents that are attached to the conversations of the reach, in order of source."""
        ...

    def find_documents(
        self, search: str = "", collection: str | None = None, after: str = "", limit: int = 100, reach: Reach = LIBRARY
    ) -> list[DocumentInfo]:
        """Documents within reach whose title or source holds the words, in order of source, from the one after."""
        ...

    def collections(self, reach: Reach = LIBRARY) -> dict[str, Counts]:
        """The collections within reach, "" among them where documents are in none, and what each holds."""
        ...

    def terms(self, reach: Reach = LIBRARY) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The titles of the documents and the headings in them, as far as a library has few."""
        ...

    def counts(self, reach: Reach | None = None) -> Counts:
        """What there is within reach; all of it where the reach is None."""
        ...

    def forget_vectors(self, document_id: int) -> None:
        """Let the vectors of a document be made again."""
        ...

    def put_flags(self, flags: Mapping[int, Flag]) -> None:
        """Keep what a check found in passages, by their ids."""
        ...

    def unchecked(self, by: str, after: int, limit: int) -> list[tuple[int, str]]:
        """Passages that this check has not looked at, in order of their ids, from the one after: their ids, and their
        headings and texts. Without a name (""), those that none has looked at, which is quick to tell."""
        ...

    def unchecked_in(self, sources: Iterable[str] | None = None) -> dict[str, int]:
        """How many passages no check has looked at, by the sources of their documents: all, or these. Those that have
        none are left out."""
        ...

    def flags(self, document_ids: Iterable[int]) -> dict[int, list[tuple[int, Flag]]]:
        """What a check found in the passages of documents, by the ids of those and the positions of these."""
        ...

    def suspects(self) -> list[Suspect]:
        """The documents in which a check found something, those that are trusted too, in order of source."""
        ...

    def trust(self, source: str, trusted: bool = True) -> bool:
        """Say that a document is fine as it is, or no more. It holds for the same content, added again or elsewhere.
        False where there is none of that source."""
        ...

    def trusts(self, content: str) -> bool:
        """Whether somebody has said that a document of this content is fine."""
        ...

    def unembedded(self, limit: int) -> list[tuple[int, str]]:
        """Passages that have no vector yet, longest first: their ids, and the text to embed."""
        ...

    def put_vectors(self, vectors: Mapping[int, Vectors]) -> int:
        """Keep the vectors of passages that are still there and have none. Gives how many."""
        ...

    def close(self) -> None: ...


class Library(Protocol):
    """What a turn may ask of an index, or of a part of it."""

    def search(self, query: SearchQuery, k: int) -> list[Hit]: ...

    def locate(self, sentence: str) -> Passage | None: ...

    def held(self, words: Sequence[str]) -> dict[str, int]: ...

    def passage(self, passage_id: int) -> Passage | None: ...

    def around(self, passage: Passage, reach: int = 1) -> list[Passage]: ...

    def terms(self) -> tuple[tuple[str, ...], tuple[str, ...]]: ...

    def titles(self, limit: int, where: Filter = EVERYTHING) -> tuple[list[str], int]:
        """What the first documents of the collections that are looked at are called, and how many there are."""
        ...


class Cut(str):
    """The last piece of an answer that was cut at the longest that was asked for: its words, if any."""

    __slots__ = ()


class ChatModel(Protocol):
    """Who writes an answer. One that knows may also have `window: int`, the tokens it takes with its answer (0: it does
    not know), `max_tokens: int`, the longest answer it gives (0: as set), `count(text: str) -> int`, the tokens of a
    text, and `sees: bool`, whether it can be shown images. All are asked for every turn. An answer that did not come to
    its end may end in a `Cut`."""

    name: str

    def stream(self, prompt: Prompt) -> AsyncIterator[str]: ...


class Standing(NamedTuple):
    """How a conversation stands: its last turn (0 and "" where it has none), its title, and the collections that its
    turns could draw on (none: all of the tenant's)."""

    number: int
    status: str
    title: str
    collections: tuple[str, ...]


class ChoreList(Protocol):
    """Work on the library that one process does at a time."""

    def take(self, name: str) -> bool:
        """Whether the work is this process's from now on, for a while. False where another is at it."""
        ...

    def leave(self, name: str) -> None:
        """Let others have the work."""
        ...


class ConversationStore(Protocol):
    """Conversations and what belongs to them. Ids are a tenant's own: what another tenant keeps under the same id is
    another conversation, of which nothing can be seen. The store itself is that of the library's own tenant, ""."""

    keys: KeyRing
    requests: RequestLog
    profiles: Profiles
    chores: ChoreList

    def of(self, tenant: str, collections: Iterable[str] = ()) -> ConversationStore:
        """The same store as another tenant sees it; where collections are named, only those of its conversations whose
        turns could draw on no others. A turn of a wider view takes a conversation out of the narrower ones."""
        ...

    def begin(self, conversation_id: str) -> None:
        """Have a conversation, without a title, that has no turn yet; nothing where there is one."""
        ...

    def accept(self, conversation_id: str, prompt: str, user: str = "") -> Conversation:
        """Append the prompt as a pending turn, on disk when this returns; it is the last turn of what comes back. Its
        metadata has `ancestors`, the ids of the conversations that it branched from, nearest first."""
        ...

    def finish(
        self,
        conversation_id: str,
        number: int,
        status: TurnStatus,
        response: str | None = None,
        sources: Iterable[Source] = (),
        record: dict[str, Any] | None = None,
        error: dict[str, Any] | None = None,
        shown: Iterable[Source] = (),
        note: str = "",
        facts: dict[str, Any] | None = None,
    ) -> None:
        """End a pending turn; `shown` and `note` are what a model was shown with it, `facts` what is counted of it."""
        ...

    def conversation(self, conversation_id: str, records: bool = True) -> Conversation:
        """The conversation with the records of its turns and its `user_id`; its metadata has `title` and `ancestors`,
        and that of a turn `feedback` where somebody gave it. Without `records`, neither these nor the feedback."""
        ...

    def page(self, conversation_id: str, before: int | None = None, limit: int = 100) -> tuple[Conversation, int]:
        """The same with the latest so many of its turns, or of those before a number, and how many it has in all."""
        ...

    def turn(self, conversation_id: str, number: int) -> Turn:
        """One turn of it with its record. Raises ConversationNotFound."""
        ...

    def conversations(
        self, limit: int = 100, search: str = "", user: str | None = None, before: float | None = None
    ) -> list[dict[str, Any]]:
        """The id, title, user, number of turns, created_at and last_activity of each, the most recently active first,
        `branch_of` of those that are branches; with `search` those in whose title, prompts or answers all the words
        stand, each with a `snippet`."""
        ...

    def hides(self, conversation_id: str) -> bool:
        """Whether there is a conversation of that id which is not in this view."""
        ...

    def rename(self, conversation_id: str, title: str) -> None: ...

    def delete(self, conversation_id: str) -> None:
        """Take a conversation out, with its turns and what was said of them. Raises ConversationNotFound."""
        ...

    def branch(self, conversation_id: str, before: int, new_id: str) -> None:
        """Begin a new conversation with the turns of another that come before a number."""
        ...

    def put(self, conversation: Conversation, title: str = "") -> None:
        """Keep a conversation that was written elsewhere. Raises ConversationError where its id is taken."""
        ...

    def rate(self, conversation_id: str, number: int, feedback: dict[str, Any] | None) -> None:
        """Keep what somebody says of an answer, or take it back."""
        ...

    def versions(self, conversation_ids: Iterable[str]) -> dict[str, tuple[int, str, float]]:
        """The number and the status of the last turn of each, and when it was last active, for those that there are."""
        ...

    def standings(self, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Standing]:
        """How conversations of any tenants stand, each named by its tenant and its id, for those that there are."""
        ...

    def facts(self, since: float = 0.0, until: float | None = None) -> Iterator[dict[str, Any]]:
        """What is counted of the turns begun in that time, oldest first: the `facts` that were given with each, and its
        conversation_id, number, status, created_at, user and feedback. Those of old turns come from their records."""
        ...


Permission = Literal["ask", "edit", "manage"]  # talk; and change documents; and see the dashboard


@dataclass(frozen=True, slots=True)
class Key:
    """Whom a key lets in, and to what. The key itself is known to its holder alone."""

    id: str
    name: str
    tenant: str = ""
    collections: tuple[str, ...] = ()  # none: all of the tenant's
    may: Permission = "ask"
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None
    last_used_at: float | None = None
    hint: str = ""  # the first characters, to tell keys apart

    def is_valid(self, now: float) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class KeyRing(Protocol):
    def create(
        self,
        name: str,
        tenant: str = "",
        collections: Iterable[str] = (),
        may: Permission = "ask",
        expires_at: float | None = None,
    ) -> tuple[Key, str]:
        """A new key and its secret, which is kept as a hash only and never seen again."""
        ...

    def find(self, secret: str) -> Key | None:
        """The key of this secret, valid or not; None where there is none."""
        ...

    def key(self, key_id: str) -> Key | None: ...

    def all(self) -> list[Key]: ...

    def revoke(self, key_id: str) -> bool:
        """False where there is no such key."""
        ...

    def used(self, key_id: str) -> None:
        """Note that it was used now; a note a minute is enough."""
        ...


class RequestLog(Protocol):
    """Requests that carried an Idempotency-Key, kept for a day."""

    def claim(self, tenant: str, key: str, digest: str) -> dict[str, Any] | None:
        """None where the request is new, and now this process's to answer; the answer where it was given. Raises
        RequestInFlight while somebody is at work on it, KeyReused where the key came with another digest."""
        ...

    def complete(self, tenant: str, key: str, answer: dict[str, Any]) -> None: ...

    def release(self, tenant: str, key: str) -> None:
        """Let the same request be sent again: it came to nothing."""
        ...


class Profiles(Protocol):
    """What is remembered of users across their conversations, where they wish it; as JSON, by tenant and user."""

    def profile(self, tenant: str, user: str) -> dict[str, Any] | None: ...

    def put(self, tenant: str, user: str, profile: dict[str, Any]) -> None: ...

    def delete(self, tenant: str, user: str) -> bool: ...
