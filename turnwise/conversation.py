"""A conversation: turns of a prompt and its response. Usable without the rest of Turnwise."""

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
from turnwise.limits import Decision, Limit, Spent, spend
from turnwise.types import Message, Reference, Source

TurnStatus = Literal["pending", "answered", "blocked", "failed", "interrupted"]
MAX_METADATA_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and its response. The response is None until there is one; the prompt is None if the assistant spoke
    first. A time may be a number (seconds since 1970) or a datetime; a naive datetime is taken as UTC."""

    prompt: str | None
    response: str | None = None
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    metadata: dict[str, Any] = field(default_factory=dict)
    number: int = 0  # its position in the conversation, from 1; 0 if it is in none
    status: TurnStatus = "pending"
    sources: tuple[Source, ...] = ()
    record: dict[str, Any] = field(default_factory=dict)  # the reply as JSON: condensed_query, follow_up, state, trace
    error: dict[str, Any] | None = None
    evidence: tuple[Source, ...] = ()  # the passages sent to the model with the prompt
    note: str = ""  # anything else the model was told

    def __post_init__(self) -> None:
        for name in ("prompt", "response"):
            if not isinstance(text := getattr(self, name), str | None):
                raise BadRequest(
                    f"The {name} of a turn should be text, not {_text(text)[:80]!r}.", "Give it as a string."
                )
        if self.status not in get_args(TurnStatus):
            known = ", ".join(get_args(TurnStatus))
            raise BadRequest(f"{_text(self.status)[:80]!r} is no status of a turn.", f"Use one of {known}.")
        object.__setattr__(self, "timestamp", moment(self.timestamp))
        if self.status == "pending" and self.response is not None:
            object.__setattr__(self, "status", "answered")

    @property
    def complete(self) -> bool:
        return self.response is not None

    def to_dict(self) -> dict[str, Any]:
        """The turn as JSON values; anything JSON cannot hold becomes a string. `from_dict` reads it back."""
        values = {name: getattr(self, name) for name in _TURN_FIELDS}
        for name in ("metadata", "record", "error"):
            values[name] = _as_json(values[name])
        for name in ("sources", "evidence"):
            values[name] = [_source_dict(source) for source in values[name]]
        return {**values, "timestamp": self.timestamp.isoformat()}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Turn:
        """The turn that `to_dict` returned, possibly through JSON. Raises BadRequest for anything else."""
        values = _check_fields(told, _TURN_FIELDS)
        if values.get("status", "pending") not in get_args(TurnStatus):
            raise _unreadable(values["status"])
        try:
            for name in ("sources", "evidence"):
                values[name] = tuple(Source.from_dict(source) for source in values.get(name, ()))
            if "timestamp" in values:
                values["timestamp"] = _parse_time(values["timestamp"])
            return cls(**values)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise _unreadable(dict(told)) from error


class Conversation:
    """Turns, oldest first, and the user they belong to. A blocked prompt is kept, but never becomes context."""

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
        self.created_at = moment(created_at) if created_at is not None else self._first_timestamp()
        self.last_activity = moment(last_activity) if last_activity is not None else self._last_timestamp()
        self.rate_limit = Limit.parse(rate_limit) if isinstance(rate_limit, str) else rate_limit

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conversation) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # it is mutable

    def add_turn(
        self,
        prompt: str | None,
        response: str | None = None,
        timestamp: datetime | float | None = None,
        metadata: dict[str, Any] | None = None,
        status: TurnStatus = "pending",
    ) -> Turn:
        """Append a turn; without a prompt, it is one that the assistant started."""
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
        """Complete the last turn. Raises ValueError if no prompt is waiting for a response."""
        waiting = self.waiting
        if waiting is None:
            raise ValueError(
                "No prompt waits for a response. Add the prompt first, or use add_turn(None, response) if the "
                "assistant speaks unasked."
            )
        merged = {**waiting.metadata, **(metadata or {})}
        answered = dataclasses.replace(waiting, response=response, metadata=merged, status="answered")
        self.turns[-1] = answered
        self.last_activity = max(self.last_activity, datetime.now(UTC))
        return answered

    def get_history(self, limit: int | None = None) -> list[Turn]:
        """The last `limit` turns, or all of them, oldest first, including blocked ones."""
        if limit is not None and limit < 0:
            raise ValueError(f"The limit cannot be {limit}: it is 0 or more.")
        return self.turns[max(0, len(self.turns) - limit) :] if limit is not None else list(self.turns)

    def get_complete_turns(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.complete]

    def get_incomplete_turns(self) -> list[Turn]:
        """The turns without a response: the one that is waiting for it, and those that were blocked or failed."""
        return [turn for turn in self.turns if not turn.complete]

    def get_turn_count(self) -> int:
        return len(self.turns)

    def get_complete_turn_count(self) -> int:
        return len(self.get_complete_turns())

    def get_duration(self) -> timedelta:
        """The time from the start to the last activity."""
        return max(self.last_activity - self.created_at, timedelta(0))

    @property
    def waiting(self) -> Turn | None:
        """The last turn if it is waiting for its response, else None."""
        return self.turns[-1] if self.turns and self.turns[-1].status == "pending" else None

    def check_rate_limit(self, another: bool = False) -> Decision:
        """Whether the waiting prompt, or the next one if none is waiting, is within the limit. With `another`, whether
        the next one is, even if one is waiting. This does not count as a message itself.

        Every turn with a prompt counts once, blocked ones too; a refused one does not. A turn with a timestamp in the
        future does not count, so that setting the clock back locks nobody out.
        """
        if self.rate_limit is None:
            return Decision(True)
        now = _microseconds(datetime.now(UTC))
        prompted = [turn for turn in self.turns if turn.prompt is not None]
        is_waiting = not another and bool(prompted) and prompted[-1] is self.waiting
        at = min(_microseconds(prompted.pop().timestamp), now) if is_waiting else now
        spent = _spend_at(self.rate_limit, prompted, at, now)
        return Decision(spent.wait == 0, "conversation", self.rate_limit, spent.wait / 1e6, spent.remaining)

    def refused(self, waiting: bool = False) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The blocked prompts, and for each the number of `messages` before it. Prompts whose answer was blocked are
        not included."""
        prompts, positions, before = [], [], 0
        for turn in self.turns:
            of_answer = turn.metadata.get("blocked") == "output" or (turn.error or {}).get("code") == "AnswerBlocked"
            if turn.status == "blocked" and turn.prompt is not None and not of_answer:
                prompts.append(turn.prompt)
                positions.append(before)
            elif turn.status != "blocked" and (waiting or turn.status != "pending"):
                before += (turn.prompt is not None) + bool(turn.status == "answered" and turn.response)
        return tuple(prompts), tuple(positions)

    def messages(self, waiting: bool = False) -> tuple[Message, ...]:
        """The history for a new turn; `waiting` includes prompts without a response yet. Blocked prompts are left out,
        prompts whose turn failed are not."""
        messages: list[Message] = []
        for turn in self.turns:
            if turn.status == "blocked" or (turn.status == "pending" and not waiting):
                continue
            at = turn.timestamp.timestamp()
            if turn.prompt is not None:
                messages.append(Message("user", turn.prompt, at=at, evidence=turn.evidence, note=turn.note))
            if turn.status == "answered" and turn.response:
                metadata = {name: value for name, value in turn.metadata.items() if name != "feedback"}
                messages.append(Message("assistant", turn.response, turn.sources, at, metadata))
        return tuple(messages)

    def to_dict(self) -> dict[str, Any]:
        """The conversation as JSON values; anything JSON cannot hold becomes a string. `from_dict` reads it back."""
        return {
            "id": self.id,
            "user_id": self.user_id,
            "metadata": _as_json(self.metadata),
            "turns": [turn.to_dict() for turn in self.turns],
            "created_at": self.created_at.isoformat(),
            "last_activity": self.last_activity.isoformat(),
            "rate_limit": None if self.rate_limit is None else str(self.rate_limit),
        }

    def to_markdown(self) -> str:
        """The conversation as Markdown: each question, its answer, and the sources it cites. HTML and images are
        written as text, so that no viewer runs or loads anything."""
        title = str(self.metadata.get("title") or "Conversation")
        parts = [f"# {_escape(' '.join(title.split()))}", f"*{self.created_at:%Y-%m-%d %H:%M %Z}*"]
        for turn in self.turns:
            if turn.prompt is not None:
                parts.append("\n".join(f"> {line}".rstrip() for line in _safe_markdown(turn.prompt).splitlines()))
            if turn.response:
                parts.append(_safe_markdown(turn.response))
            if turn.sources:
                parts.append("Sources:")
                parts.append("\n".join(_source_line(source) for source in turn.sources))
            if not turn.response or turn.status != "answered":
                reason = str((turn.error or {}).get("message") or "")
                parts.append(f"*({turn.status}{': ' if reason else ''}{_escape(reason)})*")
        return "\n\n".join(parts) + "\n"

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Conversation:
        """The conversation that `to_dict` returned, possibly through JSON. Raises BadRequest for anything else."""
        values = _check_fields(told, _CONVERSATION_FIELDS)
        for name in ("created_at", "last_activity"):
            values[name] = None if values.get(name) is None else _parse_time(values[name])
        return cls(**{**values, "turns": [Turn.from_dict(turn) for turn in values.get("turns", ())]})

    def _first_timestamp(self) -> datetime:
        return min((turn.timestamp for turn in self.turns), default=datetime.now(UTC))

    def _last_timestamp(self) -> datetime:
        return max((turn.timestamp for turn in self.turns), default=self.created_at)


