"""A conversation as people keep one: turns of a prompt and its response. Usable without the rest of Turnwise."""

from __future__ import annotations

import dataclasses
import math
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from turnwise.errors import BadRequest
from turnwise.guard.limits import Decision, Limit, Spent, spend
from turnwise.types import Message, Reference, Source

TurnStatus = Literal["pending", "answered", "blocked", "failed", "interrupted"]
DEEPEST = 32  # levels of metadata that are written out


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and its response. The response is None until there is one; the prompt is None where the assistant spoke
    first. A time may be given as a number (seconds since 1970) or as a datetime, which is UTC where it does not say."""

    prompt: str | None
    response: str | None = None
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    metadata: dict[str, Any] = field(default_factory=dict)
    number: int = 0  # its place in the conversation, from 1; 0 where it is in none
    status: TurnStatus = "pending"
    sources: tuple[Source, ...] = ()
    record: dict[str, Any] = field(default_factory=dict)  # the reply as JSON: condensed_query, follow_up, state, trace
    error: dict[str, Any] | None = None
    evidence: tuple[Source, ...] = ()  # what a model was shown with the prompt, and
    note: str = ""  # what else it was told

    def __post_init__(self) -> None:
        object.__setattr__(self, "timestamp", moment(self.timestamp))
        if self.status == "pending" and self.response is not None:
            object.__setattr__(self, "status", "answered")

    @property
    def complete(self) -> bool:
        return self.response is not None

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold; what it cannot hold is there as its text. `from_dict` reads them back."""
        told = {name: getattr(self, name) for name in _OF_TURN}
        for name in ("metadata", "record", "error"):
            told[name] = _plain(told[name])
        for name in ("sources", "evidence"):
            told[name] = [_as_told(source) for source in told[name]]
        return {**told, "timestamp": self.timestamp.isoformat()}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Turn:
        """The turn that `to_dict` wrote, perhaps by way of JSON. Raises BadRequest for anything else."""
        values = _fitting(told, _OF_TURN)
        if values.get("status", "pending") not in get_args(TurnStatus):
            raise _unread(values["status"])
        try:
            for name in ("sources", "evidence"):
                values[name] = tuple(Source.from_dict(source) for source in values.get(name, ()))
            if "timestamp" in values:
                values["timestamp"] = _written(values["timestamp"])
            return cls(**values)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise BadRequest(f"This is no turn: {error}.", "Send what to_dict() gave, unchanged.") from error


