"""Predicts which words of the conversation a message leaves out, in one pass of an encoder that can only point at words
of the history."""

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

from turnwise.models.sessions import load_model
from turnwise.models.weights import OWN, OWN_HINT, own_weights
from turnwise.text import NUMBER, is_content, is_specific, stem
from turnwise.types import Edit, Prediction

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from turnwise.types import Message

MAX_TOKENS = 96  # of one input; 120 in training
MAX_MESSAGE_TOKENS = 40
MAX_MENTIONS = 48  # candidate words from the history
RECENT_MESSAGES = 24  # read besides the first question: as many as the dialogue window holds
MAX_MESSAGE_CHARS = 1200
MAX_QUESTION_TOKENS, MAX_ANSWER_TOKENS = 40, 28  # of an earlier question, and of the start of the last answer
RESERVED_WORD_TOKENS = 48  # not available to older questions, so that single words of the answers fit
DISTANCES = 8  # messages between a word and the message; the last value means "or more"
FACTS = 10  # binary features of a word, besides its place
CACHED_MESSAGES = 512

# The edits at a word of the message: keep it, replace it by the missing words, or add them after it, joined by one of
# these.
JOINTS = ("", "of", "in", "for", "about", "to", "with", "on", "by", "from", "at", "during", "than", "and", "as")
KEEP, REPLACE, AFTER = 0, 1, 2
EDITS = AFTER + len(JOINTS)
CONTEXT_OUTPUT = 0  # the context output trained on human labels; the other one is trained on rewrites

_CLS, _SEP, _USER, _ASSISTANT = 101, 102, 1, 2  # ids of bert-base-uncased; the roles are its first two unused tokens
_WORD = re.compile(
    rf"({NUMBER}|[^\W_]+)(?:['’][^\W_]+)?"
)  # group 1 is the word without its suffix, as in turnwise.text
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\"“(\n])\s*$")  # a capital letter after this does not mark a name


class Word(NamedTuple):
    """A word of a message."""

    token: int  # index of its first token
    size: int  # number of tokens
    text: str
    stem: str
    start: int  # offsets in the text
    end: int
    content: bool
    name: bool  # written with a capital letter inside a sentence


class ContentWord(NamedTuple):
    """The words of one stem in a message."""

    text: str  # as last written
    name: bool  # whether any of them is a name
    word: Word  # the one most likely to be left out later
    once: float  # log-odds of that, if no other answer has the stem
    again: float  # log-odds of that, if another answer has it


class ReadMessage(NamedTuple):
    """A tokenized message with its words."""

    ids: list[int]
    words: list[Word]
    content: dict[str, ContentWord]  # by stem


class Mention(NamedTuple):
    """A word of the history that the message may leave out, at its last occurrence (the user's last, if any)."""

    token: int
    message: int  # index in the window
    word: Word


@dataclass(frozen=True, slots=True)
class Layout:
    """The input of the encoder: [CLS] the history in order, each message after its role [SEP] the message [SEP]."""

    ids: list[int]
    message_at: int  # index of the message's first token
    mentions: list[Mention]  # one per stem
    places: list[int]  # by mention: role and distance
    facts: list[list[int]]  # by mention: FACTS values of 0 or 1
    words: list[Word]  # of the message, those that are in the input


def reader(tokenizer: Tokenizer) -> Callable[[str], ReadMessage]:
    """A function that reads a message with the tokenizer."""

    def read(text: str) -> ReadMessage:
        text = text[:MAX_MESSAGE_CHARS].encode("utf-8", "replace").decode("utf-8")  # encode() fails on lone surrogates
        encoded = tokenizer.encode(text, add_special_tokens=False)
        starts = {start: index for index, (start, _) in reversed(list(enumerate(encoded.offsets)))}
        ends = {end: index for index, (_, end) in enumerate(encoded.offsets)}
        found = []
        for match in _WORD.finditer(text):
            word, start, end = match[1], match.start(), match.end(1)
            if start in starts and end in ends:
                content = is_content(word)
                name = content and word[0].isupper() and not _SENTENCE_START.search(text[max(0, start - 8) : start])
                size = ends[end] + 1 - starts[start]
                found.append(Word(starts[start], size, word, stem(word) if content else "", start, end, content, name))
        return ReadMessage(encoded.ids, found, _content_words(found))

    return read


