"""The user's own conversations: what each turn finds by its words alone, by the condensed question, and as a turn does.

What should be found is what a turn names as `relevant`; where it names nothing, the words of the answer that it was
given stand in for it: a search that finds the passages which say them has found what the answer was made of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from turnwise.conversation import Conversation
from turnwise.engine import Engine
from turnwise.errors import BadRequest, InputError
from turnwise.evaluation.metrics import Interval, mean, ndcg, paired_bootstrap
from turnwise.evaluation.suites import Progress
from turnwise.text import content_stems, without_citations
from turnwise.turn.condense import search_query
from turnwise.types import Hit, Message, SearchQuery, TurnRequest

DEPTH = 5
HINT = "docs/EVALUATION.md shows what a transcript looks like."
WAYS = ("raw", "condensed", "fused")
_ROLES = ("user", "assistant", "system")
_NDCG = ndcg(DEPTH)


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn of a conversation: what was asked, what was said before it, and by what a search for it is judged."""

    conversation: str
    number: int
    question: str
    history: tuple[Message, ...]
    relevant: tuple[str, ...] = ()  # titles, paths or file names
    answer: str = ""

    @property
    def judged(self) -> bool:
        return bool(self.relevant or content_stems(without_citations(self.answer)))


@dataclass(frozen=True, slots=True)
class Scored:
    """A turn with what each way searched for, what it found (titles, best first), and how good that is (0 to 1)."""

    asked: Asked
    queries: dict[str, str]
    found: dict[str, tuple[str, ...]]
    scores: dict[str, float]

    @property
    def gain(self) -> float:
        return self.scores["fused"] - self.scores["raw"]


@dataclass(frozen=True, slots=True)
class Findings:
    """All turns that could be judged, the worst first, and how many could not."""

    turns: tuple[Scored, ...]
    unjudged: int = 0

    def later(self) -> tuple[Scored, ...]:
        return tuple(each for each in self.turns if each.asked.number > 1)

    def against_raw(self, way: str) -> Interval:
        """How much better a way is than the message alone on later turns, with the interval in which 95 of 100 such
        samples of conversations would lie."""
        by_conversation: dict[str, list[float]] = {}
        for each in self.later():
            difference = each.scores[way] - each.scores["raw"]
            by_conversation.setdefault(each.asked.conversation, []).append(difference)
        return paired_bootstrap(list(by_conversation.values()))

    def figures(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "turns": len(self.turns),
            "later_turns": len(self.later()),
            "conversations": len({each.asked.conversation for each in self.turns}),
            "unjudged": self.unjudged,
        }
        for way in WAYS:
            later = [each.scores[way] for each in self.later()]
            told[way] = {"score": mean(each.scores[way] for each in self.turns), "score_later": mean(later)}
            if way != "raw":
                interval = self.against_raw(way)
                told[way] |= {"gain_later": interval.mean, "gain_low": interval.low, "gain_high": interval.high}
        return told


def evaluate(engine: Engine, asked: Sequence[Asked], progress: Progress) -> Findings:
    """Every turn searched for in every way, in the library of the engine."""
    scored = []
    for place, each in enumerate(asked, 1):
        if each.judged:
            queries = _queries(engine, each)
            hits = {way: engine.find(query, DEPTH) if query else [] for way, query in queries.items()}
            scored.append(
                Scored(
                    each,
                    {way: query.question if query else "" for way, query in queries.items()},
                    {way: tuple(hit.passage.title for hit in found) for way, found in hits.items()},
                    {way: _score(each, found) for way, found in hits.items()},
                )
            )
        progress("transcripts", place, len(asked))
    scored.sort(key=lambda each: (each.gain, each.scores["fused"]))
    return Findings(tuple(scored), len(asked) - len(scored))