class Conversation:
    """Turns, oldest first, and whose they are. A blocked prompt stays on record and never becomes context."""

    def __init__(
        self,
        id: str | None = None,
        user_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        turns: Iterable[Turn] = (),
        created_at: datetime | float | None = None,
        last_activity: datetime | float | None = None,
        rate_limit: str | Limit | None = None,
    ) -> None:
        self.id = id or uuid.uuid4().hex
        self.user_id = user_id
        self.metadata = metadata or {}
        self.turns: list[Turn] = list(turns)
        self.created_at = moment(created_at) if created_at is not None else self._first()
        self.last_activity = moment(last_activity) if last_activity is not None else self._last()
        self.rate_limit = Limit.parse(rate_limit) if isinstance(rate_limit, str) else rate_limit

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conversation) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def add_turn(
        self,
        prompt: str | None,
        response: str | None = None,
        timestamp: datetime | float | None = None,
        metadata: dict[str, Any] | None = None,
        status: TurnStatus = "pending",
    ) -> Turn:
        """Append a turn; with no prompt it is one that the assistant began."""
        if prompt is None and response is None and status == "pending":
            raise ValueError("A turn has a prompt, a response, or both.")
        at = datetime.now(UTC) if timestamp is None else moment(timestamp)
        turn = Turn(prompt, response, at, metadata or {}, len(self.turns) + 1, status)
        self.turns.append(turn)
        self.last_activity = max(self.last_activity, at)
        return turn

    def add_prompt(self, prompt: str, metadata: dict[str, Any] | None = None) -> Turn:
        """Append a turn that waits for its response."""
        return self.add_turn(prompt, metadata=metadata)

    def add_response(self, response: str, metadata: dict[str, Any] | None = None) -> Turn:
        """Complete the last turn. ValueError where no prompt waits for a response."""
        waiting = self.waiting
        if waiting is None:
            raise ValueError(
                "No prompt waits for a response. Add the prompt first, or add_turn(None, response) where the "
                "assistant speaks unasked."
            )
        noted = {**waiting.metadata, **(metadata or {})}
        answered = dataclasses.replace(waiting, response=response, metadata=noted, status="answered")
        self.turns[-1] = answered
        self.last_activity = max(self.last_activity, datetime.now(UTC))
        return answered

    def get_history(self, limit: int | None = None) -> list[Turn]:
        """The last turns, oldest first, blocked ones among them; all of them without a limit."""
        if limit is not None and limit < 0:
            raise ValueError(f"There are no {limit} turns: the limit is 0 or more.")
        return self.turns[max(0, len(self.turns) - limit) :] if limit is not None else list(self.turns)

    def get_complete_turns(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.complete]

    def get_incomplete_turns(self) -> list[Turn]:
        """The turns without a response: the one that waits for it, and those that were blocked or failed."""
        return [turn for turn in self.turns if not turn.complete]

    def get_turn_count(self) -> int:
        return len(self.turns)

    def get_complete_turn_count(self) -> int:
        return len(self.get_complete_turns())

    def get_duration(self) -> timedelta:
        """From the beginning to the last activity."""
        return max(self.last_activity - self.created_at, timedelta(0))

    @property
    def waiting(self) -> Turn | None:
        """The last turn, where it waits for its response."""
        return self.turns[-1] if self.turns and self.turns[-1].status == "pending" else None

    def check_rate_limit(self, another: bool = False) -> Decision:
        """Whether the prompt that waits, or where none does the next one, is within the limit. With `another`, whether
        the next one is although one waits. Counts nothing.

        What counts are the turns with a prompt, once each, blocked ones too; a refused one costs nothing. A turn from
        the future counts for nothing: a clock that was set back locks nobody out.
        """
        if self.rate_limit is None:
            return Decision(True)
        now = _microseconds(datetime.now(UTC))
        asked = [turn for turn in self.turns if turn.prompt is not None]
        waits = not another and bool(asked) and asked[-1] is self.waiting
        at = min(_microseconds(asked.pop().timestamp), now) if waits else now
        spent = _spent(self.rate_limit, asked, at, now)
        return Decision(spent.wait == 0, "conversation", self.rate_limit, spent.wait / 1e6, spent.remaining)

    def refused(self, waiting: bool = False) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The prompts that were blocked, and for each how many of the `messages` came before it. A prompt whose answer
        was blocked is none of them."""
        prompts, places, before = [], [], 0
        for turn in self.turns:
            of_answer = turn.metadata.get("blocked") == "output" or (turn.error or {}).get("code") == "AnswerBlocked"
            if turn.status == "blocked" and turn.prompt is not None and not of_answer:
                prompts.append(turn.prompt)
                places.append(before)
            elif turn.status != "blocked" and (waiting or turn.status != "pending"):
                before += (turn.prompt is not None) + bool(turn.status == "answered" and turn.response)
        return tuple(prompts), tuple(places)

    def messages(self, waiting: bool = False) -> tuple[Message, ...]:
        """The history a new turn reads, with prompts that are still `waiting` or without. A blocked prompt never
        becomes context; one that failed was still said."""
        said: list[Message] = []
        for turn in self.turns:
            if turn.status == "blocked" or (turn.status == "pending" and not waiting):
                continue
            at = turn.timestamp.timestamp()
            if turn.prompt is not None:
                said.append(Message("user", turn.prompt, at=at, evidence=turn.evidence, note=turn.note))
            if turn.status == "answered" and turn.response:
                noted = {name: value for name, value in turn.metadata.items() if name != "feedback"}  # nothing said
                said.append(Message("assistant", turn.response, turn.sources, at, noted))
        return tuple(said)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold; what it cannot hold is there as its text. `from_dict` reads them back."""
        return {
            "id": self.id,
            "user_id": self.user_id,
            "metadata": _plain(self.metadata),
            "turns": [turn.to_dict() for turn in self.turns],
            "created_at": self.created_at.isoformat(),
            "last_activity": self.last_activity.isoformat(),
            "rate_limit": None if self.rate_limit is None else str(self.rate_limit),
        }

    def to_markdown(self) -> str:
        """The conversation as people read it: each question, its answer, and the sources that it cites. HTML and images
        in it are there as text: nothing is run or loaded by whatever shows it."""
        title = str(self.metadata.get("title") or "Conversation")
        parts = [f"# {_escaped(' '.join(title.split()))}", f"*{self.created_at:%Y-%m-%d %H:%M %Z}*"]
        for turn in self.turns:
            if turn.prompt is not None:
                parts.append("\n".join(f"> {line}".rstrip() for line in _harmless(turn.prompt).splitlines()))
            if turn.response:
                parts.append(_harmless(turn.response))
            if turn.sources:
                parts.append("Sources:")
                parts.append("\n".join(_named(source) for source in turn.sources))
            if not turn.response or turn.status != "answered":
                why = str((turn.error or {}).get("message") or "")
                parts.append(f"*({turn.status}{': ' if why else ''}{_escaped(why)})*")
        return "\n\n".join(parts) + "\n"

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Conversation:
        """The conversation that `to_dict` wrote, perhaps by way of JSON. Raises BadRequest for anything else."""
        values = _fitting(told, _OF_CONVERSATION)
        for name in ("created_at", "last_activity"):
            values[name] = None if values.get(name) is None else _written(values[name])
        return cls(**{**values, "turns": [Turn.from_dict(turn) for turn in values.get("turns", ())]})

    def _first(self) -> datetime:
        return min((turn.timestamp for turn in self.turns), default=datetime.now(UTC))

    def _last(self) -> datetime:
        return max((turn.timestamp for turn in self.turns), default=self.created_at)