def _content_words(words: Sequence[Word]) -> dict[str, ContentWord]:
    found: dict[str, ContentWord] = {}
    for word in words:
        if word.content:
            # Log-odds of a logistic fit on CANARD, QReCC and iKAT-23.
            named, specific = 1.25 * word.name, 0.79 * is_specific(word.text)
            placed = 0.44 * (word.size > 1) - 0.42 * math.log1p(word.token)
            once, again = named + specific + placed, named + 0.77 + specific + placed
            new = ContentWord(word.text, word.name, word, once, again)
            known = found.get(word.stem, new)
            best = new if new.once > known.once else known
            found[word.stem] = best._replace(text=word.text, name=known.name or word.name)
    return found


def lay_out(message: str, history: Sequence[Message], read: Callable[[str], ReadMessage]) -> Layout:
    """What the encoder reads of a conversation: bounded, however long it is."""
    seen = window(history)
    messages = [read(each.content[:MAX_MESSAGE_CHARS]) for each in seen]
    asked = read(message[:MAX_MESSAGE_CHARS])
    own = {word.stem for word in asked.words}
    question = asked.ids[:MAX_MESSAGE_TOKENS]
    kept = _select_tokens(seen, messages, own, MAX_TOKENS - 3 - len(question))
    ids, found = [_CLS], dict[str, Mention]()
    for index, tokens in sorted(kept.items()):
        ids.append(_USER if seen[index].role == "user" else _ASSISTANT)
        at = {token: len(ids) + offset for offset, token in enumerate(tokens)}
        ids += [messages[index].ids[token] for token in tokens]
        for word in messages[index].words:
            if word.content and word.token in at and word.stem not in own:
                before = found.get(word.stem)
                if before is None or seen[index].role == "user" or seen[before.message].role != "user":
                    found[word.stem] = Mention(at[word.token], index, word)
    # If there are too many, words of questions and recent words win over words of old answers.
    ranked = sorted(found.values(), key=lambda each: (seen[each.message].role != "user", -each.message))
    mentions = sorted(ranked[:MAX_MENTIONS])
    message_at = len(ids) + 1
    return Layout(
        ids=[*ids, _SEP, *question, _SEP],
        message_at=message_at,
        mentions=mentions,
        places=[_place(seen, each.message) for each in mentions],
        facts=list(_facts(seen, messages, [each.word.stem for each in mentions])),
        words=[word for word in asked.words if word.token < len(question)],
    )


def window(history: Sequence[Message]) -> list[Message]:
    """The messages that are read: the recent ones, and the first question."""
    recent = list(history[-RECENT_MESSAGES:])
    first = next((each for each in history if each.role == "user"), None)
    return recent if first is None or any(each is first for each in recent) else [first, *recent]


def _place(seen: Sequence[Message], index: int) -> int:
    distance = min(len(seen) - 1 - index, DISTANCES - 1)
    return distance + (0 if seen[index].role == "user" else DISTANCES)


