"""The passages that the searches of a plan find together."""

from __future__ import annotations

from turnwise.turn.retrieve import MOST, retrieve
from turnwise.types import Hit, Passage, Plan, SearchQuery, Step


def hits(*ids: int) -> list[Hit]:
    return [Hit(Passage(number, 0, "", "", ""), 1.0) for number in ids]


FOUND = {"both": hits(1, 2, 3, 4, 5, 6), "left": hits(1, 11, 12, 13, 14, 15), "right": hits(21, 2, 22, 23, 24, 25)}


def retrieved(*questions: str, k: int = 6) -> list[int]:
    steps = tuple(Step("search", SearchQuery(question)) for question in questions)
    found = retrieve(Plan(steps, ""), lambda query, most: FOUND[query.question][:most], k)
    return [hit.passage.id for hit in found]


def test_one_search_keeps_its_order_and_its_number() -> None:
    assert retrieved("both") == [1, 2, 3, 4, 5, 6]
    assert retrieved("both", k=2) == [1, 2]


def test_the_searches_of_a_comparison_take_turns_and_none_comes_twice() -> None:
    assert retrieved("both", "left", "right", k=4) == [1, 21, 2, 11, 3, 12]


def test_no_answer_draws_on_more_than_eight() -> None:
    assert len(retrieved("both", "left", "right", k=7)) == MOST == 8
    assert len(retrieved("both", k=100)) == 6


def test_a_plan_without_a_search_finds_nothing() -> None:
    def search(query: SearchQuery, k: int) -> list[Hit]:
        raise AssertionError(f"searched for {query} and {k}")

    assert retrieve(Plan((Step("say", detail="Welcome."), Step("reform", detail="list")), ""), search, 6) == []
