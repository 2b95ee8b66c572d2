"""What is remembered about a user: bounded, lenient with manual edits, and no surer than the user is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.dialogue.profile import (
    MAX_PREFERENCE_CHARS,
    MAX_PREFERENCES,
    MAX_TOPICS,
    OFF,
    KnownTopic,
    Profile,
    changes,
    update_profile,
)
from turnwise.dialogue.tracker import ConversationTracker, knowledge_of
from turnwise.types import ConversationState, KnowledgeLevel, Message, TopicKnowledge

TOPICS = ((), ("BERT", "Gradient descent", "Overfitting"))
ON = Profile(enabled=True)
LEVELS: tuple[KnowledgeLevel, ...] = ("confused", "knows_basics", "advanced")
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
anything = st.recursive(leaves, lambda each: st.lists(each, max_size=4) | st.dictionaries(st.text(max_size=9), each))
topics = st.fixed_dictionaries(
    {"topic": leaves, "level": st.sampled_from(LEVELS) | leaves, "evidence": leaves, "at": leaves}
)
edited = anything | st.fixed_dictionaries(
    {"enabled": leaves, "preferences": anything | st.lists(leaves), "topics": anything | st.lists(topics | anything)}
)


@pytest.fixture
def tracker() -> ConversationTracker:
    return ConversationTracker(terms=lambda: TOPICS)


def after(tracker: ConversationTracker, profile: Profile, *messages: str) -> tuple[Profile, ConversationState]:
    """A conversation of a user's messages, each learned from; the profile and the state at its end."""
    history: tuple[Message, ...] = ()
    state = ConversationState(0)
    for place, message in enumerate(messages, 1):
        state = tracker.update(tracker.read(history, profile), message, profile=profile)
        profile = update_profile(profile, state, message, float(place))
        history = (*history, Message("user", message), Message("assistant", "So it is."))
    return profile, state


# --- what is kept -------------------------------------------------------------------------------------------------


@given(edited)
def test_what_was_edited_by_hand_becomes_a_profile(stored: Any) -> None:
    profile = Profile.from_dict(stored)
    assert Profile.from_dict(profile.to_dict()) == profile
    assert Profile.from_dict(json.loads(json.dumps(profile.to_dict()))) == profile
    assert len(profile.preferences) <= MAX_PREFERENCES
    assert all(0 < len(each) <= MAX_PREFERENCE_CHARS for each in profile.preferences)
    assert len(profile.topics) <= MAX_TOPICS
    assert "\0" not in "".join([*profile.preferences, *(each.topic + each.evidence for each in profile.topics)])


def test_a_profile_is_limited_in_size_and_keeps_the_newest() -> None:
    told = {
        "enabled": True,
        "preferences": [f"cite page {place} " + "x" * 300 for place in range(80)],
        "topics": [{"topic": f"topic {place}", "level": "advanced"} for place in range(300)],
    }
    profile = Profile.from_dict(told)
    assert len(profile.preferences) == 50
    assert profile.preferences[-1].startswith("cite page 79")
    assert len(profile.topics) == 200
    assert profile.topics[-1].topic == "topic 299"


@pytest.mark.parametrize("stored", [None, {}, {"enabled": "yes"}, {"enabled": 1}, {"preferences": ["short answers"]}])
def test_memory_is_off_unless_it_was_switched_on(stored: dict[str, Any] | None) -> None:
    assert not Profile.from_dict(stored).enabled


def test_a_preference_in_the_users_own_words_is_read_as_a_wish_or_quoted() -> None:
    profile = Profile.from_dict({"enabled": True, "preferences": ["Please keep answers short.", "Cite page numbers."]})
    assert profile.guidance == ("The user prefers short answers.", "The user asks: Cite page numbers.")


# --- what is learned ----------------------------------------------------------------------------------------------


def test_off_means_that_nothing_is_learned(tracker: ConversationTracker) -> None:
    assert after(tracker, OFF, "I prefer short answers", "I am confused by gradient descent")[0] == OFF


def test_preferences_are_learned_and_the_newest_of_a_group_holds(tracker: ConversationTracker) -> None:
    profile, _ = after(tracker, ON, "I prefer short answers", "I prefer examples", "Please give me detailed answers")
    assert profile.preferences == ("examples", "detailed answers")


def test_what_the_user_shows_to_know_is_learned_with_their_words(tracker: ConversationTracker) -> None:
    profile, _ = after(tracker, ON, "I am confused by gradient descent")
    assert profile.topics == (KnownTopic("gradient descent", "confused", "I am confused by gradient descent", 1.0),)


def test_confusion_holds_across_conversations_until_the_user_has_got_it(tracker: ConversationTracker) -> None:
    profile, _ = after(tracker, ON, "I am confused by gradient descent")
    profile, state = after(tracker, profile, "I already know about gradient descent")
    assert knowledge_of(state) == profile.topics[0].level == "confused"
    profile, state = after(tracker, profile, "Why gradient descent?", "Now I understand gradient descent")
    assert knowledge_of(state) == profile.topics[0].level == "knows_basics"
    profile, _ = after(tracker, profile, "I am lost in gradient descent, this confuses me")
    assert profile.topics[0].level == "confused"


