"""Analytics over the turns of a library: how people ask, where they get stuck, and what the library lacks."""

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

from turnwise.documents.uploads import is_attached
from turnwise.text import content_stems
from turnwise.types import DocumentInfo

Row = dict[str, Any]

MAX_ROWS = 200  # per table
MAX_LINKS = 24  # transitions between topics shown
SAMPLE_SIZE = 100_000  # latencies per stage; with more, a random sample is kept
MAX_CONVERSATIONS = 50_000  # followed at once
MAX_DISTINCT = 5_000  # topics, transitions or questions tracked
SAME_QUESTION_SHARE = 0.6  # of their words, for two questions to count as one
REPETITION_SHARE = 0.5  # of an answer, for it to count as a repetition
MAX_DAYS = 3_660  # in the series of days
LEVELS = {"confused": 0.0, "knows_basics": 1.0, "advanced": 2.0}


_DAY = "day turns conversations follow_ups switches answered unanswered failed blocked interrupted repeated up down"
COLUMNS = {  # by table
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
    """The counts. `totals` is one row, each other field a table of rows (see COLUMNS). Times are seconds since 1970; a
    share of nothing is None."""

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
    """A report on the facts of turns, which are read once, oldest first, as a store returns them. With a collection,
    only turns count that cite a document in it or searched in it. The days are those of the zone, without gaps, from
    `since` to `until` if given."""
    by_source = {each.source: each for each in documents if collection is None or each.collection == collection}
    tally = Tally(zone)
    for fact in facts:
        if collection is None or _is_in_collection(fact, by_source, collection):
            tally.add(fact)
    return tally.report(by_source, since, until)


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The percentile of sorted values, with linear interpolation, or None if there are none."""
    if not ordered:
        return None
    position = share * (len(ordered) - 1)
    low, part = int(position), position - int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * part


def as_csv(rows: Sequence[Row], columns: Sequence[str] = ()) -> str:
    """A table as CSV, with at least these columns. Cells that a spreadsheet would take for formulas are marked as text;
    times are in ISO 8601."""
    names = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
    lines = [names, *([_cell(name, row.get(name)) for name in names] for row in rows)]
    return "".join(",".join(map(_quote, line)) + "\r\n" for line in lines if names)


class Tally:
    """Counts turns, one after another."""

    def __init__(self, zone: tzinfo = UTC) -> None:
        self._zone = zone
        self._users: set[str] = set()
        self._threads: OrderedDict[str, _Thread] = OrderedDict()
        self._days: dict[date, _Day] = {}
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._topics: Counter[str] = Counter()
        self._unanswered: Counter[str] = Counter()  # unanswered questions by topic
        self._flow: Counter[tuple[str, str]] = Counter()
        self._learning: dict[str, _Learning] = {}
        self._questions = _Questions()
        self._cited: dict[str, Row] = {}
        self._rails: dict[str, Counter[str]] = defaultdict(Counter)
        self._latency: dict[str, _Latency] = defaultdict(_Latency)
        self._models: dict[str, Row] = {}
        self._feedback: OrderedDict[tuple[str, int], Row] = OrderedDict()

    def add(self, fact: Mapping[str, Any]) -> None:
        """Count one turn. The turns of a conversation must come in order."""
        at, conversation_id = float(fact.get("created_at") or 0.0), str(fact.get("conversation_id") or "")
        self._users.add(str(fact.get("user") or ""))
        day = self._days.setdefault(datetime.fromtimestamp(at, self._zone).date(), _Day())
        day.add(fact, conversation_id)
        self._count(fact)
        self._follow_conversation(fact, conversation_id)
        for source, title in fact.get("cited") or ():
            if is_attached(source):  # it is no document of the library, and its title is for its conversation alone
                continue
            row = self._cited.setdefault(source, {"source": source, "title": title, "turns": 0, "last": at})
            row.update(turns=row["turns"] + 1, last=at, title=title or row["title"])
        for rail, action in (fact.get("rails") or {}).items():
            self._rails[rail][action] += 1
        times = fact.get("ms") or {}
        for stage, ms in times.items():
            self._latency[stage].add(ms)
        if times:
            self._latency["whole turn"].add(sum(times.values()))
        if model := fact.get("model"):
            empty = {"model": model, "turns": 0, "prompt_tokens": 0, "answer_tokens": 0}
            row = self._models.setdefault(model, empty)
            row["turns"] += 1
            row["prompt_tokens"] += fact.get("prompt_tokens") or 0
            row["answer_tokens"] += fact.get("answer_tokens") or 0
        if feedback := fact.get("feedback"):
            self._add_feedback(feedback, fact, at, conversation_id)

    def _count(self, fact: Mapping[str, Any]) -> None:
        for name in ("intent", "phase", "language", "mood", "condensed"):
            if value := fact.get(name):
                self._counts[name][value] += 1
        if fact.get("status") == "failed":
            self._counts["error"][fact.get("error") or "Unknown"] += 1
        if fact.get("intent"):
            kind = fact.get("follow_up_type") if fact.get("follow_up") else "none"
            self._counts["follow_up"][kind or "pattern"] += 1

    def _follow_conversation(self, fact: Mapping[str, Any], conversation_id: str) -> None:
        """Track what only the course of a conversation shows: transitions between topics, and what was learned."""
        thread = self._threads.pop(conversation_id, None) or _Thread()
        self._threads[conversation_id] = thread
        if len(self._threads) > MAX_CONVERSATIONS:
            self._threads.popitem(last=False)
        topic = str(fact.get("topic") or "")
        if topic:
            self._topics[topic] += 1
            if thread.topic and thread.topic != topic:
                self._flow[thread.topic, topic] += 1
            thread.topic = topic
        if fact.get("abstained"):
            self._unanswered[topic] += 1
            self._questions.add(fact)
        number = int(fact.get("number") or 0)
        for about, level in (fact.get("levels") or {}).items():
            if level in LEVELS:
                before = thread.levels.get(about)
                thread.levels[about] = level
                self._learn(about, level, before, number, thread)
        for counter in (self._topics, self._unanswered, self._flow):
            _prune(counter)

    def _learn(self, topic: str, level: str, before: str | None, number: int, thread: _Thread) -> None:
        learning = self._learning.get(topic)
        if learning is None:
            if len(self._learning) >= MAX_DISTINCT:
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

    def _add_feedback(
        self, feedback: Mapping[str, Any], fact: Mapping[str, Any], at: float, conversation_id: str
    ) -> None:
        number = int(fact.get("number") or 0)
        row = {
            "rating": str(feedback.get("rating") or ""),
            "comment": str(feedback.get("comment") or ""),
            "question": str(fact.get("query") or ""),
            "conversation_id": conversation_id,
            "number": number,
            "at": at,
        }
        if row["comment"] or row["rating"] == "down":  # a plain thumbs-up needs no row
            self._feedback[conversation_id, number] = row
            if len(self._feedback) > MAX_ROWS:
                self._feedback.popitem(last=False)

    def report(
        self,
        by_source: Mapping[str, DocumentInfo] | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> Report:
        """The report so far. `by_source` are the documents of the library, by their sources."""
        by_source = {source: each for source, each in (by_source or {}).items() if not each.attached}
        uncited = [each for source, each in by_source.items() if source not in self._cited]
        learning = [_learning_row(topic, each) for topic, each in self._learning.items()]
        return Report(
            totals=self._totals(len(by_source), len(uncited)),
            days=self._series(since, until),
            condense=_count_rows("method", self._counts["condensed"]),
            follow_up=_count_rows("kind", self._counts["follow_up"]),
            intents=_count_rows("intent", self._counts["intent"]),
            phases=_count_rows("phase", self._counts["phase"]),
            languages=_count_rows("language", self._counts["language"]),
            moods=_count_rows("mood", self._counts["mood"]),
            flow=[{"from": one, "to": other, "turns": n} for (one, other), n in self._flow.most_common(MAX_LINKS)],
            topics=[
                {"topic": topic, "turns": turns, "unanswered": self._unanswered[topic]}
                for topic, turns in self._topics.most_common(MAX_ROWS)
            ],
            learning=sorted(learning, key=lambda row: (-row["confused"], -row["conversations"], row["topic"]))[
                :MAX_ROWS
            ],
            unanswered=self._questions.rows(),
            cited=[
                {**row, "collection": by_source[row["source"]].collection if row["source"] in by_source else ""}
                for row in sorted(self._cited.values(), key=lambda row: (-row["turns"], row["title"]))[:MAX_ROWS]
            ],
            uncited=[
                {"source": each.source, "title": each.title, "collection": each.collection, "added_at": each.added_at}
                for each in sorted(uncited, key=lambda each: (each.title, each.source))[:MAX_ROWS]
            ],
            guard=sorted(
                (
                    {"rail": rail, "blocked": done["block"], "redacted": done["redact"], "warned": done["warn"]}
                    for rail, done in self._rails.items()
                ),
                key=lambda row: (-row["blocked"], -row["redacted"], -row["warned"], row["rail"]),
            ),
            errors=_count_rows("code", self._counts["error"]),
            latency=[each.row(stage) for stage, each in self._latency.items()],
            models=sorted(self._models.values(), key=lambda row: (-row["turns"], row["model"])),
            feedback=list(reversed(self._feedback.values())),
        )

    def _totals(self, documents: int, uncited: int) -> Row:
        day, learned = _sum_days(self._days.values()), list(self._learning.values())
        understood = self._counts["follow_up"].total()
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
            "follow_up_share": _share(day.follow_ups, understood),
            "context_switches": day.switches,
            "switch_share": _share(day.switches, understood),
            "edited": day.edited,
            "edited_share": _share(day.edited, understood),
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
        first = max(min(seen), last - timedelta(days=MAX_DAYS - 1))
        days = (first + timedelta(days=offset) for offset in range((last - first).days + 1))
        return [self._days.get(each, _Day()).row(each) for each in days]


@dataclass(slots=True)
class _Day:
    """The counts of one day, or of all days."""

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
            self.repetitions += repeated >= REPETITION_SHARE
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


def _sum_days(days: Iterable[_Day]) -> _Day:
    total = _Day()
    for day in days:
        for name in _Day.__slots__:
            if name != "conversations":
                setattr(total, name, getattr(total, name) + getattr(day, name))
        total.conversations |= day.conversations
    return total


@dataclass(slots=True)
class _Thread:
    """The state of a conversation: its topic, the user's level by topic, and the turn since which the user has been
    stuck on a topic."""

    topic: str = ""
    levels: dict[str, str] = field(default_factory=dict)
    stuck: dict[str, int] = field(default_factory=dict)
    learned: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Learning:
    """How well a topic was learned: the sums of the first and last levels over conversations, and the number of turns
    it took confused users to know the basics."""

    conversations: int = 0
    first: float = 0.0
    last: float = 0.0
    confused: int = 0
    turns: list[int] = field(default_factory=list)


class _Latency:
    """The latencies of a stage; a random sample if there are too many."""

    def __init__(self) -> None:
        self._sample = array("d")
        self._seen = 0
        self._random = random.Random(0)

    def add(self, ms: float) -> None:
        self._seen += 1
        if len(self._sample) < SAMPLE_SIZE:
            self._sample.append(ms)
        elif (index := self._random.randrange(self._seen)) < SAMPLE_SIZE:
            self._sample[index] = ms

    def row(self, stage: str) -> Row:
        ordered = sorted(self._sample)
        return {
            "stage": stage,
            "turns": self._seen,
            "p50": percentile(ordered, 0.5),
            "p95": percentile(ordered, 0.95),
        }


class _Questions:
    """Questions that the library did not answer, grouped if they have nearly the same words."""

    def __init__(self) -> None:
        self._groups: dict[int, Row] = {}
        self._stems: dict[int, frozenset[str]] = {}
        self._groups_by_stem: dict[str, set[int]] = defaultdict(set)
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
            self._stems[self._next] = stems
            for each in stems:
                self._groups_by_stem[each].add(self._next)
            self._next += 1
            if len(self._groups) > MAX_DISTINCT:
                self._forget()
            return
        row = self._groups[group]
        if question != row["question"] and question not in row["also"] and len(row["also"]) < 3:
            row["also"].append(question)
        row.update(count=row["count"] + 1, last=at, **where)

    def _nearest(self, stems: frozenset[str]) -> int | None:
        shared = Counter(group for each in stems for group in self._groups_by_stem.get(each, ()))
        alike = [(n / len(stems | self._stems[group]), -group) for group, n in shared.items()]
        best = max(alike, default=(0.0, 0))
        return -best[1] if best[0] >= SAME_QUESTION_SHARE else None

    def _forget(self) -> None:
        """Drop a tenth of the groups: those asked least, oldest first."""
        rarest = sorted(self._groups, key=lambda group: (self._groups[group]["count"], self._groups[group]["last"]))
        for group in rarest[: MAX_DISTINCT // 10]:
            for each in self._stems.pop(group):
                self._groups_by_stem[each].discard(group)
                if not self._groups_by_stem[each]:
                    del self._groups_by_stem[each]
            del self._groups[group]

    def rows(self) -> list[Row]:
        return sorted(self._groups.values(), key=lambda row: (-row["count"], -row["last"]))[:MAX_ROWS]


def _is_in_collection(fact: Mapping[str, Any], by_source: Mapping[str, DocumentInfo], collection: str) -> bool:
    cites = any(source in by_source for source, _ in fact.get("cited") or ())
    return cites or collection in (fact.get("collections") or ())


def _count_rows(name: str, counts: Counter[str]) -> list[Row]:
    return [{name: each, "turns": turns} for each, turns in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]


def _learning_row(topic: str, each: _Learning) -> Row:
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
    if len(counter) > 2 * MAX_DISTINCT:
        kept = counter.most_common(MAX_DISTINCT)
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
    """The text, with an apostrophe in front if a spreadsheet would run it as a formula."""
    return f"'{value}" if value.lstrip().startswith(("=", "+", "-", "@")) or value[:1] in ("\t", "\r") else value


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\r\n') else cell
