"""What the turns of a library say of it: how people ask, where they get stuck, and what the library lacks."""

from __future__ import annotations

import dataclasses
import math
import random
from array import array
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from statistics import median
from typing import Any

from turnwise.text import content_stems
from turnwise.types import DocumentInfo

Row = dict[str, Any]

LISTED = 200  # rows of a list that may be as long as the library
LINKS = 24  # ways from one topic to another that are shown
SAMPLE = 100_000  # times of a stage that are kept; of more, a fair sample
OPEN = 50_000  # conversations that are followed at once
DIFFERENT = 5_000  # topics, ways between them and questions that are told apart
ALIKE = 0.6  # share of their words from which two questions are one
SAID_AGAIN = 0.5  # share of an answer from which it counts as a repetition
LONGEST = 3_660  # days of a series
LEVELS = {"confused": 0.0, "knows_basics": 1.0, "advanced": 2.0}


_DAY = "day turns conversations follow_ups switches answered unanswered failed blocked interrupted repeated up down"
COLUMNS = {  # of each table
    "days": _DAY.split(),
    "condense": ["method", "turns"],
    "follow_up": ["kind", "turns"],
    "intents": ["intent", "turns"],
    "phases": ["phase", "turns"],
    "languages": ["language", "turns"],
    "moods": ["mood", "turns"],
    "flow": ["from", "to", "turns"],
    "topics": ["topic", "turns", "unanswered"],
    "learning": ["topic", "conversations", "first", "last", "confused", "learned", "turns"],
    "unanswered": ["question", "count", "first", "last", "conversation_id", "number", "also"],
    "cited": ["source", "title", "turns", "last", "collection"],
    "uncited": ["source", "title", "collection", "added_at"],
    "guard": ["rail", "blocked", "redacted", "warned"],
    "errors": ["code", "turns"],
    "latency": ["stage", "turns", "p50", "p95"],
    "models": ["model", "turns", "prompt_tokens", "answer_tokens"],
    "feedback": ["rating", "comment", "question", "conversation_id", "number", "at"],
}


@dataclass(frozen=True, slots=True)
class Report:
    """What was counted. `totals` is one row, each other field a table of rows (see COLUMNS); times are seconds since
    1970, and what cannot be told (a share of nothing) is None."""

    totals: Row
    days: list[Row]
    condense: list[Row]
    follow_up: list[Row]
    intents: list[Row]
    phases: list[Row]
    languages: list[Row]
    moods: list[Row]
    flow: list[Row]
    topics: list[Row]
    learning: list[Row]
    unanswered: list[Row]
    cited: list[Row]
    uncited: list[Row]
    guard: list[Row]
    errors: list[Row]
    latency: list[Row]  # milliseconds
    models: list[Row]
    feedback: list[Row]

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def tables(cls) -> tuple[str, ...]:
        return tuple(each.name for each in dataclasses.fields(cls))


def report(
    facts: Iterable[Mapping[str, Any]],
    documents: Iterable[DocumentInfo] = (),
    collection: str | None = None,
    since: float | None = None,
    until: float | None = None,
    zone: tzinfo = UTC,
) -> Report:
    """What turns say, read once, oldest first, as a store gives them. With a collection only those count that cite a
    document of it or looked in it. The days are those of the zone, without gaps, from `since` to `until` where they are
    given."""
    shelf = {each.source: each for each in documents if collection is None or each.collection == collection}
    tally = Tally(zone)
    for fact in facts:
        if collection is None or _belongs(fact, shelf, collection):
            tally.add(fact)
    return tally.report(shelf, since, until)


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The value below which a share of sorted values lies, between two of them where it falls there."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low, part = int(place), place - int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * part


def as_csv(rows: Sequence[Row], columns: Sequence[str] = ()) -> str:
    """A table for a spreadsheet, with at least these columns. What one would take for a formula is marked as text;
    times are written out."""
    names = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
    lines = [names, *([_cell(name, row.get(name)) for name in names] for row in rows)]
    return "".join(",".join(map(_quoted, line)) + "\r\n" for line in lines if names)


