"""The state of a conversation. Each message is read once; the next turn continues from the cached state."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from turnwise.dialogue import cues
from turnwise.dialogue.intent import read_intent
from turnwise.dialogue.presets import Preset, load_preset
from turnwise.dialogue.profile import OFF, Profile
from turnwise.dialogue.topics import Vocabulary, library_vocabulary, plain_text, subject_of, subject_of_answer
from turnwise.dialogue.wishes import read_wishes
from turnwise.text import one_line, stem, words
from turnwise.types import (
    ConversationPhase,
    ConversationState,
    FollowUp,
    Intent,
    KnowledgeLevel,
    Message,
    TopicKnowledge,
)

MAX_TOPICS = 50  # the most recent ones
MAX_OPEN_QUESTIONS = 3  # of the assistant
MAX_RESPONSES = 10  # response types and scaffolding kept
LONG_EXPLANATION_CHARS = 800  # a follow-up to a longer answer needs no introduction
MAX_CACHED_STATES = 256
MAX_VOCABULARIES = 16  # one per version of the library and per part of it that users see
MAX_NEW_MESSAGES = 8  # a cached state is found if the conversation has grown by fewer messages than this

Terms = Callable[[], tuple[tuple[str, ...], tuple[str, ...]]]  # returns the titles and the headings of a library
_NO_TERMS: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
_ASIDES: tuple[Intent | None, ...] = ("social", "reform", "recall", "arithmetic")  # change neither topic nor phase


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a message, the knowledge (or lack of it) it shows, and the topics it names."""

    text: str
    shown: cues.Knowing | None
    topics: tuple[str, ...]


