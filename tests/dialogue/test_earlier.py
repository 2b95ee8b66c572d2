"""Where something was mentioned, and corrections of the last question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spoken import leans, long_talk, said

from turnwise.dialogue import earlier
from turnwise.dialogue.earlier import corrected_question, mentions, sentences_about
from turnwise.dialogue.intent import read_intent
from turnwise.text import content_stems, stem

TALK = said(
    "How are models trained?",
    "Training a model takes days. Models differ. [1]",
    "Which stars?",
    "The US model’s stars. [2]",
)


@pytest.mark.parametrize(
    ("about", "places"),
    [("model training", [0, 1]), ("the models", [0, 1, 3]), ("moderation", []), ("us", []), ("it", [])],
)
def test_mentions_have_all_the_words_in_any_form(about: str, places: list[int]) -> None:
    assert mentions(about, TALK) == places


WORDS = st.sampled_from("model models modern train training trains us US don’t it IT task tasks multi-task".split())


@given(st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=6), st.lists(WORDS, min_size=1, max_size=2))
def test_mentions_are_the_same_as_in_a_full_scan(contents: list[str], about: list[str]) -> None:
    wanted, whole = content_stems(" ".join(about)), " ".join(about).lower()
    expected = [
        place
        for place, text in enumerate(map(str.lower, contents))
        if wanted and (whole in text or wanted <= content_stems(text))
    ]
    assert mentions(" ".join(about), said(*contents)) == expected


def test_few_words_of_a_long_conversation_are_stemmed(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr(earlier, "stem", lambda word: looked.append(word) or stem(word))
    talk = long_talk(500, answer_7="Herons live here. [1]", answer_9="A heronry. [1]", turn_11="Herring?")
    assert mentions("those herons", talk) == [13]
    assert len(looked) <= 4  # the order in which the words are searched is not fixed
    assert set(looked) == {"herons", "heronry"}


def test_only_the_messages_that_are_quoted_are_split_into_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    apart = earlier.sentences
    monkeypatch.setattr(earlier, "sentences", lambda text: read.append(text) or apart(text))
    assert len(sentences_about("river", long_talk(500))) == 4
    assert len(read) == 4


@pytest.mark.parametrize(
    ("last", "message", "query"),
    [
        ("How do we book?", "no, I mean a private tour", "How do we book a private tour?"),
        (
            "How did girls and boys differ?",
            "no, in the Okoro study",
            "How did girls and boys differ in the Okoro study?",
        ),
        ("When is the mill open in summer?", "no, in winter", "When is the mill open in winter?"),
        ("How much is the red ticket?", "no, the blue one", "How much is the blue ticket?"),
        ("How much is a ticket?", "no, the annual one", "How much is a ticket (annual)?"),
        ("What is a rye loaf?", "no, I meant a wheat loaf", "What is a wheat loaf?"),
        ("how much is a pass for adults?", "no i meant for kids", "how much is a pass for kids?"),
        ("how much is a pass for adults?", "no, i meant kids", "how much is a pass for kids?"),
        ("how much is a day pass for kids?", "i meant my son", "how much is a day pass for my son?"),
        ("how much is a pass for adults?", "no, i meant the day pass", "how much is the day pass for adults?"),
        ("when is the library open on tuesday?", "no, the pool", "when is the pool open on tuesday?"),
        ("is the hall heated?", "no, the pool", "is the pool heated?"),
        ("is the sports hall dark?", "i meant the pool", "is the pool dark?"),
        ("where is leeds united", "i meant fulham", "where is fulham"),
    ],
)
def test_a_correction_keeps_the_last_question(last: str, message: str, query: str) -> None:
    found = corrected_question(message, read_intent(message), said(last, "That. [1]"), leans(0.9))
    assert found is not None
    assert (found.query, found.method) == (query, "rules")


@pytest.mark.parametrize(
    ("last", "message", "query"),
    [
        ("How do I go?", "no, I meant Rome", "How do I go to Rome?"),
        ("How much is a pass for the zoo?", "no, I meant children", "How much is a pass for the zoo (children)?"),
    ],
)
def test_a_correction_that_replaces_no_word_completes_the_question(last: str, message: str, query: str) -> None:
    history = said("When is the mill open?", "At ten. [1]", last, "That. [1]")
    found = corrected_question(message, read_intent(message), history, leans(0.9))
    assert found is not None
    assert (found.query, found.method) == (query, "rules")


@pytest.mark.parametrize(
    ("asked", "message", "query"),
    [
        (("no, the pool",), "i meant thursday", "when is the pool open on thursday?"),
        (("no, the pool", "no i meant on thursday"), "no, the sauna", "when is the sauna open on thursday?"),
        (("thanks", "no, the pool", "thank you"), "i meant thursday", "when is the pool open on thursday?"),
        (("no, the pool", "is it heated?"), "i meant the sauna", "is the sauna heated?"),
        (("that’s wrong",), "i meant thursday", "when is the library open on thursday?"),
    ],
)
def test_a_correction_builds_on_the_one_before(asked: tuple[str, ...], message: str, query: str) -> None:
    said_before = ("when is the library open on tuesday?", *asked)
    history = said(*(each for text in said_before for each in (text, "That. [1]")))
    found = corrected_question(message, read_intent(message), history, leans(0.9))
    assert found is not None
    assert found.query == query