def test_knowledge_from_an_earlier_conversation_has_turn_0_and_says_so(tracker: ConversationTracker) -> None:
    profile, _ = after(tracker, ON, "I know gradient descent well")
    state = after(tracker, profile, "Why does gradient descent work?")[1]
    (known,) = state.knowledge
    assert (known.topic, known.level, known.turn) == ("gradient descent", "advanced", 0)
    assert known.evidence == "in an earlier conversation: I know gradient descent well"
    assert state.skip_introduction
    assert not after(tracker, OFF, "Why does gradient descent work?")[1].skip_introduction


def test_only_topics_at_hand_are_part_of_a_state(tracker: ConversationTracker) -> None:
    many = tuple(KnownTopic(f"matter {place}", "advanced") for place in range(199))
    profile = Profile(True, (), (KnownTopic("Gradient descent", "advanced"), *many))
    assert [each.topic for each in after(tracker, profile, "Why does gradient descent work?")[1].knowledge] == [
        "Gradient descent"
    ]
    assert after(tracker, profile, "Why does overfitting happen?")[1].knowledge == ()


def test_forgetting_a_topic_or_a_preference(tracker: ConversationTracker) -> None:
    known = Profile(
        True, ("short answers", "examples"), (KnownTopic("Overfitting", "advanced"), KnownTopic("BERT", "advanced"))
    )
    profile, _ = after(tracker, known, "Forget that I understand overfitting.")
    assert [each.topic for each in profile.topics] == ["BERT"]
    assert after(tracker, profile, "I no longer want short answers")[0].preferences == ("examples",)
    assert after(tracker, profile, "Forget my preferences")[0].preferences == ()
    assert after(tracker, profile, "Forget everything you know about me")[0] == ON
    assert after(tracker, profile, "Stop remembering things about me. I prefer tables.")[0].enabled is False
    assert known.without("OVERFITTING").without("keep answers short") == Profile(True, ("examples",), known.topics[1:])


def test_what_is_private_is_not_learned() -> None:
    shown = (TopicKnowledge("ann@example.org", "advanced", "I know it", 1), TopicKnowledge("BERT", "advanced", "so", 1))
    state = ConversationState(1, knowledge=shown)
    assert update_profile(ON, state, "I know it", 5.0, lambda text: "@" in text).topics == (
        KnownTopic("BERT", "advanced", "so", 5.0),
    )
    message = "I prefer tables. I know BERT from ann@example.org"
    assert update_profile(ON, state, message, 5.0, lambda text: "@" in text) == Profile(True, ("tables",))


def test_changes_are_told_in_words() -> None:
    before = Profile(True, ("short answers",), (KnownTopic("BERT", "confused"),))
    assert changes(before, Profile(False, ("examples",), (KnownTopic("GPT", "advanced"),))) == [
        "prefers examples",
        "is at home in GPT",
        "forgot: short answers",
        "forgot: BERT",
        "memory is off",
    ]
    assert changes(before, before) == []


names = st.sampled_from(["BERT", "bert", "GPT", "Gradient descent", "Überanpassung", "过拟合"]) | st.text(max_size=30)
knowing = st.builds(
    TopicKnowledge, names, st.sampled_from((*LEVELS, "unknown")), st.text(max_size=90), st.integers(0, 3)
)
states = st.builds(ConversationState, turn=st.integers(1, 3), knowledge=st.lists(knowing, max_size=6).map(tuple))
profiles = edited.map(Profile.from_dict).map(lambda each: Profile(True, each.preferences, each.topics))


@given(profiles, st.lists(states, max_size=8), st.text(max_size=60))
def test_learning_is_bounded_and_the_same_again_changes_nothing(
    profile: Profile, seen: list[ConversationState], message: str
) -> None:
    for state in seen:
        profile = update_profile(profile, state, message, 7.0)
        assert update_profile(profile, state, message, 7.0) == profile
    assert len(profile.topics) <= MAX_TOPICS
    assert Profile.from_dict(profile.to_dict()) == profile


@given(profiles, st.integers(1, 5))
def test_a_neutral_message_teaches_nothing(profile: Profile, turn: int) -> None:
    earlier = (TopicKnowledge("BERT", "advanced", "I built it", turn - 1),)
    state = ConversationState(turn, knowledge=earlier)
    assert update_profile(profile, state, "How does attention work?", 1.0) is profile


@given(profiles, st.sampled_from(LEVELS))
def test_what_is_shown_now_is_what_is_known_after(profile: Profile, level: KnowledgeLevel) -> None:
    state = ConversationState(2, knowledge=(TopicKnowledge("BERT", level, "so", 2),))
    assert update_profile(profile, state, "so", 3.0).topics[-1] == KnownTopic("BERT", level, "so", 3.0)
