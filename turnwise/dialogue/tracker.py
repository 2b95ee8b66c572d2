"""State: where the conversation stands. Each message is read once; the next turn goes on from what was read before."""

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
from turnwise.dialogue.topics import Vocabulary, library_vocabulary, plain, subject_of, subject_of_answer
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

MOST_TOPICS = 50  # topics kept, the most recent ones
MOST_OPEN = 3  # questions of the assistant that are kept open
MOST_RECENT = 10  # response types and scaffolding kept
LONG_EXPLANATION = 800  # characters after which a follow-up needs no introduction
REMEMBERED = 256  # conversations whose reading is kept for their next turn
LIBRARIES = 16  # vocabularies kept: of the last change of a library, and of the parts of it that users see
NEWEST = 8  # messages that a conversation may have grown by since it was last read

Terms = Callable[[], tuple[tuple[str, ...], tuple[str, ...]]]  # the titles and the headings of a library
_NO_TERMS: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
_ASIDE: tuple[Intent | None, ...] = ("social", "reform", "recall", "arithmetic")  # these change neither topic nor phase


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a message, what the user shows in it to know or not to know, and the topics that it names."""

    text: str
    shown: cues.Knowing | None
    topics: tuple[str, ...]


@dataclass(slots=True)
class _Kept:
    """What trackers over the parts of one library keep in common: vocabularies by the terms they were made of, and what
    was read with each."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    libraries: OrderedDict[tuple[tuple[str, ...], tuple[str, ...]], Vocabulary] = field(default_factory=OrderedDict)
    known: OrderedDict[tuple[Vocabulary, bytes], ConversationState] = field(default_factory=OrderedDict)
    folded: int = 0


