"""The suite `transcripts`: what each turn of the user's own conversations finds, by its own words, by the condensed
question, and as in a real turn.

A search should find what the turn names as `relevant`. If it names nothing, it should find the words of the recorded
answer: passages that contain them are what the answer was based on.
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

TOP_PASSAGES = 5
FORMAT_HINT = "docs/EVALUATION.md shows what a transcript looks like."
WAYS = ("raw", "condensed", "fused")
_ROLES = ("user", "assistant", "system")
_NDCG = ndcg(TOP_PASSAGES)


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """A turn of a conversation: the question, its history, and what a search for it should find."""

    conversation: str
    number: int
    question: str
    history: tuple[Message, ...]
    relevant: tuple[str, ...] = ()  # titles, paths or file names
    answer: str = ""

    @property
    def can_be_scored(self) -> bool:
        return bool(self.relevant or content_stems(without_citations(self.answer)))


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """A turn with the query, the titles found (best first) and the score (0 to 1) of each way of searching."""

    asked: TranscriptTurn
    queries: dict[str, str]
    found: dict[str, tuple[str, ...]]
    scores: dict[str, float]

    @property
    def gain(self) -> float:
        return self.scores["fused"] - self.scores["raw"]


@dataclass(frozen=True, slots=True)
class Findings:
    """All turns that could be scored, worst first, and the number of those that could not."""

    turns: tuple[ScoredTurn, ...]
    unjudged: int = 0

    def later(self) -> tuple[ScoredTurn, ...]:
        return tuple(each for each in self.turns if each.asked.number > 1)

    def against_raw(self, way: str) -> Interval:
        """How much better a way is than the message alone on later turns, with a 95% confidence interval."""
        by_conversation: dict[str, list[float]] = {}
        for each in self.later():
            difference = each.scores[way] - each.scores["raw"]
            by_conversation.setdefault(each.asked.conversation, []).append(difference)
        return paired_bootstrap(list(by_conversation.values()))

    def figures(self) -> dict[str, Any]:
        figures: dict[str, Any] = {
            "turns": len(self.turns),
            "later_turns": len(self.later()),
            "conversations": len({each.asked.conversation for each in self.turns}),
            "unjudged": self.unjudged,
        }
        for way in WAYS:
            later = [each.scores[way] for each in self.later()]
            figures[way] = {"score": mean(each.scores[way] for each in self.turns), "score_later": mean(later)}
            if way != "raw":
                interval = self.against_raw(way)
                figures[way] |= {"gain_later": interval.mean, "gain_low": interval.low, "gain_high": interval.high}
        return figures


def evaluate(engine: Engine, turns: Sequence[TranscriptTurn], progress: Progress) -> Findings:
    """Search for every turn in every way, in the engine's library."""
    scored = []
    for done, each in enumerate(turns, 1):
        if each.can_be_scored:
            queries = _queries(engine, each)
            hits = {way: engine.find(query, TOP_PASSAGES) if query else [] for way, query in queries.items()}
            scored.append(
                ScoredTurn(
                    each,
                    {way: query.question if query else "" for way, query in queries.items()},
                    {way: tuple(hit.passage.title for hit in found) for way, found in hits.items()},
                    {way: _score(each, found) for way, found in hits.items()},
                )
            )
        progress("transcripts", done, len(turns))
    scored.sort(key=lambda each: (each.gain, each.scores["fused"]))
    return Findings(tuple(scored), len(turns) - len(scored))


def _queries(engine: Engine, asked: TranscriptTurn) -> dict[str, SearchQuery | None]:
    """What each way searches for, or None if the product would not search because a rail stops the message."""
    raw = SearchQuery(asked.question)
    try:
        analysis = engine.analyze(TurnRequest(asked.question, asked.history))
    except InputError:
        return {"raw": raw, "condensed": None, "fused": None}
    condensed = analysis.condensed
    fused = search_query(asked.question, asked.history, analysis.understanding, condensed, engine.settings)
    return {"raw": raw, "condensed": SearchQuery(condensed.query), "fused": fused}


def _score(asked: TranscriptTurn, hits: Sequence[Hit]) -> float:
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


def read(path: Path) -> list[TranscriptTurn]:
    """The turns of all conversations in a file, or in the .json and .jsonl files of a folder. Raises BadRequest."""
    files = sorted((*path.rglob("*.jsonl"), *path.rglob("*.json"))) if path.is_dir() else [path]
    turns = [turn for file in files for line, value in _objects(file) for turn in _turns(value, file, line)]
    if not turns:
        raise BadRequest(f"There is no conversation in {path}.", FORMAT_HINT)
    return turns


def _objects(file: Path) -> Iterator[tuple[int, Any]]:
    """The conversations in a file with their line numbers: one JSON value, which may be a list, or one per line."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"{file} cannot be read: {error}.", "Give a JSON or JSONL file.") from error
    if file.suffix == ".jsonl":
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield number, _parse(line, file, number)
        return
    value = _parse(text, file, 1)
    yield from ((1, each) for each in (value if isinstance(value, list) else [value]))


def _parse(text: str, file: Path, line: int) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadRequest(f"{file}:{line}: this is not JSON: {error}.", "Fix that line.") from error


def _turns(value: Any, file: Path, line: int) -> Iterator[TranscriptTurn]:
    if not isinstance(value, Mapping) or not ("turns" in value or "messages" in value):
        raise BadRequest(f"{file}:{line}: a conversation has `messages`, or the `turns` of an export.", FORMAT_HINT)
    name = str(value.get("id") or f"{file.name}:{line}")
    messages = (
        _exported_messages(value) if "turns" in value else list(_labelled_messages(value["messages"], file, line))
    )
    history: list[Message] = []
    for index, (message, relevant) in enumerate(messages):
        if message.role == "user":
            following = messages[index + 1][0] if index + 1 < len(messages) else None
            answer = following.content if following and following.role == "assistant" else ""
            number = 1 + sum(each.role == "user" for each in history)
            yield TranscriptTurn(name, number, message.content, tuple(history), relevant, answer)
        history.append(message)


LabelledMessage = tuple[Message, tuple[str, ...]]  # a message, and what is relevant to it


def _exported_messages(export: Mapping[str, Any]) -> list[LabelledMessage]:
    fields = {name: value for name, value in export.items() if name in _EXPORT_FIELDS}
    return [(message, ()) for message in Conversation.from_dict(fields).messages()]


_EXPORT_FIELDS = ("id", "user_id", "metadata", "turns", "created_at", "last_activity", "rate_limit")


def _labelled_messages(messages: Any, file: Path, line: int) -> Iterator[LabelledMessage]:
    for each in messages if isinstance(messages, list) else [messages]:
        is_message = isinstance(each, Mapping) and each.get("role") in _ROLES and isinstance(each.get("content"), str)
        relevant = each.get("relevant", []) if isinstance(each, Mapping) else []
        if not is_message or not isinstance(relevant, list):
            raise BadRequest(
                f"{file}:{line}: a message has a `role` (user or assistant) and a `content`.", "Fix that line."
            )
        yield Message(each["role"], each["content"]), tuple(map(str, relevant))