def _queries(engine: Engine, asked: Asked) -> dict[str, SearchQuery | None]:
    """What each way searches for; None where the product would not search, for a rail stops the message."""
    try:
        read = engine.analyze(TurnRequest(asked.question, asked.history))
    except InputError:
        return {"raw": SearchQuery(asked.question), "condensed": None, "fused": None}
    fused = search_query(asked.question, asked.history, read.understanding, read.condensed, engine.settings)
    return {"raw": SearchQuery(asked.question), "condensed": SearchQuery(read.condensed.query), "fused": fused}


def _score(asked: Asked, hits: Sequence[Hit]) -> float:
    if not asked.relevant:
        wanted = content_stems(without_citations(asked.answer))
        found = {stem for hit in hits for stem in content_stems(hit.passage.text)}
        return len(wanted & found) / len(wanted)
    wanted = {name.casefold() for name in asked.relevant}
    ranking: list[str] = []
    for hit in hits:
        path = PurePath(hit.passage.source)
        names = {each.casefold() for each in (hit.passage.title, hit.passage.source, path.name, path.stem)}
        name = next(iter(names & wanted), hit.passage.source)
        if name not in ranking:
            ranking.append(name)
    return _NDCG(ranking, wanted)


# --- reading ------------------------------------------------------------------------------------------------------


def read(path: Path) -> list[Asked]:
    """The turns of all conversations in a file, or in the .json and .jsonl files of a folder. Raises BadRequest."""
    files = sorted((*path.rglob("*.jsonl"), *path.rglob("*.json"))) if path.is_dir() else [path]
    asked = [turn for file in files for number, told in _objects(file) for turn in _turns(told, file, number)]
    if not asked:
        raise BadRequest(
            f"There is no conversation in {path}.", "docs/EVALUATION.md shows what a transcript looks like."
        )
    return asked


def _objects(file: Path) -> Iterator[tuple[int, Any]]:
    """The conversations of a file with their lines: one JSON value, which may be a list of them, or one a line."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"{file} cannot be read: {error}.", "Give a file of JSON or JSONL.") from error
    if file.suffix == ".jsonl":
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield number, _parsed(line, file, number)
        return
    told = _parsed(text, file, 1)
    yield from ((1, each) for each in (told if isinstance(told, list) else [told]))


def _parsed(text: str, file: Path, line: int) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadRequest(f"{file}:{line}: this is no JSON: {error}.", "Mend that line.") from error


def _turns(told: Any, file: Path, line: int) -> Iterator[Asked]:
    if not isinstance(told, Mapping) or not ("turns" in told or "messages" in told):
        raise BadRequest(
            f"{file}:{line}: a conversation has `messages`, or the `turns` of an export.",
            HINT,
        )
    name = str(told.get("id") or f"{file.name}:{line}")
    messages = _exported(told) if "turns" in told else list(_said(told["messages"], file, line))
    history: list[Message] = []
    for place, (message, relevant) in enumerate(messages):
        if message.role == "user":
            following = messages[place + 1][0] if place + 1 < len(messages) else None
            answer = following.content if following and following.role == "assistant" else ""
            number = 1 + sum(each.role == "user" for each in history)
            yield Asked(name, number, message.content, tuple(history), relevant, answer)
        history.append(message)


Told = tuple[Message, tuple[str, ...]]


def _exported(told: Mapping[str, Any]) -> list[Told]:
    kept = {name: value for name, value in told.items() if name in _OF_EXPORT}
    return [(message, ()) for message in Conversation.from_dict(kept).messages()]


_OF_EXPORT = ("id", "user_id", "metadata", "turns", "created_at", "last_activity", "rate_limit")


def _said(messages: Any, file: Path, line: int) -> Iterator[Told]:
    for each in messages if isinstance(messages, list) else [messages]:
        fitting = isinstance(each, Mapping) and each.get("role") in _ROLES and isinstance(each.get("content"), str)
        relevant = each.get("relevant", []) if isinstance(each, Mapping) else []
        if not fitting or not isinstance(relevant, list):
            raise BadRequest(
                f"{file}:{line}: a message has a `role` (user or assistant) and its `content`.", "Mend that line."
            )
        yield Message(each["role"], each["content"]), tuple(map(str, relevant))
