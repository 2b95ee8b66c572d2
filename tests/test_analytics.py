"""The report: values of conversations that can be counted by hand, and what holds of any."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from invented import DAY, invented, keep

from turnwise import analytics
from turnwise.analytics import COLUMNS, Report, as_csv, percentile, report
from turnwise.app import build
from turnwise.cli.verbs import turnwise
from turnwise.config import Settings
from turnwise.documents.uploads import upload_source
from turnwise.types import DocumentInfo

START = 1_790_000_000.0 // DAY * DAY  # midnight in UTC
SHELF = [
    DocumentInfo(1, "bert.md", "BERT", 4, START, "ml"),
    DocumentInfo(2, "gpt.md", "GPT", 4, START, "ml"),
    DocumentInfo(3, "trips.md", "Field trips", 2, START, "school"),
]


def turn(conversation: str, number: int, at: float = 0.0, **given: Any) -> dict[str, Any]:
    """An answered turn, `at` hours after the start."""
    answered = {"status": "answered", "intent": "new_question", "user": "ann", "searched": True, "query": "?"}
    return {"conversation_id": conversation, "number": number, "created_at": START + at * 3600, **answered, **given}


def find(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    return next(row for row in rows if all(row[name] == value for name, value in wanted.items()))


def test_nothing_gives_an_empty_report() -> None:
    made = report([])
    assert made.totals["turns"] == 0
    assert made.totals["follow_up_share"] is None
    assert all(getattr(made, name) == [] for name in Report.tables() if name != "totals")


def test_turns_conversations_and_users() -> None:
    made = report(
        [turn("a", 1), turn("b", 1, user="bob"), turn("a", 2, 1), turn("a", 3, 30, status="failed", error="X")]
    )
    assert [made.totals[name] for name in ("turns", "conversations", "users", "answered", "failed")] == [4, 2, 2, 3, 1]
    assert [(row["turns"], row["conversations"]) for row in made.days] == [(3, 2), (1, 1)]
    assert made.errors == [{"code": "X", "turns": 1}]


def test_days_without_a_turn_are_there_too() -> None:
    made = report([turn("a", 1, 24)], since=START, until=START + 4 * DAY)
    assert [row["turns"] for row in made.days] == [0, 1, 0, 0]
    assert made.days[0]["repeated"] is None


def test_days_are_those_of_the_zone() -> None:
    late = [turn("a", 1, 23.5)]
    first, next_day = report(late, zone=UTC).days[0]["day"], report(late, zone=ZoneInfo("Europe/Berlin")).days[0]["day"]
    assert int(next_day[-2:]) == int(first[-2:]) + 1


def test_follow_ups_switches_and_edits() -> None:
    made = report(
        [
            turn("a", 1, condensed="literal"),
            turn("a", 2, follow_up=True, follow_up_type="pattern", condensed="rules"),
            turn("a", 3, follow_up=True, follow_up_type="semantic", condensed="caller", edited=True),
            turn("a", 4, topic_changed=True, condensed="literal"),
        ]
    )
    assert (made.totals["follow_ups"], made.totals["follow_up_share"]) == (2, 0.5)
    assert (made.totals["context_switches"], made.totals["switch_share"]) == (1, 0.25)
    assert (made.totals["edited"], made.totals["edited_share"]) == (1, 0.25)
    assert made.follow_up == [
        {"kind": "none", "turns": 2},
        {"kind": "pattern", "turns": 1},
        {"kind": "semantic", "turns": 1},
    ]
    assert made.condense == [
        {"method": "literal", "turns": 2},
        {"method": "caller", "turns": 1},
        {"method": "rules", "turns": 1},
    ]


def test_the_way_from_topic_to_topic_is_that_of_each_conversation() -> None:
    topics = [
        ("a", "BERT"),
        ("b", "GPT"),
        ("a", "BERT"),
        ("a", "GPT"),
        ("b", "BERT"),
        ("a", ""),
        ("a", "trips"),
        ("c", "GPT"),
    ]
    made = report([turn(name, place, topic=topic) for place, (name, topic) in enumerate(topics)])
    ways = {(row["from"], row["to"]): row["turns"] for row in made.flow}
    assert ways == {("BERT", "GPT"): 1, ("GPT", "BERT"): 1, ("GPT", "trips"): 1}
    assert find(made.topics, topic="BERT")["turns"] == 3


def test_learning_is_from_confused_to_the_basics() -> None:
    made = report(
        [
            turn("a", 1, levels={"BERT": "confused"}),
            turn("a", 2, levels={"BERT": "confused"}),
            turn("b", 1, levels={"BERT": "confused", "GPT": "knows_basics"}),
            turn("a", 4, levels={"BERT": "knows_basics"}),
            turn("a", 5, levels={"BERT": "confused"}),
            turn("a", 6, levels={"BERT": "advanced"}),
            turn("c", 1, levels={"GPT": "advanced"}),
        ]
    )
    bert = find(made.learning, topic="BERT")
    assert (bert["conversations"], bert["confused"], bert["learned"], bert["turns"]) == (2, 2, 1, 3)
    assert (bert["first"], bert["last"]) == (0.0, 1.0), "one went from confused to advanced, one stayed confused"
    assert find(made.learning, topic="GPT") == {
        "topic": "GPT", "conversations": 2, "first": 1.5, "last": 1.5, "confused": 0, "learned": 0, "turns": None
    }  # fmt: skip
    assert (made.totals["confused"], made.totals["learned"], made.totals["turns_to_learn"]) == (2, 1, 3)
    assert made.totals["learned_share"] == 0.5


def test_questions_without_an_answer_are_grouped_by_their_words() -> None:
    asked = [
        "What does GPT cost per month?",
        "How much is the moon?",
        "what does GPT cost each month",
        "Who wrote Faust?",
    ]
    made = report(
        [
            turn(name, 1, at, query=query, abstained=True)
            for at, (name, query) in enumerate(zip("abcd", asked, strict=True))
        ]
    )
    assert [row["count"] for row in made.unanswered] == [2, 1, 1]
    most = made.unanswered[0]
    assert (most["question"], most["also"]) == (asked[0], [asked[2]])
    assert (most["first"], most["last"]) == (START, START + 2 * 3600)
    assert (most["conversation_id"], most["number"]) == ("c", 1), "the last time that it was asked"
    assert made.totals["unanswered"] == 4


def test_what_was_cited_and_what_never() -> None:
    both = [["bert.md", "BERT"], ["gpt.md", "GPT"]]
    made = report(
        [turn("a", 1, cited=both), turn("a", 2, 1, cited=both[:1]), turn("b", 1, cited=[["gone.md", "Gone"]])], SHELF
    )
    assert [(row["title"], row["turns"], row["collection"]) for row in made.cited] == [
        ("BERT", 2, "ml"), ("GPT", 1, "ml"), ("Gone", 1, "")
    ]  # fmt: skip
    assert made.cited[0]["last"] == START + 3600
    assert [row["source"] for row in made.uncited] == ["trips.md"]
    assert (made.totals["documents"], made.totals["uncited"]) == (3, 1)


def test_what_is_attached_to_a_conversation_is_no_document_of_the_library() -> None:
    mine = upload_source("mine.md", attached="a")
    made = report([turn("a", 1, cited=[["bert.md", "BERT"], [mine, "Mine"]])], SHELF)
    assert [row["title"] for row in made.cited] == ["BERT"]
    assert len(made.cited) + made.totals["uncited"] == made.totals["documents"]


def test_a_collection_has_the_turns_that_cite_or_searched_it() -> None:
    turns = [
        turn("a", 1, cited=[["bert.md", "BERT"]]),
        turn("a", 2, cited=[["trips.md", "Field trips"]]),
        turn("a", 3, collections=["school"], abstained=True, query="When is the next trip?"),
        turn("a", 4),
    ]
    made = report(turns, SHELF, collection="school")
    assert (made.totals["turns"], made.totals["documents"], made.totals["unanswered"]) == (2, 1, 1)
    assert [row["title"] for row in made.cited] == ["Field trips"]


def test_what_the_guard_did_by_rail() -> None:
    made = report(
        [
            turn("a", 1, status="blocked", rails={"injection": "block", "pii": "redact"}),
            turn("a", 2, rails={"pii": "redact"}),
            turn("a", 3, rails={"injection": "warn"}),
        ]
    )
    assert made.guard == [
        {"rail": "injection", "blocked": 1, "redacted": 0, "warned": 1},
        {"rail": "pii", "blocked": 0, "redacted": 2, "warned": 0},
    ]
    assert made.totals["blocked"] == 1
    assert made.errors == [], "a turn that was blocked is no error"


def test_tokens_by_model() -> None:
    made = report(
        [turn("a", n, model="m", prompt_tokens=100, answer_tokens=n) for n in (1, 2)] + [turn("a", 3, model="x")]
    )
    assert made.models[0] == {"model": "m", "turns": 2, "prompt_tokens": 200, "answer_tokens": 3}
    assert (made.totals["prompt_tokens"], made.totals["answer_tokens"]) == (200, 3)


def test_what_readers_say_the_latest_first() -> None:
    made = report(
        [
            turn("a", 1, 0, feedback={"rating": "up", "comment": ""}),
            turn("a", 2, 1, feedback={"rating": "down", "comment": "Too long."}, query="What is BERT?"),
            turn("b", 1, 2, feedback={"rating": "up", "comment": "Thank you."}),
            turn("b", 2, 3, feedback=None),
        ]
    )
    assert (made.totals["up"], made.totals["down"]) == (2, 1)
    assert [row["comment"] for row in made.feedback] == ["Thank you.", "Too long."]
    assert made.feedback[1]["question"] == "What is BERT?"


def test_repetition_is_the_mean_of_what_could_be_compared() -> None:
    made = report([turn("a", 1, repeated=None), turn("a", 2, repeated=0.2), turn("a", 3, repeated=0.6)])
    assert (made.totals["repeated"], made.totals["repetitions"]) == (0.4, 1)
    assert made.days[0]["repeated"] == 0.4


@given(st.lists(st.floats(0, 1e6), min_size=1), st.sampled_from([0.0, 0.25, 0.5, 0.95, 1.0]))
def test_percentiles_are_those_of_numpy(values: list[float], share: float) -> None:
    assert percentile(sorted(values), share) == pytest.approx(np.percentile(values, share * 100))


def test_times_by_stage_and_of_the_whole_turn() -> None:
    times = [{"retrieve": float(n), "generate": 10.0 * n} for n in range(1, 101)]
    made = report([turn("a", n, ms=ms) for n, ms in enumerate(times)])
    generate, whole = find(made.latency, stage="generate"), find(made.latency, stage="whole turn")
    assert (generate["turns"], generate["p50"], generate["p95"]) == (100, 505.0, pytest.approx(950.5))
    assert whole["p50"] == pytest.approx(505.0 * 1.1)


def test_of_more_times_than_are_kept_a_fair_sample_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analytics, "SAMPLE_SIZE", 1000)
    made = report(turn("a", n, ms={"plan": float(n)}) for n in range(20_000))
    assert find(made.latency, stage="plan")["turns"] == 20_000
    assert find(made.latency, stage="plan")["p50"] == pytest.approx(10_000, rel=0.1)


def test_of_endlessly_many_questions_those_asked_often_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analytics, "MAX_DISTINCT", 50)

    def asked() -> Iterator[dict[str, Any]]:
        for n in range(1000):
            yield turn("a", n, query=f"topic{n} word{n} thing{n}", abstained=True)
            if n % 10 == 0:
                yield turn("b", n, query="Which Portuguese BERT is there?", abstained=True)

    made = report(asked())
    assert made.unanswered[0]["question"] == "Which Portuguese BERT is there?"
    assert made.unanswered[0]["count"] == 100
    assert len(made.unanswered) <= 50


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_the_counts_add_up(seed: int, days: int) -> None:
    turns = list(invented(SHELF, START + days * DAY, days, seed))
    made = report(iter(turns), SHELF)
    totals = made.totals
    assert totals["turns"] == len(turns) == sum(row["turns"] for row in made.days)
    assert totals["turns"] == totals["answered"] + totals["failed"] + totals["blocked"] + totals["interrupted"]
    assert totals["turns"] == totals["blocked"] + sum(row["turns"] for row in made.intents)
    assert (
        totals["unanswered"]
        == sum(row["count"] for row in made.unanswered)
        == sum(row["unanswered"] for row in made.days)
    )
    assert totals["follow_ups"] == sum(row["turns"] for row in made.follow_up if row["kind"] != "none")
    assert sum(row["turns"] for row in made.follow_up) == sum(row["turns"] for row in made.condense)
    assert totals["up"] + totals["down"] == sum(row["up"] + row["down"] for row in made.days)
    assert totals["learned"] == sum(row["learned"] for row in made.learning) <= totals["confused"]
    assert all(row["learned"] <= row["confused"] <= row["conversations"] for row in made.learning)
    assert {row["source"] for row in made.cited} | {row["source"] for row in made.uncited} == {
        each.source for each in SHELF
    }
    assert sum(row["turns"] for row in made.models) == totals["answered"]


def test_a_spreadsheet_runs_nothing_of_what_people_wrote() -> None:
    rows = [{"question": text, "count": -1} for text in ("=1+1", "+49 421", "-x", "@SUM(A1)", ' =cmd|"x"', 'a,b\n"c"')]
    cells = [row["question"] for row in csv.DictReader(io.StringIO(as_csv(rows)))]
    assert cells == ["'=1+1", "'+49 421", "'-x", "'@SUM(A1)", '\' =cmd|"x"', 'a,b\n"c"']
    assert "-1" in as_csv(rows), "numbers stay numbers"


def test_times_are_written_out_in_a_spreadsheet() -> None:
    assert as_csv([{"last": 1.79e9, "first": 0.5, "also": ["a", "b"], "turns": None}]).splitlines() == [
        "last,first,also,turns",
        "2026-09-21T14:13:20+00:00,0.5,a | b,",
    ]


def test_an_empty_table_has_the_columns_of_a_filled_one() -> None:
    assert as_csv([]) == ""
    assert as_csv([], ["topic", "turns"]) == "topic,turns\r\n"
    assert {"totals", *COLUMNS} == set(Report.tables())
    made = report(invented(SHELF, 1.79e9, days=20), SHELF)
    filled = {name: list(rows[0]) for name in COLUMNS if (rows := getattr(made, name))}
    assert len(filled) > 12
    assert filled == {name: COLUMNS[name] for name in filled}


def test_in_a_terminal_and_as_json(tmp_path: Path, sample_folder: Path) -> None:
    def said(*options: str) -> str:
        return CliRunner().invoke(turnwise, ["analytics", "--library", str(tmp_path), *options]).output

    with build(Settings(library=str(tmp_path)), create=True) as engine:
        engine.read(sample_folder / "bert.md", sample_folder / "edifest.html")
        assert "No questions yet." in said()
        asked = [turn("a", n, query="Who is the mayor of Lima?", abstained=True, feedback=None) for n in (1, 2)]
        keep(engine.store, [{**each, "created_at": time.time() - 2 * DAY} for each in asked])
    assert "2 turns in 1 conversation" in said()
    assert "2x  Who is the mayor of Lima?" in said()
    assert json.loads(said("--json"))["totals"]["turns"] == 2
    assert "No questions in this period." in said("--days", "1")


def test_every_turn_of_a_day_is_counted_by_how_it_ended() -> None:
    ends = ("answered", "answered", "failed", "blocked", "interrupted", "interrupted", "interrupted")
    turns = [
        {"conversation_id": "c", "number": number, "status": status, "created_at": 86_400.0 + number}
        for number, status in enumerate(ends, 1)
    ]
    (day,) = report(turns).days
    counted = {name: day[name] for name in ("turns", "answered", "failed", "blocked", "interrupted")}
    assert counted == {"turns": 7, "answered": 2, "failed": 1, "blocked": 1, "interrupted": 3}
