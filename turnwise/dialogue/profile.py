"""Profile: what is remembered of a user across conversations, where they wish it. What they prefer, what they know."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.dialogue.wishes import Wishes, group_of, read_wishes
from turnwise.text import clean, one_line, stem, words
from turnwise.types import ConversationState, KnowledgeLevel, TopicKnowledge

MOST_PREFERENCES, LONGEST_PREFERENCE = 50, 200  # and characters of one
MOST_TOPICS, LONGEST_TOPIC, LONGEST_EVIDENCE = 200, 100, 100
EARLIER = "in an earlier conversation"
_LEVELS = {"confused": "has not understood", "knows_basics": "knows the basics of", "advanced": "is at home in"}


@dataclass(frozen=True, slots=True)
class KnownTopic:
    """What the user showed to know of a topic, the words of theirs that showed it, and when (seconds since 1970)."""

    topic: str
    level: KnowledgeLevel
    evidence: str = ""
    at: float = 0.0

    def __str__(self) -> str:
        return f"{_LEVELS[self.level]} {self.topic}"


@dataclass(frozen=True, slots=True)
class Profile:
    """What is remembered of a user. One that is not enabled is neither used nor added to."""

    enabled: bool = False
    preferences: tuple[str, ...] = ()  # the newest last
    topics: tuple[KnownTopic, ...] = ()

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any] | None) -> Profile:
        """What `to_dict` wrote, perhaps edited by hand: what cannot be used is left out, what is too much is cut."""
        told = stored if isinstance(stored, Mapping) else {}
        return _bounded(
            cls(
                told.get("enabled") is True,
                tuple(_text(each, LONGEST_PREFERENCE) for each in _items(told.get("preferences"))),
                tuple(filter(None, map(_topic, _items(told.get("topics"))))),
            )
        )

    def to_dict(self) -> dict[str, Any]:
        topics = [dataclasses.asdict(each) for each in self.topics]
        return {"enabled": self.enabled, "preferences": list(self.preferences), "topics": topics}

    @property
    def known(self) -> tuple[TopicKnowledge, ...]:
        """What a conversation begins with: its topics, as of turn 0."""
        if not self.enabled:
            return ()
        return tuple(
            TopicKnowledge(each.topic, each.level, f"{EARLIER}: {each.evidence}" if each.evidence else EARLIER)
            for each in self.topics
        )

    @property
    def guidance(self) -> tuple[str, ...]:
        """The preferences in words for whoever answers."""
        return tuple(told(each) for each in self.preferences) if self.enabled else ()

    @property
    def in_own_words(self) -> tuple[str, ...]:
        """The preferences that are none of those that are known."""
        return tuple(each for each in self.preferences if group_of(each) == each) if self.enabled else ()

    def used(self, state: ConversationState) -> list[str]:
        """What of it a turn works with: every preference, and the topics that are at hand in the conversation."""
        if not self.enabled:
            return []
        at_hand = [each for each in state.knowledge if each.turn == 0]
        return [*map(told, self.preferences), *(f"The user {_LEVELS[each.level]} {each.topic}." for each in at_hand)]

    def without(self, what: str) -> Profile:
        """The same without the preferences and topics of these words; unchanged where there are none."""
        key = _key(what)
        wish = next((wish for _, wish in read_wishes(what).preferences), what)
        return dataclasses.replace(
            self,
            preferences=tuple(each for each in self.preferences if _key(each) not in (key, _key(wish))),
            topics=tuple(each for each in self.topics if _key(each.topic) != key),
        )


OFF = Profile()


def told(preference: str) -> str:
    """A preference as a sentence about the user."""
    return f"The user prefers {preference}." if group_of(preference) != preference else f"The user asks: {preference}"


def learned(
    profile: Profile,
    state: ConversationState,
    message: str,
    now: float,
    private: Callable[[str], bool] = lambda _: False,
) -> Profile:
    """The profile after a message: with what the user shows in it to know, prefers, or wants to be forgotten.

    `state` is where the conversation stands with this message, read by a tracker that was given the profile: what it
    says of a topic outranks what the profile said. Of a message that is `private` only its wishes are kept.
    """
    if not profile.enabled:
        return profile
    wishes = read_wishes(message)
    profile = _after(profile, wishes)
    if wishes.any_forgetting or private(message):  # "forget that I know BERT" claims nothing
        return profile
    shown = [each for each in state.knowledge if each.turn == state.turn and each.level in _LEVELS]
    new = [
        KnownTopic(_text(each.topic, LONGEST_TOPIC), each.level, _text(each.evidence, LONGEST_EVIDENCE), now)
        for each in shown
        if not private(each.topic)
    ]
    return _bounded(dataclasses.replace(profile, topics=(*profile.topics, *new))) if new else profile


def changes(before: Profile, after: Profile) -> list[str]:
    """What came in and what went, in words."""
    told = [f"prefers {each}" for each in after.preferences if each not in before.preferences]
    told += [str(each) for each in after.topics if each not in before.topics]
    kept = {_key(each.topic) for each in after.topics}
    told += [f"forgot: {each}" for each in before.preferences if each not in after.preferences]
    told += [f"forgot: {each.topic}" for each in before.topics if _key(each.topic) not in kept]
    return [*told, *(["memory is off"] if before.enabled and not after.enabled else [])]


def _after(profile: Profile, wishes: Wishes) -> Profile:
    if wishes.forgets_all:
        profile = dataclasses.replace(profile, preferences=(), topics=())
    if wishes.forgets_preferences:
        profile = dataclasses.replace(profile, preferences=())
    for each in wishes.forgets:
        profile = profile.without(each)
    if wishes.turns_off:
        profile = dataclasses.replace(profile, enabled=False)
    wished = [wish for _, wish in wishes.preferences]
    return _bounded(dataclasses.replace(profile, preferences=(*profile.preferences, *wished))) if wished else profile


def _bounded(profile: Profile) -> Profile:
    """The same with each thing once, of what excludes one another the newest, and no more than is kept."""
    preferences: dict[str, str] = {}
    for each in filter(_key, profile.preferences):
        wish = next((wish for _, wish in read_wishes(each).preferences), each)
        group = group_of(wish)
        preferences.pop(group, None)
        preferences[group] = wish
    topics: dict[tuple[str, ...], KnownTopic] = {}
    for topic in profile.topics:
        if key := _key(topic.topic):
            topics.pop(key, None)
            topics[key] = topic
    return Profile(
        profile.enabled,
        tuple(preferences.values())[-MOST_PREFERENCES:],
        tuple(topics.values())[-MOST_TOPICS:],
    )


def _key(text: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in words(text.casefold()))


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else ()


def _text(value: Any, longest: int) -> str:
    if not isinstance(value, str):
        return ""
    return one_line(clean(value.encode("utf-8", "replace").decode()), longest - 1)[:longest]


def _topic(value: Any) -> KnownTopic | None:
    told = value if isinstance(value, Mapping) else {}
    name, level, at = _text(told.get("topic"), LONGEST_TOPIC), told.get("level"), told.get("at")
    if not name or level not in tuple(_LEVELS):
        return None
    when = float(at) if isinstance(at, int | float) and abs(at) < 1e15 else 0.0
    return KnownTopic(name, level, _text(told.get("evidence"), LONGEST_EVIDENCE), when)
