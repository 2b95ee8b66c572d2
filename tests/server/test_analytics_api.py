"""The report over HTTP: real turns in a real store, whose days are counted, and who may see them."""

from __future__ import annotations

import csv
import io
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.message import Message as Headers
from pathlib import Path
from typing import Any

import pytest
from invented import DAY, invented, keep

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.server.run import running
from turnwise.types import Ending, Permission

NOW = time.time()
TABLES = ["totals", "days", "condense", "unanswered", "cited", "uncited", "latency", "feedback"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, sample_folder: Path) -> Iterator[Engine]:
    """A library of two collections with ten days of turns, and a tenant with one turn."""
    with build(Settings(library=str(tmp_path_factory.mktemp("counted")), access="keys"), create=True) as engine:
        engine.read(sample_folder / "bert.md", sample_folder / "gpt.md", collection="models")
        engine.read(sample_folder / "field-trips.txt", sample_folder / "edifest.html", collection="school")
        keep(engine.store, invented(engine.index.documents(), NOW - 60, days=10))
        theirs = engine.store.of("acme")
        number = theirs.accept("secret-talk", "What is our margin?").turns[-1].number
        theirs.finish(
            "secret-talk", number, Ending("answered", "No.", facts={"abstained": True, "query": "What is our margin?"})
        )
        yield engine


@pytest.fixture(scope="module")
def address(engine: Engine) -> Iterator[str]:
    engine.store.keys.create("first", may="manage")
    with running(engine) as address:
        yield address


def key(engine: Engine, may: Permission = "manage", tenant: str = "", collections: tuple[str, ...] = ()) -> str:
    return engine.store.keys.create(may, tenant, collections, may)[1]


def get(url: str, secret: str = "") -> tuple[int, Headers, str]:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {secret}"} if secret else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read().decode("utf-8-sig")
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read().decode()


def report(address: str, secret: str, query: str = "") -> dict[str, Any]:
    status, _, body = get(f"{address}/api/analytics{query}", secret)
    assert status == 200, body
    found: dict[str, Any] = json.loads(body)
    return found


def test_all_of_it_where_no_time_is_named(engine: Engine, address: str) -> None:
    found = report(address, key(engine))
    turns = list(engine.store.facts())
    assert found["totals"]["turns"] == len(turns) > 50
    assert found["totals"]["conversations"] == len({turn["conversation_id"] for turn in turns})
    assert found["collections"] == ["models", "school"]
    assert found["totals"]["documents"] == 4
    assert (found["since"], found["until"], found["collection"]) == (None, None, None)


def test_the_last_days_are_whole_days_of_the_zone(engine: Engine, address: str) -> None:
    found = report(address, key(engine), "?days=3&zone=Asia/Tokyo")
    assert len(found["days"]) == 3
    assert found["until"] - found["since"] == 3 * DAY
    assert found["since"] % DAY == 15 * 3600, "midnight in Tokyo"
    wanted = [turn for turn in engine.store.facts() if found["since"] <= turn["created_at"] < found["until"]]
    assert found["totals"]["turns"] == len(wanted) == sum(row["turns"] for row in found["days"])


def test_days_that_are_named_are_both_included(engine: Engine, address: str) -> None:
    secret = key(engine)
    days = [row["day"] for row in report(address, secret)["days"]]
    found = report(address, secret, f"?since={days[2]}&until={days[4]}")
    assert [row["day"] for row in found["days"]] == days[2:5]
    by_seconds = report(address, secret, f"?since={found['since']}&until={found['until']}")
    assert by_seconds["totals"] == found["totals"]


def test_one_collection(engine: Engine, address: str) -> None:
    found = report(address, key(engine), "?collection=school")
    assert 0 < found["totals"]["turns"] < report(address, key(engine))["totals"]["turns"]
    assert {row["collection"] for row in found["cited"]} == {"school"}
    assert [row["title"] for row in found["uncited"]] == ["Edifest"]


