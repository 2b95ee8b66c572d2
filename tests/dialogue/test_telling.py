"""What a model is sent of earlier turns: everything, then without uncited evidence, then a line for each old turn."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.dialogue.telling import RECENT_TURNS, PastTurn, summary_of, transcripts, turns_of
from turnwise.dialogue.tokens import Budget
from turnwise.types import Message, Source

LETTERS = Budget(messages=1000, count=len)  # one token per letter


def source(number: int, size: int = 100) -> Source:
    return Source(number, number, f"Paper {number}", "p.md", "", None, "x" * size)


def turn(number: int, shown: int = 3, answer: int = 100) -> PastTurn:
    """A turn that shows some sources and cites the first of them."""
    sources = tuple(source(10 * number + place) for place in range(shown))
    text = f"It is so [{10 * number}]. " + "Yes. " * (answer // 5)
    return PastTurn(f"Question {number}?", sources, "A note.", (text,), sources[:1], opens=number == 0, kept=True)


def shown(turns: tuple[PastTurn, ...]) -> list[list[int]]:
    return [[each.number for each in turn.evidence] for turn in turns]


def test_all_is_told_while_there_is_room() -> None:
    turns = [turn(number) for number in range(3)]
    before, now = transcripts(turns, "And now?", 10_000, LETTERS)
    assert (now.whole, now.short, now.summary) == (tuple(turns), 0, "")
    assert before.whole == tuple(turns[:2])
    assert now.size == LETTERS.size(now.messages())


def test_evidence_that_nobody_cited_goes_first_and_the_notes_with_it() -> None:
    turns = [turn(number, shown=8) for number in range(3)]
    _, now = transcripts(turns, "And now?", 4000, LETTERS)
    assert (shown(now.whole), now.short) == ([[0], [10], [20]], 0)
    assert {each.note for each in now.whole} == {""}


def test_then_the_oldest_turns_become_a_line_each() -> None:
    turns = [turn(number, answer=800) for number in range(4)]
    _, now = transcripts(turns, "And now?", 4000, LETTERS)
    assert now.short == 2
    assert [each.question for each in now.whole] == ["Question 2?", "Question 3?"]
    assert now.summary.split("\n") == [
        "Earlier in this conversation, in short:",
        "- Question 0? → It is so. [0]",
        "- Question 1? → It is so. [10]",
    ]


def test_the_last_turn_stays_as_long_as_it_fits_at_all() -> None:
    _, now = transcripts([turn(0, answer=2000)], "And now?", 4000, LETTERS)
    assert now.short == 0
    _, now = transcripts([turn(0, answer=3000)], "And now?", 4000, LETTERS)
    assert (now.short, now.whole) == (1, ())


def test_evidence_that_a_later_answer_cites_is_kept() -> None:
    first, second = turn(0, shown=8), turn(1, shown=8)
    second = PastTurn(second.question, second.evidence, "", ("So [3].",), (source(3),), kept=True)
    _, now = transcripts([first, second, turn(2, shown=8)], "And now?", 4000, LETTERS)
    assert shown(now.whole)[:2] == [[0, 3], []]


def test_of_a_history_of_texts_the_evidence_is_what_each_answer_was_first_to_cite() -> None:
    texts = [PastTurn("One?", answers=("So [1].",), sources=(source(1),)), PastTurn("Two?", answers=("So [1][2].",))]
    texts[1] = PastTurn("Two?", answers=("So [1][2].",), sources=(source(1), source(2)))
    _, now = transcripts(texts, "And now?", 10_000, LETTERS)
    assert shown(now.whole) == [[1], [2]]


@pytest.mark.parametrize("messages", [0, 1, 2, 7, 20])
def test_no_more_messages_are_told_whole_than_are_set(messages: int) -> None:
    turns = [turn(number) for number in range(60)]
    for number in range(60):
        _, now = transcripts(turns[:number], "And now?", 10**6, Budget(messages=messages, count=len))
        assert 2 * len(now.whole) + bool(now.short) <= messages or not now.whole


def test_most_turns_only_add_to_what_was_told() -> None:
    turns = [turn(number) for number in range(200)]
    told_to = [transcripts(turns[:number], "And now?", 10**6, Budget(count=len))[1].messages() for number in range(200)]
    broken = sum(later[: len(earlier)] != earlier for earlier, later in pairwise(told_to))
    assert broken < 200 / 4


def test_only_recent_answers_are_looked_up() -> None:
    asked: list[str] = []
    history = [Message("user", "So?"), Message("assistant", "It is so [1].")] * 100
    turns_of(history, lambda sentence: asked.append(sentence), 1000, Budget())  # type: ignore[func-returns-value]
    assert RECENT_TURNS <= len(asked) <= 2 * RECENT_TURNS


def test_a_greeting_before_the_first_question_is_left_out() -> None:
    history = [Message("assistant", "Hello!"), Message("user", "Why?"), Message("assistant", "So.")]
    (only,) = turns_of(history, lambda _: None, 1000, Budget())
    assert (only.question, only.answers, only.opens) == ("Why?", ("So.",), True)


def test_a_summary_has_the_questions_of_older_turns_and_drops_the_oldest() -> None:
    summary = summary_of([turn(number) for number in range(100)], 700, LETTERS)
    _, before, *lines = summary.split("\n")
    assert lines == [f"- Question {number}? → It is so. [{number}0]" for number in range(100 - len(lines), 100)]
    asked = before.removeprefix("- Before that the user asked: ").split("; ")
    assert asked == [f"Question {number}?" for number in range(100 - len(lines) - len(asked), 100 - len(lines))]
    assert min(len(lines), len(asked)) > 5


@given(st.integers(-50, 3000), st.integers(0, 40))
def test_a_summary_is_never_longer_than_it_may_be(most: int, turns: int) -> None:
    assert len(summary_of([turn(number) for number in range(turns)], most, LETTERS)) <= max(0, most)