class Tally:
    """Turns being counted, one after another."""

    def __init__(self, zone: tzinfo = UTC) -> None:
        self._zone = zone
        self._users: set[str] = set()
        self._threads: OrderedDict[str, _Thread] = OrderedDict()
        self._days: dict[date, _Day] = {}
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._topics: Counter[str] = Counter()
        self._missed: Counter[str] = Counter()  # topics with a question that was not answered
        self._flow: Counter[tuple[str, str]] = Counter()
        self._learning: dict[str, _Learning] = {}
        self._questions = _Questions()
        self._cited: dict[str, Row] = {}
        self._rails: dict[str, Counter[str]] = defaultdict(Counter)
        self._times: dict[str, _Times] = defaultdict(_Times)
        self._models: dict[str, Row] = {}
        self._feedback: OrderedDict[tuple[str, int], Row] = OrderedDict()

    def add(self, fact: Mapping[str, Any]) -> None:
        """Count one turn; those of a conversation come in their order."""
        at, conversation_id = float(fact.get("created_at") or 0.0), str(fact.get("conversation_id") or "")
        self._users.add(str(fact.get("user") or ""))
        day = self._days.setdefault(datetime.fromtimestamp(at, self._zone).date(), _Day())
        day.add(fact, conversation_id)
        self._count(fact)
        self._follow(fact, conversation_id)
        for source, title in fact.get("cited") or ():
            row = self._cited.setdefault(source, {"source": source, "title": title, "turns": 0, "last": at})
            row.update(turns=row["turns"] + 1, last=at, title=title or row["title"])
        for rail, action in (fact.get("rails") or {}).items():
            self._rails[rail][action] += 1
        times = fact.get("ms") or {}
        for stage, ms in times.items():
            self._times[stage].add(ms)
        if times:
            self._times["whole turn"].add(sum(times.values()))
        if model := fact.get("model"):
            empty = {"model": model, "turns": 0, "prompt_tokens": 0, "answer_tokens": 0}
            row = self._models.setdefault(model, empty)
            row["turns"] += 1
            row["prompt_tokens"] += fact.get("prompt_tokens") or 0
            row["answer_tokens"] += fact.get("answer_tokens") or 0
        if said := fact.get("feedback"):
            self._heard(said, fact, at, conversation_id)

    def _count(self, fact: Mapping[str, Any]) -> None:
        for name in ("intent", "phase", "language", "mood", "condensed"):
            if value := fact.get(name):
                self._counts[name][value] += 1
        if fact.get("status") == "failed":
            self._counts["error"][fact.get("error") or "Unknown"] += 1
        if fact.get("intent"):
            kind = fact.get("follow_up_type") if fact.get("follow_up") else "none"
            self._counts["follow_up"][kind or "pattern"] += 1

    def _follow(self, fact: Mapping[str, Any], conversation_id: str) -> None:
        """What only the course of a conversation shows: where it went from a topic, and what was learned."""
        thread = self._threads.pop(conversation_id, None) or _Thread()
        self._threads[conversation_id] = thread
        if len(self._threads) > OPEN:
            self._threads.popitem(last=False)
        topic = str(fact.get("topic") or "")
        if topic:
            self._topics[topic] += 1
            if thread.topic and thread.topic != topic:
                self._flow[thread.topic, topic] += 1
            thread.topic = topic
        if fact.get("abstained"):
            self._missed[topic] += 1
            self._questions.add(fact)
        number = int(fact.get("number") or 0)
        for about, level in (fact.get("levels") or {}).items():
            if level in LEVELS:
                before = thread.levels.get(about)
                thread.levels[about] = level
                self._learn(about, level, before, number, thread)
        for counter in (self._topics, self._missed, self._flow):
            _prune(counter)

    def _learn(self, topic: str, level: str, before: str | None, number: int, thread: _Thread) -> None:
        learning = self._learning.get(topic)
        if learning is None:
            if len(self._learning) >= DIFFERENT:
                return
            learning = self._learning[topic] = _Learning()
        if before is None:
            learning.conversations += 1
            learning.first += LEVELS[level]
            learning.last += LEVELS[level]
        else:
            learning.last += LEVELS[level] - LEVELS[before]
        if level == "confused" and topic not in thread.stuck:
            learning.confused += topic not in thread.learned
            thread.stuck[topic] = number
        elif level != "confused" and topic in thread.stuck:
            began = thread.stuck.pop(topic)
            if topic not in thread.learned:
                thread.learned.add(topic)
                learning.turns.append(max(1, number - began))

    def _heard(self, said: Mapping[str, Any], fact: Mapping[str, Any], at: float, conversation_id: str) -> None:
        number = int(fact.get("number") or 0)
        row = {
            "rating": str(said.get("rating") or ""),
            "comment": str(said.get("comment") or ""),
            "question": str(fact.get("query") or ""),
            "conversation_id": conversation_id,
            "number": number,
            "at": at,
        }
        if row["comment"] or row["rating"] == "down":  # what can be learned from
            self._feedback[conversation_id, number] = row
            if len(self._feedback) > LISTED:
                self._feedback.popitem(last=False)

    def report(
        self, shelf: Mapping[str, DocumentInfo] | None = None, since: float | None = None, until: float | None = None
    ) -> Report:
        """All that was counted so far, beside the documents that there are, by their sources."""
        shelf = shelf or {}
        uncited = [each for source, each in shelf.items() if source not in self._cited and not each.attached]
        learning = [_learned(topic, each) for topic, each in self._learning.items()]
        return Report(
            totals=self._totals(len(shelf), len(uncited)),
            days=self._series(since, until),
            condense=_rows("method", self._counts["condensed"]),
            follow_up=_rows("kind", self._counts["follow_up"]),
            intents=_rows("intent", self._counts["intent"]),
            phases=_rows("phase", self._counts["phase"]),
            languages=_rows("language", self._counts["language"]),
            moods=_rows("mood", self._counts["mood"]),
            flow=[{"from": one, "to": other, "turns": n} for (one, other), n in self._flow.most_common(LINKS)],
            topics=[
                {"topic": topic, "turns": turns, "unanswered": self._missed[topic]}
                for topic, turns in self._topics.most_common(LISTED)
            ],
            learning=sorted(learning, key=lambda row: (-row["confused"], -row["conversations"], row["topic"]))[:LISTED],
            unanswered=self._questions.rows(),
            cited=[
                {**row, "collection": shelf[row["source"]].collection if row["source"] in shelf else ""}
                for row in sorted(self._cited.values(), key=lambda row: (-row["turns"], row["title"]))[:LISTED]
            ],
            uncited=[
                {"source": each.source, "title": each.title, "collection": each.collection, "added_at": each.added_at}
                for each in sorted(uncited, key=lambda each: (each.title, each.source))[:LISTED]
            ],
            guard=sorted(
                (
                    {"rail": rail, "blocked": done["block"], "redacted": done["redact"], "warned": done["warn"]}
                    for rail, done in self._rails.items()
                ),
                key=lambda row: (-row["blocked"], -row["redacted"], -row["warned"], row["rail"]),
            ),
            errors=_rows("code", self._counts["error"]),
            latency=[each.row(stage) for stage, each in self._times.items()],
            models=sorted(self._models.values(), key=lambda row: (-row["turns"], row["model"])),
            feedback=list(reversed(self._feedback.values())),
        )

    def _totals(self, documents: int, uncited: int) -> Row:
        day, learned = _summed(self._days.values()), list(self._learning.values())
        read = self._counts["follow_up"].total()
        confused = sum(each.confused for each in learned)
        reached = sum(len(each.turns) for each in learned)
        return {
            "turns": day.turns,
            "conversations": len(day.conversations),
            "users": len(self._users),
            "answered": day.answered,
            "failed": day.failed,
            "blocked": day.blocked,
            "interrupted": day.interrupted,
            "searched": day.searched,
            "unanswered": day.unanswered,
            "follow_ups": day.follow_ups,
            "follow_up_share": _share(day.follow_ups, read),
            "context_switches": day.switches,
            "switch_share": _share(day.switches, read),
            "edited": day.edited,
            "edited_share": _share(day.edited, read),
            "claims": day.claims,
            "borne_out": day.borne_out,
            "borne_out_share": _share(day.borne_out, day.claims),
            "repeated": day.mean_repeated,
            "repetitions": day.repetitions,
            "confused": confused,
            "learned": reached,
            "learned_share": _share(reached, confused),
            "turns_to_learn": median(turns) if (turns := [n for each in learned for n in each.turns]) else None,
            "up": day.up,
            "down": day.down,
            "documents": documents,
            "uncited": uncited,
            "prompt_tokens": sum(row["prompt_tokens"] for row in self._models.values()),
            "answer_tokens": sum(row["answer_tokens"] for row in self._models.values()),
        }

    def _series(self, since: float | None, until: float | None) -> list[Row]:
        seen = list(self._days)
        if since is not None:
            seen.append(datetime.fromtimestamp(since, self._zone).date())
        if until is not None and (seen or since is not None):
            seen.append(datetime.fromtimestamp(max(since or 0.0, until - 1), self._zone).date())
        if not seen:
            return []
        last = max(seen)
        first = max(min(seen), last - timedelta(days=LONGEST - 1))
        days = (first + timedelta(days=place) for place in range((last - first).days + 1))
        return [self._days.get(each, _Day()).row(each) for each in days]