@pytest.mark.parametrize(
    "query", ["?days=0", "?days=many", "?since=yesterday", "?since=2026-13-01", "?zone=Mars", "?zone=../etc/passwd",
              "?since=2026-03-02&until=2026-03-01", "?since=1e400", "?until=9999-12-31", "?since=9000-01-01",
              "?since=99999999999999999"]
)  # fmt: skip
def test_a_time_that_is_none_is_a_problem_of_the_caller(engine: Engine, address: str, query: str) -> None:
    status, headers, body = get(f"{address}/api/analytics{query}", key(engine))
    assert status in (400, 422)
    assert headers["content-type"] == "application/problem+json"
    assert json.loads(body)["detail"]


@pytest.mark.parametrize(
    "query", ["?since=0001-01-01&zone=Asia/Tokyo", "?until=9998-12-31", "?since=1970-01-01T00:00:00Z"]
)
def test_from_the_beginning_to_the_end_of_time_is_all(engine: Engine, address: str, query: str) -> None:
    secret = key(engine)
    found, whole = report(address, secret, query), report(address, secret)
    assert found["totals"]["turns"] == whole["totals"]["turns"] == sum(row["turns"] for row in found["days"])


@pytest.mark.parametrize("table", TABLES)
def test_a_table_for_a_spreadsheet_has_the_rows_of_the_report(engine: Engine, address: str, table: str) -> None:
    secret = key(engine)
    status, headers, body = get(f"{address}/api/analytics/{table}.csv", secret)
    assert status == 200
    assert headers["content-type"] == "text/csv; charset=utf-8"
    assert headers["content-disposition"] == f'attachment; filename="turnwise-{table}.csv"'
    wanted = report(address, secret)[table]
    rows = list(csv.DictReader(io.StringIO(body)))
    assert len(rows) == (1 if isinstance(wanted, dict) else len(wanted))
    assert set(rows[0]) == set(wanted if isinstance(wanted, dict) else wanted[0])


def test_a_formula_in_a_question_is_text_in_a_spreadsheet(engine: Engine, address: str) -> None:
    trap = engine.store.of("trap")
    number = trap.accept("c", "=HYPERLINK(1)").turns[-1].number
    trap.finish("c", number, Ending("answered", "No.", facts={"abstained": True, "query": '=HYPERLINK("http://x")'}))
    _, _, body = get(f"{address}/api/analytics/unanswered.csv", key(engine, tenant="trap"))
    assert next(csv.DictReader(io.StringIO(body)))["question"] == '\'=HYPERLINK("http://x")'


def test_a_table_that_there_is_not_names_those_that_there_are(engine: Engine, address: str) -> None:
    status, _, body = get(f"{address}/api/analytics/turns.csv", key(engine))
    assert status == 404
    assert "unanswered" in json.loads(body)["hint"]


@pytest.mark.parametrize("path", ["/api/analytics", "/api/analytics/days.csv"])
def test_only_who_may_manage_sees_it(engine: Engine, address: str, path: str) -> None:
    assert get(address + path)[0] == 401
    assert [get(address + path, key(engine, may))[0] for may in ("ask", "edit", "manage")] == [403, 403, 200]


def test_a_tenant_sees_its_own_turns_and_documents_alone(engine: Engine, address: str) -> None:
    theirs, ours = report(address, key(engine, tenant="acme")), report(address, key(engine))
    assert (theirs["totals"]["turns"], theirs["totals"]["documents"]) == (1, 0)
    assert [row["question"] for row in theirs["unanswered"]] == ["What is our margin?"]
    assert "margin" not in json.dumps(ours)
    assert "secret-talk" not in json.dumps(ours)


def test_a_key_for_one_collection_sees_no_document_of_another(engine: Engine, address: str) -> None:
    found = report(address, key(engine, collections=("school",)))
    assert found["collections"] == ["school"]
    assert found["totals"]["documents"] == 2
    assert {row["collection"] for row in found["uncited"]} == {"school"}


def test_the_page_is_there_without_a_key(address: str) -> None:
    status, headers, body = get(f"{address}/dashboard")
    assert status == 200
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "style=" not in body
