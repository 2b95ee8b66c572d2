"""Questions that are suggested after an answer: near it, new, and answered by the library."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from talking import abstains, events_of, of_kind, stage

from turnwise.engine import Engine
from turnwise.extractive import ExtractiveAnswerer
from turnwise.models.fake import FakeChat
from turnwise.turn.parts import Parts
from turnwise.turn.run import run_turn
from turnwise.turn.suggest import ANSWERED, MAX_SEARCHES, AnsweredTurn, suggest
from turnwise.types import Answered, Evidence, Filter, Hit, Index, Message, Reply, SearchQuery, TurnRequest

Talk = Callable[..., tuple[Reply, ...]]
ASKED = (
    "What is BERT?",
    "What is edifest?",
    "What is overfitting?",
    "How does attention work?",
    "What is the learning rate?",
)


def always(question: str, hits: Sequence[Hit], said: Sequence[str]) -> bool:  # noqa: ARG001
    return True


def done_of(reply: Reply, engine: Engine, message: str = "What is BERT?", *history: Message) -> AnsweredTurn:
    """What a reply answered, as a turn would tell it."""
    hits = engine.index.search(SearchQuery(reply.condensed_query), 6)
    evidence = tuple(Evidence(number, hit) for number, hit in enumerate(hits, 1))
    return AnsweredTurn(message, reply.condensed_query, reply.text, reply.sources, evidence, history)


@pytest.mark.parametrize("question", ASKED)
def test_what_is_suggested_is_answered_when_it_is_asked(talk: Talk, question: str) -> None:
    (reply,) = talk(question)
    assert len(reply.suggestions) == 3
    assert len(set(reply.suggestions)) == 3
    for suggestion in reply.suggestions:
        (answer,) = talk(suggestion)
        assert not abstains(answer), suggestion


def test_suggestions_are_near_the_answer_and_the_same_each_time(talk: Talk, sample_engine: Engine) -> None:
    (reply,) = talk("What is BERT?")
    assert reply.suggestions == ("How does BERT work?", "How is BERT pre-trained?", "What are the sizes of BERT?")
    assert sample_engine.chat().ask("What is BERT?").suggestions == reply.suggestions


def test_what_was_asked_or_treated_is_not_suggested_again(talk: Talk) -> None:
    replies = talk("What is BERT?", "How does it compare to GPT?", "How do I fine-tune it?", "How is BERT pre-trained?")
    suggested = [suggestion for reply in replies[1:] for suggestion in reply.suggestions]
    assert "What is BERT?" not in suggested
    assert not [each for each in suggested if "compare with GPT" in each]
    assert "How do I fine-tune BERT?" not in replies[2].suggestions
    assert "How is BERT pre-trained?" not in replies[3].suggestions


@pytest.mark.parametrize("message", ["thanks!", "hello", "What did I ask first?", "Give me that as a list", "12 * 7"])
def test_nothing_is_suggested_where_nothing_was_answered_from_documents(talk: Talk, message: str) -> None:
    assert talk("What is BERT?", message)[1].suggestions == ()


@pytest.mark.parametrize("message", ["What is a zebra?", "asdf qwer"])
def test_nothing_is_suggested_after_a_question_that_nothing_is_near(talk: Talk, message: str) -> None:
    assert talk(message)[0].suggestions == ()


def test_suggestions_are_in_the_language_of_the_user(talk: Talk) -> None:
    (reply,) = talk("Was ist BERT und wie funktioniert es?")
    assert all(each.startswith("Was sollte ich über „") for each in reply.suggestions)
    assert talk("Что такое BERT?")[0].suggestions == ()


class Counted:
    """An index that counts its searches."""

    def __init__(self, index: Index) -> None:
        self._index, self.searches = index, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def search(self, query: SearchQuery, k: int) -> list[Hit]:
        self.searches += 1
        return self._index.search(query, k)


def test_few_searches_are_made(talk: Talk, sample_engine: Engine) -> None:
    index = Counted(sample_engine.index)
    done = done_of(talk("What is BERT?")[0], sample_engine)
    assert len(suggest(done, index, lambda *_: False, 3)) == index.searches == MAX_SEARCHES  # type: ignore[arg-type]


def test_only_what_passes_the_check_is_answered(talk: Talk, sample_engine: Engine) -> None:
    done = done_of(talk("What is BERT?")[0], sample_engine)
    tried = suggest(done, sample_engine.index, lambda question, *_: "work" in question, 3)
    assert tried["How does BERT work?"] == ANSWERED
    assert tried["How is BERT pre-trained?"] == "not answered"
    assert list(suggest(done, sample_engine.index, always, 1).values()) == [ANSWERED]


def test_a_filter_holds_for_suggestions_too(talk: Talk, sample_engine: Engine) -> None:
    done = done_of(talk("What is BERT?")[0], sample_engine)
    tried = suggest(done, sample_engine.index, always, 3, Filter(source="*gpt.md"))
    assert set(tried.values()) == {"not found"}


def test_a_search_that_fails_leaves_the_answer_alone(make_parts: Callable[..., Parts], talk: Talk) -> None:
    def broken(*_: object) -> bool:
        raise RuntimeError("the judge broke")

    (known,) = talk("What is BERT?")
    parts = replace(make_parts(FakeChat(lambda _: known.text)), answers=broken)
    last = events_of(TurnRequest("What is BERT?"), parts)[-1]
    assert isinstance(last, Answered)
    assert (last.reply.text, last.reply.suggestions) == (known.text, ())


def test_the_text_streams_before_suggestions_are_looked_for(
    make_parts: Callable[..., Parts], extractive: ExtractiveAnswerer
) -> None:
    order: list[str] = []
    judge = extractive.answers

    def answers(question: str, hits: Sequence[Hit], said: Sequence[str]) -> bool:
        order.append("suggestion")
        return judge(question, hits, said)

    async def turn() -> Reply:
        async with aclosing(run_turn(TurnRequest("What is BERT?"), parts)) as events:
            async for event in events:
                order.append(type(event).__name__)
                if isinstance(event, Answered):
                    return event.reply
        raise AssertionError("not answered")

    parts = replace(make_parts(extractive), answers=answers)
    reply = asyncio.run(turn())
    last_text = max(place for place, what in enumerate(order) if what == "Delta")
    assert order.index("suggestion") > last_text
    assert len(reply.suggestions) == 3
    assert stage(reply, "remember").details["suggestions"]


def test_the_setting_limits_them(make_parts: Callable[..., Parts], extractive: ExtractiveAnswerer) -> None:
    for most in (0, 1, 2):
        parts = replace(make_parts(extractive, suggestions=most), answers=extractive.answers)
        (answered,) = of_kind(events_of(TurnRequest("What is BERT?"), parts), Answered)
        assert len(answered.reply.suggestions) == most