_CODE = re.compile(
    r"^ {0,3}(?P<ticks>`{3,})[^`\n]*(?:\n|\Z)(?:.*?(?P<closed>^ {0,3}(?P=ticks)`*[ \t]*$)|.*)"
    r"|^ {0,3}(?P<waves>~{3,})[^\n]*(?:\n|\Z)(?:.*?(?P<ended>^ {0,3}(?P=waves)~*[ \t]*$)|.*)"
    r"|(?<![`\\])(?P<inline>`+)(?!`)[^\n]*?(?<!`)(?P=inline)(?!`)",
    re.M | re.S,
)
_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_IMAGE = re.compile(r"!(?=\[)")
_LINK = re.compile(r"\](?=[(:])(?![(:]\s*(?:https?://|mailto:|#))")  # to what is no page, such as a script


def _harmless(text: str) -> str:
    """Markdown without HTML, images and links that run something: what begins them stands there as it was written.
    Code is code, and ends."""
    text, pieces, end = "\n".join(text.strip().splitlines()), [], 0
    for code in _CODE.finditer(text):
        fence = code["ticks"] or code["waves"]
        rest = f"\n{fence}" if fence and not (code["closed"] or code["ended"]) else ""
        pieces += [_unmarked(text[end : code.start()]), code[0], rest]
        end = code.end()
    return "".join([*pieces, _unmarked(text[end:])])


def _unmarked(text: str) -> str:
    return _LINK.sub("&#93;", _IMAGE.sub("&#33;", _HTML.sub("&lt;", text)))


