"""Turns of two months that nobody held, as a store counts them: for reports and pages that need many."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

from turnwise import facts
from turnwise.types import ConversationStore, DocumentInfo, Ending

DAY = 86_400.0
# topic, how it may go on, what the library does not say of it
COURSES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "attention": (("BERT", "GPT", "neural networks"), ("How much memory does attention need on a phone?",)),
    "BERT": (
        ("GPT", "attention", "few-shot learning"),
        ("Is there a Portuguese BERT?", "Which Portuguese BERT is there?", "How much does it cost to train BERT?"),
    ),
    "GPT": (("few-shot learning", "attention", "BERT"), ("What does GPT cost per month?", "How do I run GPT offline?")),
    "gradient descent": (("backpropagation", "overfitting"), ("Does gradient descent work with Excel?",)),
    "backpropagation": (("gradient descent", "neural networks"), ()),
    "overfitting": (("classification", "gradient descent"), ("Which data sets are free to use for teaching?",)),
    "neural networks": (("backpropagation", "overfitting"), ()),
    "few-shot learning": (("GPT", "multi-task learning"), ()),
    "multi-task learning": (("few-shot learning",), ()),
    "causal inference": (("classification",), ("Is there a course on causal inference in Spanish?",)),
    "classification": (("overfitting", "causal inference"), ()),
    "field trips": (
        ("edicenter",),
        ("When is the next field trip to Bremen?", "Is there a next field trip to Bremen?"),
    ),
    "edicenter": (("field trips",), ("What are the opening hours on Sundays?",)),
}
ASKS = (
    "What is {}?",
    "How does {} work?",
    "Why do we need {}?",
    "Give me an example of {}.",
    "What are the limits of {}?",
)
COMMENTS = {
    "up": ("Exactly the passage I was looking for.", "Clear, and the source is right.", "", "", "", ""),
    "down": ("It quotes the heading, not the explanation.", "Too long for a yes or no question.", "Wrong chapter.", ""),
}
MODELS = (("extractive", 0.42), ("local small", 0.38), ("gpt-oss-20b", 0.20))


def invented(
    documents: Sequence[DocumentInfo], until: float, days: int = 60, seed: int = 7
) -> Iterator[dict[str, Any]]:
    """The facts of the turns begun in the days before a time, oldest first. More are held on working days, and over
    time; the same seed gives the same."""
    chance = random.Random(seed)
    turns = [turn for day in range(days) for turn in _day(chance, documents, until - (days - day) * DAY, day / days)]
    yield from sorted(turns, key=lambda turn: float(turn["created_at"]))


def _day(chance: random.Random, documents: Sequence[DocumentInfo], start: float, progress: float) -> Iterator[Any]:
    weekend = int(start // DAY + 3) % 7 >= 5
    for _ in range(round(chance.gauss(2.0 if weekend else 5.5 + 4 * progress, 1.4))):
        yield from _conversation(chance, documents, start + chance.uniform(0.3, 0.8) * DAY)


def _conversation(chance: random.Random, documents: Sequence[DocumentInfo], at: float) -> Iterator[dict[str, Any]]:
    conversation_id, user = f"invented-{chance.getrandbits(40):010x}", f"reader {chance.randrange(24)}"
    topic, levels = chance.choice(list(COURSES)), dict[str, str]()
    model = chance.choices([name for name, _ in MODELS], [share for _, share in MODELS])[0]
    for number in range(1, 2 + int(chance.expovariate(0.38))):
        moved = number > 1 and chance.random() < 0.3
        if moved:
            ways = COURSES[topic][0]
            topic = chance.choices(ways, [len(ways) - place for place in range(len(ways))])[0]
        if topic not in levels and chance.random() < 0.3:
            levels[topic] = "confused" if chance.random() < 0.7 else "knows_basics"
        elif levels.get(topic) == "confused" and chance.random() < 0.5:
            levels[topic] = "knows_basics"
        elif levels.get(topic) == "knows_basics" and chance.random() < 0.2:
            levels[topic] = "advanced"
        at += chance.uniform(20, 400)
        yield {
            **_turn(chance, documents, topic, number, moved, model),
            "levels": dict(levels),
            "conversation_id": conversation_id,
            "number": number,
            "created_at": at,
            "user": user,
        }


def _turn(
    chance: random.Random, documents: Sequence[DocumentInfo], topic: str, number: int, moved: bool, model: str
) -> dict[str, Any]:
    empty = facts.of_record({}, (), "failed")
    if chance.random() < 0.02:
        rails = {chance.choice(["injection", "injection", "exchange", "leak", "secrets"]): "block"}
        ended = {
            "guard": "block",
            "rails": rails,
            "blocked": "This message was not answered.",
            "error": "MessageBlocked",
        }
        return {**empty, **ended, "status": "blocked", "ms": {"guard in": chance.uniform(3, 12)}, "feedback": None}
    leaning = number > 1 and not moved and chance.random() < 0.8
    missed = COURSES[topic][1] if chance.random() < 0.11 else ()
    near = [each for each in documents if topic.split()[0].lower() in f"{each.title} {each.source}".lower()]
    writes = model != "extractive"
    rating = chance.choices(["", "up", "down"], [0.9, 0.075, 0.025])[0]
    claims = 0 if missed else chance.randint(1, 5)
    rails = {chance.choice(["pii", "pii", "secrets"]): "redact"} if chance.random() < 0.015 else {}
    return {
        **empty,
        "status": "answered",
        "topic": topic,
        "topic_changed": moved,
        "phase": chance.choices(["exploring", "understanding", "applying", "debugging", "reviewing"], [5, 6, 3, 1, 1])[
            0
        ],
        "intent": "follow_up" if leaning else "new_question",
        "language": chance.choices(["en", "de", "es"], [8, 2, 1])[0],
        "mood": chance.choices(["neutral", "confused", "frustrated"], [12, 2, 1])[0],
        "follow_up": leaning,
        "follow_up_type": chance.choice(["pattern", "pattern", "semantic"]) if leaning else "none",
        "confidence": round(chance.uniform(0.6, 0.98), 2) if leaning else 0.05,
        "condensed": (method := chance.choices(["rules", "model", "caller"], [3, 5, 1])[0] if leaning else "literal"),
        "edited": method == "caller",
        "query": chance.choice(missed) if missed else chance.choice(ASKS).format(topic),
        "searched": True,
        "found": 6,
        "abstained": bool(missed),
        "cited": [] if missed else [[each.source, each.title] for each in near[: chance.randint(1, 2)]],
        "repeated": round(min(1.0, chance.expovariate(14)), 3) if number > 1 else None,
        "claims": claims,
        "borne_out": claims - (writes and claims > 1 and chance.random() < 0.2),
        "rails": rails,
        "guard": "redact" if rails else "allow",
        "ms": {
            "guard in": round(chance.lognormvariate(1.9, 0.4), 1),
            "understand": round(chance.lognormvariate(3.4, 0.5), 1),
            "condense": round(chance.lognormvariate(0.2, 0.8), 1),
            "plan": round(chance.lognormvariate(0, 0.4), 1),
            "retrieve": round(chance.lognormvariate(4.5, 0.4), 1),
            "compose": round(chance.lognormvariate(0.8, 0.3), 1),
            "generate": round(chance.lognormvariate(6.6 if writes else 3.2, 0.5), 1),
            "guard out": round(chance.lognormvariate(-1, 0.5), 1),
            "verify": round(chance.lognormvariate(1.6, 0.9), 1),
            "remember": round(chance.lognormvariate(3.9, 0.5), 1),
        },
        "model": model,
        "prompt_tokens": chance.randint(700, 3400) if writes else 0,
        "answer_tokens": chance.randint(40, 320) if writes else 0,
        "feedback": {"rating": rating, "comment": chance.choice(COMMENTS[rating])} if rating else None,
    }


def keep(store: ConversationStore, turns: Iterable[dict[str, Any]]) -> None:
    """Keep turns in a store, each as of its time."""
    known = ("conversation_id", "number", "status", "created_at", "user", "feedback")
    numbers: dict[str, int] = {}
    for turn in turns:
        conversation_id, status = turn["conversation_id"], turn["status"]
        with patch("time.time", return_value=turn["created_at"]):
            number = store.accept(conversation_id, turn["query"] or "Ignore that.", turn["user"]).turns[-1].number
            assert number == numbers.get(conversation_id, 0) + 1, "the turns of a conversation come in their order"
            numbers[conversation_id] = number
            counted = {name: value for name, value in turn.items() if name not in known}
            answer = "The library says so." if status == "answered" else None
            store.finish(conversation_id, number, Ending(status, answer, facts=counted))
            if turn["feedback"]:
                store.rate(conversation_id, number, turn["feedback"])
