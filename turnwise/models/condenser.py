"""Which words of the conversation a message leaves out: one pass of an encoder that can only point at what was said."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from turnwise.models.sessions import opened
from turnwise.models.weights import OWN, OWN_HINT, own_weights
from turnwise.text import NUMBER, is_content, is_specific, stem
from turnwise.types import Edit, Prediction

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from turnwise.types import Message

LONGEST = 96  # tokens of one input; 120 in training
LONGEST_MESSAGE = 40  # of them, of the message
MOST_MENTIONS = 48  # words of the history that may be found missing
RECENT = 24  # messages of the history that are looked at, besides the first: all that a window of the dialogue holds
LONGEST_TEXT = 1200  # characters of a message that are looked at
KEPT_QUESTION, KEPT_OPENING = 40, 28  # tokens kept of a question, and of the last answer as it opens
FOR_WORDS = 48  # tokens that the older questions leave to single words of the answers
DISTANCES = 8  # how many messages ago a word was said; the last stands for all before it
FACTS = 10  # what is known of a word besides its place
READ_MESSAGES = 512  # messages whose tokens are remembered

# What may be done at a word of the message: nothing, put the missing words in its place, or put them after it, joined
# by one of these.
JOINTS = ("", "of", "in", "for", "about", "to", "with", "on", "by", "from", "at", "during", "than", "and", "as")
KEEP, REPLACE, AFTER = 0, 1, 2
EDITS = AFTER + len(JOINTS)
JUDGED = 0  # which of its two opinions on the context is what people judged; the other is what they rewrote

_CLS, _SEP, _USER, _ASSISTANT = 101, 102, 1, 2  # of bert-base-uncased; the roles are its first two unused tokens
_WORD = re.compile(rf"({NUMBER}|[^\W_]+)(?:['’][^\W_]+)?")  # in group 1 what counts of a word, as in turnwise.text
_OPENS = re.compile(r"(?:^|[.!?:;\"“(\n])\s*$")  # what a capital letter says nothing after


class Word(NamedTuple):
    """A word of a message."""

    token: int  # its first token
    size: int  # how many tokens it has
    text: str
    stem: str
    start: int  # where it stands in the text
    end: int
    content: bool
    name: bool  # written with a capital letter inside a sentence


class Spoken(NamedTuple):
    """What a message says by the words of one stem."""

    text: str  # as it is written last
    name: bool  # of any of them
    word: Word  # the likeliest to be missed
    once: float  # how likely that is (log-odds), where no other answer says it
    again: float  # and where another does


class Said(NamedTuple):
    """A message, read."""

    ids: list[int]
    words: list[Word]
    spoken: dict[str, Spoken]  # its content words, by stem


class Mention(NamedTuple):
    """A word of the history that the message may leave out, where it was said last (by the user, if they said it)."""

    token: int
    message: int  # which of the messages that are looked at
    word: Word


@dataclass(frozen=True, slots=True)
class Layout:
    """The input of the encoder: [CLS] the history in order, each message after its role [SEP] the message [SEP]."""

    ids: list[int]
    message_at: int  # the message's first token
    mentions: list[Mention]  # one a stem
    places: list[int]  # by mention: role and distance
    facts: list[list[int]]  # by mention, FACTS of 0 or 1
    words: list[Word]  # of the message, as far as they are in the input


def reader(tokenizer: Tokenizer) -> Callable[[str], Said]:
    """A function that reads a message with the tokenizer."""

    def read(text: str) -> Said:
        text = text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")  # a lone surrogate makes it raise
        encoded = tokenizer.encode(text, add_special_tokens=False)
        starts = {start: index for index, (start, _) in reversed(list(enumerate(encoded.offsets)))}
        ends = {end: index for index, (_, end) in enumerate(encoded.offsets)}
        found = []
        for match in _WORD.finditer(text):
            word, start, end = match[1], match.start(), match.end(1)
            if start in starts and end in ends:
                content = is_content(word)
                name = content and word[0].isupper() and not _OPENS.search(text[max(0, start - 8) : start])
                size = ends[end] + 1 - starts[start]
                found.append(Word(starts[start], size, word, stem(word) if content else "", start, end, content, name))
        return Said(encoded.ids, found, _spoken(found))

    return read


def _spoken(words: Sequence[Word]) -> dict[str, Spoken]:
    found: dict[str, Spoken] = {}
    for word in words:
        if word.content:
            # Log-odds of a logistic fit on CANARD, QReCC and iKAT-23.
            named, specific = 1.25 * word.name, 0.79 * is_specific(word.text)
            placed = 0.44 * (word.size > 1) - 0.42 * math.log1p(word.token)
            new = Spoken(word.text, word.name, word, named + specific + placed, named + 0.77 + specific + placed)
            held = found.get(word.stem, new)
            best = new if new.once > held.once else held
            found[word.stem] = best._replace(text=word.text, name=held.name or word.name)
    return found


def lay_out(message: str, history: Sequence[Message], read: Callable[[str], Said]) -> Layout:
    """What the encoder reads of a conversation: bounded, whatever its length."""
    seen = window(history)
    said = [read(each.content[:LONGEST_TEXT]) for each in seen]
    asked = read(message[:LONGEST_TEXT])
    own = {word.stem for word in asked.words}
    question = asked.ids[:LONGEST_MESSAGE]
    kept = _kept(seen, said, own, LONGEST - 3 - len(question))
    ids, found = [_CLS], dict[str, Mention]()
    for index, tokens in sorted(kept.items()):
        ids.append(_USER if seen[index].role == "user" else _ASSISTANT)
        at = {token: len(ids) + offset for offset, token in enumerate(tokens)}
        ids += [said[index].ids[token] for token in tokens]
        for word in said[index].words:
            if word.content and word.token in at and word.stem not in own:
                before = found.get(word.stem)
                if before is None or seen[index].role == "user" or seen[before.message].role != "user":
                    found[word.stem] = Mention(at[word.token], index, word)
    # The words said last, and those of questions, come before the words of old answers where there are too many.
    ranked = sorted(found.values(), key=lambda each: (seen[each.message].role != "user", -each.message))
    mentions = sorted(ranked[:MOST_MENTIONS])
    message_at = len(ids) + 1
    return Layout(
        ids=[*ids, _SEP, *question, _SEP],
        message_at=message_at,
        mentions=mentions,
        places=[_place(seen, each.message) for each in mentions],
        facts=list(_facts(seen, said, [each.word.stem for each in mentions])),
        words=[word for word in asked.words if word.token < len(question)],
    )


def window(history: Sequence[Message]) -> list[Message]:
    recent = list(history[-RECENT:])
    first = next((each for each in history if each.role == "user"), None)
    return recent if first is None or any(each is first for each in recent) else [first, *recent]


def _place(seen: Sequence[Message], index: int) -> int:
    distance = min(len(seen) - 1 - index, DISTANCES - 1)
    return distance + (0 if seen[index].role == "user" else DISTANCES)


def _kept(seen: Sequence[Message], said: Sequence[Said], own: set[str], budget: int) -> dict[int, list[int]]:
    """Which tokens of which messages fit: the last exchange and the first question first, then the other questions,
    then single words of the answers, those first that are likeliest to be missed."""
    last = len(seen) - 1
    questions = [index for index in range(last, -1, -1) if seen[index].role == "user"]
    answers = [index for index in range(last, -1, -1) if seen[index].role != "user"]
    first = dict.fromkeys([*questions[:1], *(index for index in answers if index == last), *questions[-1:]])
    kept: dict[int, list[int]] = {}
    known = set(own)
    for index in dict.fromkeys([*first, *questions]):
        most = KEPT_QUESTION if seen[index].role == "user" else KEPT_OPENING
        most = min(most, budget - 1 - (0 if index in first else FOR_WORDS), len(said[index].ids))
        if most >= min(3, len(said[index].ids)):
            kept[index] = list(range(most))
            known.update(word.stem for word in said[index].words if word.token < most)
            budget -= most + 1
    for index, word in _telling(said, answers, last, known):
        cost = word.size + (index not in kept)
        if cost <= budget:
            kept.setdefault(index, []).extend(range(word.token, word.token + word.size))
            budget -= cost
    return {index: sorted(tokens) for index, tokens in kept.items()}


def _telling(said: Sequence[Said], answers: Sequence[int], last: int, known: set[str]) -> list[tuple[int, Word]]:
    """The content words of the answers that are not known yet, each once, the likeliest to be missed first."""
    times = Counter(key for index in answers for key in said[index].spoken)
    best: dict[str, tuple[float, int, Word]] = {}
    for index in answers:
        near = 1.1 if index == last else -0.06 * (last - index)
        for key, spoken in said[index].spoken.items():
            if key not in known:
                likely = (spoken.again if times[key] > 1 else spoken.once) + near
                if key not in best or likely > best[key][0]:
                    best[key] = (likely, index, spoken.word)
    return [(index, word) for _, index, word in sorted(best.values(), key=lambda each: -each[0])]


def _facts(seen: Sequence[Message], said: Sequence[Said], keys: Sequence[str]) -> Iterator[list[int]]:
    """What is known of words besides their place, by their stems."""
    questions = [index for index, each in enumerate(seen) if each.role == "user"]
    others = [index for index, each in enumerate(seen) if each.role != "user"]
    for key in keys:
        asked = [index for index in questions if key in said[index].spoken]
        answered = [index for index in others if key in said[index].spoken]
        text = said[max(asked[-1:] + answered[-1:])].spoken[key].text
        facts = (
            any(said[index].spoken[key].name for index in (*asked, *answered)),
            text.isdigit() or (len(text) > 1 and text.isupper()),
            bool(questions) and questions[0] in asked,
            bool(questions) and questions[-1] in asked,
            len(questions) > 1 and questions[-2] in asked,
            len(seen) - 1 in answered,
            len(asked) > 1,
            len(answered) > 1,
            is_specific(text),
            bool(asked and answered),
        )
        yield list(map(int, facts))


class OnnxCondenser:
    """The condenser that comes with the package, read at the first message; safe to use from several threads."""

    def __init__(self, folder: Path = OWN, threads: int = 0) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    def predict(self, message: str, history: Sequence[Message]) -> Prediction:
        """What the message needs of the history; nothing where there is none."""
        return self._model().predict(message, history)

    def _model(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._threads)
            return self._loaded


class _Model:
    def __init__(self, tokenizer: Tokenizer, session: Any) -> None:
        self._read = lru_cache(READ_MESSAGES)(reader(tokenizer))
        self._session = session

    def predict(self, message: str, history: Sequence[Message]) -> Prediction:
        layout = lay_out(message, history, self._read)
        if not layout.mentions or not layout.words:
            return Prediction(0.0)
        context, missing, edits = self._session.run(None, feed(layout))
        ranked = sorted(zip(_probability(missing[0]), layout.mentions, strict=True), key=lambda each: -each[0])
        terms = tuple((mention.word.text, float(probability)) for probability, mention in ranked)
        return Prediction(float(_probability(context[0, JUDGED])), terms, _edit(layout, edits[0]))


def _edit(layout: Layout, logits: npt.NDArray[np.float32]) -> Edit:
    """The likeliest place for the missing words."""
    rows = logits[[word.token for word in layout.words]].astype(np.float64)
    chances = np.exp(rows - rows.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    place, what = np.unravel_index(int(chances[:, REPLACE:].argmax()), chances[:, REPLACE:].shape)
    word, edit = layout.words[place], int(what) + REPLACE
    joint = None if edit == REPLACE else JOINTS[edit - AFTER]
    return Edit(word.start, word.end, joint, float(chances[place, edit]))


def feed(layout: Layout) -> dict[str, npt.NDArray[Any]]:
    """The inputs of the ONNX graph, as a batch of one."""
    size = len(layout.ids)
    types = np.zeros((1, size), dtype=np.int64)
    types[0, layout.message_at :] = 1
    kept = [0, *(mention.token for mention in layout.mentions), *range(layout.message_at, size)]
    return {
        "ids": np.array([layout.ids], dtype=np.int64),
        "types": types,
        "kept": np.array(kept, dtype=np.int64),
        "places": np.array([layout.places], dtype=np.int64),
        "facts": np.array([layout.facts], dtype=np.float32),
    }


def _probability(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    return 1 / (1 + np.exp(-logits.astype(np.float64)))


def _load(folder: Path, threads: int) -> _Model:
    return _Model(*opened(own_weights("condenser", folder), threads, OWN_HINT))