@dataclass(slots=True)
class _Cache:
    """Shared by trackers over parts of one library: vocabularies by their terms, and the states read with each."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    vocabularies: OrderedDict[tuple[tuple[str, ...], tuple[str, ...]], Vocabulary] = field(default_factory=OrderedDict)
    states: OrderedDict[tuple[Vocabulary, bytes], ConversationState] = field(default_factory=OrderedDict)
    folded: int = 0


class ConversationTracker:
    """Tracks the state of conversations, using the topics and guidance of a preset and the terms of a library.

    The state depends only on the messages and, if given, on the user's profile. States of recent conversations are
    cached, so that no more messages are read at turn 500 than at turn 5. One tracker can serve many conversations and
    threads.
    """

    def __init__(self, preset: Preset | None = None, terms: Terms = lambda: _NO_TERMS) -> None:
        self.preset = preset or load_preset("general")
        self._preset_topics = Vocabulary(self.preset.topics.items())
        self._advanced = Vocabulary((phrase, (phrase,)) for phrase in self.preset.advanced)
        self._terms = terms
        self._cache = _Cache()

    @property
    def folded(self) -> int:
        """The number of messages read so far, not counting those whose state was cached."""
        return self._cache.folded

    def over(self, terms: Terms) -> ConversationTracker:
        """Returns this tracker with other terms, such as those of the part of a library that a user may see."""
        other = copy.copy(self)
        other._terms = terms
        return other

    def read(self, history: Sequence[Message], profile: Profile = OFF) -> ConversationState:
        """Returns the state after these messages, without guidance, which needs a message to answer."""
        library = self._current_vocabulary()
        said = [each for each in history if each.role != "system"]
        digests = _digests(said, profile)
        with self._cache.lock:
            states = self._cache.states
            start = next((count for count in sorted(digests, reverse=True) if (library, digests[count]) in states), 0)
            state = states[library, digests[start]] if start else ConversationState(0, knowledge=profile.known)
        for index in range(start, len(said)):
            asked = said[index - 1].content if index and said[index - 1].role == "user" else ""
            state = self._fold(state, said[index], asked, library, profile)
        self._store(library, digests.get(len(said)), state, len(said) - start)
        return state

    def update(
        self,
        before: ConversationState,
        message: str,
        follow_up: FollowUp | None = None,
        intent: Intent | None = None,
        profile: Profile = OFF,
    ) -> ConversationState:
        """Returns the state with this user message, and the guidance for answering it. `before` is what `read` returned
        for the same profile."""
        state = self._after_question(before, message, self._current_vocabulary(), intent)
        follows = follow_up.is_follow_up if follow_up else bool(before.turn) and state.topic == before.topic
        skip = self._needs_no_introduction(before, state, follows)
        state = dataclasses.replace(
            state,
            skip_introduction=skip,
            knowledge=_relevant_knowledge(state),
            preferences=profile.preferences if profile.enabled else (),
        )
        return dataclasses.replace(state, guidance=(*profile.guidance, *self._guidance(before, state, message)))

    # --- reading messages -----------------------------------------------------------------------------------------

    def _fold(
        self, state: ConversationState, said: Message, asked: str, library: Vocabulary, profile: Profile
    ) -> ConversationState:
        if said.role == "user":
            only_wishes = profile.enabled and read_wishes(said.content).only
            return self._after_question(state, said.content, library, "social" if only_wishes else None)
        return self._after_answer(state, said, asked, library)

    def _after_question(
        self, before: ConversationState, message: str, library: Vocabulary, intent: Intent | None
    ) -> ConversationState:
        intent = intent or read_intent(message)[0]
        aside = intent in _ASIDES
        known_as = (*(each.topic for each in before.knowledge if not each.turn), *before.topics)
        named = () if aside else _as_first_written(known_as, self._topics(message, before.topic, library))
        clauses = [
            Clause(text, shown, _as_first_written((*known_as, *named), self._find(text, library)))
            for text, shown in cues.clauses(message)
        ]
        # In "I know backpropagation, but not overfitting" the topic is what the user does not know.
        known = {topic for each in clauses if each.shown not in (None, "confused") for topic in each.topics}
        if named and known.issuperset(named):
            questions = (each.text for each in clauses if not each.shown and cues.asks(each.text))
            subjects = (self._own_subject(question, named[0]) for question in questions)
            named = (*named, *_as_first_written(known_as, [each for each in subjects if each]))
        topic = next((each for each in named if each not in known), named[0] if named else before.topic)
        topic = before.topic if before.topic and cues.compares_it(message) else topic
        mood, evidence = cues.mood_of(message)
        phase = None if aside else cues.phase_of(message, again=topic in before.covered)
        if phase is None and topic != before.topic and not cues.asks_the_same(message):
            phase = ConversationPhase.EXPLORING
        return dataclasses.replace(
            before,
            turn=before.turn + 1,
            topics=_appended(before.topics, named),
            topic=topic,
            phase=phase or before.phase,
            knowledge=self._knowledge(before, clauses, topic),
            open_questions=_still_open(before, message, topic),
            mood=mood,
            mood_evidence=one_line(evidence),
        )

    def _after_answer(
        self, before: ConversationState, said: Message, asked: str, library: Vocabulary
    ) -> ConversationState:
        aside = read_intent(asked)[0] in _ASIDES or cues.declines(said.content)  # such an answer is about no topic
        mentioned = () if aside else self._preset_topics.find(plain_text(said.content))
        topic = before.topic or (mentioned[0] if mentioned else "" if aside else subject_of_answer(said.content))
        questions = cues.questions_asked(said.content)
        kind = cues.response_type(said.content, questions)
        treats = not aside and kind != "clarification"
        treated = (topic, *_as_first_written(before.topics, self._find(cues.ends(asked), library))) if treats else ()
        return dataclasses.replace(
            before,
            topics=_appended(before.topics, (topic, *mentioned)),
            topic=topic,
            covered=_appended(before.covered, treated),
            open_questions=(*before.open_questions, *_short(questions))[-MAX_OPEN_QUESTIONS:],
            scaffolding=tuple(filter(None, (*before.scaffolding, _scaffolding(said))))[-MAX_RESPONSES:],
            last_response=kind,
            last_response_length=len(said.content),
            response_types=(*before.response_types, kind)[-MAX_RESPONSES:],
        )

    def _topics(self, message: str, current: str, library: Vocabulary) -> tuple[str, ...]:
        """Returns the topics a message names: those of the preset, or of the library, or else its own subject."""
        text = plain_text(cues.ends(message))
        if found := self._find(text, library):
            return found
        own = self._own_subject(text, current) if not current or cues.asks(message) else ""
        return (own,) if own else ()

    def _own_subject(self, text: str, current: str) -> str:
        """Returns the subject of a text by its own words, or "" if it is only a part of the current topic.

        A single common word in a question ("what activities are included") is taken for such a part.
        """
        own = subject_of(cues.without_cues(text))
        is_part = current and " " not in own and own.islower() and not cues.asks_about(own, text)
        return "" if is_part else own

    def _find(self, text: str, library: Vocabulary) -> tuple[str, ...]:
        return self._preset_topics.find(text) or library.find(text)

    def _knowledge(
        self, before: ConversationState, clauses: Sequence[Clause], topic: str
    ) -> tuple[TopicKnowledge, ...]:
        """Returns what the user knows about each topic, including what this message shows.

        A clause that names no topic is about the one named last, or else about the current one, never about all.
        """
        levels = {each.topic: each for each in before.knowledge}
        about = before.topic or topic
        for clause in clauses:
            named = clause.topics or ((topic,) if topic and topic.casefold() in clause.text.casefold() else ())
            about = named[0] if named else about
            shown = clause.shown or ("advanced" if self._advanced.find(clause.text) else None)
            if shown is None:
                continue
            for each in filter(None, named or (about,)):
                held = levels.get(each, TopicKnowledge(each, "unknown", turn=-1))
                if (new := _level(held.level, shown)) != held.level or not held.turn:
                    levels.pop(each, None)
                    levels[each] = TopicKnowledge(each, new, one_line(clause.text), before.turn + 1)
        remembered = sum(not each.turn for each in levels.values())
        return tuple(levels.values())[-(MAX_TOPICS + remembered) :]

    # --- guidance for the answer ----------------------------------------------------------------------------------

    def _needs_no_introduction(self, before: ConversationState, state: ConversationState, follows: bool) -> bool:
        known = knowledge_of(state) in ("knows_basics", "advanced")
        just_explained = follows and before.last_response_length > LONG_EXPLANATION_CHARS
        return bool(state.topic) and (state.topic in before.covered or known or just_explained)

    def _guidance(self, before: ConversationState, state: ConversationState, message: str) -> tuple[str, ...]:
        level, topic = knowledge_of(state), state.topic
        continuity = "same" if topic == before.topic else "returning" if topic in before.covered else "new"
        aspects: list[tuple[str, str]] = [
            ("mood", "" if state.mood == level else state.mood),  # "knowledge" covers confusion about the topic
            ("turn", "first" if state.turn == 1 else "early" if state.turn <= 3 else "later"),
            ("phase", state.phase),
            *([("topic", continuity)] if state.turn > 1 and level != "confused" else []),
            ("knowledge", level),
        ]
        if state.response_types[-2:] == ("explanation", "explanation"):
            aspects.append(("other", "variation"))
        if cues.is_mathematical(message):
            aspects.append(("other", "mathematics"))
        texts = (self.preset.advice(kind, value, topic) for kind, value in aspects)
        return tuple(dict.fromkeys(filter(None, texts)))

    # --- cache ----------------------------------------------------------------------------------------------------

    def _current_vocabulary(self) -> Vocabulary:
        """Returns the vocabulary of the current terms. The least recently used one is dropped with its states."""
        terms, cache = self._terms(), self._cache
        with cache.lock:
            found = cache.vocabularies.get(terms)
            if found is None:
                found = cache.vocabularies[terms] = library_vocabulary(*terms)
            cache.vocabularies.move_to_end(terms)
            if len(cache.vocabularies) > MAX_VOCABULARIES:
                _, old = cache.vocabularies.popitem(last=False)
                for key in [key for key in cache.states if key[0] is old]:
                    del cache.states[key]
            return found

    def _store(self, library: Vocabulary, digest: bytes | None, state: ConversationState, folded: int) -> None:
        cache = self._cache
        with cache.lock:
            cache.folded += folded
            if digest is not None:
                cache.states[library, digest] = state
                cache.states.move_to_end((library, digest))
            while len(cache.states) > MAX_CACHED_STATES:
                cache.states.popitem(last=False)


def knowledge_of(state: ConversationState) -> KnowledgeLevel:
    """Returns what the user knows about the current topic."""
    return next((each.level for each in state.knowledge if each.topic == state.topic), "unknown")


def _relevant_knowledge(state: ConversationState) -> tuple[TopicKnowledge, ...]:
    """Returns what the user showed in this conversation, and in earlier ones about its topics."""
    return tuple(each for each in state.knowledge if each.turn or each.topic in state.topics)


def _level(held: KnowledgeLevel, shown: cues.Knowing) -> KnowledgeLevel:
    """Returns the new level. Confusion lasts until the user shows that they understood."""
    if shown == "confused" or (held == "confused" and shown != "got_it"):
        return "confused"
    return "advanced" if "advanced" in (held, shown) else "knows_basics"


def _still_open(before: ConversationState, message: str, topic: str) -> tuple[str, ...]:
    """Returns the assistant's questions that this message leaves open, by asking something itself on the same topic."""
    if topic != before.topic:
        return ()
    return before.open_questions if cues.asks(message) or cues.leaves_unanswered(message) else ()