def _escaped(text: str) -> str:
    """Words that are no Markdown, whatever they look like."""
    return re.sub(r"([\\`*_\[\]<>#|!~])", r"\\\1", text)


def _as_told(source: Source) -> dict[str, Any]:
    """What dataclasses.asdict gives, without copying each of its texts: an export has tens of thousands."""
    told = {name: getattr(source, name) for name in _OF_SOURCE}
    reference = source.reference
    return {**told, "reference": dataclasses.asdict(reference) if isinstance(reference, Reference) else reference}


def _named(source: Source) -> str:
    """A source as one line of a list: its number, its title, and where in it."""
    where = [f"p. {source.page}" if source.page is not None else "", source.heading]
    line = ", ".join(_escaped(" ".join(part.split())) for part in (source.title or source.source, *where) if part)
    return f"- \\[{source.number}\\] {line}"


def moment(at: datetime | float) -> datetime:
    """A time that knows its zone, from a datetime or seconds since 1970. ValueError where there is no such time."""
    if isinstance(at, datetime):
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    if isinstance(at, bool) or not isinstance(at, int | float):
        raise ValueError(f"{at!r} is not a time: give a datetime, or seconds since 1970.")
    try:
        return datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{at!r} is not a time: {error}.") from error


def _spent(limit: Limit, asked: list[Turn], at: int, now: int) -> Spent:
    """What comes of one more message at that moment, after those that were asked."""
    counted: list[int] = []
    for turn in reversed(asked):
        moment = _microseconds(turn.timestamp)
        if moment > now:
            continue
        if moment + limit.whole <= (counted[-1] if counted else at):
            break  # by the next one, all of the allowance was back
        counted.append(moment)
    whole_at = 0
    for place, each in enumerate(reversed(counted)):
        whole_at = spend(each if place == 0 else whole_at, each, limit).whole_at
    return spend(whole_at if counted else at, at, limit)


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


_EPOCH = datetime.fromtimestamp(0, UTC)
_TEXT, _LIST, _TIME = (str, type(None)), (list, tuple), (str, int, float, type(None))
_OF_TURN: dict[str, Any] = {  # the fields of each, and of what kind they may be
    "prompt": _TEXT,
    "response": _TEXT,
    "timestamp": _TIME,
    "metadata": dict,
    "number": int,
    "status": str,
    "sources": _LIST,
    "record": dict,
    "error": (dict, type(None)),
    "evidence": _LIST,
    "note": str,
}
_OF_SOURCE = tuple(each.name for each in dataclasses.fields(Source))
_OF_CONVERSATION: dict[str, Any] = {
    "id": _TEXT,
    "user_id": _TEXT,
    "metadata": (dict, type(None)),
    "turns": _LIST,
    "created_at": _TIME,
    "last_activity": _TIME,
    "rate_limit": _TEXT,
}


def _fitting(told: Any, kinds: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(told, Mapping):
        raise _unread(told)
    for name, value in told.items():
        if name not in kinds or not isinstance(value, kinds[name]):
            raise _unread({name: value})
    return dict(told)


def _written(at: Any) -> datetime:
    """A time as JSON holds one."""
    try:
        return moment(datetime.fromisoformat(at) if isinstance(at, str) else at)
    except ValueError as error:
        raise BadRequest(f"{at!r} is not a time.", "Write it in ISO 8601, or as seconds since 1970.") from error


def _plain(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """The value as JSON can hold it, whatever it is: objects as their text, and nothing that holds itself."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if len(inside) == DEEPEST or id(value) in inside:
        return "…"
    if isinstance(value, Mapping):
        return {_text(key): _plain(each, (*inside, id(value))) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, (*inside, id(value))) for each in value]
    return _text(value)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # whatever somebody's object does: it must not cost the conversation
        return f"<{type(value).__name__}>"


def _unread(value: Any) -> BadRequest:
    return BadRequest(f"A conversation cannot be read from {_text(value)[:60]!r}.", "Send what to_dict() gave.")