@dataclass(slots=True)
class _Day:
    """Counts of a day, or of all."""

    turns: int = 0
    answered: int = 0
    failed: int = 0
    blocked: int = 0
    interrupted: int = 0
    searched: int = 0
    unanswered: int = 0
    follow_ups: int = 0
    switches: int = 0
    edited: int = 0
    claims: int = 0
    borne_out: int = 0
    compared: int = 0
    repeated: float = 0.0
    repetitions: int = 0
    up: int = 0
    down: int = 0
    conversations: set[str] = field(default_factory=set)

    def add(self, fact: Mapping[str, Any], conversation_id: str) -> None:
        self.turns += 1
        self.conversations.add(conversation_id)
        status = fact.get("status")
        self.answered += status == "answered"
        self.failed += status == "failed"
        self.blocked += status == "blocked"
        self.interrupted += status == "interrupted"
        self.searched += bool(fact.get("searched"))
        self.unanswered += bool(fact.get("abstained"))
        self.follow_ups += bool(fact.get("follow_up"))
        self.switches += bool(fact.get("topic_changed"))
        self.edited += bool(fact.get("edited"))
        self.claims += fact.get("claims") or 0
        self.borne_out += fact.get("borne_out") or 0
        repeated = fact.get("repeated")
        if repeated is not None:
            self.compared += 1
            self.repeated += repeated
            self.repetitions += repeated >= SAID_AGAIN
        rating = (fact.get("feedback") or {}).get("rating")
        self.up += rating == "up"
        self.down += rating == "down"

    @property
    def mean_repeated(self) -> float | None:
        return _share(self.repeated, self.compared)

    def row(self, day: date) -> Row:
        return {
            "day": day.isoformat(),
            "turns": self.turns,
            "conversations": len(self.conversations),
            "follow_ups": self.follow_ups,
            "switches": self.switches,
            "answered": self.answered,
            "unanswered": self.unanswered,
            "failed": self.failed,
            "blocked": self.blocked,
            "interrupted": self.interrupted,
            "repeated": self.mean_repeated,
            "up": self.up,
            "down": self.down,
        }


