"""Whether a message depends on the conversation: by its words, its meaning, a model, and the time passed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.config import Settings
from turnwise.dialogue.follow_up import (
    COMPARED_QUESTIONS,
    HIGH_COSINE,
    LOW_COSINE,
    MEDIUM_COSINE,
    closeness,
    combine,
    fade,
    previous_topic,
)
from turnwise.engine import Engine
from turnwise.turn.understand import Senses, details, understand
from turnwise.types import FollowUp, Message, Prediction

if TYPE_CHECKING:
    from turnwise.types import Vectors

NOON = 1_700_000_000.0


def said(*contents: str, at: float | None = None) -> tuple[Message, ...]:
    return tuple(
        Message("assistant" if place % 2 else "user", content, at=at) for place, content in enumerate(contents)
    )


EDIFEST = said("What is edifest?", "Edifest is our annual festival with various activities and field trips.")
EDICENTER = said("Tell me about edicenter", "Edicenter is a place for pupils.")
FOURTH = said("What is edifest?", "A festival.", "When is it?", "In May.", "Who can join?", "Everyone.")


@pytest.fixture(scope="module")
def senses(sample_engine: Engine) -> Senses:
    """With the very embedder that indexes the documents."""
    return Senses(sample_engine.index.embedder)


@pytest.fixture(params=["words", "words and meaning"])
def either(request: pytest.FixtureRequest, senses: Senses) -> Senses:
    return senses if request.param == "words and meaning" else Senses()


def follow_up(message: str, history: Sequence[Message], senses: Senses = Senses()) -> FollowUp:  # noqa: B008
    return understand(message, history, Settings(), senses).follow_up


# --- SPEC B8, and where it disagrees with E -----------------------------------------------------------------------


def test_tell_me_more_is_a_pattern_at_085(either: Senses) -> None:
    found = follow_up("tell me more", EDIFEST, either)
    assert (found.is_follow_up, found.type, found.confidence) == (True, "pattern", 0.85)
    assert found.previous_topic == "edifest"
    assert "edifest" in found.keywords


def test_what_activities_are_included_is_seen_by_its_meaning(either: Senses) -> None:
    found = follow_up("what activities are included", EDIFEST, either)
    assert (found.is_follow_up, found.type) == (True, "semantic")
    assert 0.5 <= found.confidence <= 0.9


def test_more_about_something_that_was_said_is_a_follow_up(either: Senses) -> None:
    history = (*EDIFEST, *said("what activities are included", "Workshops and field trips."))
    assert follow_up("tell me more about field trips", history, either).is_follow_up


def test_who_can_access_it_leans_on_the_centre(either: Senses) -> None:
    found = follow_up("who can access it", EDICENTER, either)
    assert (found.is_follow_up, found.previous_topic) == (True, "edicenter")


@pytest.mark.parametrize(
    "message", ["Explain gradient descent", "Show me the opening hours of the museum", "What is BERT?"]
)
def test_a_fresh_topic_is_no_follow_up_whatever_words_it_begins_with(message: str, either: Senses) -> None:
    found = follow_up(message, FOURTH, either)
    assert (found.is_follow_up, found.type) == (False, "none")


@pytest.mark.parametrize("message", ["explain", "Explain please", "details?", "more details", "clarify", "ok, expand"])
def test_a_bare_wish_for_more_continues(message: str, either: Senses) -> None:
    found = follow_up(message, EDIFEST, either)
    assert (found.is_follow_up, found.type, found.confidence) == (True, "pattern", 0.85)


@pytest.mark.parametrize("message", ["and the field trips", "and for the staff", "and a guest"])
def test_another_thing_needs_no_question_mark(message: str) -> None:
    assert follow_up(message, EDIFEST).confidence == 0.85
    assert follow_up(f"{message} are what I want to hear about", EDIFEST).confidence != 0.85


@pytest.mark.parametrize("message", ["explain gradient descent", "details of the GPT paper", "12 * 7"])
def test_what_names_its_own_subject_does_not(message: str) -> None:
    assert not follow_up(message, EDIFEST).is_follow_up


# --- meaning ------------------------------------------------------------------------------------------------------


def axis(cosine: float) -> Vectors:
    return np.array([cosine, math.sqrt(1 - cosine**2)], dtype=np.float32)


def compared(cosines: Sequence[float], message: str = "a message of some length", answer: str = "") -> float | None:
    """The signal of a message that has these cosines to the questions before it, the latest last."""
    questions = [f"What is number {place}?" for place in range(len(cosines))]
    vectors = dict(zip(questions, map(axis, cosines), strict=True))
    history = [each for text in questions for each in said(text, answer)]
    return closeness(message, history, lambda text: vectors.get(text, axis(1.0)))


def test_the_signal_runs_from_03_to_09_over_the_three_thresholds() -> None:
    assert compared([LOW_COSINE - 0.2]) == pytest.approx(0.3)
    assert compared([LOW_COSINE]) == pytest.approx(0.3, abs=0.01)
    assert compared([MEDIUM_COSINE]) == pytest.approx(0.5, abs=0.01)
    assert compared([HIGH_COSINE]) == pytest.approx(0.75, abs=0.01)
    assert compared([0.99]) == pytest.approx(0.9)


def test_recent_turns_weigh_more_and_old_ones_nothing() -> None:
    latest, before, old = compared([0.1, 0.55]), compared([0.55, 0.1]), compared([0.55, *[0.1] * COMPARED_QUESTIONS])
    assert (latest or 0) > (before or 0) > (old or 0)
    assert old == pytest.approx(0.3)


def test_words_in_common_with_the_last_exchange_raise_it() -> None:
    alone, shared = compared([0.4]), compared([0.4], "which workshops exist", "There are workshops.")
    assert (shared or 0) > (alone or 1)


@pytest.mark.parametrize("message", ["why?", "ok", "  a  ", "GPT"])
def test_a_message_under_five_characters_is_not_compared(message: str) -> None:
    assert compared([0.9], message) is None


def test_nothing_is_embedded_if_nothing_was_asked() -> None:
    class Unused:
        name, dimension = "unused", 2

        def embed_query(self, text: str) -> Vectors:
            raise AssertionError(f"{text!r} was embedded")

        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            raise AssertionError(texts)

    for message in ("thanks!", "as a list", "what did I ask first?", "no, I meant attachments"):
        assert understand(message, EDIFEST, Settings(), Senses(Unused())).follow_up.signals == {}


def test_a_message_far_from_all_that_was_said_is_less_likely_to_lean_on_it(senses: Senses) -> None:
    history = said(
        "How do I renew my passport?", "At the town hall.", "What does a passport cost?", "It costs 60 euros."
    )
    near, far = "what documents are needed", "what proteins are folded"
    by_words = follow_up(near, history).confidence - follow_up(far, history).confidence
    by_meaning = follow_up(near, history, senses).confidence - follow_up(far, history, senses).confidence
    assert by_meaning > by_words


def test_the_signals_are_reported_with_their_thresholds(senses: Senses) -> None:
    understood = understand("what activities are included", EDIFEST, Settings(), senses)
    assert understood.follow_up.signals.keys() == {"pattern", "semantic"}
    shown = details(understood, Settings())
    assert shown["signals"] == understood.follow_up.signals
    assert shown["thresholds"]["follow_up"] == 0.5
    assert shown["thresholds"]["similarity"] == {"high": 0.6, "medium": 0.45, "low": 0.3}


# --- one confidence -----------------------------------------------------------------------------------------------

SIGNAL = st.floats(0, 1)


@given(SIGNAL, SIGNAL, SIGNAL)
def test_more_of_a_signal_is_never_less_of_a_follow_up(low: float, high: float, other: float) -> None:
    low, high = sorted((low, high))
    assert combine(low, other, other) <= combine(high, other, other)
    assert combine(other, low, other) <= combine(other, high, other)
    assert combine(other, other, low) <= combine(other, other, high)


@given(SIGNAL, st.none() | SIGNAL, st.none() | SIGNAL)
def test_a_confidence_is_never_certain(pattern: float, semantic: float | None, model: float | None) -> None:
    assert 0.05 <= combine(pattern, semantic, model) <= 0.95


@pytest.mark.parametrize("pattern", [0.05, 0.2, 0.5, 0.77, 0.95])
def test_the_words_alone_decide_where_there_is_nothing_else(pattern: float) -> None:
    assert combine(pattern) == pytest.approx(pattern)


class Certain:
    """A condenser that is sure of one thing, and keeps what it was asked."""

    def __init__(self, needs_context: float) -> None:
        self.needs_context = needs_context
        self.asked: list[str] = []

    def predict(self, message: str, history: Sequence[Message]) -> Prediction:  # noqa: ARG002
        self.asked.append(message)
        return Prediction(self.needs_context, ())


def test_a_model_has_its_say() -> None:
    message = "what activities are included"
    sure, unsure = (follow_up(message, EDIFEST, Senses(condenser=Certain(value))) for value in (0.98, 0.02))
    assert sure.confidence > follow_up(message, EDIFEST).confidence > unsure.confidence
    assert (sure.is_follow_up, unsure.is_follow_up) == (True, False)
    assert sure.signals["model"] == 0.98


def test_the_model_reads_only_what_it_can_help_with() -> None:
    model = Certain(0.5)
    for message in ("thanks!", "as a table", "what did I ask first?", "Was ist BERT und wie geht das?"):
        assert understand(message, EDIFEST, Settings(), Senses(condenser=model)).prediction is None
    assert understand("Who can join?", (), Settings(), Senses(condenser=model)).prediction is None
    assert model.asked == []
    assert understand("Thanks. Who can join?", EDIFEST, Settings(), Senses(condenser=model)).prediction is not None
    assert model.asked == ["Who can join?"]


# --- memory that fades --------------------------------------------------------------------------------------------


def after(message: str, seconds: float, **settings: float) -> FollowUp:
    history = said("What is edifest?", "A festival with activities.", at=NOON)
    return understand(message, history, Settings(**settings), now=NOON + seconds).follow_up  # type: ignore[arg-type]


def test_an_old_topic_lets_go_of_a_vague_message_little_by_little() -> None:
    confidences = [after("which workshops", seconds).confidence for seconds in (0, 299, 300, 330, 400, 900, 86400)]
    assert confidences == sorted(confidences, reverse=True)
    assert confidences[0] == confidences[1] == confidences[2] >= 0.5
    assert confidences[2] - confidences[3] < 0.1  # no cliff
    later = after("which workshops", 7200)
    assert not later.is_follow_up
    assert later.reason == "it may have referred to “edifest”, but that was 2 hours ago"


@pytest.mark.parametrize("message", ["and what about the second one?", "what does it cost?", "tell me more", "why?"])
def test_a_message_that_refers_back_is_a_follow_up_after_a_long_break(message: str) -> None:
    assert after(message, 7200) == after(message, 0)
    assert after(message, 7200).is_follow_up


def test_how_long_memory_lasts_is_a_setting() -> None:
    assert not after("which workshops", 60, memory_seconds=10.0).is_follow_up
    assert after("which workshops", 3600, memory_seconds=7200.0).is_follow_up
    assert after("which workshops", 3600, memory_seconds=0.0).is_follow_up  # never fades


@pytest.mark.parametrize("at", [None, NOON + 1e9, float("inf")])
def test_an_unknown_or_future_time_counts_as_no_silence(at: float | None) -> None:
    history = said("What is edifest?", "A festival with activities.", at=at)
    assert understand("which workshops", history, now=NOON).follow_up.is_follow_up


def test_without_a_clock_nothing_fades() -> None:
    history = said("What is edifest?", "A festival with activities.", at=1.0)
    assert understand("which workshops", history).follow_up.is_follow_up


@given(st.floats(0, 1e12), st.floats(0.1, 1e6))
def test_what_is_left_of_a_topic_is_a_share(idle: float, memory: float) -> None:
    assert 0 < fade(idle, memory) <= 1
    assert fade(idle, memory) >= fade(idle * 2, memory)


# --- another topic ------------------------------------------------------------------------------------------------


def test_leaving_the_topic_is_said(either: Senses) -> None:
    found = follow_up("How are proteins folded in a cell?", EDIFEST, either)
    assert found.topic_changed
    assert found.reason == "it stands by itself and leaves “edifest”"


@pytest.mark.parametrize(
    "message",
    ["When does Edifest take place?", "tell me more", "who can join it?", "thanks!", "as a list", "no, I meant May"],
)
def test_staying_with_the_topic_is_no_change(message: str, either: Senses) -> None:
    assert not follow_up(message, EDIFEST, either).topic_changed


def test_nothing_changes_where_the_conversation_begins() -> None:
    assert not follow_up("How are proteins folded?", ()).topic_changed


def test_the_signal_can_be_switched_off() -> None:
    found = understand("How are proteins folded in a cell?", EDIFEST, Settings(topic_signal=False)).follow_up
    assert not found.topic_changed


# --- long and hostile ---------------------------------------------------------------------------------------------


def test_the_work_does_not_grow_with_the_conversation() -> None:
    """What is embedded is counted: the message and a few questions, at turn 5 as at turn 500."""
    embedded: list[str] = []

    class Counting:
        name, dimension = "counting", 2

        def embed_query(self, text: str) -> Vectors:
            embedded.append(text)
            return axis(0.5)

        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            raise AssertionError(texts)

    counts = []
    for turns in (5, 500):
        embedded.clear()
        history = said(*(text for turn in range(turns) for text in (f"What is topic {turn}?", "long " * 5000)))
        understand("what activities are included " * 100, history, Settings(), Senses(Counting()))
        counts.append(len(embedded))
        assert max(map(len, embedded)) <= 600
    assert counts[0] == counts[1] <= COMPARED_QUESTIONS + 1


def test_the_words_of_a_page_are_keywords_and_its_markup_is_not() -> None:
    """SPEC B4: style sheets and tags never become topics."""
    style = "<style>.card { margin: 4px; color: red; padding: 2em } .title { font-weight: bold }</style>" * 5
    answer = f'{style}<div class="card"><h2>Edifest</h2> is our <b>annual festival</b>.</div>'
    topic, keywords = previous_topic((Message("user", "What is <b>edifest</b>?"), Message("assistant", answer)))
    assert topic == "edifest"
    assert any("festival" in word for word in keywords)
    artefacts = {"margin", "color", "padding", "div", "class", "card", "style", "font", "weight", "px", "title"}
    assert not artefacts & {part for word in keywords for part in word.replace("-", " ").split()}