class ConversationTracker:
    """Reads where a conversation stands, with the topics and the guidance of a preset and the terms of a library.

    What it gives depends on the messages alone, and on what is remembered of the user where that is given. It keeps
    what it read of recent conversations, so that a further turn costs as much at turn 500 as at turn 5. One tracker may
    serve many conversations and threads.
    """

    def __init__(self, preset: Preset | None = None, terms: Terms = lambda: _NO_TERMS) -> None:
        self.preset = preset or load_preset("general")
        self._named = Vocabulary(self.preset.topics.items())
        self._advanced = Vocabulary((phrase, (phrase,)) for phrase in self.preset.advanced)
        self._terms = terms
        self._kept = _Kept()

    @property
    def folded(self) -> int:
        """Messages read so far."""
        return self._kept.folded

    def over(self, terms: Terms) -> ConversationTracker:
        """The same tracker with other terms, such as those of the part of a library that somebody may see."""
        other = copy.copy(self)
        other._terms = terms
        return other

    def apart(self) -> ConversationTracker:
        """The same tracker with the terms as they are now."""
        terms = self._terms()
        return self.over(lambda: terms)

    def read(self, history: Sequence[Message], profile: Profile = OFF) -> ConversationState:
        """Where the conversation stands after these messages, without guidance: that needs a message to answer."""
        library = self._library_now()
        said = [each for each in history if each.role != "system"]
        digests = _digests(said, profile)
        with self._kept.lock:
            known = self._kept.known
            start = next((count for count in sorted(digests, reverse=True) if (library, digests[count]) in known), 0)
            state = known[library, digests[start]] if start else ConversationState(0, knowledge=profile.known)
        for place in range(start, len(said)):
            asked = said[place - 1].content if place and said[place - 1].role == "user" else ""
            state = self._fold(state, said[place], asked, library, profile)
        self._keep(library, digests.get(len(said)), state, len(said) - start)
        return state

    def update(
        self,
        before: ConversationState,
        message: str,
        follow_up: FollowUp | None = None,
        intent: Intent | None = None,
        profile: Profile = OFF,
    ) -> ConversationState:
        """Where the conversation stands with this message of the user, and the guidance for answering it. `before` is
        what `read` gave, with the same profile."""
        state = self._asked(before, message, self._library_now(), intent)
        follows = follow_up.is_follow_up if follow_up else bool(before.turn) and state.topic == before.topic
        skip = self._needs_no_introduction(before, state, follows)
        state = dataclasses.replace(
            state,
            skip_introduction=skip,
            knowledge=_at_hand(state),
            preferences=profile.preferences if profile.enabled else (),
        )
        return dataclasses.replace(state, guidance=(*profile.guidance, *self._guidance(before, state, message)))

    # --- reading messages -----------------------------------------------------------------------------------------

    def _fold(
        self, state: ConversationState, said: Message, asked: str, library: Vocabulary, profile: Profile
    ) -> ConversationState:
        if said.role == "user":
            noted = profile.enabled and read_wishes(said.content).only
            return self._asked(state, said.content, library, "social" if noted else None)
        return self._answered(state, said, asked, library)

    def _asked(
        self, before: ConversationState, message: str, library: Vocabulary, intent: Intent | None = None
    ) -> ConversationState:
        intent = intent or read_intent(message)[0]
        aside = intent in _ASIDE
        known_as = (*(each.topic for each in before.knowledge if not each.turn), *before.topics)
        named = () if aside else _as_before(known_as, self._topics(message, before.topic, library))
        clauses = [
            Clause(text, shown, _as_before((*known_as, *named), self._find(text, library)))
            for text, shown in cues.clauses(message)
        ]
        # Of "I know backpropagation, but not overfitting" the topic is what the user does not know.
        known = {topic for each in clauses if each.shown not in (None, "confused") for topic in each.topics}
        if named and known.issuperset(named):
            asked = (self._own(each.text, named[0]) for each in clauses if not each.shown and cues.asks(each.text))
            named = (*named, *_as_before(known_as, [each for each in asked if each]))
        topic = next((each for each in named if each not in known), named[0] if named else before.topic)
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

    def _answered(self, before: ConversationState, said: Message, asked: str, library: Vocabulary) -> ConversationState:
        aside = read_intent(asked)[0] in _ASIDE or cues.declines(said.content)  # what it says is of itself
        mentioned = () if aside else self._named.find(plain(said.content))
        topic = before.topic or (mentioned[0] if mentioned else "" if aside else subject_of_answer(said.content))
        questions = cues.questions_asked(said.content)
        kind = cues.response_type(said.content, questions)
        treats = not aside and kind != "clarification"
        treated = (topic, *_as_before(before.topics, self._find(cues.ends(asked), library))) if treats else ()
        return dataclasses.replace(
            before,
            topics=_appended(before.topics, (topic, *mentioned)),
            topic=topic,
            covered=_appended(before.covered, treated),
            open_questions=(*before.open_questions, *_short(questions))[-MOST_OPEN:],
            scaffolding=tuple(filter(None, (*before.scaffolding, _scaffolding(said))))[-MOST_RECENT:],
            last_response=kind,
            last_response_length=len(said.content),
            response_types=(*before.response_types, kind)[-MOST_RECENT:],
        )

    def _topics(self, message: str, in_force: str, library: Vocabulary) -> tuple[str, ...]:
        """What a message names: topics of the preset, else of the library, else what it is about by its own words."""
        text = plain(cues.ends(message))
        if found := self._find(text, library):
            return found
        own = self._own(text, in_force) if not in_force or cues.asks(message) else ""
        return (own,) if own else ()

    def _own(self, text: str, in_force: str) -> str:
        """What a text is about by its own words, where it is not a part of the topic in force.

        A single common word in a question ("what activities are included") is rather such a part.
        """
        own = subject_of(cues.without_cues(text))
        passing = in_force and " " not in own and own.islower() and not cues.asks_about(own, text)
        return "" if passing else own

    def _find(self, text: str, library: Vocabulary) -> tuple[str, ...]:
        return self._named.find(text) or library.find(text)

    def _knowledge(
        self, before: ConversationState, clauses: Sequence[Clause], topic: str
    ) -> tuple[TopicKnowledge, ...]:
        """What the user knows of each topic, after what they show in this message.

        What a clause shows of no topic by name is shown of the one named last, else of the one in force: never of all.
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
        return tuple(levels.values())[-(MOST_TOPICS + remembered) :]

    # --- what follows for the answer ------------------------------------------------------------------------------

    def _needs_no_introduction(self, before: ConversationState, state: ConversationState, follows: bool) -> bool:
        known = knowledge_of(state) in ("knows_basics", "advanced")
        just_explained = follows and before.last_response_length > LONG_EXPLANATION
        return bool(state.topic) and (state.topic in before.covered or known or just_explained)

    def _guidance(self, before: ConversationState, state: ConversationState, message: str) -> tuple[str, ...]:
        level, topic = knowledge_of(state), state.topic
        continuity = "same" if topic == before.topic else "returning" if topic in before.covered else "new"
        said: list[tuple[str, str]] = [
            ("mood", "" if state.mood == level else state.mood),  # confusion about the topic is spoken of below
            ("turn", "first" if state.turn == 1 else "early" if state.turn <= 3 else "later"),
            ("phase", state.phase),
            *([("topic", continuity)] if state.turn > 1 and level != "confused" else []),
            ("knowledge", level),
        ]
        if state.response_types[-2:] == ("explanation", "explanation"):
            said.append(("other", "variation"))
        if cues.is_mathematical(message):
            said.append(("other", "mathematics"))
        texts = (self.preset.advice(kind, value, topic) for kind, value in said)
        return tuple(dict.fromkeys(filter(None, texts)))

    # --- what was read before -------------------------------------------------------------------------------------

    def _library_now(self) -> Vocabulary:
        """The vocabulary of the terms as they are now; with one that has not been asked for for long, all that was read
        with it is forgotten."""
        terms, kept = self._terms(), self._kept
        with kept.lock:
            found = kept.libraries.get(terms)
            if found is None:
                found = kept.libraries[terms] = library_vocabulary(*terms)
            kept.libraries.move_to_end(terms)
            if len(kept.libraries) > LIBRARIES:
                _, old = kept.libraries.popitem(last=False)
                for key in [key for key in kept.known if key[0] is old]:
                    del kept.known[key]
            return found

    def _keep(self, library: Vocabulary, digest: bytes | None, state: ConversationState, folded: int) -> None:
        kept = self._kept
        with kept.lock:
            kept.folded += folded
            if digest is not None:
                kept.known[library, digest] = state
                kept.known.move_to_end((library, digest))
            while len(kept.known) > REMEMBERED:
                kept.known.popitem(last=False)


def knowledge_of(state: ConversationState) -> KnowledgeLevel:
    """What the user knows of the topic at hand."""
    return next((each.level for each in state.knowledge if each.topic == state.topic), "unknown")


def _at_hand(state: ConversationState) -> tuple[TopicKnowledge, ...]:
    """What the user showed to know in this conversation, and in earlier ones of what is spoken of."""
    return tuple(each for each in state.knowledge if each.turn or each.topic in state.topics)


def _level(held: KnowledgeLevel, shown: cues.Knowing) -> KnowledgeLevel:
    """Confusion holds until the user shows that they have got it; otherwise what they show counts."""
    if shown == "confused" or (held == "confused" and shown != "got_it"):
        return "confused"
    return "advanced" if "advanced" in (held, shown) else "knows_basics"


def _still_open(before: ConversationState, message: str, topic: str) -> tuple[str, ...]:
    """The assistant's questions that this message leaves open: it asks something itself, on the same topic."""
    if topic != before.topic:
        return ()
    return before.open_questions if cues.asks(message) or cues.leaves_unanswered(message) else ()


