"""What is remembered about a user across conversations, if they want it: what they prefer and what they know."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.dialogue.wishes import Wishes, group_of, read_wishes
from turnwise.text import clean, one_line, stem, words
from turnwise.types import ConversationState, KnowledgeLevel, TopicKnowledge

MAX_PREFERENCES, MAX_PREFERENCE_CHARS = 50, 200
MAX_TOPICS, MAX_TOPIC_CHARS, MAX_EVIDENCE_CHARS = 200, 100, 100
EARLIER = "in an earlier conversation"
_LEVELS = {"confused": "has not understood", "knows_basics": "knows the basics of", "advanced": "is at home in"}


@dataclass(frozen=True, slots=True)
class KnownTopic:
    """What the user knows about a topic, the words that showed it, and when (seconds since 1970)."""

    topic: str
    level: KnowledgeLevel
    evidence: str = ""
    at: float = 0.0

    def __str__(self) -> str:
        return f"{_LEVELS[self.level]} {self.topic}"


@dataclass(frozen=True, slots=True)
class Profile:
    """What is remembered about a user. A profile that is not enabled is neither used nor extended."""

    enabled: bool = False
    preferences: tuple[str, ...] = ()  # the newest last
    topics: tuple[KnownTopic, ...] = ()

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any] | None) -> Profile:
        """Reads what `to_dict` wrote, perhaps edited by hand: invalid values are dropped, long ones are cut."""
        values = stored if isinstance(stored, Mapping) else {}
        return _bounded(
            cls(
                values.get("enabled") is True,
                tuple(_text(each, MAX_PREFERENCE_CHARS) for each in _items(values.get("preferences"))),
                tuple(filter(None, map(_topic, _items(values.get("topics"))))),
            )
        )

    def to_dict(self) -> dict[str, Any]:
        topics = [dataclasses.asdict(each) for each in self.topics]
        return {"enabled": self.enabled, "preferences": list(self.preferences), "topics": topics}

    @property
    def known(self) -> tuple[TopicKnowledge, ...]:
        """The topics that a conversation starts with, as of turn 0."""
        if not self.enabled:
            return ()
        return tuple(
            TopicKnowledge(each.topic, each.level, f"{EARLIER}: {each.evidence}" if each.evidence else EARLIER)
            for each in self.topics
        )

    @property
    def guidance(self) -> tuple[str, ...]:
        """The preferences as sentences for the model that answers."""
        return tuple(preference_sentence(each) for each in self.preferences) if self.enabled else ()

    @property
    def in_own_words(self) -> tuple[str, ...]:
        """The preferences that are not among those we know."""
        return tuple(each for each in self.preferences if group_of(each) == each) if self.enabled else ()

    def used(self, state: ConversationState) -> list[str]:
        """Returns what a turn uses of the profile: every preference, and the topics of the conversation."""
        if not self.enabled:
            return []
        known = (f"The user {_LEVELS[each.level]} {each.topic}." for each in state.knowledge if each.turn == 0)
        return [*map(preference_sentence, self.preferences), *known]

    def without(self, what: str) -> Profile:
        """Returns the profile without the preference or topic of these words."""
        key = _key(what)
        wish = next((wish for _, wish in read_wishes(what).preferences), what)
        return dataclasses.replace(
            self,
            preferences=tuple(each for each in self.preferences if _key(each) not in (key, _key(wish))),
            topics=tuple(each for each in self.topics if _key(each.topic) != key),
        )


OFF = Profile()


def preference_sentence(preference: str) -> str:
    """Returns a preference as a sentence about the user."""
    return f"The user prefers {preference}." if group_of(preference) != preference else f"The user asks: {preference}"


def update_profile(
    profile: Profile,
    state: ConversationState,
    message: str,
    now: float,
    private: Callable[[str], bool] = lambda _: False,
) -> Profile:
    """Returns the profile after a message that may show what the user knows, prefers or wants forgotten.

    `state` is the state with this message, from a tracker that was given the profile; what it says about a topic
    overrides the profile. Of a `private` message only the wishes are kept.
    """
    if not profile.enabled:
        return profile
    wishes = read_wishes(message)
    profile = _with_wishes(profile, wishes)
    if wishes.any_forgetting or private(message):  # "forget that I know BERT" claims nothing
        return profile
    shown = [each for each in state.knowledge if each.turn == state.turn and each.level in _LEVELS]
    new = [
        KnownTopic(_text(each.topic, MAX_TOPIC_CHARS), each.level, _text(each.evidence, MAX_EVIDENCE_CHARS), now)
        for each in shown
        if not private(each.topic)
    ]
    return _bounded(dataclasses.replace(profile, topics=(*profile.topics, *new))) if new else profile


def changes(before: Profile, after: Profile) -> list[str]:
    """Returns what was added and what was removed, in words."""
    found = [f"prefers {each}" for each in after.preferences if each not in before.preferences]
    found += [str(each) for each in after.topics if each not in before.topics]
    kept = {_key(each.topic) for each in after.topics}
    found += [f"forgot: {each}" for each in before.preferences if each not in after.preferences]
    found += [f"forgot: {each.topic}" for each in before.topics if _key(each.topic) not in kept]
    return [*found, *(["memory is off"] if before.enabled and not after.enabled else [])]


def _with_wishes(profile: Profile, wishes: Wishes) -> Profile:
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
    """Returns the profile without duplicates, with the newest preference of each group, and within its limits."""
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
        tuple(preferences.values())[-MAX_PREFERENCES:],
        tuple(topics.values())[-MAX_TOPICS:],
    )


def _key(text: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in words(text.casefold()))


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else ()


def _text(value: Any, max_chars: int) -> str:
    if not isinstance(value, str):
        return ""
    return one_line(clean(value.encode("utf-8", "replace").decode()), max_chars - 1)[:max_chars]


def _topic(value: Any) -> KnownTopic | None:
    fields = value if isinstance(value, Mapping) else {}
    name, level, at = _text(fields.get("topic"), MAX_TOPIC_CHARS), fields.get("level"), fields.get("at")
    if not name or level not in tuple(_LEVELS):
        return None
    when = float(at) if isinstance(at, int | float) and abs(at) < 1e15 else 0.0
    return KnownTopic(name, level, _text(fields.get("evidence"), MAX_EVIDENCE_CHARS), when)