def _as_first_written(topics: Iterable[str], named: Sequence[str]) -> tuple[str, ...]:
    """Returns the topics as they were first written: "Neural networks" for a later "neural network"."""
    if not named:
        return ()
    known = {_key(each): each for each in topics}
    return tuple(known.get(_key(each), each) for each in named)


@lru_cache(maxsize=4096)
def _key(topic: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in words(topic))


def _appended(held: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    """Returns the held and then the new ones without duplicates, at most `MAX_TOPICS`, dropping the oldest."""
    return tuple(dict.fromkeys(filter(None, (*held, *new))))[-MAX_TOPICS:]


def _short(texts: Iterable[str]) -> list[str]:
    return [one_line(each, 200) for each in texts]


def _scaffolding(said: Message) -> str:
    """Returns the kind of help that the answer's metadata names, or ""."""
    kind = said.metadata.get("scaffolding")
    return one_line(kind.encode("utf-8", "replace").decode()) if isinstance(kind, str) else ""


def _digests(said: Sequence[Message], profile: Profile) -> dict[int, bytes]:
    """Returns digests of the conversation up to each of its newest messages, by message count. They also depend on the
    topics of the profile."""
    old = max(0, len(said) - MAX_NEW_MESSAGES)
    remembered = repr(profile.topics).encode("utf-8", "surrogatepass") if profile.enabled else b""
    running = hashlib.sha256(remembered, usedforsecurity=False)  # hardware-accelerated, so the fastest
    running.update(_serialized(said[:old]))
    found: dict[int, bytes] = {}
    for count, each in enumerate(said[old:], old + 1):
        running.update(_serialized([each]))
        found[count] = running.digest()
    return found


def _serialized(said: Sequence[Message]) -> bytes:
    """Returns an unambiguous encoding of everything the tracker reads of these messages."""
    parts: list[bytes] = []
    for each in said:  # one at a time: a single curly quote makes encoding the joined text slow
        scaffolding = _scaffolding(each) if each.metadata else ""
        text = f"{each.role} {len(each.content)} {len(scaffolding)} {each.content}{scaffolding}"
        parts.append(text.encode("utf-8", "surrogatepass"))
    return b"".join(parts)