_CODE = re.compile(
    r"^ {0,3}(?P<ticks>`{3,})[^`\n]*(?:\n|\Z)(?:.*?(?P<closed>^ {0,3}(?P=ticks)`*[ \t]*$)|.*)"
    r"|^ {0,3}(?P<waves>~{3,})[^\n]*(?:\n|\Z)(?:.*?(?P<ended>^ {0,3}(?P=waves)~*[ \t]*$)|.*)"
    r"|(?<![`\\])(?P<inline>`+)(?!`)[^\n]*?(?<!`)(?P=inline)(?!`)",
    re.M | re.S,
)
_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_IMAGE = re.compile(r"!(?=\[)")
_LINK = re.compile(r"\](?=[(:])(?![(:]\s*(?:https?://|mailto:|#))")  # links to anything but pages, such as scripts


def _safe_markdown(text: str) -> str:
    """Markdown in which HTML, images and links that run something show as text. Code stays as it is, and unclosed code
    blocks are closed."""
    text, pieces, end = "\n".join(text.strip().splitlines()), [], 0
    for code in _CODE.finditer(text):
        fence = code["ticks"] or code["waves"]
        rest = f"\n{fence}" if fence and not (code["closed"] or code["ended"]) else ""
        pieces += [_neutralize(text[end : code.start()]), code[0], rest]
        end = code.end()
    return "".join([*pieces, _neutralize(text[end:])])


