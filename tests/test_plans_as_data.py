"""Plans as dicts and as JSON, and back."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import BadRequest
from turnwise.types import (
    Filter,
    Hit,
    Message,
    Passage,
    QueryPlan,
    Reference,
    SearchQuery,
    Source,
    Step,
    StepResult,
    Term,
)

texts = st.text(max_size=8)
numbers = st.floats(allow_nan=False)
counts = st.integers(-9, 2**60)
plain = st.recursive(st.none() | st.booleans() | counts | numbers | texts, lambda inner: st.lists(inner, max_size=2))
noted = st.dictionaries(texts, plain, max_size=2)


def many(strategy: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=most).map(tuple)


references = st.none() | st.builds(Reference, texts, many(texts), st.none() | counts, texts)
passages = st.builds(
    Passage, counts, counts, texts, texts, texts, texts, st.none() | counts, counts, counts, counts, references
)
hits = st.builds(Hit, passages, numbers, st.none() | numbers, st.none() | counts, st.none() | counts)
filters = st.builds(Filter, many(texts), many(texts), texts, texts, texts)
queries = st.builds(SearchQuery, texts, many(st.builds(Term, texts, numbers)), texts, texts, numbers, filters)
steps = st.builds(
    Step, texts, texts, st.none() | queries, st.sampled_from(["", "side", "reading"]), many(st.integers(0, 9))
)
results = st.builds(StepResult, texts, many(hits), texts, numbers, noted)
sources = st.builds(Source, counts, counts, texts, texts, texts, st.none() | counts, texts, texts, references)
roles = st.sampled_from(["system", "user", "assistant"])
messages = st.builds(Message, roles, texts, many(sources, 1), st.none() | numbers, noted, many(sources, 1), note=texts)
plans = st.builds(QueryPlan, texts, texts, many(steps, 3), texts, many(st.none() | results, 3), many(messages))


@given(plans)
def test_a_plan_comes_back_as_it_was(plan: QueryPlan) -> None:
    told = plan.to_dict()
    assert QueryPlan.from_dict(told) == plan
    assert QueryPlan.from_json(plan.to_json()) == plan
    assert (told["current_step"], told["completed"]) == (plan.current_step, plan.completed)
    assert {"query_id", "query", "steps", "results", "chat_history"} <= told.keys()


def test_where_a_plan_stands() -> None:
    plan = QueryPlan("q1", "What is BERT?", (Step("rag", "What is BERT?"), Step("answer", after=(0,))))
    assert (plan.current_step, plan.completed) == (0, False)
    plan = plan.with_result(0, StepResult("A model."))
    assert (plan.current_step, plan.completed) == (1, False)
    plan = QueryPlan.from_json(plan.with_result(1, StepResult()).to_json())
    assert (plan.current_step, plan.completed) == (2, True)


STEP = {"tool": "rag", "input": "x"}
GARBAGE = [
    None,
    7,
    "plan",
    [],
    {},
    {"query_id": "q"},
    {"query_id": 1, "query": "x", "steps": []},
    {"query_id": "q", "query": "x", "steps": "rag"},
    {"query_id": "q", "query": "x", "steps": [7]},
    {"query_id": "q", "query": "x", "steps": [{"tool": None}]},
    {"query_id": "q", "query": "x", "steps": [{**STEP, "after": ["1"]}]},
    {"query_id": "q", "query": "x", "steps": [{**STEP, "after": [True]}]},
    {"query_id": "q", "query": "x", "steps": [{**STEP, "role": "king"}]},
    {"query_id": "q", "query": "x", "steps": [{**STEP, "unknown": 1}]},
    {"query_id": "q", "query": "x", "steps": [STEP], "results": [{"ms": 10**400}]},
    {"query_id": "q", "query": "x", "steps": [STEP], "results": [{"hits": [{"passage": {}}]}]},
    {"query_id": "q", "query": "x", "steps": [], "chat_history": [{"role": "robot", "content": ""}]},
    {"query_id": "q", "query": "x", "steps": [], "chat_history": [{"role": "user", "content": "", "metadata": {1: 2}}]},
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=str)
def test_what_is_no_plan_is_refused_with_the_place(garbage: Any) -> None:
    with pytest.raises(BadRequest) as raised:
        QueryPlan.from_dict(garbage)
    assert str(raised.value).startswith("QueryPlan")
    assert raised.value.hint


@given(plain | st.dictionaries(st.sampled_from(["query_id", "query", "steps", "results", "chat_history"]), plain))
def test_whatever_is_sent_it_is_a_plan_or_a_bad_request(garbage: Any) -> None:
    with contextlib.suppress(BadRequest):
        assert isinstance(QueryPlan.from_dict(garbage), QueryPlan)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", '"plan"', b"\xff", json.dumps(GARBAGE)])
def test_a_text_that_holds_no_plan_is_refused(text: str | bytes) -> None:
    with pytest.raises(BadRequest):
        QueryPlan.from_json(text)
