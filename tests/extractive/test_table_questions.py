"""Answers from tables, read straight from passages: what a question must not be taken for."""

from __future__ import annotations

import pytest
from patience import within

from turnwise.extractive.choosing import candidates
from turnwise.extractive.tables import MAX_QUESTION_CHARS, answer_from_tables
from turnwise.text import without_citations
from turnwise.types import Evidence, Hit, Passage, Prompt

STOCK = Passage(1, 1, "stock", "stock.csv", "item: Rope; price: £4\nitem: Nail; price: £1\nitem: Hook; price: £2")


def answer(question: str, *passages: Passage) -> str:
    evidence = tuple(Evidence(number, Hit(passage, 1.0)) for number, passage in enumerate(passages, 1))
    prompt = Prompt((), question, (question,), evidence, ())
    return without_citations(answer_from_tables(question, candidates(prompt), prompt))


def names(text: str) -> list[str]:
    """The first cells of the rows in an answer."""
    rows = [line.removeprefix("- ").removeprefix("item: ") for line in text.splitlines() if ": " in line]
    return [row.partition(";")[0].partition(": ")[0] for row in rows]


@pytest.mark.parametrize(
    ("start", "piece", "end"),
    [
        ("", "can you please ", "x"),
        ("which a ", "is ", "\nx"),
        ("which a is is is is is is is is is is is is is is is is is is is is", " !", "\nx"),
        ("list ", "! ", "\nx"),
        ("which ", "a do you have ", "\nx"),
        ("how much for ", "2 a and ", ""),
        ("what is the cheapest ", "item ", ""),
        ("which items cost ", "under £1", ""),
        ("for 1 a", "!", "x"),
    ],
)
def test_a_hostile_question_is_answered_fast(start: str, piece: str, end: str) -> None:
    question = (start + piece * MAX_QUESTION_CHARS)[: MAX_QUESTION_CHARS - len(end)] + end
    with within(1):
        for _ in range(50):
            answer(question, STOCK)
