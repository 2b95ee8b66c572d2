"""Topics that must not be discussed, and topics that a conversation should stay on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.guard.reading import read
from turnwise.guard.stream import AnswerContext, Redactor
from turnwise.guard.topics import OffTopicRail, Phrases, TopicsRail
from turnwise.guard.verdict import Case
from turnwise.types import Message

BLOCKED = {"investments": ["stock tip", "crypto*"], "health": ["diagnosis", "take this medicine"], "war": ["戦争"]}
RAIL = TopicsRail({"blocked": BLOCKED, "action": "redact"})


def released(pieces: Sequence[str], rail: TopicsRail = RAIL) -> str:
    stream = Redactor([rail], AnswerContext())
    return "".join(map(stream.feed, pieces)) + stream.feed("", True)


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("Any stock tips for me?", ["investments"]),
        ("CRYPTOCURRENCIES, then", ["investments"]),
        ("I was taking this medicine: a diagnosis?", ["health", "health"]),
        ("昨日の戦争について", ["war"]),
        ("Tip: the stock is out.", []),
        ("Do not encrypt it.", []),
        ("", []),
    ],
)
def test_a_topic_is_known_by_its_phrases(text: str, topics: list[str]) -> None:
    assert [span.kind for span in Phrases(BLOCKED).find(text)] == topics


def test_a_message_that_names_one_is_stopped_and_told_why() -> None:
    found = TopicsRail({"blocked": BLOCKED}).check(Case(read("Give me a stock tip")))
    assert (found.action, found.state) == ("block", "found")
    assert found.reason == "investments is not discussed here"
    assert [(span.start, span.end) for span in found.spans] == [(10, 19)]
    assert TopicsRail({"blocked": BLOCKED}).check(Case(read("Hello"))).action == "allow"


@pytest.mark.parametrize(
    "text",
    [
        "Give me a st\u200bock tip",
        "Give me a sto\u00adck tip",
        "Give me a st\u043eck tip",
        "Give me a ｓｔｏｃｋ tip",
    ],
    ids=ascii,
)
def test_a_topic_that_is_disguised_is_known_too(text: str) -> None:
    found = RAIL.check(Case(read(text)))
    assert (found.action, [span.kind for span in found.spans]) == ("redact", ["investments"])
    (span,) = found.spans
    assert text[span.start : span.end].endswith("tip")
    assert "Give" not in text[span.start : span.end]


def test_several_topics_are_told_as_such() -> None:
    found = TopicsRail({"blocked": BLOCKED}).check(Case(read("A stock tip, or a diagnosis?")))
    assert found.reason == "investments, health are not discussed here"


def test_an_answer_goes_on_without_it_or_stops_before_it() -> None:
    text = "Here is a stock tip for you."
    assert released([text]) == "Here is a [investments removed] for you."
    assert released([text], TopicsRail({"blocked": BLOCKED})) == "Here is a "
    assert released([text], TopicsRail({"blocked": BLOCKED, "action": "warn"})) == text


def test_phrases_must_be_lists() -> None:
    with pytest.raises(ValueError, match="'investments' should be a list"):
        TopicsRail({"blocked": {"investments": "stock tip"}})


words = st.sampled_from(
    ["stock ", "tip", "tips ", "crypto", "s", " ", "take ", "this ", "medicine", "戦", "争", "a", ", "]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(words, max_size=12))
def test_where_it_is_cut_makes_no_difference(pieces: list[str]) -> None:
    whole = released(["".join(pieces)])
    assert released(pieces) == whole
    assert released("".join(pieces)) == whole
    assert Phrases(BLOCKED).find(whole.replace(" removed]", "").replace("[", "")) == []


class Near:
    """An embedder that only knows whether a text is about books."""

    name = "near"
    dimension = 2

    def embed_query(self, text: str) -> np.ndarray:
        return np.array([1, 0] if "book" in text else [0, 1], np.float32)

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self.embed_query(text) for text in texts])


def test_what_is_about_something_else_is_warned_of() -> None:
    rail = OffTopicRail({"topics": ["deliver*"], "about": ["Questions about books."]}, Near())
    assert rail.check(Case(read("Where is my delivery?"))).action == "allow"
    assert rail.check(Case(read("Which book is it?"))).action == "allow"
    found = rail.check(Case(read("Who won the match?")))
    assert (found.action, found.state, found.score) == ("warn", "found", 0.0)


def test_a_follow_up_is_about_what_was_said_before() -> None:
    rail = OffTopicRail({"topics": ["deliver*"]})
    history = (Message("user", "Where is my delivery?"), Message("assistant", "On its way."))
    assert rail.check(Case(read("And when?"))).action == "warn"
    assert rail.check(Case(read("And when?"), history)).action == "allow"


def test_with_no_topics_it_has_nothing_to_judge_by() -> None:
    assert OffTopicRail({}).check(Case(read("And when?"))).state == "skipped"
    assert OffTopicRail({"about": ["Books."]}).check(Case(read("And when?"))).state == "skipped"