def _summed(days: Iterable[_Day]) -> _Day:
    total = _Day()
    for day in days:
        for name in _Day.__slots__:
            if name != "conversations":
                setattr(total, name, getattr(total, name) + getattr(day, name))
        total.conversations |= day.conversations
    return total


@dataclass(slots=True)
class _Thread:
    """Where a conversation stands: its topic, what is known of topics, since which turn its user is stuck at one."""

    topic: str = ""
    levels: dict[str, str] = field(default_factory=dict)
    stuck: dict[str, int] = field(default_factory=dict)
    learned: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Learning:
    """What became of a topic in the conversations on it: sums of the first and last levels; and how many turns it took
    those who were confused to know the basics."""

    conversations: int = 0
    first: float = 0.0
    last: float = 0.0
    confused: int = 0
    turns: list[int] = field(default_factory=list)


class _Times:
    """How long a stage took, each time: a fair sample where there are too many to keep."""

    def __init__(self) -> None:
        self._kept = array("d")
        self._seen = 0
        self._chance = random.Random(0)

    def add(self, ms: float) -> None:
        self._seen += 1
        if len(self._kept) < SAMPLE:
            self._kept.append(ms)
        elif (place := self._chance.randrange(self._seen)) < SAMPLE:
            self._kept[place] = ms

    def row(self, stage: str) -> Row:
        ordered = sorted(self._kept)
        return {
            "stage": stage,
            "turns": self._seen,
            "p50": percentile(ordered, 0.5),
            "p95": percentile(ordered, 0.95),
        }