def _as_before(topics: Iterable[str], named: Sequence[str]) -> tuple[str, ...]:
    """The topics named, each as it was first written: "neural network" where "Neural networks" came before."""
    if not named:
        return ()
    known = {_key(each): each for each in topics}
    return tuple(known.get(_key(each), each) for each in named)


@lru_cache(maxsize=4096)
def _key(topic: str) -> tuple[str, ...]:
    return tuple(stem(word) for word in words(topic))


def _appended(held: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    """Those held and then the new ones, each once, the most recent kept."""
    return tuple(dict.fromkeys(filter(None, (*held, *new))))[-MOST_TOPICS:]


def _short(texts: Iterable[str]) -> list[str]:
    return [one_line(each, 200) for each in texts]


def _scaffolding(said: Message) -> str:
    """The kind of help that the writer of an answer noted about it."""
    noted = said.metadata.get("scaffolding")
    return one_line(noted.encode("utf-8", "replace").decode()) if isinstance(noted, str) else ""


def _digests(said: Sequence[Message], profile: Profile) -> dict[int, bytes]:
    """The digest of the conversation up to each of its newest messages, by how many messages that is. It is another
    where another thing is remembered of the user."""
    old = max(0, len(said) - NEWEST)
    remembered = repr(profile.topics).encode("utf-8", "surrogatepass") if profile.enabled else b""
    running = hashlib.sha256(remembered, usedforsecurity=False)  # the fastest where processors know it
    running.update(_written(said[:old]))
    found: dict[int, bytes] = {}
    for count, each in enumerate(said[old:], old + 1):
        running.update(_written([each]))
        found[count] = running.digest()
    return found


def _written(said: Sequence[Message]) -> bytes:
    """All of some messages that is read, so that no others are written the same."""
    parts: list[bytes] = []
    for each in said:  # one at a time: a single curly quote would make a text of all of them slow to encode
        noted = _scaffolding(each) if each.metadata else ""
        text = f"{each.role} {len(each.content)} {len(noted)} {each.content}{noted}"
        parts.append(text.encode("utf-8", "surrogatepass"))
    return b"".join(parts)