def _neutralize(text: str) -> str:
    return _LINK.sub("&#93;", _IMAGE.sub("&#33;", _HTML.sub("&lt;", text)))


def _escape(text: str) -> str:
    """The text with all Markdown escaped."""
    return re.sub(r"([\\`*_\[\]<>#|!~])", r"\\\1", text)


def _source_dict(source: Source) -> dict[str, Any]:
    """Like dataclasses.asdict, without copying every text: an export has tens of thousands."""
    values = {name: getattr(source, name) for name in _SOURCE_FIELDS}
    reference = source.reference
    return {**values, "reference": dataclasses.asdict(reference) if isinstance(reference, Reference) else reference}


def _source_line(source: Source) -> str:
    """A source as one item of a list: its number, title, page and heading."""
    where = [f"p. {source.page}" if source.page is not None else "", source.heading]
    line = ", ".join(_escape(" ".join(part.split())) for part in (source.title or source.source, *where) if part)
    return f"- \\[{source.number}\\] {line}"


def moment(at: datetime | float) -> datetime:
    """A datetime with a time zone, from a datetime or seconds since 1970. Raises ValueError if there is no such
    time."""
    if isinstance(at, datetime):
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    if isinstance(at, bool) or not isinstance(at, int | float):
        raise ValueError(f"{at!r} is not a time: give a datetime, or seconds since 1970.")
    try:
        return datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{at!r} is not a time: {error}.") from error


def _spend_at(limit: Limit, earlier: list[Turn], at: int, now: int) -> Spent:
    """The result of spending one more message at that moment, after the earlier ones."""
    counted: list[int] = []
    for turn in reversed(earlier):
        moment = _microseconds(turn.timestamp)
        if moment > now:
            continue
        if moment + limit.whole <= (counted[-1] if counted else at):
            break  # the whole allowance was back before the next message
        counted.append(moment)
    whole_at = 0
    for index, each in enumerate(reversed(counted)):
        whole_at = spend(each if index == 0 else whole_at, each, limit).whole_at
    return spend(whole_at if counted else at, at, limit)


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


_EPOCH = datetime.fromtimestamp(0, UTC)
_TEXT, _LIST, _TIME = (str, type(None)), (list, tuple), (str, int, float, type(None))
_TURN_FIELDS: dict[str, Any] = {  # field: allowed types
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
_SOURCE_FIELDS = tuple(each.name for each in dataclasses.fields(Source))
_CONVERSATION_FIELDS: dict[str, Any] = {
    "id": _TEXT,
    "user_id": _TEXT,
    "metadata": (dict, type(None)),
    "turns": _LIST,
    "created_at": _TIME,
    "last_activity": _TIME,
    "rate_limit": _TEXT,
}


def _check_fields(values: Any, types: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise _unreadable(values)
    for name, value in values.items():
        if name not in types or not isinstance(value, types[name]):
            raise _unreadable({name: value})
    return dict(values)


def _parse_time(at: Any) -> datetime:
    """A time from JSON."""
    try:
        return moment(datetime.fromisoformat(at) if isinstance(at, str) else at)
    except ValueError as error:
        raise BadRequest(f"{at!r} is not a time.", "Write it in ISO 8601, or as seconds since 1970.") from error


def _as_json(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """Any value as JSON values: other objects become strings, and a value inside itself becomes "…"."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if len(inside) == MAX_METADATA_DEPTH or id(value) in inside:
        return "…"
    if isinstance(value, Mapping):
        return {_text(key): _as_json(each, (*inside, id(value))) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_as_json(each, (*inside, id(value))) for each in value]
    return _text(value)


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # a broken __str__ of a user's object must not lose the conversation
        return f"<{type(value).__name__}>"


def _unreadable(value: Any) -> BadRequest:
    return BadRequest(f"A conversation cannot be read from {_text(value)[:60]!r}.", "Send what to_dict() returned.")