class _Questions:
    """Questions that the library did not answer, those in much the same words as one."""

    def __init__(self) -> None:
        self._groups: dict[int, Row] = {}
        self._words: dict[int, frozenset[str]] = {}
        self._with: dict[str, set[int]] = defaultdict(set)
        self._next = 0

    def add(self, fact: Mapping[str, Any]) -> None:
        question = str(fact.get("query") or "")
        stems = frozenset(content_stems(question)) or frozenset(question.lower().split())
        at = float(fact.get("created_at") or 0.0)
        where = {"conversation_id": str(fact.get("conversation_id") or ""), "number": int(fact.get("number") or 0)}
        if not stems:
            return
        group = self._nearest(stems)
        if group is None:
            self._groups[self._next] = {"question": question, "count": 1, "first": at, "last": at, **where, "also": []}
            self._words[self._next] = stems
            for each in stems:
                self._with[each].add(self._next)
            self._next += 1
            if len(self._groups) > DIFFERENT:
                self._forget()
            return
        row = self._groups[group]
        if question != row["question"] and question not in row["also"] and len(row["also"]) < 3:
            row["also"].append(question)
        row.update(count=row["count"] + 1, last=at, **where)

    def _nearest(self, stems: frozenset[str]) -> int | None:
        shared = Counter(group for each in stems for group in self._with.get(each, ()))
        alike = [(n / len(stems | self._words[group]), -group) for group, n in shared.items()]
        best = max(alike, default=(0.0, 0))
        return -best[1] if best[0] >= ALIKE else None

    def _forget(self) -> None:
        """Let go of a tenth: what was asked least, the oldest first."""
        rarest = sorted(self._groups, key=lambda group: (self._groups[group]["count"], self._groups[group]["last"]))
        for group in rarest[: DIFFERENT // 10]:
            for each in self._words.pop(group):
                self._with[each].discard(group)
                if not self._with[each]:
                    del self._with[each]
            del self._groups[group]

    def rows(self) -> list[Row]:
        return sorted(self._groups.values(), key=lambda row: (-row["count"], -row["last"]))[:LISTED]


def _belongs(fact: Mapping[str, Any], shelf: Mapping[str, DocumentInfo], collection: str) -> bool:
    cites = any(source in shelf for source, _ in fact.get("cited") or ())
    return cites or collection in (fact.get("collections") or ())


def _rows(name: str, counts: Counter[str]) -> list[Row]:
    return [{name: each, "turns": turns} for each, turns in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]


def _learned(topic: str, each: _Learning) -> Row:
    return {
        "topic": topic,
        "conversations": each.conversations,
        "first": _share(each.first, each.conversations),
        "last": _share(each.last, each.conversations),
        "confused": each.confused,
        "learned": len(each.turns),
        "turns": median(each.turns) if each.turns else None,
    }


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _prune(counter: Counter[Any]) -> None:
    if len(counter) > 2 * DIFFERENT:
        kept = counter.most_common(DIFFERENT)
        counter.clear()
        counter.update(dict(kept))


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in ("first", "last", "at", "added_at") and isinstance(value, float) and value > 1e8:
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")
    if isinstance(value, list):
        return _text(" | ".join(map(str, value)))
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value.is_integer() else repr(round(value, 4))
    return str(value) if isinstance(value, int) else _text(str(value))


def _text(value: str) -> str:
    """Words as they stand, behind an apostrophe where a spreadsheet would run them."""
    return f"'{value}" if value.lstrip().startswith(("=", "+", "-", "@")) or value[:1] in ("\t", "\r") else value


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\r\n') else cell