def _select_tokens(
    seen: Sequence[Message], messages: Sequence[ReadMessage], own: set[str], budget: int
) -> dict[int, list[int]]:
    """The tokens of each message that fit: first the last exchange and the first question, then the other questions,
    then single words of the answers, those first that are most likely to be left out."""
    last = len(seen) - 1
    questions = [index for index in range(last, -1, -1) if seen[index].role == "user"]
    answers = [index for index in range(last, -1, -1) if seen[index].role != "user"]
    first = dict.fromkeys([*questions[:1], *(index for index in answers if index == last), *questions[-1:]])
    kept: dict[int, list[int]] = {}
    known = set(own)
    for index in dict.fromkeys([*first, *questions]):
        most = MAX_QUESTION_TOKENS if seen[index].role == "user" else MAX_ANSWER_TOKENS
        most = min(most, budget - 1 - (0 if index in first else RESERVED_WORD_TOKENS), len(messages[index].ids))
        if most >= min(3, len(messages[index].ids)):
            kept[index] = list(range(most))
            known.update(word.stem for word in messages[index].words if word.token < most)
            budget -= most + 1
    for index, word in _likely_words(messages, answers, last, known):
        cost = word.size + (index not in kept)
        if cost <= budget:
            kept.setdefault(index, []).extend(range(word.token, word.token + word.size))
            budget -= cost
    return {index: sorted(tokens) for index, tokens in kept.items()}


def _likely_words(
    messages: Sequence[ReadMessage], answers: Sequence[int], last: int, known: set[str]
) -> list[tuple[int, Word]]:
    """The content words of the answers that are not known yet, once each, most likely to be left out first."""
    times = Counter(key for index in answers for key in messages[index].content)
    best: dict[str, tuple[float, int, Word]] = {}
    for index in answers:
        recency = 1.1 if index == last else -0.06 * (last - index)
        for key, content in messages[index].content.items():
            if key not in known:
                odds = (content.again if times[key] > 1 else content.once) + recency
                if key not in best or odds > best[key][0]:
                    best[key] = (odds, index, content.word)
    return [(index, word) for _, index, word in sorted(best.values(), key=lambda each: -each[0])]


def _facts(seen: Sequence[Message], messages: Sequence[ReadMessage], keys: Sequence[str]) -> Iterator[list[int]]:
    """The binary features of words besides their place, for each stem."""
    questions = [index for index, each in enumerate(seen) if each.role == "user"]
    others = [index for index, each in enumerate(seen) if each.role != "user"]
    for key in keys:
        asked = [index for index in questions if key in messages[index].content]
        answered = [index for index in others if key in messages[index].content]
        text = messages[max(asked[-1:] + answered[-1:])].content[key].text
        facts = (
            any(messages[index].content[key].name for index in (*asked, *answered)),
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
    """The condenser that comes with the package, loaded on first use; safe to use from several threads."""

    def __init__(self, folder: Path = OWN, threads: int = 0) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    def predict(self, message: str, history: Sequence[Message]) -> Prediction:
        """What the message needs from the history; nothing if there is none."""
        return self._model().predict(message, history)

    def _model(self) -> _Model:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._threads)
            return self._loaded


class _Model:
    def __init__(self, tokenizer: Tokenizer, session: Any) -> None:
        self._read = lru_cache(CACHED_MESSAGES)(reader(tokenizer))
        self._session = session

    def predict(self, message: str, history: Sequence[Message]) -> Prediction:
        layout = lay_out(message, history, self._read)
        if not layout.mentions or not layout.words:
            return Prediction(0.0)
        context, missing, edits = self._session.run(None, feed(layout))
        ranked = sorted(zip(_probability(missing[0]), layout.mentions, strict=True), key=lambda each: -each[0])
        terms = tuple((mention.word.text, float(probability)) for probability, mention in ranked)
        return Prediction(float(_probability(context[0, CONTEXT_OUTPUT])), terms, _edit(layout, edits[0]))


def _edit(layout: Layout, logits: npt.NDArray[np.float32]) -> Edit:
    """The most likely place for the missing words."""
    rows = logits[[word.token for word in layout.words]].astype(np.float64)
    probabilities = np.exp(rows - rows.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    changes = probabilities[:, REPLACE:]
    position, change = np.unravel_index(int(changes.argmax()), changes.shape)
    word, edit = layout.words[position], int(change) + REPLACE
    joint = None if edit == REPLACE else JOINTS[edit - AFTER]
    return Edit(word.start, word.end, joint, float(probabilities[position, edit]))


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
    return _Model(*load_model(own_weights("condenser", folder), threads, OWN_HINT))
